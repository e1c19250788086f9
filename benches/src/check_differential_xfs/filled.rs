//! Sound filesystems that the kernel fills.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{XattrFlags, setxattr};

/// Bytes of the images.
const SIZE: u64 = 400 << 20;

/// Makes one; false where it cannot be mounted.
pub(super) fn write(image: &Path, words: &[&str]) -> Result<bool> {
    File::create(image)?.set_len(SIZE)?;
    let made = Command::new("mkfs.xfs")
        .args(["-q", "-f"])
        .args(words)
        .arg(image)
        .status()?;
    ensure!(made.success(), "mkfs.xfs {words:?}: {made}");
    let at = image.with_extension("mounted");
    fs::create_dir(&at)?;
    let mounted = Command::new("mount")
        .args(["-o", "loop"])
        .arg(image)
        .arg(&at)
        .output()?;
    if !mounted.status.success() {
        return Ok(false);
    }
    let filled = fill(&at);
    let unmounted = Command::new("umount").arg(&at).status()?;
    filled.context("filling a filesystem")?;
    ensure!(unmounted.success(), "umount: {unmounted}");
    Ok(true)
}

fn fill(root: &Path) -> Result<()> {
    for (name, count) in [("block", 30), ("leaf", 300), ("node", 3000)] {
        let folder = root.join(name);
        fs::create_dir(&folder)?;
        for nth in 0..count {
            let file = folder.join(format!("file-{nth:06}-{}", "n".repeat(nth % 40)));
            fs::write(file, vec![b'x'; nth % 4 * 2500])?;
        }
        for nth in (0..count).step_by(3) {
            let file = folder.join(format!("file-{nth:06}-{}", "n".repeat(nth % 40)));
            fs::remove_file(file)?;
        }
    }
    for nth in 0..60 {
        let folder = root.join(format!("many/s{nth}"));
        fs::create_dir_all(&folder)?;
        fs::hard_link(root.join("leaf/file-000001-n"), folder.join("link"))?;
    }
    symlink("./".repeat(500), root.join("far"))?;
    attributes(root)?;
    extents(root)
}

fn attributes(root: &Path) -> Result<()> {
    for (file, count, bytes) in [("some", 3, 20), ("leaf", 30, 60), ("node", 500, 100)] {
        let path = root.join(format!("noted-{file}"));
        File::create(&path)?;
        for nth in 0..count {
            let name = format!("user.attribute-{nth:04}");
            setxattr(&path, &*name, &vec![b'v'; bytes], XattrFlags::empty())?;
        }
        setxattr(&path, "user.large", &[b'l'; 9000], XattrFlags::empty())?;
    }
    Ok(())
}

/// Files with holes and with many extents, and copies that share blocks and are written to.
fn extents(root: &Path) -> Result<()> {
    for (name, count) in [("holes", 12), ("tree", 1500)] {
        let file = File::create(root.join(name))?;
        for nth in 0..count {
            file.write_all_at(&[1; 4096], nth * 8192)?;
        }
        for copy in 0..3 {
            let to = format!("{name}-{copy}");
            let copied = Command::new("cp")
                .args(["--reflink=auto", name, &to])
                .current_dir(root)
                .status()?;
            ensure!(copied.success(), "cp: {copied}");
            let file = File::options().write(true).open(root.join(&to))?;
            for nth in (copy..count).step_by(7) {
                file.write_all_at(&[2; 4096], nth * 8192)?;
            }
        }
    }
    Ok(())
}
