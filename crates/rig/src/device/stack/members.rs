//! What a stack is built on: images, whole disks, or slices of one disk.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dm::{self, Piece};
use super::model::Store;
use super::{Part, kernel};
use crate::device::Device;
use crate::device::block::Disk;
use crate::device::loop_image::LoopImage;
use crate::gate::{Approved, Gate};
use crate::host::Host;
use crate::undo::{Journal, Step};
use crate::{Error, Result};
use progress::Progress;

/// Slices begin and end at whole MiB.
const UNIT: u64 = 1 << 20;

/// Where members come from.
pub(crate) enum Bases<'a> {
    /// A new image for each, in this folder, whose names begin so.
    Images(&'a Path, &'a str),
    /// These disks, one for each; or one alone, which is cut.
    Disks {
        /// The disks that passed the gate.
        disks: &'a [(Gate, Approved)],
        /// This run has written to them before.
        ours: bool,
        /// Discard them whole first.
        discard: bool,
        /// Where the bytes of a modelled disk go; without one, to memory.
        store: Option<&'a Path>,
    },
}

/// The members of a stack, and what was made for them.
pub(super) struct Members {
    pub(super) bases: Vec<Box<dyn Device>>,
    pub(super) parts: Vec<Part>,
    pub(super) pieces: Vec<Piece>,
}

impl Bases<'_> {
    /// Takes or makes members of these sizes. `name` begins the names of slices. What was made before
    /// an error is undone by the caller, who gets it through `made`.
    pub(super) fn take(
        &self,
        sizes: &[u64],
        name: &str,
        journal: &Arc<Journal>,
        made: &mut Members,
        progress: &dyn Progress,
    ) -> Result<()> {
        match self {
            Bases::Images(folder, prefix) => {
                for (number, size) in sizes.iter().enumerate() {
                    let name = format!("{prefix}-{number}.img");
                    let image = LoopImage::create(folder, &name, *size, journal)?;
                    made.whole(Box::new(image));
                }
                Ok(())
            }
            Bases::Disks {
                disks,
                ours,
                discard,
                ..
            } => {
                if !sizes.is_empty() && sizes.len() != disks.len() && disks.len() != 1 {
                    return Err(Error::Cannot {
                        thing: format!("{} disks", disks.len()),
                        what: format!("cannot be {} members", sizes.len()),
                        why: "neither one for each nor one to cut".into(),
                        next: "give one disk, which is cut into slices".into(),
                    });
                }
                if sizes.is_empty() {
                    return Ok(());
                }
                for (gate, approved) in *disks {
                    let disk = Disk::take(gate, approved, *ours, *discard, progress)?;
                    made.whole(Box::new(disk));
                }
                if sizes.len() == disks.len() {
                    return Ok(());
                }
                made.cut(sizes, name, journal)
            }
        }
    }
}

impl Bases<'_> {
    /// Where the bytes of a modelled disk go: to memory, where they leave at least as much free; else to an image, where there
    /// is a folder for it. Pages of an image may be dropped meanwhile, and are then read from the host's disk. In a guest they go to
    /// persistent memory, if it has such.
    pub(super) fn store(&self, name: &str, size: u64) -> Store {
        match self {
            Bases::Images(folder, _) if size > available() / 2 => {
                Store::Image(folder.join(format!("{name}.img")))
            }
            Bases::Disks {
                store: Some(path), ..
            } => Store::Persistent(path.to_path_buf()),
            Bases::Images(..) | Bases::Disks { store: None, .. } => Store::Memory,
        }
    }
}

/// Bytes of memory that programs can have without swapping; none where the kernel does not say.
fn available() -> u64 {
    let text = Host::default().text("proc/meminfo").unwrap_or_default();
    let found = probe::meminfo::parse(&text);
    found.get("MemAvailable").map_or(0, |kib| kib << 10)
}

impl Members {
    pub(super) fn none() -> Members {
        Members {
            bases: Vec::new(),
            parts: Vec::new(),
            pieces: Vec::new(),
        }
    }

    fn whole(&mut self, base: Box<dyn Device>) {
        self.pieces.push(Piece {
            node: base.node().map(Path::to_path_buf).unwrap_or_default(),
            offset: 0,
            length: base.size().unwrap_or(0),
        });
        self.bases.push(base);
    }

    /// Cuts the one disk into slices by dm-linear.
    fn cut(&mut self, sizes: &[u64], name: &str, journal: &Arc<Journal>) -> Result<()> {
        kernel::can_slice()?;
        let Some(disk) = self.pieces.pop() else {
            return Ok(());
        };
        let host = Host::default();
        for (number, piece) in slices(&disk, sizes)?.iter().enumerate() {
            let name = format!("{name}-slice{number}");
            let step = Step::Mapped { name: name.clone() };
            self.parts.push(Part {
                number: journal.will_make(step.clone())?,
                step,
            });
            let device = dm::create(&host, &name, &dm::linear(piece))?;
            self.pieces.push(Piece {
                node: PathBuf::from("/dev").join(device),
                offset: 0,
                length: piece.length,
            });
        }
        Ok(())
    }
}

/// The disk, shared out as the sizes are, in whole MiB.
fn slices(disk: &Piece, sizes: &[u64]) -> Result<Vec<Piece>> {
    let shares = shares(disk.length, sizes);
    if shares.iter().any(Range::is_empty) {
        return Err(Error::Cannot {
            thing: disk.node.display().to_string(),
            what: format!("cannot be cut into {} slices", sizes.len()),
            why: format!("it has {} MiB", disk.length >> 20),
            next: "use a larger disk or fewer members".into(),
        });
    }
    let piece = |share: Range<u64>| Piece {
        node: disk.node.clone(),
        offset: disk.offset + share.start,
        length: share.end - share.start,
    };
    Ok(shares.into_iter().map(piece).collect())
}

/// Where on a disk of `length` bytes the members of these sizes are when it is cut: their shares of it, in whole
/// MiB, in their order. A reader of the disk finds a member by this.
pub fn shares(length: u64, sizes: &[u64]) -> Vec<Range<u64>> {
    let asked: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
    let mut begin = 0;
    let share = |size: &u64| {
        let share = u128::from(length) * u128::from(*size) / asked.max(1);
        let share = u64::try_from(share).unwrap_or(u64::MAX) / UNIT * UNIT;
        let start = begin;
        begin += share;
        start..begin
    };
    sizes.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(mib: u64) -> Piece {
        Piece {
            node: "/dev/vda".into(),
            offset: 0,
            length: mib << 20,
        }
    }

    #[test]
    fn a_disk_is_shared_out_as_the_members_are_asked() {
        let even = slices(&disk(341), &[31 << 20; 11]).unwrap();
        assert_eq!(even.len(), 11);
        assert!(even.iter().all(|slice| slice.length == 31 << 20));
        assert_eq!(even[10].offset, 310 << 20);
        // A disk of another size, and unequal members.
        let log = slices(&disk(900), &[100 << 20, 200 << 20]).unwrap();
        assert_eq!(log[0].length, 300 << 20);
        assert_eq!(log[1].length, 600 << 20);
        assert_eq!(
            shares(900 << 20, &[1, 2]),
            [0..300 << 20, 300 << 20..900 << 20]
        );
        assert!(slices(&disk(5), &[1 << 20; 11]).is_err());
    }
}
