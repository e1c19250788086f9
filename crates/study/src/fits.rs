//! Refuses, before anything is touched, what cannot fit into its device.

use crate::error::{Origin, Problem};
use crate::expand::Placed;
use crate::footprint;
use crate::model::{FilesystemKind, WorkloadSpec};
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
        FilesystemKind::Btrfs => 109 * Bytes::MIB,
        FilesystemKind::Ext2 | FilesystemKind::Ext3 | FilesystemKind::Ext4 => 16 * Bytes::MIB,
    })
}

/// Why a cell does not fit.
struct Misfit {
    at: Origin,
    message: String,
    /// Bytes it would need.
    needed: u64,
}

/// Problems of all cells, the worst of each place. `target` replaces the size of loop images.
pub(crate) fn problems(cells: &[Placed], target: Option<Bytes>) -> Vec<Problem> {
    let mut worst: Vec<Misfit> = Vec::new();
    for misfit in cells.iter().filter_map(|placed| misfit(placed, target)) {
        match worst.iter_mut().find(|known| known.at == misfit.at) {
            Some(known) if known.needed >= misfit.needed => {}
            Some(known) => *known = misfit,
            None => worst.push(misfit),
        }
    }
    let problem = |misfit: Misfit| Problem {
        at: misfit.at,
        message: misfit.message,
    };
    worst.into_iter().map(problem).collect()
}

fn misfit(placed: &Placed, target: Option<Bytes>) -> Option<Misfit> {
    let cell = &placed.cell;
    let size = target.unwrap_or(cell.device.size);
    let kind = cell.filesystem.kind;
    if size < smallest(kind) {
        let at = match target {
            Some(_) => Origin::argument("the target"),
            None => placed
                .device_size
                .clone()
                .unwrap_or_else(|| placed.place("").clone()),
        };
        let (size, mkfs, smallest) = (human(size), mkfs(kind), smallest(kind));
        return Some(Misfit {
            at,
            message: format!("{size} is too small for {mkfs} (at least {smallest})"),
            needed: smallest.get(),
        });
    }
    let peak = footprint::of(&cell.workload).peak;
    let free = size.get().saturating_sub(size.get() / SHARE + FIXED);
    if peak <= free as f64 {
        return None;
    }
    let needed = ((peak + FIXED as f64) * SHARE as f64 / (SHARE - 1) as f64) as u64;
    let (device, remedy) = match target {
        Some(size) => (format!("the target of {}", human(size)), "a larger target"),
        None => (format!("device.size = {size}"), "a larger device.size"),
    };
    let about = human(Bytes(needed));
    let (parameter, what, or) = match &cell.workload {
        WorkloadSpec::Throughput(spec) => (
            "size",
            format!("{} x {}", counted(spec.threads, "file"), spec.size),
            "smaller files",
        ),
        WorkloadSpec::Tree(spec) => (
            "scale",
            format!("{} at scale {}", counted(spec.initial, "tree"), spec.scale),
            "a smaller scale",
        ),
        WorkloadSpec::Stream(spec) => (
            "count",
            format!("{} requests of {}", spec.count, spec.block),
            "a smaller count",
        ),
        WorkloadSpec::Fill(spec) => (
            "files",
            format!(
                "{} x {} files of {}",
                counted(spec.processes, "process"),
                spec.files,
                spec.size
            ),
            "fewer files",
        ),
        WorkloadSpec::Age(spec) => (
            "files",
            format!(
                "{} of {} files of {}",
                counted(spec.rounds, "round"),
                spec.files,
                spec.size
            ),
            "fewer files",
        ),
    };
    Some(Misfit {
        at: placed.place(parameter).clone(),
        message: format!(
            "{what} cannot fit into {device} (needs {remedy}, about {about}, or {or})"
        ),
        needed,
    })
}

fn counted(count: u32, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people_round_up() {
        let shown = [
            1 << 30,
            (1 << 30) + 1,
            171 << 20,
            (10 << 20) + 1,
            4096,
            17 << 40,
        ];
        let shown = shown.map(|n| human(Bytes(n)));
        assert_eq!(shown, ["1g", "1.1g", "171m", "10.1m", "4k", "17408g"]);
    }
}
