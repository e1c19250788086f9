//! Time and bytes in the layout of fsck.ocfs2 (-tt).

use std::fmt::Write as _;

use super::lines::{finding, first_of_each, mebibytes, name};
use super::{Judge, Report};
use crate::meter::Cost;

/// Pass by pass, with the first `list` findings of each problem (0: all): what came from the disk and what from memory, and the rate of both as fsck.ocfs2 of 2011 computed it, (disk +
/// cache + write) / real. Its inventory of files at the end.
///
/// Where the kernel does not say what was fetched from storage, everything counts as disk.
pub fn ocfs2(report: &Report, judge: Judge, list: usize) -> String {
    let mut out = String::new();
    let shown = first_of_each(&report.findings.list, list);
    let mut rest = shown.into_iter().peekable();
    for cost in &report.passes {
        let Ok(number) = cost.pass.parse::<u8>() else {
            continue;
        };
        let _ = writeln!(out, "Pass {number}: Checking {}", cost.title);
        while let Some(next) = rest.next_if(|next| next.problem.pass() <= number) {
            let _ = writeln!(
                out,
                "[{}] {}: {}",
                name(next),
                next.problem.meaning,
                finding(next)
            );
        }
        measurement(&mut out, cost);
    }
    for next in rest {
        let _ = writeln!(
            out,
            "[{}] {}: {}",
            name(next),
            next.problem.meaning,
            finding(next)
        );
    }
    let word = report.verdict(judge).word();
    let unstable = if report.unstable { ", unstable" } else { "" };
    let _ = writeln!(out, "\nAll passes: {word}{unstable}");
    if let Some(inventory) = &report.inventory {
        let files = &inventory.files;
        for (count, what) in [
            (files.regular, "regular files"),
            (files.directories, "directories"),
            (files.char_devices, "character device files"),
            (files.block_devices, "block device files"),
            (files.fifos, "fifos"),
            (files.symlinks, "symbolic links"),
            (files.sockets, "sockets"),
        ] {
            let _ = writeln!(out, "{count:12} {what}");
        }
    }
    measurement(&mut out, &report.total);
    out
}

fn measurement(out: &mut String, cost: &Cost) {
    let disk = cost.device_bytes.unwrap_or(cost.bytes);
    let cache = cost.cache_bytes.unwrap_or(0);
    io_and_times(out, disk, cache, [cost.wall_s, cost.user_s, cost.system_s]);
}

/// The two lines of a pass: bytes from the disk and from the cache, and real, user and system seconds.
pub(crate) fn io_and_times(out: &mut String, disk: u64, cache: u64, times: [f64; 3]) {
    let (disk, cache) = (mebibytes(disk), mebibytes(cache));
    let [real, user, system] = times;
    let rate = if real > 0.0 {
        (disk + cache) as f64 / real
    } else {
        0.0
    };
    let _ = writeln!(
        out,
        "  I/O read disk/cache: {disk}MB / {cache}MB, write: 0MB, rate: {rate:.2}MB/s"
    );
    let _ = writeln!(
        out,
        "  Times real: {}, user: {}, sys: {}",
        clock(real),
        clock(user),
        clock(system)
    );
}

/// `90.580s` in a time of less than 100 s, else `21m39.972s`, as the program prints it.
fn clock(seconds: f64) -> String {
    if seconds < 100.0 {
        return format!("{seconds:.3}s");
    }
    let minutes = (seconds / 60.0).floor();
    format!("{minutes:.0}m{:.3}s", seconds - minutes * 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_the_tool_prints_them() {
        assert_eq!(clock(90.58), "90.580s");
        assert_eq!(clock(1299.972), "21m39.972s");
    }
}
