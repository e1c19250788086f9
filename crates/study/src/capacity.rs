//! Refuses, before anything is touched, what cannot fit into its device: bytes, inodes, and files
//! larger than the filesystem has numbers for.
//!
//! A run would find the same after an hour, as ENOSPC or EFBIG in the middle of a block.

use crate::error::{Origin, Problem};
use crate::inodes;
use crate::model::{Cell, FilesystemKind, FillSpec, WorkloadSpec};
use crate::placed::Placed;
use crate::units::Bytes;

/// What the filesystem keeps for itself: a sixteenth (inode tables, bitmaps, spread metadata) and
/// 32 MiB (a journal or log of a small filesystem).
const SHARE: u64 = 16;
const FIXED: u64 = 32 * Bytes::MIB;

/// The smallest device that a study may ask for: the schema's minimum.
const SMALLEST: u64 = 16 * Bytes::MIB;

/// The smallest device that a kind can be made on.
fn smallest(kind: FilesystemKind) -> Bytes {
    Bytes(kind.properties().smallest.max(SMALLEST))
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
        let (size, smallest) = (human(size), smallest(kind));
        let mkfs = kind.properties().mkfs.program;
        return Some(Misfit {
            at,
            message: format!("{size} is too small for {mkfs} (at least {smallest})"),
            needed: smallest.get(),
        });
    }
    too_large_a_file(placed)
        .or_else(|| too_many_bytes(placed, size, target.is_some()))
        .or_else(|| too_many_files(placed, size))
}

fn too_large_a_file(placed: &Placed) -> Option<Misfit> {
    let (parameter, size) = placed.cell.workload.parameters().largest_file()?;
    let kind = placed.cell.filesystem.kind;
    let largest = Bytes(kind.properties().largest_file);
    (size >= largest.get()).then(|| Misfit {
        at: placed.place(parameter).clone(),
        message: format!(
            "a file of {} is larger than {kind} can hold (less than {largest})",
            human(Bytes(size)),
        ),
        needed: size,
    })
}

fn too_many_bytes(placed: &Placed, size: Bytes, target: bool) -> Option<Misfit> {
    let peak = placed.cell.workload.parameters().footprint().peak;
    let free = size.get().saturating_sub(size.get() / SHARE + FIXED);
    if peak <= free as f64 {
        return None;
    }
    let needed = ((peak + FIXED as f64) * SHARE as f64 / (SHARE - 1) as f64) as u64;
    let (device, remedy) = device(&placed.cell, size, target);
    let about = human(Bytes(needed));
    let load = placed.cell.workload.parameters().load();
    let what = load.amount;
    if let WorkloadSpec::Fill(FillSpec {
        fill_share: Some(share),
        ..
    }) = &placed.cell.workload
    {
        // A larger device would have larger files.
        return Some(Misfit {
            at: placed.place("fill_share").clone(),
            message: format!(
                "{what}, {share} of {device}, cannot fit beside what the filesystem keeps for \
                 itself and whole blocks (a smaller share, or fewer files)"
            ),
            needed,
        });
    }
    Some(Misfit {
        at: placed.place(load.parameter).clone(),
        message: format!(
            "{what} cannot fit into {device} (needs {remedy}, about {about}, or {})",
            load.smaller
        ),
        needed,
    })
}

/// The device and what would be a larger one.
fn device(cell: &Cell, size: Bytes, target: bool) -> (String, &'static str) {
    if target {
        (format!("the target of {}", human(size)), "a larger target")
    } else if cell.levels.contains_key("device_size") {
        (format!("device_size = {size}"), "a larger device_size")
    } else {
        (format!("device.size = {size}"), "a larger device.size")
    }
}

fn too_many_files(placed: &Placed, size: Bytes) -> Option<Misfit> {
    let inodes = inodes::made(&placed.cell.filesystem, size)?;
    let workload = placed.cell.workload.parameters();
    let files = workload.inodes()?;
    if files <= inodes {
        return None;
    }
    let mkfs = placed.cell.filesystem.kind.properties().mkfs.program;
    Some(Misfit {
        at: placed.place(workload.load().parameter).clone(),
        message: format!(
            "{files} files and directories do not fit into the {inodes} inodes that {mkfs} makes \
             on {size} (fewer files, or mkfs = [\"-i\", \"BYTES\"] with fewer bytes for each inode)"
        ),
        needed: files,
    })
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
