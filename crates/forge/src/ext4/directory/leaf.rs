//! A block of entries: records that fill it to its end.

/// A record of a block: a name's number, or one of the constants below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) id: u32,
    /// `rec_len`.
    pub(super) len: u32,
}

/// The first record of a block whose name was removed.
pub(super) const FREE: u32 = u32::MAX;
/// The entry `.`, in block 0 of a directory without index.
pub(super) const DOT: u32 = u32::MAX - 1;
/// The entry `..`.
pub(super) const DOT_DOT: u32 = u32::MAX - 2;
/// The entry `..` of a directory whose names have hashes after them: the kernel leaves room for one when it puts a name there.
pub(super) const WIDE_DOT_DOT: u32 = u32::MAX - 3;
/// Names are numbered below this.
pub(super) const NAMES: u32 = WIDE_DOT_DOT;
/// Bytes that `.` needs, and `..`.
const DOT_LEN: u32 = 12;
/// Bytes that the `..` with room for a hash needs.
const WIDE_LEN: u32 = 20;

/// Bytes that `.` and `..` need together.
pub(super) fn dots_len(wide: bool) -> u32 {
    DOT_LEN + if wide { WIDE_LEN } else { DOT_LEN }
}

/// A block of entries.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) records: Vec<Record>,
    /// The most bytes that a new record can have.
    pub(super) room: u32,
    /// Whether names went from here: room is then not at the end alone.
    gaps: bool,
}

impl Record {
    fn need(self, needs: &[u16]) -> u32 {
        match self.id {
            FREE => 0,
            DOT | DOT_DOT => DOT_LEN,
            WIDE_DOT_DOT => WIDE_LEN,
            id => needs[id as usize].into(),
        }
    }
}

impl Leaf {
    /// The first block of a directory; `wide` where names have hashes after them.
    pub(super) fn of_dots(room: u32, wide: bool) -> Self {
        Self {
            records: vec![
                Record {
                    id: DOT,
                    len: DOT_LEN,
                },
                Record {
                    id: if wide { WIDE_DOT_DOT } else { DOT_DOT },
                    len: room - DOT_LEN,
                },
            ],
            room: room - dots_len(wide),
            gaps: false,
        }
    }

    /// The first block of a directory that had its names in the inode: the dots, then both areas as they were.
    pub(super) fn of_areas(room: u32, first: Self, second: Option<Self>, needs: &[u16]) -> Self {
        let mut this = Self::of_dots(room, false);
        let mut left = room - DOT_LEN;
        if let Some(dots) = this.records.last_mut() {
            dots.len = DOT_LEN;
        }
        for area in std::iter::once(first).chain(second) {
            this.records.extend(area.records);
        }
        // What an area has left stays with its last record, before names that follow.
        this.gaps = true;
        for record in this.records.iter_mut().skip(1) {
            left -= record.len;
        }
        if let Some(last) = this.records.last_mut() {
            last.len += left;
        }
        this.measure(needs);
        this
    }

    /// A further block of a directory without index.
    pub(super) fn empty(room: u32) -> Self {
        Self {
            records: vec![Record {
                id: FREE,
                len: room,
            }],
            room,
            gaps: false,
        }
    }

    /// Looks for the largest room.
    pub(super) fn measure(&mut self, needs: &[u16]) {
        let spare = |record: &Record| record.len - record.need(needs);
        self.room = if self.gaps {
            self.records.iter().map(spare).max().unwrap_or(0)
        } else {
            self.records.last().map_or(0, spare)
        };
    }

    /// Puts a name into the first place with room.
    pub(super) fn put(&mut self, id: u32, needs: &[u16]) -> bool {
        let need = u32::from(needs[id as usize]);
        if self.room < need {
            return false;
        }
        let fits = |record: &Record| record.len - record.need(needs) >= need;
        let at = if self.gaps {
            self.records.iter().position(fits)
        } else {
            self.records.len().checked_sub(1)
        };
        let Some(at) = at else { return false };
        let record = &mut self.records[at];
        if record.id == FREE {
            record.id = id;
        } else {
            let kept = record.need(needs);
            let len = record.len - kept;
            record.len = kept;
            if at + 1 == self.records.len() {
                self.records.push(Record { id, len });
            } else {
                self.records.insert(at + 1, Record { id, len });
            }
        }
        self.measure(needs);
        true
    }

    pub(super) fn remove(&mut self, gone: impl Fn(u32) -> bool, needs: &mut [u16]) {
        let mut kept: Vec<Record> = Vec::with_capacity(self.records.len());
        for record in &self.records {
            if record.id >= NAMES || !gone(record.id) {
                kept.push(*record);
                continue;
            }
            needs[record.id as usize] = 0;
            self.gaps = true;
            match kept.last_mut() {
                Some(before) => before.len += record.len,
                None => kept.push(Record {
                    id: FREE,
                    len: record.len,
                }),
            }
        }
        if self.gaps {
            self.records = kept;
            self.measure(needs);
        }
    }

    /// Sorts the names by hash into `sorted`, each with its place, and returns the first that is to
    /// move: from the top as many as fill half a block, or half of them where all fill less.
    pub(super) fn sort(
        &self,
        hashes: &[u32],
        block_size: u32,
        sorted: &mut Vec<(u32, u32)>,
    ) -> usize {
        sorted.clear();
        let live = self
            .records
            .iter()
            .enumerate()
            .filter(|(_, record)| record.id != FREE);
        sorted.extend(live.map(|(place, record)| (hashes[record.id as usize], place as u32)));
        sorted.sort_unstable();
        let mut size = 0;
        let lowest = sorted.iter().rposition(|(_, place)| {
            let len = self.records[*place as usize].len;
            let beyond = size + len / 2 > block_size / 2;
            size += len;
            beyond
        });
        lowest.map_or(sorted.len() / 2, |lowest| lowest + 1)
    }

    /// Moves the names of `upper` to a leaf of their own, in this order; what stays closes up.
    pub(super) fn split(&mut self, upper: &[(u32, u32)], needs: &[u16], room: u32) -> Self {
        let ids = upper
            .iter()
            .map(|(_, place)| self.records[*place as usize].id);
        let made = Self::packed(ids.collect(), needs, room);
        for (_, place) in upper {
            self.records[*place as usize].id = FREE;
        }
        let ids = self.records.iter().map(|record| record.id);
        *self = Self::packed(ids.filter(|id| *id != FREE).collect(), needs, room);
        made
    }

    fn packed(ids: Vec<u32>, needs: &[u16], room: u32) -> Self {
        let mut left = room;
        let mut records: Vec<Record> = ids
            .into_iter()
            .map(|id| {
                let len = u32::from(needs[id as usize]);
                left -= len;
                Record { id, len }
            })
            .collect();
        match records.last_mut() {
            Some(last) => last.len += left,
            None => records.push(Record {
                id: FREE,
                len: room,
            }),
        }
        Self {
            records,
            room: left,
            gaps: false,
        }
    }
}
