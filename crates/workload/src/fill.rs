//! `fill`: fs_mark 3.3, native. Many files, as fast as the filesystem takes them.
//!
//! Kept from the original, because they are the benchmark: what each file costs (a name, open with
//! O_CREAT and O_TRUNC, zeros in pieces, a close), the seven sync methods with their tails, the
//! walk over subdirectories, the loop clock that has names, mkdirs and tail inside and unlinks
//! outside, `Files/sec` as the sum of the processes' own rates, and `App Overhead` as the loop's
//! time less the time in its calls.
//!
//! Mended:
//! * Memory does not grow with files. fs_mark keeps every name; here names are remade from a seed
//!   ([`Names`]). It follows that -n has no limit (fs_mark: 1,000,000) and that two runs with one
//!   seed make the same files in the same directories.
//! * In addition to the sum of rates there is files over elapsed time (`total_over_elapsed`), which does not
//!   overstate processes that end at different times.
//! * Of each system call the median and the 99th percentile beside least, mean and most.
//! * After each iteration `syncfs` ends clock (c), for -S 0 measures memory. It comes before the
//!   unlinks, so that they remove what is on the device.
//! * At the end the files are counted by reading the directories, and compared with the accounting;
//!   that no memory was swapped in meanwhile is checked (evidence `counts_agree`, `no_swap_in`).
//! * A full filesystem is reported with the file and the count; the file that did not fit is removed.
//!   With -F the fill goes on to the first ENOSPC, where fs_mark ends as soon as the bytes free are
//!   less than one more iteration.
//! * sync(2) of methods 2, 4 and 6 waits for every filesystem of the machine; `sync_target_only`
//!   puts syncfs(2) in its place.
//!
//! One call is left out unless asked for ([`Mkdir`]): fs_mark calls mkdir before every file, although
//! its directory is there but for the first. By its own account that is no file operation but
//! overhead of the program, and it is a third to a half of that overhead. Here a directory is made
//! when a process moves to it, and again when it turns out to be gone, so that the files are the
//! same. `EveryFile` brings the calls back, for one who wants fs_mark's load on the parent's lock.
//!
//! "Processes" are threads here, each with a descriptor table of its own (unshare(CLONE_FILES)).
//! What fork gives fs_mark is that its processes share no lock in the kernel beyond those of the
//! filesystem. Threads share two things more, the descriptor table and the address space. The
//! first is a lock in every open and close and a reference count in every write, so it is not
//! shared. The second does not change once the buffers exist: nothing is mapped or faulted in
//! the loop. Threads let a progress line, an interrupt and an error work without pipes and signals.
//! Forking the lab itself was rejected: it has other threads, and a child of such a process may
//! call nothing but async-signal-safe functions.
//!
//! Paths are resolved relative to the open base (openat), which spares the kernel the walk from
//! the root for every file. That is in `creat`, not in the overhead.

pub(crate) mod child;
pub(crate) mod count;
pub(crate) mod evidence;
mod method;
pub(crate) mod names;
pub(crate) mod place;
pub(crate) mod report;
mod run;
pub(crate) mod space;
mod sys;
mod text;
pub(crate) mod workers;

pub use method::SyncMethod;
pub use names::Names;
pub use params::FillSpec;
pub use params::fill::Mkdir;
pub use run::run;
pub use text::fs_mark_text;

#[cfg(test)]
pub(crate) mod tests;
