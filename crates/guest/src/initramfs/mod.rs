//! The archive that a guest starts from.
//!
//! The kernel unpacks any number of cpio archives, one behind the other, into its first root
//! filesystem. So a guest's archive is a concatenation of parts, and a part that has not
//! changed is not made again:
//!
//! | part | what is in it | made |
//! |---|---|---|
//! | base and tools | the folders, device nodes, programs of the host with their shared libraries | once per set of tools |
//! | modules | `/fslab/modules/NN-NAME.ko`, and `/fslab/modules.order`: one path per line | once per kernel and set |
//! | job | `/init` (the binary, with its libraries), and the files of the trial | for each guest |
//!
//! What stands above uses this much of it:
//!
//! ```text
//! Store::open(cache: &kernel::Cache) -> Result<Store, Error>        // CACHE/initramfs
//! Store::tools(&self, tools: &[&str]) -> Result<Part, Error>        // names or absolute paths: "mke2fs", "mdadm", ..
//! Store::modules(&self, kernel: &Kernel, modules: &[&str]) -> Result<Part, Error>
//! Part { path: PathBuf, bytes: u64, made: bool }                    // made: false when it was there already
//! Job::new(init: &Path) -> Job; .file(guest_path, mode, bytes)      // the binary becomes /init
//! assemble(parts: &[&Part], job: &Job, to: &Path) -> Result<u64, Error>  // bytes written
//! find_tool(name) -> Option<PathBuf>; PATH                           // what a guest could be given
//! Writer::new(W) .directory/.file/.symlink/.device .finish()        // newc; read() reads it back
//! ```
//!
//! A guest's root is laid out as a merged /usr: `/bin`, `/sbin`, `/lib`, `/lib64` are links into `/usr`, and
//! a program lies where it lies on the host, so `PATH` is the host's.

mod cpio;
mod program;
mod store;
mod tools;

pub use cpio::{Device, Entry, Writer, read};
pub use store::{Job, MODULES_ORDER, Part, Store, assemble};
pub use tools::{PATH, find_tool};
