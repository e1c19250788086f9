//! Text for people: one definition of how fslab wraps, counts and quotes.
//!
//! Every crate prints, and a size or a wrapped sentence must look the same everywhere. This crate
//! depends on no other of the workspace, so any crate may use it.
//!
//! Text from a log, an image, another program or a kernel is *foreign*: it may hold escape sequences
//! that steer a terminal, or be a hundred megabytes long. [`printable`] and [`printable_lines`] make
//! it safe for a terminal, [`shortened`] and [`quoted`] for an error of one line.
//!
//! Sizes are binary (`KiB`, and `k` = 1024 when they are read); counts of things are decimal
//! (`k` = 1000). The difference is meant: see [`parse_bytes`] and [`parse_count`].
//!
//! Rejected: widths by `unicode-width`. Columns are counted in characters, as `format!("{:<8}")`
//! counts them; what fslab prints is ASCII but for names that users chose.

mod amount;
mod csv;
mod duration;
mod escape;
mod hex;
mod number;
mod quote;
mod suggest;
mod uuid;
mod wrap;

pub use amount::{AmountError, bytes, bytes_f64, parse_bytes, parse_count};
pub use csv::csv_record;
pub use duration::{clock_time, short_time};
pub use escape::{escape_xml, printable, printable_lines};
pub use hex::hex;
pub use number::{grouped, list, millions, plural, s, significant};
pub use quote::{cut, quoted, shortened, shortened_to};
pub use suggest::{hint, nearest, suggest};
pub use uuid::uuid;
pub use wrap::wrap;
