//! Directories within their inodes.
//!
//! They have no blocks, so their inodes are read once more, those that pass 1 found to be such: ascending, by blocks of the
//! inode tables. The first four bytes are the parent; `.` and `..` do not exist and are made up, because they count as names.

use blockio::{Content, Span};
use ondisk::ext4::directory::{Entry, HEAD};
use ondisk::ext4::inline::IN_BLOCK;
use ondisk::ext4::inode::flag;
use ondisk::ext4::{FileType, Inode};

use super::block::Hashes;
use super::block_view::{At, Part};
use super::shared::{Dir, Shared};
use super::worker::{Harvest, Worker};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{P2_BAD_INLINE_DIR_SIZE, P2_UNEXPECTED_HTREE_BLOCK};
use crate::ext4::e2fsck::stops;
use crate::ext4::pass1::attributes::inline_tail;
use crate::frame::failure::Failure;

/// Bytes of the parent.
const PARENT: usize = 4;
/// What a second area needs for an entry.
const SHORTEST: usize = 12;

/// An inline directory and the byte its inode begins at.
struct Place {
    at: u64,
    /// Its place in the list of directories.
    dir: usize,
}

/// Judges all of them.
pub(super) fn sweep(
    shared: &Shared<'_>,
    harvest: &mut Harvest,
    log: &mut Log,
) -> Result<(), Failure> {
    if !shared.has_inline() {
        return Ok(());
    }
    let volume = shared.volume;
    let places = places(shared);
    if places.is_empty() {
        return Ok(());
    }
    let size = u64::from(volume.geometry.inode_size);
    let workers = volume.sweep_watched(
        spans(&places, u64::from(volume.geometry.block_size)),
        || Worker::new(shared, log),
        |worker, piece| {
            let range = piece.range();
            if let Content::Data(bytes) = &piece.content {
                let first = places.partition_point(|place| place.at < range.start);
                let inside = |place: &&Place| place.at + size <= range.end;
                for place in places[first..].iter().take_while(inside) {
                    let from = (place.at - range.start) as usize;
                    worker.inline(place.dir, &bytes[from..]);
                }
            }
        },
    )?;
    for worker in workers {
        harvest.take(worker, log);
    }
    Ok(())
}

/// Where they are, ascending.
fn places(shared: &Shared<'_>) -> Vec<Place> {
    let geometry = &shared.volume.geometry;
    let list = &shared.state.directories.list;
    let mut places: Vec<Place> = list
        .iter()
        .enumerate()
        .filter(|(_, directory)| directory.flags & flag::INLINE_DATA != 0)
        .filter_map(|(dir, directory)| {
            let (group, _) = geometry.index_of_inode(directory.inode)?;
            let descriptor = shared.volume.descriptors.get(group as usize)?;
            let (block, offset) = geometry.inode_position(directory.inode, descriptor)?;
            let at = block.checked_mul(geometry.block_size.into())?;
            let at = at.checked_add(offset.into())?;
            Some(Place { at, dir })
        })
        .collect();
    places.sort_unstable_by_key(|place| place.at);
    places
}

/// The blocks of the tables that hold them.
fn spans(places: &[Place], block: u64) -> Vec<Span> {
    let mut blocks: Vec<u64> = places.iter().map(|place| place.at / block).collect();
    blocks.dedup();
    let span = |at: u64| Span {
        tag: at,
        range: at * block..(at + 1) * block,
    };
    blocks.into_iter().map(span).collect()
}

impl Worker<'_> {
    /// One of them; `slot` begins with its inode.
    fn inline(&mut self, at: usize, slot: &[u8]) {
        let inode_size = self.shared.volume.geometry.inode_size;
        let (Some(dir), Ok(inode)) = (self.shared.directory(at), Inode::read(slot, inode_size))
        else {
            return;
        };
        self.pass_over(self.shared.passes_over(dir.inode()));
        self.names_of(&dir, &inode);
        self.pass_over(false);
    }

    fn names_of(&mut self, dir: &Dir<'_>, inode: &Inode<'_>) {
        // Without the attribute the inode holds the first part alone; pass 1 has reported that it is missing. Where attributes
        // cannot be read, neither part is.
        let (volume, values) = (self.shared.volume, &self.shared.state.attributes.values);
        let Some(tail) = inline_tail(volume, values, dir.inode(), inode) else {
            return;
        };
        let head = &inode.raw().i_block;
        let first = Part {
            bytes: head,
            start: PARENT,
            end: IN_BLOCK,
            nth: 2,
            physical: 0,
            logical: 0,
        };
        let room = IN_BLOCK + tail.len();
        if !room.is_multiple_of(4) || (1..SHORTEST).contains(&tail.len()) {
            let finding = self.of_block(&P2_BAD_INLINE_DIR_SIZE, dir, &first, 0);
            let right = format!(
                "a multiple of 4, {IN_BLOCK} or at least {}",
                IN_BLOCK + SHORTEST
            );
            self.log.add(finding.found(room as u64).expected(right));
        }
        let parent = head
            .first_chunk()
            .map_or(0, |bytes| u32::from_le_bytes(*bytes));
        self.made_up(dir, &first, parent);
        let mut hashes = Hashes::NONE;
        self.chain(dir, &first, &mut hashes, false);
        if tail.is_empty() {
            return;
        }
        let second = Part {
            bytes: &tail,
            start: 0,
            end: tail.len(),
            logical: 1,
            ..first
        };
        // An index counts the blocks that a directory maps: here 1, wherever the rest lies.
        if dir.indexed {
            let finding = self.of_block(&P2_UNEXPECTED_HTREE_BLOCK, dir, &second, 0);
            self.log.add(stops::here(finding));
        }
        self.chain(dir, &second, &mut hashes, false);
    }

    /// The entries that are not there.
    fn made_up(&mut self, dir: &Dir<'_>, part: &Part<'_>, parent: u32) {
        let kind = if self.shared.with_types {
            FileType::Directory.entry()
        } else {
            0
        };
        self.names.begin();
        let zeros: &[u8] = &[0; SHORTEST - HEAD];
        let names = [(dir.inode(), &b"."[..]), (parent, &b".."[..])];
        for (nth, (inode, name)) in names.into_iter().enumerate() {
            let entry = &Entry {
                offset: 0,
                inode,
                rec_len: SHORTEST,
                file_type: kind,
                name,
                slack: &zeros[name.len()..],
            };
            self.entry(At { dir, part, entry }, nth as u8, &mut false);
        }
    }
}
