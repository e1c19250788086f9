//! Tasks and kernel threads: who used the CPU.
//!
//! [`stat`] parses `/proc/<pid>/stat`, [`name`] gives tasks stable names across pids and CPUs, and
//! [`scan`] follows the busiest of them cheaply.

pub mod name;
pub mod scan;
pub mod stat;
