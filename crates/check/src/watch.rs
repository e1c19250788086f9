//! Who watches a check: a terminal that shows how far it is, a hand that stops it.
//!
//! A pass says how many bytes it is going to go through as soon as it knows ([`Watch::expect`]), and then what it has gone
//! through ([`Watch::advance`]). Holes count as bytes gone through: they are part of the plan, and a plan that shrinks as it is
//! carried out shows nobody how far it is. What was really read is counted elsewhere, at the source.

use crate::meter::Cost;

/// Progress out, cancellation in. Called from all threads of a pass; each call should take well under a microsecond, so
/// implementations count and let somebody else draw.
pub trait Watch: Send + Sync {
    /// The pass begins that reports call so: `0` to `5`, `1B`, `after`.
    fn begin(&self, _pass: &'static str) {}

    /// A pass is over, its clocks stand, and this is what it cost. Not said of 1B to 1D, which are part of pass 1. Unlike the
    /// others this may take its time: no clock of a pass runs.
    fn end(&self, _cost: &Cost) {}

    /// The check will take at most so many bytes of memory. Said once, before pass 1.
    fn memory(&self, _bytes: u64) {}

    /// From here on all passes together are going to go through about so many bytes. Said before pass 1, by what the descriptors
    /// say, and again behind it, when the directories are known; damage makes it more.
    fn foresee(&self, _bytes: u64) {}

    /// This pass is going to go through so many further bytes.
    fn expect(&self, _bytes: u64) {}

    /// So many further bytes have been gone through, holes and unreadable ones included.
    fn advance(&self, _bytes: u64) {}

    /// Whether the check is to end at the next convenient place, with [`Failure::Stopped`](crate::ext4::Failure::Stopped).
    /// Asked once for each piece of a sweep, not for each inode.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}
