//! Small filesystems of a test's own: mounted as long as the value lives. Without root there is
//! none, and the test says so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    /// A tmpfs, of the size that `options` say (`size=1m`).
    pub(crate) fn tmpfs(options: &str) -> Option<Mounted> {
        let mounted = Mounted::folder()?;
        command(
            "mount",
            &["-t", "tmpfs", "-o", options, "none"],
            &[&mounted.path()],
        );
        Some(mounted)
    }

    /// An ext4 of 16 MiB in a file, made with these options of mke2fs.
    pub(crate) fn ext4(mkfs: &[&str]) -> Option<Mounted> {
        let mounted = Mounted::folder()?;
        let image = mounted.folder.path().join("image");
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(16 << 20).unwrap();
        drop(file);
        command("mkfs.ext4", &[&["-q", "-F"], mkfs].concat(), &[&image]);
        command("mount", &["-o", "loop"], &[&image, &mounted.path()]);
        Some(mounted)
    }

    fn folder() -> Option<Mounted> {
        if !rustix::process::geteuid().is_root() {
            testkit::skip!("needs root");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mnt")).unwrap();
        Some(Mounted { folder })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    pub(crate) fn becomes_read_only(&self) {
        command("mount", &["-o", "remount,ro"], &[&self.path()]);
    }

    /// Waits until the blocks of removed files are free again: a process that a test beside this
    /// one is starting holds every open file between its fork and its exec.
    pub(crate) fn is_empty_soon(&self) {
        let used = || {
            let now = rustix::fs::statvfs(self.path()).unwrap();
            now.f_blocks - now.f_bfree
        };
        let end = Instant::now() + Duration::from_secs(10);
        while used() > 0 {
            assert!(Instant::now() < end, "{} blocks used", used());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Detached: a process just forked may hold a file for another moment.
        let _ = rustix::mount::unmount(self.path(), rustix::mount::UnmountFlags::DETACH);
    }
}

fn command(program: &str, options: &[&str], paths: &[&Path]) {
    let status = Command::new(program).args(options).args(paths).status();
    assert!(status.unwrap().success(), "{program}");
}
