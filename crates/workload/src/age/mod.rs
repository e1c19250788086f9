//! `age`.
pub(crate) mod options;
pub use options::Options;
