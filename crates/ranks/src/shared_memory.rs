//! Segments of shared memory of ranks.
//!
//! MPI libraries exchange messages of one node through files in /dev/shm, and remove them when they end. A rank that is killed removes
//! nothing, and neither MPICH nor UCX does it for it. So the segments of each rank are noted once it has its place, and what is left of them
//! after the launch is removed. Those of other nodes cannot be reached from here.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Where segments are (shm_overview(7)).
const FOLDER: &str = "/dev/shm";

/// Files of shared memory that a process of this machine has mapped.
pub(crate) fn mapped(pid: u32) -> Vec<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
    segments(&maps.unwrap_or_default())
}

/// The files of shared memory in the text of /proc/PID/maps (proc(5)), each once. A removed one is not among them.
fn segments(maps: &str) -> Vec<PathBuf> {
    let names = maps.lines().filter_map(|line| {
        let path = Path::new(line.get(line.find('/')?..)?);
        let is_direct = path.parent() == Some(Path::new(FOLDER));
        (is_direct && !line.ends_with(" (deleted)")).then(|| path.to_owned())
    });
    let mut names: Vec<PathBuf> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Removes those that are still there and belong to the caller.
pub(crate) fn remove(segments: &[PathBuf]) {
    for segment in segments {
        let is_ours = std::fs::symlink_metadata(segment)
            .is_ok_and(|meta| meta.is_file() && meta.uid() == geteuid().as_raw());
        if is_ours {
            // Another user of the same segment may have removed it meanwhile.
            let _ = std::fs::remove_file(segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_read_from_maps() {
        let maps = "\
7f0000000000-7f0000001000 rw-s 00000000 00:19 21 /dev/shm/mpich_shm_1a_0
7f0000001000-7f0000002000 rw-s 00001000 00:19 21 /dev/shm/mpich_shm_1a_0
7f0000002000-7f0000003000 rw-s 00000000 00:19 22 /dev/shm/gone (deleted)
7f0000003000-7f0000004000 rw-s 00000000 00:19 23 /dev/shm/under/it
7f0000004000-7f0000005000 r-xp 00000000 fe:00 24 /usr/lib/libc.so.6
7f0000005000-7f0000006000 rw-p 00000000 00:00 0
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]
";
        assert_eq!(segments(maps), [Path::new("/dev/shm/mpich_shm_1a_0")]);
        assert!(mapped(std::process::id()).is_empty());
    }

    #[test]
    fn only_files_that_are_there_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
        remove(&[file.clone(), link.clone(), folder.path().join("absent")]);
        assert!(!file.exists() && link.is_symlink());
    }
}
