//! What each user, group and project has, for the quota files.
//!
//! Who there is must be known before anything is placed, because it decides the size of the files; how much each has is known only
//! afterwards, since the blocks that map a file depend on where it lies.

use std::collections::BTreeMap;

use ondisk::ext4::inode::flag;
use ondisk::ext4::quota::{self, Entry, Kind as Quota};
use zerocopy::FromZeros;

use crate::ext4::Error;
use crate::ext4::layout::Layout;
use crate::ext4::plan::{Kind, Object};

/// Seconds for which a soft limit may be exceeded: a week, as the library that mke2fs uses has it.
const GRACE: u32 = 7 * 24 * 60 * 60;

/// Bytes and inodes of each number; empty without quotas.
#[derive(Debug, Default, Clone)]
pub(in crate::ext4) struct Usage {
    users: BTreeMap<u32, Used>,
    groups: BTreeMap<u32, Used>,
    /// All belongs to project 0.
    all: Used,
    wanted: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Used {
    bytes: u64,
    inodes: u64,
}

impl Used {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.inodes += 1;
    }
}

/// Owners that are counted at most; each takes some dozens of bytes.
const MOST: usize = 1 << 18;

impl Usage {
    /// Nothing yet but root, who has the first directory.
    pub(in crate::ext4) fn new(layout: &Layout) -> Self {
        let mut this = Self {
            wanted: layout.quotas().next().is_some(),
            ..Self::default()
        };
        this.users.insert(0, Used::default());
        this.groups.insert(0, Used::default());
        this
    }

    /// Whether anybody asks.
    pub(in crate::ext4) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Somebody exists.
    pub(in crate::ext4) fn meet(&mut self, object: &Object) -> Result<(), Error> {
        if object.kind == Kind::Value {
            return Err(Error::Option(
                "quota cannot be had with values of attributes in inodes of their own; clear one of both".to_owned(),
            ));
        }
        if object.kind != Kind::Free {
            self.users.entry(object.uid).or_default();
            self.groups.entry(object.gid).or_default();
        }
        if self.users.len().max(self.groups.len()) > MOST {
            return Err(Error::Option(format!(
                "quota files of more than {MOST} owners are not made; take fewer owners, or clear quota"
            )));
        }
        Ok(())
    }

    /// Forgets what they have.
    pub(in crate::ext4) fn clear(&mut self) {
        let used = self.users.values_mut().chain(self.groups.values_mut());
        used.for_each(|used| *used = Used::default());
        self.all = Used::default();
    }

    /// An object takes so many bytes.
    pub(in crate::ext4) fn add(&mut self, object: &Object, bytes: u64) {
        for (owners, id) in [
            (&mut self.users, object.uid),
            (&mut self.groups, object.gid),
        ] {
            owners.entry(id).or_default().add(bytes);
        }
        self.all.add(bytes);
    }

    /// A quota file.
    pub(in crate::ext4) fn file(&self, kind: Quota) -> Vec<u8> {
        let all = BTreeMap::from([(0, self.all)]);
        let owners = match kind {
            Quota::User => &self.users,
            Quota::Group => &self.groups,
            Quota::Project => &all,
        };
        let entry = |(id, used): (&u32, &Used)| {
            let mut entry = Entry::new_zeroed();
            entry.dqb_id = (*id).into();
            entry.dqb_curspace = used.bytes.into();
            entry.dqb_curinodes = used.inodes.into();
            entry
        };
        let entries: Vec<Entry> = owners.iter().map(entry).collect();
        quota::write(kind, &entries, GRACE, GRACE)
    }

    /// The file as an object; its size depends on who there is, and not on what they have.
    pub(in crate::ext4) fn object(&self, kind: Quota) -> Object {
        Object {
            kind: Kind::File,
            size: self.file(kind).len() as u64,
            links: 1,
            permissions: 0o600,
            flags: flag::IMMUTABLE,
            ..Object::default()
        }
    }
}
