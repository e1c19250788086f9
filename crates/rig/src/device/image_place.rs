//! The place of an image that the caller writes, and that several trials read one after the other.
//!
//! The folder's own filesystem may not have files as large as the image (ext4: 16 TiB). The image is then a file of an XFS in a sparse image of
//! that folder: what it takes of the disk is the same, and its reads go through one more loop device.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use progress::Progress;
use rustix::io::Errno;

use super::Device as _;
use super::loop_image::{LoopImage, room_for};
use crate::mounted::Mounted;
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result, filesystem, host};

/// A file to be made below the run's folder. It is removed when this is dropped; after a kill, `clean` removes it.
#[derive(Debug)]
pub struct ImagePlace {
    journal: Arc<Journal>,
    path: PathBuf,
    step: Option<u64>,
    store: Option<Store>,
}

/// A filesystem with larger files than the folder's, in an image there. Fields are undone in their order.
#[derive(Debug)]
struct Store {
    mounted: Mounted,
    device: LoopImage,
}

/// Whether a folder's filesystem has files of a size.
#[derive(Debug, PartialEq, Eq)]
enum Largest {
    Enough,
    TooSmall,
}

impl ImagePlace {
    /// Writes the file down before it is made. There is none of that name yet. `number` is of no other mount of the run.
    pub(crate) fn new(
        folder: &Path,
        name: &str,
        size: u64,
        number: u32,
        journal: &Arc<Journal>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        host::make_folder(folder)?;
        room_for(folder, size)?;
        let folder = folder
            .canonicalize()
            .map_err(|error| Error::io(folder, "cannot use it for images", error))?;
        if probe(&folder, name, size, journal)? == Largest::TooSmall {
            return ImagePlace::stored(&folder, name, number, journal, progress);
        }
        let path = folder.join(name);
        let step = journal.will_make(Step::Image { path: path.clone() })?;
        Ok(ImagePlace {
            journal: Arc::clone(journal),
            path,
            step: Some(step),
            store: None,
        })
    }

    /// A place in an XFS that may take all of the folder's free space.
    fn stored(
        folder: &Path,
        name: &str,
        number: u32,
        journal: &Arc<Journal>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let free = host::free_bytes(folder)
            .map_err(|error| Error::io(folder, "cannot see how much space is free", error))?;
        let device = LoopImage::create(folder, &format!("store-{name}"), free, journal)?;
        let node = device.node().map(Path::to_path_buf).unwrap_or_default();
        let xfs = filesystem::of_kind("xfs")?;
        // Blocks of a fresh image need no discarding.
        let options = ["-q", "-K"].map(str::to_owned);
        filesystem::make(xfs, &options, &node, progress)?;
        let mounted = Mounted::mount(journal, xfs, &node, number, &[])?;
        Ok(ImagePlace {
            journal: Arc::clone(journal),
            path: mounted.point().join(name),
            step: None,
            store: Some(Store { mounted, device }),
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
        if let Some(mut store) = self.store.take() {
            // The image goes with the filesystem that holds it.
            store.mounted.undo(actions::PATIENCE)?;
            return store.device.release();
        }
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

/// Makes an empty file of this size for a moment, and sees whether the kernel allows it.
fn probe(folder: &Path, name: &str, size: u64, journal: &Arc<Journal>) -> Result<Largest> {
    let path = folder.join(format!("probe-{name}"));
    let failed = |error| Error::io(&path, "cannot make an image there", error);
    let step = journal.will_make(Step::Image { path: path.clone() })?;
    let mut new = OpenOptions::new();
    let file = match new.write(true).create_new(true).open(&path) {
        Ok(file) => file,
        Err(error) => {
            // Nothing was made: a file of that name is not ours to remove.
            journal.note_undone(step);
            return Err(failed(error));
        }
    };
    let sized = file.set_len(size);
    drop(file);
    actions::remove_image_of(journal.dir(), &path)?;
    journal.note_undone(step);
    match sized {
        Ok(()) => Ok(Largest::Enough),
        Err(error) if error.raw_os_error() == Some(Errno::FBIG.raw_os_error()) => {
            Ok(Largest::TooSmall)
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_how_large_its_files_may_be() {
        let run = tempfile::tempdir().unwrap();
        let journal = Journal::open(run.path()).unwrap();
        let of = |size| probe(run.path(), "i.img", size, &journal).unwrap();
        assert_eq!(of(1 << 30), Largest::Enough);
        // What cannot be made leaves no step.
        std::fs::write(run.path().join("probe-taken.img"), "theirs").unwrap();
        assert!(probe(run.path(), "taken.img", 1, &journal).is_err());
        std::fs::remove_file(run.path().join("probe-taken.img")).unwrap();
        // Above what the kernel's offsets have.
        assert_eq!(of((1 << 63) - 1 - 4096), Largest::TooSmall);
        assert_eq!(journal.left(), Vec::new());
        assert_eq!(
            std::fs::read_dir(run.path()).unwrap().count(),
            1,
            "the journal alone"
        );
    }
}
