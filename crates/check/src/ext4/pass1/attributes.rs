//! What an inode is beside its blocks: flags, attributes, kind, encryption, index.
//!
//! The walk over the inodes calls a [`Worker`] at four points of each inode, in the order in which e2fsck looks at
//! these things, so that the findings of one inode come in its order:
//!
//! 1. [`Worker::check_flags`]: flags that exclude each other, or a feature, or the kind of the inode;
//! 2. [`Worker::check_body`]: `i_extra_isize`, the attributes after it, impossible times;
//! 3. [`Worker::check_kind`]: whether devices, pipes, sockets and links match their mode, and their encryption;
//! 4. [`Worker::check_block`]: the number of the attribute block, before the inode's own blocks are counted;
//!    [`Worker::check_index`] when they have been.
//!
//! What needs a block of its own is only noted there, and read ascending by [`Shared::finish`] when all inodes have been seen: each
//! attribute block once, however many inodes share it, the targets of long links, the roots of indexes. Under "answer no to
//! everything" the reference counts an attribute block for its inode whatever is in it, so the count of blocks need not wait. The
//! exception are blocks that name value inodes, whose sizes count as well: where the feature `ea_inode` is on, each
//! block is looked into at once.

pub(crate) mod charge;
mod finish;
mod flags;
mod index;
mod kind;
mod list;
mod pending;
mod policy;
mod region;
mod roots;
pub(crate) mod search;
mod value;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::inode::{OLD_SIZE, flag};
use ondisk::ext4::xattr::List;
use ondisk::ext4::{FileType, Inode};

use super::special::{self, Mapper};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P1_EA_TIME_OUT_OF_RANGE, P1_EXTRA_ISIZE, P1_HTREE_BADROOT, P1_HTREE_NODIR, P1_HTREE_SET,
};
use crate::ext4::inode_set::slot_of;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::maps::LinkCounts;
use crate::frame::maps::OutOfMemory;
use charge::Charge;
use pending::{Pending, Root};
pub(crate) use policy::{Policies, PolicyId};
use region::Region;
use roots::Roots;
use search::{DATA, Search, Values};
use value::{Owner, ValueJudge};

/// What passes 2 and 4 need.
#[derive(Default)]
pub(crate) struct Attributes {
    /// Attribute entries that name each inode as the holder of their value.
    pub(crate) value_refs: Option<LinkCounts>,
    /// Inodes with the flag `EA_INODE`, ascending.
    pub(crate) value_inodes: Vec<u32>,
    /// The policy of each encrypted inode.
    pub(crate) policies: Policies,
    /// Damaged links, found when their blocks were read: to be added to the inodes that do not match their mode.
    pub(crate) bad: Vec<u32>,
    /// Roots of indexes that are judged when pass 2 reads them.
    pub(crate) roots: Roots,
    /// Inodes of values that were looked at.
    pub(crate) values: Values,
}

impl Attributes {
    /// How many attribute entries name this inode as the holder of their value.
    pub(crate) fn value_refs(&self, ino: u32) -> u32 {
        self.value_refs
            .as_ref()
            .map_or(0, |refs| refs.get(slot_of(ino)))
    }

    /// Whether no inode holds a value, by its own flag or by an entry.
    pub(crate) fn has_no_values(&self) -> bool {
        let refs = self.value_refs.as_ref();
        self.value_inodes.is_empty() && refs.is_none_or(LinkCounts::is_untouched)
    }
}

/// What the threads share, and what they hand in.
pub(crate) struct Shared {
    value_refs: LinkCounts,
    numbers: policy::Numbers,
    /// Inodes of values that were looked at.
    values: Values,
    handed: Mutex<Handed>,
}

#[derive(Default)]
struct Handed {
    pending: Pending,
    ranges: Vec<policy::Range>,
    value_inodes: Vec<u32>,
}

impl Shared {
    /// Before the sweep.
    pub(crate) fn new(volume: &Volume<'_>) -> Result<Shared, OutOfMemory> {
        Ok(Shared {
            value_refs: LinkCounts::new(volume.sb.s_inodes_count.get().into())?,
            numbers: policy::Numbers::default(),
            values: Values::default(),
            handed: Mutex::default(),
        })
    }
}

#[cfg(test)]
impl Shared {
    /// How often an inode is named as the holder of a value.
    pub(crate) fn value_refs(&self, ino: u32) -> u32 {
        self.value_refs.get(slot_of(ino))
    }

    /// What workers have handed in, for comparison.
    pub(crate) fn collected(&self) -> String {
        let handed = self.handed.lock().unwrap();
        format!(
            "{:?} {:?} {:?}",
            handed.pending, handed.ranges, handed.value_inodes
        )
    }
}

/// Judges inodes in one thread.
pub(crate) struct Worker<'a> {
    volume: &'a Volume<'a>,
    shared: &'a Shared,
    pending: Pending,
    ranges: Vec<policy::Range>,
    value_inodes: Vec<u32>,
    region: Region,
    found: Vec<Finding>,
    slot: Vec<u8>,
    block: Vec<u8>,
    /// The attribute blocks that were looked into for their value inodes, and what each adds. All of them, since every inode may name any of a few
    /// blocks with a thousand values each; those that are none are not kept.
    looked_into: HashMap<u64, Charge>,
}

/// Blocks that a thread remembers, some 8 MiB.
const LOOKED_INTO: usize = 1 << 18;

/// What the attribute `system.data` of an inline inode holds; no bytes where there is none. Nothing where attributes cannot be
/// read: then the reference does not read the first half either.
pub(crate) fn inline_tail(
    volume: &Volume<'_>,
    values: &Values,
    ino: u32,
    inode: &Inode<'_>,
) -> Option<Vec<u8>> {
    let mut search = Search {
        volume,
        values,
        slot: &mut Vec::new(),
        block: &mut Vec::new(),
    };
    let tail = search.find(ino, inode, DATA).ok()?;
    Some(tail.unwrap_or_default())
}

impl<'a> Worker<'a> {
    /// For one thread.
    pub(crate) fn new(volume: &'a Volume<'a>, shared: &'a Shared) -> Worker<'a> {
        Worker {
            volume,
            shared,
            pending: Pending::default(),
            ranges: Vec::new(),
            value_inodes: Vec::new(),
            region: Region::default(),
            found: Vec::new(),
            slot: Vec::new(),
            block: Vec::new(),
            looked_into: HashMap::new(),
        }
    }

    /// At the end of the thread.
    pub(crate) fn hand_in(mut self) {
        let handed = &mut self.shared.handed.lock();
        let handed = handed.as_mut().unwrap_or_else(|poison| poison.get_mut());
        handed.pending.append(self.pending);
        handed.ranges.append(&mut self.ranges);
        handed.value_inodes.append(&mut self.value_inodes);
    }

    fn search(&mut self) -> Search<'_> {
        Search {
            volume: self.volume,
            values: &self.shared.values,
            slot: &mut self.slot,
            block: &mut self.block,
        }
    }

    /// Bytes of inline content that there is room for: 60, and what the attribute `system.data` holds. Nothing where
    /// attributes cannot be read, or the inode has no inline content.
    pub(crate) fn inline_size(&mut self, ino: u32, inode: &Inode<'_>) -> Option<u64> {
        if !inode.has_flags(flag::INLINE_DATA) {
            return None;
        }
        let tail = self.search().find(ino, inode, DATA).ok()?;
        let tail = tail.unwrap_or_default().len();
        Some((ondisk::ext4::inline::IN_BLOCK + tail) as u64)
    }

    /// `i_extra_isize`, the attributes in the inode, times that cannot be. The charge counts with the inode's own blocks.
    pub(crate) fn check_body(&mut self, ino: u32, inode: &Inode<'_>, log: &mut Log) -> Charge {
        let slot = inode.bytes();
        let Some(most) = slot.len().checked_sub(OLD_SIZE).filter(|most| *most > 0) else {
            return Charge::default();
        };
        let extra = usize::from(inode.extra_isize());
        if extra != 0 && (extra < 4 || extra > most || extra % 4 != 0) {
            let finding = Finding::new(&P1_EXTRA_ISIZE).inode(ino).offset(OLD_SIZE);
            let expected = format!("a multiple of 4 up to {most}");
            log.add(finding.found(extra as u64).expected(expected));
            return Charge::default();
        }
        if extra + list::END >= most {
            return Charge::default();
        }
        let body = &slot[OLD_SIZE + extra..];
        let charge = match List::of_inode(body) {
            Some(list) => self.check_list(ino, inode, body, list, log),
            None => Charge::default(),
        };
        self.check_times(ino, inode, log);
        charge
    }

    fn check_list(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        body: &[u8],
        list: List<'_>,
        log: &mut Log,
    ) -> Charge {
        let mut values = ValueJudge {
            volume: self.volume,
            owner: Owner {
                ino,
                generation: Some(inode.raw().i_generation.get()),
            },
            slot: &mut self.slot,
        };
        let found = &mut self.found;
        let charge = list::judge_body(ino, body, &mut self.region, &mut values, found);
        for finding in found.drain(..) {
            log.add(finding);
        }
        let base = body.get(list::END..).unwrap_or_default();
        for named in list::named_inodes(base, list) {
            self.shared.value_refs.add(slot_of(named), 1);
        }
        charge
    }

    /// Dates before 1970 that an old kernel wrote as dates after 2310. An offer to correct them, no fault.
    fn check_times(&self, ino: u32, inode: &Inode<'_>, log: &mut Log) {
        /// When dates like these may be meant.
        const CUTOFF: i64 = 2 << 32;
        /// Where each time and its extra bits lie: atime, ctime, mtime, crtime.
        const TIMES: [(usize, usize); 4] = [(0x08, 0x8c), (0x0c, 0x84), (0x10, 0x88), (0x90, 0x94)];
        let slot = inode.bytes();
        let word = |at: usize| -> u32 {
            let word = slot.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.map_or(0, u32::from_le_bytes)
        };
        let odd = |(time, extra): &(usize, usize)| word(*time) >> 31 == 1 && word(*extra) & 3 == 3;
        if self.volume.options.now < CUTOFF && TIMES.iter().any(odd) {
            log.add(Finding::new(&P1_EA_TIME_OUT_OF_RANGE).inode(ino));
        }
    }

    /// Before an inode's blocks are counted, special inodes included: what its attribute block adds (nothing where there is
    /// none). `None`: there is no such block, and the inode does not match its mode.
    pub(crate) fn check_block(&mut self, ino: u32, inode: &Inode<'_>) -> Option<Charge> {
        let volume = self.volume;
        let block = volume.attribute_block(inode);
        if block == 0 {
            return Some(Charge::default());
        }
        if !volume.sb.has_compat(Compat::EXT_ATTR) || !volume.is_block(block) {
            return None;
        }
        self.pending.uses(block, ino);
        let mut charge = Charge {
            clusters: 1,
            inodes: 0,
        };
        if volume.sb.has_incompat(Incompat::EA_INODE) {
            let generation = Some(inode.raw().i_generation.get());
            let values = self.values_in(block, Owner { ino, generation });
            charge.clusters += values.clusters;
            charge.inodes += values.inodes;
        }
        Some(charge)
    }

    /// What the values add that an attribute block keeps in inodes.
    fn values_in(&mut self, at: u64, owner: Owner) -> Charge {
        if let Some(charge) = self.looked_into.get(&at) {
            return *charge;
        }
        let mut block = std::mem::take(&mut self.block);
        let mut charge = Charge::default();
        if self.volume.read_into(at, &mut block).is_ok() {
            let mut values = ValueJudge {
                volume: self.volume,
                owner,
                slot: &mut self.slot,
            };
            let found = &mut self.found;
            charge = list::judge_block(owner.ino, &block, &mut self.region, &mut values, found);
            // The findings come when the block is judged for all its users.
            found.clear();
            if List::of_block(&block).is_ok() && self.looked_into.len() < LOOKED_INTO {
                self.looked_into.insert(at, charge);
            }
        }
        self.block = block;
        charge
    }

    /// For every inode with the flag `INDEX`, after its blocks were walked. `first` is the block that logical block 0 is
    /// mapped to, if any.
    pub(crate) fn check_index(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        first: Option<u64>,
        log: &mut Log,
    ) {
        if inode.file_type() != Some(FileType::Directory) {
            log.add(Finding::new(&P1_HTREE_NODIR).inode(ino));
        }
        if !self.volume.sb.has_compat(Compat::DIR_INDEX) {
            log.add(Finding::new(&P1_HTREE_SET).inode(ino));
        }
        // What is no file was not walked, but the reference maps its first block all the same.
        let direct = u64::from(inode.block_words()[0]);
        let unwalked = !special::maps_blocks(self.volume, inode)
            && inode.flags() & (flag::EXTENTS | flag::INLINE_DATA) == 0;
        let first = first.or((unwalked && direct != 0).then_some(direct));
        // What has the mode of no file was not walked, and has a first block all the same.
        let first = first.or_else(|| {
            let mut mapper = Mapper {
                volume: self.volume,
                block: &mut self.block,
                written: false,
            };
            mapper.block_at(ino, inode, 0).ok().flatten()
        });
        if let Some(block) = first.filter(|block| self.volume.is_block(*block)) {
            self.pending.roots.push(Root::new(block, ino, inode));
            return;
        }
        let finding = Finding::new(&P1_HTREE_BADROOT).inode(ino).logical(0);
        log.add(match first {
            Some(block) => finding.found(block),
            None => finding.note("no block"),
        });
    }
}

/// The lock's content, also where a thread panicked with it.
fn into_inner(handed: Mutex<Handed>) -> Handed {
    handed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
