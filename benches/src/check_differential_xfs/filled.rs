//! Sound filesystems that the kernel fills.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{XattrFlags, setxattr};

use super::Devices;
use crate::loop_device::Loop;

/// Bytes of the images: room for a log of 2000 blocks of 64 KiB.
const SIZE: u64 = 512 << 20;
/// Bytes of a device for the log or for the realtime part.
const DEVICE: u64 = 64 << 20;

/// Makes one; false where it cannot be mounted.
pub(super) fn write(image: &Path, words: &[&str], devices: &Devices) -> Result<bool> {
    File::create(image)?.set_len(SIZE)?;
    let mut make = Command::new("mkfs.xfs");
    make.args(["-q", "-f"]).args(words);
    let mut options = vec!["loop".to_owned()];
    let mut loops = Vec::new();
    for (file, option, name) in [
        (&devices.log, "-l", "logdev"),
        (&devices.realtime, "-r", "rtdev"),
    ] {
        let Some(file) = file else { continue };
        File::create(file)?.set_len(DEVICE)?;
        make.args([option, &format!("{name}={},size={DEVICE}", file.display())]);
        let device = Loop::buffered(&file.display().to_string())?;
        options.push(format!("{name}={}", device.node()));
        loops.push(device);
    }
    let made = make.arg(image).status()?;
    ensure!(made.success(), "mkfs.xfs {words:?}: {made}");
    let at = image.with_extension("mounted");
    fs::create_dir(&at)?;
    let mounted = Command::new("mount")
        .args(["-o", &options.join(",")])
        .arg(image)
        .arg(&at)
        .output()?;
    if !mounted.status.success() {
        return Ok(false);
    }
    let filled = fill(&at).and_then(|()| match &devices.realtime {
        Some(_) => realtime(&at),
        None => Ok(()),
    });
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

/// Files in the realtime part.
fn realtime(root: &Path) -> Result<()> {
    for nth in 0..20 {
        let path = root.join(format!("realtime-{nth}"));
        let commands = format!("pwrite 0 {}", 4096 * (1 + nth * 7));
        let output = Command::new("xfs_io")
            .args(["-f", "-c", "chattr +r", "-c", &commands])
            .arg(path)
            .output()?;
        ensure!(output.status.success(), "xfs_io: {}", output.status);
    }
    Ok(())
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
