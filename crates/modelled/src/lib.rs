//! What would this take on that hardware: traces, checks and the published studies on modelled devices.
//!
//! `device` has the models and knows no files. This crate brings requests to them: those of a block trace ([`trace`]), writes of a log
//! ([`write_log`]), those that a checker recorded of itself ([`checker`]), and those that follow from the program and the format of a published measurement
//! ([`studies`]). The result is one value ([`Report`]) that is printed as text or JSON. Every number of it is modelled, is called so, and the
//! durations have an interval: a number without one would be taken for a measurement.
//!
//! A replay is cheap, so an interval is found by repeating it with figures drawn from the ranges that their sources leave, and
//! widened by what the models themselves are known to be wrong by. Rejected: error propagation by formula, which cannot follow a queue.

pub mod bench;
pub mod checker;
pub mod drives;
mod error;
mod estimator;
pub mod fit;
mod job;
pub mod live;
mod report;
mod spool;
pub mod studies;
pub mod trace;
pub mod write_log;

pub use error::{Error, catalogue, check_file, read_file};
pub use estimator::Estimator;
pub use job::{DEPTH, Job, modes_beside};
pub use report::{DeviceReport, Modelled, Report, Row, Spent};
pub use spool::{Reader, Spooled};
