//! A whole check of an XFS filesystem, held to bounds. With more than one thread it replays the log, too.

use blockio::BlockSource;
use check::{report, xfs};

use crate::bounds;

/// Bytes of memory that a check is allowed.
const MEMORY: u64 = 64 << 20;

/// Checks it, and holds the check to its bounds. The number of problems.
pub(crate) fn hold(source: &dyn BlockSource, threads: usize, what: &str) -> usize {
    let checker = xfs::Checker::new(xfs::Options {
        replay: threads > 1,
        ..xfs::Options::default()
    });
    bounds::hold(
        source,
        threads,
        what,
        (&checker, report::xfs_repair, MEMORY),
    )
}
