//! A run's folder, opened once by descriptor, as untrusted input.
//!
//! `fslab clean` and `fslab resume` run as root and act on what a run's folder says. The folder may
//! belong to another user, come out of an archive, or change while it is read. Three rules make it
//! safe to act on (docs/security.md):
//!
//! - **Ownership.** As root, a folder that is obeyed or written must belong to root or to the real
//!   user, and no one else may write it ([`RunDir::require_trusted`], [`RunDir::require_trusted_tree`]).
//!   `SUDO_UID` is not consulted: the environment is the caller's to set, and a process of that user
//!   that is not the person at the terminal could have made the folder.
//! - **No links.** Everything below the folder is opened relative to its descriptor by openat2(2)
//!   with `RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS` and `RESOLVE_NO_MAGICLINKS`. Where a seccomp filter or an old kernel
//!   refuses openat2, each component is opened by itself with `O_NOFOLLOW`.
//! - **Regular files only.** Files are opened with `O_NONBLOCK` and must be regular, so a FIFO cannot block and a
//!   device cannot be read. Lines have a length limit ([`Lines`]), so memory has one too.
//!
//! Rejected: checking paths before use (the path may change between check and use), and cap-std,
//! which resolves links that stay inside the folder; a run's folder has none.

mod beneath;
mod dir;
mod entry;
mod error;
mod lines;
mod owner;
mod tree;

pub use dir::{Authority, Identity, RunDir, Whereabouts, create_file};
pub use entry::mount_id;
pub use error::{Error, Result};
pub use lines::{Line, Lines};
pub use tree::remove as remove_tree;
