//! The place of an image that the caller writes, and that several trials read one after the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::loop_image::room_for;
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result, host};

/// A file to be made below the run's folder. It is removed when this is dropped; after a kill, `clean` removes it.
#[derive(Debug)]
pub struct ImagePlace {
    journal: Arc<Journal>,
    path: PathBuf,
    step: Option<u64>,
}

impl ImagePlace {
    /// Writes the file down before it is made. There is none of that name yet.
    pub(crate) fn new(
        folder: &Path,
        name: &str,
        size: u64,
        journal: &Arc<Journal>,
    ) -> Result<Self> {
        host::make_folder(folder)?;
        room_for(folder, size)?;
        let folder = folder
            .canonicalize()
            .map_err(|error| Error::io(folder, "cannot use it for images", error))?;
        let path = folder.join(name);
        let step = journal.will_make(Step::Image { path: path.clone() })?;
        Ok(ImagePlace {
            journal: Arc::clone(journal),
            path,
            step: Some(step),
        })
    }

    /// Where the image is, or will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the image.
    ///
    /// # Errors
    /// It cannot be removed; `clean` can try again later.
    pub fn remove(&mut self) -> Result<()> {
        let Some(step) = self.step else {
            return Ok(());
        };
        if self.path.exists() {
            actions::remove_image_of(self.journal.dir(), &self.path)?;
        }
        self.step = None;
        self.journal.note_undone(step);
        Ok(())
    }
}

impl Drop for ImagePlace {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!("{error}");
        }
    }
}
