//! What a build leaves for the next one: `.fslab-site.json` in the site's folder. It also marks the folder as a site.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::library::Memory;
use crate::units::Summary;

/// Name of the file.
pub(crate) const NAME: &str = ".fslab-site.json";
/// Layout of the file. A file of another layout is left alone but for this: everything is made again.
const FORMAT: u32 = 1;

/// The file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Layout of the file.
    format: u32,
    /// What is known of each run, by its folder below the folder of runs.
    pub runs: Memory,
    /// What the pages are made of, by unit.
    pub units: BTreeMap<String, Made>,
}

/// A unit as it was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Made {
    /// Hash of all that it was made of.
    pub input: String,
    /// Its pages.
    pub pages: Vec<String>,
    /// What lists show of it.
    pub summary: Summary,
}

impl Manifest {
    pub(crate) fn new(runs: Memory, units: BTreeMap<String, Made>) -> Manifest {
        Manifest {
            format: FORMAT,
            runs,
            units,
        }
    }

    /// Reads one. A damaged one, or one of another layout, is as none: then everything is made.
    pub(crate) fn parse(text: &[u8]) -> Manifest {
        let read: Result<Manifest, _> = serde_json::from_slice(text);
        read.ok()
            .filter(|manifest| manifest.format == FORMAT)
            .unwrap_or_default()
    }
}
