//! Pages of the kernel's ring buffer, as `trace_pipe_raw` hands them out.
//!
//! A page begins with the time of its first event and a commit word: the bytes of data, and in bits
//! 31 and 30 whether events were lost before this page and whether their number follows the
//! data. The offsets are read from `events/header_page`, since they differ between 32 and 64 bits.
//! An event begins with a word of 5 bits kind and 27 bits time since the event before it
//! (`events/header_event`; include/linux/ring_buffer.h, kernel/trace/ring_buffer.c).
//!
//! Nothing here trusts its input: a length beyond the page ends the page as broken, and the caller
//! counts that. A kernel does not write such pages, a bug in this file would read them.

/// The commit word of a page whose predecessor events were lost.
const MISSED: u64 = 1 << 31;
/// Their number follows the data.
const MISSED_STORED: u64 = 1 << 30;
/// What the commit word holds besides.
const LENGTH: u64 = MISSED_STORED - 1;

/// More than any sub-buffer (`buffer_subbuf_size_kb`) that a kernel makes.
const LARGEST: usize = 1 << 24;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of an event's time in its first word.
const DELTA_BITS: u32 = 27;
/// An absolute time holds 59 bits; the rest is the page's.
const STAMP_BITS: u32 = 59;

/// The offsets of the parts of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    timestamp: usize,
    commit: usize,
    commit_size: usize,
    data: usize,
    /// Bytes of a page.
    size: usize,
}

/// A page that contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Events that the writer overran before this page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    None,
    /// Some; the page had no room for their number.
    Some,
    Counted(u64),
}

/// An event: nanoseconds of the trace clock, and its bytes, padded to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) time: u64,
    pub(super) data: &'a [u8],
}

impl Layout {
    /// Reads `events/header_page`; none when it does not say what is needed.
    pub(super) fn parse(text: &str) -> Option<Layout> {
        let field = |name: &str| {
            let line = text.lines().find(|line| {
                let declared = line.split(';').next().unwrap_or_default();
                declared.split_whitespace().next_back() == Some(name)
            })?;
            let number = |key: &str| {
                let part = line
                    .split(';')
                    .find_map(|part| part.trim().strip_prefix(key))?;
                part.parse::<usize>().ok()
            };
            Some((number("offset:")?, number("size:")?))
        };
        let (timestamp, eight) = field("timestamp")?;
        let (commit, commit_size) = field("commit")?;
        let (data, room) = field("data")?;
        let size = data.checked_add(room).filter(|size| *size <= LARGEST)?;
        (eight == 8 && matches!(commit_size, 4 | 8)).then_some(Layout {
            timestamp,
            commit,
            commit_size,
            data,
            size,
        })
    }

    /// Bytes to read at once.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Opens a page.
    pub(super) fn open<'a>(&self, page: &'a [u8]) -> Result<(Missed, Events<'a>), Broken> {
        let time = u64_at(page, self.timestamp).ok_or(Broken)?;
        let word = if self.commit_size == 8 {
            u64_at(page, self.commit)
        } else {
            u32_at(page, self.commit).map(u64::from)
        };
        let word = word.ok_or(Broken)?;
        let rest = page.get(self.data..).ok_or(Broken)?;
        let length = usize::try_from(word & LENGTH).map_err(|_| Broken)?;
        let data = rest.get(..length).ok_or(Broken)?;
        let missed = match (word & MISSED != 0, word & MISSED_STORED != 0) {
            (false, _) => Missed::None,
            (true, false) => Missed::Some,
            (true, true) => Missed::Counted(self.stored(rest, length).ok_or(Broken)?),
        };
        Ok((missed, Events { data, at: 0, time }))
    }

    /// The number after the data, an `unsigned long` as the commit word is.
    fn stored(&self, rest: &[u8], length: usize) -> Option<u64> {
        if self.commit_size == 8 {
            u64_at(rest, length)
        } else {
            u32_at(rest, length).map(u64::from)
        }
    }
}

/// The events of a page in their order; ends after the first broken one.
#[derive(Clone, Debug)]
pub(super) struct Events<'a> {
    data: &'a [u8],
    at: usize,
    time: u64,
}

impl<'a> Events<'a> {
    fn step(&mut self) -> Result<Option<Event<'a>>, Broken> {
        while self.at < self.data.len() {
            let head = u32_at(self.data, self.at).ok_or(Broken)?;
            let (kind, delta) = split(head);
            let body = self.at + 4;
            match kind {
                PADDING if delta == 0 => break,
                PADDING => {
                    self.advance(delta);
                    let length = u32_at(self.data, body).ok_or(Broken)?;
                    self.at = body.checked_add(length as usize).ok_or(Broken)?;
                }
                TIME_EXTEND | TIME_STAMP => {
                    let high = u32_at(self.data, body).ok_or(Broken)?;
                    let long = u64::from(high) << DELTA_BITS | delta;
                    if kind == TIME_EXTEND {
                        self.advance(long);
                    } else {
                        let kept = self.time >> STAMP_BITS << STAMP_BITS;
                        self.time = kept | long & ((1 << STAMP_BITS) - 1);
                    }
                    self.at = body + 4;
                }
                _ => return self.data_event(kind, delta, body).map(Some),
            }
        }
        Ok(None)
    }

    /// An event with data: its length in words in the head, or in bytes in the word that follows
    /// and counts itself.
    fn data_event(&mut self, kind: u32, delta: u64, body: usize) -> Result<Event<'a>, Broken> {
        let (from, to) = if kind == 0 {
            let length = u32_at(self.data, body).ok_or(Broken)? as usize;
            (body + 4, body.checked_add(length).ok_or(Broken)?)
        } else {
            (body, body + kind as usize * 4)
        };
        let data = self.data.get(from..to).ok_or(Broken)?;
        self.advance(delta);
        self.at = to;
        Ok(Event {
            time: self.time,
            data,
        })
    }

    fn advance(&mut self, delta: u64) {
        self.time = self.time.wrapping_add(delta);
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Event<'a>, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        let answer = self.step();
        if answer.is_err() {
            self.at = self.data.len();
        }
        answer.transpose()
    }
}

/// Kind and time of an event's first word; bit fields are in the other order on big-endian machines.
fn split(head: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (head & 31, u64::from(head >> 5))
    } else {
        (
            head >> DELTA_BITS,
            u64::from(head & ((1 << DELTA_BITS) - 1)),
        )
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(eight.try_into().ok()?))
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn layout() -> Layout {
        Layout::parse(HEADER).unwrap()
    }

    fn word(kind: u32, delta: u32) -> [u8; 4] {
        (kind | delta << 5).to_ne_bytes()
    }

    fn page(time: u64, flags: u64, data: &[u8], after: &[u8]) -> Vec<u8> {
        let mut page = time.to_ne_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_ne_bytes());
        page.extend(data);
        page.extend(after);
        page.resize(4096, 0);
        page
    }

    fn all(page: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let (_, events) = layout().open(page).unwrap();
        events
            .map(|event| event.map(|e| (e.time, e.data.to_vec())).unwrap())
            .collect()
    }

    #[test]
    fn the_header_of_this_page_is_that_of_the_kernel() {
        assert_eq!(
            layout(),
            Layout {
                timestamp: 0,
                commit: 8,
                commit_size: 8,
                data: 16,
                size: 4096
            }
        );
        assert_eq!(
            Layout::parse("field: u64 timestamp; offset:0; size:8;"),
            None
        );
        assert_eq!(Layout::parse(""), None);
    }

    #[test]
    fn times_add_up_over_every_kind_of_event() {
        let mut data = Vec::new();
        data.extend(word(1, 5));
        data.extend([1, 2, 3, 4]);
        // 2 << 27 ns later, and 7.
        data.extend(word(TIME_EXTEND, 7));
        data.extend(2_u32.to_ne_bytes());
        // 8 bytes of data; their length of 12 counts itself.
        data.extend(word(0, 1));
        data.extend(12_u32.to_ne_bytes());
        data.extend([9; 8]);
        // Thrown away: 4 bytes after its length word's own place.
        data.extend(word(PADDING, 1));
        data.extend(8_u32.to_ne_bytes());
        data.extend([0xff; 4]);
        data.extend(word(TIME_STAMP, 3));
        data.extend(1_000_u32.to_ne_bytes());
        data.extend(word(2, 0));
        data.extend([7; 8]);
        let long = 100 + 5 + (2 << 27) + 7 + 1;
        assert_eq!(
            all(&page(100, 0, &data, &[])),
            [
                (105, vec![1, 2, 3, 4]),
                (long, vec![9; 8]),
                (1_000 << 27 | 3, vec![7; 8]),
            ]
        );
    }

    #[test]
    fn an_absolute_time_keeps_the_high_bits_of_its_page() {
        let mut data = word(TIME_STAMP, 1).to_vec();
        data.extend(0_u32.to_ne_bytes());
        data.extend(word(1, 0));
        data.extend([0; 4]);
        let page = page(3 << STAMP_BITS | 0x63, 0, &data, &[]);
        assert_eq!(all(&page), [(3 << STAMP_BITS | 1, vec![0; 4])]);
    }

    #[test]
    fn losses_are_told_with_their_number_where_there_was_room() {
        let open = |flags, after: &[u8]| layout().open(&page(0, flags, &[], after)).unwrap().0;
        assert_eq!(open(0, &[]), Missed::None);
        assert_eq!(open(MISSED, &[]), Missed::Some);
        let stored = 123_456_u64.to_ne_bytes();
        assert_eq!(
            open(MISSED | MISSED_STORED, &stored),
            Missed::Counted(123_456)
        );
    }

    #[test]
    fn lengths_beyond_the_page_are_broken() {
        let mut data = word(0, 1).to_vec();
        data.extend(400_u32.to_ne_bytes());
        let page = page(0, 0, &data, &[]);
        let (_, mut events) = layout().open(&page).unwrap();
        assert_eq!(events.next(), Some(Err(Broken)));
        assert_eq!(events.next(), None);
        assert_eq!(layout().open(&page[..12]).unwrap_err(), Broken);
        let mut long = page.clone();
        long[8..16].copy_from_slice(&5_000_u64.to_ne_bytes());
        assert_eq!(layout().open(&long).unwrap_err(), Broken);
        // A length that does not even count itself.
        let mut short = page.clone();
        short[20..24].copy_from_slice(&2_u32.to_ne_bytes());
        let (_, mut events) = layout().open(&short).unwrap();
        assert_eq!(events.next(), Some(Err(Broken)));
    }

    proptest! {
        #[test]
        fn garbage_never_panics_and_always_ends(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..4096),
            length in 0_u64..4_200,
            flags in 0_u64..4,
        ) {
            if let Some(commit) = bytes.get_mut(8..16) {
                commit.copy_from_slice(&(length | flags << 30).to_ne_bytes());
            }
            if let Ok((_, events)) = layout().open(&bytes) {
                let mut seen = 0;
                for event in events {
                    seen += 1;
                    prop_assert!(event.is_err() || event.unwrap().data.len() <= bytes.len());
                }
                prop_assert!(seen <= 1_024);
            }
        }

        #[test]
        fn headers_of_any_text_are_taken(text in ".{0,300}") {
            let _ = Layout::parse(&text);
        }

        #[test]
        fn what_was_packed_comes_out(
            events in proptest::collection::vec((0_u32..1 << 27, 1_usize..40), 0..24),
        ) {
            let mut data = Vec::new();
            let mut expected = Vec::new();
            let mut time = 77;
            for (delta, words) in events {
                if words <= 28 {
                    data.extend(word(words as u32, delta));
                } else {
                    data.extend(word(0, delta));
                    data.extend((words as u32 * 4 + 4).to_ne_bytes());
                }
                data.extend(vec![words as u8; words * 4]);
                time += u64::from(delta);
                expected.push((time, vec![words as u8; words * 4]));
            }
            prop_assert_eq!(all(&page(77, 0, &data, &[])), expected);
        }
    }
}
