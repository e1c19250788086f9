//! `fslab clean`.

use std::fmt::Write as _;

use crate::cli::CleanArgs;
use crate::commands::runs;
use crate::{exit, out};

pub(crate) fn run(args: &CleanArgs) -> anyhow::Result<u8> {
    let cleaned = match (&args.dir, runs(None)) {
        (Some(dir), _) => lab::clean(dir, args.dry_run)?,
        // The usual folder may be a link to a larger disk.
        (None, Some(usual)) => lab::clean(&usual.canonicalize()?, args.dry_run)?,
        (None, None) => lab::Cleaned::default(),
    };
    let verb = if args.dry_run { "would undo" } else { "undone" };
    let mut text = String::new();
    for thing in &cleaned.undone {
        let _ = writeln!(text, "{verb}: {thing}");
    }
    if cleaned.undone.is_empty() && cleaned.failed.is_empty() && cleaned.refused.is_empty() {
        text.push_str("nothing to undo\n");
    }
    out::print(&text)?;
    for note in &cleaned.notes {
        out::say(note);
    }
    for left in &cleaned.running {
        out::say(&format!("left alone: {left}"));
    }
    for left in cleaned.failed.iter().chain(&cleaned.refused) {
        out::say(&format!("fslab: {left}"));
    }
    Ok(
        match (cleaned.refused.is_empty(), cleaned.failed.is_empty()) {
            (false, _) => exit::REFUSED,
            (true, false) => exit::TROUBLE,
            (true, true) => exit::OK,
        },
    )
}
