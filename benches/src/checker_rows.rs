//! The rows that every bench of a checker against its reference program prints.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use crate::check_vs_e2fsck::{Peaks, cold, plain_reader};
use crate::pairs::{Pairs, median};
use crate::run::Stop;
use crate::table::{Printer, Row, Table};

const MIB: f64 = (1 << 20) as f64;

/// The table of [`faster`] rows for an image: its number of files, and the bytes and requests that the checker reads of it; `program` is
/// the reference.
pub(crate) fn table(files: u64, (bytes, requests): (f64, f64), program: &str) -> Table {
    Table::new(
        format!(
            "{files} files; check reads {:.1} MiB in {requests:.0} requests; seconds",
            bytes / MIB
        ),
        &["check", program, "faster", "pairs"],
    )
}

/// Seconds of both, and how many times faster the checker is, with the least and the most of the pairs. Without a target it is met.
pub(crate) fn faster(name: &str, target: Option<f64>, pairs: &Pairs) -> Row {
    // Theirs over ours: how many times faster.
    let faster = Pairs {
        ours: pairs.theirs.clone(),
        theirs: pairs.ours.clone(),
    };
    let (low, high) = faster.extremes();
    let cells = [
        format!("{:.3}", median(&pairs.ours)),
        format!("{:.3}", median(&pairs.theirs)),
        format!("{:.1}", faster.ratio()),
        format!("{low:.1}..{high:.1}"),
    ];
    let goal = target.map_or(String::new(), |target| format!(">= {target:.0}"));
    let met = target.is_none_or(|target| faster.ratio() >= target);
    Row::new(name, cells, goal, met)
}

/// Peak memory of both, MiB, and the share of the reference's that the checker takes, at most `most`. Without a bound it is met.
pub(crate) fn memory(name: &str, most: Option<f64>, peaks: Peaks) -> Row {
    let ratio = peaks.ours / peaks.theirs;
    let cells = [
        format!("{:.1}", peaks.ours),
        format!("{:.1}", peaks.theirs),
        format!("{ratio:.2}"),
    ];
    let goal = most.map_or(String::new(), |most| format!("<= {most:.2}"));
    let met = most.is_none_or(|most| ratio <= most);
    Row::new(name, cells, goal, met)
}

/// The table of [`memory`] rows.
pub(crate) fn memory_table(program: &str) -> Table {
    Table::new("Peak memory, MiB", &["check", program, "ratio"])
}

/// Prints the tables, and says whether all targets were met.
pub(crate) fn show(tables: &[&Table]) -> bool {
    let mut printer = Printer::default();
    for table in tables {
        printer.show(table);
    }
    printer.all_met()
}

/// The cold times of `pairs` beside a plain reader of as many bytes, which reads the image once for each pair. `read` is what the
/// checker reads, bytes; `program` is the reference.
pub(crate) fn beside_a_plain_reader(
    image: &Path,
    program: &str,
    read: f64,
    pairs: &Pairs,
    (times, stop): (u32, &Stop),
) -> Result<Table> {
    let (mut seconds, mut bytes) = (Vec::new(), 0.0);
    for _ in 0..times {
        stop.check()?;
        cold(image, None)?;
        let begin = Instant::now();
        bytes = plain_reader(image)?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let bound = median(&seconds) * read / bytes;
    let (ours, theirs) = (median(&pairs.ours), median(&pairs.theirs));
    let reference = format!("{program}'s");
    let mut table = Table::new(
        format!(
            "Cold, beside a plain O_DIRECT reader of {:.1} MiB in {:.3} s",
            bytes / MIB,
            median(&seconds)
        ),
        &["check", "as many bytes", "ratio", &reference],
    );
    let ratio = ours / bound;
    let cells = [
        format!("{ours:.3}"),
        format!("{bound:.3}"),
        format!("{ratio:.2}"),
        format!("{:.2}", theirs / bound),
    ];
    table
        .rows
        .push(Row::new("seconds", cells, "<= 1.30", ratio <= 1.3));
    Ok(table)
}
