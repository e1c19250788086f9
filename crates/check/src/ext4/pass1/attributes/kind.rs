//! Whether an inode matches its mode, and its encryption.

use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::flag;
use ondisk::ext4::{FileType, Inode};

use super::pending::Target;
use super::search::CONTEXT;
use super::{Worker, policy};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P1_CORRUPT_ENCRYPTION_XATTR, P1_FAST_SYMLINK_EXTENT_FL, P1_MISSING_ENCRYPTION_XATTR,
    P1_SET_IMMUTABLE, P1_SET_NONZSIZE, P1_SPECIAL_EXTENTS_IDATA, P1_TREAT_AS_DIRECTORY,
};
use crate::ext4::pass1::special::{self, Link, Probe};
use crate::frame::finding::Finding;

/// What an inode turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The type by its mode, if it has a valid one.
    pub(crate) file_type: Option<FileType>,
    /// It does not match its mode: pass 2 reports that where a name leads to it. Links with a target in a block are decided later,
    /// see [`Attributes::bad`](super::Attributes::bad).
    pub(crate) bad: bool,
    /// A sound link with inline content: it has no blocks to count, and the reference does not begin to.
    pub(crate) done: bool,
}

impl Worker<'_> {
    /// Right after [`Worker::check_body`]: whether it is a directory in disguise, what it is encrypted with, whether
    /// devices, pipes, sockets and links match their mode. `sound_checksum` as for [`Worker::check_flags`].
    pub(crate) fn check_kind(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        sound_checksum: bool,
        log: &mut Log,
    ) -> Kind {
        let file_type = inode.file_type();
        let mut kind = Kind {
            file_type,
            bad: false,
            done: false,
        };
        if let Some(FileType::Regular | FileType::Directory) = file_type {
            self.check_policy(ino, inode, sound_checksum, log);
            return kind;
        }
        let by_extents =
            self.volume.sb.has_incompat(Incompat::EXTENTS) && inode.has_flags(flag::EXTENTS);
        if file_type == Some(FileType::Symlink) {
            if by_extents && !special::maps_blocks(self.volume, inode) {
                log.add(Finding::new(&P1_FAST_SYMLINK_EXTENT_FL).inode(ino));
            }
        } else if self.is_hidden_directory(ino, inode, sound_checksum) {
            let mode = inode.raw().i_mode.get();
            let finding = Finding::new(&P1_TREAT_AS_DIRECTORY).inode(ino);
            log.add(finding.found(format!("i_mode {mode:#o}")));
        }
        self.check_policy(ino, inode, sound_checksum, log);
        match file_type {
            Some(FileType::Symlink) => self.check_link(ino, inode, sound_checksum, &mut kind, log),
            Some(_) if special::is_device_like(inode) => check_device(ino, inode, log),
            _ => kind.bad = true,
        }
        kind
    }

    fn is_hidden_directory(&mut self, ino: u32, inode: &Inode<'_>, sound: bool) -> bool {
        if inode.block_words()[0] == 0 {
            return false;
        }
        let inline_size = if sound {
            self.inline_size(ino, inode)
        } else {
            None
        };
        let mut probe = Probe {
            volume: self.volume,
            block: &mut self.block,
        };
        probe.is_directory(ino, inode, || inline_size)
    }

    fn check_link(
        &mut self,
        ino: u32,
        inode: &Inode<'_>,
        sound: bool,
        kind: &mut Kind,
        log: &mut Log,
    ) {
        let volume = self.volume;
        let judged = special::link(volume, inode, || {
            if sound {
                self.inline_size(ino, inode)
            } else {
                None
            }
        });
        match judged {
            Link::Bad => kind.bad = true,
            Link::Sound => {
                check_immutable(ino, inode.flags(), log);
                kind.done = inode.has_flags(flag::INLINE_DATA);
            }
            Link::InBlock(block) => self.pending.targets.push(Target {
                block,
                ino,
                size: inode.raw().i_size_lo.get(),
                flags: inode.flags(),
            }),
        }
    }

    fn check_policy(&mut self, ino: u32, inode: &Inode<'_>, sound: bool, log: &mut Log) {
        if !inode.has_flags(flag::ENCRYPT) {
            return;
        }
        let context = if sound {
            self.search().find(ino, inode, CONTEXT).ok().flatten()
        } else {
            None
        };
        let Some(context) = context else {
            log.add(Finding::new(&P1_MISSING_ENCRYPTION_XATTR).inode(ino));
            return;
        };
        if let Some(policy) = self.shared.numbers.of(&context) {
            policy::push(&mut self.ranges, ino, policy);
            return;
        }
        let found = match context.first() {
            Some(version) => format!("version {version}, {} bytes", context.len()),
            None => "no bytes".into(),
        };
        log.add(
            Finding::new(&P1_CORRUPT_ENCRYPTION_XATTR)
                .inode(ino)
                .found(found)
                .expected("28 bytes of version 1 or 40 of version 2"),
        );
    }
}

/// A device, pipe or socket that can be one: flags and size that it should not have.
fn check_device(ino: u32, inode: &Inode<'_>, log: &mut Log) {
    let flags = inode.flags();
    if flags & (flag::EXTENTS | flag::INLINE_DATA) != 0 {
        let finding = Finding::new(&P1_SPECIAL_EXTENTS_IDATA).inode(ino);
        log.add(finding.found(format!("i_flags {flags:#x}")));
    }
    check_immutable(ino, flags, log);
    if inode.size() != 0 {
        let finding = Finding::new(&P1_SET_NONZSIZE).inode(ino);
        log.add(finding.found(inode.size()).expected(0_u32));
    }
}

/// A flag that only files and directories should have.
pub(super) fn check_immutable(ino: u32, flags: u32, log: &mut Log) {
    if flags & (flag::IMMUTABLE | flag::APPEND) != 0 {
        let finding = Finding::new(&P1_SET_IMMUTABLE).inode(ino);
        log.add(finding.found(format!("i_flags {flags:#x}")));
    }
}
