//! The journal's inode and superblock. Under `-n` nothing is replayed: the filesystem is judged as it lies there.
//!
//! The inode must be a regular file of at least 1024 blocks without a hole; the superblock has a copy of its map for the case
//! that it is not. The journal's own superblock must be of a kind that the reader knows in every feature, because a
//! journal that is misread destroys what it is replayed onto.
//!
//! An external journal is looked at when the caller has it. e2fsck asks libblkid for a device with its UUID; this checker opens
//! nothing that it was not given.

use blockio::BlockSource;
use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::inode::{InodeMut, RawInode, flag};
use ondisk::ext4::journal::superblock::{CHECKSUM_CRC32C, SIZE, compat, incompat};
use ondisk::ext4::journal::{JournalSuperblock, MAGIC};
use ondisk::ext4::superblock::MAGIC as FILESYSTEM_MAGIC;
use ondisk::ext4::{FileType, GroupDescriptor, Inode, Superblock};
use zerocopy::FromBytes;

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P0_CANT_FIND_JOURNAL, P0_CLEAR_V2_JOURNAL, P0_EXT_JOURNAL_BAD_SUPER,
    P0_EXT_JOURNAL_SUPER_CSUM_INVALID, P0_EXTERNAL_JOURNAL_HINT, P0_JOURNAL_BAD_INODE,
    P0_JOURNAL_BAD_SUPER, P0_JOURNAL_BAD_UUID, P0_JOURNAL_HAS_JOURNAL, P0_JOURNAL_RECOVER_SET,
    P0_JOURNAL_RECOVERY_CLEAR, P0_JOURNAL_RESET_JOURNAL, P0_JOURNAL_RUN,
    P0_JOURNAL_UNSUPP_INCOMPAT, P0_JOURNAL_UNSUPP_MULTIFS, P0_JOURNAL_UNSUPP_ROCOMPAT,
    P0_JOURNAL_UNSUPP_VERSION,
};
use crate::ext4::pass0::libext2fs_open::table_blocks;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Fewest blocks of a journal.
const LEAST: u64 = 1024;
/// `s_jnl_backup_type`: the superblock has the map of the journal's inode.
const BACKUP_BLOCKS: u8 = 1;

/// The journal that the superblock names.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    let external = sb.s_journal_uuid != [0; 16];
    let concerned = sb.has_compat(Compat::HAS_JOURNAL)
        || sb.has_incompat(Incompat::RECOVER)
        || sb.s_journal_inum.get() != 0
        || sb.s_journal_dev.get() != 0
        || external;
    if !concerned {
        return;
    }
    let found = if external {
        outside(volume, log)
    } else {
        inside(volume)
            .map_err(|why| bad_inode(volume, why, log))
            .ok()
    };
    let Some(found) = found else { return };
    if let Some(hole) = &found.hole {
        let finding = Finding::new(&P0_JOURNAL_BAD_INODE)
            .inode(sb.s_journal_inum.get())
            .order(0);
        log.add(finding.note(hole.as_str()).beyond_reference());
    }
    if let Some(journal) = judge(volume, &found, log) {
        flags(volume, &journal, log);
    }
}

/// Whether the superblock knows the device that the journal is on.
pub(super) fn hint(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    let journal = volume.ext4.journal.as_ref();
    let device = journal.and_then(|journal| journal.device);
    let Some(device) = device.filter(|_| sb.s_journal_uuid != [0; 16]) else {
        return;
    };
    if sb.has_compat(Compat::HAS_JOURNAL) && device != sb.s_journal_dev.get() {
        log.add(
            Finding::new(&P0_EXTERNAL_JOURNAL_HINT)
                .found(format!("{:#06x}", sb.s_journal_dev.get()))
                .expected(format!("{device:#06x}")),
        );
    }
}

/// A journal that was found.
struct Found {
    /// The block with its superblock.
    block: Vec<u8>,
    /// Blocks it may have.
    blocks: u64,
    external: bool,
    /// A hole that e2fsck does not mind, and that the kernel would stumble over.
    hole: Option<String>,
}

/// The inode is not that of a journal; what e2fsck reports then depends on whether there should be one.
fn bad_inode(volume: &Volume<'_>, why: String, log: &mut Log) {
    let sb = &volume.sb;
    let ino = sb.s_journal_inum.get();
    if sb.has_compat(Compat::HAS_JOURNAL) || ino != 0 {
        log.add(
            Finding::new(&P0_JOURNAL_BAD_INODE)
                .inode(ino)
                .order(0)
                .note(why),
        );
    } else if sb.has_incompat(Incompat::RECOVER) {
        log.add(Finding::new(&P0_JOURNAL_RECOVER_SET).note("there is no journal to replay"));
    }
}

/// The journal in the inode, or by the copy of its map.
fn inside(volume: &Volume<'_>) -> Result<Found, String> {
    let sb = &volume.sb;
    let ino = sb.s_journal_inum.get();
    // e2fsck counts inodes by the groups, with 32 bits. Its library counts them by the field, which has not been checked yet.
    let geometry = &volume.geometry;
    let last = geometry.groups.wrapping_mul(geometry.inodes_per_group);
    if ino == 0 || ino > last {
        return Err(format!("there is no inode {ino}"));
    }
    let first = within_table(volume, ino)
        .and_then(|()| volume.read_inode(ino).map_err(|error| error.to_string()))
        .and_then(|slot| of_inode(volume, &slot));
    let why = match first {
        Ok(found) => return Ok(found),
        Err(why) if sb.s_jnl_backup_type != BACKUP_BLOCKS => return Err(why),
        Err(why) => why,
    };
    let copy = copied_inode(sb).ok_or_else(|| why.clone())?;
    of_inode(volume, &copy).map_err(|also| format!("{why}; by the superblock's copy: {also}"))
}

/// Whether the inode is one by `s_inodes_count`, and its table lies inside the filesystem as a whole: the library reads no other.
fn within_table(volume: &Volume<'_>, ino: u32) -> Result<(), String> {
    let sb = &volume.sb;
    let group = volume.geometry.index_of_inode(ino).map(|(group, _)| group);
    let start = group
        .filter(|_| ino <= sb.s_inodes_count.get())
        .and_then(|group| volume.descriptors.get(group as usize))
        .map(GroupDescriptor::inode_table)
        .ok_or_else(|| format!("there is no inode {ino}"))?;
    let end = start.saturating_add(table_blocks(sb));
    if start == 0 || start < sb.s_first_data_block.get().into() || end > sb.blocks_count() {
        return Err(format!(
            "its table would be blocks {start}-{}, and the filesystem has {}",
            end.saturating_sub(1),
            sb.blocks_count()
        ));
    }
    Ok(())
}

/// An inode made of the superblock's copy of `i_block` and the size. It has no flags, so that the copy of an extent tree is of
/// no use: e2fsck takes it for a block map.
fn copied_inode(sb: &Superblock) -> Option<Vec<u8>> {
    let mut slot = vec![0; size_of::<RawInode>()];
    let mut inode = InodeMut::new(&mut slot, 128).ok()?;
    let raw = inode.raw().ok()?;
    let (words, _) = raw.i_block.as_chunks_mut::<4>();
    for (word, copy) in words.iter_mut().zip(&sb.s_jnl_blocks) {
        *word = copy.get().to_le_bytes();
    }
    raw.i_size_high = sb.s_jnl_blocks[15];
    raw.i_size_lo = sb.s_jnl_blocks[16];
    raw.i_links_count = 1.into();
    raw.i_mode = (FileType::Regular.mode() | 0o600).into();
    Some(slot)
}

fn of_inode(volume: &Volume<'_>, slot: &[u8]) -> Result<Found, String> {
    let size = if slot.len() < usize::from(volume.geometry.inode_size) {
        128
    } else {
        volume.geometry.inode_size
    };
    let inode = Inode::read(slot, size).map_err(|error| error.to_string())?;
    let regular = inode.file_type() == Some(FileType::Regular);
    if inode.raw().i_links_count.get() == 0 || !regular || inode.has_flags(flag::ENCRYPT) {
        return Err("it is no regular, linked, unencrypted file".into());
    }
    let block_size = u64::from(volume.geometry.block_size);
    let blocks = inode.size() / block_size;
    if blocks < LEAST {
        return Err(format!("it has {blocks} blocks, and {LEAST} are the least"));
    }
    let map = volume.map(&inode);
    let mapped = map.reach();
    // e2fsck's walk ends at a block before the first one of the superblock, which has not been checked yet.
    let least = u64::from(volume.sb.s_first_data_block.get());
    let mapped = if least > volume.geometry.first_data_block.into() {
        let early = |nth: &u64| map.block(*nth).is_some_and(|block| block < least);
        (0..mapped).find(early).unwrap_or(mapped)
    } else {
        mapped
    };
    // e2fsck compares with an int: a journal of 2 GiB or more is never too short for it.
    let wanted = i64::from(inode.size() as u32 as i32);
    if ((mapped * block_size) as i64) < wanted {
        let fault = map.fault.map(|fault| format!(": {fault}"));
        return Err(format!(
            "{mapped} of its {blocks} blocks are mapped without a hole{}",
            fault.unwrap_or_default()
        ));
    }
    let first = map.block(0).ok_or("its first block is not mapped")?;
    let hole = map.without_hole();
    let hole = (hole < blocks).then(|| format!("block {hole} of its {blocks} is a hole"));
    let block = volume
        .read_block(first)
        .map_err(|error| error.to_string())?;
    Ok(Found {
        block,
        blocks,
        external: false,
        hole,
    })
}

/// The journal on the device that the caller named.
fn outside(volume: &Volume<'_>, log: &mut Log) -> Option<Found> {
    let mut stop = |problem, note: String| {
        log.add(Finding::new(problem).note(note));
    };
    let Some(journal) = &volume.ext4.journal else {
        stop(
            &P0_CANT_FIND_JOURNAL,
            format!(
                "it is on a device of its own, with UUID {}; name that device",
                words::uuid(&volume.sb.s_journal_uuid)
            ),
        );
        return None;
    };
    let source = &*journal.source;
    let sb = match super::libext2fs_open::read(source, None) {
        Ok(sb) => sb,
        Err(error) => {
            stop(&P0_EXT_JOURNAL_BAD_SUPER, error.to_string());
            return None;
        }
    };
    if sb.s_magic.get() != FILESYSTEM_MAGIC || !sb.has_incompat(Incompat::JOURNAL_DEV) {
        stop(
            &P0_EXT_JOURNAL_BAD_SUPER,
            format!("{} is no journal", source.name()),
        );
        return None;
    }
    if sb.s_uuid != volume.sb.s_journal_uuid {
        stop(
            &P0_JOURNAL_BAD_UUID,
            format!("{} is the journal of another filesystem", source.name()),
        );
        return None;
    }
    if let Some(sum) = sb.checksum().filter(|sum| !sum.matches()) {
        log.add(
            Finding::new(&P0_EXT_JOURNAL_SUPER_CSUM_INVALID)
                .found(format!("{:#010x}", sum.stored))
                .expected(format!("{:#010x}", sum.computed)),
        );
    }
    read_outside(volume, source, &sb, log)
}

/// The journal's superblock is in the block after the device's.
fn read_outside(
    volume: &Volume<'_>,
    source: &dyn BlockSource,
    sb: &Superblock,
    log: &mut Log,
) -> Option<Found> {
    let block_size = u64::from(volume.geometry.block_size);
    let at = if block_size == 1024 { 2 } else { 1 };
    let mut block = vec![0; volume.block_size()];
    if let Err(error) = source.read_at(&mut block, at * block_size) {
        log.add(Finding::new(&P0_EXT_JOURNAL_BAD_SUPER).note(error.to_string()));
        return None;
    }
    Some(Found {
        block,
        blocks: sb.blocks_count().min(u32::MAX.into()),
        external: true,
        hole: None,
    })
}

/// Why a journal's superblock is of no use.
enum Bad {
    /// It is none: the inode is wrong.
    NoJournal(String),
    /// It is one that is not known.
    Unknown(&'static Problem, String),
    /// It is damaged.
    Damaged(String),
    /// Several filesystems use it.
    Shared(u32),
}

/// The journal's superblock, if the checks leave it standing.
fn judge(volume: &Volume<'_>, found: &Found, log: &mut Log) -> Option<JournalSuperblock> {
    // As long as a block, at least 1024 bytes: this cannot fail.
    let (journal, _) = JournalSuperblock::read_from_prefix(found.block.get(..SIZE)?).ok()?;
    let Err(bad) = load(volume, &journal, found, log) else {
        return Some(journal);
    };
    let has_journal = volume.sb.has_compat(Compat::HAS_JOURNAL);
    let mut stop = |problem, note: String| {
        log.add(Finding::new(problem).note(note));
    };
    let why = match bad {
        Bad::Shared(users) => {
            stop(&P0_JOURNAL_UNSUPP_MULTIFS, format!("{users} filesystems"));
            return None;
        }
        Bad::NoJournal(why) => {
            bad_inode(volume, why.clone(), log);
            why
        }
        Bad::Unknown(problem, why) => {
            stop(problem, why.clone());
            why
        }
        Bad::Damaged(why) => why,
    };
    if has_journal {
        let finding = Finding::new(&P0_JOURNAL_BAD_SUPER).note(why);
        log.add(finding);
    } else {
        bad_inode(volume, why, log);
    }
    None
}

fn load(
    volume: &Volume<'_>,
    journal: &JournalSuperblock,
    found: &Found,
    log: &mut Log,
) -> Result<(), Bad> {
    let magic = journal.h_magic.get();
    if magic != MAGIC {
        return Err(Bad::NoJournal(format!(
            "the journal's h_magic is {magic:#010x} instead of {MAGIC:#010x}"
        )));
    }
    kind(journal, found, log)?;
    features(journal)?;
    let block_size = journal.s_blocksize.get();
    if block_size != volume.geometry.block_size {
        return Err(Bad::Damaged(format!(
            "the journal's s_blocksize is {block_size} instead of {}",
            volume.geometry.block_size
        )));
    }
    let blocks = journal.s_maxlen.get();
    if u64::from(blocks) > found.blocks {
        return Err(Bad::Damaged(format!(
            "the journal's s_maxlen is {blocks}, and it has {} blocks",
            found.blocks
        )));
    }
    let fast = journal.fast_commit_blocks();
    if fast > 0 && u64::from(blocks.wrapping_sub(fast)) < LEAST {
        return Err(Bad::Damaged(format!(
            "the journal keeps {fast} of its {blocks} blocks for fast commits, which leaves fewer than {LEAST}"
        )));
    }
    Ok(())
}

/// Version, and what version 1 must not have.
fn kind(journal: &JournalSuperblock, found: &Found, log: &mut Log) -> Result<(), Bad> {
    let users = journal.s_nr_users.get();
    match journal.h_blocktype.get() {
        3 => {
            let later = [
                journal.s_feature_compat,
                journal.s_feature_incompat,
                journal.s_feature_ro_compat,
                journal.s_nr_users,
            ];
            if later.iter().any(|field| field.get() != 0) {
                log.add(Finding::new(&P0_CLEAR_V2_JOURNAL));
            }
            Ok(())
        }
        4 if users > 1 => {
            if !found.external {
                log.add(Finding::new(&P0_CLEAR_V2_JOURNAL).found(users));
            }
            Err(Bad::Shared(users))
        }
        4 => Ok(()),
        other @ (1 | 2 | 5) => Err(Bad::Damaged(format!(
            "a journal's block of kind {other} lies where its superblock belongs"
        ))),
        other => Err(Bad::Unknown(
            &P0_JOURNAL_UNSUPP_VERSION,
            format!("h_blocktype {other}"),
        )),
    }
}

fn features(journal: &JournalSuperblock) -> Result<(), Bad> {
    if !journal.is_v2() {
        return Ok(());
    }
    let unknown = journal.s_feature_incompat.get() & !incompat::KNOWN;
    if unknown != 0 {
        let why = format!("s_feature_incompat has {unknown:#x}");
        return Err(Bad::Unknown(&P0_JOURNAL_UNSUPP_INCOMPAT, why));
    }
    let unknown = journal.s_feature_ro_compat.get();
    if unknown != 0 {
        let why = format!("s_feature_ro_compat has {unknown:#x}");
        return Err(Bad::Unknown(&P0_JOURNAL_UNSUPP_ROCOMPAT, why));
    }
    if journal.has_incompat(incompat::CSUM_V2) && journal.has_incompat(incompat::CSUM_V3) {
        return Err(Bad::Damaged(
            "the journal has two versions of checksums".into(),
        ));
    }
    let Some(sum) = journal.checksum() else {
        return Ok(());
    };
    if journal.s_feature_compat.get() & compat::CHECKSUM != 0 {
        return Err(Bad::Damaged(
            "the journal has two versions of checksums".into(),
        ));
    }
    let kind = journal.s_checksum_type;
    if kind != CHECKSUM_CRC32C {
        return Err(Bad::Damaged(format!(
            "the journal's s_checksum_type is {kind} instead of {CHECKSUM_CRC32C}"
        )));
    }
    if sum.matches() {
        return Ok(());
    }
    Err(Bad::Damaged(format!(
        "the journal's s_checksum is {:#010x}, and its bytes give {:#010x}",
        sum.stored, sum.computed
    )))
}

/// Whether the filesystem's superblock and the journal agree.
fn flags(volume: &Volume<'_>, journal: &JournalSuperblock, log: &mut Log) {
    let sb = &volume.sb;
    if !sb.has_compat(Compat::HAS_JOURNAL) {
        log.add(
            Finding::new(&P0_JOURNAL_HAS_JOURNAL)
                .inode(sb.s_journal_inum.get())
                .order(0),
        );
        return;
    }
    let start = journal.s_start.get();
    if !sb.has_incompat(Incompat::RECOVER) && start != 0 {
        log.add(Finding::new(&P0_JOURNAL_RECOVERY_CLEAR).found(start));
        log.add(Finding::new(&P0_JOURNAL_RUN));
        log.add(Finding::new(&P0_JOURNAL_RESET_JOURNAL));
    }
}
