//! The settings that a recording changes on the machine, and how they are restored.
//!
//! The blk tracer works in the top trace instance only (it has no `allow_instances`), so its buffer,
//! clock and switch are shared with all users of ftrace. Their values are saved before the first is
//! changed. The tracer is the first setting changed and the last restored: while `current_tracer` is
//! `blk`, the other changes are this tool's. Among its own processes a lock on that file marks the
//! recorder: testing whether the tracer is free and taking it are two steps, and a killed process loses
//! its lock, so its leftovers can be distinguished from the state of a living one.
//!
//! One setting is not restored exactly: the kernel allocates the ring buffer (1408 KiB for each CPU) at
//! the first use of any tracer, and shows `7 (expanded: 1408)` until then. The size that is restored is
//! the expanded one, as after any other use.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::detached::{self, Detached, chosen};
use super::{Device, Error, relay};

pub(super) const TRACER: &str = "blk";
pub(super) const CLOCK: &str = "mono";

/// Settings of the machine that a recording changes, as they were before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Folders in sysfs where tracing of a device is switched on.
    devices: Vec<PathBuf>,
    /// KiB for each CPU.
    buffer_kib: u64,
    /// The trace clock.
    clock: String,
    /// Whether the ring buffer was being written.
    on: bool,
    /// Nodes of devices that are traced through relay files, and their names in debugfs; then nothing
    /// of the tracer is touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    relay: Vec<(PathBuf, String)>,
}

impl Changes {
    /// What is to be restored, read while no tracer is in use.
    ///
    /// # Errors
    /// [`Error::Busy`] when one is.
    pub(super) fn read(tracefs: &Detached, devices: &[Device]) -> Result<Changes, Error> {
        let tracer = tracefs.read("current_tracer")?;
        if tracer != "nop" {
            return Err(Error::Busy {
                thing: "tracefs's current_tracer".into(),
                why: format!("it is {tracer:?}"),
            });
        }
        if let Some(event) = tracefs.read("set_event")?.lines().next() {
            return Err(Error::Busy {
                thing: "tracefs's set_event".into(),
                why: format!("{event} is on"),
            });
        }
        for device in devices {
            device.check_free()?;
        }
        let size = tracefs.read("buffer_size_kb")?;
        let clock = tracefs.read("trace_clock")?;
        Ok(Changes {
            devices: devices.iter().map(Device::trace).collect(),
            buffer_kib: buffer_size(&size).ok_or_else(|| Error::Busy {
                thing: "tracefs's buffer_size_kb".into(),
                why: format!("it says {size:?}, not one size for every CPU"),
            })?,
            clock: chosen(&clock).unwrap_or("local").to_owned(),
            on: tracefs.read("tracing_on")? != "0",
            relay: Vec::new(),
        })
    }

    /// What a recording through relay files changes: the traces themselves.
    pub(super) fn of_relay(nodes: &[PathBuf], devices: &[Device]) -> Changes {
        let names = devices.iter().map(|device| device.name.clone());
        Changes {
            devices: devices.iter().map(Device::trace).collect(),
            buffer_kib: 0,
            clock: String::new(),
            on: false,
            relay: nodes.iter().cloned().zip(names).collect(),
        }
    }

    /// Whether the machine is still as a recording made it that does not live.
    pub fn in_force(&self) -> bool {
        if !self.relay.is_empty() {
            return self.relay.iter().any(|(_, name)| relay::is_left(name));
        }
        tracefs().is_ok_and(|tracefs| {
            lock(&tracefs).is_ok()
                && tracefs
                    .read("current_tracer")
                    .is_ok_and(|tracer| tracer == TRACER)
        })
    }

    /// Whether it names only what a recording changes: it may have been read from a file.
    ///
    /// # Errors
    /// What else it names.
    pub fn check(&self) -> Result<(), String> {
        let plain = |path: &Path, root: &str| {
            let mut parts = path.components().skip(1);
            path.starts_with(root) && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        let traces = |path: &PathBuf| plain(path, "/sys") && path.ends_with("trace");
        if let Some(other) = self.devices.iter().find(|path| !traces(path)) {
            return Err(format!("{} is no device's trace in sysfs", other.display()));
        }
        let is_name = |name: &str| {
            let first = name
                .bytes()
                .next()
                .is_some_and(|b| b.is_ascii_alphanumeric());
            first && name.len() <= 64 && !name.contains('/')
        };
        if let Some((node, name)) =
            (self.relay.iter()).find(|(node, name)| !plain(node, "/dev") || !is_name(name))
        {
            return Err(format!(
                "{} ({name:?}) is no device in /dev",
                node.display()
            ));
        }
        let clock = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
        if self.clock.len() > 32 || !self.clock.bytes().all(clock) {
            return Err("it names no trace clock".to_owned());
        }
        Ok(())
    }

    /// The devices that are traced, by their folders in sysfs.
    pub fn devices(&self) -> &[PathBuf] {
        &self.devices
    }

    /// Takes everything back: for what a killed process left. True when there was something.
    ///
    /// # Errors
    /// The first setting that cannot be restored, after all others were tried.
    pub fn take_back(&self) -> Result<bool, Error> {
        if !self.relay.is_empty() {
            // A node that leads to another device now is not the one that was traced.
            let left = self
                .relay
                .iter()
                .filter(|(node, name)| relay::is_left(name) && leads_to(node, name));
            let ended: Vec<_> = left.map(|(node, _)| relay::take_back(node)).collect();
            let some = !ended.is_empty();
            return ended
                .into_iter()
                .collect::<Result<Vec<()>, _>>()
                .map(|_| some);
        }
        let tracefs = tracefs()?;
        let _lock = match lock(&tracefs) {
            // Another recording lives: the tracer is its own by now.
            Err(Error::Busy { .. }) => return Ok(false),
            answer => answer?,
        };
        if tracefs.read("current_tracer")? != TRACER {
            return Ok(false);
        }
        self.restore(&tracefs).map(|()| true)
    }

    /// Switches the devices' tracing off.
    pub(super) fn stop(&self) -> Result<(), Error> {
        let mut first = Ok(());
        for device in &self.devices {
            let enable = device.join("enable");
            // A device that has gone took its trace with it.
            if enable.exists() && detached::read(&enable).is_ok_and(|on| on != "0") {
                first = first.and(detached::write(&enable, "0"));
            }
        }
        first
    }

    pub(super) fn restore(&self, tracefs: &Detached) -> Result<(), Error> {
        let mut first = self.stop();
        let on = if self.on { "1" } else { "0" };
        for (name, value) in [
            ("buffer_size_kb", self.buffer_kib.to_string().as_str()),
            ("trace_clock", &self.clock),
            ("tracing_on", on),
            ("current_tracer", "nop"),
        ] {
            first = first.and(tracefs.write(name, value));
        }
        first
    }
}

/// Whether a node is the device that debugfs calls `name`.
fn leads_to(node: &Path, name: &str) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let Ok(meta) = node.metadata() else {
        return false;
    };
    let (major, minor) = (
        rustix::fs::major(meta.rdev()),
        rustix::fs::minor(meta.rdev()),
    );
    let link = format!("/sys/dev/block/{major}:{minor}");
    let folder = std::fs::canonicalize(link).unwrap_or_default();
    let kernel = folder.file_name().unwrap_or_default().to_string_lossy();
    // `!` stands for `/` in sysfs, `_` in debugfs.
    let plain = |name: &str| name.replace(['!', '/'], "_");
    meta.file_type().is_block_device() && plain(&kernel) == plain(name)
}

/// Says for as long as the file is open that the tracer is ours.
pub(super) fn lock(tracefs: &Detached) -> Result<File, Error> {
    let path = tracefs.path("current_tracer");
    let failed = |error| Error::kernel(&path, "cannot lock the tracer", error);
    let file = File::open(&path).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Busy {
            thing: "tracefs's current_tracer".into(),
            why: "another fslab records".into(),
        }),
        Err(error) => Err(failed(error.into())),
    }
}

pub(super) fn tracefs() -> Result<Detached, Error> {
    let usual = std::path::Path::new("/sys/kernel/tracing");
    Detached::open("tracefs", usual).map_err(|error| Error::NoMethod {
        why: format!("tracefs cannot be opened ({error}); it needs root"),
    })
}

/// `1408`, or `7 (expanded: 1408)` before the first use; `X` when CPUs differ.
fn buffer_size(text: &str) -> Option<u64> {
    match text.split_once("(expanded: ") {
        Some((_, expanded)) => expanded.trim_end_matches(')').parse().ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_the_kernel_shows_them() {
        assert_eq!(buffer_size("1410"), Some(1410));
        assert_eq!(buffer_size("7 (expanded: 1408)"), Some(1408));
        assert_eq!(buffer_size("X"), None);
    }
}
