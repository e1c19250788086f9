//! Claims of clusters that are in use more than once, laid side by side.
//!
//! fsck.ocfs2 keeps a list of owners for each cluster. Ten thousand inodes that claim the same 65,535 clusters would be 655 million entries, and
//! as many comparisons as there are pairs. So claims are kept as runs; the clusters of a stretch in which no claim begins or ends have the same
//! owners, and are judged together. The first findings are made one by one, as many as are kept, and the others are counted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use ondisk::ocfs2::dinode::flag;
use ondisk::ocfs2::feature;

use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::cluster_set::ClusterSet;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    CLUSTERS_SHARED, CLUSTERS_SHARED_CHAIN, DUP_CLUSTERS_ADD_REFCOUNT, DUP_CLUSTERS_CLONE,
    DUP_CLUSTERS_DELETE, DUP_CLUSTERS_SYSFILE_CLONE,
};
use crate::ocfs2::volume::Volume;

/// Owners that a finding names.
const NAMED: usize = 32;
/// Claims between two questions whether to go on.
const CLAIMS: usize = 1 << 12;

/// An owner of a shared cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) inode: u64,
    pub(super) flags: u32,
    pub(super) refcounts: u64,
}

/// What the owner of a shared cluster is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
enum Kind {
    /// A chain allocator cannot be helped.
    Chain,
    /// A system file can be cloned.
    System,
    /// Any other file can be cloned or deleted.
    File,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Chain, Kind::System, Kind::File];

    fn problems(self) -> impl Iterator<Item = &'static Problem> {
        let (one, other): (&'static Problem, Option<&'static Problem>) = match self {
            Kind::Chain => (&CLUSTERS_SHARED_CHAIN, None),
            Kind::System => (&DUP_CLUSTERS_SYSFILE_CLONE, None),
            Kind::File => (&DUP_CLUSTERS_CLONE, Some(&DUP_CLUSTERS_DELETE)),
        };
        std::iter::once(one).chain(other)
    }
}

impl Owner {
    fn kind(&self) -> Kind {
        if self.flags & flag::CHAIN != 0 {
            Kind::Chain
        } else if self.flags & flag::SYSTEM != 0 {
            Kind::System
        } else {
            Kind::File
        }
    }
}

/// A run of clusters, and the number of the owner that claims it.
type Run = (u32, u32, u32);

/// All claims of clusters that others claim, too.
#[derive(Debug, Default)]
pub(super) struct Contest {
    /// In the order in which the scan meets them.
    owners: Vec<Owner>,
    /// Numbers of owners, by inode.
    numbers: BTreeMap<u64, u32>,
    runs: Vec<Run>,
}

impl Contest {
    /// Takes a claim.
    pub(super) fn take(&mut self, owner: Owner, clusters: Range<u32>) {
        let owners = &mut self.owners;
        let number = *self.numbers.entry(owner.inode).or_insert_with(|| {
            owners.push(owner);
            owners.len() as u32 - 1
        });
        self.runs.push((clusters.start, clusters.end, number));
    }

    /// Judges all clusters that have several owners.
    ///
    /// # Errors
    /// The check was cancelled, or outgrew its memory.
    pub(super) fn judge(
        mut self,
        volume: &Volume<'_>,
        shared: &ClusterSet,
        log: &mut Log,
    ) -> Result<(), Failure> {
        self.runs.sort_unstable();
        let keep = volume.options.keep as u64;
        let mut questions = Questions {
            volume,
            log,
            owners: &self.owners,
            clusters: keep,
            single: Kind::ALL.len() as u64 * keep,
        };
        let mut active = Active::default();
        let mut ends: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
        let mut begins = self.runs.iter().peekable();
        let (mut at, mut events) = (0, 0_usize);
        loop {
            if events.is_multiple_of(CLAIMS) {
                volume.go_on()?;
            }
            events += 1;
            let end = ends.peek().map(|Reverse((end, _))| *end);
            let begin = begins.peek().map(|run| run.0);
            let Some(to) = end.into_iter().chain(begin).min() else {
                return Ok(());
            };
            if active.owners.len() > 1 {
                for (first, end) in shared.runs(at..to) {
                    questions.stretch(first..end, &active);
                }
            }
            at = to;
            if end == Some(to) {
                if let Some(Reverse((_, number))) = ends.pop() {
                    active.remove(number, &self.owners[number as usize]);
                }
            } else if let Some(&(_, end, number)) = begins.next() {
                active.add(number, &self.owners[number as usize]);
                ends.push(Reverse((end, number)));
            }
        }
    }
}

/// The owners of a stretch of clusters.
#[derive(Debug, Default)]
struct Active {
    /// Claims of each, by number: an owner may claim a cluster twice.
    owners: BTreeMap<u32, u32>,
    /// Owners with each tree of reference counts.
    trees: BTreeMap<u64, u32>,
    /// Owners of each kind.
    kinds: [u64; 3],
    /// System files among them.
    system: u64,
}

impl Active {
    fn add(&mut self, number: u32, owner: &Owner) {
        let claims = self.owners.entry(number).or_default();
        *claims += 1;
        if *claims == 1 {
            self.kinds[owner.kind() as usize] += 1;
            self.system += u64::from(owner.flags & flag::SYSTEM != 0);
            if owner.refcounts != 0 {
                *self.trees.entry(owner.refcounts).or_default() += 1;
            }
        }
    }

    fn remove(&mut self, number: u32, owner: &Owner) {
        if release(&mut self.owners, &number) {
            self.kinds[owner.kind() as usize] -= 1;
            self.system -= u64::from(owner.flags & flag::SYSTEM != 0);
            if owner.refcounts != 0 {
                release(&mut self.trees, &owner.refcounts);
            }
        }
    }
}

/// Counts one less; whether it was the last.
fn release<K: Ord>(counts: &mut BTreeMap<K, u32>, key: &K) -> bool {
    let Some(count) = counts.get_mut(key) else {
        return false;
    };
    *count -= 1;
    let last = *count == 0;
    if last {
        counts.remove(key);
    }
    last
}

/// Asks the questions.
struct Questions<'a, 'v> {
    volume: &'a Volume<'v>,
    log: &'a mut Log,
    owners: &'a [Owner],
    /// Clusters that still have findings of their own.
    clusters: u64,
    /// Owners that still have findings of their own.
    single: u64,
}

impl Questions<'_, '_> {
    /// The questions about clusters with the same owners.
    fn stretch(&mut self, clusters: Range<u32>, active: &Active) {
        let count = u64::from(clusters.end - clusters.start);
        let single = count.min(self.clusters);
        self.clusters -= single;
        let rest = clusters.start + single as u32;
        for cluster in clusters.start..rest {
            self.reconcile(cluster, 1, active);
        }
        if rest < clusters.end {
            self.reconcile(rest, count - single, active);
        }
    }

    /// The questions about a cluster, which represents `times` clusters with the same owners.
    fn reconcile(&mut self, cluster: u32, times: u64, active: &Active) {
        let block = self.volume.layout.block_of(cluster.into());
        let owners = || {
            let numbers = active.owners.keys();
            numbers.map(|number| &self.owners[*number as usize])
        };
        let names: Vec<String> = owners()
            .take(NAMED)
            .map(|owner| owner.inode.to_string())
            .collect();
        let more = match active.owners.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let found = format!("inodes {}{more}", names.join(", "));
        let finding = Finding::new(&CLUSTERS_SHARED).block(block);
        self.log.add_times(finding.found(found), times);
        let has_trees = self.volume.sb.has_incompat(feature::REFCOUNT);
        if has_trees && active.system == 0 && active.trees.len() < 2 {
            let finding = Finding::new(&DUP_CLUSTERS_ADD_REFCOUNT).block(block);
            self.log.add_times(finding, times);
        }
        let mut left = active.kinds;
        if times == 1 {
            for owner in owners().take(usize::try_from(self.single).unwrap_or(usize::MAX)) {
                self.single -= 1;
                left[owner.kind() as usize] -= 1;
                for problem in owner.kind().problems() {
                    let finding = Finding::new(problem).inode(owner.inode).block(block);
                    self.log.add(finding);
                }
            }
        }
        for kind in Kind::ALL {
            for problem in kind.problems() {
                let finding = Finding::new(problem).block(block);
                self.log
                    .add_times(finding, left[kind as usize].saturating_mul(times));
            }
        }
    }
}
