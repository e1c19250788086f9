//! Inodes that e2fsck defers: those with indirect blocks or an attribute block.
//!
//! It walks their blocks when it has 256 of them, or has finished a block group, sorted by
//! their first indirect block (e2fsck's `process_inodes`). Here an inode is walked when its nodes have been read, in whatever order. So its
//! findings get a provisional position among the deferred inodes of its group, which decides what is kept where there are too many, and after
//! the pass the position that e2fsck has for them. That matters beyond the order in a report: e2fsck stops at a map that leads
//! nowhere, and what it has reported by then depends on the order.
//!
//! Sound filesystems do not need this. Of damaged ones the tables of those groups are read once more that have findings: which
//! inodes share a batch depends on sound ones as well.

use std::collections::{BTreeMap, BTreeSet};

use ondisk::ext4::inode::{flag, number};
use ondisk::ext4::{Inode, Superblock};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::order::stage;
use crate::ext4::pass1::plan;
use crate::ext4::pass1::special::is_fast_link;
use crate::ext4::slots::Slots;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;

/// Inodes of a batch (`process_inode_size`).
const BATCH: usize = 256;
/// Pass 1 without its parts B to D ([`crate::Problem::rank`]).
const PASS: u16 = 0x010;

/// The position of a deferred inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The inode after which its batch is walked.
    after: u32,
    /// Its rank in the batch.
    rank: u32,
}

/// A deferred inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Deferred {
    ino: u32,
    /// First indirect block.
    indirect: u32,
    /// Block of attributes, its low half.
    attributes: u32,
}

impl Deferred {
    fn new(ino: u32, inode: &Inode<'_>) -> Deferred {
        Deferred {
            ino,
            indirect: inode.block_words()[12],
            attributes: inode.file_acl() as u32,
        }
    }

    /// Whether e2fsck walks this one no later than the other. It takes the sign of differences in 32 bits, so of garbage
    /// numbers each may come before the next one in a circle.
    fn is_first(&self, other: &Deferred) -> bool {
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
fn sort(list: &[Deferred]) -> Vec<Deferred> {
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

/// Whether e2fsck defers this inode. For reserved inodes their purpose alone decides.
pub(in crate::ext4) fn is_deferred(sb: &Superblock, ino: u32, inode: &Inode<'_>) -> bool {
    let special = [
        number::USR_QUOTA,
        number::GRP_QUOTA,
        sb.s_prj_quota_inum.get(),
        sb.s_orphan_file_inum.get(),
    ];
    let ordinary = ino == number::ROOT || ino >= sb.first_ino() && !special.contains(&ino);
    ordinary
        && !is_fast_link(inode)
        && inode.flags() & (flag::EXTENTS | flag::INLINE_DATA) == 0
        && (inode.file_acl() != 0 || inode.block_words()[12..] != [0; 3])
}

/// Order and place for what is found while the blocks of an inode are walked, as far as it is known then: as if its group were
/// one batch. It decides what is kept where there is more than is kept.
pub(in crate::ext4) fn provisional(
    volume: &Volume<'_>,
    ino: u32,
    inode: &Inode<'_>,
) -> Option<(u64, u64)> {
    if !is_deferred(&volume.sb, ino, inode) {
        return None;
    }
    let per_group = volume.geometry.inodes_per_group;
    let after = u64::from(ino).next_multiple_of(per_group.max(1).into());
    // Ascending as numbers with a sign.
    let indirect = inode.block_words()[12] ^ 1 << 31;
    Some((after, u64::from(indirect) << 31 | u64::from(ino >> 1) | 1))
}

/// What a finding is about: an inode, and its block of attributes where it is about that.
type Subject = (u32, Option<u64>);

/// Moves the findings about deferred inodes to where e2fsck would have them.
pub(in crate::ext4) fn order(volume: &Volume<'_>, log: &mut Log) {
    let mut slots = Slots::new(volume);
    let mut groups = BTreeMap::<u32, Vec<Subject>>::new();
    let subjects: BTreeSet<Subject> = log.of_pass(PASS).filter_map(subject).collect();
    for (ino, attributes) in subjects {
        let inode = slots.read(ino);
        let waits = inode.is_some_and(|inode| is_deferred(&volume.sb, ino, &inode));
        if waits && let Some((group, _)) = volume.geometry.index_of_inode(ino) {
            groups.entry(group).or_default().push((ino, attributes));
        }
    }
    let mut moves = BTreeMap::new();
    for (group, subjects) in groups {
        let blocks = subjects.iter().filter_map(|subject| subject.1).collect();
        let walk = Walk::of_group(volume, &mut slots, group, &blocks);
        let places = subjects.into_iter().map(|one| (one, walk.place(one)));
        moves.extend(places);
    }
    log.reorder(PASS, |finding| {
        let place = subject(finding).and_then(|subject| moves.get(&subject));
        if let Some((ino, place)) = place {
            finding.place.inode = Some((*ino).into());
            let (position, rank) = match *place {
                Some(Place { after, rank }) => (after.into(), u64::from(rank) + 1),
                None => ((*ino).into(), 0),
            };
            finding.set_position_in_pass(position, rank);
        }
    });
}

/// What a finding is about, if it is of what is judged when blocks are walked.
fn subject(finding: &Finding) -> Option<Subject> {
    let ino = u32::try_from(finding.place.inode?).ok()?;
    let (position, deferred) = finding.position_in_pass();
    let of_inode = deferred != 0 || position == u64::from(ino);
    let block = finding.place.block;
    let block = block.filter(|_| finding.stage() == stage::ATTRIBUTES);
    (of_inode && finding.stage() != stage::FIELDS).then_some((ino, block))
}

/// How e2fsck walks a group.
struct Walk {
    /// Inodes that it defers.
    places: BTreeMap<u32, Place>,
    /// Inodes that have the blocks of attributes that were asked for, ascending.
    users: BTreeMap<u64, Vec<u32>>,
}

impl Walk {
    fn of_group(
        volume: &Volume<'_>,
        slots: &mut Slots<'_>,
        group: u32,
        blocks: &BTreeSet<u64>,
    ) -> Walk {
        let count = plan::table(volume, group).map_or(0, |table| table.inodes);
        let per_group = volume.geometry.inodes_per_group;
        let first = group.saturating_mul(per_group);
        let mut deferred = Vec::new();
        let mut users = BTreeMap::<u64, Vec<u32>>::new();
        for ino in (1..=count).map(|nth| first.saturating_add(nth)) {
            let Some(inode) = slots.read(ino) else {
                continue;
            };
            if inode.raw().i_links_count.get() == 0 {
                continue;
            }
            if is_deferred(&volume.sb, ino, &inode) {
                deferred.push(Deferred::new(ino, &inode));
            }
            if blocks.contains(&inode.file_acl()) {
                users.entry(inode.file_acl()).or_default().push(ino);
            }
        }
        Walk {
            places: batches(&deferred, first.saturating_add(per_group)).collect(),
            users,
        }
    }

    /// The inode that the reference names for this one, and when it walks that; none where it does so as it comes to it.
    fn place(&self, (ino, attributes): Subject) -> (u32, Option<Place>) {
        let first = attributes.map_or(ino, |block| self.first_user(block, ino));
        (first, self.places.get(&first).copied())
    }

    /// The inode for which the reference judges a block of attributes, which is its first user; `lowest` is the lowest.
    fn first_user(&self, block: u64, lowest: u32) -> u32 {
        let (Some(place), Some(users)) = (self.places.get(&lowest), self.users.get(&block)) else {
            return lowest;
        };
        let before = users.iter().take_while(|ino| **ino <= place.after);
        let rank = |ino: &&u32| self.places.get(ino).map(|place| place.rank);
        before.min_by_key(rank).copied().unwrap_or(lowest)
    }
}

/// Where each of a group comes; `last` is the last inode of the group.
fn batches(deferred: &[Deferred], last: u32) -> impl Iterator<Item = (u32, Place)> {
    deferred.chunks(BATCH).flat_map(move |batch| {
        let full = batch.last().filter(|_| batch.len() == BATCH);
        let after = full.map_or(last, |one| one.ino);
        let ranked = (0..).zip(sort(batch));
        ranked.map(move |(rank, one)| (one.ino, Place { after, rank }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deferred(ino: u32, indirect: u32, attributes: u32) -> Deferred {
        Deferred {
            ino,
            indirect,
            attributes,
        }
    }

    #[test]
    fn a_batch_is_walked_by_blocks_after_its_last_inode_or_its_group() {
        let three = vec![
            deferred(12, 900, 0),
            deferred(13, 0, 70),
            deferred(14, 0, 60),
        ];
        let place = |after, rank| Place { after, rank };
        let placed: Vec<_> = batches(&three, 2048).collect();
        let expected = [
            (14, place(2048, 0)),
            (13, place(2048, 1)),
            (12, place(2048, 2)),
        ];
        assert_eq!(placed, expected);
        let many: Vec<_> = (0..300)
            .map(|nth| deferred(100 + nth, 5000 - nth, 0))
            .collect();
        let placed: BTreeMap<_, _> = batches(&many, 2048).collect();
        assert_eq!(placed[&100], place(355, 255));
        assert_eq!(placed[&355], place(355, 0));
        assert_eq!(placed[&356], place(2048, 43));
        let high = vec![deferred(12, 5, 0), deferred(13, 0xf000_0000, 0)];
        let first = batches(&high, 2048).next();
        assert_eq!(first, Some((13, place(2048, 0))), "differences have a sign");
    }

    /// Each comes before the next one, and the last before the first.
    #[test]
    fn what_has_no_order_is_compared_as_by_the_reference() {
        let (one, two, three) = (
            deferred(12, 0, 0),
            deferred(13, 0x6000_0000, 0),
            deferred(14, 0xc000_0000, 0),
        );
        assert_eq!(sort(&[one, two, three]), [one, two, three]);
        assert_eq!(sort(&[three, one, two]), [three, one, two]);
        assert_eq!(sort(&[two, one, three]), [two, three, one]);
    }
}
