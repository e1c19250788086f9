//! What guests of a plan start from: a kernel, its modules, the host's tools, and the job.
//!
//! Only what the plan needs goes in, since each byte is unpacked at every boot. The tools
//! are those of the host that the same plan would run there, so their versions agree.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use guest::initramfs::{self, Store};
use guest::kernel::{Cache, Form, Kernel};
use guest::machine;
use study::Plan;

use super::job::Job;
use crate::error::Error;
use crate::local::kind_name;
use crate::target::{GuestMachine, GuestTarget};

/// What a virtual machine's disks and channel need.
const VIRTIO: [&str; 3] = ["virtio_pci", "virtio_blk", "virtio_console"];
/// Memory of a guest, bytes, unless the plan holds its trials to more.
const MEMORY: u64 = 2 << 30;
/// What a guest's kernel and the lab in it need besides a trial's own memory.
const BESIDES: u64 = 512 << 20;

/// What guests start from.
pub(super) struct Image {
    /// The kernel's file.
    pub(super) kernel: PathBuf,
    /// Bytes of memory.
    pub(super) memory: u64,
    /// CPUs.
    pub(super) cpus: u32,
    parts: Vec<initramfs::Part>,
}

/// Whether there is a kernel, and it has what the plan needs.
pub(super) fn check(target: &GuestTarget, plan: &Plan) -> Result<(), Error> {
    modules(&find(target, &Cache::open(None)?)?, &Needs::of(plan)).map(|_| ())
}

/// The modules to load for what the plan needs.
fn modules(found: &Found, needs: &Needs) -> Result<Vec<String>, Error> {
    match found {
        Found::Program(_) => needs.of_user_mode_linux().map(|()| Vec::new()),
        Found::Cached(kernel) => Ok(kernel.modules_for(&needs.capabilities(kernel))?),
    }
}

impl Image {
    pub(super) fn of(target: &GuestTarget, plan: &Plan) -> Result<Image, Error> {
        let needs = Needs::of(plan);
        let cache = Cache::open(None)?;
        let store = Store::open(&cache)?;
        let found = find(target, &cache)?;
        let modules = modules(&found, &needs)?;
        // The program that runs, though its file may be replaced meanwhile: read once a run.
        let init = store.init(Path::new("/proc/self/exe"))?;
        let mut parts = vec![store.tools(&needs.tools())?, init];
        let kernel = match found {
            Found::Program(path) => path,
            Found::Cached(kernel) => {
                if !modules.is_empty() {
                    let names: Vec<&str> = modules.iter().map(String::as_str).collect();
                    parts.push(store.modules(&kernel, &names)?);
                }
                kernel.image.clone()
            }
        };
        Ok(Image {
            kernel,
            memory: MEMORY.max(needs.memory + BESIDES),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            parts,
        })
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

/// A kernel that was found.
enum Found {
    /// User-mode Linux as the host has it installed.
    Program(PathBuf),
    /// One of the cache.
    Cached(Box<Kernel>),
}

fn find(target: &GuestTarget, cache: &Cache) -> Result<Found, Error> {
    let cached = |name: &str| {
        let kernel = cache.kernel(name)?;
        fits(&kernel, target.machine)?;
        Ok(Found::Cached(Box::new(kernel)))
    };
    match (&target.kernel, target.machine) {
        (Some(name), _) => cached(name),
        (None, GuestMachine::Uml) => match machine::installed_uml() {
            Ok(program) => Ok(Found::Program(program)),
            Err(missing) => cached("uml").map_err(|_: Error| Error::Preflight(missing.to_string())),
        },
        (None, GuestMachine::Qemu) => {
            let newest = cache
                .kernels()?
                .into_iter()
                .rfind(|kernel| kernel.form == Form::Vmlinux);
            newest
                .map(|kernel| Found::Cached(Box::new(kernel)))
                .ok_or_else(|| {
                    Error::Preflight(format!(
                        "no kernel for a guest in {}; `fslab kernel fetch 6.1` brings one",
                        cache.root().display()
                    ))
                })
        }
    }
}

/// Whether a kernel and what is to run it belong together.
fn fits(kernel: &Kernel, machine: GuestMachine) -> Result<(), Error> {
    let right = match machine {
        GuestMachine::Uml => Form::Uml,
        GuestMachine::Qemu => Form::Vmlinux,
    };
    if kernel.form == right {
        return Ok(());
    }
    let other = match machine {
        GuestMachine::Uml => GuestMachine::Qemu,
        GuestMachine::Qemu => GuestMachine::Uml,
    };
    Err(Error::Preflight(format!(
        "kernel {} is not one for {}; run it with --executor {}",
        kernel.name,
        machine.name(),
        other.name()
    )))
}

/// What a plan needs of a guest.
struct Needs {
    kinds: BTreeSet<&'static str>,
    checked: bool,
    traced: bool,
    memory: u64,
}

impl Needs {
    fn of(plan: &Plan) -> Needs {
        let cells = || plan.cells.iter();
        Needs {
            kinds: cells().map(|c| kind_name(c.filesystem.kind)).collect(),
            checked: cells().any(|cell| cell.check.is_some() || crate::scan_program::reads(cell)),
            traced: cells().any(|cell| cell.trace),
            memory: cells()
                .filter_map(|cell| cell.memory)
                .map(study::Bytes::get)
                .max()
                .unwrap_or(0),
        }
    }

    fn capabilities(&self, kernel: &Kernel) -> Vec<&'static str> {
        let mut all: Vec<&str> = self.kinds.iter().copied().collect();
        if kernel.form == Form::Vmlinux {
            all.extend(VIRTIO);
        }
        if self.traced {
            all.push("blktrace");
        }
        all
    }

    /// An installed User-mode Linux has these filesystems built in, and no block trace.
    fn of_user_mode_linux(&self) -> Result<(), Error> {
        if self.traced {
            return Err(Error::Preflight(
                "the study traces block devices and User-mode Linux has no block trace; use \
                 --executor qemu, or --set trace=false"
                    .into(),
            ));
        }
        Ok(())
    }

    fn tools(&self) -> Vec<&'static str> {
        let of_kind = |kind: &&'static str| {
            let made = rig::filesystem::of_kind(kind)
                .ok()
                .map(rig::filesystem::Filesystem::program);
            let checker = rig::fsck::program(kind).filter(|_| self.checked);
            [made, checker]
        };
        let found: BTreeSet<&str> = self.kinds.iter().flat_map(of_kind).flatten().collect();
        found.into_iter().collect()
    }
}
