//! Opening a volume, and what fsck.ocfs2 looks at before pass 0a.

use blockio::BlockSource;
use ondisk::ext4::journal::MAGIC;
use ondisk::ocfs2::check::{self, Judged};
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::superblock::{BLOCK, BLOCK_SIZES, COMPAT, INCOMPAT};
use ondisk::ocfs2::{ExtentList, Superblock, Volume as Layout, feature, hash, system};
use progress::Progress;

use super::blocks::Blocks;
use super::fsck_ocfs2::Exit;
use super::fsck_ocfs2::log::Log;
use super::fsck_ocfs2::problems::{
    JOURNAL_DIRTY, JOURNAL_UNUSABLE, SB_BACKUP, SB_BLOCK_SIZE, SB_FEATURES, SB_HASH, SB_SLOTS_ZERO,
    SB_UNUSABLE, VOLUME_CUT,
};
use super::lookup;
use super::packed::Packed;
use super::volume::{Volume, from, head};
use crate::frame::finding::Finding;
use crate::frame::memory::Guard;
use crate::frame::options::Options;

/// Bits of `s_tunefs_flag` that fsck.ocfs2 knows.
const TUNEFS_FLAGS: u16 = 0x0001;
/// `s_feature_incompat`: tunefs.ocfs2 was interrupted.
const TUNEFS_IN_PROGRESS: u32 = 0x20;

/// The largest shift of 32 bits.
const SHIFT: u32 = 31;

/// Opens the volume; none without a usable superblock, which is a finding.
pub(crate) fn open<'a>(
    source: &'a dyn BlockSource,
    options: &Options,
    progress: &'a dyn Progress,
    log: &mut Log,
) -> Option<Volume<'a>> {
    let packed = match Packed::open(source) {
        Ok(packed) => packed,
        Err(why) => {
            log.end(Exit::FAILED, Finding::new(&SB_UNUSABLE).note(why));
            return None;
        }
    };
    let Some((size, mut block)) = superblock(source, packed.as_ref()) else {
        let note = "no block 2 of any block size has OCFSV2";
        log.end(Exit::FAILED, Finding::new(&SB_UNUSABLE).note(note));
        return None;
    };
    let unusable = |why: &str| Finding::new(&SB_UNUSABLE).block(BLOCK).note(why);
    let sb = *Superblock::read(&block).ok()?;
    if sb.has_incompat(feature::META_ECC)
        && matches!(
            check::validate(&mut block, dinode::CHECK),
            Ok(Judged::Bad(_))
        )
    {
        log.end(Exit::FAILED, unusable("its checksum is wrong"));
    }
    let mut sb = Superblock::read(&block).copied().unwrap_or(sb);
    let bits = sb.s_blocksize_bits.get();
    if bits > SHIFT {
        // A shift by a number of 32 bits takes the low five bits of it.
        sb.s_blocksize_bits = (bits & SHIFT).into();
        let finding = Finding::new(&SB_BLOCK_SIZE).block(BLOCK).found(bits);
        log.own(finding.expected(bits & SHIFT));
    }
    if let Some(unknown) = unknown_features(&sb) {
        log.end(
            Exit::FAILED,
            Finding::new(&SB_FEATURES).block(BLOCK).found(unknown),
        );
    }
    if let Some(why) = contradiction(&sb, size) {
        log.end(Exit::FAILED, unusable(why));
    }
    let layout = match Layout::new(&sb) {
        Ok(layout) => layout,
        Err(error) => {
            log.end(Exit::FAILED, unusable(&error.to_string()));
            return None;
        }
    };
    let usable = layout.block_size() as u64 == size
        && layout.cluster_bits >= layout.block_bits
        && sb.i_clusters.get() > 0;
    if !usable {
        log.end(Exit::FAILED, unusable("its sizes contradict each other"));
        return None;
    }
    if sb.s_max_slots.get() == 0 {
        log.end(Exit::FAILED, Finding::new(&SB_SLOTS_ZERO).block(BLOCK));
    }
    Some(Volume {
        source,
        sb,
        layout,
        options: options.clone(),
        guard: Guard::new(options.memory),
        progress,
        blocks: Blocks::new(layout.block_size(), packed, options.memory),
    })
}

/// The block that has the signature, and the block size at which it was found.
fn superblock(source: &dyn BlockSource, packed: Option<&Packed>) -> Option<(u64, Vec<u8>)> {
    let sizes = BLOCK_SIZES.into_iter();
    let mut sizes = sizes.filter(|size| packed.is_none_or(|packed| packed.block_size() == *size));
    sizes.find_map(|size| {
        let mut bytes = vec![0; size as usize];
        match packed {
            Some(packed) => packed.read(source, BLOCK, &mut bytes).ok()?,
            None => source.read_at(&mut bytes, BLOCK * size).ok()?,
        }
        Superblock::read(&bytes).ok()?;
        Some((size, bytes))
    })
}

/// Features that fsck.ocfs2 refuses.
fn unknown_features(sb: &Superblock) -> Option<String> {
    let known = |table: &[(u64, &str)]| table.iter().fold(0, |bits, &(bit, _)| bits | bit as u32);
    let compat = sb.s_feature_compat.get() & !known(COMPAT);
    let incompat = sb.s_feature_incompat.get() & !known(INCOMPAT)
        | sb.s_feature_incompat.get() & feature::HEARTBEAT_DEVICE;
    let tunefs = sb.has_incompat(TUNEFS_IN_PROGRESS) && sb.s_tunefs_flag.get() & !TUNEFS_FLAGS != 0;
    (compat != 0 || incompat != 0 || tunefs)
        .then(|| format!("compat {compat:#x}, incompat {incompat:#x}, tunefs {tunefs}"))
}

fn contradiction(sb: &Superblock, size: u64) -> Option<&'static str> {
    if sb.s_blocksize_bits.get() == 0 {
        Some("s_blocksize_bits is 0")
    } else if sb.i_blkno.get() != BLOCK {
        Some("i_blkno is not its block")
    } else if !(12..=20).contains(&sb.s_clustersize_bits.get()) {
        Some("s_clustersize_bits is not within 12-20")
    } else if sb.s_root_blkno.get() == 0 || sb.s_system_dir_blkno.get() == 0 {
        Some("root or system directory is 0")
    } else if sb.s_max_slots.get() > system::MAX_SLOTS {
        Some("s_max_slots is larger than 255")
    } else if sb.block_size() != Some(size) {
        Some("s_blocksize_bits is not the size at which it was found")
    } else {
        None
    }
}

/// What fsck.ocfs2 reads of the journals, and what it does not look at.
pub(crate) fn check(volume: &Volume<'_>, log: &mut Log) {
    for slot in 0..volume.slots() {
        match journal(volume, slot) {
            Ok(true) => log.add(Finding::new(&JOURNAL_DIRTY).note(format!("slot {slot}"))),
            Ok(false) => {}
            Err(why) => {
                let note = format!("slot {slot}: {why}");
                log.end(Exit::FAILED, Finding::new(&JOURNAL_UNUSABLE).note(note));
                break;
            }
        }
    }
    let sb = &volume.sb;
    let expected = hash::uuid_hash(&sb.s_uuid);
    if sb.has_incompat(feature::XATTR) && sb.s_uuid_hash.get() != expected {
        let finding = Finding::new(&SB_HASH).block(BLOCK);
        log.own(finding.found(sb.s_uuid_hash.get()).expected(expected));
    }
    backups(volume, log);
    let blocks = volume.layout.blocks();
    let cut = volume.cut(0, blocks);
    if cut > 0 {
        let finding = Finding::new(&VOLUME_CUT).found(blocks - cut);
        log.own(finding.expected(blocks).note("blocks"));
    }
}

/// Whether a journal has something to replay.
pub(crate) fn is_dirty(volume: &Volume<'_>) -> bool {
    (0..volume.slots()).any(|slot| journal(volume, slot) == Ok(true))
}

/// Whether a slot's journal has something to replay.
fn journal(volume: &Volume<'_>, slot: u16) -> Result<bool, &'static str> {
    let words = |refused: super::refused::Refused| refused.words();
    let number = lookup::system(volume, &system::slot_file("journal", slot)).map_err(words)?;
    let inode = volume.inode(number).map_err(words)?;
    if head(&inode).journal_flags() & 1 == 0 {
        return Ok(false);
    }
    let list = ExtentList::read(from(&inode, BODY)).map_err(|_| "its extents cannot be read")?;
    let first = list.used().next().ok_or("it has no extents")?;
    let block = volume.read(first.e_blkno.get()).map_err(words)?;
    if ondisk::bytes::be32(&block, 0) != MAGIC {
        return Err("its superblock has no magic number");
    }
    Ok(ondisk::bytes::be32(&block, 0x1c) != 0)
}

fn backups(volume: &Volume<'_>, log: &mut Log) {
    let sb = &volume.sb;
    if !sb.has_compat(feature::BACKUP_SUPER) {
        return;
    }
    for number in volume.layout.backups() {
        let block = volume.read(number);
        let backup = block
            .as_ref()
            .ok()
            .and_then(|block| Superblock::read(block).ok());
        let why = match backup {
            None => "it is missing",
            Some(backup) if backup.i_blkno.get() != number => "i_blkno is not its block",
            Some(backup) if backup.s_uuid != sb.s_uuid => "it is of another volume",
            Some(backup)
                if backup.s_clustersize_bits != sb.s_clustersize_bits
                    || backup.s_blocksize_bits != sb.s_blocksize_bits
                    || backup.i_clusters != sb.i_clusters =>
            {
                "its sizes differ"
            }
            Some(backup)
                if backup.s_feature_incompat != sb.s_feature_incompat
                    || backup.s_feature_ro_compat != sb.s_feature_ro_compat =>
            {
                "its features differ"
            }
            Some(_) => continue,
        };
        log.own(Finding::new(&SB_BACKUP).block(number).note(why));
    }
}
