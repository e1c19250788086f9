//! One fault, and where it is.

use serde::Serialize;

use crate::problem::Problem;

/// Where a fault is. Every part is optional: a wrong count in the superblock has none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Block group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Inode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inode: Option<u32>,
    /// The directory that the faulty entry lies in, where that is not `inode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<u32>,
    /// Block of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Block within the file or directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical: Option<u64>,
    /// Bytes from the start of that block, or of the inode where no block is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// Name of the entry or of the attribute, bytes that are not UTF-8 replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What was found, or would be right. Printed in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count or a block.
    Number(u64),
    /// Words: a checksum as `0x..`, a range as `a-b`, a list.
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

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which.
    #[serde(flatten)]
    pub problem: &'static Problem,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    /// What should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// What the values alone do not say: the field's name, which copy, what could not be judged because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Path of the inode, filled in at the end where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `e2fsck -fn` gives up here; what follows it has not seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reference_stops: bool,
    /// `e2fsck -fn` does not look for this, or not with `-n`: it counts for the strict verdict alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beyond_reference: bool,
    /// The pass or part of one in which it is raised, as [`Problem::subpass`] has it: mostly that of its problem.
    #[serde(skip)]
    pub(crate) subpass: u16,
    /// Where it comes within its pass: findings of parallel workers are put into the order in which one walker meets them.
    #[serde(skip)]
    pub order: u64,
    /// Where it comes among those that are put aside until what `order` names is through; 0 for those that are not.
    #[serde(skip)]
    pub(crate) aside: u64,
    /// How far its worker was with what `order` names: parts of one inode are judged at different times.
    #[serde(skip)]
    pub(crate) stage: u8,
    /// Who lists the block, where several directories list it, or one does so several times: decides among equals of order.
    #[serde(skip)]
    pub(crate) listing: u64,
    /// When its worker found it: decides among equals of all that.
    #[serde(skip)]
    pub(crate) sequence: u64,
}

impl Finding {
    /// The reference does not come to see it.
    pub(crate) fn hide(&mut self) {
        self.reference_stops = false;
        self.beyond_reference = true;
    }

    /// This problem, somewhere.
    pub fn new(problem: &'static Problem) -> Finding {
        Finding {
            problem,
            place: Place::default(),
            found: None,
            expected: None,
            note: None,
            path: None,
            reference_stops: false,
            beyond_reference: false,
            subpass: problem.subpass(),
            order: 0,
            aside: 0,
            stage: 0,
            listing: 0,
            sequence: 0,
        }
    }

    /// In this block group.
    #[must_use]
    pub fn group(mut self, group: u32) -> Finding {
        self.place.group = Some(group);
        self
    }

    /// In this inode, which also gives its order.
    #[must_use]
    pub fn inode(mut self, inode: u32) -> Finding {
        self.place.inode = Some(inode);
        self.order = inode.into();
        self
    }

    /// In an entry of this directory.
    #[must_use]
    pub fn directory(mut self, inode: u32) -> Finding {
        self.place.directory = Some(inode);
        self
    }

    /// At this block of the device.
    #[must_use]
    pub fn block(mut self, block: u64) -> Finding {
        self.place.block = Some(block);
        self
    }

    /// At this block of the file.
    #[must_use]
    pub fn logical(mut self, logical: u64) -> Finding {
        self.place.logical = Some(logical);
        self
    }

    /// At this byte of it.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Finding {
        self.place.offset = u32::try_from(offset).ok();
        self
    }

    /// The name of the entry or attribute.
    #[must_use]
    pub fn name(mut self, name: &[u8]) -> Finding {
        self.place.name = Some(String::from_utf8_lossy(name).into_owned());
        self
    }

    /// What is there.
    #[must_use]
    pub fn found(mut self, value: impl Into<Value>) -> Finding {
        self.found = Some(value.into());
        self
    }

    /// What should be.
    #[must_use]
    pub fn expected(mut self, value: impl Into<Value>) -> Finding {
        self.expected = Some(value.into());
        self
    }

    /// What the values alone do not say.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Finding {
        self.note = Some(note.into());
        self
    }

    /// Where it comes within its pass, where that is not its inode's number.
    #[must_use]
    pub fn order(mut self, order: u64) -> Finding {
        self.order = order;
        self
    }

    /// Raised in the pass of another problem.
    #[must_use]
    pub(crate) fn beside(mut self, other: &Problem) -> Finding {
        self.subpass = other.subpass();
        self
    }

    /// In a block as this directory lists it at this place.
    #[must_use]
    pub(crate) fn listed(mut self, directory: u32, logical: u32) -> Finding {
        self.listing = u64::from(directory) << 32 | u64::from(logical);
        self
    }

    /// The reference does not look for this, or not with `-n`.
    #[must_use]
    pub fn beyond_reference(mut self) -> Finding {
        self.beyond_reference = true;
        self
    }

    /// When one walker would meet it.
    pub(crate) fn place_in_check(&self) -> (u16, u64, u64, u8, u64, u64) {
        (
            self.subpass,
            self.order,
            self.aside,
            self.stage,
            self.listing,
            self.sequence,
        )
    }

    /// The reference gives up here.
    #[must_use]
    pub fn stops_reference(mut self) -> Finding {
        self.reference_stops = true;
        self
    }
}
