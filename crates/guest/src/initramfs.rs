//! The archive that a guest starts from.
//!
//! The kernel unpacks any number of concatenated cpio archives into its first root
//! filesystem. So a guest's archive is a concatenation of parts, and a part that has not
//! changed is not made again:
//!
//! | part | what is in it | made |
//! |---|---|---|
//! | base and tools | the folders, device nodes, programs of the host with their shared libraries | once per set of tools |
//! | modules | `/fslab/modules/NN-NAME.ko`, and `/fslab/modules.order`: one path per line, `-` before a soft one | once per kernel and set |
//! | init | `/init` (the binary without debug information), with its libraries | once per binary |
//! | job | the files of the trial | for each guest |
//!
//! A guest's root is laid out as a merged /usr: `/bin`, `/sbin`, `/lib`, `/lib64` are links into `/usr`, and
//! a program is where it is on the host. [`PATH`] is the guest's; what is elsewhere on the host has a
//! link in it.

mod cpio;
mod program;
mod store;
mod tools;

pub use cpio::{Device, Entry, Writer, read};
pub(crate) use store::SOFT;
pub use store::{Job, MODULES_ORDER, Part, Store, assemble};
pub use tools::PATH;
