//! When the reference comes to the blocks of an inode with indirect blocks or a block of attributes.
//!
//! It puts such inodes aside and walks their blocks when it has 256 of them, or is through with a block group, sorted by where
//! their first indirect block lies (e2fsck's `process_inodes`). Here an inode is walked when its nodes have been read, and what is found of it
//! has the place of its number. So behind the pass findings are moved to where the reference would have them. That
//! matters beyond the order in a report: it ends at a map that leads nowhere, and what it saw before depends on who came first.
//!
//! Sound filesystems do not come here. Of damaged ones the tables of those groups are read once more whose inodes a finding is about: which
//! inodes share a batch depends on those that nothing is wrong with.

use std::collections::{BTreeMap, BTreeSet};

use ondisk::ext4::inode::{flag, number};
use ondisk::ext4::{FileType, Inode, Superblock};

use super::attributes::stage;
use super::plan;
use crate::ext4::slots::Slots;
use crate::ext4::volume::Volume;
use crate::finding::Finding;
use crate::log::Log;

/// Inodes that are put aside before they are walked (`process_inode_size`).
const BATCH: usize = 256;
/// Pass 1 without its parts B to D, as [`crate::Problem::subpass`] says.
const PASS: u16 = 0x010;
/// A symbolic link shorter than this has its target in the inode.
const FAST: u64 = 60;

/// Where findings of an inode that was put aside come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The inode behind which its batch is walked.
    behind: u32,
    /// Its rank in the batch.
    rank: u32,
}

/// An inode that was put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Aside {
    ino: u32,
    /// First indirect block.
    indirect: u32,
    /// Block of attributes, its low half.
    attributes: u32,
}

impl Aside {
    fn new(ino: u32, inode: &Inode<'_>) -> Aside {
        Aside {
            ino,
            indirect: inode.block_words()[12],
            attributes: inode.file_acl() as u32,
        }
    }

    /// Whether the reference walks this one no later than the other. It takes the sign of differences in 32 bits, so of garbage
    /// numbers each may come before the next one in a circle.
    fn is_first(&self, other: &Aside) -> bool {
        let differences = [
            self.indirect.wrapping_sub(other.indirect),
            self.attributes.wrapping_sub(other.attributes),
            self.ino.wrapping_sub(other.ino),
        ];
        let decides = differences.into_iter().find(|difference| *difference != 0);
        decides.is_none_or(|difference| difference.cast_signed() < 0)
    }
}

/// Sorts as the C library's `qsort` does. What comes first where there is no order at all is decided by who is compared with whom, and the
/// standard library's sorts may panic then.
fn sort(list: &[Aside]) -> Vec<Aside> {
    if list.len() < 2 {
        return list.to_vec();
    }
    let (left, right) = list.split_at(list.len() / 2);
    let (left, right) = (sort(left), sort(right));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    let mut sorted = Vec::with_capacity(list.len());
    while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
        let first = one.is_first(two);
        sorted.extend(if first { left.next() } else { right.next() });
    }
    sorted.extend(left);
    sorted.extend(right);
    sorted
}

/// Whether the reference puts this inode aside. Its purpose alone decides for those that have one.
pub(super) fn is_put(sb: &Superblock, ino: u32, inode: &Inode<'_>) -> bool {
    let special = [
        number::USR_QUOTA,
        number::GRP_QUOTA,
        sb.s_prj_quota_inum.get(),
        sb.s_orphan_file_inum.get(),
    ];
    let ordinary = ino == number::ROOT || ino >= sb.first_ino() && !special.contains(&ino);
    let fast = inode.file_type() == Some(FileType::Symlink) && (1..FAST).contains(&inode.size());
    ordinary
        && !fast
        && inode.flags() & (flag::EXTENTS | flag::INLINE_DATA) == 0
        && (inode.file_acl() != 0 || inode.block_words()[12..] != [0; 3])
}

/// Moves the findings about such inodes to where the reference would have them.
pub(super) fn order(volume: &Volume<'_>, log: &mut Log) {
    let mut slots = Slots::new(volume);
    let mut groups = BTreeMap::<u32, BTreeSet<u32>>::new();
    for ino in log.inodes(PASS, is_of_blocks) {
        let waits = slots
            .read(ino)
            .is_some_and(|inode| is_put(&volume.sb, ino, &inode));
        if waits && let Some((group, _)) = volume.geometry.index_of_inode(ino) {
            groups.entry(group).or_default().insert(ino);
        }
    }
    let mut places = BTreeMap::new();
    for (group, wanted) in groups {
        let last = (group + 1).saturating_mul(volume.geometry.inodes_per_group);
        let aside = of_group(volume, &mut slots, group);
        places.extend(batches(&aside, last).filter(|(ino, _)| wanted.contains(ino)));
    }
    log.reorder(PASS, |finding| {
        if is_of_blocks(finding)
            && let Some(place) = finding.place.inode.and_then(|ino| places.get(&ino))
        {
            finding.put_behind(place.behind, place.rank, stage::BEHIND);
        }
    });
}

/// Whether a finding is of what is judged when blocks are walked, and has the place of its inode.
fn is_of_blocks(finding: &Finding) -> bool {
    let own = finding.place.inode.map(u64::from);
    finding.stage != stage::FIELDS && own == Some(finding.order)
}

/// The inodes of a group that are put aside, ascending.
fn of_group(volume: &Volume<'_>, slots: &mut Slots<'_>, group: u32) -> Vec<Aside> {
    let count = plan::table(volume, group).map_or(0, |table| table.inodes);
    let first = group.saturating_mul(volume.geometry.inodes_per_group);
    let all = (1..=count).map(|nth| first.saturating_add(nth));
    let aside = all.filter_map(|ino| {
        let inode = slots.read(ino)?;
        let linked = inode.raw().i_links_count.get() != 0;
        (linked && is_put(&volume.sb, ino, &inode)).then(|| Aside::new(ino, &inode))
    });
    aside.collect()
}

/// Where each comes; `last` is the last inode of the group.
fn batches(aside: &[Aside], last: u32) -> impl Iterator<Item = (u32, Place)> {
    aside.chunks(BATCH).flat_map(move |batch| {
        let full = batch.last().filter(|_| batch.len() == BATCH);
        let behind = full.map_or(last, |aside| aside.ino);
        let ranked = (0..).zip(sort(batch));
        ranked.map(move |(rank, aside)| (aside.ino, Place { behind, rank }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aside(ino: u32, indirect: u32, attributes: u32) -> Aside {
        Aside {
            ino,
            indirect,
            attributes,
        }
    }

    #[test]
    fn a_batch_is_walked_by_blocks_behind_its_last_inode_or_its_group() {
        let three = vec![aside(12, 900, 0), aside(13, 0, 70), aside(14, 0, 60)];
        let place = |behind, rank| Place { behind, rank };
        let placed: Vec<_> = batches(&three, 2048).collect();
        let expected = [
            (14, place(2048, 0)),
            (13, place(2048, 1)),
            (12, place(2048, 2)),
        ];
        assert_eq!(placed, expected);
        let many: Vec<_> = (0..300)
            .map(|nth| aside(100 + nth, 5000 - nth, 0))
            .collect();
        let placed: BTreeMap<_, _> = batches(&many, 2048).collect();
        assert_eq!(placed[&100], place(355, 255));
        assert_eq!(placed[&355], place(355, 0));
        assert_eq!(placed[&356], place(2048, 43));
        let high = vec![aside(12, 5, 0), aside(13, 0xf000_0000, 0)];
        let first = batches(&high, 2048).next();
        assert_eq!(first, Some((13, place(2048, 0))), "differences have a sign");
    }

    /// Each comes before the next one, and the last before the first.
    #[test]
    fn what_has_no_order_is_compared_as_by_the_reference() {
        let (one, two, three) = (
            aside(12, 0, 0),
            aside(13, 0x6000_0000, 0),
            aside(14, 0xc000_0000, 0),
        );
        assert_eq!(sort(&[one, two, three]), [one, two, three]);
        assert_eq!(sort(&[three, one, two]), [three, one, two]);
        assert_eq!(sort(&[two, one, three]), [two, three, one]);
    }
}
