//! The attributes of one area: the end of an inode, a block, or a bucket.

use ondisk::ocfs2::hash::{self, Sign};
use ondisk::ocfs2::xattr::{LOCAL_VALUE, VALUE_LIST, XattrHead};
use ondisk::ocfs2::{Dinode, XattrEntry, XattrHeader};

use super::extents::{Leaves, Tree};
use super::sink::Sink;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    XATTR_COUNT_INVALID, XATTR_ENTRY_INVALID, XATTR_FREE_START_INVALID, XATTR_HASH_INVALID,
    XATTR_HASH_SIGN, XATTR_LOCATION_INVALID, XATTR_NAME_OFFSET_INVALID, XATTR_VALUE_INVALID,
    XATTR_VALUE_LEN_INVALID,
};
use crate::ocfs2::volume::{Volume, from};

/// The least that name and value of an attribute take, as fsck.ocfs2 reckons.
const LEAST: usize = 4;
/// Bytes of a value's root.
const ROOT: u64 = 48;

/// An area of attributes.
pub(super) struct Area<'a> {
    /// From the header on.
    pub(super) bytes: &'a [u8],
    /// Bytes of the area.
    pub(super) size: usize,
    /// The block that findings name.
    pub(super) place: u64,
    /// Whether it is a bucket, whose entries are in the order of their hashes.
    pub(super) bucket: bool,
}

/// Judges the attributes of an area. A wrong entry makes fsck.ocfs2 leave the rest.
pub(super) fn header(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    inode: &Dinode,
    area: &Area<'_>,
) {
    let Ok(list) = XattrHeader::read(area.bytes) else {
        return;
    };
    let at = |problem: &'static Problem| {
        Finding::new(problem)
            .inode(inode.i_blkno.get())
            .block(area.place)
    };
    let head: XattrHead = *list.head();
    let count = usize::from(head.xh_count.get());
    let counted = counted(area, &list);
    if count > counted {
        log.add(
            at(&XATTR_COUNT_INVALID)
                .found(count as u64)
                .expected(counted as u64),
        );
        return;
    }
    let entries: Vec<XattrEntry> = list.first(count).copied().collect();
    if let Err(problem) = judge(volume, log, area, &entries, &at) {
        log.add(at(problem));
        return;
    }
    for entry in entries.iter().filter(|entry| !entry.is_local()) {
        let offset = usize::from(entry.xe_name_offset.get())
            + usize::from(entry.xe_name_len).next_multiple_of(4);
        let mut value = Tree::new(volume, state, log, inode, Leaves::Clusters);
        value.owner = area.place + (offset / volume.block_size()) as u64;
        value.list(from(area.bytes, offset + VALUE_LIST), 1, 0, None);
    }
    if area.bucket {
        let offsets = entries
            .iter()
            .map(|entry| usize::from(entry.xe_name_offset.get()));
        let lowest = offsets.fold(area.size, usize::min) as u64;
        if u64::from(head.xh_free_start.get()) != lowest {
            log.add(
                at(&XATTR_FREE_START_INVALID)
                    .found(head.xh_free_start.get())
                    .expected(lowest),
            );
        }
        let total = entries.iter().map(storage).fold(0_u64, u64::wrapping_add) & 0xffff;
        if u64::from(head.xh_name_value_len.get()) != total {
            let finding = at(&XATTR_VALUE_LEN_INVALID).found(head.xh_name_value_len.get());
            log.add(finding.expected(total));
        }
    }
}

/// Entries up to the first zero word, and in a bucket up to the first hash that falls.
fn counted(area: &Area<'_>, list: &XattrHeader<'_>) -> usize {
    let most = area.size.saturating_sub(XattrHead::SIZE) / (XattrEntry::SIZE + LEAST);
    let mut before = 0;
    let mut counted = 0;
    for entry in list.first(most) {
        let hash = entry.xe_name_hash.get();
        if hash == 0 || area.bucket && hash < before {
            break;
        }
        before = hash;
        counted += 1;
    }
    counted
}

/// Bytes of name and value, by the size of the value and not by its flag.
fn storage(entry: &XattrEntry) -> u64 {
    let name = u64::from(entry.xe_name_len).next_multiple_of(4);
    let size = entry.xe_value_size.get();
    name + if size <= LOCAL_VALUE {
        size.next_multiple_of(4)
    } else {
        ROOT
    }
}

/// Areas that are taken.
struct Used {
    size: usize,
    areas: Vec<(usize, usize)>,
}

impl Used {
    fn fits(&self, at: usize, length: usize) -> bool {
        at + length <= self.size
            && self
                .areas
                .iter()
                .all(|&(from, taken)| at + length <= from || from + taken <= at)
    }
}

fn judge(
    volume: &Volume<'_>,
    log: &mut Log,
    area: &Area<'_>,
    entries: &[XattrEntry],
    at: &dyn Fn(&'static Problem) -> Finding,
) -> Result<(), &'static Problem> {
    let mut used = Used {
        size: area.size,
        areas: vec![(0, XattrHead::SIZE)],
    };
    for (number, entry) in entries.iter().enumerate() {
        let place = XattrHead::SIZE + number * XattrEntry::SIZE;
        if !used.fits(place, XattrEntry::SIZE) {
            return Err(&XATTR_ENTRY_INVALID);
        }
        let name = usize::from(entry.xe_name_offset.get());
        if name >= area.size {
            return Err(&XATTR_NAME_OFFSET_INVALID);
        }
        if entry.is_local() != (entry.xe_value_size.get() <= LOCAL_VALUE) {
            return Err(&XATTR_LOCATION_INVALID);
        }
        used.areas.push((place, XattrEntry::SIZE));
        let length = storage(entry) as usize;
        if !used.fits(name, length) {
            return Err(&XATTR_VALUE_INVALID);
        }
        used.areas.push((name, length));
        let name = from(area.bytes, name);
        let name = &name[..name.len().min(entry.xe_name_len.into())];
        hash(volume, log, entry, name, at);
    }
    Ok(())
}

fn hash(
    volume: &Volume<'_>,
    log: &mut Log,
    entry: &XattrEntry,
    name: &[u8],
    at: &dyn Fn(&'static Problem) -> Finding,
) {
    let start = volume.sb.s_uuid_hash.get();
    let signed = hash::xattr_hash(start, name, Sign::Signed);
    let stored = entry.xe_name_hash.get();
    if stored == signed {
        return;
    }
    let unsigned = hash::xattr_hash(start, name, Sign::Unsigned);
    let problem = if stored == unsigned {
        &XATTR_HASH_SIGN
    } else {
        &XATTR_HASH_INVALID
    };
    log.add(at(problem).name(name).found(stored).expected(signed));
}
