//! Refuses, before anything is touched, what cannot fit into its device.

use crate::error::Problem;
use crate::expand::Placed;
use crate::footprint;
use crate::model::{Cell, FilesystemKind, WorkloadSpec};
use crate::units::Bytes;

/// What the filesystem keeps for itself: a sixteenth (inode tables, bitmaps, spread metadata) and
/// 32 MiB (a journal or log of a small filesystem).
const SHARE: u64 = 16;
const FIXED: u64 = 32 * Bytes::MIB;

/// Smallest device that each mkfs accepts (mkfs.xfs since xfsprogs 5.19, mkfs.btrfs with its
/// default profiles; the ext family's limit is that of the schema).
fn smallest(kind: FilesystemKind) -> Bytes {
    Bytes(match kind {
        FilesystemKind::Xfs => 300 * Bytes::MIB,
        FilesystemKind::Btrfs => 114 * Bytes::MIB,
        FilesystemKind::Ext2 | FilesystemKind::Ext3 | FilesystemKind::Ext4 => 16 * Bytes::MIB,
    })
}

/// Problems of all cells, each said once. `target` replaces the size of the loop images.
pub(crate) fn problems(cells: &[Placed], target: Option<Bytes>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for placed in cells {
        let Some((parameter, message)) = misfit(&placed.cell, target) else {
            continue;
        };
        let problem = Problem::new(placed.place(parameter), message);
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

/// The parameter to blame and why the cell does not fit.
fn misfit(cell: &Cell, target: Option<Bytes>) -> Option<(&'static str, String)> {
    let size = target.unwrap_or(cell.device.size);
    let (device, remedy) = match target {
        Some(size) => (format!("the target of {}", human(size)), "a larger target"),
        None => (format!("device.size = {size}"), "a larger device.size"),
    };
    let kind = cell.filesystem.kind;
    if size < smallest(kind) {
        let smallest = smallest(kind);
        let mkfs = mkfs(kind);
        let message = format!("{device} is too small for {mkfs} (at least {smallest})");
        return Some(("", message));
    }
    let peak = footprint::of(&cell.workload).peak;
    let free = size.get().saturating_sub(size.get() / SHARE + FIXED);
    if peak <= free as f64 {
        return None;
    }
    let needed = Bytes(((peak + FIXED as f64) * SHARE as f64 / (SHARE - 1) as f64) as u64);
    let needed = human(needed);
    Some(match &cell.workload {
        WorkloadSpec::Throughput(spec) => (
            "size",
            format!(
                "{} threads x {} do not fit into {device} (needs {remedy}, about {needed}, or smaller files)",
                spec.threads, spec.size
            ),
        ),
        WorkloadSpec::Tree(spec) => (
            "scale",
            format!(
                "{} trees at scale {} do not fit into {device} (needs {remedy}, about {needed}, or a smaller scale)",
                spec.initial, spec.scale
            ),
        ),
    })
}

fn mkfs(kind: FilesystemKind) -> &'static str {
    match kind {
        FilesystemKind::Ext2 => "mkfs.ext2",
        FilesystemKind::Ext3 => "mkfs.ext3",
        FilesystemKind::Ext4 => "mkfs.ext4",
        FilesystemKind::Xfs => "mkfs.xfs",
        FilesystemKind::Btrfs => "mkfs.btrfs",
    }
}

/// A size for people, rounded up at the last digit: `17.1g`, `320m`.
pub(crate) fn human(size: Bytes) -> String {
    let bytes = size.get() as f64;
    let (unit, name) = if size.get() >= Bytes::GIB {
        (Bytes::GIB, "g")
    } else if size.get() >= Bytes::MIB {
        (Bytes::MIB, "m")
    } else {
        return size.to_string();
    };
    let value = bytes / unit as f64;
    if value >= 100.0 {
        return format!("{}{name}", value.ceil());
    }
    format!("{}{name}", (value * 10.0).ceil() / 10.0)
}
