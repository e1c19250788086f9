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

use super::super::Volume;
use crate::finding::Finding;
use crate::log::Log;
use crate::problem::{
    P0_CLEAR_RESIZE_INODE, P0_DISABLE_RESIZE_INODE, P0_NONZERO_RESERVED_GDT_BLOCKS,
    P0_RESIZE_INODE_INVALID,
};

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
        let copies = read(expected.block).map_err(fault)?;
        let wrong = pointers(&copies)
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
