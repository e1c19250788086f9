//! Machines: a kernel, an initramfs and disks, run to their end by a program of the host.
//!
//! A [`Machine`] describes it; [`Machine::run`] starts it, passes on the messages of its init,
//! and returns when it has ended, also by a crash. Two programs can do it. User-mode Linux is a
//! kernel built as an ordinary program: it boots in a second and a half on most machines ([`crate::boot_probe`]
//! finds out which), has one CPU and no block trace. QEMU runs any kernel, with the processor's help (KVM) or in emulation (TCG).
//!
//! What holds for both:
//!
//! - Nothing is left on the host, not even by kill -9 of the lab: the initramfs is an anonymous file of
//!   memory, disks are handed over as open files (which may have no name), the channel is a pair of
//!   sockets, what UML writes for itself is in memory of its own, and the machine's
//!   program dies with the thread that runs it (PR_SET_PDEATHSIG; UML's many processes with the
//!   first of their pid namespace). So two runs cannot meet, either. What stays is what was asked
//!   for: the console, and the files that came over.
//! - No wait is unlimited: there is a time limit for init's first line, for the time between heartbeats, and
//!   for the whole, all counted in the time in which the machine could run (`patience`). stdin of the machine and of init is empty: a program that asks a question gets an end of file.
//! - Only a guest that sends `done` has finished. A panic, a hang, or an end too early is an error that
//!   quotes the console, which is kept.
//!
//! Rejected: a shared folder for results (9p, virtiofs, hostfs). Kernels differ in which they have,
//! and a byte stream they all have carries 10 MB in 0.1 to 0.3 s. Rejected: opening /dev/kvm as the
//! test for KVM. Where hypervisors do without the processor's help it opens, and fails minutes
//! later or interprets the guest slower than TCG does; vmx or svm in /proc/cpuinfo is the test.

mod console;
mod error;
pub mod message;
mod patience;
mod process;
mod qemu;
mod session;
mod uml;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use progress::Progress;
use rustix::fs::MemfdFlags;
use serde_json::Value;

use crate::initramfs;
pub use error::Error;
pub use patience::Waited;
pub use qemu::Accelerator;

/// Name of the variable on the kernel's command line by which init knows that it is one, and
/// where it finds its channel: `virtio` or a terminal's node.
pub const MARK: &str = "fslab_guest";

/// The value of [`MARK`] where the channel is a virtio-serial port, and the port's name.
pub(crate) const VIRTIO: &str = "virtio";
pub(crate) const PORT: &str = "lab.result";

/// The program of User-mode Linux that this machine has installed.
///
/// # Errors
/// [`Error::MissingProgram`] with the package to install.
pub fn installed_uml() -> Result<PathBuf, Error> {
    uml::installed()
}

/// The program of QEMU, if it is installed.
pub(crate) fn qemu_program() -> Option<PathBuf> {
    crate::programs::find(qemu::PROGRAM)
}

/// What runs the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// User-mode Linux.
    Uml,
    /// QEMU.
    Qemu(Accelerator),
}

impl Engine {
    /// Whether what this machine needs of the host besides a kernel is here.
    ///
    /// # Errors
    /// [`Error::MissingProgram`] with the package to install.
    pub fn present(self) -> Result<(), Error> {
        match self {
            Engine::Uml => uml::present(),
            Engine::Qemu(_) => qemu::present(),
        }
    }
}

/// A disk of the machine.
#[derive(Debug)]
pub struct Disk {
    /// Its bytes, raw: usually a sparse file. It needs no name.
    pub file: File,
    /// Its serial, by which the guest knows it; letters and digits.
    pub serial: String,
    /// A file for the log of its writes, in dm-log-writes' format, which QEMU alone keeps; none: no log.
    pub log: Option<File>,
}

/// Persistent memory comes in multiples of this, bytes: a section of the kernel's memory map.
pub const PERSISTENT_UNIT: u64 = 128 << 20;

/// How long what may take, in time in which the machine could run: what it waits for a processor is not counted, up to nine times
/// the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the start to init's first line.
    pub first_line: Duration,
    /// From one sign of life to the next.
    pub silence: Duration,
    /// From the start to the end.
    pub whole: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            first_line: Duration::from_secs(60),
            silence: Duration::from_secs(120),
            whole: Duration::from_secs(3600),
        }
    }
}

/// A machine to run.
#[derive(Debug)]
pub struct Machine {
    /// What runs it.
    pub engine: Engine,
    /// The kernel: for QEMU an ELF image or a bzImage, for UML the program.
    pub kernel: PathBuf,
    /// The folder of the interpreter and the libraries that UML's own process is started with; without one, those of
    /// this machine. See [`crate::kernel::Kernel::libraries`].
    pub libraries: Option<PathBuf>,
    /// The initramfs; see [`initramfs()`].
    pub initramfs: File,
    /// Bytes of memory.
    pub memory: u64,
    /// CPUs. UML has one unless `append` has `ncpus=`.
    pub cpus: u32,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// A file that is persistent memory of the guest (`/dev/pmem0`), a multiple of [`PERSISTENT_UNIT`] long: the guest's own processor
    /// moves its bytes. QEMU alone.
    pub persistent: Option<File>,
    /// Further words of the kernel's command line, and UML's own options (`seccomp=on`).
    pub append: Vec<String>,
    /// How long what may take, in time in which the machine could run: what it waits for a processor is not counted, up to nine times
    /// the limit.
    pub limits: Limits,
    /// The file that gets the console; added to when it is there.
    pub console: PathBuf,
    /// The folder for files that the guest sends; none of their names may be taken in it.
    pub files: PathBuf,
}

/// How a guest ended that came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestExit {
    /// Its job's exit code.
    pub code: i32,
    /// Its kernel's release.
    pub release: String,
    /// Seconds from the start to its first line.
    pub boot_seconds: f64,
    /// Seconds from the start until the last of its processes had ended.
    pub seconds: f64,
    /// The last words of its console, as a piece of a sentence (`: fslab: no such disk`), or nothing.
    pub last: String,
}

impl Machine {
    /// Runs it to its end. `heard` gets the documents of the job, in order, and `false` from it stops the
    /// machine; so does `progress`, asked ten times a second.
    ///
    /// # Errors
    /// When it cannot be started, or does not come to its end by itself.
    pub fn run(
        &self,
        heard: &mut dyn FnMut(Value) -> bool,
        progress: &dyn Progress,
    ) -> Result<GuestExit, Error> {
        session::run(self, heard, progress)
    }
}

/// Assembles an initramfs in memory: a file without a name, freed with its last user.
///
/// # Errors
/// When a part or the job's program cannot be read.
pub fn initramfs(parts: &[&initramfs::Part], job: &initramfs::Job) -> Result<File, Error> {
    let made = rustix::fs::memfd_create("fslab-initramfs", MemfdFlags::CLOEXEC);
    let file = made.map(File::from).map_err(|error| Error::Prepare {
        what: "cannot make the initramfs's file in memory".into(),
        source: error.into(),
    })?;
    initramfs::assemble(parts, job, &file, Path::new("the initramfs in memory"))?;
    Ok(file)
}
