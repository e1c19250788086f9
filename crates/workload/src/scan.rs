//! `scan`: the population that a scan reads.
//!
//! The workload only fills the filesystem. Its metadata are read later, when it is unmounted, which
//! takes a device: that is the caller's part.

use std::path::Path;

use params::ScanSpec;

use crate::{Error, Observer, Outcome, Workload, fill};

impl Workload for ScanSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        vec![&self.dir]
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        fill::run(&self.population(), observer)
    }
}
