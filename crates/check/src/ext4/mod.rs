//! ext2, ext3 and ext4.
//!
//! The passes are e2fsck's, because their names are what reports are read by:
//!
//! | pass | module | question | needs | leaves |
//! |---|---|---|---|---|
//! | 0 | `pass0` | superblock, descriptors, journal, orphans | the device | a [`Volume`] |
//! | 1 | `pass1` | is each inode sound, which blocks does it use? | [`Volume`] | [`State`] |
//! | 1B-1D | `pass1::shared` | who else uses them? | blocks used twice | |
//! | 2 | `pass2` | is each directory block sound, what does it name? | directories of pass 1 | parents, link counts |
//! | 3 | `pass3` | does each directory hang on the root? | parents | |
//! | 4 | `pass4` | is each inode named as often as it says? | link counts | |
//! | 5 | `pass5` | do bitmaps, counters and quotas say the same? | everything | |
//!
//! Passes 1, 2 and 5 sweep: each asks for all its blocks at once, ascending, and threads take what comes. What they learn
//! goes into flat atomic bitmaps and into logs of their own, so that no result depends on their number.

mod after;
mod file;
mod kinds;
mod links;
mod memory;
mod named;
#[cfg(test)]
mod oracle;
mod pace;
mod pass0;
mod pass1;
mod pass2;
mod pass3;
mod pass4;
mod pass5;
mod paths;
mod run;
mod slots;
mod state;
mod volume;

pub use memory::Estimate;
pub use named::Named;
pub use pass1::{Metadata, Owners, Statistics, Taken};
pub use run::check;
pub use state::{Bits, Directories, Directory, Inodes, Kinds, Links, OutOfMemory, Run, State};
pub use volume::{Claims, ExternalJournal, Options, Reference, Volume};

/// Why a check has no verdict. Damage is never a reason: it is a finding.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The maps do not fit.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// They are larger than the caller allows.
    #[error(
        "a check takes {needs} bytes of memory, and {limit} are allowed; allow more, or check it on a larger machine"
    )]
    Memory {
        /// Bytes at least.
        needs: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// They have become so, because of what was found on the way.
    #[error(
        "the check was ended when it held {taken} bytes of memory of {limit} that are allowed: damage makes its lists longer than the \
         descriptors had said; allow more, or leave the bound out"
    )]
    Grown {
        /// Bytes taken.
        taken: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A sweep could not begin: no queue, no buffers.
    #[error(transparent)]
    Open(#[from] blockio::OpenError),
    /// [`Watch::cancelled`](crate::Watch::cancelled) said so.
    #[error("the check was stopped before its end, so there is no verdict; run it again")]
    Stopped,
}
