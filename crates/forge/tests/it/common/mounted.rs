//! Mounts of images that tests forged.

use std::path::Path;
use std::process::Command;

use super::unmount::unmount;

/// A mount that ends with the test, on a loop device of its own.
///
/// `mount -o loop` takes up a device that still holds the image, and says nothing worse than a warning when that one
/// is read-only: as it is while another process has the device of the previous mount open.
pub(crate) struct Mounted {
    dir: tempfile::TempDir,
    device: String,
    there: bool,
}

impl Mounted {
    /// With `ro` or `rw` among `options`.
    pub(crate) fn new(image: &Path, options: &str) -> Mounted {
        Mounted::of("ext4", image, options)
    }

    /// The same for a filesystem of another type.
    pub(crate) fn of(kind: &str, image: &Path, options: &str) -> Mounted {
        let mut attach = Command::new("losetup");
        attach.args(["--find", "--show"]);
        if options.split(',').any(|option| option == "ro") {
            attach.arg("--read-only");
        }
        let output = attach.arg(image).output().expect("losetup starts");
        assert!(output.status.success(), "{output:?}");
        let device = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let mut mounted = Mounted {
            dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            device,
            there: false,
        };
        let output = Command::new("mount")
            .args(["-t", kind, "-o", options, &mounted.device])
            .arg(mounted.dir.path())
            .output()
            .expect("mount starts");
        assert!(output.status.success(), "{output:?}");
        mounted.there = true;
        mounted
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn unmount(mut self) {
        self.there = false;
        unmount(self.dir.path()).unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.there
            && let Err(error) = unmount(self.dir.path())
        {
            eprintln!("{error}");
        }
        let _ = Command::new("losetup")
            .args(["--detach", &self.device])
            .output();
    }
}
