//! One thread's findings and lists while it judges: the sink of phases 3 and 6.

use ondisk::xfs::directory::file_type;

use super::claims::{self, FileExtent, Owner};
use super::directories::Gathered;
use super::named::NamedRun;
use super::rules::{Fork, Rules};
use super::sink::{Claim, Name, Sink};
use super::state::State;
use super::types::kind;
use super::xfs_repair::log::Log;
use super::xfs_repair::problems::{
    DIR_ENT_FREE, DIR_ENT_UNLISTED, DIR_FTYPE, DIR_LOSTFOUND, DIR_SF_FREE, DIR_SF_LOSTFOUND,
    DIR_SF_UNLISTED, RTEXT_STATE, RTEXT_USED,
};
use crate::Problem;
use crate::frame::finding::Finding;
use crate::frame::maps::Batch;

/// What a thread has found and not yet shared.
pub(crate) struct Worker<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) state: &'a State,
    pub(crate) log: Log,
    /// Names that were counted.
    batch: Box<Batch>,
    /// Extents that are not taken yet.
    claims: claims::Batch,
    /// Blocks to be read in phase 6.
    pub(crate) named: Vec<NamedRun>,
    /// What is joined with that of other threads.
    pub(crate) gathered: Gathered,
    /// Whether all inodes are judged, so that a name is compared with what it leads to.
    pub(crate) final_types: bool,
    /// The inodes of the chunk that the last name led to, and the rank of the first.
    chunk: (u64, u64),
    /// Whether nothing but claims is wanted.
    pub(crate) claims_only: bool,
    /// How many objects alike the one that is judged represents.
    pub(crate) times: u64,
}

impl<'a> Worker<'a> {
    /// A worker with a log like this one.
    pub(crate) fn new(rules: &'a Rules, state: &'a State, log: &Log, final_types: bool) -> Self {
        Worker {
            rules,
            state,
            log: log.fork(),
            batch: Box::new(Batch::new()),
            claims: claims::Batch::new(),
            named: Vec::new(),
            gathered: Gathered::default(),
            final_types,
            chunk: (u64::MAX, 0),
            claims_only: state.is_second(),
            times: 1,
        }
    }

    /// Shares the lists when they are long enough, so that memory is bounded by what is kept anyway.
    pub(crate) fn hand_over(&mut self) {
        self.state.named.add(&mut self.named);
        self.state.directories.gathered().take(&mut self.gathered);
    }

    /// Shares everything, and gives the findings.
    pub(crate) fn finish(mut self) -> Log {
        self.hand_over();
        self.share_claims();
        self.batch.finish(&self.state.names);
        self.log
    }

    /// Takes the extents that were put off.
    pub(crate) fn share_claims(&mut self) {
        self.claims.share(&self.state.claims);
    }

    /// One more name for an inode.
    pub(crate) fn count(&mut self, rank: u64) {
        if !self.claims_only {
            self.batch.add(&self.state.names, rank);
        }
    }

    /// The rank of an inode. The names of a directory mostly lead to one chunk after the other.
    pub(crate) fn rank(&mut self, ino: u64) -> Option<u64> {
        let (first, rank) = self.chunk;
        if let Some(index) = ino.checked_sub(first).filter(|index| *index < 64) {
            return Some(rank + index);
        }
        let rank = self.state.chunks.rank(ino)?;
        let index = rank % 64;
        // Inodes in a hole have a rank of their own too, so the chunk is kept only where it has none.
        let whole = self
            .state
            .chunks
            .chunk(rank)
            .is_some_and(|(_, chunk, _)| chunk.holes == 0);
        if whole {
            self.chunk = (ino - index, rank - index);
        }
        Some(rank)
    }

    /// What a name leads to is known: it is compared.
    fn settled(&mut self, name: &Name<'_>, rank: u64, found: u8) {
        let local = name.place.is_none();
        if matches!(found, kind::FREE | kind::CLEARED) {
            self.find(name.about(if local { &DIR_SF_FREE } else { &DIR_ENT_FREE }));
            return;
        }
        if found != kind::UNKNOWN && self.rules.geometry.ftype && found != name.kind {
            let finding = name.about(&DIR_FTYPE).found(u64::from(name.kind));
            self.find(finding.expected(u64::from(found)));
        }
        if name.directory == self.rules.root
            && name.name == b"lost+found"
            && found != file_type::DIRECTORY
            && found != kind::UNKNOWN
        {
            self.find(name.about(if local {
                &DIR_SF_LOSTFOUND
            } else {
                &DIR_LOSTFOUND
            }));
            return;
        }
        if found == file_type::DIRECTORY
            && let Some(directory) = self.rank(name.directory)
        {
            self.gathered.children.push((rank, directory));
        }
        self.count(rank);
    }

    /// Judges a name of a directory in its inode again, when all inodes are judged: what it leads to, not the counts.
    pub(crate) fn again(&mut self, name: &Name<'_>) {
        let Some(rank) = self.rank(name.ino) else {
            return;
        };
        let found = self.state.types.get(rank);
        if matches!(found, kind::FREE | kind::CLEARED) {
            self.find(name.about(&DIR_SF_FREE));
            return;
        }
        if found == kind::UNKNOWN {
            return;
        }
        if self.rules.geometry.ftype && found != name.kind {
            let finding = name.about(&DIR_FTYPE).found(u64::from(name.kind));
            self.find(finding.expected(u64::from(found)));
        }
        if name.directory == self.rules.root
            && name.name == b"lost+found"
            && found != file_type::DIRECTORY
        {
            self.find(name.about(&DIR_SF_LOSTFOUND));
        }
    }
}

impl Sink for Worker<'_> {
    fn find(&mut self, finding: Finding) {
        if !self.claims_only {
            self.log.add_times(finding, self.times);
        }
    }

    fn claim(&mut self, claim: &Claim) {
        let owner = Owner {
            ino: claim.ino,
            attr: claim.fork == Fork::Attr,
            regular: claim.regular,
            shares: claim.flagged,
        };
        let extent = FileExtent {
            owner,
            fsblock: claim.block,
            length: claim.count as u32,
            offset: claim.offset,
            unwritten: claim.unwritten,
            bmbt: claim.tree,
        };
        self.claims.add(&self.state.claims, extent);
    }

    /// A realtime extent that is written in part has two records, and is taken by the first.
    fn claim_realtime(&mut self, claim: &Claim) -> Option<&'static Problem> {
        if self.claims_only {
            return None;
        }
        let unit = self.rules.rt_extent;
        let (first, last) = (claim.block / unit, (claim.block + claim.count - 1) / unit);
        let whole = claim.block.div_ceil(unit);
        if first < whole && !self.state.realtime.is_taken(first) {
            return Some(&RTEXT_STATE);
        }
        let sole = whole > last || self.state.realtime.take(whole, last - whole + 1);
        (!sole).then_some(&RTEXT_USED)
    }

    fn name(&mut self, name: &Name<'_>) {
        if self.claims_only {
            return;
        }
        let Some(rank) = self.rank(name.ino) else {
            let local = name.place.is_none();
            self.find(name.about(if local {
                &DIR_SF_UNLISTED
            } else {
                &DIR_ENT_UNLISTED
            }));
            return;
        };
        if self.final_types {
            self.settled(name, rank, self.state.types.get(rank));
            return;
        }
        // Another thread may be judging the inode: the entry's type is left for it to compare.
        let is_type = (file_type::REGULAR..=file_type::WHITEOUT).contains(&name.kind);
        let noted = if is_type { name.kind } else { 0 };
        let (found, before) = self.state.types.note(rank, noted);
        let disagrees = |other: u8| !is_type || other != 0 && other != name.kind;
        let lost_found = name.directory == self.rules.root && name.name == b"lost+found";
        let doubtful = matches!(found, kind::FREE | kind::CLEARED)
            || lost_found
            || self.rules.geometry.ftype && (disagrees(found) || disagrees(before));
        let to_directory = !self.rules.geometry.ftype || name.kind == file_type::DIRECTORY;
        if (doubtful || to_directory)
            && let Some(directory) = self.rank(name.directory)
        {
            if doubtful {
                self.gathered.questions.push(directory);
            }
            if to_directory {
                self.gathered.children.push((rank, directory));
            }
        }
        self.count(rank);
    }

    fn lsn(&mut self, lsn: u64) {
        self.state.lsn.take(lsn);
    }
}
