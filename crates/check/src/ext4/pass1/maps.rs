//! What the threads of pass 1 share: the maps, and how a block is claimed.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ondisk::ext4::feature::RoCompat;

use super::super::volume::Volume;
use super::metadata::Metadata;
use crate::ext4::pass1::features::Features;
use crate::ext4::pass1::plain::Plain;
use crate::frame::budget::Budget;
use crate::frame::maps::FileTypes;
use crate::frame::maps::LinkCounts;
use crate::frame::maps::{Bits, OutOfMemory};

/// Blocks that lie wholly inside the source.
pub(super) fn held(volume: &Volume<'_>) -> u64 {
    volume.source.len() / u64::from(volume.geometry.block_size.max(1))
}

/// The maps, and the bounds of what may be claimed.
pub(in crate::ext4) struct Maps<'a> {
    pub(in crate::ext4) volume: &'a Volume<'a>,
    pub(in crate::ext4) features: Features,
    pub(super) plain: Plain,
    pub(in crate::ext4) used: Bits,
    pub(in crate::ext4) blocks: Bits,
    /// Clusters claimed twice.
    pub(in crate::ext4) shared: Bits,
    any_shared: AtomicBool,
    pub(in crate::ext4) file_types: FileTypes,
    pub(in crate::ext4) link_counts: LinkCounts,
    pub(in crate::ext4) metadata: Metadata,
    /// `i_dtime` below the number of inodes looks like the link of a list of orphans; not where the clock was that low.
    pub(in crate::ext4) low_dtime: bool,
    /// Blocks of a cluster.
    pub(in crate::ext4) ratio: u64,
    first: u64,
    end: u64,
    /// Blocks that lie wholly inside the source.
    held: u64,
    /// Files may share blocks by a feature of the filesystem.
    pub(in crate::ext4) sharing: bool,
    /// Nodes that may still be walked.
    nodes: Budget,
    /// Blocks of directories that may still be listed.
    listing: Budget,
    /// Blocks that may still be looked at one by one for who else claims them.
    looking: Budget,
    /// Blocks with several claims whose owners were not looked up.
    untraced: AtomicU64,
}

/// Bytes of directories that may be listed beyond those that the filesystem has: for small ones, whose damage is to be reported in full.
const LISTED_TWICE: u64 = 8 << 20;

impl<'a> Maps<'a> {
    pub(in crate::ext4) fn new(volume: &'a Volume<'a>) -> Result<Maps<'a>, OutOfMemory> {
        let geometry = &volume.geometry;
        let first = u64::from(geometry.first_data_block);
        let ratio = u64::from(geometry.cluster_blocks.max(1));
        let blocks = geometry.blocks_count.saturating_sub(first);
        let clusters = blocks.div_ceil(ratio);
        let inodes = geometry.inodes_count();
        let features = Features::of(volume);
        let maps = Maps {
            volume,
            plain: Plain::of(volume, &features),
            features,
            used: Bits::new(inodes.into())?,
            blocks: Bits::new(clusters)?,
            shared: Bits::new(clusters)?,
            any_shared: AtomicBool::new(false),
            file_types: FileTypes::new(inodes.into())?,
            link_counts: LinkCounts::new(inodes.into())?,
            metadata: Metadata::default(),
            low_dtime: clock_is_high(volume),
            ratio,
            first,
            end: geometry.blocks_count,
            held: held(volume),
            sharing: volume.sb.has_ro_compat(RoCompat::SHARED_BLOCKS),
            nodes: Budget::default(),
            looking: Budget::default(),
            untraced: AtomicU64::new(0),
            listing: Budget::new(
                blocks.saturating_add(LISTED_TWICE / u64::from(geometry.block_size.max(1))),
            ),
        };
        maps.refill();
        Ok(maps)
    }

    /// How many of these blocks the filesystem has and the source has not.
    pub(in crate::ext4) fn cut(&self, start: u64, end: u64) -> u64 {
        end.min(self.end).saturating_sub(start.max(self.held))
    }

    /// Whether there is such a block.
    pub(in crate::ext4) fn is_legal(&self, block: u64) -> bool {
        (self.first..self.end).contains(&block)
    }

    /// The cluster of a block, as the maps count them.
    pub(in crate::ext4) fn cluster(&self, block: u64) -> Option<u64> {
        self.is_legal(block)
            .then(|| (block - self.first) / self.ratio)
    }

    /// Bytes of a cluster.
    pub(in crate::ext4) fn cluster_bytes(&self) -> u64 {
        self.ratio * u64::from(self.volume.geometry.block_size)
    }

    /// Claims a block's cluster.
    pub(in crate::ext4) fn claim(&self, block: u64) {
        if let Some(cluster) = self.cluster(block)
            && self.blocks.set(cluster)
        {
            self.share(cluster);
        }
    }

    /// Claims the clusters of a run that begins at the start of one; cut to the filesystem.
    pub(in crate::ext4) fn claim_run(&self, start: u64, end: u64) {
        let (start, end) = (start.max(self.first), end.min(self.end));
        if start < end {
            let clusters =
                (start - self.first) / self.ratio..(end - self.first).div_ceil(self.ratio);
            self.blocks
                .set_range(clusters, |cluster| self.share(cluster));
        }
    }

    #[cold]
    fn share(&self, cluster: u64) {
        if !self.sharing {
            self.shared.set(cluster);
            self.any_shared.store(true, Relaxed);
        }
    }

    /// Whether any cluster was claimed twice.
    pub(in crate::ext4) fn any_shared(&self) -> bool {
        self.any_shared.load(Relaxed)
    }

    /// How many clusters of these blocks were claimed twice.
    pub(in crate::ext4) fn contested(&self, blocks: Range<u64>) -> u64 {
        let (start, end) = (blocks.start.max(self.first), blocks.end.min(self.end));
        if start >= end {
            return 0;
        }
        let clusters = (start - self.first) / self.ratio..(end - self.first).div_ceil(self.ratio);
        self.shared.count(clusters)
    }

    /// Takes `count` of the directory blocks that may still be listed; whether there were as many. No two blocks of sound
    /// directories are the same, and each is read by pass 2: of one node that names a thousand times the whole filesystem,
    /// that would be a thousand readings of it.
    pub(in crate::ext4) fn may_list(&self, blocks: u64) -> bool {
        self.listing.take(blocks)
    }

    /// The same of blocks that are looked at one by one.
    pub(in crate::ext4) fn may_look(&self, blocks: u64) -> bool {
        let may = self.looking.take(blocks);
        if !may {
            self.untraced.fetch_add(blocks, Relaxed);
        }
        may
    }

    /// Blocks that [`Maps::may_look`] refused.
    pub(in crate::ext4) fn untraced(&self) -> u64 {
        self.untraced.load(Relaxed)
    }

    /// Whether some budget was not enough: then what is left out depends on who came first.
    pub(in crate::ext4) fn is_overdrawn(&self) -> bool {
        [&self.nodes, &self.listing, &self.looking]
            .iter()
            .any(|budget| budget.is_overdrawn())
    }

    /// Lets as many nodes be walked again, and as many blocks be looked at.
    pub(in crate::ext4) fn refill(&self) {
        let blocks = self.end.saturating_sub(self.first);
        let nodes = blocks.saturating_mul(2).saturating_add(1 << 10);
        self.nodes.refill(nodes);
        let looks = blocks.saturating_mul(8).saturating_add(1 << 20);
        self.looking.refill(looks);
        self.listing.forgive();
        self.untraced.store(0, Relaxed);
    }

    /// Takes one node from what may still be walked. A sound filesystem has fewer nodes than blocks; mappings that lead into
    /// each other have no end.
    pub(in crate::ext4) fn spend(&self) -> bool {
        self.nodes.take(1)
    }
}

/// Whether no time in the superblock is as low as an inode's number could be.
fn clock_is_high(volume: &Volume<'_>) -> bool {
    let sb = &volume.sb;
    let times = [
        (sb.s_wtime.get(), sb.s_wtime_hi),
        (sb.s_mtime.get(), sb.s_mtime_hi),
        (sb.s_mkfs_time.get(), sb.s_mkfs_time_hi),
    ];
    let inodes = u64::from(sb.s_inodes_count.get());
    times
        .into_iter()
        .map(|(low, high)| u64::from(low) | u64::from(high) << 32)
        .all(|time| time == 0 || time >= inodes)
}
