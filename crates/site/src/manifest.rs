//! What a build leaves for the next one: `.fslab-site.json` in the site's folder. It also marks the folder as a site.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::library::Memory;
use crate::units::Summary;

/// Name of the file.
pub(crate) const NAME: &str = ".fslab-site.json";
/// Layout of the file. A file of another layout is left alone but for this: everything is made again.
const FORMAT: u32 = 1;
/// Largest file, in bytes: a site of 100,000 runs has 200 MB.
const LARGEST: u64 = 1 << 30;

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

    /// Reads that of a site. A damaged one, or one of another layout, is as none: then everything is made.
    ///
    /// # Errors
    /// It is not there, or is not a file.
    pub(crate) fn read(site: &Path) -> io::Result<Manifest> {
        let text = input::bytes(&site.join(NAME), LARGEST)?;
        let read: Result<Manifest, _> = serde_json::from_slice(&text);
        Ok(read
            .ok()
            .filter(|manifest| manifest.format == FORMAT)
            .unwrap_or_default())
    }
}
