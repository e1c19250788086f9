//! The filesystem's own checker alone, on a device or an image: `fslab bench fsck`.
//!
//! An image is given to the checker as a file: all three programs take one (xfs_repair by an
//! option), so no loop device is made that would have to be undone. A device that is mounted is
//! refused, because what a check says of a filesystem that changes under it means nothing.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fskind::{Family, Kind};
use rig::fsck::{self, Report};

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::watch::Watcher;
use crate::{bench_text, check};

/// A check to run.
#[derive(Clone, Debug)]
pub struct Request {
    /// A block device or an image.
    pub target: PathBuf,
    /// `ext4`, `xfs`, `btrfs` ...; none: as the superblock says.
    pub kind: Option<&'static str>,
    /// After which the checker is killed.
    pub timeout: Duration,
}

/// Runs it.
///
/// # Errors
/// A target that is no device and no image, is mounted, or holds no known filesystem; a checker
/// that is not here; an interrupt. A checker that finds errors, crashes or runs out of time is a
/// report, see [`fault`].
pub fn run(
    request: &Request,
    watcher: &dyn Watcher,
    interrupt: &Interrupt,
) -> Result<Report, Error> {
    let target = &request.target;
    let meta = fs::metadata(target).map_err(|error| {
        Error::Preflight(format!(
            "{}: {error}; name a block device or an image of a filesystem",
            target.display()
        ))
    })?;
    let is_device = meta.file_type().is_block_device();
    if !is_device && !meta.is_file() {
        return Err(Error::Preflight(format!(
            "{}: neither a block device nor an image; name the device, not its mount point",
            target.display()
        )));
    }
    unused(target)?;
    let kind = match request.kind {
        Some(kind) => kind,
        None => detect(target)?,
    };
    fsck::program_present(kind)?;
    let host = rig::host::Host::default();
    let block_name = if is_device {
        host.number_of_node(target)
    } else {
        // An image's bytes come from the disk below it.
        host.device_below(target).first().cloned()
    };
    let order = fsck::Request {
        fslab: false,
        locked: None,
        kind: kind.into(),
        // The checker runs in its own folder.
        device: target.canonicalize().unwrap_or_else(|_| target.clone()),
        block_name,
        extra: extra(kind, is_device),
        timeout: request.timeout,
    };
    Ok(fsck::run(&order, &interrupt.with(watcher))?)
}

/// What a checker needs when its target is a file.
fn extra(kind: &str, is_device: bool) -> Vec<String> {
    let option = Kind::of_name(kind).and_then(|kind| kind.properties().checker.file_option);
    let option = option.filter(|_| !is_device);
    option.map(str::to_owned).into_iter().collect()
}

/// Refuses what is mounted, or is below something that is.
fn unused(target: &Path) -> Result<(), Error> {
    let host = rig::host::Host::default();
    let resolved = target.canonicalize().unwrap_or_else(|_| target.to_owned());
    let mut names: Vec<String> = host.number_of_node(&resolved).into_iter().collect();
    let attached = host.loops().into_iter().filter(|lo| lo.backing == resolved);
    names.extend(attached.map(|lo| lo.name));
    for name in &names {
        let numbers = std::iter::once(name.clone())
            .chain(host.partitions(name))
            .chain(host.holders(name));
        for name in numbers {
            if let Some(point) = mounted_at(&host, &name) {
                return Err(Error::Preflight(format!(
                    "{}: /dev/{name} is mounted on {}; unmount it first, for a check of a \
                     filesystem in use says nothing",
                    target.display(),
                    point.display()
                )));
            }
        }
    }
    Ok(())
}

/// Where a device is mounted, if it is.
fn mounted_at(host: &rig::host::Host, name: &str) -> Option<PathBuf> {
    let mounts = probe::mountinfo::own().ok()?;
    let found = mounts.iter().find(|mount| {
        host.number_of_node(&mount.source)
            .is_some_and(|source| source == name)
    });
    found.map(|mount| mount.point.clone())
}

/// The kind by the superblock.
fn detect(target: &Path) -> Result<&'static str, Error> {
    let wrong = |why: String| Error::Preflight(format!("{}: {why}", target.display()));
    let facts = probe::superblock::read(target)
        .map_err(|error| wrong(format!("cannot be read: {error}; run as root")))?;
    let facts = facts.ok_or_else(|| {
        wrong(format!(
            "no superblock of {} was found; name the kind with --type to run its checker anyway",
            Family::listed()
        ))
    })?;
    Ok(Kind::of_family(facts.format).name())
}

/// What is wrong with the check or the filesystem, in one line; none when it is clean.
pub fn fault(report: &Report) -> Option<String> {
    check::fault(report).map(|fault| format!("{fault}; `--format json` has its whole output"))
}

/// The report as a table within 78 columns, with GNU time's two lines.
pub fn render(report: &Report) -> String {
    let mut text = format!("{}\n", report.argv.join(" "));
    if !report.version.is_empty() {
        let _ = writeln!(text, "{}", report.version);
    }
    let _ = writeln!(
        text,
        "\n{:<14} {:>9} {:>8} {:>8} {:>9} {:>9} {:>7} {:>7}",
        "Pass", "seconds", "user", "system", "printed", "read MiB", "reads", "RSS MiB"
    );
    for phase in &report.phases {
        let figure = |name: &str| phase.figures.get(name).copied();
        let number = |name: &str, scale: f64, decimals: usize| {
            figure(name).map_or_else(|| "-".into(), |v| format!("{:.decimals$}", v / scale))
        };
        let mib = f64::from(1 << 20);
        let _ = writeln!(
            text,
            "{:<14} {:>9.3} {:>8} {:>8} {:>9} {:>9} {:>7} {:>7}",
            phase.name,
            phase.seconds,
            number("user_seconds", 1.0, 3),
            number("system_seconds", 1.0, 3),
            number("reported_seconds", 1.0, 2),
            number("device_read", mib, 1),
            number("read_requests", 1.0, 0),
            number("peak_rss", mib, 1),
        );
    }
    text.push_str(
        "\nseconds: by our clock; printed: by the program itself; read MiB and reads: by\n\
         the device's counters; RSS MiB: its largest resident memory so far\n\
         neither cold nor warm on purpose: what the page cache held of the target was not\n\
         read again (for a cold check, echo 3 > /proc/sys/vm/drop_caches before it)\n",
    );
    let _ = writeln!(text, "\n{}", bench_text::time(&check::usage(report)));
    let _ = writeln!(text, "{}", report.explanation);
    text
}
