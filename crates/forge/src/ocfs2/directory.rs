//! Directories, grown name by name as a kernel grows them.
//!
//! A directory begins in its inode. When a name does not fit there any more, all names move to a block, and the directory gets an
//! index. A name goes to the block at the head of the list of blocks with room; where none of the first blocks of that list has
//! room for it, the directory gets a further block, which becomes the head.
//!
//! Two things differ from a kernel. It searches the whole list, here only the first [`SEARCHED`] blocks are looked at, since a list of many
//! blocks with small holes takes a time that grows with the square of the names. And it splits an index leaf in halves when it is full; here leaves are filled to
//! [`FILL`] percent in the order of the hashes, which is what splits at the median come to on average.

pub(super) mod index;

use ondisk::ocfs2::directory::record_length;
use ondisk::ocfs2::hash::{Sign, name_hash};

pub(super) use self::index::Index;
use crate::Error;
use crate::population::{Change, History, Names, Target};

/// Blocks of the list of blocks with room that are looked at for a name.
const SEARCHED: usize = 64;
/// Percent of the entries of an index leaf that are used.
pub(super) const FILL: usize = 65;
/// The smallest hole that is worth keeping a block on the list, bytes: what a name of one character needs.
const SMALLEST: u32 = record_length(1) as u32;
/// Most names of a directory, removed ones included: they are grown in memory.
pub(super) const MOST_NAMES: u64 = 1 << 22;

/// A record without a name.
pub(super) const FREE: u32 = u32::MAX;
/// The entry `.`.
pub(super) const DOT: u32 = u32::MAX - 1;
/// The entry `..`.
pub(super) const DOT_DOT: u32 = u32::MAX - 2;

/// How directories of a volume are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Bytes of a directory in its inode; 0: the volume has no inline data.
    pub(super) inline_room: u32,
    /// Bytes of entries in a block.
    pub(super) block_room: u32,
    /// Blocks of a cluster.
    pub(super) cluster_blocks: u32,
    /// Seed and sign of the hashes of an index; none where directories have no index.
    pub(super) index: Option<([u32; 3], Sign)>,
    /// Entries in an index root, and in a leaf.
    pub(super) index_room: (usize, usize),
}

/// A name of a directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    /// Where it begins in [`Shape::bytes`].
    at: u32,
    len: u8,
    pub(super) target: Target,
}

/// A record: a name's number or one of the constants above, and its length in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) id: u32,
    pub(super) len: u32,
}

/// A block of records, or the area in the inode.
#[derive(Debug)]
pub(super) struct Area {
    pub(super) records: Vec<Record>,
    /// Bytes of the largest hole; 0 where it is too small to be kept on the list.
    pub(super) hole: u32,
    /// Whether the only hole is after the last record.
    tail_only: bool,
}

/// A grown directory.
#[derive(Debug)]
pub(super) struct Shape {
    /// All names, one after the other.
    bytes: Vec<u8>,
    names: Vec<Name>,
    /// The blocks; one area where the directory is in its inode.
    pub(super) areas: Vec<Area>,
    pub(super) inline: bool,
    /// Blocks with room, the head of the list last.
    pub(super) with_room: Vec<u32>,
    /// Its index; none without blocks or without the feature.
    pub(super) index: Option<Index>,
    /// Most names at one time, `.` and `..` included.
    peak: usize,
    live: usize,
}

/// The size of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// Blocks in use.
    pub(super) blocks: u32,
    /// Whether it has an index.
    pub(super) indexed: bool,
    /// Clusters of index leaves; 0 where the root has the entries.
    pub(super) leaf_clusters: u32,
}

impl Shape {
    /// Grows a directory; `set` is its set of names.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for names whose index no tree of leaves can hold.
    pub(super) fn grow(
        rules: &Rules,
        history: &History<'_>,
        names: &Names,
        set: u64,
    ) -> Result<Self, Error> {
        let inline = rules.inline_room > 0;
        let room = if inline {
            rules.inline_room
        } else {
            rules.block_room
        };
        let mut this = Self {
            bytes: Vec::new(),
            names: Vec::new(),
            areas: vec![Area::of_dots(room)],
            inline,
            with_room: vec![0],
            index: None,
            peak: 2,
            live: 2,
        };
        let mut place = [0; 255];
        let Ok(()) = history.changes::<std::convert::Infallible>(&mut |change| {
            match change {
                Change::Removal => this.remove_gone(),
                Change::Name(_, _, target) => {
                    let len = change.name(names, set, &mut place);
                    this.add(rules, &place[..len.into()], target);
                }
            }
            Ok(())
        });
        if !this.inline
            && let Some(hashing) = rules.index
        {
            this.index = Some(this.indexed(rules, hashing)?);
        }
        Ok(this)
    }

    pub(super) fn size(&self) -> Option<Size> {
        (!self.inline).then(|| Size {
            blocks: self.areas.len() as u32,
            indexed: self.index.is_some(),
            leaf_clusters: match &self.index {
                Some(Index::Leaves(leaves)) => leaves.len() as u32,
                _ => 0,
            },
        })
    }

    /// Bytes of memory, roughly.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + self.names.len() * 48 + self.areas.len() * 64 + 256
    }

    /// A name by its number.
    pub(super) fn name(&self, id: u32) -> Option<(&[u8], Target)> {
        let name = self.names.get(id as usize)?;
        let at = name.at as usize;
        let bytes = self.bytes.get(at..at + usize::from(name.len))?;
        Some((bytes, name.target))
    }

    fn need(&self, id: u32) -> u32 {
        let len = match id {
            FREE => return 0,
            DOT => 1,
            DOT_DOT => 2,
            id => self.names.get(id as usize).map_or(0, |name| name.len),
        };
        record_length(len.into()) as u32
    }

    fn add(&mut self, rules: &Rules, name: &[u8], target: Target) {
        let id = self.names.len() as u32;
        self.names.push(Name {
            at: self.bytes.len() as u32,
            len: name.len() as u8,
            target,
        });
        self.bytes.extend_from_slice(name);
        self.live += 1;
        self.peak = self.peak.max(self.live);
        let need = self.need(id);
        if self.inline {
            if self.areas[0].hole >= need && self.insert(0, id, need) {
                return;
            }
            self.leave_inode(rules);
        }
        let list = self.with_room.iter().rev().take(SEARCHED);
        let found = list
            .copied()
            .find(|&nth| self.areas[nth as usize].hole >= need);
        let nth = found.unwrap_or_else(|| {
            let nth = self.areas.len() as u32;
            self.areas.push(Area::empty(rules.block_room));
            self.with_room.push(nth);
            nth
        });
        self.insert(nth, id, need);
        if self.areas[nth as usize].hole == 0
            && let Some(at) = self.with_room.iter().rposition(|&one| one == nth)
        {
            self.with_room.remove(at);
        }
    }

    /// Moves the names from the inode to the first block.
    fn leave_inode(&mut self, rules: &Rules) {
        self.inline = false;
        let area = &mut self.areas[0];
        if let Some(last) = area.records.last_mut() {
            last.len += rules.block_room - rules.inline_room;
        }
        self.measure(0);
        self.with_room = if self.areas[0].hole > 0 {
            vec![0]
        } else {
            Vec::new()
        };
    }

    /// Puts a record into the first hole of an area that is large enough.
    fn insert(&mut self, nth: u32, id: u32, need: u32) -> bool {
        let area = &self.areas[nth as usize];
        let from = if area.tail_only {
            area.records.len() - 1
        } else {
            0
        };
        let fits = |record: &Record| record.len - self.need(record.id) >= need;
        let Some(at) = area.records[from..].iter().position(fits) else {
            return false;
        };
        let at = from + at;
        let old = area.records[at];
        let keep = self.need(old.id);
        let area = &mut self.areas[nth as usize];
        if old.id == FREE {
            area.records[at].id = id;
        } else {
            area.records[at].len = keep;
            let len = old.len - keep;
            area.records.insert(at + 1, Record { id, len });
        }
        if area.tail_only {
            let hole = old.len - keep - need;
            area.hole = if hole < SMALLEST { 0 } else { hole };
        } else {
            self.measure(nth);
        }
        true
    }

    /// Computes the largest hole of an area.
    fn measure(&mut self, nth: u32) {
        let holes = self.areas[nth as usize]
            .records
            .iter()
            .map(|record| record.len - self.need(record.id));
        let hole = holes.max().unwrap_or(0);
        self.areas[nth as usize].hole = if hole < SMALLEST { 0 } else { hole };
    }

    /// Removes every name that leads nowhere: its room goes to the record before it.
    fn remove_gone(&mut self) {
        for nth in 0..self.areas.len() {
            let old = std::mem::take(&mut self.areas[nth].records);
            let mut kept: Vec<Record> = Vec::with_capacity(old.len());
            let before = old.len();
            for record in old {
                let name = self.names.get(record.id as usize);
                if !name.is_some_and(|name| name.target == Target::Gone) {
                    kept.push(record);
                    continue;
                }
                self.live -= 1;
                match kept.last_mut() {
                    Some(last) => last.len += record.len,
                    None => kept.push(Record {
                        id: FREE,
                        len: record.len,
                    }),
                }
            }
            let removed = kept.len() < before || kept.first().is_some_and(|one| one.id == FREE);
            self.areas[nth].records = kept;
            if removed {
                self.areas[nth].tail_only = false;
                let listed = self.areas[nth].hole > 0;
                self.measure(nth as u32);
                if !listed && self.areas[nth].hole > 0 {
                    self.with_room.push(nth as u32);
                }
            }
        }
    }

    /// Every name that exists, with the number of its block.
    fn living(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..).zip(&self.areas).flat_map(|(nth, area)| {
            let ids = area.records.iter().map(|record| record.id);
            ids.filter(|&id| id != FREE).map(move |id| (id, nth))
        })
    }

    fn indexed(&self, rules: &Rules, (seed, sign): ([u32; 3], Sign)) -> Result<Index, Error> {
        let entries = self
            .living()
            .map(|(id, block)| {
                let name = self.name(id).map_or(&b"."[..], |(name, _)| name);
                let hash = name_hash(seed, name, sign);
                index::Entry { hash, block }
            })
            .collect();
        Index::new(entries, self.peak, rules)
    }
}

impl Area {
    fn of_dots(room: u32) -> Self {
        let dot = record_length(1) as u32;
        Self {
            records: vec![
                Record { id: DOT, len: dot },
                Record {
                    id: DOT_DOT,
                    len: room - dot,
                },
            ],
            hole: room - dot - record_length(2) as u32,
            tail_only: true,
        }
    }

    fn empty(room: u32) -> Self {
        Self {
            records: vec![Record {
                id: FREE,
                len: room,
            }],
            hole: room,
            tail_only: true,
        }
    }
}
