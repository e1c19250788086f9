//! `age`: a filesystem that has been filled, emptied in places and filled again.
//!
//! The procedure is that of the "fragmented" case of the fsck tests of 2012 (J. Layton, H.
//! Newman, Linux File System Fsck Testing), where checking such an XFS took 676 s against 1,629 s
//! for one that was filled once, for no known reason. In round k of five: (a) fs_mark adds files to
//! the same directories again; (b) `step` x k directories, chosen at random, are removed with all
//! that is in them; (c) as many are added, of `per_directory` files each, each inside another
//! directory chosen at random.
//!
//! What the text leaves open is decided here, and recorded:
//! * Choices are drawn from a seed, and logged (each run's note; beyond a few directories by a
//!   digest), so that the same tree can be made again.
//! * The accounting is exact. A directory that is removed may hold others from an earlier (c); they go
//!   with it, with their files, and are counted. At the end the counts are compared with a walk of the
//!   whole tree (evidence `counts_agree`).
//! * fs_mark was given one `-d`, so its three threads shared the directories and a removed one took
//!   up to 3,000 files with it while (c) gives 1,000 back. The text believes each thread had its own.
//!   `shared` offers both readings.
//! * "Each inside an existing directory": no two inside the same in one round; only directories that
//!   were there before the round's (c) are chosen.
//! * After each step `syncfs` waits. In 2012 a round was many times the memory, so files were on
//!   the device before they were removed; in a small replica they would be removed from memory and
//!   the device would never see them, which ages nothing.
//!
//! Memory: directories only, never files: names are made again from the seed (as in
//! [`fill`](crate::fill)), removal reads the directories.
//!
//! Phases overlap in time, as they do in [`tree`](crate::tree): `age_fill`, `age_remove` and
//! `age_add` each have a run for each round. A phase is started before its first round and
//! finished after its last.

mod accounting;
mod census;
mod log;
mod remove;
mod removed;
mod root;
mod run;

pub use census::census;
pub use params::AgeSpec;
pub use run::run;

#[cfg(test)]
mod tests;
