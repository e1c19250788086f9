//! xfs_repair: `xfs_repair -n -v DEVICE`. -n changes nothing, -v prints the table of phases.
//!
//! ```text
//! Phase 3 - for each AG...
//! ...
//! Phase           Start           End             Duration
//! Phase 3:        11/21 19:07:58  11/21 19:08:01  3 seconds
//! Phase 5:        Skipped
//!
//! Total run time: 3 minutes, 12 seconds
//! ```
//!
//! Its columns are separated by tabs. All but one line goes to stderr. The table has whole seconds, as words that are empty
//! for none; a time is the difference of two truncated ones, so it may be a second off (repair/
//! progress.c, summary_report and duration). Beginnings are not used: they have no year.

use fskind::Kind;

use super::checker::{Checker, Event, Of, OutputSummary};
use super::report::Verdict;

/// The checker of XFS.
pub(super) struct XfsRepair;

impl Checker for XfsRepair {
    fn kind(&self) -> Kind {
        Kind::Xfs
    }

    fn passes(&self) -> u8 {
        7
    }

    fn read(&self, line: &str) -> Option<Event> {
        read(line)
    }

    /// One second, and 20 ms for the line's way to us.
    fn tolerance(&self, _seconds: f64) -> Option<f64> {
        Some(1.0 + 0.020)
    }

    fn judge(&self, code: i32, summary: OutputSummary) -> (Verdict, String) {
        judge(code, summary)
    }
}

fn read(line: &str) -> Option<Event> {
    let line = line.trim_end_matches(['\r', '\n']);
    if let Some(rest) = line.strip_prefix("Phase ") {
        return phase_line(rest);
    }
    if let Some(words) = line.strip_prefix("Total run time:") {
        let (of, real, cpu) = (Of::Whole, duration(words)?, None);
        return Some(Event::Took { of, real, cpu });
    }
    if line.starts_with("No modify flag set, skipping phase")
        || line.trim_start().starts_with("XFS_REPAIR Summary")
    {
        return Some(Event::Ends);
    }
    let gives_up = [
        "fatal error -- ",
        "Sorry, could not find valid secondary superblock",
    ];
    gives_up
        .iter()
        .any(|words| line.contains(words))
        .then_some(Event::GivesUp)
}

fn phase_line(rest: &str) -> Option<Event> {
    let digit = rest.chars().next()?.to_digit(10)?;
    let pass = u8::try_from(digit).ok().filter(|n| (1..=7).contains(n))?;
    let rest = rest.get(1..)?;
    if let Some(title) = rest.strip_prefix(" - ") {
        let title = title.trim().trim_end_matches("...").to_string();
        return Some(Event::Begins { pass, title });
    }
    // `:`, tab, begin, tab, end, tab, words. A skipped phase has no end.
    let mut fields = rest.strip_prefix(":\t")?.split('\t');
    let (_begin, _end) = (fields.next()?, fields.next()?);
    let real = duration(fields.next().unwrap_or(""))?;
    let (of, cpu) = (Of::Pass(pass), None);
    Some(Event::Took { of, real, cpu })
}

/// `1 week, 2 days, 1 hour, 2 minutes, 3 seconds`; nothing is 0.
fn duration(words: &str) -> Option<f64> {
    let mut seconds = 0.0;
    for part in words.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (count, unit) = part.split_once(' ')?;
        let count: u32 = count.parse().ok()?;
        let unit = match unit.trim_end_matches('s') {
            "week" => 604_800.0,
            "day" => 86_400.0,
            "hour" => 3_600.0,
            "minute" => 60.0,
            "second" => 1.0,
            _ => return None,
        };
        seconds += f64::from(count) * unit;
    }
    Some(seconds)
}

/// xfs_repair(8): with -n, 1 means that it found corruption; but it leaves with 1 also when it
/// cannot go on, which only its words tell.
fn judge(code: i32, summary: OutputSummary) -> (Verdict, String) {
    let (verdict, words) = match code {
        0 => (Verdict::Clean, "no corruption"),
        1 if summary.gave_up => (Verdict::Operational, "it gave up before its last phase"),
        1 if !summary.passes => (
            Verdict::Operational,
            "it did not begin: wrong arguments, or a device it cannot open",
        ),
        1 => (Verdict::Errors, "corruption found"),
        2 => (
            Verdict::Operational,
            "the log is dirty: mount and unmount the filesystem first",
        ),
        4 => (Verdict::Errors, "corruption found and corrected"),
        _ => (Verdict::Operational, "not a code that xfs_repair documents"),
    };
    (verdict, format!("exit code {code}: {words}"))
}
