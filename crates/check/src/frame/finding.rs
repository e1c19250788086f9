//! One fault, and where it is.

use serde::Serialize;

use super::problem::Problem;

/// Where a fault is. Every part is optional: a wrong count in the superblock has none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Block group, allocation group or allocation chain, by number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Inode number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Inode number of the directory that holds the faulty entry, where that is not `inode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<u64>,
    /// Block number on the device, in filesystem blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Block number within the file or directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical: Option<u64>,
    /// Offset in bytes from the start of that block, or of the inode where no block is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// Name of the entry or of the attribute; bytes that are not UTF-8 are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A value as found on disk, or as it should be. Printed in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count or a block number.
    Number(u64),
    /// Text: a checksum as `0x..`, a range as `a-b`, a list.
    Text(String),
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::Number(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Value {
        Value::Number(value.into())
    }
}

impl From<u16> for Value {
    fn from(value: u16) -> Value {
        Value::Number(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

/// Words of a [`Key`].
pub(crate) const KEY_WORDS: usize = 5;

/// The position of a finding in the check, compared word by word. The first word is [`Problem::rank`], the second the position within
/// that part of the check (by default the inode number); a checker defines the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) [u64; KEY_WORDS]);

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind of fault.
    #[serde(flatten)]
    pub problem: &'static Problem,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
    /// The value on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    /// The value that would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// What the values alone do not say: the field's name, which copy, what could not be judged because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Path of the inode, filled in at the end where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The reference program ends here in its read-only mode; it does not see later findings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reference_stops: bool,
    /// The reference program does not look for this in its read-only mode: it counts for the strict verdict alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beyond_reference: bool,
    /// Blocks of the file that are lost or that others use, too, where it names more than one.
    #[serde(skip)]
    pub(crate) blocks: Option<u64>,
    /// Its position: findings of parallel workers are sorted into the order in which one walker meets them.
    #[serde(skip)]
    pub(crate) key: Key,
    /// Number within its worker's findings: breaks ties between equal keys.
    #[serde(skip)]
    pub(crate) sequence: u64,
}

impl Finding {
    /// A finding of this problem, without a place.
    pub fn new(problem: &'static Problem) -> Finding {
        let mut key = Key::default();
        key.0[0] = problem.rank.into();
        Finding {
            problem,
            place: Place::default(),
            found: None,
            expected: None,
            note: None,
            path: None,
            reference_stops: false,
            beyond_reference: false,
            blocks: None,
            key,
            sequence: 0,
        }
    }

    /// Sets the block group.
    #[must_use]
    pub fn group(mut self, group: u32) -> Finding {
        self.place.group = Some(group);
        self
    }

    /// Sets the inode, which is also its position in the pass.
    #[must_use]
    pub fn inode(mut self, inode: impl Into<u64>) -> Finding {
        let inode = inode.into();
        self.place.inode = Some(inode);
        self.order(inode)
    }

    /// Sets the directory that holds the entry.
    #[must_use]
    pub fn directory(mut self, inode: impl Into<u64>) -> Finding {
        self.place.directory = Some(inode.into());
        self
    }

    /// Sets the block of the device.
    #[must_use]
    pub fn block(mut self, block: u64) -> Finding {
        self.place.block = Some(block);
        self
    }

    /// Sets how many blocks of the file are lost or shared; one, where only a block is given.
    #[must_use]
    pub(crate) fn blocks(mut self, blocks: u64) -> Finding {
        self.blocks = Some(blocks);
        self
    }

    /// Says that `blocks` blocks of the file, of `size` bytes each, lie past the end of the image or device.
    #[must_use]
    pub(crate) fn cut(self, blocks: u64, size: u64) -> Finding {
        let bytes = words::bytes(blocks.saturating_mul(size));
        let note = format!("{bytes} of it lie past the end of the image");
        self.found(blocks).blocks(blocks).note(note)
    }

    /// Blocks of the file that are lost or shared.
    pub(crate) fn lost_blocks(&self) -> u64 {
        self.blocks
            .unwrap_or_else(|| self.place.block.is_some().into())
    }

    /// Sets the block of the file.
    #[must_use]
    pub fn logical(mut self, logical: u64) -> Finding {
        self.place.logical = Some(logical);
        self
    }

    /// Sets the offset in bytes within the block or inode.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Finding {
        self.place.offset = u32::try_from(offset).ok();
        self
    }

    /// Sets the name of the entry or attribute.
    #[must_use]
    pub fn name(mut self, name: &[u8]) -> Finding {
        self.place.name = Some(String::from_utf8_lossy(name).into_owned());
        self
    }

    /// Sets the value on disk.
    #[must_use]
    pub fn found(mut self, value: impl Into<Value>) -> Finding {
        self.found = Some(value.into());
        self
    }

    /// Sets the value that would be right.
    #[must_use]
    pub fn expected(mut self, value: impl Into<Value>) -> Finding {
        self.expected = Some(value.into());
        self
    }

    /// Sets what the values alone do not say.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Finding {
        self.note = Some(note.into());
        self
    }

    /// Sets its position within its pass, where that is not the inode number.
    #[must_use]
    pub fn order(mut self, order: u64) -> Finding {
        self.key.0[1] = order;
        self
    }

    /// The reference program does not look for this.
    #[must_use]
    pub fn beyond_reference(mut self) -> Finding {
        self.beyond_reference = true;
        self
    }

    /// The reference program ends here.
    #[must_use]
    pub fn stops_reference(mut self) -> Finding {
        self.reference_stops = true;
        self
    }

    /// Marks a finding that the reference program never reaches.
    pub(crate) fn hide(&mut self) {
        self.reference_stops = false;
        self.beyond_reference = true;
    }

    /// What findings are sorted by.
    pub(crate) fn position(&self) -> (Key, u64) {
        (self.key, self.sequence)
    }
}
