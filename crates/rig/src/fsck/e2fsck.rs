//! e2fsck: `e2fsck -fn -tt DEVICE`. -f checks also what is marked clean, -n changes nothing and
//! answers every question with no, -tt prints two lines of resources after each pass.
//!
//! ```text
//! Pass 1: Checking inodes, blocks, and sizes
//! Pass 1: Memory used: 132k/0k (38k/95k), time:  0.00/ 0.00/ 0.00
//! Pass 1: I/O read: 1MB, write: 0MB, rate: 2506.27MB/s
//! ```
//!
//! The first of the two resource lines ends the pass. Seconds are real, user and system, `%5.2f`;
//! MB are MiB rounded up (e2fsck/util.c, print_resource_track). Passes 1B to 1E and 3A run inside 1
//! and 3, whose resource lines include them. "Peak memory" is measured from the program's start
//! in the middle of pass 3 and is not pass 3's time.

use fskind::Kind;

use super::checker::{Checker, Event, Of, OutputSummary};
use super::report::{Inventory, Verdict};

/// The checker of ext2, ext3 and ext4.
pub(super) struct E2fsck;

impl Checker for E2fsck {
    fn kind(&self) -> Kind {
        Kind::Ext4
    }

    fn passes(&self) -> u8 {
        5
    }

    fn read(&self, line: &str) -> Option<Event> {
        read(line)
    }

    /// Half of the last printed digit, 20 ms for the line's way to us, and 5 %.
    fn tolerance(&self, seconds: f64) -> Option<f64> {
        Some(0.005 + 0.020 + 0.05 * seconds)
    }

    fn judge(&self, code: i32, summary: OutputSummary) -> (Verdict, String) {
        judge(code, summary)
    }
}

const MEMORY: &str = "Memory used:";
const IO: &str = "I/O read:";

fn read(line: &str) -> Option<Event> {
    let line = line.trim_end();
    if line.starts_with(MEMORY) {
        return took(Of::Whole, line);
    }
    if let Some(rest) = line.strip_prefix(IO) {
        return megabytes(Of::Whole, rest);
    }
    if let Some(rest) = line.strip_prefix("Pass ") {
        let (label, rest) = rest.split_once(": ")?;
        return pass_line(label, rest.trim_start());
    }
    if let Some(rest) = line.strip_prefix("Signal (") {
        return rest.split_once(')')?.0.parse().ok().map(Event::Dies);
    }
    inventory(line).map(Event::Counted)
}

fn pass_line(label: &str, rest: &str) -> Option<Event> {
    let (pass, part) = pass_number(label)?;
    let of = || match &part {
        Some(label) => Of::Part(label.clone()),
        None => Of::Pass(pass),
    };
    if rest.starts_with(MEMORY) {
        return took(of(), rest);
    }
    if let Some(rest) = rest.strip_prefix(IO) {
        return megabytes(of(), rest);
    }
    let title = rest.to_string();
    Some(match part {
        Some(label) => Event::PartBegins { pass, label, title },
        None => Event::Begins { pass, title },
    })
}

/// `3` is pass 3; `1b` and `3A` are parts of passes 1 and 3.
fn pass_number(label: &str) -> Option<(u8, Option<String>)> {
    let mut letters = label.chars();
    let pass = u8::try_from(letters.next()?.to_digit(10)?).ok()?;
    if !(1..=5).contains(&pass) {
        return None;
    }
    match (letters.next(), letters.next()) {
        (None, _) => Some((pass, None)),
        (Some(letter), None) if letter.is_ascii_alphabetic() => {
            Some((pass, Some(label.to_ascii_uppercase())))
        }
        _ => None,
    }
}

/// `Memory used: 132k/0k (38k/95k), time:  0.00/ 0.00/ 0.00`.
fn took(of: Of, text: &str) -> Option<Event> {
    let (_, times) = text.rsplit_once("time:")?;
    let mut times = times.split('/').map(|word| word.trim().parse::<f64>().ok());
    let real = times.next()??;
    let cpu = Some((times.next()??, times.next()??));
    (real.is_finite() && real >= 0.0).then_some(Event::Took { of, real, cpu })
}

/// What follows `I/O read:`: ` 1MB, write: 0MB, rate: 2506.27MB/s`.
fn megabytes(of: Of, rest: &str) -> Option<Event> {
    let (read, rest) = rest.split_once("MB,")?;
    rest.trim_start().strip_prefix("write:")?;
    let mib = read.trim().parse().ok()?;
    let cached = None;
    Some(Event::Read { of, mib, cached })
}

/// `DEVICE: 11/16384 files (0.0% non-contiguous), 9513/65536 blocks`, where DEVICE may be a label.
fn inventory(line: &str) -> Option<Inventory> {
    let rest = line.strip_suffix(" blocks")?;
    let (rest, blocks) = rest.rsplit_once(", ")?;
    let rest = rest.strip_suffix("% non-contiguous)")?;
    let (rest, percent) = rest.rsplit_once(" files (")?;
    let (_, files) = rest.rsplit_once(": ")?;
    let (files_used, files_total) = fraction(files)?;
    let (blocks_used, blocks_total) = fraction(blocks)?;
    let percent: f64 = percent.parse().ok()?;
    Some(Inventory {
        files_used: Some(files_used),
        files_total: Some(files_total),
        blocks_used: Some(blocks_used),
        blocks_total: Some(blocks_total),
        non_contiguous: percent.is_finite().then_some(percent),
    })
}

fn fraction(text: &str) -> Option<(u64, u64)> {
    let (used, total) = text.split_once('/')?;
    Some((used.parse().ok()?, total.parse().ok()?))
}

/// The bits of the exit code, e2fsck(8).
const BITS: [(i32, &str); 7] = [
    (1, "errors corrected"),
    (2, "errors corrected, the system should be rebooted"),
    (4, "errors left uncorrected"),
    (8, "operational error"),
    (16, "usage or syntax error"),
    (32, "cancelled by request"),
    (128, "shared library error"),
];

fn judge(code: i32, summary: OutputSummary) -> (Verdict, String) {
    if let Some(signal) = summary.signal {
        return (
            Verdict::Crashed(signal),
            format!("exit code {code}: it caught signal {signal} and gave up"),
        );
    }
    if code == 0 {
        return (Verdict::Clean, "exit code 0: no errors".into());
    }
    let known = BITS.iter().fold(0, |sum, (bit, _)| sum | bit);
    if code & !known != 0 {
        let words = format!("exit code {code}: not a code that e2fsck documents");
        return (Verdict::Operational, words);
    }
    let words: Vec<String> = BITS
        .iter()
        .filter(|(bit, _)| code & bit != 0)
        .map(|(bit, word)| {
            if code == *bit {
                (*word).into()
            } else {
                format!("{word} ({bit})")
            }
        })
        .collect();
    let verdict = match code & !(1 | 2 | 4) {
        0 => Verdict::Errors,
        _ => Verdict::Operational,
    };
    (verdict, format!("exit code {code}: {}", words.join("; ")))
}
