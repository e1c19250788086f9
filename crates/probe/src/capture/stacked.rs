//! Which devices are stacked on others.

use std::fs;
use std::path::Path;

/// The devices of md and of the device mapper on this machine, major << 20 | minor. By sysfs, not by
/// their major numbers, which virtio disks may have as well.
pub fn stacked() -> Vec<u32> {
    below(Path::new("/sys/dev/block"))
}

fn below(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let stacked = entries.filter(|entry| {
        let path = entry.path();
        path.join("md").is_dir() || path.join("dm").is_dir()
    });
    stacked
        .filter_map(|entry| {
            let name = entry.file_name();
            let (major, minor) = name.to_str()?.split_once(':')?;
            Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md_and_dm_are_told_from_disks_with_their_major_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["9:0/md", "253:1/dm", "253:2/queue", "8:0/queue", "odd/md"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let mut found = below(folder.path());
        found.sort_unstable();
        assert_eq!(found, [9 << 20, (253 << 20) | 1]);
        assert_eq!(below(Path::new("/no/such/folder")), [0; 0]);
    }
}
