//! Time and bytes in the layout of `e2fsck -tt`.

use std::fmt::Write as _;

use super::lines::{self, finding, mebibytes, name};
use super::{Judge, Report};
use crate::frame::cost::Cost;

/// Pass headings, the first `list` findings of each problem (0: all) on a line each, and two lines of measurement per pass.
///
/// The lines of measurement have e2fsck's layout, so that programs that read those read these: peak memory in KiB (without the
/// parts that only an allocator knows, as e2fsck prints it where it cannot ask), real, user and system seconds, MiB read rounded up, and
/// their rate by real time. The findings are worded as in the other formats.
pub fn e2fsck(report: &Report, judge: Judge, list: usize) -> String {
    let mut out = String::new();
    let shown = lines::first_of_each(report, list);
    let mut rest = shown.into_iter().peekable();
    for cost in &report.passes {
        let number = cost.pass.parse::<u8>().ok();
        if let Some(number @ 1..) = number {
            let _ = writeln!(out, "Pass {number}: Checking {}", cost.title);
        }
        let last = number.unwrap_or(u8::MAX);
        while let Some(next) = rest.next_if(|next| next.problem.pass.number <= last) {
            let _ = writeln!(
                out,
                "{}: {}: {}",
                name(next),
                next.problem.meaning,
                finding(next)
            );
        }
        if let Some(number @ 1..) = number {
            measurement(&mut out, &format!("Pass {number}: "), cost);
        }
    }
    for next in rest {
        let _ = writeln!(
            out,
            "{}: {}: {}",
            name(next),
            next.problem.meaning,
            finding(next)
        );
    }
    let verdict = report.verdict(judge);
    let subject = lines::printable(&report.subject.name);
    if !verdict.is_clean() {
        let _ = writeln!(
            out,
            "\n{subject}: ********** WARNING: Filesystem still has errors **********\n"
        );
    }
    if let (Some(fs), Some(inventory)) = (&report.subject.filesystem, &report.inventory) {
        let inodes = fs.inodes - fs.free_inodes.min(fs.inodes);
        let fragmented = per_mille_of(inventory.files.fragmented_files, inodes);
        let _ = writeln!(
            out,
            "{subject}: {inodes}/{} files ({}.{}% non-contiguous), {}/{} blocks",
            fs.inodes,
            fragmented / 10,
            fragmented % 10,
            fs.blocks - fs.free_blocks.min(fs.blocks),
            fs.blocks
        );
    }
    measurement(&mut out, "", &report.total);
    if report.unstable {
        let _ = writeln!(out, "unstable: {}", lines::unstable(report));
    }
    out
}

/// Tenths of a percent, rounded as e2fsck rounds.
fn per_mille_of(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        return 0;
    }
    (10_000 * part / whole + 5) / 10
}

fn measurement(out: &mut String, prefix: &str, cost: &Cost) {
    let read = mebibytes(cost.bytes);
    let rate = if cost.wall_s > 0.0 {
        read as f64 / cost.wall_s
    } else {
        0.0
    };
    let _ = writeln!(
        out,
        "{prefix}Memory used: {}k, time: {:5.2}/{:5.2}/{:5.2}",
        cost.peak_memory / 1024,
        cost.wall_s,
        cost.user_s,
        cost.system_s
    );
    let _ = writeln!(
        out,
        "{prefix}I/O read: {read}MB, write: 0MB, rate: {rate:.2}MB/s"
    );
}
