//! Read-only checkers: is this filesystem sound, and if not, what exactly is wrong?
//!
//! A checker here reads an image or a device through `blockio` and never opens anything for writing. It gives e2fsck's verdict,
//! because that is the reference everybody trusts, but in its own way: where e2fsck walks inode by inode through one cache with one
//! request in flight, these passes sweep the metadata ascending with large requests, in several threads, and keep flat bitmaps
//! instead of trees.
//!
//! What is found is a [`Finding`]: e2fsck's problem code ([`problem`]), where, what was found and what would be right. The checker goes
//! on where `e2fsck -n` gives up, and marks in the finding that the reference would have stopped there, so that the
//! verdict ([`Verdict`]) is still that of the reference.

pub mod ext4;
mod finding;
mod footprint;
mod log;
mod meter;
pub mod mounted;
pub mod problem;
mod rate;
pub mod reading;
pub mod report;
mod residency;
mod usage;
mod verdict;
mod watch;

pub use finding::{Finding, Place, Value};
pub use footprint::give_back_program;
pub use log::{DEFAULT_KEPT, Findings, Log, Tally};
pub use meter::{Cost, STAGES, Stage};
pub use problem::{Class, Problem, Severity};
pub use rate::sequential_rate;
pub use report::Report;
pub use residency::{CACHED_REQUEST, mostly_cached};
pub use verdict::{EXIT_CLEAN, EXIT_ERRORS, EXIT_STOPPED, Verdict, Verdicts};
pub use watch::{Unwatched, Watch};
