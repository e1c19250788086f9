//! Guest kernels: a trial in a kernel that the host does not run.
//!
//! Much of what has been published about filesystems needs what one machine's kernel rarely has:
//! OCFS2, md arrays, device-mapper targets that lose writes, two kernel versions side by side. None
//! of that needs another machine. It needs another kernel for a few seconds, and a process can run
//! one: User-mode Linux as an ordinary program, or any kernel under QEMU.
//!
//! The nouns:
//!
//! - [`kernel`]: kernels by version in our own cache, fetched from the distribution (signatures
//!   checked, the host's packages untouched) or added by hand, and what each of them can do.
//! - [`initramfs`]: the archive that a guest starts from: tools of the host with their shared
//!   libraries, the modules that the trial needs in the order in which they load, and the job.
//! - [`boot_probe`]: whether a kernel runs on this machine, by a test boot whose answer is kept.
//! - [`machine`]: what runs them, QEMU or User-mode Linux, from the start to the last line or the
//!   time limit, with nothing left over.
//! - [`init`]: the guest's first process, which is this same binary.
//!
//! The guest holds no distribution. Its init is this same binary, so host and guest cannot
//! disagree about what a workload or a probe is; a root filesystem image was rejected because it must be
//! built, kept, updated and trusted, and takes longer to boot than the kernel does.
//!
//! The crate is part of the live wing and below `lab`, which decides what runs where.

pub mod boot_probe;
mod elf_needs;
mod hex;
pub mod init;
pub mod initramfs;
pub mod kernel;
pub mod machine;
mod programs;
