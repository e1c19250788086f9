//! When all inodes have been seen: the blocks they asked for, ascending, each read once.

use blockio::{Content, Piece, Span};
use ondisk::ext4::inode::flag;
use ondisk::ext4::xattr::{self, List, MAGIC};

use super::super::special;
use super::kind::check_immutable;
use super::pending::{Root, Target, Use};
use super::policy::Policies;
use super::region::Region;
use super::roots::Roots;
use super::value::{Owner, ValueJudge};
use super::{Attributes, Shared, into_inner, list};
use crate::ext4::directories::Run;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::order::stage;
use crate::ext4::e2fsck::problems::{
    P1_BAD_EA_BLOCK, P1_EA_BLOCK_ONLY_CSUM_INVALID, P1_EA_MULTI_BLOCK, P1_EXTATTR_READ_ABORT,
    P1_EXTATTR_REFCOUNT, P1_READ_EA_BLOCK,
};
use crate::ext4::inode_set::slot_of;
use crate::ext4::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::maps::LinkCounts;

/// Reference counts are compared when all inodes are through: first those that are too high, then those that are too low.
const TOO_HIGH: u64 = 1 << 60;
const TOO_LOW: u64 = 1 << 61;

/// One block that is needed.
enum Job<'a> {
    Use(&'a Use),
    Target(&'a Target),
    Root(&'a Root),
}

impl Job<'_> {
    fn block(&self) -> u64 {
        match self {
            Job::Use(job) => job.block,
            Job::Target(job) => job.block,
            Job::Root(job) => job.block,
        }
    }
}

impl Shared {
    /// After the sweep, when each worker has handed in. `claim(block, inode)` is called once for each attribute
    /// block in use, ascending, with the lowest inode that uses it: it is to mark the block as that inode's.
    /// Roots of indexes that begin one of the `runs` (ascending by place) are left to pass 2, which reads these.
    pub(crate) fn finish(
        self,
        volume: &Volume<'_>,
        runs: &[Run],
        claim: &mut dyn FnMut(u64, u32),
        log: &mut Log,
    ) -> Result<Attributes, Failure> {
        let mut handed = into_inner(self.handed);
        let uses = handed.pending.take_uses();
        for one in &uses {
            claim(one.block, one.ino);
        }
        let mut roots = Roots::default();
        let now = roots.take(std::mem::take(&mut handed.pending.roots), runs);
        let mut jobs: Vec<Job<'_>> = uses.iter().map(Job::Use).collect();
        jobs.extend(handed.pending.targets.iter().map(Job::Target));
        jobs.extend(now.iter().map(Job::Root));
        let bad = sweep(volume, jobs, &roots, &self.value_refs, log)?;
        handed.value_inodes.sort_unstable();
        handed.value_inodes.dedup();
        Ok(Attributes {
            value_refs: Some(self.value_refs),
            value_inodes: handed.value_inodes,
            policies: Policies::new(handed.ranges),
            bad,
            roots,
            values: self.values,
        })
    }
}

/// Reads all blocks that were asked for and judges what is in them; returns the damaged links.
fn sweep(
    volume: &Volume<'_>,
    mut jobs: Vec<Job<'_>>,
    roots: &Roots,
    value_refs: &LinkCounts,
    log: &mut Log,
) -> Result<Vec<u32>, Failure> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    jobs.sort_by_key(Job::block);
    let size = u64::from(volume.geometry.block_size);
    let spans = jobs.iter().enumerate().map(|(tag, job)| {
        let start = job.block().saturating_mul(size);
        Span {
            tag: tag as u64,
            range: start..start.saturating_add(size),
        }
    });
    let make = || Judge {
        volume,
        value_refs,
        roots,
        log: log.fork(),
        region: Region::default(),
        slot: Vec::new(),
        patched: Vec::new(),
        bad: Vec::new(),
    };
    let look = |judge: &mut Judge<'_>, piece: &Piece<'_>| judge.look(&jobs, piece, size);
    let judges = volume.sweep_watched(spans.collect(), make, look)?;
    let mut bad = Vec::new();
    for judge in judges {
        bad.extend(judge.bad);
        log.merge(judge.log);
    }
    bad.sort_unstable();
    Ok(bad)
}

/// One thread of the sweep.
struct Judge<'a> {
    volume: &'a Volume<'a>,
    value_refs: &'a LinkCounts,
    roots: &'a Roots,
    log: Log,
    region: Region,
    slot: Vec<u8>,
    patched: Vec<u8>,
    bad: Vec<u32>,
}

impl Judge<'_> {
    fn look(&mut self, jobs: &[Job<'_>], piece: &Piece<'_>, size: u64) {
        let Some(job) = jobs.get(piece.tag as usize) else {
            return;
        };
        // A block is never torn, but for the last one of a source that ends within it.
        let zeros;
        let block = match &piece.content {
            Content::Data(bytes) if bytes.len() as u64 == size => Some(*bytes),
            Content::Hole(len) if *len == size => {
                zeros = vec![0; size as usize];
                Some(zeros.as_slice())
            }
            _ => None,
        };
        self.log.stage(match job {
            Job::Use(_) => stage::ATTRIBUTES,
            Job::Target(_) => stage::FIELDS,
            Job::Root(_) => stage::INDEX,
        });
        match (job, block) {
            (Job::Use(one), Some(block)) => self.attributes(one, block),
            (Job::Target(link), Some(block)) => self.target(link, block),
            (Job::Root(root), block) => self.roots.judge(self.volume, root, block, &mut self.log),
            (Job::Use(one), None) => self.unreadable(one),
            (Job::Target(link), None) => self.bad.push(link.ino),
        }
    }

    fn target(&mut self, link: &Target, block: &[u8]) {
        if special::is_target(block, link.size, link.flags & flag::ENCRYPT != 0) {
            check_immutable(link.ino, link.flags, &mut self.log);
        } else {
            self.bad.push(link.ino);
        }
    }

    fn unreadable(&mut self, one: &Use) {
        let finding = Finding::new(&P1_READ_EA_BLOCK)
            .inode(one.ino)
            .block(one.block);
        self.log.add(finding.note("its attributes are not judged"));
        // The reference goes on with zeros, takes them for a wrong count of users, would repair that after the pass, and stops
        // because the block cannot be read then either.
        self.wrong_refcount(one, 0, false);
    }

    fn attributes(&mut self, one: &Use, block: &[u8]) {
        let word = |at: usize| -> u32 {
            let word = block.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.map_or(0, u32::from_le_bytes)
        };
        let (magic, refcount, blocks) = (word(0), word(4), word(8));
        let about = |problem| Finding::new(problem).inode(one.ino).block(one.block);
        if magic != MAGIC {
            let finding = about(&P1_BAD_EA_BLOCK).found(format!("{magic:#010x}"));
            self.log.add(finding.expected(format!("{MAGIC:#010x}")));
        }
        if blocks != 1 {
            let finding = about(&P1_EA_MULTI_BLOCK).found(blocks);
            self.log.add(finding.expected(1_u32));
        }
        let header_fits = magic == MAGIC && blocks == 1;
        let sum = match self.volume.seed {
            Some(seed) => xattr::checksum(block, one.block, seed).ok(),
            None => None,
        };
        let wrong_sum = sum.filter(|sum| header_fits && !sum.matches());
        self.entries(one, block, magic);
        if let Some(sum) = wrong_sum {
            self.log.add(
                about(&P1_EA_BLOCK_ONLY_CSUM_INVALID)
                    .found(format!("{:#010x}", sum.stored))
                    .expected(format!("{:#010x}", sum.computed)),
            );
        }
        if refcount != one.users {
            let readable = header_fits && wrong_sum.is_none();
            self.wrong_refcount(one, refcount, readable);
        }
    }

    /// The entries, read on past a wrong magic number, because the reference does.
    fn entries(&mut self, one: &Use, block: &[u8], magic: u32) {
        let mut patched = std::mem::take(&mut self.patched);
        let block = if magic == MAGIC {
            block
        } else {
            patched.clear();
            patched.extend_from_slice(block);
            if let Some(place) = patched.first_chunk_mut() {
                *place = MAGIC.to_le_bytes();
            }
            patched.as_slice()
        };
        let mut values = ValueJudge {
            volume: self.volume,
            owner: Owner {
                ino: one.ino,
                generation: None,
            },
            slot: &mut self.slot,
        };
        let mut found = Vec::new();
        list::judge_block(one.ino, block, &mut self.region, &mut values, &mut found);
        for finding in found {
            self.log.add(finding.block(one.block));
        }
        if let Ok(list) = List::of_block(block) {
            for named in list::named_inodes(block, list) {
                self.value_refs.add(slot_of(named), 1);
            }
        }
        self.patched = patched;
    }

    fn wrong_refcount(&mut self, one: &Use, refcount: u32, readable: bool) {
        // A count of 0 counts as too high: one below it is the largest number there is.
        let too_high = refcount == 0 || refcount > one.users;
        let order = if too_high { TOO_HIGH } else { TOO_LOW };
        let problem = if readable {
            &P1_EXTATTR_REFCOUNT
        } else {
            &P1_EXTATTR_READ_ABORT
        };
        let finding = Finding::new(problem)
            .block(one.block)
            .found(refcount)
            .expected(one.users)
            .order(order | one.block & (TOO_HIGH - 1));
        self.log.add(if readable {
            finding.note("h_refcount")
        } else {
            finding
        });
    }
}
