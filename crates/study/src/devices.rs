//! The modelled devices that a study may name: those that fslab has, and those of the user's file.

use device::{Catalogue, Variation};

use crate::error::{Origin, Problem};
use crate::model::{Cell, MODEL, Stack};
use crate::overrides::DevicesFile;
use crate::units::Bytes;

/// Devices by name, and the text of the user's file.
pub(crate) struct Devices {
    catalogue: Catalogue,
    own: Option<String>,
}

impl Devices {
    /// Those that fslab has.
    pub(crate) fn shipped() -> Devices {
        Devices {
            // A test of `device` excludes that they are wrong; without them no name is known.
            catalogue: Catalogue::shipped().unwrap_or_default(),
            own: None,
        }
    }

    /// With those of a file.
    pub(crate) fn with(file: Option<&DevicesFile>) -> Result<Devices, Vec<Problem>> {
        let mut devices = Devices::shipped();
        if let Some(file) = file {
            let added = devices.catalogue.add(&file.name, &file.text);
            added.map_err(|error| {
                let at = Origin::argument("--devices-file");
                vec![Problem::new(&at, error.to_string())]
            })?;
            devices.own = Some(file.text.clone());
        }
        Ok(devices)
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
        let found = self.catalogue.device(device);
        let found = found.map_err(|error| error.to_string())?.into_owned();
        Ok(Some(Stack::modelled(device, capacity, found)))
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

    /// Gives the user's file to a cell that names a device: a record must not need a file that may be gone.
    pub(crate) fn give(&self, cell: &mut Cell) {
        if cell.device.is_modelled() || cell.estimate.is_some() {
            cell.devices_file.clone_from(&self.own);
        }
    }
}
