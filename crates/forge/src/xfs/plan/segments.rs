//! Data in several pieces.

use ondisk::xfs::Geometry;

use super::{Group, Item, Plan, Turn};
use crate::Error;
use crate::population::ObjectId;
use crate::xfs::contents::Contents;

/// A run of a directory's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::xfs) struct Segment {
    /// Its first address.
    pub(in crate::xfs) address: u64,
    pub(in crate::xfs) len: u64,
    pub(in crate::xfs) ag: u32,
    /// Its first block in the group.
    pub(in crate::xfs) at: u32,
    /// A slot whose data begins at or before the first address, and the address of its data.
    pub(in crate::xfs) slot: (u32, u64),
}

/// The blocks of a directory's addresses.
#[derive(Debug, Clone, Copy)]
pub(in crate::xfs) struct Data<'a> {
    pub(in crate::xfs) geometry: &'a Geometry,
    pub(in crate::xfs) segments: &'a [Segment],
}

impl Data<'_> {
    /// Calls `each` with first block and length of every run of `len` addresses from `at` on.
    pub(in crate::xfs) fn map(&self, at: u64, len: u64, each: &mut dyn FnMut(u64, u64)) {
        let (mut at, end) = (at, at + len);
        let from = self
            .segments
            .partition_point(|one| one.address + one.len <= at);
        for segment in &self.segments[from..] {
            if at >= end {
                return;
            }
            let within = at - segment.address;
            let here = (segment.len - within).min(end - at);
            let block = self.geometry.fsblock(segment.ag, segment.at) + within;
            each(block, here);
            at += here;
        }
    }
}

impl Plan {
    fn segment(&mut self, directory: u32, ag: u32, address: u64, len: u64, slot: (u32, u64)) {
        let all = self.segments.entry(directory).or_default();
        let group: &mut Group = &mut self.groups[ag as usize];
        group.items.push(Item::Segment(directory, all.len() as u32));
        all.push(Segment {
            address,
            len,
            ag,
            at: group.cursor.block,
            slot,
        });
        group.cursor.block += len as u32;
    }

    /// Gives the data of a directory the rest of its group, then room in others.
    pub(super) fn split(&mut self, directory: u32, home: u32, data: u64) -> Result<(), Error> {
        /// Shorter pieces are not worth an extent.
        const SHORTEST: u64 = 64;
        let mut at = 0;
        let mut ag = home;
        loop {
            let left = self.groups[ag as usize].left();
            if left >= SHORTEST.min(data - at) {
                let len = left.min(data - at);
                self.segment(directory, ag, at, len, (0, 0));
                at += len;
            }
            if at >= data {
                return Ok(());
            }
            let all = (0..).zip(&self.groups);
            let most = all
                .max_by_key(|(nth, group): &(u32, &Group)| (group.left(), std::cmp::Reverse(*nth)));
            ag = match most {
                Some((nth, group)) if group.left() >= SHORTEST.min(data - at) => nth,
                _ => return Err(self.room(data - at)),
            };
        }
    }

    /// Gives the files of a directory to the groups in turn, as many in a row as make each group's share equal.
    pub(super) fn spread(
        &mut self,
        contents: &Contents,
        directory: u32,
        turn: &mut Turn,
    ) -> Result<(), Error> {
        let slots = contents.population.slots(directory);
        let groups = self.groups.len() as u32;
        let share = slots.total().div_ceil(groups).max(1);
        let (mut address, mut slot) = (0, 0);
        while slot < slots.total() {
            let from = (slot, address);
            let end = (slot + share).min(slots.total());
            let plain = contents.population.plain_size().is_some() && slots.free == 0;
            let mut blocks = 0;
            while slot < end {
                let id = ObjectId { directory, slot };
                let one = contents.object(&slots, id).map_or(0, |one| one.blocks);
                // The directory itself, in slot 0, is not like its files.
                let alike = if plain && slot > 0 { end - slot } else { 1 };
                blocks += one * u64::from(alike);
                slot += alike;
            }
            if blocks == 0 {
                continue;
            }
            let order = (0..groups).map(|nth| (turn.data + nth) % groups);
            let fits = |&ag: &u32| self.groups[ag as usize].left() >= blocks;
            let Some(ag) = order.clone().find(fits) else {
                return Err(self.room(blocks));
            };
            turn.data = (ag + 1) % groups;
            self.segment(directory, ag, address, blocks, from);
            address += blocks;
        }
        Ok(())
    }
}
