//! A filesystem of one group in memory, as small as can be, whose inodes and blocks tests write by hand.

use blockio::layer::{Counting, Faulty};
use blockio::{BlockSource, Ram};
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::inode::InodeMut;
use ondisk::ext4::{Geometry, GroupDescriptor, Inode, Seed, Superblock};

use super::super::kind::Kind;
use super::super::{Attributes, Shared, Worker};
use crate::Silent;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::options::Reference;
use crate::ext4::pass1::attributes::charge::Charge;
use crate::ext4::volume::Volume;
use crate::frame::log::Findings;
use crate::frame::options::Options;

pub(super) const BLOCK: usize = 1024;
pub(super) const INODES: u32 = 64;
const TABLE: u64 = 10;
const SLOT: usize = 256;

pub(super) struct Fixture {
    pub(super) sb: Superblock,
    pub(super) ram: Ram,
    pub(super) reference: Reference,
    pub(super) checksums: bool,
    /// A block that cannot be read.
    pub(super) fails: Option<u64>,
    slots: Vec<[u8; SLOT]>,
}

/// What came out for some inodes.
pub(super) struct Judged {
    pub(super) findings: Findings,
    pub(super) attributes: Attributes,
    /// For each inode given: what its body and its block are charged, and what it is.
    pub(super) inodes: Vec<(Charge, Kind, Option<Charge>)>,
    pub(super) claimed: Vec<(u64, u32)>,
    /// Requests that it took.
    pub(super) reads: u64,
}

impl Judged {
    /// The names of the problems, in order.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let list = self.findings.list.iter();
        list.map(|finding| finding.problem.name).collect()
    }
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        let mut sb = Superblock::empty();
        sb.s_inodes_count = INODES.into();
        sb.set_blocks_count(4096);
        sb.s_first_data_block = 1.into();
        sb.s_blocks_per_group = 8192.into();
        sb.s_clusters_per_group = 8192.into();
        sb.s_inodes_per_group = INODES.into();
        sb.s_first_ino = 11.into();
        sb.s_inode_size = (SLOT as u16).into();
        sb.s_feature_compat = Compat::EXT_ATTR.with(Compat::DIR_INDEX).0.into();
        sb.s_feature_incompat = Incompat::EXTENTS.0.into();
        sb.s_feature_ro_compat = RoCompat::EXTRA_ISIZE.0.into();
        Fixture {
            sb,
            ram: Ram::sparse(4096 * BLOCK as u64),
            reference: Reference::E2fsck1474,
            checksums: false,
            fails: None,
            slots: vec![[0; SLOT]; INODES as usize],
        }
    }

    pub(super) fn incompat(mut self, feature: Incompat) -> Fixture {
        self.sb.s_feature_incompat = self.sb.incompat().with(feature).0.into();
        self
    }

    pub(super) fn seed(&self) -> Option<Seed> {
        self.checksums.then_some(Seed(77))
    }

    /// Writes an inode that is in use, with one link and the usual extra fields, changed by `fill`.
    pub(super) fn inode(&mut self, ino: u32, mode: u16, fill: impl FnOnce(&mut InodeMut<'_>)) {
        let seed = self.seed();
        let slot = &mut self.slots[ino as usize - 1];
        slot.fill(0);
        let mut inode = InodeMut::new(slot, SLOT as u16).unwrap();
        inode.raw().unwrap().i_mode = mode.into();
        inode.raw().unwrap().i_links_count = 1.into();
        inode.extra().unwrap().i_extra_isize = 32.into();
        fill(&mut inode);
        if let Some(seed) = seed {
            inode.seal(seed, ino).unwrap();
        }
        let at = TABLE * BLOCK as u64 + (u64::from(ino) - 1) * SLOT as u64;
        self.ram.put(at, slot);
    }

    /// Overwrites an inode's whole slot.
    pub(super) fn slot(&mut self, ino: u32, bytes: &[u8; SLOT]) {
        self.slots[ino as usize - 1] = *bytes;
        let at = TABLE * BLOCK as u64 + (u64::from(ino) - 1) * SLOT as u64;
        self.ram.put(at, bytes);
    }

    pub(super) fn block(&mut self, block: u64, bytes: &[u8]) {
        self.ram.put(block * BLOCK as u64, bytes);
    }

    /// Looks at these inodes as the walk does, shared out among two workers; `root` is where each one's first block is.
    pub(super) fn judge(&self, inodes: &[u32], root: Option<u64>) -> Judged {
        let source: Box<dyn BlockSource + '_> = match self.fails {
            Some(block) => {
                let at = block * BLOCK as u64;
                Box::new(Faulty::new(
                    &self.ram,
                    std::iter::once(at..at + BLOCK as u64),
                    5,
                ))
            }
            None => Box::new(&self.ram),
        };
        let source = Counting::new(source);
        let mut descriptor = GroupDescriptor::empty(32);
        descriptor.set_inode_table(TABLE);
        let volume = Volume {
            source: &source,
            sb: self.sb,
            geometry: Geometry::new(&self.sb).unwrap(),
            descriptors: vec![descriptor],
            seed: self.seed(),
            options: Options {
                threads: 2,
                now: 1_700_000_000,
                ..Options::default()
            },
            ext4: crate::ext4::options::Options {
                reference: self.reference,
                ..Default::default()
            },
            backup: None,
            claims: crate::ext4::volume::Claims::default(),
            guard: crate::frame::memory::Guard::default(),
            progress: &Silent,
        };
        let mut judged = self.judge_on(&volume, inodes, root);
        judged.reads = source.counts().requests;
        judged
    }

    fn judge_on(&self, volume: &Volume<'_>, inodes: &[u32], root: Option<u64>) -> Judged {
        let mut log = Log::new(100);
        let shared = Shared::new(volume).unwrap();
        let mut workers = [Worker::new(volume, &shared), Worker::new(volume, &shared)];
        let mut seen = Vec::new();
        for (nth, ino) in inodes.iter().enumerate() {
            let worker = &mut workers[nth % 2];
            let slot = &self.slots[*ino as usize - 1];
            let inode = Inode::read(slot, SLOT as u16).unwrap();
            let sound = volume
                .seed
                .is_none_or(|seed| inode.checksum(seed, *ino).matches());
            worker.check_flags(*ino, &inode, sound, &mut log);
            let body = worker.check_body(*ino, &inode, &mut log);
            let kind = worker.check_kind(*ino, &inode, sound, &mut log);
            let block = worker.check_block(*ino, &inode);
            if inode.has_flags(ondisk::ext4::inode::flag::INDEX) {
                worker.check_index(*ino, &inode, root, &mut log);
            }
            let _ = worker.inline_size(*ino, &inode);
            seen.push((body, kind, block));
        }
        for worker in workers {
            worker.hand_in();
        }
        let mut claimed = Vec::new();
        let attributes = shared
            .finish(
                volume,
                &[],
                &mut |block, ino| claimed.push((block, ino)),
                &mut log,
            )
            .unwrap();
        attributes.roots.finish(volume, &mut log);
        Judged {
            findings: log.finish(),
            attributes,
            inodes: seen,
            claimed,
            reads: 0,
        }
    }
}
