//! A loop device with a rate limit, so that a fast disk behaves as a slow one.
//!
//! The block layer's throttle is set for reads in the control group of this process, which child
//! processes inherit: their reads from the device are throttled, whether buffered or direct. The
//! setting is read back, because a silently refused throttle would invalidate every result.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{major, minor};

use crate::loop_device::Loop;
use crate::needs::Missing;

/// An image attached as a loop device, with a limit on reads.
#[derive(Debug)]
pub struct Limited {
    device: Loop,
    number: String,
    files: Vec<PathBuf>,
}

impl Limited {
    /// Attaches `image` and allows `bytes` and `requests` a second.
    ///
    /// # Errors
    /// No loop device, or no control group that can limit.
    pub fn attach(image: &Path, bytes: u64, requests: u64) -> Result<Limited> {
        let group = group()?;
        let device = Loop::read_only(&image.display().to_string())?;
        let id = fs::metadata(device.node())?.rdev();
        let number = format!("{}:{}", major(id), minor(id));
        let mut limited = Limited {
            device,
            number,
            files: Vec::new(),
        };
        for (item, rate) in [("read_bps", bytes), ("read_iops", requests)] {
            let file = group.join(format!("blkio.throttle.{item}_device"));
            limited.files.push(file.clone());
            fs::write(&file, format!("{} {rate}", limited.number))
                .with_context(|| file.display().to_string())?;
            let message = fs::read_to_string(&file)?;
            if !message
                .lines()
                .any(|line| line == format!("{} {rate}", limited.number))
            {
                bail!(
                    "{} did not take {rate} for {}: {message:?}",
                    file.display(),
                    limited.number
                );
            }
        }
        Ok(limited)
    }

    /// The device.
    pub fn device(&self) -> &str {
        self.device.node()
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        for file in &self.files {
            if let Err(error) = fs::write(file, format!("{} 0", self.number)) {
                eprintln!("{}: {error}", file.display());
            }
        }
    }
}

/// The folder of this process's group in the block layer's hierarchy (version 1 of the control groups).
fn group() -> Result<PathBuf> {
    let missing = || {
        Missing("no control group of version 1 limits block devices here; mount blkio, or leave out the part `limited`".into())
    };
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let is_blkio = |line: &&str| {
        let words: Vec<&str> = line.split(' ').collect();
        words.len() > 3
            && words[2] == "cgroup"
            && words[3].split(',').any(|option| option == "blkio")
    };
    let mount = mounts
        .lines()
        .find(is_blkio)
        .and_then(|line| line.split(' ').nth(1))
        .ok_or_else(missing)?;
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let path = own.lines().find_map(|line| {
        let mut words = line.splitn(3, ':').skip(1);
        let controllers = words.next()?;
        controllers
            .split(',')
            .any(|one| one == "blkio")
            .then(|| words.next())
            .flatten()
    });
    let inside = Path::new(mount).join(path.unwrap_or("/").trim_start_matches('/'));
    // In a container the group's path is that of the host, and its folder is the mount itself.
    let group = if inside.is_dir() {
        inside
    } else {
        mount.into()
    };
    if group.join("blkio.throttle.read_bps_device").exists() {
        Ok(group)
    } else {
        Err(missing().into())
    }
}
