//! What another program measured. Such a workload is imported with its results; it is in no study and cannot be run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Footprint, Invalid, Load, Parameters};

/// A workload of another program: fio, IOR, mdtest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignSpec {
    /// The program's name.
    pub program: String,
    /// Its parameters, in the program's own words and units.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

impl ForeignSpec {
    /// The workload's name in records.
    pub const KIND: &'static str = "foreign";
}

impl Parameters for ForeignSpec {
    fn validate(&self) -> Result<(), Invalid> {
        let why = "results of another program are imported (`fslab import --from`), not measured";
        Err(Invalid::new("kind", Self::KIND, why))
    }

    fn place(&mut self, _dir: &Path, _seed: u64) {}

    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    fn load(&self) -> Load {
        Load {
            parameter: "program",
            amount: self.program.clone(),
            smaller: "another workload",
        }
    }
}
