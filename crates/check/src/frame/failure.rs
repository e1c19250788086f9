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
        "the check needs {needs} bytes of memory and the limit is {limit}; raise the limit, or check on a larger machine"
    )]
    Memory {
        /// Lower bound of the memory that the check needs, bytes.
        needs: u64,
        /// The caller's limit, bytes.
        limit: u64,
    },
    /// The check grew past the caller's limit because damage made its lists longer than the forecast.
    #[error(
        "the check was stopped at {taken} bytes of memory, with a limit of {limit}: damage makes its lists longer than the \
         descriptors indicated; raise the limit, or run without one"
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
