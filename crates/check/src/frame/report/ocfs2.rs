//! Time and bytes in the layout of fsck.ocfs2 (-tt), as its statistics were printed in 2011.
//!
//! Of its two formats this is that of 2011: plain seconds however many there are (`real: 8154.586s`), and a rate
//! that includes the cache. Today's source always prints `%dm%.3fs` and leaves the cache and user time out of the rate. A mixture would be
//! the output of no program.

use std::fmt::Write as _;

use super::lines::{finding, first_of_each, mebibytes, name};
use super::{Judge, Report, fsck_ocfs2};
use crate::frame::cost::Cost;

/// Pass by pass, with the first `list` findings of each problem (0: all): bytes from the disk and from memory, and the rate of both,
/// (disk + cache + write) / real. The number of files of each type at the end.
///
/// Where the kernel does not report what was fetched from storage, everything counts as disk.
///
/// A volume of OCFS2 itself is printed as today's fsck.ocfs2 does.
pub fn ocfs2(report: &Report, judge: Judge, list: usize) -> String {
    let filesystem = report.subject.filesystem.as_ref();
    if let Some(own) = filesystem.filter(|filesystem| filesystem.format == "ocfs2") {
        return fsck_ocfs2::print(report, own, judge, list);
    }
    let mut out = String::new();
    let shown = first_of_each(report, list);
    let mut rest = shown.into_iter().peekable();
    for cost in &report.passes {
        let Ok(number) = cost.pass.parse::<u8>() else {
            continue;
        };
        let _ = writeln!(out, "Pass {number}: Checking {}", cost.title);
        while let Some(next) = rest.next_if(|next| next.problem.pass.number <= number) {
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

/// The two lines of a pass: bytes from the disk and from the cache, and real, user and system seconds. MB are 2^20 bytes rounded up; the
/// rate is of the bytes before rounding, as in the published rows: 66 and 1 MB in 97.072 s are 0.68 MB/s.
fn io_and_times(out: &mut String, disk: u64, cache: u64, times: [f64; 3]) {
    const MIB: f64 = 1_048_576.0;
    let [real, user, system] = times;
    let rate = if real > 0.0 {
        (disk + cache) as f64 / MIB / real
    } else {
        0.0
    };
    let (disk, cache) = (mebibytes(disk), mebibytes(cache));
    let _ = writeln!(
        out,
        "  I/O read disk/cache: {disk}MB / {cache}MB, write: 0MB, rate: {rate:.2}MB/s"
    );
    let _ = writeln!(
        out,
        "  Times real: {real:.3}s, user: {user:.3}s, sys: {system:.3}s"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pass 0a and Overall of the message of 2011, from bytes that its MB are the rounding of.
    #[test]
    fn the_lines_are_those_of_the_message() {
        let mut out = String::new();
        let mib = 1 << 20;
        io_and_times(&mut out, 65 * mib + 700_000, 300_000, [97.072, 0.423, 0.28]);
        io_and_times(
            &mut out,
            138_751 * mib,
            778 * mib,
            [8154.586, 581.073, 111.422],
        );
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines,
            [
                "  I/O read disk/cache: 66MB / 1MB, write: 0MB, rate: 0.68MB/s",
                "  Times real: 97.072s, user: 0.423s, sys: 0.280s",
                "  I/O read disk/cache: 138751MB / 778MB, write: 0MB, rate: 17.11MB/s",
                "  Times real: 8154.586s, user: 581.073s, sys: 111.422s",
            ]
        );
    }

    #[test]
    fn little_in_a_long_time_is_no_rate_of_rounded_megabytes() {
        let mut out = String::new();
        io_and_times(&mut out, 64 << 10, 64 << 10, [12.4, 0.0, 0.0]);
        assert!(
            out.contains("1MB / 1MB, write: 0MB, rate: 0.01MB/s"),
            "{out}"
        );
        out.clear();
        io_and_times(&mut out, 0, 0, [0.0; 3]);
        assert!(out.contains("rate: 0.00MB/s"), "{out}");
    }
}
