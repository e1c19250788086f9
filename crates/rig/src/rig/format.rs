//! What the undo journal says of the filesystem on a real disk, from before mkfs until it is wiped.

use std::path::Path;

use probe::superblock::Source;

use super::Rig;
use crate::filesystem::{Filesystem, uuid};
use crate::undo::Step;
use crate::{Error, Result};

/// A filesystem written down: the journal's line and the UUID in it.
pub(super) struct Noted {
    step: u64,
    uuid: String,
}

impl Rig {
    /// Writes down which filesystem will be on a real disk. Returns the options for mkfs, to which
    /// the UUID is added; on images they are as given.
    pub(super) fn will_format(
        &self,
        filesystem: &dyn Filesystem,
        given: &[String],
    ) -> Result<(Option<Noted>, Vec<String>)> {
        let Some((_, approved)) = &self.disk else {
            return Ok((None, given.into()));
        };
        let uuid = uuid::of_disk(&approved.serial);
        let Some(mut options) = uuid::options(filesystem.kind(), &uuid, given) else {
            return Ok((None, given.into()));
        };
        options.extend_from_slice(given);
        let noted = self.note(&approved.serial, uuid)?;
        Ok((Some(noted), options))
    }

    fn note(&self, serial: &str, uuid: String) -> Result<Noted> {
        let step = self.journal.will_make(Step::Formatted {
            serial: serial.into(),
            uuid: uuid.clone(),
        })?;
        Ok(Noted { step, uuid })
    }

    /// After mkfs: the journal's line on what really is on the disk now.
    pub(super) fn note_formatted(
        &self,
        noted: Option<Noted>,
        filesystem: &dyn Filesystem,
        node: &Path,
    ) -> Result<Option<u64>> {
        let Some((_, approved)) = &self.disk else {
            return Ok(None);
        };
        let uuid = Source::open(node)
            .and_then(|source| filesystem.superblock(&source))
            .map_err(|error| Error::io(node, "cannot read the new superblock", error))?
            .remove("uuid")
            .unwrap_or_default();
        match noted {
            Some(noted) if noted.uuid == uuid => Ok(Some(noted.step)),
            // The study has its own way to say it.
            _ => Ok(Some(self.note(&approved.serial, uuid)?.step)),
        }
    }
}
