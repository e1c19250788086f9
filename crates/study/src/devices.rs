//! The modelled devices that a study may name: those that fslab has, and those of the user's file.

use device::{Catalogue, Variation};

use crate::error::{Origin, Problem};
use crate::model::{Cell, MODEL, Stack};
use crate::units::Bytes;

/// A file of devices besides those that fslab has (docs/devices.md), as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicesFile {
    /// Its path, for messages.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Devices by name, and the user's file.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    catalogue: Catalogue,
    own: Option<DevicesFile>,
}

impl Devices {
    /// Those that fslab has, and those of a file.
    pub(crate) fn with(file: Option<&DevicesFile>) -> Result<Devices, Vec<Problem>> {
        let Some(file) = file else {
            return Ok(Devices {
                // A test of `device` excludes that they are wrong; without them no name is known.
                catalogue: Catalogue::shipped().unwrap_or_default(),
                own: None,
            });
        };
        let catalogue = Catalogue::with(&file.name, &file.text).map_err(|error| {
            let at = Origin::argument("--devices-file");
            vec![Problem::new(&at, error.to_string())]
        })?;
        Ok(Devices {
            catalogue,
            own: Some(file.clone()),
        })
    }

    /// The modelled disk of a name that begins with [`MODEL`]; none for any other name. No study declares these.
    ///
    /// # Errors
    /// There is no such device; the message has a similar one.
    pub(crate) fn disk(&self, name: &str) -> Result<Option<Stack>, String> {
        let Some(device) = name.strip_prefix(MODEL) else {
            return Ok(None);
        };
        let capacity = self.capacity(device)?;
        let words = |error: device::Error| error.to_string();
        let found = self.catalogue.device(device).map_err(words)?.into_owned();
        let mut stack = Stack::modelled(device, capacity, found);
        if let crate::model::Layers::Model(model) = &mut stack.layers {
            model.figures = self.own_figures(device).map_err(words)?;
        }
        Ok(Some(stack))
    }

    /// Bytes of a device.
    ///
    /// # Errors
    /// There is no such device; the message has a similar one.
    pub(crate) fn capacity(&self, name: &str) -> Result<Bytes, String> {
        let model = self.catalogue.model(name, Variation::Nominal);
        let model = model.map_err(|error| error.to_string())?;
        Ok(Bytes(model.capacity()))
    }

    /// Figures of a device of the user's file.
    fn own_figures(&self, name: &str) -> Result<Option<String>, device::Error> {
        let own = self.own.as_ref();
        own.map_or(Ok(None), |file| self.catalogue.figures(name, &file.name))
    }

    /// The text of the user's file, where one of these cells needs it: a record must not need a file that may be gone.
    pub(crate) fn text_for(&self, cells: &[Cell]) -> Option<String> {
        let is_own = |name: &str| matches!(self.own_figures(name), Ok(Some(_)));
        let needs = |cell: &Cell| {
            let model = cell.device.model();
            let mut estimates = cell.estimate.iter().flat_map(|spec| &spec.devices);
            model.is_some_and(|model| model.figures.is_some()) || estimates.any(|name| is_own(name))
        };
        let own = self.own.as_ref()?;
        cells.iter().any(needs).then(|| own.text.clone())
    }
}
