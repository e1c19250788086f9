//! One record of a trace: `struct blk_io_trace`, 48 bytes in the byte order of the machine that
//! traced, followed by `pdu_len` bytes of its own (include/uapi/linux/blktrace_api.h).

/// Bytes of a record without what follows it.
pub const SIZE: usize = 48;

/// The upper 24 bits of the first word of every record.
pub const MAGIC: u32 = 0x6561_7400;

/// The only layout that is read. Linux 6.19 adds version 8, with a wider action.
pub const VERSION: u8 = 7;

/// The kernel puts the id of the cgroup in front of the PDU when an action has this bit.
pub const CGROUP: u32 = 0x100;

/// Bytes of that id.
pub const CGROUP_ID: usize = 8;

/// What happened to a bio or a request: the low 16 bits of the action word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Action {
    /// Q: a bio was queued.
    Queue = 1,
    /// M: a bio was merged at the end of a request.
    BackMerge,
    /// F: a bio was merged at the front of a request.
    FrontMerge,
    /// G: a request was got for a bio.
    GetRequest,
    /// S: a process slept for want of a request (gone since blk-mq).
    SleepRequest,
    /// R: a request was put back.
    Requeue,
    /// D: a request was given to the driver.
    Issue,
    /// C: a request, or a part of it, was completed.
    Complete,
    /// P: a task plugged its queue.
    Plug,
    /// U: a plug was opened by the task.
    Unplug,
    /// UT: a plug was opened because its task was scheduled away.
    UnplugTimer,
    /// I: a request was inserted into the scheduler.
    Insert,
    /// X: a bio was split.
    Split,
    /// B: a bio was bounced.
    Bounce,
    /// A: a bio was remapped to a lower device.
    Remap,
    /// Aborted.
    Abort,
    /// Something the driver says.
    DriverData,
}

impl Action {
    /// All, in the kernel's order from 1 on.
    pub const ALL: [Action; 17] = [
        Action::Queue,
        Action::BackMerge,
        Action::FrontMerge,
        Action::GetRequest,
        Action::SleepRequest,
        Action::Requeue,
        Action::Issue,
        Action::Complete,
        Action::Plug,
        Action::Unplug,
        Action::UnplugTimer,
        Action::Insert,
        Action::Split,
        Action::Bounce,
        Action::Remap,
        Action::Abort,
        Action::DriverData,
    ];

    /// blkparse's letters.
    pub const fn letters(self) -> &'static str {
        match self {
            Action::Queue => "Q",
            Action::BackMerge => "M",
            Action::FrontMerge => "F",
            Action::GetRequest => "G",
            Action::SleepRequest => "S",
            Action::Requeue => "R",
            Action::Issue => "D",
            Action::Complete => "C",
            Action::Plug => "P",
            Action::Unplug => "U",
            Action::UnplugTimer => "UT",
            Action::Insert => "I",
            Action::Split => "X",
            Action::Bounce => "B",
            Action::Remap => "A",
            Action::Abort => "AB",
            Action::DriverData => "DD",
        }
    }
}

/// What a notify record says: the action word's low 16 bits when [`Category::Notify`] is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// `pid` has the name in the PDU.
    Process,
    /// The PDU is the wall clock at the start: seconds and nanoseconds, u32 each.
    Timestamp,
    /// The PDU is a text.
    Message,
}

/// Bits of the action word's high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Category {
    /// Reads.
    Read = 1 << 16,
    /// Writes.
    Write = 1 << 17,
    /// Flushes.
    Flush = 1 << 18,
    /// Synchronous.
    Sync = 1 << 19,
    /// Queueing and merging.
    Queue = 1 << 20,
    /// Requeueing.
    Requeue = 1 << 21,
    /// Issuing.
    Issue = 1 << 22,
    /// Completion.
    Complete = 1 << 23,
    /// A request of a filesystem.
    Fs = 1 << 24,
    /// A passthrough request.
    Passthrough = 1 << 25,
    /// A note of the tracer: [`Notify`].
    Notify = 1 << 26,
    /// Readahead.
    Ahead = 1 << 27,
    /// Metadata.
    Meta = 1 << 28,
    /// Discards.
    Discard = 1 << 29,
    /// Driver's data.
    DriverData = 1 << 30,
    /// Forced unit access.
    Fua = 1 << 31,
}

/// A record without its PDU. Numbers are in the order of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Nanoseconds, monotonic.
    pub time: u64,
    /// First sector of 512 bytes, on the whole disk.
    pub sector: u64,
    /// Number of the event on its CPU, from 1; 0 in notes.
    pub sequence: u32,
    /// Bytes.
    pub bytes: u32,
    /// Action and categories.
    pub action: u32,
    /// Thread.
    pub pid: u32,
    /// Device: major << 20 | minor.
    pub device: u32,
    /// CPU.
    pub cpu: u32,
    /// errno at completion, 0 for none; negative ones are wrapped.
    pub error: u16,
    /// Bytes that follow.
    pub pdu_len: u16,
}

/// Why 48 bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The first word is not the magic number.
    Magic(u32),
    /// It is the magic number of a machine of the other byte order.
    OtherEndian,
    /// Another layout.
    Version(u8),
}

impl Head {
    /// Takes a record apart.
    pub fn parse(bytes: &[u8; SIZE]) -> Result<Head, Malformed> {
        let u32_at = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let u64_at = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(eight)
        };
        let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let magic = u32_at(0);
        if magic != MAGIC | u32::from(VERSION) {
            return Err(malformed(magic));
        }
        Ok(Head {
            sequence: u32_at(4),
            time: u64_at(8),
            sector: u64_at(16),
            bytes: u32_at(24),
            action: u32_at(28),
            pid: u32_at(32),
            device: u32_at(36),
            cpu: u32_at(40),
            error: u16_at(44),
            pdu_len: u16_at(46),
        })
    }

    /// The record as bytes, as the kernel writes it.
    pub fn to_bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &(MAGIC | u32::from(VERSION)).to_ne_bytes());
        put(4, &self.sequence.to_ne_bytes());
        put(8, &self.time.to_ne_bytes());
        put(16, &self.sector.to_ne_bytes());
        put(24, &self.bytes.to_ne_bytes());
        put(28, &self.action.to_ne_bytes());
        put(32, &self.pid.to_ne_bytes());
        put(36, &self.device.to_ne_bytes());
        put(40, &self.cpu.to_ne_bytes());
        put(44, &self.error.to_ne_bytes());
        put(46, &self.pdu_len.to_ne_bytes());
        bytes
    }

    /// What happened; none for a note and for an action that is not known.
    #[inline]
    pub fn kind(&self) -> Option<Action> {
        if self.has(Category::Notify) {
            return None;
        }
        let code = (self.action & 0xffff & !CGROUP) as usize;
        Action::ALL.get(code.wrapping_sub(1)).copied()
    }

    /// What a note says; none for an event and for a note that is not known.
    pub fn note(&self) -> Option<Notify> {
        if !self.has(Category::Notify) {
            return None;
        }
        match self.action & 0xffff & !CGROUP {
            0 => Some(Notify::Process),
            1 => Some(Notify::Timestamp),
            2 => Some(Notify::Message),
            _ => None,
        }
    }

    /// Whether this is a message as the kernel logs it without a cgroup id. Only these are in the
    /// sequence of events; every other note is taken when it is read.
    #[inline]
    pub const fn is_plain_message(&self) -> bool {
        self.action == Category::Notify as u32 | 2
    }

    /// Whether a category's bit is set.
    #[inline]
    pub const fn has(&self, category: Category) -> bool {
        self.action & category as u32 != 0
    }

    /// Sectors of 512 bytes.
    #[inline]
    pub const fn sectors(&self) -> u32 {
        self.bytes >> 9
    }

    /// The sector after the last.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.sector.wrapping_add(self.sectors() as u64)
    }

    /// Major and minor number of the device.
    #[inline]
    pub const fn numbers(&self) -> (u32, u32) {
        (self.device >> 20, self.device & 0xf_ffff)
    }

    /// blkparse's letters for the kind of transfer: F for a flush before it; D, W, R or N; then F
    /// for FUA, A for readahead, S for synchronous, M for metadata (blkparse_fmt.c `fill_rwbs`).
    pub fn rwbs(&self) -> Rwbs {
        let mut out = Rwbs::default();
        if self.has(Category::Flush) {
            out.push(b'F');
        }
        out.push(if self.has(Category::Discard) {
            b'D'
        } else if self.has(Category::Write) {
            b'W'
        } else if self.bytes > 0 {
            b'R'
        } else {
            b'N'
        });
        for (category, letter) in [
            (Category::Fua, b'F'),
            (Category::Ahead, b'A'),
            (Category::Sync, b'S'),
            (Category::Meta, b'M'),
        ] {
            if self.has(category) {
                out.push(letter);
            }
        }
        out
    }

    /// A PDU without the cgroup id in front of it.
    pub fn payload<'a>(&self, pdu: &'a [u8]) -> &'a [u8] {
        if self.action & CGROUP != 0 {
            pdu.get(CGROUP_ID..).unwrap_or_default()
        } else {
            pdu
        }
    }
}

fn malformed(magic: u32) -> Malformed {
    if magic & 0xffff_ff00 == MAGIC {
        Malformed::Version(magic as u8)
    } else if magic.swap_bytes() & 0xffff_ff00 == MAGIC {
        Malformed::OtherEndian
    } else {
        Malformed::Magic(magic)
    }
}

/// Up to six letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rwbs {
    letters: [u8; 6],
    len: u8,
}

impl Rwbs {
    #[inline]
    fn push(&mut self, letter: u8) {
        if let Some(slot) = self.letters.get_mut(usize::from(self.len)) {
            *slot = letter;
            self.len += 1;
        }
    }

    /// The letters.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.letters[..usize::from(self.len)]
    }
}

/// The first eight bytes of a PDU as the kernel writes numbers there: big-endian.
pub fn number(pdu: &[u8]) -> Option<u64> {
    let eight: [u8; 8] = pdu.get(..8)?.try_into().ok()?;
    Some(u64::from_be_bytes(eight))
}

/// The PDU of a remap: device and sector that were asked, and the device they became.
pub fn remap(pdu: &[u8]) -> Option<Remapped> {
    let word = |at: usize| {
        let four: [u8; 4] = pdu.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    Some(Remapped {
        from: word(0)?,
        to: word(4)?,
        sector: number(pdu.get(8..)?)?,
    })
}

/// See [`remap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remapped {
    /// The device asked.
    pub from: u32,
    /// The device it became.
    pub to: u32,
    /// The sector asked, on `from`.
    pub sector: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head() -> impl Strategy<Value = Head> {
        let words = (
            any::<u64>(),
            any::<u64>(),
            any::<u32>(),
            any::<u32>(),
            any::<u32>(),
        );
        let more = (
            any::<u32>(),
            any::<u32>(),
            any::<u32>(),
            any::<u16>(),
            any::<u16>(),
        );
        (words, more).prop_map(|(a, b)| Head {
            time: a.0,
            sector: a.1,
            sequence: a.2,
            bytes: a.3,
            action: a.4,
            pid: b.0,
            device: b.1,
            cpu: b.2,
            error: b.3,
            pdu_len: b.4,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(head in head()) {
            prop_assert_eq!(Head::parse(&head.to_bytes()), Ok(head));
            let _ = (head.kind(), head.note(), head.rwbs(), head.end());
        }

        #[test]
        fn garbage_is_no_record(bytes in proptest::array::uniform32(any::<u8>())) {
            let mut record = [0; SIZE];
            record[..32].copy_from_slice(&bytes);
            if bytes[1..4] != MAGIC.to_ne_bytes()[1..4] {
                prop_assert!(Head::parse(&record).is_err());
            }
        }

        #[test]
        fn pdus_of_any_length_are_taken(pdu in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(number(&pdu).is_some(), pdu.len() >= 8);
            prop_assert_eq!(remap(&pdu).is_some(), pdu.len() >= 16);
        }
    }

    #[test]
    fn foreign_layouts_are_named() {
        let mut bytes = Head::default().to_bytes();
        bytes[..4].copy_from_slice(&0x6561_7408_u32.to_ne_bytes());
        assert_eq!(Head::parse(&bytes), Err(Malformed::Version(8)));
        bytes[..4].copy_from_slice(&0x6561_7407_u32.swap_bytes().to_ne_bytes());
        assert_eq!(Head::parse(&bytes), Err(Malformed::OtherEndian));
        assert_eq!(Head::parse(&[0; SIZE]), Err(Malformed::Magic(0)));
    }

    #[test]
    fn letters_are_blkparses() {
        let of = |action: u32, bytes: u32| {
            let head = Head {
                bytes,
                action,
                ..Head::default()
            };
            String::from_utf8(head.rwbs().as_bytes().to_vec()).unwrap()
        };
        assert_eq!(of(Category::Write as u32, 4096), "W");
        assert_eq!(
            of(Category::Read as u32 | Category::Ahead as u32, 4096),
            "RA"
        );
        assert_eq!(of(0, 0), "N");
        let all = Category::Flush as u32
            | Category::Write as u32
            | Category::Fua as u32
            | Category::Sync as u32
            | Category::Meta as u32;
        assert_eq!(of(all, 512), "FWFSM");
    }

    #[test]
    fn a_cgroup_id_is_no_part_of_the_payload() {
        let head = Head {
            action: 1 | CGROUP,
            ..Head::default()
        };
        assert_eq!(head.kind(), Some(Action::Queue));
        assert_eq!(head.payload(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), [9]);
        assert_eq!(head.payload(&[1]), [0_u8; 0]);
    }
}
