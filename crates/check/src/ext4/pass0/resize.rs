//! The inode that owns the blocks kept for the growth of the descriptors.
//!
//! It maps nothing but a doubly indirect block, which lists the reserved blocks of group 0, and each of these
//! lists its own copies in the groups with backups. e2fsck follows a quarter of the list; the rest is looked at here all the
//! same and does not count for its verdict.

use ondisk::ext4::block_map::pointers;
use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::inode::number::RESIZE;
use ondisk::ext4::mode::TYPE_MASK;
use ondisk::ext4::{FileType, Inode};

use super::super::file::FileError;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P0_CLEAR_RESIZE_INODE, P0_DISABLE_RESIZE_INODE, P0_NONZERO_RESERVED_GDT_BLOCKS,
    P0_RESIZE_INODE_INVALID,
};
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;

/// Word of `i_block` with the doubly indirect block.
const DOUBLY: usize = 13;

/// Inode 7 and the feature that gives it a meaning.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    let wanted = sb.has_compat(Compat::RESIZE_INODE);
    if wanted && sb.has_incompat(Incompat::META_BG) {
        log.add(Finding::new(&P0_DISABLE_RESIZE_INODE));
    }
    let reserved = sb.s_reserved_gdt_blocks.get();
    if !wanted && reserved != 0 {
        log.add(
            Finding::new(&P0_NONZERO_RESERVED_GDT_BLOCKS)
                .found(reserved)
                .expected(0_u16),
        );
    }
    // An inode that cannot be read, or is not what was written, is a finding of pass 1.
    let Ok(slot) = volume.read_inode(RESIZE) else {
        return;
    };
    let Ok(inode) = Inode::read(&slot, volume.geometry.inode_size) else {
        return;
    };
    if !wanted {
        if inode.block_words().iter().any(|word| *word != 0) {
            log.add(Finding::new(&P0_CLEAR_RESIZE_INODE).inode(RESIZE).order(0));
        }
        return;
    }
    if let Err(fault) = follow(volume, &inode) {
        let finding = Finding::new(&P0_RESIZE_INODE_INVALID)
            .inode(RESIZE)
            .order(0)
            .note(fault.why);
        log.add(if fault.beyond {
            finding.beyond_reference()
        } else {
            finding
        });
    }
}

struct Fault {
    why: String,
    beyond: bool,
}

impl From<String> for Fault {
    fn from(why: String) -> Fault {
        Fault { why, beyond: false }
    }
}

/// Most bytes of the reserved blocks that are read at once. They are held twice where a direct read needs its own alignment, and are
/// not to be what a small check has most memory for.
const CHUNK: usize = 512 << 10;

/// The reserved blocks of group 0: they lie side by side, and one request for each would be a thousand.
struct Area<'a> {
    volume: &'a Volume<'a>,
    first: u64,
    bytes: Vec<u8>,
}

impl<'a> Area<'a> {
    fn new(volume: &'a Volume<'a>) -> Area<'a> {
        Area {
            volume,
            first: 0,
            bytes: Vec::new(),
        }
    }

    /// One of them; `left` are left, this one included.
    fn block(&mut self, block: u64, left: u64) -> Result<&[u8], FileError> {
        let size = self.volume.block_size();
        let held = |area: &Self| {
            let at = usize::try_from(block.checked_sub(area.first)?).ok()?;
            let at = at.checked_mul(size)?;
            (at + size <= area.bytes.len()).then_some(at)
        };
        let at = if let Some(at) = held(self) {
            at
        } else {
            self.fill(block, left)?;
            0
        };
        Ok(&self.bytes[at..at + size])
    }

    /// Reads as many as can be had together; one bad one must not take the others with it.
    fn fill(&mut self, block: u64, left: u64) -> Result<(), FileError> {
        let (size, blocks) = (self.volume.block_size(), self.volume.geometry.blocks_count);
        let count = left
            .min((CHUNK / size) as u64)
            .min(blocks.saturating_sub(block));
        self.first = block;
        self.bytes.resize(count as usize * size, 0);
        let together = count > 1
            && self
                .volume
                .source
                .read_at(&mut self.bytes, block * size as u64)
                .is_ok();
        if !together {
            self.bytes.clear();
            self.bytes = self.volume.read_block(block)?;
        }
        Ok(())
    }
}

fn follow(volume: &Volume<'_>, inode: &Inode<'_>) -> Result<(), Fault> {
    let geometry = &volume.geometry;
    let words = inode.block_words();
    let top = u64::from(words[DOUBLY]);
    let others = words
        .iter()
        .enumerate()
        .any(|(nth, word)| nth != DOUBLY && *word != 0);
    let raw = inode.raw();
    // The reference looks at one bit of the type.
    let regular = raw.i_mode.get() & TYPE_MASK & FileType::Regular.mode() != 0;
    if others || top == 0 || raw.i_links_count.get() == 0 || !regular {
        return Err(String::from(
            "it is not a linked regular file with nothing but a doubly indirect block",
        )
        .into());
    }
    if !(u64::from(geometry.first_data_block)..geometry.blocks_count).contains(&top) {
        return Err(
            format!("its doubly indirect block is {top}, outside of the filesystem").into(),
        );
    }
    let read = |block| volume.read_block(block).map_err(|error| error.to_string());
    let list: Vec<u32> = pointers(&read(top)?).collect();
    let followed = geometry.reserved_gdt_blocks as usize / 4;
    let mut area = Area::new(volume);
    for (nth, expected) in geometry.reserved_gdt_map().enumerate() {
        let beyond = nth >= followed;
        let fault = |why| Fault { why, beyond };
        let found = list.get(expected.index as usize).copied().unwrap_or(0);
        if u64::from(found) != expected.block {
            return Err(fault(format!(
                "entry {} of its doubly indirect block {top} is {found} instead of {}",
                expected.index, expected.block
            )));
        }
        let left = u64::from(geometry.reserved_gdt_blocks).saturating_sub(nth as u64);
        let copies = area
            .block(expected.block, left)
            .map_err(|error| fault(error.to_string()))?;
        let wrong = pointers(copies)
            .zip(&expected.backups)
            .find(|(found, backup)| u64::from(*found) != (**backup & u64::from(u32::MAX)));
        if let Some((found, backup)) = wrong {
            return Err(fault(format!(
                "the indirect block {} lists {found} instead of {backup}",
                expected.block
            )));
        }
    }
    Ok(())
}
