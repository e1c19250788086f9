//! Amounts in profiles and options: sizes are binary (`72T`), counts of files are decimal (`105M`).

pub use words::{parse_bytes as bytes, parse_count as count};
