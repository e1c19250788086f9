//! What each user, group and project has, for the quota files.
//!
//! Who there is must be known before anything is placed, because it decides the size of the files;
//! how much each has is known only afterwards, since the blocks that map a file depend on its
//! location.
//!
//! The inode of an attribute's value is not charged; instead each owner pays for the whole value and an inode, as if it
//! had the value alone. The kernel and e2fsck count so, and what an owner pays is in its `i_blocks` as well.

use std::collections::BTreeMap;

use ondisk::ext4::inode::flag;
use ondisk::ext4::quota::{self, Entry, Kind as Quota};
use zerocopy::FromZeros;

use crate::Error;
use crate::ext4::layout::Layout;
use crate::ext4::plan::{Kind, Object, Owed};

/// Grace period of a soft limit in seconds: a week, as in the library that mke2fs uses.
const GRACE: u32 = 7 * 24 * 60 * 60;

/// Bytes and inodes of each number; empty without quotas.
#[derive(Debug, Default, Clone)]
pub(in crate::ext4) struct Usage {
    users: BTreeMap<u32, Used>,
    groups: BTreeMap<u32, Used>,
    projects: BTreeMap<u32, Used>,
    wanted: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Used {
    bytes: u64,
    inodes: u64,
}

impl Used {
    fn add(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.inodes += more.inodes;
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
        this.projects.insert(0, Used::default());
        this
    }

    /// Whether usage is needed.
    pub(in crate::ext4) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Adds the object's user, group and project, with no usage yet.
    pub(in crate::ext4) fn meet(&mut self, object: &Object) -> Result<(), Error> {
        if !matches!(object.kind, Kind::Free | Kind::Value) {
            self.users.entry(object.uid).or_default();
            self.groups.entry(object.gid).or_default();
            self.projects.entry(object.project).or_default();
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
        for owners in [&mut self.users, &mut self.groups, &mut self.projects] {
            for used in owners.values_mut() {
                *used = Used::default();
            }
        }
    }

    /// An object takes this many bytes, and is charged for more.
    pub(in crate::ext4) fn add(&mut self, object: &Object, bytes: u64, owed: Owed) {
        if object.kind == Kind::Value {
            return;
        }
        let more = Used {
            bytes: bytes + owed.bytes,
            inodes: 1 + owed.inodes,
        };
        for (owners, id) in [
            (&mut self.users, object.uid),
            (&mut self.groups, object.gid),
            (&mut self.projects, object.project),
        ] {
            owners.entry(id).or_default().add(more);
        }
    }

    /// A quota file.
    pub(in crate::ext4) fn file(&self, kind: Quota) -> Vec<u8> {
        let owners = match kind {
            Quota::User => &self.users,
            Quota::Group => &self.groups,
            Quota::Project => &self.projects,
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
