//! Openers of a disk: descriptors of all processes, other loop devices over the same file, and what
//! is below a loop device.
//!
//! A mount, a volume manager or a running mkfs claims its disk, and the exclusive open sees that. A
//! virtual machine, a database or dd does not: it opens the node like any file. The only witnesses are
//! the descriptors in `/proc/PID/fd`. A process that has just been started, or udev, may have a
//! descriptor for a moment, so what is found has to last before it counts.
//!
//! Not seen: processes of other PID namespaces than this one and those below it, other hosts on a shared disk,
//! users inside the kernel that take no claim (an NVMe or iSCSI target), a mapping or an io_uring file whose
//! descriptor is closed, a thread with a descriptor table of its own. docs/guide.md says so.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, major, minor, statx};

use super::refusal::Reason;
use super::usage;
use crate::host::Host;
use crate::syscall::block;

/// How often a descriptor is looked for again, and how long apart: udev's probes end in less.
const LOOKS: u32 = 10;
const APART: Duration = Duration::from_millis(200);
/// `O_PATH`: such a descriptor names a file without opening it.
const O_PATH: u32 = 0o10_000_000;
/// Inode number of the initial PID namespace (`PROC_PID_INIT_INO`).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// Which descriptors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Openers {
    /// All: a reader needs what is on the disk.
    All,
    /// Those that can write: the content is this run's own, and reading it is harmless.
    Writers,
}

/// What descriptors are looked for.
struct Wanted {
    /// Block devices: name and number.
    devices: Vec<(String, (u32, u32))>,
    /// The backing file of a loop device: path, device and inode.
    file: Option<(PathBuf, (u32, u32), u64)>,
}

/// Every descriptor on `disk`, its partitions, what is built on it and the file below it; other loop
/// devices over that file; and any use of the disk that a loop device was made over.
pub(super) fn reasons(host: &Host, disk: &str, which: Openers) -> Vec<Reason> {
    let mut wanted = Wanted {
        devices: Vec::new(),
        file: None,
    };
    let mut reasons = Vec::new();
    wanted.add(host, disk);
    if let Some(backing) = Backing::of(host, disk) {
        reasons.extend(backing.shared(host, disk));
        match backing.block {
            Some(number) => {
                if let Some(name) = host.name_of(number.0, number.1) {
                    let below = host.disk_of(&name);
                    // The loop device that is being examined is on it, of course.
                    let known = usage::reasons(host, &below, &[]).into_iter();
                    reasons.extend(known.filter(
                        |reason| !matches!(reason, Reason::BacksLoop { lo } if lo == disk),
                    ));
                    wanted.add(host, &below);
                }
            }
            None => wanted.file = Some((backing.path, backing.device, backing.inode)),
        }
    }
    for look in 0..LOOKS {
        if look > 0 {
            thread::sleep(APART);
        }
        let found = wanted.openers(host, which);
        if found.is_empty() {
            return reasons;
        }
        if look + 1 == LOOKS {
            reasons.extend(found);
        }
    }
    reasons
}

/// What cannot be seen from here, for the record; none where every process of this machine is.
pub(super) fn unseen(host: &Host) -> Option<String> {
    let namespace = fs::read_link(host.path("proc/self/ns/pid")).ok()?;
    (namespace != Path::new(INITIAL_NAMESPACE)).then(|| {
        "this process is in a PID namespace of its own (a container): processes outside of it that \
         have the disk open are not seen"
            .into()
    })
}

impl Wanted {
    /// A device, its partitions, and everything that is built on these.
    fn add(&mut self, host: &Host, name: &str) {
        if self.devices.iter().any(|(known, _)| known == name) {
            return;
        }
        if let Some(number) = host.number_of(name) {
            self.devices.push((name.into(), number));
        }
        for above in host.partitions(name).into_iter().chain(host.holders(name)) {
            self.add(host, &above);
        }
    }

    fn openers(&self, host: &Host, which: Openers) -> Vec<Reason> {
        let own = std::process::id();
        let pids = host.names("proc").into_iter();
        let mut found = Vec::new();
        for pid in pids.filter_map(|name| name.parse::<u32>().ok()) {
            if pid == own {
                continue;
            }
            let process = format!("proc/{pid}");
            let mut descriptors = host.names(format!("{process}/fd"));
            let mut folder = process.clone();
            if descriptors.is_empty() {
                // The first thread may have ended before the others.
                for task in host.names(format!("{process}/task")) {
                    folder = format!("{process}/task/{task}");
                    descriptors = host.names(format!("{folder}/fd"));
                    if !descriptors.is_empty() {
                        break;
                    }
                }
            }
            found.extend(self.of_process(host, pid, &folder, &descriptors, which));
        }
        found
    }

    /// The first descriptor of a process that counts; one that can write before others.
    fn of_process(
        &self,
        host: &Host,
        pid: u32,
        folder: &str,
        descriptors: &[String],
        which: Openers,
    ) -> Option<Reason> {
        let mut reader = None;
        for descriptor in descriptors {
            let Some(name) = self.matches(&host.path(format!("{folder}/fd/{descriptor}"))) else {
                continue;
            };
            let flags = flags(host, &format!("{folder}/fdinfo/{descriptor}"));
            if flags & O_PATH != 0 {
                continue;
            }
            let writes = flags & 3 != 0;
            let reason = || Reason::Open {
                name: name.clone(),
                pid,
                command: host
                    .text(format!("proc/{pid}/comm"))
                    .unwrap_or_else(|| "?".into()),
                writes,
            };
            if writes {
                return Some(reason());
            }
            if which == Openers::All {
                reader = reader.or_else(|| Some(reason()));
            }
        }
        reader
    }

    /// Which of the wanted a descriptor leads to. Asked without waiting for the server of a network filesystem.
    fn matches(&self, descriptor: &Path) -> Option<String> {
        let wanted = StatxFlags::TYPE | StatxFlags::INO;
        let stat = statx(CWD, descriptor, AtFlags::STATX_DONT_SYNC, wanted).ok()?;
        if FileType::from_raw_mode(stat.stx_mode.into()) == FileType::BlockDevice {
            let number = (stat.stx_rdev_major, stat.stx_rdev_minor);
            let device = self.devices.iter().find(|(_, known)| *known == number);
            return device.map(|(name, _)| name.clone());
        }
        let (path, device, inode) = self.file.as_ref()?;
        let same = (stat.stx_dev_major, stat.stx_dev_minor) == *device && stat.stx_ino == *inode;
        same.then(|| path.display().to_string())
    }
}

/// The flags of open(2), in octal in fdinfo. A descriptor that is gone again has none, and counts as a
/// reader's; the next look will not find it.
fn flags(host: &Host, file: &str) -> u32 {
    let text = host.text(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("flags:"));
    line.and_then(|word| u32::from_str_radix(word.trim(), 8).ok())
        .unwrap_or(0)
}

/// What a loop device is over.
struct Backing {
    path: PathBuf,
    device: (u32, u32),
    inode: u64,
    /// Its number where the backing "file" is a block device.
    block: Option<(u32, u32)>,
}

impl Backing {
    /// As the kernel says (`LOOP_GET_STATUS64`): a path may mean another file in this mount namespace.
    /// Where the node cannot be opened, the path is all there is.
    fn of(host: &Host, name: &str) -> Option<Backing> {
        let bound = host.loops().into_iter().find(|lo| lo.name == name)?;
        let by_kernel = File::open(host.path("dev").join(name))
            .ok()
            .and_then(|node| block::loop_status(&node).ok());
        if let Some(status) = by_kernel {
            return Some(Backing {
                path: bound.backing,
                device: status.device,
                inode: status.inode,
                block: status.block,
            });
        }
        let meta = fs::metadata(&bound.backing).ok()?;
        let is_block = meta.file_type().is_block_device();
        Some(Backing {
            path: bound.backing,
            device: (major(meta.dev()), minor(meta.dev())),
            inode: meta.ino(),
            block: is_block.then(|| (major(meta.rdev()), minor(meta.rdev()))),
        })
    }

    fn is_same(&self, other: &Backing) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
            || (self.block.is_some() && self.block == other.block)
    }

    /// Other loop devices over the same file, and where these are mounted.
    fn shared(&self, host: &Host, disk: &str) -> Vec<Reason> {
        let others = host.loops().into_iter().filter(|lo| lo.name != disk);
        let mut reasons = Vec::new();
        for other in others {
            if !Backing::of(host, &other.name).is_some_and(|backing| self.is_same(&backing)) {
                continue;
            }
            let mut names = vec![other.name.clone()];
            names.extend(host.partitions(&other.name));
            reasons.push(Reason::SharedFile {
                lo: other.name,
                file: self.path.clone(),
            });
            reasons.extend(usage::mounts(host, &names));
        }
        reasons
    }
}
