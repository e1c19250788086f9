//! Passes 1B to 1D: who are the ones that claim the same blocks?
//!
//! Pass 1 only knows that a cluster was claimed twice. So the inode tables are read once more, and every inode is asked for the contested
//! clusters it has (1B); then claims are laid side by side, and those that overlap make a file one of several owners (1D). Names
//! (1C) are put in at the end like those of all findings.
//!
//! Claims are kept as runs of clusters, not one by one, because what is contested is mostly a whole file. A cluster that a
//! million inodes claim makes a million claims, and no million squared of pairs: of each file only the first partners are reported.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

use blockio::{Content, Piece};
use ondisk::ext4::Inode;
use ondisk::ext4::inode::number;

use super::iterate::iterate;
use super::map::Role;
use super::maps::Maps;
use super::metadata::Metadata;
use super::plan;
use super::walk::has_blocks;
use super::worker;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P1B_BLOCK_ITERATE, P1B_DUP_BLOCK, P1B_DUP_RANGE, P1B_ISCAN_ERROR, P1D_CLONE_QUESTION,
    P1D_DELETE_QUESTION, P1D_DUP_BLOCKS_DEALT, P1D_DUP_FILE, P1D_DUP_FILE_LIST, P1D_NUM_DUP_INODES,
    P1D_SHARE_METADATA,
};
use crate::ext4::e2fsck::stops;
use crate::ext4::inode_set::InodeSet;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::prefetch::Prefetch;
use crate::frame::sweep::Crew;

/// Partners of a file that are reported.
const PARTNERS: usize = 32;

/// Contested clusters that an inode has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Claim {
    clusters: Range<u64>,
    ino: u32,
}

/// Finds them in one thread.
struct Tracer<'a> {
    maps: &'a Maps<'a>,
    on_bad_blocks: &'a InodeSet,
    nodes: Prefetch<'a>,
    claims: Vec<Claim>,
    log: Log,
}

/// What e2fsck remembers from block to block of one inode.
#[derive(Clone, Copy)]
struct Trace {
    logical_cluster: u64,
    cluster: u64,
    /// The run of contested blocks that is being reported.
    reporting: Option<(u64, u64)>,
}

/// Traces all contested clusters to their owners. The reference stops at the first of the `bad_checksum`.
///
/// # Errors
/// There is no queue, or the check was stopped.
pub(super) fn run(
    maps: &Maps<'_>,
    on_bad_blocks: &InodeSet,
    bad_checksum: &[u32],
    log: &mut Log,
) -> Result<(), Failure> {
    let volume = maps.volume;
    if let Some(first) = bad_checksum.iter().min() {
        let finding = Finding::new(&P1B_ISCAN_ERROR).inode(*first);
        let note = "the checksum of the inode is wrong, and the reference does not read on";
        log.add(finding.note(note));
    }
    if let Some(end) = stops::at_short_bitmaps(&volume.geometry) {
        log.add(end.raised_with(&P1D_NUM_DUP_INODES));
    }
    let mut tracers = trace(maps, on_bad_blocks, Crew::All, log)?;
    // What is left out is not to depend on the threads.
    if maps.is_overdrawn() && volume.options.threads > 1 {
        drop(tracers);
        tracers = trace(maps, on_bad_blocks, Crew::Alone, log)?;
    }
    let mut claims = Vec::new();
    for mut tracer in tracers {
        claims.append(&mut tracer.claims);
        log.merge(tracer.log);
    }
    volume.guard.hold()?;
    let contest = Contest::of(&maps.metadata, claims, || volume.guard.is_full());
    volume.guard.hold()?;
    report(&contest, maps, log);
    Ok(())
}

/// Asks all inodes.
fn trace<'a>(
    maps: &'a Maps<'a>,
    on_bad_blocks: &'a InodeSet,
    crew: Crew,
    log: &Log,
) -> Result<Vec<Tracer<'a>>, Failure> {
    maps.refill();
    let spans = plan::spans(maps.volume, &mut log.fork());
    let make = || Tracer {
        maps,
        on_bad_blocks,
        nodes: worker::nodes(maps.volume),
        claims: Vec::new(),
        log: log.fork(),
    };
    maps.volume.sweeper().run(crew, spans, make, Tracer::take)
}

impl Tracer<'_> {
    fn take(&mut self, piece: &Piece<'_>) {
        let geometry = &self.maps.volume.geometry;
        let group = piece.tag as u32;
        let Some(table) = plan::table(self.maps.volume, group) else {
            return;
        };
        let Content::Data(bytes) = piece.content else {
            return;
        };
        let size = usize::from(geometry.inode_size);
        let start = piece.offset - table.first_block * u64::from(geometry.block_size);
        let before = (start / size as u64) as u32;
        let first = group * geometry.inodes_per_group + before + 1;
        let left = table.inodes.saturating_sub(before) as usize;
        for (ino, slot) in (first..).zip(bytes.chunks_exact(size).take(left)) {
            let used = ino == number::BAD || self.maps.used.get(u64::from(ino) - 1);
            if !used || self.on_bad_blocks.contains(ino) {
                continue;
            }
            if self.maps.volume.guard.is_full() {
                return;
            }
            if let Ok(inode) = Inode::read(slot, geometry.inode_size) {
                self.trace(ino, &inode);
            }
        }
    }

    /// Notes the contested clusters of an inode.
    fn trace(&mut self, ino: u32, inode: &Inode<'_>) {
        let mut trace = Trace {
            logical_cluster: u64::MAX,
            cluster: u64::MAX,
            reporting: None,
        };
        let mut found = Found {
            maps: self.maps,
            ino,
            claims: &mut self.claims,
            log: &mut self.log,
        };
        if has_blocks(inode, inode.file_type()) || ino == number::BAD {
            let stuck = iterate(
                self.maps,
                &mut self.nodes,
                ino,
                inode,
                &mut |role, block, len| {
                    found.take(&mut trace, role, block, len);
                },
            );
            if let Some(stuck) = stuck {
                let finding = Finding::new(&P1B_BLOCK_ITERATE).inode(ino);
                found.log.add(finding.note(stuck.to_string()));
            }
        }
        let attributes = self.maps.volume.attribute_block(inode);
        if attributes != 0 {
            found.take(&mut trace, Role::Node(5), attributes, 1);
        }
        found.report_run(&mut trace);
    }
}

/// Where a trace leaves what it finds.
struct Found<'f, 'a> {
    maps: &'f Maps<'a>,
    ino: u32,
    claims: &'f mut Vec<Claim>,
    log: &'f mut Log,
}

impl Found<'_, '_> {
    fn take(&mut self, trace: &mut Trace, role: Role, block: u64, len: u64) {
        let ratio = self.maps.ratio;
        let end = block.saturating_add(len);
        let logical = |block_of_run: u64| match role {
            Role::Data(logical) => (logical + (block_of_run - block)) / ratio,
            Role::Node(_) => u64::MAX,
        };
        let inside = block..end.min(self.maps.volume.geometry.blocks_count);
        let look = self.maps.contested(inside.clone()) > 0 && self.may_look(&inside);
        if !look {
            if len > 0 {
                trace.logical_cluster = logical(end - 1);
                trace.cluster = (end - 1) / ratio;
            }
            return;
        }
        for block in inside {
            if let Some(cluster) = self.maps.cluster(block)
                && self.maps.shared.get(cluster)
            {
                self.tell_block(trace, block);
                let crossed =
                    logical(block) != trace.logical_cluster || block / ratio != trace.cluster;
                if matches!(role, Role::Node(_)) || crossed {
                    self.note(cluster);
                }
            }
            trace.logical_cluster = logical(block);
            trace.cluster = block / ratio;
        }
    }

    /// Whether each block of these is to be looked at. Ordinary damage has a few files that share a few blocks; trees whose extents all
    /// name the whole filesystem would take years, and nothing more would be learned from them.
    fn may_look(&self, blocks: &Range<u64>) -> bool {
        let many = self.claims.len() >= 1 << 16;
        let full = many && self.maps.volume.guard.is_full();
        !full && self.maps.may_look(blocks.end.saturating_sub(blocks.start))
    }

    fn note(&mut self, cluster: u64) {
        if let Some(last) = self.claims.last_mut()
            && last.ino == self.ino
            && last.clusters.end == cluster
        {
            last.clusters.end += 1;
            return;
        }
        self.claims.push(Claim {
            clusters: cluster..cluster + 1,
            ino: self.ino,
        });
    }

    fn tell_block(&mut self, trace: &mut Trace, block: u64) {
        match &mut trace.reporting {
            Some((_, last)) if *last + 1 == block => *last = block,
            // e2fsck begins each inode after block 0, so block 1 as the first is a range from there.
            None if block == 1 => trace.reporting = Some((0, 1)),
            _ => {
                self.report_run(trace);
                trace.reporting = Some((block, block));
            }
        }
    }

    /// Reports a run of contested blocks of this inode.
    fn report_run(&mut self, trace: &mut Trace) {
        let Some((first, last)) = trace.reporting.take() else {
            return;
        };
        if self.ino == number::BAD {
            return;
        }
        let finding = if first == last {
            Finding::new(&P1B_DUP_BLOCK)
        } else {
            Finding::new(&P1B_DUP_RANGE)
                .found(format!("{first}-{last}"))
                .blocks(last - first + 1)
        };
        self.log.add(finding.inode(self.ino).block(first));
    }
}

/// One file that has contested clusters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Party {
    clusters: u64,
    /// Others that claim the same; some of them.
    partners: BTreeSet<u32>,
    /// Some of the clusters are the filesystem's own.
    metadata: bool,
    /// Another file claims one of them.
    contested: bool,
}

/// All of them, by inode.
struct Contest(BTreeMap<u32, Party>);

impl Contest {
    /// Lays all claims side by side, until there is no more room for what comes of it.
    fn of(metadata: &Metadata, mut claims: Vec<Claim>, is_full: impl Fn() -> bool) -> Contest {
        claims.sort_unstable_by_key(|claim| (claim.clusters.start, claim.ino));
        let mut parties: BTreeMap<u32, Party> = BTreeMap::new();
        // Those that extend past the start of this one, and the one of them that is not contested yet.
        let mut open: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        let mut quiet: Option<u32> = None;
        for (nth, Claim { clusters, ino }) in claims.into_iter().enumerate() {
            if nth.is_multiple_of(1 << 14) && is_full() {
                break;
            }
            while let Some(Reverse((end, _))) = open.peek()
                && *end <= clusters.start
            {
                open.pop();
            }
            let party = parties.entry(ino).or_default();
            party.clusters += clusters.end - clusters.start;
            party.metadata |= metadata.has_clusters(&clusters);
            if open.is_empty() {
                quiet = Some(ino);
            } else {
                party.contested = true;
                if let Some(quiet) = quiet.take() {
                    parties.entry(quiet).or_default().contested = true;
                }
                for Reverse((_, other)) in open.iter().take(PARTNERS).filter(|open| open.0.1 != ino)
                {
                    for (one, two) in [(ino, *other), (*other, ino)] {
                        let partners = &mut parties.entry(one).or_default().partners;
                        if partners.len() < PARTNERS {
                            partners.insert(two);
                        }
                    }
                }
            }
            open.push(Reverse((clusters.end, ino)));
        }
        Contest(parties)
    }
}

/// Reports every file, as pass 1D goes through them.
fn report(contest: &Contest, maps: &Maps<'_>, log: &mut Log) {
    let first = maps.volume.sb.first_ino();
    let named = |ino: &&u32| **ino >= first || **ino == number::ROOT;
    let count = contest.0.keys().filter(named).count() as u64;
    log.add(Finding::new(&P1D_NUM_DUP_INODES).order(0).found(count));
    let untraced = maps.untraced();
    if untraced > 0 {
        let note = format!(
            "mappings claim what others claim again and again: of {untraced} more claims the owners were not looked for"
        );
        let finding = Finding::new(&P1D_DUP_FILE).order(0).note(note);
        log.add(finding.beyond_reference());
    }
    let mut metadata_seen = false;
    for (ino, party) in &contest.0 {
        if [number::BAD, number::RESIZE].contains(ino) {
            continue;
        }
        let list: Vec<String> = party.partners.iter().map(u32::to_string).collect();
        let finding = Finding::new(&P1D_DUP_FILE)
            .inode(*ino)
            .found(party.clusters);
        log.add(if list.is_empty() {
            finding
        } else {
            finding.note(format!("shared with inodes {}", list.join(", ")))
        });
        if party.metadata {
            log.add(Finding::new(&P1D_SHARE_METADATA).inode(*ino));
        }
        for partner in &party.partners {
            let finding = Finding::new(&P1D_DUP_FILE_LIST).inode(*partner);
            log.add(finding.order((*ino).into()));
        }
        // Only after a file that has metadata among its blocks does the reference check whether the blocks of the next ones are still claimed.
        let dealt = metadata_seen && !party.contested && !party.metadata;
        metadata_seen |= party.metadata;
        if dealt {
            log.add(Finding::new(&P1D_DUP_BLOCKS_DEALT).inode(*ino));
        } else {
            log.add(Finding::new(&P1D_CLONE_QUESTION).inode(*ino));
            log.add(Finding::new(&P1D_DELETE_QUESTION).inode(*ino));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(clusters: Range<u64>, ino: u32) -> Claim {
        Claim { clusters, ino }
    }

    #[test]
    fn claims_that_overlap_make_partners() {
        let contest = Contest::of(
            &Metadata::default(),
            vec![
                claim(10..20, 12),
                claim(15..16, 13),
                claim(19..30, 14),
                claim(40..41, 15),
                claim(50..51, 16),
                claim(50..51, 16),
            ],
            || false,
        );
        let partners = |ino: u32| contest.0[&ino].partners.iter().copied().collect::<Vec<_>>();
        assert_eq!(partners(12), [13, 14]);
        assert_eq!(partners(13), [12]);
        assert_eq!(partners(14), [12]);
        assert!(partners(15).is_empty() && !contest.0[&15].contested);
        assert!(
            partners(16).is_empty() && contest.0[&16].contested,
            "twice in one file"
        );
        assert!([12, 13, 14].iter().all(|ino| contest.0[ino].contested));
        assert_eq!(contest.0[&14].clusters, 11);
    }

    #[test]
    fn a_crowd_is_no_square() {
        let claims = (0..200_000).map(|ino| claim(7..8, ino + 11)).collect();
        let contest = Contest::of(&Metadata::default(), claims, || false);
        assert_eq!(contest.0.len(), 200_000);
        assert!(contest.0.values().all(|party| party.contested));
        let most = contest.0.values().map(|party| party.partners.len()).max();
        assert_eq!(most, Some(PARTNERS));
    }
}
