//! A filesystem on a loop device, and copies of it while it is in use.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::ioctl_getflags;

use crate::check_crashed::ageing::Progress;

/// Bytes of the device.
pub(crate) const SIZE: u64 = 64 << 20;
/// Bytes copied at once, and operations between two copies.
const PIECE: usize = 4 << 20;
const MEANWHILE: u64 = 20;
/// `FS_INDEX_FL` of the kernel's linux/fs.h.
const INDEXED: u32 = 0x1000;

/// A loop mount, undone when dropped.
pub(crate) struct Mounted {
    image: PathBuf,
    device: PathBuf,
    pub(crate) point: PathBuf,
}

impl Mounted {
    /// Makes a filesystem in a new file, and mounts it.
    pub(crate) fn made(image: &Path, options: &[&str]) -> Mounted {
        File::create(image).unwrap().set_len(SIZE).unwrap();
        let made = Command::new("mke2fs")
            .arg("-qF")
            .args(options)
            .arg(image)
            .status();
        assert!(made.unwrap().success(), "{options:?}");
        Mounted::new(image)
    }

    /// Mounts the existing filesystem.
    pub(crate) fn new(image: &Path) -> Mounted {
        let point = image.with_extension("mount");
        fs::create_dir_all(&point).unwrap();
        let mounted = Command::new("mount")
            .args(["-o", "loop"])
            .args([image, &point])
            .status();
        assert!(mounted.unwrap().success(), "{}", image.display());
        Mounted {
            image: image.into(),
            device: device_of(&point),
            point,
        }
    }

    /// Directories at the top that the kernel has indexed.
    pub(crate) fn indexed(&self) -> usize {
        let entries = fs::read_dir(&self.point).unwrap().map(Result::unwrap);
        let directories = entries.filter(|entry| entry.file_type().unwrap().is_dir());
        let indexed = |path: &Path| {
            let flags = ioctl_getflags(File::open(path).unwrap()).unwrap();
            flags.bits() & INDEXED != 0
        };
        directories.filter(|entry| indexed(&entry.path())).count()
    }

    /// Copies the device piece by piece, with changes between the pieces: what has reached the device.
    pub(crate) fn copied(&self, to: &Path, progress: &Progress) {
        in_pieces(&self.image, to, progress);
    }

    /// The same through the page cache of the device: includes what is not written back yet.
    pub(crate) fn copied_with_cache(&self, to: &Path, progress: &Progress) {
        in_pieces(&self.device, to, progress);
    }

    /// Copies the device at one moment, as after a crash. The kernel may write at any time, so the
    /// copy is compared with a second read: if both are equal, the device had these bytes between
    /// the two reads.
    pub(crate) fn at_a_moment(&self, to: &Path, progress: &Progress) {
        progress.between(|| {
            loop {
                let bytes = fs::read(&self.image).unwrap();
                if fs::read(&self.image).unwrap() == bytes {
                    return fs::write(to, bytes).unwrap();
                }
            }
        });
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.point).status();
        let gone = unmounted.is_ok_and(|status| status.success());
        assert!(
            gone || std::thread::panicking(),
            "{} stays mounted",
            self.point.display()
        );
    }
}

fn in_pieces(from: &Path, to: &Path, progress: &Progress) {
    let (mut from, mut copy) = (File::open(from).unwrap(), File::create(to).unwrap());
    let mut piece = vec![0; PIECE];
    for _ in 0..SIZE / PIECE as u64 {
        from.read_exact(&mut piece).unwrap();
        copy.write_all(&piece).unwrap();
        progress.wait_for(MEANWHILE);
    }
}

/// The device of a mount.
fn device_of(point: &Path) -> PathBuf {
    let output = Command::new("findmnt")
        .args(["-no", "SOURCE"])
        .arg(point)
        .output()
        .unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}
