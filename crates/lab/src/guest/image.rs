//! What guests of a plan start from: a kernel, its modules, the host's tools, and the job.
//!
//! Only what the plan needs goes in, since each byte is unpacked at every boot. The tools
//! are those of the host that the same plan would run there, so their versions agree.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use guest::boot_probe::{Answer, Prober};
use guest::initramfs::{self, Store};
use guest::kernel::{Cache, Form, Has, Kernel};
use guest::machine::{self, PERSISTENT_UNIT};
use study::Plan;

use super::job::Job;
use crate::error::Error;
use crate::needs::Needs;
use crate::target::{GuestMachine, GuestTarget};

/// What a virtual machine's disks and channel need.
const VIRTIO: [&str; 3] = ["virtio_pci", "virtio_blk", "virtio_console"];
/// The ways to serve a modelled disk, by the names of `fslab kernel list`.
const FUSE: &str = "fuse";
const UBLK: &str = "ublk";
/// What persistent memory needs.
const PERSISTENT: [&str; 2] = ["virtio_pmem", "pmem"];
/// A modelled disk that is larger is kept in persistent memory, where the guest's kernel has it: a sparse file of the host.
const LARGEST_IN_MEMORY: u64 = MEMORY - BESIDES;
/// The kernel keeps a byte of memory for each 64 of persistent memory, to know its pages; with some room.
const KNOWN_OF: u64 = 50;
/// Memory of a guest, bytes, unless the plan holds its trials to more.
const MEMORY: u64 = 2 << 30;
/// What a guest's kernel and the lab in it need besides a trial's own memory.
const BESIDES: u64 = 512 << 20;
/// CPUs of a guest at most: what QEMU gives a q35 machine without remapping of interrupts.
const MOST_CPUS: usize = 255;

/// What guests start from, all trials of a cell's kernel the same.
pub(super) struct Image {
    /// The level of the kernel factor that boots it; none: there is no such factor.
    pub(super) level: Option<String>,
    /// What the kernel is called: its release, with its name in the cache where that is another.
    pub(super) called: String,
    /// The kernel's file.
    pub(super) kernel: PathBuf,
    /// The folder of a program's own interpreter and libraries.
    pub(super) libraries: Option<PathBuf>,
    /// Words that the kernel's command line gets on this machine.
    pub(super) append: Vec<String>,
    /// Bytes of memory.
    pub(super) memory: u64,
    /// Bytes of persistent memory.
    pub(super) persistent: Option<u64>,
    /// CPUs.
    pub(super) cpus: u32,
    parts: Vec<initramfs::Part>,
}

/// Whether there are kernels, and they have what the plan needs; and memory for a guest.
pub(super) fn check(target: &GuestTarget, plan: &Plan) -> Result<(), Error> {
    let cache = Cache::open(target.cache.as_deref())?;
    for (level, name) in target.each() {
        let kernel = find(target.machine, name, &cache)?;
        let needs = Needs::of_kernel(plan, level);
        let lacks = needs.lacking_in(&kernel);
        if !lacks.is_empty() {
            return Err(Error::Preflight(format!(
                "kernel {} lacks {}; `fslab kernel list` shows what each kernel has",
                kernel.name,
                lacks.join(", ")
            )));
        }
        modules(target, &kernel, &needs)?;
        runs(&cache, &kernel)?;
        room(
            memory(persistent(target, &kernel, &needs), &needs),
            available(),
        )?;
    }
    Ok(())
}

/// The answer of the kernel's test boot on this machine.
fn runs(cache: &Cache, kernel: &Kernel) -> Result<Answer, Error> {
    let answer = Prober::new(cache).answer(kernel, false, &mut |_| ());
    let answer = answer.map_err(Error::Guest)?;
    match answer.failure() {
        None => Ok(answer),
        Some(reason) => Err(Error::Preflight(format!(
            "kernel {} does not run on this machine: {reason}; {}",
            kernel.name,
            match kernel.form {
                Form::Uml => {
                    "`fslab kernel fetch uml` brings the newest User-mode Linux, or run it with --executor qemu"
                }
                Form::Vmlinux => "`fslab kernel list` shows which kernels run",
            }
        ))),
    }
}

/// Bytes of memory of a guest.
fn memory(persistent: Option<u64>, needs: &Needs) -> u64 {
    let filled = match persistent {
        Some(size) => needs.held.saturating_add(size / KNOWN_OF),
        None => needs.memory,
    };
    MEMORY.max(filled.saturating_add(BESIDES))
}

/// Bytes of persistent memory of a guest: for a modelled disk that is large.
fn persistent(target: &GuestTarget, kernel: &Kernel, needs: &Needs) -> Option<u64> {
    let has = |name: &&str| {
        matches!(
            kernel.capabilities.get(name),
            Some(Has::Builtin | Has::Module)
        )
    };
    let can = target.machine == GuestMachine::Qemu && PERSISTENT.iter().all(has);
    (can && needs.modelled > LARGEST_IN_MEMORY)
        .then(|| needs.modelled.next_multiple_of(PERSISTENT_UNIT))
}

/// MemAvailable, bytes; none where the kernel does not report it.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let mut lines = text.lines().filter_map(probe::meminfo::parse_line);
    let (_, kib) = lines.find(|(name, _)| *name == "MemAvailable")?;
    Some(kib << 10)
}

/// Refuses a guest that would push this machine into its swap, or have its OOM killer choose.
fn room(wanted: u64, available: Option<u64>) -> Result<(), Error> {
    match available {
        Some(available) if available < wanted => Err(Error::Preflight(format!(
            "a guest of this plan has {} MiB of memory and this machine has {} MiB available; end \
             something, or give the trials less with --set memory=SIZE",
            wanted >> 20,
            available >> 20
        ))),
        _ => Ok(()),
    }
}

/// The modules to load for what the plan needs. What is not known to be a module is taken for built in.
fn modules(target: &GuestTarget, kernel: &Kernel, needs: &Needs) -> Result<Vec<String>, Error> {
    let virtio: &[&str] = match kernel.form {
        Form::Vmlinux => &VIRTIO,
        Form::Uml => &[],
    };
    let mut wanted: Vec<&str> = needs.capabilities.iter().map(String::as_str).collect();
    wanted.retain(|name| kernel.capabilities.get(name) != Some(Has::Unknown));
    wanted.extend(virtio);
    if kernel.form == Form::Uml && needs.disks > 1 {
        // Its members are slices of one disk.
        wanted.push("dm-linear");
    }
    // Modelled disks are served by it where it is, else by FUSE. What takes the same time in each run stays as it is.
    let is_module = kernel.capabilities.get(UBLK) == Some(Has::Module);
    if needs.capabilities.contains(FUSE) && is_module && !target.virtual_time {
        wanted.push(UBLK);
    }
    if persistent(target, kernel, needs).is_some() {
        wanted.extend(PERSISTENT);
    }
    Ok(kernel.modules_for(&wanted)?)
}

impl Image {
    /// One for each kernel of the plan.
    pub(super) fn all(target: &GuestTarget, plan: &Plan) -> Result<Vec<Image>, Error> {
        let cache = Cache::open(target.cache.as_deref())?;
        let store = Store::open(&cache)?;
        // The program that runs, though its file may have been replaced: read once a run.
        let init = store.init(Path::new("/proc/self/exe"))?;
        let mut images = Vec::new();
        for (level, name) in target.each() {
            let kernel = find(target.machine, name, &cache)?;
            let needs = Needs::of_kernel(plan, level);
            let modules = modules(target, &kernel, &needs)?;
            let mut parts = vec![store.tools(&tools(plan))?, init.clone()];
            if !modules.is_empty() {
                let names: Vec<&str> = modules.iter().map(String::as_str).collect();
                parts.push(store.modules(&kernel, &names)?);
            }
            images.push(Image {
                level: level.map(str::to_owned),
                called: called(&kernel),
                append: runs(&cache, &kernel)?.append().to_vec(),
                libraries: kernel.libraries.clone(),
                kernel: kernel.image.clone(),
                memory: memory(persistent(target, &kernel, &needs), &needs),
                persistent: persistent(target, &kernel, &needs),
                cpus: std::thread::available_parallelism()
                    .map_or(1, |n| n.get().min(MOST_CPUS) as u32),
                parts,
            });
        }
        Ok(images)
    }

    /// The initramfs with a job in it.
    pub(super) fn with_job(&self, job: &Job) -> Result<File, machine::Error> {
        let document = serde_json::to_vec(job).map_err(|error| machine::Error::Prepare {
            what: "cannot write the guest's job down".into(),
            source: error.into(),
        })?;
        let job = initramfs::Job::default();
        let job = job.file(Path::new(guest::init::JOB), 0o600, document);
        let parts: Vec<&initramfs::Part> = self.parts.iter().collect();
        machine::initramfs(&parts, &job)
    }
}

fn called(kernel: &Kernel) -> String {
    let Kernel { name, release, .. } = kernel;
    if name == release {
        return release.clone();
    }
    format!("{release} ({name})")
}

/// The kernel of this name; without one the machine's usual.
fn find(machine: GuestMachine, name: Option<&str>, cache: &Cache) -> Result<Kernel, Error> {
    match (name, machine) {
        (Some(name), _) => Ok(cache.kernel(name)?),
        (None, GuestMachine::Uml) => {
            let kernels = cache.uml_kernels()?;
            let runs_here = kernels.iter().find(|kernel| runs(cache, kernel).is_ok());
            let found = runs_here.or(kernels.first()).cloned();
            found.ok_or_else(|| {
                Error::Preflight(
                    "no User-mode Linux on this machine; `fslab kernel fetch uml` brings one"
                        .into(),
                )
            })
        }
        (None, GuestMachine::Qemu) => {
            let newest = cache
                .kernels()?
                .into_iter()
                .rfind(|kernel| kernel.form == Form::Vmlinux);
            newest.ok_or_else(|| {
                Error::Preflight(format!(
                    "no kernel for a guest in {}; `fslab kernel fetch 6.1` brings one",
                    cache.root().display()
                ))
            })
        }
    }
}

/// Programs of the host that trials of this plan run.
fn tools(plan: &Plan) -> Vec<&'static str> {
    let mut all = BTreeSet::new();
    for cell in &plan.cells {
        let kind = cell.filesystem.kind.name();
        let made = rig::filesystem::of_kind(kind).ok();
        all.extend(made.map(rig::filesystem::Filesystem::program));
        all.extend(
            rig::fsck::program(kind)
                .filter(|_| cell.check.is_some() || crate::scan_program::reads(cell)),
        );
        all.extend(cell.device.stack.iter().flat_map(of_stack));
    }
    all.into_iter().collect()
}

/// Programs that make a device of several layers.
fn of_stack(stack: &study::Stack) -> Vec<&'static str> {
    let mut programs = Vec::new();
    if matches!(stack.layers, study::Layers::Lvm(_)) {
        programs.push("lvm");
    }
    let needs = stack.needs();
    if needs.contains(&"md") {
        programs.push("mdadm");
    }
    // Members may be slices of one disk.
    if !matches!(
        stack.layers,
        study::Layers::NullBlk(_) | study::Layers::Model(_)
    ) {
        programs.push("dmsetup");
    }
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_does_not_fit_is_refused() {
        let needs = Needs {
            memory: u64::MAX,
            ..Needs::default()
        };
        assert_eq!(memory(None, &needs), u64::MAX);
        assert_eq!(memory(None, &Needs::default()), MEMORY);
        let printed = room(MEMORY, Some(MEMORY - 1)).unwrap_err().to_string();
        assert!(
            printed.contains("2048 MiB") && printed.contains("2047 MiB"),
            "{printed}"
        );
        room(MEMORY, Some(MEMORY)).unwrap();
        room(MEMORY, None).unwrap();
        // A modelled disk of 20 GiB: in memory, or in persistent memory, of which the kernel knows each page.
        let large = Needs {
            memory: 20 << 30,
            modelled: 20 << 30,
            ..Needs::default()
        };
        assert_eq!(memory(None, &large), (20 << 30) + BESIDES);
        assert_eq!(memory(Some(20 << 30), &large), MEMORY);
        let larger = memory(Some(200 << 30), &large);
        assert!((BESIDES + (200 << 30) / 64..BESIDES + (200 << 30) / 40).contains(&larger));
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
