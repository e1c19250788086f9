//! `fslab clean`.

use std::fmt::Write as _;

use crate::cli::CleanArgs;
use crate::{exit, out};

pub(crate) fn run(args: &CleanArgs) -> anyhow::Result<u8> {
    let undone = lab::clean(&args.dir, args.dry_run)?;
    let verb = if args.dry_run { "would undo" } else { "undone" };
    let mut text = String::new();
    for thing in &undone {
        let _ = writeln!(text, "{verb}: {thing}");
    }
    if undone.is_empty() {
        text.push_str("nothing to undo\n");
    }
    out::print(&text)?;
    Ok(exit::OK)
}
