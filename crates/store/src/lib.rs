//! Tables of runs, for questions that no report answers.
//!
//! The log of a run is the truth, and everything here is derived from it. [`index`] makes SQLite tables of one run, in its
//! folder. A [`Store`] has many runs: one SQLite file, or a database of a PostgreSQL server (feature `postgres`).
//!
//! A run is known by the SHA-256 of its log's first line. [`Store::import`] adds what the store does not have of a log,
//! [`Store::select`] gives the runs of a kernel, a commit, a machine or a tag with the samples of their cells,
//! [`Store::runs`] gives them as comparisons read them from run folders, and [`Store::export`] writes samples with the levels of their factors as CSV, JSON Lines or Parquet (feature `parquet`).
//! Tables and views are described in docs/store.md.
//!
//! Both databases are driven by the same SQL, through one trait (`Engine`) that knows how to connect, lock and insert in bulk; so
//! they cannot answer differently without a difference of the databases themselves.
//!
//! Rejected: diesel (needs libpq), sqlx (needs a newer compiler and an asynchronous runtime in every caller), and a store as the
//! truth: a log outlives the version of a database.

mod engine;
mod error;
mod export;
pub mod foreign;
mod import;
pub mod index;
mod location;
mod rows;
mod schema;
mod select;
mod store;
mod value;

pub use error::Error;
pub use export::{Exported, Format};
pub use import::Imported;
pub use location::Location;
pub use select::{Selected, SelectedCell, SelectedSample, Selector};
pub use store::Store;

#[cfg(test)]
mod tests;
