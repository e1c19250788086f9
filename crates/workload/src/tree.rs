//! `tree`: compilebench 0.6, native. The life of source trees: created, patched, compiled, cleaned,
//! read, looked up and deleted, in a random order that is always the same.
//!
//! Kept from the original, because they are the benchmark: the states and the sequence of a seed
//! (555, Python 2's generator and the order of its dictionaries: [`sequence`]), the four data sets
//! or their shapes ([`dataset`]), each set in the target's own directory order, the cache drop
//! before and the sync inside every random operation, none inside the initial creates, and the
//! arithmetic mean of the runs' rates. Mended: `syncfs(2)` of the target in place of a forked
//! `sync(1)` that waits for every filesystem of the machine, nanoseconds in place of 10 ms ticks,
//! medians and the rate of the whole beside the mean, every operation by itself in the report.
//!
//! `compat` (on by default) also keeps the original's slips: files are opened for append, so one
//! that is there already grows; a delete that empties a class is counted under "delete compiled
//! tree" when a compiled class is empty too; a tree that is patched after its compile gets new
//! objects only, and keeps 782 old ones when it is cleaned; and the walks look every name up, as
//! Python 2's did. Off, files are truncated, deletes are booked by what they delete, a clean
//! leaves no object, and directories are recognised by their type. The sequence stays the same.
//!
//! What is inside the clocks. Random operations end with a sync inside (a), so (a), (b) and (c) are
//! one figure. Initial creates have none: (a) ends with the last close, (b) and (c) with one
//! `syncfs` after the last tree. An `fsync` of each of 212,800 files is not issued: after `syncfs`
//! every file is as durable as its own `fsync` would make it, and one by one they would be a
//! journal commit each, take longer than the whole run, and lay the files out in an order of their
//! own, which is what the later operations measure. Without sync (-n) there is no (b) and (c).
//!
//! Phases overlap in time: the random operations of all kinds follow each other in the order of the
//! sequence. A phase is started before its first operation and finished after its last.

mod accounting;
pub mod dataset;
mod footprint;
mod native;
mod progress;
pub mod pydict;
pub mod random;
mod run;
pub mod sequence;
mod step;
mod text;
mod walk;
mod worker;

pub use footprint::{Footprint, footprint};
pub use params::TreeSpec;
pub use run::run;
pub use text::compilebench_text;

#[cfg(test)]
mod tests;
