//! Pass 0: the checks before the first inode.
//!
//! [`open`] finds a superblock and a table of descriptors to go by, in e2fsck's way: the primary if the library takes it and its
//! descriptors do not contradict each other; else a backup; else, if only counts are wrong, the primary all the same. [`check`]
//! then checks their contents: multiple mount protection, the journal, each field of the superblock, each
//! descriptor, the resize inode.
//!
//! `e2fsck -n` stops at several of these findings. They are marked so, and the check continues, because a damaged journal is no
//! reason not to check the inodes. Only a superblock whose geometry cannot be computed ends it here
//! ([`Unusable`]).

mod backup;
mod descriptors;
mod journal;
mod libext2fs_open;
mod limits;
mod mmp;
mod resize;
mod table;

use blockio::BlockSource;
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::{Geometry, GroupDescriptor, Superblock};

use self::table::Table;
use crate::Silent;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P0_CHECK_DESC_FAILED, P0_FIRST_DATA_BLOCK, P0_MISC_CORRUPT_SUPER, P0_OPEN_FAILED, P0_SB_CORRUPT,
};
use crate::ext4::options::Options as Own;
use crate::ext4::pass0::libext2fs_open::{OpenedSuperblock, Refusal, table_blocks, take};
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::memory::{Guard, allowed};
use crate::frame::options::Options;

/// There is no filesystem that could be checked. The reason is in the log, too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name}: no usable superblock: {reason}; give a backup with -b, or check that this is ext2, ext3 or ext4"
)]
pub(crate) struct Unusable {
    /// Name of the source.
    pub name: String,
    /// Why it is unusable.
    pub reason: String,
    /// Memory that its descriptors need and the limit, bytes, where only that is the reason.
    pub memory: Option<(u64, u64)>,
}

/// The caller's options, both kinds.
#[derive(Clone, Copy)]
struct CheckOptions<'a> {
    common: &'a Options,
    own: &'a Own,
}

/// The result of trying one superblock.
struct Attempt {
    taken: OpenedSuperblock,
    /// None when the superblock's arithmetic is impossible.
    table: Option<Table>,
    /// Why its descriptors cannot be right.
    contradiction: Option<String>,
}

/// A filesystem by its superblock and its descriptors.
///
/// # Errors
/// No superblock can be used. The log then has a finding at which the reference stops.
pub(crate) fn open<'a>(
    source: &'a dyn BlockSource,
    options: &Options,
    own: &Own,
    log: &mut Log,
) -> Result<Volume<'a>, Unusable> {
    let options = CheckOptions {
        common: options,
        own,
    };
    let unusable = |reason: String| Unusable {
        name: source.name().to_string(),
        reason,
        memory: None,
    };
    match choose(source, options, log) {
        Ok(attempt) => volume(source, options, attempt, log).map_err(unusable),
        Err(Refusal::Memory { needs, limit }) => Err(Unusable {
            memory: Some((needs, limit)),
            ..unusable(String::new())
        }),
        Err(refusal) => {
            log.add(Finding::new(&P0_SB_CORRUPT).note(refusal.to_string()));
            Err(unusable(refusal.to_string()))
        }
    }
}

/// The bytes at the place of the primary superblock; none where they cannot be read.
pub(crate) fn primary(source: &dyn BlockSource) -> Option<Superblock> {
    libext2fs_open::read(source, None).ok()
}

/// The block of the copy that the primary superblock is the same as, apart from its checksum and from what the kernel keeps up to date in
/// the primary alone. Its fields are right then, because the copy's checksum is.
pub(crate) fn checksum_alone(source: &dyn BlockSource, own: &Own) -> Option<u64> {
    let (block, size) = backup::choose(source, None, own)?;
    let copy = take(source, Some((block, size)), false).ok()?.sb;
    let primary = primary(source)?;
    (backup::lasting(&primary) == backup::lasting(&copy)).then_some(block)
}

/// A copy of the superblock that e2fsck repairs by: the filesystem can be opened with it, its fields are in their ranges, and it fits into the
/// source. Its block and block size. Not the one that the caller has tried.
pub(crate) fn usable_backup(source: &dyn BlockSource, own: &Own) -> Option<(u64, u32)> {
    let options = CheckOptions {
        common: &Options::default(),
        own,
    };
    backup::all(source, own.block_size)
        .filter(|(block, _)| own.superblock != Some(*block))
        .find(|place| {
            attempt(source, options, Some(*place), false).is_ok_and(|attempt| {
                let sb = &attempt.taken.sb;
                let size = sb.blocks_count().saturating_mul(place.1.into());
                attempt.contradiction.is_none()
                    && attempt.table.is_some()
                    && !limits::is_refused(sb)
                    && size <= source.len()
            })
        })
}

fn attempt(
    source: &dyn BlockSource,
    options: CheckOptions<'_>,
    backup: Option<(u64, u32)>,
    overlook: bool,
) -> Result<Attempt, Refusal> {
    let taken = take(source, backup, overlook)?;
    let Ok(geometry) = &taken.geometry else {
        table::exists(source, &taken.sb, taken.groups)?;
        return Ok(Attempt {
            contradiction: impossible(source, options, &taken),
            table: None,
            taken,
        });
    };
    let needs = descriptor_bytes(geometry);
    let limit = allowed(options.common);
    if limit < needs {
        return Err(Refusal::Memory { needs, limit });
    }
    let table = table::read(source, &taken.sb, geometry, taken.backup)?;
    Ok(Attempt {
        contradiction: table::contradiction(&taken.sb, geometry, &table.descriptors),
        table: Some(table),
        taken,
    })
}

/// Impossible arithmetic shows itself to e2fsck as descriptors that cannot be right, unless it finds them all the same.
fn impossible(
    source: &dyn BlockSource,
    options: CheckOptions<'_>,
    taken: &OpenedSuperblock,
) -> Option<String> {
    let sb = &taken.sb;
    let error = taken.geometry.as_ref().err()?;
    if found_all_the_same(sb) {
        return None;
    }
    let Some(mut geometry) =
        any_inodes_per_group(sb).filter(|_| !limits::wrong_first_data_block(sb))
    else {
        return Some(error.to_string());
    };
    if allowed(options.common) < descriptor_bytes(&geometry) {
        return Some(error.to_string());
    }
    // For the table only its size counts, and that with 32 bits.
    let in_block = geometry.block_size / u32::from(geometry.inode_size);
    geometry.inodes_per_group = (table_blocks(sb) as u32).saturating_mul(in_block);
    match table::read(source, sb, &geometry, taken.backup) {
        Ok(table) => table::contradiction(sb, &geometry, &table.descriptors),
        Err(error) => Some(error.to_string()),
    }
}

/// The geometry of a superblock whose `s_inodes_per_group` may be anything. With that, only the place of an inode can be computed.
fn any_inodes_per_group(sb: &Superblock) -> Option<Geometry> {
    let mut sane = *sb;
    // With the smallest value there may be as many groups as possible.
    let in_block = sb.block_size() / u32::from(sb.inode_size().max(1));
    sane.s_inodes_per_group = in_block.into();
    let mut geometry = Geometry::new(&sane).ok()?;
    geometry.inodes_per_group = sb.s_inodes_per_group.get();
    Some(geometry)
}

/// Memory that the descriptors need.
fn descriptor_bytes(geometry: &Geometry) -> u64 {
    u64::from(geometry.groups) * size_of::<GroupDescriptor>() as u64
}

/// Whether the descriptors are where they are looked for although a field is impossible: the first block is wrong by one, or blocks
/// are reserved for a table that is not in one piece.
fn found_all_the_same(sb: &Superblock) -> bool {
    let meta_bg = sb.has_incompat(Incompat::META_BG);
    if limits::wrong_first_data_block(sb) {
        // With blocks of 1 KiB the library looks after the boot block, whether the field agrees or not.
        return sb.s_first_data_block.get() == 0 && !meta_bg;
    }
    let mut unreserved = *sb;
    unreserved.s_reserved_gdt_blocks = 0.into();
    meta_bg && Geometry::new(&unreserved).is_ok()
}

/// Tries what e2fsck tries, in its order, and reports what it refuses.
fn choose(
    source: &dyn BlockSource,
    options: CheckOptions<'_>,
    log: &mut Log,
) -> Result<Attempt, Refusal> {
    let mut overlook = false;
    loop {
        match round(source, options, overlook, log) {
            Err(refusal) if refusal.may_be_overlooked() && !overlook => overlook = true,
            result => return result,
        }
    }
}

fn round(
    source: &dyn BlockSource,
    options: CheckOptions<'_>,
    overlook: bool,
    log: &mut Log,
) -> Result<Attempt, Refusal> {
    if let Some(block) = options.own.superblock {
        return given(source, options, block, overlook);
    }
    let first = attempt(source, options, None, overlook);
    let finding = match &first {
        Err(refusal) if refusal.asks_for_backup() => {
            let alone = match refusal {
                Refusal::Checksum { .. } => checksum_alone(source, options.own),
                _ => None,
            };
            let alone = alone.map_or_else(String::new, |block| {
                format!(
                    "; only that is wrong with it: in all that does not change in use it is the same as its copy in block {block}. \
                     e2fsck goes by that copy, whose counts are old"
                )
            });
            Finding::new(&P0_OPEN_FAILED).note(format!(
                "the primary superblock is refused: {refusal}{alone}"
            ))
        }
        Ok(Attempt {
            contradiction: Some(why),
            ..
        }) => Finding::new(&P0_CHECK_DESC_FAILED).note(why.clone()),
        _ => return first,
    };
    log.add(finding);
    let known = match &first {
        Ok(attempt) if attempt.taken.groups <= 1 => return first,
        Ok(attempt) => Some(&attempt.taken.sb),
        Err(_) => None,
    };
    let Some(backup) = backup::choose(source, known, options.own) else {
        return first;
    };
    match (attempt(source, options, Some(backup), overlook), first) {
        (Err(_), Ok(first)) => Ok(first),
        // What is wrong with the primary is what counts.
        (Err(_), Err(first)) => Err(first),
        (second, _) => second,
    }
}

/// The superblock that was asked for, at blocks of the given size or of any.
fn given(
    source: &dyn BlockSource,
    options: CheckOptions<'_>,
    block: u64,
    overlook: bool,
) -> Result<Attempt, Refusal> {
    if let Some(size) = options.own.block_size {
        return attempt(source, options, Some((block, size)), overlook);
    }
    let mut result = attempt(source, options, Some((block, 1024)), overlook);
    for log in 1..=6 {
        if result.is_ok() {
            break;
        }
        result = attempt(source, options, Some((block, 1024 << log)), overlook);
    }
    result
}

/// The volume, if the arithmetic is possible and all incompatible features are known.
fn volume<'a>(
    source: &'a dyn BlockSource,
    options: CheckOptions<'_>,
    attempt: Attempt,
    log: &mut Log,
) -> Result<Volume<'a>, String> {
    let OpenedSuperblock {
        sb,
        backup,
        geometry,
        ..
    } = attempt.taken;
    let geometry = geometry.map_err(|error| {
        let reason = error.to_string();
        journal_of_impossible(source, options, &sb, log);
        if let Some(finding) = limits::wrong_inode_count(&sb) {
            log.add(finding);
        }
        log.add(out_of_range(&sb).note(reason.clone()));
        reason
    })?;
    let table = attempt.table.unwrap_or_default();
    Ok(Volume {
        source,
        seed: sb.metadata_seed(),
        sb,
        geometry,
        descriptors: table.descriptors,
        claims: table.claims,
        backup,
        options: options.common.clone(),
        ext4: options.own.clone(),
        guard: Guard::default(),
        progress: &Silent,
    })
}

/// What e2fsck reports of the journal before it comes to the impossible field: as if that were right, but with the descriptors from where
/// it puts them, and the inodes by `s_inodes_per_group` whatever that is.
fn journal_of_impossible(
    source: &dyn BlockSource,
    options: CheckOptions<'_>,
    sb: &Superblock,
    log: &mut Log,
) {
    let mut sane = *sb;
    let found = found_all_the_same(sb);
    if limits::wrong_first_data_block(sb) {
        sane.s_first_data_block = limits::first_data_block(sb).into();
    } else {
        sane.s_reserved_gdt_blocks = 0.into();
    }
    let Some(geometry) = any_inodes_per_group(&sane) else {
        return;
    };
    let misplaced = limits::wrong_first_data_block(sb) && !found;
    let table = if misplaced || allowed(options.common) < descriptor_bytes(&geometry) {
        Table::default()
    } else {
        table::read(source, &sane, &geometry, None).unwrap_or_default()
    };
    let volume = Volume {
        source,
        seed: sb.metadata_seed(),
        sb: *sb,
        geometry,
        descriptors: table.descriptors,
        claims: table.claims,
        backup: None,
        options: options.common.clone(),
        ext4: options.own.clone(),
        guard: Guard::default(),
        progress: &Silent,
    };
    journal::check(&volume, log);
}

/// The finding e2fsck has for a superblock with which nothing can be computed.
fn out_of_range(sb: &Superblock) -> Finding {
    if limits::wrong_first_data_block(sb) {
        Finding::new(&P0_FIRST_DATA_BLOCK)
            .found(sb.s_first_data_block.get())
            .expected(limits::first_data_block(sb))
    } else {
        Finding::new(&P0_MISC_CORRUPT_SUPER)
    }
}

/// Checks the superblock, the journal and the descriptors.
pub(crate) fn check(volume: &Volume<'_>, log: &mut Log) {
    mmp::check(volume, log);
    journal::check(volume, log);
    limits::features(volume, log);
    limits::check(volume, log);
    descriptors::check(volume, log);
    limits::beyond(volume, log);
    limits::times(volume, log);
    limits::quota_inodes(volume, log);
    journal::hint(volume, log);
    resize::check(volume, log);
}

#[cfg(test)]
mod tests;
