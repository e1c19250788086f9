//! What a disk can do without a filesystem: the reference for every result.
//!
//! Sequentially as `hdparm -t` measures it, because published results are compared with that: sync,
//! fsync and BLKFLSBUF, then 2 MiB at a time from the start of the device through the page cache,
//! until the time is over or the device ends. The same with O_DIRECT (`hdparm -t --direct`), which
//! leaves out the page cache's copy and readahead, and 4 KiB reads at random places, one at a time
//! with O_DIRECT, for what a seek costs.
//!
//! hdparm makes one pass of 3 seconds, which is prone to noise: here there are several, and all are
//! kept. Its other habits stay, the MB that are MiB among them. Devices are opened read-only always.
//!
//! One thing differs from hdparm: its sync(2) waits for every filesystem of the machine, and one whose
//! server or disk does not answer would block the measurement forever. Here the filesystems on the
//! device are synced and no others, since no others write to it, and an image below separately.
//!
//! Rejected: running hdparm itself, which is often not installed, refuses loop devices on some
//! versions and prints the time of a pass to 0.01 s only.

mod image;
mod line;
mod random;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use probe::mountinfo;
use progress::{Progress, Step};
use rustix::fs::{Advice, OFlags, fadvise, syncfs};
use workload::buffer::Buffer;

use crate::host::Host;
use crate::syscall::block;
use crate::{Error, Result};

/// One read, as hdparm's (`TIMING_BUF_MB`).
const STEP: usize = 2 << 20;

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Least duration of each sequential pass; hdparm's is 3 s.
    pub pass: Duration,
    /// Sequential passes of each kind; at least 1 is made.
    pub passes: u32,
    /// Duration of the random reads.
    pub random: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            pass: Duration::from_secs(3),
            passes: 5,
            random: Duration::from_secs(3),
        }
    }
}

/// What a device does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Bytes a second of each sequential pass through the page cache, in order.
    pub sequential: Vec<f64>,
    /// The same with O_DIRECT; empty where the device refuses it, and `notes` say so.
    pub sequential_direct: Vec<f64>,
    /// 4 KiB random reads a second, O_DIRECT, one at a time; 0 where not measured.
    pub random_reads_per_s: f64,
    /// Their latency: median, 99th percentile and largest, microseconds.
    pub random_us: [f64; 3],
    /// hdparm's line for the median pass of `sequential` (of an even number, the slower of the two).
    pub line: String,
    /// What could not be measured, and what a reader must know.
    pub notes: Vec<String>,
}

/// One sequential pass.
#[derive(Clone, Copy, Debug)]
struct Pass {
    bytes: u64,
    seconds: f64,
}

impl Pass {
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// Measures the device `node`, reading only. Its page cache is dropped before each pass and at the
/// end; other devices' stays.
///
/// # Errors
/// The device cannot be opened, is smaller than one read, fails while reading, or `progress` asks to stop.
pub fn measure(node: &Path, options: &Options, progress: &dyn Progress) -> Result<Measured> {
    let device = Device::open(node)?;
    let mut measured = Measured::default();
    let mut passes = Vec::new();
    let count = options.passes.max(1);
    progress.begin(Step::new("sequential reads").of(count.into()));
    for _ in 0..count {
        passes.push(device.sequential(&device.file, options.pass, progress)?);
        progress.advance(1);
    }
    measured.sequential = passes.iter().map(Pass::rate).collect();
    measured.line = line::hdparm(&median(&mut passes));
    if let Some(pass) = passes
        .iter()
        .find(|pass| pass.seconds < options.pass.as_secs_f64())
    {
        measured.notes.push(format!(
            "the device ends after {} MiB: a pass took {:.2} s instead of {:.2} s",
            pass.bytes >> 20,
            pass.seconds,
            options.pass.as_secs_f64()
        ));
    }
    match device.open_direct() {
        Ok(direct) => {
            progress.begin(Step::new("sequential reads with O_DIRECT").of(count.into()));
            for _ in 0..count {
                let pass = device.sequential(&direct, options.pass, progress)?;
                progress.advance(1);
                measured.sequential_direct.push(pass.rate());
            }
            progress.begin(Step::new("random reads"));
            random::measure(&device, &direct, options.random, progress, &mut measured)?;
        }
        Err(error) => measured.notes.push(format!(
            "not measured with O_DIRECT, which {} refuses: {error}",
            node.display()
        )),
    }
    progress.end();
    device.drop_caches()?;
    Ok(measured)
}

/// The median pass by rate; of an even number the slower of the two in the middle.
fn median(passes: &mut [Pass]) -> Pass {
    passes.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
    passes[(passes.len() - 1) / 2]
}

/// A device open for reading.
struct Device {
    node: PathBuf,
    file: File,
    size: u64,
    /// Logical sector size: the least that O_DIRECT reads.
    sector: u32,
    /// The image below a loop device, whose pages would be read instead of the disk.
    image: Option<File>,
    /// A folder of each filesystem that writes to it.
    filesystems: Vec<File>,
}

impl Device {
    fn open(node: &Path) -> Result<Device> {
        let failed = |what| move |error: io::Error| Error::io(node, what, error);
        let file = File::open(node).map_err(failed("cannot open it to measure it"))?;
        let size = block::size(&file)
            .map_err(io::Error::from)
            .map_err(failed("cannot see its size (not a block device?)"))?;
        if size < STEP as u64 {
            return Err(Error::Cannot {
                thing: node.display().to_string(),
                what: "cannot measure it".into(),
                why: format!("it has {size} bytes and one read takes {STEP}"),
                next: "name a larger device".into(),
            });
        }
        let sector = block::sector_size(&file)
            .map_err(io::Error::from)
            .map_err(failed("cannot see its sector size"))?;
        let host = Host::default();
        let name = host.number_of_node(node);
        let below = host
            .loops()
            .into_iter()
            .find(|lo| Some(&lo.name) == name.as_ref());
        Ok(Device {
            node: node.into(),
            file,
            size,
            sector,
            image: below.and_then(|lo| File::open(lo.backing).ok()),
            filesystems: name.map_or_else(Vec::new, |name| mounted_on(&host, &name)),
        })
    }

    fn open_direct(&self) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(&self.node)
    }

    fn io(&self, what: &str, error: impl Into<io::Error>) -> Error {
        Error::io(&self.node, what, error)
    }

    fn stop(&self, progress: &dyn Progress) -> Result<()> {
        if progress.cancelled() {
            return Err(Error::Interrupted {
                doing: format!("measuring {}", self.node.display()),
            });
        }
        Ok(())
    }

    fn buffer(&self, length: usize) -> Result<Buffer> {
        Buffer::for_child(0, length, length, STEP)
            .map_err(|error| self.io("no memory for a buffer to read into", error))
    }

    /// sync, fsync, BLKFLSBUF, as hdparm; and the pages of an image below.
    fn drop_caches(&self) -> Result<()> {
        for filesystem in &self.filesystems {
            syncfs(filesystem).map_err(|error| self.io("cannot sync a filesystem on it", error))?;
        }
        self.file
            .sync_all()
            .map_err(|error| self.io("cannot sync it", error))?;
        block::flush_buffers(self.file.as_fd())
            .map_err(|error| self.io("cannot flush its buffers (BLKFLSBUF)", error))?;
        if let Some(image) = &self.image {
            // Pages that are dirty would stay.
            image
                .sync_all()
                .map_err(|error| self.io("cannot sync its image", error))?;
            fadvise(image, 0, None, Advice::DontNeed)
                .map_err(|error| self.io("cannot drop the pages of its image", error))?;
        }
        Ok(())
    }

    /// One pass from the start, in whole steps.
    fn sequential(&self, file: &File, least: Duration, progress: &dyn Progress) -> Result<Pass> {
        let mut buffer = self.buffer(STEP)?;
        let buffer = buffer.as_mut_slice();
        self.drop_caches()?;
        let end = self.size / STEP as u64 * STEP as u64;
        let mut bytes = 0;
        let begun = Instant::now();
        loop {
            file.read_exact_at(buffer, bytes)
                .map_err(|error| self.io(&format!("cannot read it at byte {bytes}"), error))?;
            bytes += STEP as u64;
            let elapsed = begun.elapsed();
            if elapsed >= least || bytes >= end {
                return Ok(Pass {
                    bytes,
                    // No clock is so coarse, but a rate must not be infinite.
                    seconds: elapsed.as_secs_f64().max(1e-9),
                });
            }
            self.stop(progress)?;
        }
    }
}

/// A folder of each mounted filesystem that writes to the disk `name`, however many layers above it;
/// one that cannot be opened is left out.
fn mounted_on(host: &Host, name: &str) -> Vec<File> {
    let mut mounts = mountinfo::own().unwrap_or_default();
    // One mount of each filesystem will do; those of btrfs and of servers elsewhere have no device.
    mounts.sort_by_key(|mount| mount.device);
    mounts.dedup_by_key(|mount| mount.device);
    let source = |mount: &mountinfo::Mount| match mount.device {
        (0, _) => host.number_of_node(&mount.source),
        (major, minor) => host.name_of(major, minor),
    };
    mounts
        .iter()
        .filter(|mount| source(mount).is_some_and(|on| writes_to(host, &on, name)))
        .filter_map(|mount| {
            // A mount may be of one file, and that one a pipe.
            let flags = OFlags::NONBLOCK.bits() as i32;
            let mut options = OpenOptions::new();
            options
                .read(true)
                .custom_flags(flags)
                .open(&mount.point)
                .ok()
        })
        .collect()
}

/// Whether what is written to `device` comes down to the disk `name`. Through a loop device's image
/// it does so only when the filesystem with the image writes it, which is on the list itself.
fn writes_to(host: &Host, device: &str, name: &str) -> bool {
    let mut todo = vec![device.to_owned()];
    let mut seen = Vec::new();
    while let Some(next) = todo.pop() {
        if next == name || host.disk_of(&next) == name {
            return true;
        }
        if !seen.contains(&next) {
            todo.extend(host.slaves(&next));
            todo.push(host.disk_of(&next));
            seen.push(next);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use progress::Silent;

    #[test]
    fn the_median_of_an_even_number_is_the_slower_one() {
        let pass = |mib: u64| Pass {
            bytes: mib << 20,
            seconds: 1.0,
        };
        assert_eq!(median(&mut [pass(3), pass(1), pass(2)]).bytes, 2 << 20);
        assert_eq!(
            median(&mut [pass(4), pass(3), pass(1), pass(2)]).bytes,
            2 << 20
        );
        assert_eq!(median(&mut [pass(7)]).bytes, 7 << 20);
    }

    #[test]
    fn what_is_no_disk_cannot_be_measured() {
        for path in ["/no/such/disk", "/dev/null", "/etc/passwd"] {
            let error = measure(Path::new(path), &Options::default(), &Silent).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with(path) && !text.contains('\n'), "{text}");
        }
    }
}
