//! fsck.ocfs2: `fsck.ocfs2 -fn -tt DEVICE`. -f checks also what is marked clean, -n changes nothing and
//! answers every question with no, -tt prints its statistics after each pass.
//!
//! ```text
//! Pass 1: Checking inodes and blocks
//!   I/O read disk/cache: 5MB / 1MB, write: 0MB, rate: 275.22MB/s
//!   Times real: 0m0.196s, user: 0m0.178s, sys: 0m0.002s
//! ...
//! All passes succeeded.
//!
//!   Cache size: 77MB
//!   I/O read disk/cache: 5MB / 7MB, write: 0MB, rate: 306.00MB/s
//!   Times real: 0m0.204s, user: 0m0.188s, sys: 0m0.002s
//! ```
//!
//! The times end a pass; they and the line before belong to the open pass, and the whole
//! check when none is. In 2011 (the messages of Sunil Mushran) the same line had plain seconds, `real:
//! 90.580s`; both are read. MB are MiB rounded up. disk is what its I/O channel read, past the page
//! cache; cache is what its own cache gave. The rate is not read: in 2011 it was (disk + cache +
//! written) / real, today it is (disk + written) / (real - user), so that it is `inf` where the
//! processor was the limit.
//!
//! Passes are named 0a, 0b, 0c, 1, 2, 3, 4a, 4b, and 5 (quota) in versions that have it. 1b to 1d run inside 1, whose times
//! include them.
//!
//! The exit code is no verdict: with -n the program ends with 0 and `All passes succeeded.` whatever it found.
//! Each fault is a question and begins with its code in brackets, `[INODE_COUNT] Inode 19185 has ...`
//! (fsck.ocfs2.checks(8)). Those lines are counted.

use fskind::Kind;

use super::checker::{Checker, Event, Of, OutputSummary};
use super::report::{Inventory, Verdict};

/// The checker of OCFS2.
pub(super) struct FsckOcfs2;

/// Its passes in their order; [`Event::Begins`] counts them from 1.
const PASSES: [&str; 9] = ["0a", "0b", "0c", "1", "2", "3", "4a", "4b", "5"];
const PASS_1: u8 = 4;

impl Checker for FsckOcfs2 {
    fn kind(&self) -> Kind {
        Kind::Ocfs2
    }

    /// Without quota there is no pass 5.
    fn passes(&self) -> u8 {
        8
    }

    fn label(&self, pass: u8) -> String {
        let at = usize::from(pass).wrapping_sub(1);
        PASSES
            .get(at)
            .map_or_else(|| pass.to_string(), ToString::to_string)
    }

    fn read(&self, line: &str) -> Option<Event> {
        read(line)
    }

    /// Half of the last printed digit, 20 ms for the line's way to us, and 5 %.
    fn tolerance(&self, seconds: f64) -> Option<f64> {
        Some(0.0005 + 0.020 + 0.05 * seconds)
    }

    /// Its clock begins when the filesystem is open and its cache made, which may take most of a small check.
    fn times_all(&self) -> bool {
        false
    }

    fn judge(&self, code: i32, summary: OutputSummary) -> (Verdict, String) {
        judge(code, summary)
    }
}

fn read(line: &str) -> Option<Event> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("Pass ") {
        return heading(rest);
    }
    if let Some(rest) = line.strip_prefix("I/O read disk/cache:") {
        return megabytes(rest);
    }
    if let Some(rest) = line.strip_prefix("Times real:") {
        return times(rest);
    }
    if let Some(rest) = line.strip_prefix("Cache size:") {
        return mib(rest).map(Event::CacheOf);
    }
    if is_fault(line) {
        return Some(Event::Finds);
    }
    if line == "All passes succeeded." {
        return Some(Event::Ends);
    }
    if let Some(count) = line.strip_prefix("Number of blocks:") {
        let blocks_total = Some(count.trim().parse().ok()?);
        return Some(Event::Counted(Inventory {
            blocks_total,
            ..Inventory::default()
        }));
    }
    if gives_up(line) {
        return Some(Event::GivesUp);
    }
    files(line).map(Event::Files)
}

fn gives_up(line: &str) -> bool {
    let stops = [" while opening \"", " while performing pass "];
    let words = stops.iter().any(|words| line.contains(words));
    line.starts_with("fsck.ocfs2: ") && words || line.ends_with(" will not continue")
}

/// `1012 regular files (1000 inlines, 0 reflinks)`: inodes of a kind. `links` are names, not inodes.
fn files(line: &str) -> Option<u64> {
    const KINDS: [&str; 7] = [
        "regular files",
        "directories",
        "character device files",
        "block device files",
        "fifos",
        "symbolic links",
        "sockets",
    ];
    let (count, kind) = line.split_once(' ')?;
    let kind = kind.split_once(" (").map_or(kind, |(kind, _)| kind);
    KINDS.contains(&kind).then(|| count.parse().ok())?
}

fn heading(rest: &str) -> Option<Event> {
    let (label, title) = rest.split_once(": ")?;
    let title = title.trim().to_owned();
    if let Some(at) = PASSES.iter().position(|pass| *pass == label) {
        let pass = u8::try_from(at + 1).ok()?;
        return Some(Event::Begins { pass, title });
    }
    ["1b", "1c", "1d"]
        .contains(&label)
        .then(|| Event::PartBegins {
            pass: PASS_1,
            label: label.into(),
            title,
        })
}

/// `[INODE_COUNT] ...`: a code of capitals, digits and underscores, and then words.
fn is_fault(line: &str) -> bool {
    let code = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "));
    code.is_some_and(|(code, _)| {
        code.len() > 2
            && code.starts_with(|c: char| c.is_ascii_uppercase())
            && code
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    })
}

/// What follows `I/O read disk/cache:`: ` 5MB / 1MB, write: 0MB, rate: 275.22MB/s`.
fn megabytes(rest: &str) -> Option<Event> {
    let (read, _written) = rest.split_once(", write:")?;
    let (disk, cache) = read.split_once('/')?;
    Some(Event::Read {
        of: Of::Open,
        mib: mib(disk)?,
        cached: Some(mib(cache)?),
    })
}

fn mib(text: &str) -> Option<u64> {
    text.trim().strip_suffix("MB")?.parse().ok()
}

/// What follows `Times real:`: ` 0m0.196s, user: 0m0.178s, sys: 0m0.002s`, or ` 90.580s, user: ...`.
fn times(rest: &str) -> Option<Event> {
    let (real, rest) = rest.split_once(", user:")?;
    let (user, system) = rest.split_once(", sys:")?;
    Some(Event::Took {
        of: Of::Open,
        real: seconds(real)?,
        cpu: Some((seconds(user)?, seconds(system)?)),
    })
}

/// `0m12.690s` or `12.690s`.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim().strip_suffix('s')?;
    let (minutes, seconds) = text.split_once('m').unwrap_or(("0", text));
    let minutes: u32 = minutes.parse().ok()?;
    let seconds: f64 = seconds.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(f64::from(minutes) * 60.0 + seconds)
}

/// fsck.ocfs2(8) has e2fsck's bits, and sets none for what it found with -n.
fn judge(code: i32, summary: OutputSummary) -> (Verdict, String) {
    let found = summary.faults;
    if found > 0 {
        let plural = if found == 1 { "" } else { "s" };
        let words = format!("{found} question{plural} with a [CODE] printed, exit code {code}");
        return (Verdict::Errors, words);
    }
    let (verdict, words) = match code {
        0 if summary.passes => (Verdict::Clean, "no [CODE] printed"),
        0 => (Verdict::Operational, "it began no pass"),
        8 if summary.gave_up => (
            Verdict::Operational,
            "it cannot open the filesystem: no OCFS2, or a superblock too damaged",
        ),
        4 => (Verdict::Errors, "errors left uncorrected"),
        1 | 2 => (Verdict::Errors, "errors corrected"),
        8 => (Verdict::Operational, "operational error"),
        16 => (Verdict::Operational, "usage or syntax error"),
        32 => (Verdict::Operational, "cancelled by request"),
        _ => (Verdict::Operational, "not a code that fsck.ocfs2 documents"),
    };
    (verdict, format!("exit code {code}: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_of_times_are_read() {
        let took = |line| match read(line) {
            Some(Event::Took { real, cpu, .. }) => (real, cpu),
            other => panic!("{other:?}"),
        };
        let (real, cpu) = took("  Times real: 21m39.972s, user: 1m53.660s, sys: 0m12.690s");
        assert!((real - 1299.972).abs() < 1e-9);
        assert_eq!(cpu, Some((113.66, 12.69)));
        let old = took("  Times real: 90.580s, user: 13.320s, sys: 2.100s");
        assert_eq!(old, (90.58, Some((13.32, 2.1))));
        for wrong in [
            "Times real: 90.580, user: 1s, sys: 1s",
            "Times real: -1s, user: 1s, sys: 1s",
            "Times real: nans, user: 1s, sys: 1s",
            "Times real: 1m, user: 1s, sys: 1s",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_line_of_2011_and_of_today_is_the_same_but_for_its_rate() {
        let read_of =
            |rate| format!("  I/O read disk/cache: 2966MB / 815MB, write: 0MB, rate: {rate}MB/s");
        for rate in ["41.73", "inf", "0.00", "-nan"] {
            let expected = Event::Read {
                of: Of::Open,
                mib: 2966,
                cached: Some(815),
            };
            assert_eq!(read(&read_of(rate)), Some(expected));
        }
    }

    #[test]
    fn a_fault_is_known_by_its_code() {
        assert!(is_fault(
            "[INODE_COUNT] Inode 19185 has a link count of 7 on disk"
        ));
        assert!(is_fault("[DUP_CLUSTERS_CLONE] Inode"));
        for line in [
            "[y] or [n]",
            "[] x",
            "[INODE_COUNT]",
            "INODE_COUNT] x",
            "[1/2] pass",
            "  /[AB] x",
        ] {
            assert!(!is_fault(line), "{line}");
        }
    }

    #[test]
    fn the_verdict_is_that_of_the_codes_and_not_of_the_exit() {
        let summary = |passes, faults, gave_up| OutputSummary {
            passes,
            faults,
            gave_up,
            signal: None,
        };
        let verdict = |code, summary| judge(code, summary).0;
        assert_eq!(verdict(0, summary(true, 0, false)), Verdict::Clean);
        assert_eq!(verdict(0, summary(true, 1, false)), Verdict::Errors);
        assert_eq!(verdict(8, summary(true, 3, true)), Verdict::Errors);
        assert_eq!(verdict(0, summary(false, 0, false)), Verdict::Operational);
        assert_eq!(verdict(8, summary(false, 0, true)), Verdict::Operational);
        assert_eq!(
            judge(0, summary(true, 2, false)).1,
            "2 questions with a [CODE] printed, exit code 0"
        );
    }
}
