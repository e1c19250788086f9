//! Layers: sources around a source.
//!
//! Each does one thing, so that a stack says what is measured by its order. [`Counting`] around
//! [`Cache`] around [`Counting`] counts what was requested and what reached the device; [`Throttle`] below
//! the cache limits a device, above it a reader. A flag in the checker for each of these was
//! rejected: the code that is measured would then not be the code that runs.

mod cache;
mod counting;
mod entries;
mod faulty;
mod lru;
mod on_model;
mod paced;
mod recording;
mod throttle;

pub use cache::{Cache, CacheCounts};
pub use counting::{Counting, IoCounts};
pub use entries::{Entries, Entry};
pub use faulty::Faulty;
pub use on_model::{Lateness, OnModel};
pub use recording::Recording;
pub use throttle::{Throttle, ThrottleLimits};
