//! The inode chunks of all allocation groups, and dense numbers for their inodes.
//!
//! An inode number has 64 bits and most numbers do not exist. Maps by inode are indexed by *rank*: 64 times the number of chunks before
//! it, plus the place in its chunk. Ranks ascend with inode numbers.

use ondisk::xfs::Geometry;
use ondisk::xfs::geometry::CHUNK;

/// An inode chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Chunk {
    /// First inode, within the allocation group.
    pub(crate) start: u32,
    /// A bit for each four inodes that do not exist.
    pub(crate) holes: u16,
    /// A bit for each inode that is free, the first lowest.
    pub(crate) free: u64,
}

impl Chunk {
    /// A bit for each inode that does not exist.
    pub(crate) fn hole_bits(&self) -> u64 {
        (0..16).fold(0, |bits, at| {
            bits | (u64::from(self.holes >> at & 1) * (0xf << (4 * at)))
        })
    }

    /// A bit for each inode in use.
    pub(crate) fn used(&self) -> u64 {
        !(self.free | self.hole_bits())
    }
}

/// The chunks of an allocation group.
#[derive(Debug, Default)]
struct Group {
    /// Chunks in the groups before.
    before: u64,
    starts: Vec<u32>,
    holes: Vec<u16>,
    free: Vec<u64>,
}

/// All chunks.
#[derive(Debug)]
pub(crate) struct Chunks {
    geo: Geometry,
    groups: Vec<Group>,
    count: u64,
}

impl Chunks {
    /// The table of these chunks: of each allocation group, ascending and without overlaps.
    pub(crate) fn new(geo: &Geometry, lists: Vec<Vec<Chunk>>) -> Chunks {
        let mut count = 0;
        let groups = lists.into_iter().map(|list| {
            let before = count;
            count += list.len() as u64;
            Group {
                before,
                starts: list.iter().map(|chunk| chunk.start).collect(),
                holes: list.iter().map(|chunk| chunk.holes).collect(),
                free: list.iter().map(|chunk| chunk.free).collect(),
            }
        });
        Chunks {
            geo: *geo,
            groups: groups.collect(),
            count,
        }
    }

    /// Bytes of each allocation group, but for its chunks.
    pub(crate) fn group_memory() -> u64 {
        (size_of::<Group>() + size_of::<Vec<Chunk>>()) as u64
    }

    /// Ranks: 64 times the number of chunks.
    pub(crate) fn ranks(&self) -> u64 {
        self.count * u64::from(CHUNK)
    }

    /// The chunks of an allocation group, with the rank of the first inode of each.
    pub(crate) fn of_group(&self, ag: u32) -> impl Iterator<Item = (u64, Chunk)> + '_ {
        let group = self.groups.get(ag as usize);
        group.into_iter().flat_map(|group| {
            (0..group.starts.len()).map(|at| {
                let rank = (group.before + at as u64) * u64::from(CHUNK);
                (rank, group.chunk(at))
            })
        })
    }

    /// Whether a chunk of an allocation group has an inode of this range.
    pub(crate) fn has_any(&self, ag: u32, inodes: std::ops::Range<u64>) -> bool {
        let starts = self
            .groups
            .get(ag as usize)
            .map_or(&[][..], |group| group.starts.as_slice());
        // Chunks do not overlap: the last that begins before the end of the range reaches furthest.
        let at = starts.partition_point(|start| u64::from(*start) < inodes.end);
        at.checked_sub(1)
            .is_some_and(|at| u64::from(starts[at]) + u64::from(CHUNK) > inodes.start)
    }

    /// The rank of an inode; none where no chunk has it, or where it is in a hole.
    pub(crate) fn rank(&self, ino: u64) -> Option<u64> {
        let ag = usize::try_from(self.geo.ino_ag(ino)).ok()?;
        let agino = self.geo.agino_of(ino);
        let group = self.groups.get(ag)?;
        let at = group.starts.partition_point(|start| *start <= agino);
        let at = at.checked_sub(1)?;
        let index = agino - group.starts[at];
        let exists = index < CHUNK && group.holes[at] >> (index / 4) & 1 == 0;
        exists.then(|| (group.before + at as u64) * u64::from(CHUNK) + u64::from(index))
    }

    /// The chunk of a rank, and the place of the inode in it; none past the end.
    pub(crate) fn chunk(&self, rank: u64) -> Option<(u32, Chunk, u32)> {
        let number = rank / u64::from(CHUNK);
        let ag = self
            .groups
            .partition_point(|group| group.before <= number)
            .checked_sub(1)?;
        let group = &self.groups[ag];
        let at = usize::try_from(number - group.before).ok()?;
        if at >= group.starts.len() {
            return None;
        }
        Some((ag as u32, group.chunk(at), (rank % u64::from(CHUNK)) as u32))
    }

    /// The inode of a rank; [`ondisk::xfs::geometry::NULL_INO`] past the end.
    pub(crate) fn ino(&self, rank: u64) -> u64 {
        self.chunk(rank).map_or(u64::MAX, |(ag, chunk, index)| {
            self.geo.ino(ag, chunk.start.saturating_add(index))
        })
    }

    /// Whether the inode btree has it free.
    pub(crate) fn is_free(&self, rank: u64) -> bool {
        self.chunk(rank)
            .is_none_or(|(_, chunk, index)| chunk.free >> index & 1 == 1)
    }
}

impl Group {
    fn chunk(&self, at: usize) -> Chunk {
        Chunk {
            start: self.starts[at],
            holes: self.holes[at],
            free: self.free[at],
        }
    }
}
