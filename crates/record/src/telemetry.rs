//! Telemetry files: hundreds of counters, ten times a second, in a few bytes each.
//!
//! A trial's file must describe itself (which columns exist changes with the tasks that run), cost
//! the sampler next to nothing (it shares two cores with what it measures), and be of use after a
//! kill -9. So a row holds only what changed, as differences in variable-length integers, and rows
//! go out about once a second in one `write` with a checksum; a reader stops at the first frame
//! that is not whole. Rejected: CSV (27 times the size on the tests' table), SQLite (a sync and a page cache
//! working set inside the measurement), Parquet and the like (columns must be known before rows,
//! footers are lost with the process), compression (deltas leave little, and it costs CPU).
//!
//! # Bytes
//! All fixed-width numbers are little-endian. A *varint* is LEB128: 7 bits a byte, low bits first,
//! the high bit set on all but the last byte, at most 10 bytes. A *zigzag* is a varint of
//! `(n << 1) ^ (n >> 63)`, so that small negative numbers are short.
//!
//! ```text
//! file    = "fslabtel"  u32 version (1)  frame*
//! frame   = u32 length of the payload
//!           u32 FNV-1a (32 bits) of the payload
//!           payload: record*
//! record  = 0x01  varint n, n bytes: name (UTF-8)   varint n, n bytes: unit (UTF-8)
//!               a column; columns are numbered 0, 1, 2 ... as they come
//!         | 0x02  zigzag: nanoseconds since the row before (the first: since 0)
//!                 varint: number of changes, then for each, by rising column:
//!                   varint: columns left out since the change before (the first: since column 0)
//!                   zigzag: value - value of this column before (the first: - 0), wrapping
//!               a row
//!         | 0x03  varint: rows in the file
//!               the end; a file without it was torn off
//! ```
//!
//! Times are CLOCK_MONOTONIC, the clock of `PhaseFinished`. A column has no value before its first
//! change; after it, a row without the column repeats its value.

mod read;
mod varint;
mod write;

pub use read::{Reader, Table};
pub use write::Writer;

/// What a file begins with.
pub const MAGIC: [u8; 8] = *b"fslabtel";
/// Layout version written, and the highest read.
pub const VERSION: u32 = 1;

const COLUMN: u8 = 1;
const ROW: u8 = 2;
const END: u8 = 3;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// `diskstats.loop0.writes`, `task.jbd2/loop0-8.cpu` ...: the sampler's affair.
    pub name: String,
    /// Unit of the integers: `sectors`, `ms`, `ns`, `kB`, `pages`, `count`.
    pub unit: String,
}

/// FNV-1a, 32 bits (Fowler, Noll, Vo; RFC 9923): enough to tell a torn frame from a whole one.
fn checksum(payload: &[u8]) -> u32 {
    payload.iter().fold(0x811c_9dc5, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests;
