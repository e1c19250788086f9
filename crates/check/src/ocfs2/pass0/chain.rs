//! The chains of one allocator.

use std::collections::BTreeSet;

use ondisk::ocfs2::chain::{self, ChainHead};
use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ChainList, ChainRecord, GroupDescriptor};

use super::is_allocator;
use super::prefill::Descriptors;
use crate::frame::finding::Finding;
use crate::ocfs2::blocks::Block;
use crate::ocfs2::fsck_ocfs2::Exit;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    CHAIN_BITS, CHAIN_COUNT, CHAIN_EMPTY, CHAIN_GROUP_BITS, CHAIN_HEAD_LINK_RANGE,
    CHAIN_I_CLUSTERS, CHAIN_I_SIZE, CHAIN_LINK_GEN, CHAIN_LINK_MAGIC, CHAIN_LINK_RANGE,
    CHAIN_NEXT_FREE, CLUSTER_RANGE, GROUP_CHAIN_LONG, GROUP_CHAIN_LOOP, GROUP_CORRUPT,
    GROUP_UNREADABLE,
};
use crate::ocfs2::refused::Refused;
use crate::ocfs2::state::State;
use crate::ocfs2::volume::{Volume, from, head, value};

/// Places of the global bitmap's descriptors: where they must be, and those that a chain led to although they must not be there.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Blocks that no chain has led to yet.
    pub(crate) expected: BTreeSet<u64>,
    /// Blocks that have no descriptor, and to which a chain led.
    pub(crate) unexpected: BTreeSet<u64>,
}

/// One allocator during its check.
pub(super) struct Judge<'a, 'v, 'd> {
    pub(super) volume: &'a Volume<'v>,
    pub(super) state: &'a mut State,
    pub(super) log: &'a mut Log,
    pub(super) blocks: &'a mut Descriptors<'d, 'v>,
    pub(super) places: Option<&'a mut Places>,
    /// Block of the allocator's inode, by its own account.
    pub(super) owner: u64,
    /// The head of its chain list.
    pub(super) list: ChainHead,
}

/// A chain and the sums over its groups.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) number: u32,
    pub(super) free: u32,
    pub(super) total: u32,
}

/// Judges the chains of an allocator.
///
/// # Errors
/// Why fsck.ocfs2 gives the allocator up. It looks at the status of the last chain only.
pub(super) fn check<'v>(
    volume: &Volume<'v>,
    state: &mut State,
    log: &mut Log,
    inode: &Block,
    places: Option<&mut Places>,
    blocks: &mut Descriptors<'_, 'v>,
) -> Result<(), Refused> {
    is_allocator(inode)?;
    let Ok(list) = ChainList::read(from(inode, BODY)) else {
        return Err(Refused::Corrupt);
    };
    let mut judge = Judge {
        volume,
        state,
        log,
        blocks,
        places,
        owner: head(inode).i_blkno.get(),
        list: *list.head(),
    };
    judge.allocator(inode, &list)
}

impl Judge<'_, '_, '_> {
    fn at(&self, finding: Finding) -> Finding {
        finding.inode(self.owner)
    }

    fn allocator(&mut self, inode: &[u8], list: &ChainList<'_>) -> Result<(), Refused> {
        let (per_group, per_cluster) = (self.list.cl_cpg.get(), self.list.cl_bpc.get());
        let (count, used) = (self.list.cl_count.get(), self.list.cl_next_free_rec.get());
        if per_group == 0 || count == 0 {
            let finding = self.at(Finding::new(&GROUP_CORRUPT));
            self.log
                .end(Exit::DIVISION, finding.note("cl_cpg or cl_count is 0"));
        }
        let dinode = head(inode);
        let groups =
            dinode.i_clusters.get().wrapping_add(per_group.into()) / u32::from(per_group.max(1));
        let longest = groups.wrapping_add(count.into()) / u32::from(count.max(1));
        let room = chain::room(inode.len());
        for (number, record) in (0_u32..).zip(list.first(room)) {
            let first = record.c_blkno.get();
            if first != 0 && self.volume.out_of_range(first) {
                let finding = self.at(Finding::new(&CHAIN_HEAD_LINK_RANGE)).group(number);
                self.log.add(finding.found(first));
            }
        }
        let mut limit = room.min(count.into());
        if usize::from(count) > room {
            let finding = self.at(Finding::new(&CHAIN_COUNT));
            self.log.add(finding.found(count).expected(room as u64));
        }
        if usize::from(used) > limit {
            let finding = self.at(Finding::new(&CHAIN_NEXT_FREE));
            self.log.add(finding.found(used).expected(limit as u64));
        } else {
            limit = used.into();
        }
        let (mut free, mut total) = (0_u32, 0_u32);
        let mut status = Ok(());
        for (number, record) in (0_u32..).zip(list.first(limit)) {
            let mut chain = Chain {
                number,
                ..Chain::default()
            };
            status = self.chain(&mut chain, record, longest);
            if record.c_blkno.get() != 0 {
                free = free.wrapping_add(chain.free);
                total = total.wrapping_add(chain.total);
            } else if self.places.is_none() {
                let finding = self.at(Finding::new(&CHAIN_EMPTY)).group(number);
                self.log.add(finding);
            }
        }
        let used = total.wrapping_sub(free);
        if dinode.total() != total || dinode.used() != used {
            let finding = self.at(Finding::new(&CHAIN_GROUP_BITS));
            let found = format!("{} used of {}", dinode.used(), dinode.total());
            self.log.add(
                finding
                    .found(found)
                    .expected(format!("{used} used of {total}")),
            );
        }
        if per_cluster == 0 {
            let finding = self.at(Finding::new(&GROUP_CORRUPT));
            self.log.end(Exit::DIVISION, finding.note("cl_bpc is 0"));
        }
        let clusters = total / u32::from(per_cluster.max(1));
        if dinode.i_clusters.get() != clusters {
            let finding = self.at(Finding::new(&CHAIN_I_CLUSTERS));
            self.log
                .add(finding.found(dinode.i_clusters.get()).expected(clusters));
        }
        let bytes = u64::from(clusters) * self.volume.layout.cluster_size();
        if dinode.i_size.get() != bytes {
            let finding = self.at(Finding::new(&CHAIN_I_SIZE));
            self.log
                .add(finding.found(dinode.i_size.get()).expected(bytes));
        }
        if BODY + ChainHead::SIZE + usize::from(count) * ChainRecord::SIZE > 3 * inode.len() {
            // fsck.ocfs2 clears the records that are not in use, beyond its three blocks of memory.
            let finding = self.at(Finding::new(&GROUP_CORRUPT));
            self.log.end(
                Exit::ABORT,
                finding.note("cl_count leads far outside the block"),
            );
        }
        status
    }

    /// Follows a chain.
    fn chain(
        &mut self,
        chain: &mut Chain,
        record: &ChainRecord,
        longest: u32,
    ) -> Result<(), Refused> {
        let mut next = record.c_blkno.get();
        let mut seen = BTreeSet::new();
        let mut depth = 0;
        while next != 0 {
            let block = next;
            if self.volume.out_of_range(block) {
                let finding = self.at(Finding::new(&CHAIN_LINK_RANGE)).group(chain.number);
                self.log.add(finding.found(block));
            }
            let bytes = match self.blocks.get(block) {
                Ok(bytes) => bytes,
                Err(Refused::Magic) => {
                    let finding = self.at(Finding::new(&CHAIN_LINK_MAGIC)).group(chain.number);
                    self.log.add(finding.block(block));
                    break;
                }
                Err(refused) => {
                    let finding = self.at(Finding::new(&GROUP_UNREADABLE)).group(chain.number);
                    self.log.add(finding.block(block).note(refused.words()));
                    return Err(refused);
                }
            };
            let group: GroupDescriptor = value(GroupDescriptor::read(&bytes));
            if group.bg_generation.get() != self.volume.generation() {
                let finding = self.at(Finding::new(&CHAIN_LINK_GEN)).group(chain.number);
                let finding = finding.block(block).found(group.bg_generation.get());
                self.log.add(finding.expected(self.volume.generation()));
            }
            self.group(chain, &group, &bytes, block)?;
            let repeated = !seen.insert(block);
            depth += 1;
            if depth > longest {
                let back = repeated || self.leads_back(group.bg_next_group.get(), &mut seen);
                let problem = if back {
                    &GROUP_CHAIN_LOOP
                } else {
                    &GROUP_CHAIN_LONG
                };
                let finding = self.at(Finding::new(problem)).group(chain.number);
                self.log.add(finding.block(record.c_blkno.get()));
                break;
            }
            self.take(&group, &bytes);
            next = group.bg_next_group.get();
        }
        if chain.total != record.c_total.get() || chain.free != record.c_free.get() {
            let finding = self.at(Finding::new(&CHAIN_BITS)).group(chain.number);
            let found = format!("{} free of {}", record.c_free.get(), record.c_total.get());
            let expected = format!("{} free of {}", chain.free, chain.total);
            self.log.add(finding.found(found).expected(expected));
        }
        Ok(())
    }

    /// Whether a chain leads back to one of its groups.
    fn leads_back(&mut self, mut next: u64, seen: &mut BTreeSet<u64>) -> bool {
        while next != 0 {
            if !seen.insert(next) {
                return true;
            }
            let Ok(bytes) = self.blocks.get(next) else {
                return false;
            };
            let group: GroupDescriptor = value(GroupDescriptor::read(&bytes));
            next = group.bg_next_group.get();
        }
        false
    }

    /// Marks the clusters of a group that was followed, by the block number that it has of itself.
    fn take(&mut self, group: &GroupDescriptor, bytes: &[u8]) {
        let (volume, own) = (self.volume, group.bg_blkno.get());
        let Some(places) = &mut self.places else {
            let runs: Vec<(u64, u32)> = match group.extents(bytes) {
                Some(list) => list
                    .used()
                    .map(|record| (record.e_blkno.get(), record.leaf_clusters().into()))
                    .collect(),
                None => vec![(own, self.list.cl_cpg.get().into())],
            };
            for (block, clusters) in runs {
                self.state
                    .mark(volume, self.log, volume.cluster_of(block), clusters);
            }
            return;
        };
        if places.expected.remove(&own) {
            self.state.mark(volume, self.log, volume.cluster_of(own), 1);
        } else if own < volume.layout.blocks() {
            places.unexpected.insert(own);
        } else {
            let finding = Finding::new(&CLUSTER_RANGE).block(own);
            self.log.end(Exit::ABORTING, finding);
        }
    }
}
