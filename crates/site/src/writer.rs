//! Whether a run is being written, without touching its lock.
//!
//! A run's writer holds an exclusive flock on the file `lock`, whose text is its process id. To try that lock, even shared and
//! for a moment, would be in the way of a writer that starts. The kernel lists locks in `/proc/locks` (proc_locks(5)), so it is
//! enough to read. Device numbers are not compared: those of btrfs and overlayfs differ from what stat reports. The
//! process id, which the lock's file has too, is compared instead.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rundir::RunDir;

/// The exclusive flocks of the system: process id and inode number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks(Vec<(u32, u64)>);

impl Locks {
    /// Those of this moment; none where `/proc/locks` cannot be read.
    pub(crate) fn now() -> Locks {
        Locks::of(&fs::read_to_string("/proc/locks").unwrap_or_default())
    }

    fn of(text: &str) -> Locks {
        Locks(text.lines().filter_map(Locks::line).collect())
    }

    /// `1: FLOCK  ADVISORY  WRITE 4711 fd:01:131077 0 EOF`. A line with `->` waits for its lock.
    fn line(line: &str) -> Option<(u32, u64)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words[..] else {
            return None;
        };
        let inode = place.rsplit(':').next()?;
        Some((pid.parse().ok()?, inode.parse().ok()?))
    }

    /// Who writes the run in this folder, in words: `pid 4711`.
    pub(crate) fn writer(&self, dir: &Path) -> Option<String> {
        let file = RunDir::open(dir).ok()?.read("lock").ok()??;
        let inode = file.metadata().ok()?.ino();
        let mut text = String::new();
        file.take(32).read_to_string(&mut text).ok()?;
        let pid: u32 = text.trim().parse().ok()?;
        let mut of_inode = self.0.iter().filter(|(_, of)| *of == inode);
        of_inode
            .any(|(holder, _)| *holder == pid)
            .then(|| format!("pid {pid}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exclusive_flock_that_is_held_counts() {
        let text = "1: FLOCK  ADVISORY  WRITE 4711 fd:01:131077 0 EOF\n\
                    1: -> FLOCK  ADVISORY  WRITE 12 fd:01:131077 0 EOF\n\
                    2: POSIX  ADVISORY  WRITE 13 00:16:77 0 EOF\n\
                    3: FLOCK  ADVISORY  READ  14 fd:01:78 0 EOF\n\
                    4: FLOCK\nnonsense\n";
        assert_eq!(Locks::of(text).0, [(4711, 131_077)]);
    }

    #[test]
    fn a_run_that_is_being_written_is_found_and_its_lock_is_not_taken() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("run");
        assert_eq!(Locks::now().writer(&dir), None);
        let folder = record::RunFolder::create(&dir).unwrap();
        let found = Locks::now().writer(&dir);
        assert_eq!(found, Some(format!("pid {}", std::process::id())));
        drop(folder);
        assert_eq!(Locks::now().writer(&dir), None);
        fs::remove_file(dir.join("lock")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.join("lock")).unwrap();
        assert_eq!(Locks::now().writer(&dir), None, "no link is followed");
    }
}
