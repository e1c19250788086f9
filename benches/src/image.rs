//! A loop image that carries one fresh filesystem after the other.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;

use crate::loop_device::Loop;
use crate::run::output;

/// A file of written (not merely reserved) blocks, attached as a loop device with direct I/O.
///
/// The image is written through once, so that neither of two programs that are compared pays for
/// the host's allocation. mkfs neither discards it (which would punch holes into it) nor leaves
/// initialisation to a kernel thread that would run into the measurement.
pub struct Image {
    /// Before the folder, so that it is detached first.
    device: Loop,
    folder: tempfile::TempDir,
}

impl Image {
    /// Makes and attaches an image of `bytes` in a new folder under `parent`.
    pub fn new(parent: &Path, bytes: u64) -> Result<Image> {
        let folder = tempfile::Builder::new()
            .prefix("fslab-bench-")
            .tempdir_in(parent)?;
        let path = folder.path().join("image");
        write_through(&path, bytes).with_context(|| {
            format!(
                "cannot write an image of {bytes} bytes in {}",
                parent.display()
            )
        })?;
        let device = Loop::attach(&path.display().to_string())?;
        Ok(Image { device, folder })
    }

    /// The loop device.
    pub fn device(&self) -> &str {
        self.device.node()
    }

    /// Makes a filesystem (`ext4` or `xfs`) and mounts it.
    pub fn fresh(&self, filesystem: &str) -> Result<Mounted> {
        self.fresh_with(filesystem, &[])
    }

    /// The same, with further options for its mkfs.
    pub fn fresh_with(&self, filesystem: &str, options: &[&str]) -> Result<Mounted> {
        let device = self.device();
        self.wait_until_free()?;
        let (program, mut words) = match filesystem {
            "ext4" => (
                "mkfs.ext4",
                vec![
                    "-q",
                    "-F",
                    "-E",
                    "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
                ],
            ),
            "xfs" => ("mkfs.xfs", vec!["-q", "-f", "-K"]),
            other => bail!("{other}: this bench makes ext4 and xfs only"),
        };
        words.extend(options);
        words.push(device);
        output(program, &words)?;
        let point = self.folder.path().join("mnt");
        std::fs::create_dir_all(&point)?;
        let mounted = Mounted {
            device: device.to_owned(),
            filesystem: filesystem.to_owned(),
            point,
        };
        mounted.mount()?;
        Ok(mounted)
    }
}

impl Image {
    /// A mount namespace that was made while the last filesystem was mounted keeps its device
    /// busy after our umount, until the kernel has taken it down.
    fn wait_until_free(&self) -> Result<()> {
        let begin = Instant::now();
        loop {
            let exclusive = OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::EXCL.bits() as i32)
                .open(self.device());
            match exclusive {
                Ok(_) => return Ok(()),
                Err(_) if begin.elapsed() < PATIENCE => std::thread::sleep(PATIENCE / 600),
                Err(error) => bail!("{} stays busy after umount: {error}", self.device()),
            }
        }
    }
}

/// How long another namespace may hold on to an unmounted filesystem.
const PATIENCE: Duration = Duration::from_secs(60);

fn write_through(path: &Path, bytes: u64) -> Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
    let block = vec![0x5a_u8; 4 << 20];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(block.len() as u64) as usize;
        file.write_all(&block[..now])?;
        left -= now as u64;
    }
    file.sync_all()?;
    // Its pages only waste memory: the loop device bypasses the page cache.
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

/// A mounted filesystem; unmounted when dropped.
pub struct Mounted {
    device: String,
    filesystem: String,
    point: PathBuf,
}

impl Mounted {
    /// The mount point.
    pub fn path(&self) -> &Path {
        &self.point
    }

    /// Unmounts and mounts it: the certain way to a cold cache.
    pub fn remount(&self) -> Result<()> {
        output("umount", &[&self.point.display().to_string()])?;
        self.mount()
    }

    fn mount(&self) -> Result<()> {
        let point = self.point.display().to_string();
        output("mount", &["-t", &self.filesystem, &self.device, &point])?;
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = output("umount", &[&self.point.display().to_string()]) {
            eprintln!("{error}");
        }
    }
}
