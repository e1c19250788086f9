//! A whole check of an OCFS2 volume, held to bounds.

use blockio::BlockSource;
use check::{ocfs2, report};

use crate::bounds;

/// Bytes of memory that a check is allowed: its cache of 32 MiB, the blocks of a run, and the rest.
const MEMORY: u64 = 72 << 20;

/// Checks it, and holds the check to its bounds. The number of problems.
pub(crate) fn hold(source: &dyn BlockSource, threads: usize, what: &str) -> usize {
    bounds::hold(
        source,
        threads,
        what,
        (&ocfs2::Checker, report::ocfs2, MEMORY),
    )
}
