//! An OCFS2 volume in the layout of fsck.ocfs2 -fn -tt: its headings, a line for each finding, two lines about each pass, and its inventory.
//! One line follows after these: the verdict.

use std::fmt::Write as _;

use super::lines::{finding, first_of_each, mebibytes};
use super::{Filesystem, Inventory, Judge, Report};
use crate::frame::cost::Cost;
use crate::frame::finding::Finding;

const MIB: f64 = 1_048_576.0;

/// The report, with the first `list` findings of each problem (0: all). The rate is that of today's program: bytes from the disk in
/// the time that was not spent in user space.
pub(super) fn print(report: &Report, filesystem: &Filesystem, judge: Judge, list: usize) -> String {
    let mut out = String::new();
    head(&mut out, report, filesystem);
    let shown = first_of_each(report, list);
    let mut rest = shown.into_iter().peekable();
    let mut pending: Option<Sum> = None;
    for (index, cost) in report.passes.iter().enumerate() {
        if cost.pass == "own" {
            // fsck.ocfs2 has no such pass; its findings are printed last.
            continue;
        }
        let number = cost_number(report, index);
        for heading in headings(cost) {
            let _ = writeln!(out, "{heading}");
        }
        while let Some(next) = rest.next_if(|next| next.key.0[0] <= number) {
            line(&mut out, next);
        }
        if cost.pass == "start" {
            continue;
        }
        let mut sum = Sum::of(cost);
        if let Some(before) = pending.take() {
            sum.add(&before);
        }
        let followed = report.passes.get(index + 1);
        if cost.pass == "1" && followed.is_some_and(|next| next.pass == "1b") {
            pending = Some(sum);
        } else {
            sum.print(&mut out);
        }
    }
    for next in rest {
        line(&mut out, next);
    }
    let run = report.reference_run.as_ref();
    match run.and_then(|run| run.ends_at) {
        Some(at) => {
            let _ = writeln!(out, "fsck.ocfs2 ends early: {at}\n");
        }
        None => out.push_str("All passes succeeded.\n\n"),
    }
    let buffers = report.memory.stated.as_ref().map_or(0, |stated| {
        let buffers = stated.parts.iter().filter(|part| part.0 == "buffers");
        buffers.map(|part| part.1).sum()
    });
    let _ = writeln!(out, "  Cache size: {}MB", mebibytes(buffers));
    Sum::of(&report.total).print(&mut out);
    if let Some(inventory) = &report.inventory {
        contents(&mut out, inventory);
    }
    let word = report.verdict(judge).word();
    let unstable = if report.unstable { ", unstable" } else { "" };
    let _ = writeln!(out, "\n  Verdict: {word}{unstable}");
    out
}

/// The position of a pass, by which findings are ordered. Passes 1b to 1d are run only where clusters are shared.
fn cost_number(report: &Report, number: usize) -> u64 {
    let order = [
        "start", "0a", "0b", "0c", "1", "1b", "2", "3", "4a", "4b", "5", "own",
    ];
    let name = report.passes[number].pass;
    order
        .iter()
        .position(|pass| *pass == name)
        .unwrap_or(number) as u64
}

fn head(out: &mut String, report: &Report, filesystem: &Filesystem) {
    let fact = |name: &str| {
        let facts = &filesystem.facts.0;
        let found = facts.iter().find(|fact| fact.0 == name);
        found.map_or(0, |fact| fact.1.as_u64().unwrap_or(0))
    };
    let label = if filesystem.label.is_empty() {
        "<NONE>"
    } else {
        &filesystem.label
    };
    let uuid = filesystem.uuid.replace('-', "").to_uppercase();
    let _ = writeln!(
        out,
        "Checking OCFS2 filesystem in {}:\n  Label:              {label}\n  UUID:               {uuid}\n  \
         Number of blocks:   {}\n  Block size:         {}\n  Number of clusters: {}\n  Cluster size:       {}\n  \
         Number of slots:    {}\n",
        report.subject.name,
        filesystem.blocks,
        filesystem.block_size,
        fact("clusters"),
        fact("cluster_size"),
        fact("slots"),
    );
}

fn headings(cost: &Cost) -> Vec<String> {
    match cost.pass {
        "start" => Vec::new(),
        "1b" => vec![
            "Running additional passes to resolve clusters claimed by more than one inode..."
                .into(),
            "Pass 1b: Determining ownership of multiply-claimed clusters".into(),
            "Pass 1c: Determining the names of inodes owning multiply-claimed clusters".into(),
            "Pass 1d: Reconciling multiply-claimed clusters".into(),
        ],
        name => vec![format!("Pass {name}: Checking {}", cost.title)],
    }
}

fn line(out: &mut String, next: &Finding) {
    let _ = writeln!(
        out,
        "[{}] {}: {} n",
        next.problem.name,
        next.problem.meaning,
        finding(next)
    );
}

/// Bytes and seconds of one pass or of several.
struct Sum {
    disk: u64,
    cache: u64,
    times: [f64; 3],
}

impl Sum {
    fn of(cost: &Cost) -> Sum {
        Sum {
            disk: cost.device_bytes.unwrap_or(cost.bytes),
            cache: cost.cache_bytes.unwrap_or(0),
            times: [cost.wall_s, cost.user_s, cost.system_s],
        }
    }

    fn add(&mut self, other: &Sum) {
        self.disk += other.disk;
        self.cache += other.cache;
        for (time, more) in self.times.iter_mut().zip(other.times) {
            *time += more;
        }
    }

    fn print(&self, out: &mut String) {
        let [real, user, system] = self.times;
        let waited = real - user;
        let rate = if waited > 0.0 {
            format!("{:.2}", self.disk as f64 / MIB / waited)
        } else if self.disk > 0 {
            "inf".into()
        } else {
            "-nan".into()
        };
        let (disk, cache) = (mebibytes(self.disk), mebibytes(self.cache));
        let _ = writeln!(
            out,
            "  I/O read disk/cache: {disk}MB / {cache}MB, write: 0MB, rate: {rate}MB/s"
        );
        let [real, user, system] = [real, user, system].map(minutes);
        let _ = writeln!(out, "  Times real: {real}, user: {user}, sys: {system}");
    }
}

/// `1m5.250s`.
fn minutes(seconds: f64) -> String {
    let whole = (seconds / 60.0).floor();
    format!("{whole:.0}m{:.3}s", seconds - whole * 60.0)
}

fn contents(out: &mut String, inventory: &Inventory) {
    let facts = &inventory.facts.0;
    let fact = |name: &str| {
        let found = facts.iter().find(|fact| fact.0 == name);
        found.map_or(0, |fact| fact.1.as_u64().unwrap_or(0))
    };
    let depths = facts.iter().find(|fact| fact.0 == "depths");
    let depths: Vec<String> = depths
        .and_then(|fact| fact.1.as_array())
        .map(|depths| depths.iter().map(ToString::to_string).collect())
        .unwrap_or_default();
    let _ = writeln!(
        out,
        "\n  # of inodes with depth 0/1/2/3/4/5: {}\n  # of orphaned inodes found/deleted: 0/0\n",
        depths.join("/")
    );
    let files = &inventory.files;
    let plural = |count: u64, one: &str, many: &str| {
        format!("{count:12} {}", if count == 1 { one } else { many })
    };
    let inline = |count: u64| format!("{count} inline{}", if count == 1 { "" } else { "s" });
    let reflinks = fact("reflinks");
    let shared = format!("{reflinks} reflink{}", if reflinks == 1 { "" } else { "s" });
    let fast = fact("fast_symlinks");
    let fast = format!(
        "{fast} fast symbolic link{}",
        if fast == 1 { "" } else { "s" }
    );
    let lines = [
        format!(
            "{} ({}, {shared})",
            plural(files.regular, "regular file", "regular files"),
            inline(fact("inline_files"))
        ),
        format!(
            "{} ({})",
            plural(files.directories, "directory", "directories"),
            inline(fact("inline_directories"))
        ),
        plural(
            files.char_devices,
            "character device file",
            "character device files",
        ),
        plural(
            files.block_devices,
            "block device file",
            "block device files",
        ),
        plural(files.fifos, "fifo", "fifos"),
        plural(
            fact("links").saturating_sub(files.directories),
            "link",
            "links",
        ),
        format!(
            "{} ({fast})",
            plural(files.symlinks, "symbolic link", "symbolic links")
        ),
        plural(files.sockets, "socket", "sockets"),
    ];
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_those_of_the_program() {
        let mut out = String::new();
        let sum = Sum {
            disk: 66 << 20,
            cache: 66 << 20,
            times: [65.25, 0.041, 0.063],
        };
        sum.print(&mut out);
        Sum {
            disk: 0,
            cache: 0,
            times: [0.0; 3],
        }
        .print(&mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines,
            [
                "  I/O read disk/cache: 66MB / 66MB, write: 0MB, rate: 1.01MB/s",
                "  Times real: 1m5.250s, user: 0m0.041s, sys: 0m0.063s",
                "  I/O read disk/cache: 0MB / 0MB, write: 0MB, rate: -nanMB/s",
                "  Times real: 0m0.000s, user: 0m0.000s, sys: 0m0.000s",
            ]
        );
    }
}
