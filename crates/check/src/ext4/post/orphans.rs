//! The file in which orphans are listed.

use ondisk::ext4::feature::{Compat, RoCompat};
use ondisk::ext4::{Inode, orphan};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P6_ORPHAN_BLOCK_DIRTY, P6_ORPHAN_FILE_CORRUPTED, P6_ORPHAN_FILE_HOLE,
    P6_ORPHAN_FILE_WITHOUT_JOURNAL, P6_ORPHAN_FILE_WRONG_SIZE, P6_ORPHAN_PRESENT_CLEAN_FILE,
    P6_ORPHAN_PRESENT_NO_FILE,
};
use crate::ext4::e2fsck::stops;
use crate::ext4::post::order;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;

/// The features, and each block of the file: all of them must be as when they were made.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    let present = sb.has_ro_compat(RoCompat::ORPHAN_PRESENT);
    if !sb.has_compat(Compat::ORPHAN_FILE) {
        if present {
            log.add(Finding::new(&P6_ORPHAN_PRESENT_NO_FILE));
        }
        return;
    }
    if !sb.has_compat(Compat::HAS_JOURNAL) {
        log.add(Finding::new(&P6_ORPHAN_FILE_WITHOUT_JOURNAL));
    }
    let ino = sb.s_orphan_file_inum.get();
    match contents(volume, ino, log) {
        Ok(()) if present => {
            log.add(
                Finding::new(&P6_ORPHAN_PRESENT_CLEAN_FILE)
                    .inode(ino)
                    .order(order(0, 1)),
            );
        }
        Ok(()) => {}
        Err(corrupted) => {
            let finding = Finding::new(&P6_ORPHAN_FILE_CORRUPTED)
                .inode(ino)
                .order(order(0, 1))
                .note(corrupted.why.as_str());
            log.add(match corrupted {
                Corrupted { ends: true, .. } => stops::here(finding),
                Corrupted { beyond: true, .. } => finding.beyond_reference(),
                _ => finding,
            });
        }
    }
}

/// Why the file as a whole is of no use.
struct Corrupted {
    why: String,
    /// e2fsck does not go on without the inode.
    ends: bool,
    /// e2fsck does not see holes in extent trees.
    beyond: bool,
}

fn corrupted(why: impl Into<String>) -> Corrupted {
    Corrupted {
        why: why.into(),
        ends: false,
        beyond: false,
    }
}

fn contents(volume: &Volume<'_>, ino: u32, log: &mut Log) -> Result<(), Corrupted> {
    let slot = volume.read_slot(ino).map_err(|error| Corrupted {
        ends: true,
        ..corrupted(error.to_string())
    })?;
    let inode = Inode::read(&slot, volume.geometry.inode_size)
        .map_err(|error| corrupted(error.to_string()))?;
    // The reference reads the inode anew, and ends where its library refuses it. One that was never written it takes.
    let seed = volume.seed.filter(|_| !inode.is_zero());
    let sum = seed.map(|seed| inode.checksum(seed, ino));
    if sum.is_some_and(|sum| !sum.matches()) {
        return Err(Corrupted {
            ends: true,
            ..corrupted("the checksum of its inode is wrong")
        });
    }
    let block_size = u64::from(volume.geometry.block_size);
    let size = inode.size();
    if !size.is_multiple_of(block_size) {
        log.add(
            Finding::new(&P6_ORPHAN_FILE_WRONG_SIZE)
                .inode(ino)
                .order(order(0, 0))
                .found(size)
                .expected(format!("a multiple of {block_size}")),
        );
        return Err(corrupted(format!("its size is {size} bytes")));
    }
    let map = volume.map(&inode);
    let blocks = size / block_size;
    let mapped = map.without_hole();
    let seed = volume.seed.map(|seed| inode.seed(seed, ino));
    let mut clean = vec![0; volume.block_size()];
    for stretch in &map.stretches {
        let end = (stretch.logical + stretch.len).min(mapped.min(blocks));
        for logical in stretch.logical..end {
            // A map may name one block as often as it has room for.
            if volume.progress.cancelled() {
                return Err(corrupted("the check was stopped"));
            }
            let physical = stretch.physical + (logical - stretch.logical);
            let bytes = volume
                .read_block(physical)
                .map_err(|error| corrupted(error.to_string()))?;
            // A block has room for the tail.
            let made = orphan::write(&mut clean, &[], physical, seed).is_ok();
            if made && bytes != clean {
                log.add(
                    dirty(&bytes, &clean)
                        .inode(ino)
                        .block(physical)
                        .logical(logical)
                        .order(order(0, 0)),
                );
                return Err(corrupted("it is not as it was made"));
            }
        }
    }
    if mapped < blocks {
        let hole = Finding::new(&P6_ORPHAN_FILE_HOLE)
            .inode(ino)
            .logical(mapped)
            .order(order(0, 0));
        log.add(if map.extents {
            hole.beyond_reference()
        } else {
            hole
        });
        let fault = map.fault.map(|fault| format!(": {fault}"));
        let why = format!(
            "{mapped} of its {blocks} blocks are mapped without a hole{}",
            fault.unwrap_or_default()
        );
        return Err(Corrupted {
            beyond: map.extents,
            ..corrupted(why)
        });
    }
    Ok(())
}

/// In what a block differs from an empty one.
fn dirty(bytes: &[u8], clean: &[u8]) -> Finding {
    let finding = Finding::new(&P6_ORPHAN_BLOCK_DIRTY);
    let at = bytes
        .iter()
        .zip(clean)
        .position(|(found, expected)| found != expected)
        .unwrap_or(0);
    let finding = finding.offset(at);
    match orphan::OrphanBlock::read(bytes) {
        Err(error) => finding.note(error.to_string()),
        Ok(block) => match block.inodes().count() {
            0 => finding.note("its checksum is wrong"),
            count => finding.found(count as u64).expected(0_u64).note("entries"),
        },
    }
}
