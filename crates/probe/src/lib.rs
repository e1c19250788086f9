//! The state of the machine, and its activity while a trial runs.
//!
//! Two products. [`context`] takes one record of the system, its memory policy, its filesystem and
//! its block stack: the sixty items that a reviewer asks for when two numbers differ. Each item
//! keeps its source and, where it cannot be read, the reason; an item is never silently absent,
//! because omitting what could not be read makes two different machines look equal.
//! [`sampler`] reads the kernel's counters at a fixed interval into columns and hands them to a
//! [`sampler::Sink`]; it knows nothing of files or formats, so the crate that stores telemetry and
//! the crate that reads it stay free of live-system code.
//!
//! Everything is parsed from `/proc` and `/sys` here, and no helper program is run. `lsblk`,
//! `blkid`, `lscpu` and `systemd-detect-virt` would have been shorter, but each start costs
//! milliseconds, their output differs by version, and none names the source of a value. The
//! parsers take text and never panic, so they are tested with made-up trees ([`Roots`]) and with
//! garbage. Counters are kept raw: rates and percentages are computed by pure functions
//! ([`iostat`], [`cpu`], [`psi`]) from two samples, so a report can be repeated from the stored
//! counters with another formula.
//!
//! The sampler must not disturb what it measures. It keeps its files open, reads each with one
//! `pread`, and scans all tasks at a fifth of the rate; its own CPU time is part of its result.

pub mod capture;
pub mod context;
pub mod cpu;
pub mod diskstats;
pub mod iostat;
pub mod kernel_log;
pub mod meminfo;
pub mod memory;
pub mod mountinfo;
pub mod noise;
pub mod psi;
mod roots;
pub mod sampler;
pub mod snapshot;
pub mod superblock;
pub mod task_io;
pub mod tasks;
pub mod vmstat;

pub use roots::Roots;
