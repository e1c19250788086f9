//! Block bitmaps of all groups on the device, before a volume is read.
//!
//! ocfs2 writes the descriptor of every group when a volume is made; ext4 leaves the bitmap of a group unwritten until something is
//! allocated there. On a loop image such a block is a hole, whose reading costs nothing below, and it says nothing to verify. So a file is
//! given everything that is free, and removed again. Rejected: `-O ^uninit_bg,^metadata_csum`, which has mke2fs write the bitmaps
//! but every inode table be read to its end; a directory in each group, which leaves every table nearly empty where his were full.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use study::FilesystemKind;

/// Most bytes that a file of ext4 with blocks of 4 KiB can have, less one of them.
const LARGEST: u64 = (16 << 40) - (2 << 12);
/// Name of the files that hold what is free.
const NAME: &str = ".fslab-free";

/// Why a volume is not as it should be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: its free blocks could not be given to a file and taken back, to have every bitmap written: {why}; look at the kernel's log", .mount_point.display()
)]
pub(crate) struct Unsettled {
    mount_point: PathBuf,
    why: io::Error,
}

/// Gives all free blocks of a mounted ext4 to files, removes these, and syncs.
///
/// # Errors
/// The filesystem can neither report what is free nor allocate it, or a file cannot be removed.
pub(crate) fn settle(kind: FilesystemKind, mount_point: &Path) -> Result<(), Unsettled> {
    // ext2 and ext3 as mke2fs makes them have every bitmap written, and no extents to allocate by.
    if kind != FilesystemKind::Ext4 {
        return Ok(());
    }
    taken_and_freed(mount_point).map_err(|why| Unsettled {
        mount_point: mount_point.to_owned(),
        why,
    })
}

fn taken_and_freed(mount_point: &Path) -> io::Result<()> {
    let root = File::open(mount_point)?;
    // What the fill has put off takes its blocks first.
    rustix::fs::syncfs(&root)?;
    let mut made = Vec::new();
    let given = give(mount_point, &mut made);
    for path in made {
        fs::remove_file(path)?;
    }
    given?;
    rustix::fs::syncfs(&root)?;
    Ok(())
}

fn give(mount_point: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    loop {
        let free = rustix::fs::statvfs(mount_point)?;
        let bytes = (free.f_bfree * free.f_frsize).min(LARGEST);
        if bytes < free.f_frsize {
            return Ok(());
        }
        let path = mount_point.join(format!("{NAME}-{}", made.len()));
        let file = File::create_new(&path)?;
        made.push(path);
        match rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes) {
            // Its own extents need blocks as well: what could be given was.
            Err(Errno::NOSPC) => return Ok(()),
            other => other?,
        }
    }
}
