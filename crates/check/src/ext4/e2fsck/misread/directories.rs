//! Directories that e2fsck mistakes for others, because of how it caches inodes.
//!
//! With inline content about, it reads the inode of a directory again for each block of its list, through a cache of four. An inode with a wrong
//! checksum is refused, but only when it has been read into the oldest place, which keeps the number that it had. If the inode of that number
//! is asked for next, before another is read into the place, it is found there, with the content of the refused one. What is inline in that
//! one then stands for the directory, and where it is no chain of entries e2fsck ends.
//!
//! So the list is followed in its order, with a model of the cache. The inodes of names, which e2fsck reads for some kinds
//! of files, are not looked at: they can only put other numbers into the places.

use ondisk::ext4::inode::flag;
use ondisk::ext4::inode::number::{BAD, RESIZE, ROOT};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::P2_DBLIST_ITERATE;
use crate::ext4::pass2::shared::Shared;
use crate::ext4::pass3;
use crate::frame::finding::Finding;

/// The cache: the numbers, and the inode that is really there where that is another.
struct Cache {
    places: [(u32, Option<u32>); 4],
    oldest: usize,
}

impl Cache {
    /// Asks for an inode, whose checksum is wrong or not; another that it is taken for.
    fn read(&mut self, ino: u32, bad_checksum: bool) -> Option<u32> {
        if let Some((_, other)) = self.places.iter().find(|(number, _)| *number == ino) {
            return *other;
        }
        let place = &mut self.places[self.oldest];
        if bad_checksum {
            place.1 = Some(ino);
        } else {
            *place = (ino, None);
            self.oldest = (self.oldest + 1) % 4;
        }
        None
    }
}

/// Reports where e2fsck stops because it mistakes a directory for one of the `broken`, inline ones that it skips.
pub(in crate::ext4) fn judge(shared: &Shared<'_>, broken: &[u32], log: &mut Log) {
    if broken.is_empty() {
        return;
    }
    let found = match pass3::repair_place(shared.volume, shared.state) {
        pass3::Found::Inode(inode) => inode,
        _ => 0,
    };
    // What it has read before pass 2.
    let before = [RESIZE, BAD, ROOT, found];
    let mut cache = Cache {
        places: before.map(|ino| (ino, None)),
        oldest: 0,
    };
    for (key, ino) in list(shared) {
        let bad_checksum = shared.state.bad_checksum.contains(ino);
        if let Some(other) = cache.read(ino, bad_checksum)
            && broken.contains(&other)
        {
            let finding = Finding::new(&P2_DBLIST_ITERATE)
                .inode(other)
                .note(format!(
                    "e2fsck takes directory {ino} for this one, whose checksum is wrong"
                ))
                .order(key)
                .listed(ino, 0);
            log.add(finding);
            return;
        }
    }
}

/// The list of blocks in e2fsck's order, as far as they change the inode that is read.
fn list(shared: &Shared<'_>) -> Vec<(u64, u32)> {
    let directories = &shared.state.directories;
    let of = |inode, physical, logical| (shared.order.of(inode, physical, logical, 0), inode);
    let inline = directories.list.iter();
    let inline = inline.filter(|directory| directory.flags & flag::INLINE_DATA != 0);
    let mut list: Vec<(u64, u32)> = inline.map(|directory| of(directory.inode, 0, 0)).collect();
    for run in &directories.runs {
        list.push(of(run.inode, run.physical, run.logical));
        // The first block may have its place before all others.
        if run.logical == 0 && run.len > 1 {
            let next = if run.physical == 0 {
                0
            } else {
                run.physical + 1
            };
            list.push(of(run.inode, next, 1));
        }
    }
    list.sort_unstable();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_where_another_inode_was_read() {
        let mut cache = Cache {
            places: [7, 1, 2, 11].map(|ino| (ino, None)),
            oldest: 0,
        };
        assert_eq!([cache.read(12, false), cache.read(13, false)], [None; 2]);
        assert_eq!(cache.read(14, true), None);
        assert_eq!(cache.read(11, false), None, "it is in a place of its own");
        assert_eq!(cache.read(2, false), Some(14));
        assert_eq!(cache.read(15, false), None);
        assert_eq!(cache.read(2, false), None, "it was read anew");
    }
}
