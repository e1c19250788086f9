//! How much room the filesystem has, before and after.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::Error;
use crate::error::bad;
use params::FillSpec;

/// fs_mark's `FSUse%`: floor(100 x (blocks - blocks free for everyone) / blocks); 0 where a
/// filesystem does not say how large it is.
pub(crate) fn used_percent(base: &Path) -> Result<u32, Error> {
    let fs = statvfs(base)?;
    let used = fs.f_blocks.saturating_sub(fs.f_bavail);
    let percent = u128::from(used) * 100 / u128::from(fs.f_blocks.max(1));
    Ok(percent as u32)
}

fn statvfs(base: &Path) -> Result<rustix::fs::StatVfs, Error> {
    rustix::fs::statvfs(base).map_err(|e| Error::io("examine the filesystem of", base)(e.into()))
}

/// Whether a filesystem that has just reported ENOSPC has a sixty-fourth of its blocks, and inodes,
/// to give once it is synced.
pub(crate) fn comes_back(on: impl AsFd) -> bool {
    let on = on.as_fd();
    rustix::fs::syncfs(on).is_ok()
        && rustix::fs::fstatvfs(on).is_ok_and(|fs| {
            let inodes = fs.f_files == 0 || fs.f_favail > 0;
            inodes && fs.f_bavail > fs.f_blocks / 64
        })
}

/// Refuses files that the filesystems of their bases cannot take.
///
/// fs_mark compares the bytes of one process with the bytes free. Here all processes of an
/// iteration on a filesystem count together, and its free inodes too. What metadata take shows
/// only in the middle.
pub(crate) fn refuse_if_too_much(options: &FillSpec) -> Result<(), Error> {
    let each = options.files * u64::from(options.effective_processes()) / options.dirs.len() as u64;
    let mut filesystems: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
    for base in &options.dirs {
        let device = std::fs::metadata(base)
            .map_err(Error::io("examine", base))?
            .dev();
        filesystems.entry(device).or_insert((base, 0)).1 += each;
    }
    for (base, files) in filesystems.into_values() {
        let fs = statvfs(base)?;
        let free = fs.f_bavail.saturating_mul(fs.f_frsize);
        let needed = u128::from(files) * u128::from(options.size.get());
        // Some filesystems (a tmpfs without a limit, some network ones) say 0 blocks.
        if fs.f_blocks > 0 && needed > u128::from(free) {
            return Err(bad(
                "files",
                options.files,
                format!(
                    "insufficient free space in {}: {files} files of {} bytes need {needed} \
                     bytes, {free} are free; take fewer or smaller files or a larger target",
                    base.display(),
                    options.size
                ),
            ));
        }
        // Others (btrfs) have no fixed number of inodes and say 0.
        if fs.f_files > 0 && files > fs.f_favail {
            return Err(bad(
                "files",
                options.files,
                format!(
                    "too few free inodes in {}: {files} files, {} inodes; take fewer files or \
                     make the filesystem with more inodes (mke2fs -i, mkfs.xfs -i maxpct)",
                    base.display(),
                    fs.f_favail
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::Bytes;

    #[test]
    fn more_than_any_filesystem_has_is_refused_by_bytes_and_by_inodes() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = FillSpec::new(dir.path());
        refuse_if_too_much(&options).unwrap();
        (options.files, options.size) = (1 << 30, Bytes(1 << 32));
        let error = refuse_if_too_much(&options).unwrap_err().to_string();
        assert!(error.contains("insufficient free space"), "{error}");
        assert!(used_percent(dir.path()).unwrap() <= 100);
    }

    #[test]
    fn a_filesystem_with_room_gives_it_back() {
        // On a disk: a tmpfs may be small.
        let here = tempfile::tempdir_in("/var/tmp").unwrap();
        let folder = std::fs::File::open(here.path()).unwrap();
        let fs = statvfs(here.path()).unwrap();
        assert_eq!(comes_back(&folder), fs.f_bavail > fs.f_blocks / 64);
        let proc = std::fs::File::open("/proc").unwrap();
        assert!(!comes_back(&proc), "it has no blocks");
    }
}
