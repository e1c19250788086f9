//! Why a check has no verdict.

use super::maps::OutOfMemory;

/// Why a check has no verdict. Damage is never a reason: it is a finding.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The kernel grants no memory for a map.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The forecast is larger than the caller's limit.
    #[error(
        "the check needs {} of memory and the limit is {}; raise the limit, or check on a larger machine",
        words::bytes(*needs),
        words::bytes(*limit)
    )]
    Memory {
        /// Lower bound of the memory that the check needs, bytes.
        needs: u64,
        /// The caller's limit, bytes.
        limit: u64,
    },
    /// The check took more than was forecast and came to the caller's limit: mostly by damage, which makes lists longer.
    #[error(
        "the check was stopped at {} of memory, with a limit of {}: it needs more than was estimated; raise the limit, or run without one",
        words::bytes(*taken),
        words::bytes(*limit)
    )]
    Grown {
        /// Memory in use when the check was stopped, bytes.
        taken: u64,
        /// The caller's limit, bytes.
        limit: u64,
    },
    /// A sweep could not start: no queue or no buffers.
    #[error(transparent)]
    Open(#[from] blockio::OpenError),
    /// [`Progress::cancelled`](crate::Progress::cancelled) returned true.
    #[error("the check was interrupted, so there is no verdict; run it again")]
    Stopped,
}
