//! The kinds of filesystem that can be made, measured and checked, and what is known of each.
//!
//! A kind is one line in [`Kind`] and one entry in `table.rs`: names, packages, programs and their
//! fixed arguments, limits, magic numbers, defaults. Everything that can be written as a value is
//! here, so that a new kind does not need an arm in a `match` of every crate.
//!
//! What needs code stays with the crate that runs it: `rig::Filesystem` (facts of a mounted
//! filesystem), `rig::fsck` (the lines that a checker prints), `ondisk` (structures). Those traits
//! take their names and arguments from the table.
//!
//! The crate is not called `fs`: `use fs::Kind` is ambiguous in every file that imports `std::fs`.
//! Rejected: one module for each kind. Side by side, a missing or wrong value is seen at once.

mod family;
mod kind;
mod properties;
mod table;

pub use family::Family;
pub use kind::Kind;
pub use properties::{
    Checker, DelayedAllocation, Extents, Journal, KernelDriver, Mkfs, Package, Properties,
    Signature,
};

/// One mebibyte, in bytes.
pub(crate) const MIB: u64 = 1 << 20;
/// One gibibyte, in bytes.
pub(crate) const GIB: u64 = 1 << 30;
/// One tebibyte, in bytes.
pub(crate) const TIB: u64 = 1 << 40;
