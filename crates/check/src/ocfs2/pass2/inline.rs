//! Inline directories, judged where pass 1 meets their inodes.
//!
//! Nearly all directories of a volume of small files are in their inodes. fsck.ocfs2 reads each of these once more in pass 2. What pass 2 asks
//! of one without faults is known in pass 1 but for the types of the inodes that it names, which are compared at the end of pass 1.
//! A directory with anything else is left to pass 2.

use ondisk::ocfs2::check::{self, Judged};
use ondisk::ocfs2::dinode::{self, INLINE_DATA, dynamic, inline_room};
use ondisk::ocfs2::directory::{self, record_length};
use ondisk::ocfs2::feature;

use super::block::is_corrupt;
use crate::ocfs2::coverage::Coverage;
use crate::ocfs2::pass1::Gathered;
use crate::ocfs2::state::JUDGED;
use crate::ocfs2::volume::{Volume, head};

/// The number of `file_type` of a directory.
const DIRECTORY: u8 = 2;

/// Names of one directory, kept for their memory.
#[derive(Default)]
pub(crate) struct Names {
    /// Offset and length of each name.
    places: Vec<(usize, usize)>,
    /// Each inode that is named, the bit of the type, and whether the name is `.` or `..`.
    targets: Vec<(u64, u8, bool)>,
}

/// Judges the directory that was gathered last, if it is inline and has no fault: its names are gathered, and its block is marked as judged.
pub(crate) fn judge(
    volume: &Volume<'_>,
    coverage: &Coverage,
    gathered: &mut Gathered,
    names: &mut Names,
    number: u64,
    bytes: &[u8],
) {
    let Some(block) = gathered.blocks.last_mut() else {
        return;
    };
    if (block.0, block.1) != (number, number) {
        return;
    }
    let Some(dotdot) = sound(volume, coverage, names, number, bytes) else {
        return;
    };
    block.2 = JUDGED;
    if let Some((_, parent)) = gathered.directories.last_mut() {
        parent.dotdot = dotdot;
    }
    for &(target, kind, is_dots) in &names.targets {
        gathered.names.push((target, kind));
        if !is_dots && kind == 1 << DIRECTORY {
            gathered.parents.push((target, number));
        }
    }
}

/// What `..` of a directory without faults names.
fn sound(
    volume: &Volume<'_>,
    coverage: &Coverage,
    names: &mut Names,
    number: u64,
    bytes: &[u8],
) -> Option<u64> {
    let inode = head(bytes);
    let known = volume.sb.has_incompat(feature::INLINE_DATA);
    let end = INLINE_DATA + inline_room(bytes.len(), inode.xattr_tail());
    if !known || inode.has_dynamic(dynamic::INDEXED_DIR) || end != bytes.len() {
        return None;
    }
    if volume.has_checksums()
        && !matches!(
            check::validate(&mut bytes.to_vec(), dinode::CHECK),
            Ok(Judged::Sound)
        )
    {
        return None;
    }
    names.places.clear();
    names.targets.clear();
    let mut dotdot = 0;
    let mut offset = INLINE_DATA;
    while offset < end {
        let (entry, name) = directory::entry_at(bytes, offset)?;
        if is_corrupt(entry, end - offset) {
            return None;
        }
        let target = entry.inode.get();
        let dots = match offset - INLINE_DATA {
            0 => 1,
            at if at == record_length(1) => 2,
            _ => 0,
        };
        let right = match dots {
            1 => {
                let length = usize::from(entry.rec_len.get());
                name == b"." && target == number && length == record_length(1)
            }
            2 => name == b"..",
            _ => target == 0 || (name != b"." && name != b".."),
        };
        if !right {
            return None;
        }
        if dots == 2 {
            dotdot = target;
        }
        if target != 0 {
            let named = !name.is_empty() && !name.iter().any(|byte| matches!(byte, b'/' | 0));
            let in_use = !volume.out_of_range(target)
                && target < volume.layout.blocks()
                && coverage.in_use(target) == Some(true);
            if !named || !in_use || !(1..8).contains(&entry.file_type) {
                return None;
            }
            names
                .places
                .push((offset + directory::Entry::SIZE, name.len()));
            names.targets.push((target, 1 << entry.file_type, dots > 0));
        }
        offset += usize::from(entry.rec_len.get());
    }
    let name = |&(at, length): &(usize, usize)| bytes.get(at..at + length);
    names.places.sort_unstable_by_key(name);
    let twice = names
        .places
        .windows(2)
        .any(|pair| name(&pair[0]) == name(&pair[1]));
    (!twice).then_some(dotdot)
}
