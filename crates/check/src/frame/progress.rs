//! Progress reporting and cancellation.
//!
//! A pass announces the bytes it will cover as soon as it knows them ([`Progress::expect`]), and then reports the bytes it has covered
//! ([`Progress::advance`]). Holes count as covered: they are part of the plan, and a plan that shrinks while it is carried out
//! gives no useful percentage. What was actually read is counted at the source.

use super::cost::Cost;

/// Progress out, cancellation in. Called from all threads of a pass; each call should take well under a microsecond, so
/// implementations count, and draw in a thread of their own.
pub trait Progress: Send + Sync {
    /// A pass begins; `pass` is its name in reports: `0` to `5`, `1B`, `after`.
    fn begin(&self, _pass: &'static str) {}

    /// A pass has ended with this cost. Not called for the parts of a pass, such as 1B to 1D. Unlike the other methods this one may
    /// take its time: no clock of a pass is running.
    fn end(&self, _cost: &Cost) {}

    /// The check will use at most this many bytes of memory. Called once, before pass 1.
    fn memory(&self, _bytes: u64) {}

    /// From here on all remaining passes will cover about this many bytes. Called before pass 1, from what the descriptors say, and again
    /// after it, when the directories are known; damage raises it.
    fn foresee(&self, _bytes: u64) {}

    /// The current pass will cover this many more bytes.
    fn expect(&self, _bytes: u64) {}

    /// This many more bytes are covered, holes and unreadable ranges included.
    fn advance(&self, _bytes: u64) {}

    /// Whether the check should end at the next convenient point, with [`Failure::Stopped`](crate::Failure::Stopped).
    /// Called once per piece of a sweep, not per inode.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Reports nothing and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
