//! btrfs check: `btrfs check --readonly DEVICE`.
//!
//! ```text
//! [1/7] checking root items
//! ...
//! found 147456 bytes used, no error found
//! ```
//!
//! Headings go to stderr when a pass begins; without --progress nothing follows them. The passes
//! are 7, or 8 since 6.12. No times are printed, so there is nothing to hold our clock against.

use fskind::Kind;

use super::checker::{Checker, Event, OutputSummary};
use super::report::Verdict;

/// The checker of btrfs.
pub(super) struct BtrfsCheck;

impl Checker for BtrfsCheck {
    fn kind(&self) -> Kind {
        Kind::Btrfs
    }

    fn passes(&self) -> u8 {
        7
    }

    fn read(&self, line: &str) -> Option<Event> {
        read(line)
    }

    fn tolerance(&self, _seconds: f64) -> Option<f64> {
        None
    }

    fn judge(&self, code: i32, summary: OutputSummary) -> (Verdict, String) {
        judge(code, summary)
    }
}

fn read(line: &str) -> Option<Event> {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix('[') {
        let (numbers, title) = rest.split_once(']')?;
        let (pass, all) = numbers.split_once('/')?;
        let (pass, all): (u8, u8) = (pass.parse().ok()?, all.parse().ok()?);
        let title = title.trim().to_string();
        return (1..=all)
            .contains(&pass)
            .then_some(Event::Begins { pass, title });
    }
    if line.starts_with("found ") && line.contains(" bytes used") {
        return Some(Event::Ends);
    }
    let gives_up = [
        "ERROR: cannot open file system",
        "ERROR: cannot open device",
    ];
    gives_up
        .iter()
        .any(|words| line.starts_with(words))
        .then_some(Event::GivesUp)
}

/// btrfs-check(8) documents 0 and nonzero only; whether it could begin is known from its output.
fn judge(code: i32, summary: OutputSummary) -> (Verdict, String) {
    let (verdict, words) = match code {
        0 => (Verdict::Clean, "no error found"),
        1 if summary.passes => (Verdict::Errors, "errors found"),
        1 if summary.gave_up => (
            Verdict::Operational,
            "it cannot open the filesystem: no btrfs, a device it cannot read, or roots too damaged",
        ),
        1 => (
            Verdict::Operational,
            "it did not begin: wrong arguments, or a mounted device",
        ),
        _ => (
            Verdict::Operational,
            "not a code that btrfs check documents",
        ),
    };
    (verdict, format!("exit code {code}: {words}"))
}
