//! Cold means proven cold.
//!
//! Writing 3 to /proc/sys/vm/drop_caches drops clean pages only, skips pages that are mapped,
//! locked or under writeback, and reports nothing. So the filesystem is synced first, and after
//! the drop cachestat(2) (mincore(2) on older kernels) counts what is still resident in each given
//! file. A few rounds are allowed: writeback may end between the sync and the drop.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{Advice, fadvise, syncfs};
use workload::residency;

use crate::syscall::block;
use crate::{Error, Result, host};

/// Rounds of sync and drop before pages that stay are reported.
/// Others look at disks too: each mkfs.btrfs on the machine reads the superblocks of all of them.
const ROUNDS: u32 = 8;

/// What the drop achieved.
#[derive(Clone, Debug, PartialEq)]
pub struct ColdProof {
    /// Pages of the given files still in the page cache.
    pub resident_pages: u64,
    /// Pages the files have.
    pub pages: u64,
    /// Files looked at.
    pub files: usize,
    /// How caches were dropped and residency was read.
    pub method: String,
    /// Whether no page is resident; `None` when no file was given, so that nothing is proven.
    pub holds: Option<bool>,
}

impl ColdProof {
    /// One line of evidence.
    pub fn detail(&self) -> String {
        format!(
            "{} of {} pages resident in {} files after {}",
            self.resident_pages, self.pages, self.files, self.method
        )
    }
}

/// Drops caches for the filesystem at `mount_point` and proves it for `files` and `extra` (a loop
/// image below it). Without root only the given files are dropped, and the proof says so.
pub fn drop_and_prove(mount_point: &Path, files: &[&Path], extra: &[&Path]) -> Result<ColdProof> {
    let filesystem = File::open(mount_point)
        .map_err(|error| Error::io(mount_point, "cannot open it to drop caches", error))?;
    let open: Vec<(&Path, File)> = files
        .iter()
        .chain(extra)
        .map(|&path| {
            File::open(path)
                .map(|file| (path, file))
                .map_err(|error| Error::io(path, "cannot open it to prove it cold", error))
        })
        .collect::<Result<_>>()?;
    let mut proof = None;
    for round in 0..ROUNDS {
        if round > 0 {
            thread::sleep(Duration::from_millis(50));
        }
        syncfs(&filesystem).map_err(|error| Error::io(mount_point, "cannot sync it", error))?;
        let dropping = drop_once(&open)?;
        let found = count(&open, dropping)?;
        let done = found.resident_pages == 0;
        proof = Some(found);
        if done {
            break;
        }
    }
    proof.ok_or_else(|| Error::io(mount_point, "no round was made", io::ErrorKind::Other))
}

/// Drops what is cached of an unmounted device and of the images below it (fsync, BLKFLSBUF, then
/// everything), and proves it. Before Linux 6.5 only mincore(2) counts, which cannot be asked about
/// a device: `holds` is `None` then, unless an image below shows that it does not hold.
pub fn drop_device(node: &Path, backing: &[&Path]) -> Result<ColdProof> {
    let open = |path| {
        File::open(path).map_err(|error| Error::io(path, "cannot open it to drop caches", error))
    };
    let device = open(node)?;
    let mut files = vec![(node, open(node)?)];
    for &image in backing {
        files.push((image, open(image)?));
    }
    let size =
        block::size(&device).map_err(|error| Error::io(node, "cannot see its size", error))?;
    let mut proof = None;
    for round in 0..ROUNDS {
        if round > 0 {
            thread::sleep(Duration::from_millis(50));
        }
        device
            .sync_all()
            .map_err(|error| Error::io(node, "cannot sync it", error))?;
        block::flush_buffers(&device)
            .map_err(|error| Error::io(node, "cannot flush its buffers (BLKFLSBUF)", error))?;
        let dropping = format!("BLKFLSBUF, {}", drop_once(&files)?);
        let mut found = count(&files, &dropping)?;
        // A device node has no length of its own.
        found.pages += size.div_ceil(rustix::param::page_size() as u64);
        let countable = residency::counted(device.as_fd()).is_ok_and(|(_, by)| by == "cachestat");
        if !countable && found.holds == Some(true) {
            found.holds = None;
        }
        let done = found.resident_pages == 0;
        proof = Some(found);
        if done {
            break;
        }
    }
    proof.ok_or_else(|| Error::io(node, "no round was made", io::ErrorKind::Other))
}

fn drop_once(open: &[(&Path, File)]) -> Result<&'static str> {
    let everything = Path::new("/proc/sys/vm/drop_caches");
    if host::is_root() && fs::write(everything, "3").is_ok() {
        return Ok("drop_caches 3");
    }
    for (path, file) in open {
        file.sync_data()
            .map_err(|error| Error::io(path, "cannot sync it", error))?;
        fadvise(file, 0, None, Advice::DontNeed)
            .map_err(|error| Error::io(path, "cannot drop its pages (posix_fadvise)", error))?;
    }
    Ok("posix_fadvise DONTNEED on these files alone (no root: metadata stays cached)")
}

fn count(open: &[(&Path, File)], dropping: &str) -> Result<ColdProof> {
    let mut by = "cachestat";
    let (mut resident_pages, mut pages) = (0, 0);
    for (path, file) in open {
        let failed = |error| Error::io(path, "cannot count its resident pages", error);
        let (seen, called) = residency::counted(file.as_fd()).map_err(failed)?;
        resident_pages += seen.resident;
        pages += seen.pages;
        if called != "cachestat" {
            by = called;
        }
    }
    Ok(ColdProof {
        resident_pages,
        pages,
        files: open.len(),
        method: format!("{dropping}, counted by {by}"),
        holds: (!open.is_empty()).then_some(resident_pages == 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_warm_file_is_made_cold() {
        // Not in /tmp: on a tmpfs nothing can ever be cold. Its own folder is what is synced: the
        // working directory may be on another filesystem.
        let mut file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let page = rustix::param::page_size() as u64;
        let pages = (1 << 20) / page;
        let warm = residency::of(file.as_fd()).unwrap();
        assert_eq!((warm.resident, warm.pages), (pages, pages));
        let proof = drop_and_prove(file.path().parent().unwrap(), &[file.path()], &[]).unwrap();
        assert_eq!(proof.pages, pages);
        assert_eq!(proof.holds, Some(true), "{proof:?}");
        assert_eq!(residency::of(file.as_fd()).unwrap().resident, 0);
    }

    #[test]
    fn without_files_nothing_is_proven() {
        let proof = drop_and_prove(Path::new("."), &[], &[]).unwrap();
        assert_eq!(proof.holds, None);
    }

    #[test]
    fn a_missing_file_is_an_error_with_its_name() {
        let error = drop_and_prove(Path::new("."), &[Path::new("/no/such")], &[]).unwrap_err();
        assert!(error.to_string().starts_with("/no/such: "), "{error}");
    }
}
