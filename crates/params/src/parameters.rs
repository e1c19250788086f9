//! What every workload's parameters answer.

use std::path::Path;

use crate::{Footprint, Invalid};

/// Parameters of one kind of workload.
pub trait Parameters {
    /// Refuses values that no filesystem and no machine could serve. Touches nothing.
    ///
    /// # Errors
    /// The first parameter that cannot be used, and what it may be.
    fn validate(&self) -> Result<(), Invalid>;

    /// Where a trial runs it: the mount point of its filesystem, and the trial's seed.
    fn place(&mut self, dir: &Path, seed: u64);

    /// What one run needs and does on any filesystem.
    fn footprint(&self) -> Footprint;

    /// The parameter that makes the workload large, in the words of a message.
    fn load(&self) -> Load;

    /// The largest file in bytes, and the parameter that sets it; `None`: no file is large.
    fn largest_file(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// Files and directories at their most; `None`: too few to matter, or until the filesystem is
    /// full.
    fn inodes(&self) -> Option<u64> {
        None
    }

    /// Whether what a phase has written is still on the filesystem when the phase ends.
    fn keeps_files(&self) -> bool {
        true
    }
}

/// How large a workload is, for a message that it does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The parameter that sets it: `size`, `files`.
    pub parameter: &'static str,
    /// What it amounts to: `8 files x 2g`.
    pub amount: String,
    /// What would be less: `smaller files`.
    pub smaller: &'static str,
}
