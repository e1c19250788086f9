//! What the measurements of fslab itself share: fresh filesystems on loop images, interleaved
//! pairs, medians, tables with targets.
//!
//! These are programs that print a table, not tests with a time limit: a busy machine would make
//! such tests fail, and people would then stop believing them. Build and run them with
//! `cargo run --release -p benches --bin NAME`.

pub mod arguments;
pub mod fio;
pub mod image;
pub mod limited;
pub mod memory;
pub mod needs;
pub mod pairs;
pub mod run;
pub mod sparse;
pub mod table;
pub mod watched;
