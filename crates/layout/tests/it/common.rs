//! Filesystems on loop devices, and the programs that ours are compared with.

#![allow(unreachable_pub, reason = "shared by the tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// A fresh mounted filesystem; unmounted and gone when dropped.
pub struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    /// `None`, and a word about it, without root.
    pub fn new(mkfs: &[&str], mib: u64, options: &str) -> Option<Mounted> {
        if !rustix::process::geteuid().is_root() {
            testkit::skip!("needs root");
            return None;
        }
        // Not in /tmp, which may be in memory.
        let folder = tempfile::Builder::new()
            .prefix("fslab-layout-")
            .tempdir_in("/var/tmp")
            .unwrap();
        let image = folder.path().join("image");
        std::fs::File::create(&image)
            .unwrap()
            .set_len(mib << 20)
            .unwrap();
        let mut words = mkfs.to_vec();
        let path = image.to_str().unwrap().to_owned();
        words.push(&path);
        run(&words);
        let mounted = Mounted { folder };
        std::fs::create_dir(mounted.path()).unwrap();
        let point = mounted.path().to_str().unwrap().to_owned();
        run(&["mount", "-o", &format!("loop,{options}"), &path, &point]);
        Some(mounted)
    }

    /// The mount point.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    /// The image.
    pub fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    /// The loop device.
    pub fn device(&self) -> String {
        let point = self.path();
        let printed = run(&["findmnt", "-n", "-o", "SOURCE", point.to_str().unwrap()]);
        printed.trim().to_owned()
    }

    /// Unmounts it, and waits until it is unmounted: a mount namespace that another test has just made keeps a copy.
    pub fn unmount(&self) {
        let device = self.device();
        run(&["umount", self.path().to_str().unwrap()]);
        let claim = OFlags::EXCL | OFlags::RDONLY;
        while rustix::fs::open(device.as_str(), claim, Mode::empty()).err() == Some(Errno::BUSY) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// A file's path.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Twice is no harm: a test may have unmounted it. Detached, since a program that a test beside
        // this one is starting holds every open file between its fork and its exec.
        let _ = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}

/// Runs a program, which must succeed, and returns its stdout.
pub fn run(words: &[&str]) -> String {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = Command::new(words[0])
        .env("PATH", path)
        .args(&words[1..])
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}; install it", words[0]));
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Writes a file of many kinds of rows: data, a hole, blocks reserved and never written, and a tail
/// that is not whole.
pub fn varied(path: &Path) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::create(path).unwrap();
    file.write_all_at(&vec![1; 300_000], 0).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 600_000, 200_000).ok();
    file.write_all_at(&vec![2; 10_000], 1_000_001).unwrap();
    file.sync_all().unwrap();
}

/// Two files that were written in turns, so that both have many extents.
pub fn interleaved(a: &Path, b: &Path, turns: u64) {
    use std::os::unix::fs::FileExt;
    let files = [a, b].map(|path| std::fs::File::create(path).unwrap());
    for turn in 0..turns {
        for file in &files {
            file.write_all_at(&vec![turn as u8; 16384], turn * 16384)
                .unwrap();
            file.sync_all().unwrap();
        }
    }
}
