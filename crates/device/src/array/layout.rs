//! Where a chunk of an array is.
//!
//! The layouts are those of Linux md and LVM: RAID-5 left-symmetric, RAID-6 with Q after P, RAID-10 near with two copies.

use super::parity::RowWrite;

/// How chunks are spread over members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped, by md or by LVM.
    Raid0,
    /// Each member has all.
    Raid1,
    /// Rotating parity.
    Raid5,
    /// Two rotating parities.
    Raid6,
    /// Two copies of each chunk on neighbouring members.
    Raid10,
    /// One member after the other: a volume of LVM that is not striped.
    Linear,
}

impl Level {
    /// All.
    const ALL: [Level; 6] = [
        Level::Raid0,
        Level::Raid1,
        Level::Raid5,
        Level::Raid6,
        Level::Raid10,
        Level::Linear,
    ];

    /// From its number or name.
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Its number; where it has none, its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Raid0 => "0",
            Level::Raid1 => "1",
            Level::Raid5 => "5",
            Level::Raid6 => "6",
            Level::Raid10 => "10",
            Level::Linear => "linear",
        }
    }

    /// Fewest members.
    pub fn fewest_members(self) -> usize {
        match self {
            Level::Raid0 | Level::Linear => 1,
            Level::Raid1 | Level::Raid10 => 2,
            Level::Raid5 => 3,
            Level::Raid6 => 4,
        }
    }

    /// Parity chunks in a row.
    pub fn parities(self) -> usize {
        match self {
            Level::Raid5 => 1,
            Level::Raid6 => 2,
            Level::Raid0 | Level::Raid1 | Level::Raid10 | Level::Linear => 0,
        }
    }

    /// How many members may fail.
    pub fn redundancy(self, members: usize) -> usize {
        match self {
            Level::Raid0 | Level::Linear => 0,
            Level::Raid1 => members.saturating_sub(1),
            Level::Raid5 | Level::Raid10 => 1,
            Level::Raid6 => 2,
        }
    }

    pub(crate) fn has_parity(self) -> bool {
        self.parities() > 0
    }
}

/// A range of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which member, from 0.
    pub member: usize,
    /// First byte on it.
    pub address: u64,
    /// Bytes.
    pub len: u64,
}

/// The mapping of an array.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The level.
    pub level: Level,
    /// Chunk in bytes, less than 4 GiB; without meaning for [`Level::Raid1`] and [`Level::Linear`].
    pub chunk: u64,
    /// Number of members.
    pub members: usize,
    /// Bytes used of each member, a multiple of the chunk; without meaning for [`Level::Linear`].
    pub member_size: u64,
    /// For [`Level::Linear`]: the byte of the array after the last of each member.
    pub ends: Vec<u64>,
    /// Members that have failed.
    pub failed: Vec<usize>,
    /// Bytes at the start of these that have been rebuilt.
    pub rebuilt: u64,
}

impl Layout {
    /// Data chunks in a row.
    pub fn data_chunks(&self) -> u64 {
        (self.members - self.level.parities()) as u64
    }

    /// Bytes of the array.
    pub fn capacity(&self) -> u64 {
        match self.level {
            Level::Linear => self.ends.last().copied().unwrap_or(0),
            Level::Raid1 => self.member_size,
            Level::Raid10 => self.member_size / self.chunk * self.members as u64 / 2 * self.chunk,
            Level::Raid0 | Level::Raid5 | Level::Raid6 => self.data_chunks() * self.member_size,
        }
    }

    /// Whether what a member has at an address is lost.
    pub fn is_lost(&self, member: usize, address: u64) -> bool {
        self.failed.contains(&member) && address >= self.rebuilt
    }

    /// The member of the first parity of a row.
    fn parity(&self, row: u64) -> usize {
        self.members - 1 - (row % self.members as u64) as usize
    }

    /// The member of the k-th data chunk of a row.
    pub fn data_member(&self, row: u64, k: u64) -> usize {
        let parities = self.level.parities();
        if parities == 0 {
            return k as usize;
        }
        (self.parity(row) + parities + k as usize) % self.members
    }

    /// The members of the parities of a row: P, then Q.
    pub fn parity_members(&self, row: u64) -> impl Iterator<Item = usize> {
        let (p, members) = (self.parity(row), self.members);
        (0..self.level.parities()).map(move |i| (p + i) % members)
    }

    /// The two copies of a chunk of RAID-10 as (member, row).
    fn copies(&self, chunk: u64) -> [(usize, u64); 2] {
        let members = self.members as u64;
        [2 * chunk, 2 * chunk + 1].map(|slot| ((slot % members) as usize, slot / members))
    }

    /// Where RAID-10 has the other copy of what a member has in a row: (member, row).
    pub(super) fn other_copy(&self, member: usize, row: u64) -> (usize, u64) {
        let members = self.members as u64;
        let slot = (row * members + member as u64) ^ 1;
        ((slot % members) as usize, slot / members)
    }

    /// Splits a range into (chunk number, first byte in the chunk, length).
    fn chunks(&self, offset: u64, len: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        let (chunk, end) = (self.chunk, offset + len);
        let mut at = offset;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (number, rest) = (at / chunk, at % chunk);
            let len = (chunk - rest).min(end - at);
            at += len;
            Some((number, rest, len))
        })
    }

    /// Adds the member ranges that a read takes. `heads` are the ends of the last request to each member: of
    /// two copies the nearer is read.
    pub fn read(&self, offset: u64, len: u64, heads: &[u64], parts: &mut Vec<Part>) {
        if len == 0 {
            return parts.push(self.anywhere());
        }
        if self.level == Level::Linear {
            return self.along(offset, len, parts);
        }
        let nearest = |copies: &mut dyn Iterator<Item = (usize, u64)>| {
            copies
                .filter(|copy| !self.is_lost(copy.0, copy.1))
                .min_by_key(|copy| heads.get(copy.0).map_or(u64::MAX, |h| h.abs_diff(copy.1)))
        };
        if self.level == Level::Raid1 {
            let mut copies = (0..self.members).map(|member| (member, offset));
            let from = nearest(&mut copies);
            parts.extend(from.map(|(member, address)| Part {
                member,
                address,
                len,
            }));
            return;
        }
        for (number, rest, len) in self.chunks(offset, len) {
            if self.level == Level::Raid10 {
                let copies = self.copies(number);
                let mut copies = copies.iter().map(|c| (c.0, c.1 * self.chunk + rest));
                if let Some((member, address)) = nearest(&mut copies) {
                    join(parts, member, address, len);
                }
                continue;
            }
            let (row, k) = (number / self.data_chunks(), number % self.data_chunks());
            let (member, address) = (self.data_member(row, k), row * self.chunk + rest);
            if self.is_lost(member, address) {
                self.read_instead(parts, member, address, len);
            } else {
                join(parts, member, address, len);
            }
        }
    }

    /// Reads what a lost range is computed from: as many other members as there are data chunks.
    fn read_instead(&self, parts: &mut Vec<Part>, lost: usize, address: u64, len: u64) {
        let others =
            (0..self.members).filter(|other| *other != lost && !self.is_lost(*other, address));
        for other in others.take(self.data_chunks() as usize) {
            join(parts, other, address, len);
        }
    }

    /// Adds the member ranges that a write takes at levels without parity.
    pub fn write(&self, offset: u64, len: u64, parts: &mut Vec<Part>) {
        if len == 0 {
            return parts.push(self.anywhere());
        }
        if self.level == Level::Linear {
            return self.along(offset, len, parts);
        }
        let working = |member: usize, address: u64| !self.is_lost(member, address);
        if self.level == Level::Raid1 {
            let members = (0..self.members).filter(|member| working(*member, offset));
            parts.extend(members.map(|member| Part {
                member,
                address: offset,
                len,
            }));
            return;
        }
        let before = parts.len();
        for (number, rest, len) in self.chunks(offset, len) {
            if self.level == Level::Raid10 {
                for (member, row) in self.copies(number) {
                    let address = row * self.chunk + rest;
                    if working(member, address) {
                        join(parts, member, address, len);
                    }
                }
                continue;
            }
            let (row, k) = (number / self.data_chunks(), number % self.data_chunks());
            let (member, address) = (self.data_member(row, k), row * self.chunk + rest);
            if working(member, address) {
                join(parts, member, address, len);
            }
        }
        if parts.len() == before {
            parts.push(self.anywhere());
        }
    }

    /// The rows that a write to a parity level changes.
    pub fn rows(&self, offset: u64, len: u64) -> Vec<RowWrite> {
        let mut rows: Vec<RowWrite> = Vec::new();
        for (number, rest, len) in self.chunks(offset, len) {
            let (row, k) = (number / self.data_chunks(), number % self.data_chunks());
            match rows.last_mut().filter(|last| last.row == row) {
                Some(last) => last.push(k, rest, rest + len),
                None => rows.push(RowWrite::new(row, k, rest, rest + len)),
            }
        }
        rows
    }

    /// The ranges of members of which one follows the other.
    fn along(&self, offset: u64, len: u64, parts: &mut Vec<Part>) {
        let end = offset + len;
        let first = self.ends.partition_point(|end| *end <= offset);
        let mut begin = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        for (member, to) in self.ends.iter().enumerate().skip(first) {
            let from = offset.max(begin);
            if from >= end {
                break;
            }
            parts.push(Part {
                member,
                address: from - begin,
                len: end.min(*to) - from,
            });
            begin = *to;
        }
    }

    /// A request without bytes still goes somewhere.
    fn anywhere(&self) -> Part {
        let working = (0..self.members).find(|member| !self.failed.contains(member));
        Part {
            member: working.unwrap_or(0),
            address: 0,
            len: 0,
        }
    }
}

/// Where each of members of these sizes ends, of which one follows the other.
pub fn ends(sizes: &[u64]) -> Vec<u64> {
    let mut end: u64 = 0;
    let after = |size: &u64| {
        end = end.saturating_add(*size);
        end
    };
    sizes.iter().map(after).collect()
}

/// Adds a range; on a member neighbours become one, and what is read for itself and for a lost chunk of its row is read once.
pub(super) fn join(parts: &mut Vec<Part>, member: usize, address: u64, len: u64) {
    let last = parts.iter_mut().rev().find(|part| part.member == member);
    match last {
        Some(part) if part.address <= address + len && address <= part.address + part.len => {
            let end = (part.address + part.len).max(address + len);
            part.address = part.address.min(address);
            part.len = end - part.address;
        }
        _ => parts.push(Part {
            member,
            address,
            len,
        }),
    }
}
