//! What can be wrong with bytes, before any question of consistency.
//!
//! The variants are few on purpose. A checker has its own catalogue of findings; it needs from here only
//! which structure, which field, what was found and what would have been legal.

/// Bytes in which the structure asked for cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The slice ends before the structure does.
    #[error("{what}: {have} bytes given and {need} needed; read the whole structure or block")]
    Short {
        /// The structure.
        what: &'static str,
        /// Bytes given.
        have: usize,
        /// Bytes needed.
        need: usize,
    },
    /// The magic number is not there.
    #[error(
        "{what}: magic {found:#x} instead of {expected:#x}; these bytes are something else or damaged, try a copy"
    )]
    Magic {
        /// The structure.
        what: &'static str,
        /// The number found.
        found: u32,
        /// The number that should.
        expected: u32,
    },
    /// A field has a value with which nothing else can be computed.
    #[error("{what}: {found} is not within {low}..={high}; the structure is damaged, try a copy")]
    Range {
        /// The field, by the kernel's name.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The lowest legal value.
        low: u64,
        /// The highest legal value.
        high: u64,
    },
    /// A field has an impossible value that no single range describes.
    #[error("{what}: {found} {problem}; the structure is damaged, try a copy")]
    Value {
        /// The field, by the kernel's name.
        what: &'static str,
        /// The value found.
        found: u64,
        /// Why it cannot be.
        problem: &'static str,
    },
    /// A record in a list does not fit its block, or contradicts itself.
    #[error("{what} at byte {offset}: {problem}; entries from here on cannot be read")]
    Record {
        /// The kind of record.
        what: &'static str,
        /// Its offset within the slice given, in bytes.
        offset: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Something asked to be written does not fit.
    #[error("{what}: {need} bytes wanted and {room} left; split it over a further block")]
    Full {
        /// What was to be written.
        what: &'static str,
        /// Bytes it needs.
        need: usize,
        /// Bytes there are.
        room: usize,
    },
}
