//! What checkers have in common. Nothing here knows a format.
//!
//! A checker brings its passes ([`pass::Pass`]), its table of problems ([`problem::Problem`]), its reference program
//! ([`verdict::Reference`]) and the code that reads its structures. The frame collects and orders findings, measures passes,
//! reads in large ascending requests, keeps flat maps with one entry per inode slot or allocation unit, bounds memory, and prints
//! the report.

pub mod affected;
pub(crate) mod budget;
pub mod connectivity;
pub mod cost;
pub mod failure;
pub mod finding;
pub mod forecast;
pub mod log;
pub mod maps;
pub mod memory;
pub(crate) mod meter;
pub mod observer;
pub mod options;
pub(crate) mod outcome;
pub mod pass;
pub mod paths;
pub mod prefetch;
pub mod problem;
pub mod report;
pub(crate) mod request_size;
pub(crate) mod sweep;
pub mod trim;
pub(crate) mod usage;
pub mod verdict;
