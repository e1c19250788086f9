//! A cell and the places its parameters come from.

use std::collections::BTreeMap;

use crate::error::Origin;
use crate::model::Cell;

/// A cell and where its parameters were written.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) cell: Cell,
    pub(crate) places: BTreeMap<String, Origin>,
    pub(crate) entry: Origin,
    /// Where the size of the device was written, when it was.
    pub(crate) device_size: Option<Origin>,
    /// Where it was written how the volume is filled, when it was.
    pub(crate) volume: Option<Origin>,
}

impl Placed {
    /// Whether a parameter of the workload was written at all.
    pub(crate) fn is_written(&self, parameter: &str) -> bool {
        self.places.contains_key(parameter)
    }

    /// Where a parameter of the workload was written; its entry when it was not.
    pub(crate) fn place(&self, parameter: &str) -> &Origin {
        self.places.get(parameter).unwrap_or(&self.entry)
    }
}
