//! `fslab site`.

use std::path::PathBuf;

use ::site::{Build, Origin, build};

use crate::cli::{PagesArgs, SiteArgs};
use crate::terminal::Terminal;
use crate::{exit, out};

pub(crate) fn run(args: &SiteArgs) -> anyhow::Result<u8> {
    let origin = origin(&args.pages)?;
    let terminal = Terminal::stopped_by_signals();
    let built = build(&Build {
        dir: &args.dir,
        origin: &origin,
        comparisons: &comparisons(&args.pages),
        tool: &super::tool(),
        progress: &terminal,
    });
    drop(terminal);
    let built = built?;
    out::print(&format!(
        "{} and {}: {} files, {}; {} written, {} removed\n{}\n",
        words::plural(built.runs as u64, "run"),
        words::plural(built.comparisons as u64, "comparison"),
        built.files,
        words::bytes(built.bytes),
        built.written,
        built.removed,
        out::path(&args.dir.join("index.html")),
    ))?;
    Ok(exit::OK)
}

/// Where the runs are: a folder, else a store.
pub(super) fn origin(args: &PagesArgs) -> anyhow::Result<Origin> {
    let dir = PathBuf::from(&args.from);
    if dir.is_dir() {
        return Ok(Origin::Folder(dir));
    }
    Err(::site::Error::Option(format!(
        "--from {}: no such folder; name a folder of runs",
        words::quoted(&args.from)
    ))
    .into())
}

/// The sides, two by two.
pub(super) fn comparisons(args: &PagesArgs) -> Vec<[String; 2]> {
    let pairs = args.compare.as_chunks().0;
    pairs.to_vec()
}
