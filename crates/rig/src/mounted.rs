//! A mount of ours: made, taken down and made again at the same place, always undoable.
//!
//! The undo journal has one line for the mount from before it is made until it is undone for good.
//! Between taking it down and making it again the line stays: `clean` asks the kernel whether it is
//! mounted at all, and a line too many costs nothing, while one too few could leave a mount.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::filesystem::{self, Filesystem};
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result, host};

/// Folder of mount points in the run's folder.
pub(crate) const MOUNT_FOLDER: &str = "mnt";

/// A mount and its mount point.
#[derive(Debug)]
pub(crate) struct Mounted {
    journal: Arc<Journal>,
    kind: &'static str,
    node: PathBuf,
    options: Vec<String>,
    point: PathBuf,
    point_step: Option<u64>,
    mount_step: Option<u64>,
    /// The mount's ID; none while it is not mounted.
    id: Option<u64>,
}

impl Mounted {
    /// Makes the mount point `number` in the run's folder and mounts `node` there.
    pub(crate) fn mount(
        journal: &Arc<Journal>,
        filesystem: &dyn Filesystem,
        node: &Path,
        number: u32,
        options: &[String],
    ) -> Result<Mounted> {
        let point = journal.run().join(MOUNT_FOLDER).join(number.to_string());
        let mut mounted = Mounted {
            journal: journal.clone(),
            kind: filesystem.kind().name(),
            node: node.into(),
            options: filesystem::mount_options(filesystem, options),
            point_step: Some(journal.will_make(Step::MountPoint {
                path: point.clone(),
            })?),
            mount_step: None,
            id: None,
            point: point.clone(),
        };
        host::make_folder(&point)?;
        mounted.mount_step = Some(journal.will_make(Step::Mount {
            device: node.into(),
            point,
        })?);
        mounted.again()?;
        Ok(mounted)
    }

    /// Mounts what [`Mounted::down`] took down, as the first time.
    pub(crate) fn again(&mut self) -> Result<()> {
        let id = filesystem::mount::mount(self.kind, &self.node, &self.point, &self.options)?;
        self.id = Some(id);
        Ok(())
    }

    /// Where it is mounted.
    pub(crate) fn point(&self) -> &Path {
        &self.point
    }

    /// Whether it is mounted now.
    pub(crate) fn is_up(&self) -> bool {
        self.id.is_some()
    }

    /// Whether something is left that only `clean` can undo: a mount that would not go.
    pub(crate) fn is_stuck(&self) -> bool {
        self.mount_step.is_some()
    }

    /// Syncs and unmounts, and waits until the device is free; mount point and journal stay. Not mounted is success.
    pub(crate) fn down(&mut self, patience: Duration) -> Result<()> {
        let Some(id) = self.id else {
            return Ok(());
        };
        if let Ok(folder) = std::fs::File::open(&self.point) {
            // A sync that fails (a full or broken image) must not stop the umount.
            if let Err(error) = rustix::fs::syncfs(&folder) {
                tracing::warn!("{}: sync before umount: {error}", self.point.display());
            }
        }
        let run = self.journal.run();
        actions::unmount_of(self.journal.dir(), &self.point, id, patience)?;
        actions::wait_for_release(&self.node, &self.point, run, patience)?;
        self.id = None;
        Ok(())
    }

    /// Unmounts and removes the mount point.
    pub(crate) fn undo(&mut self, patience: Duration) -> Result<()> {
        if let Some(step) = self.mount_step {
            self.down(patience)?;
            self.mount_step = None;
            self.journal.note_undone(step);
        }
        if let Some(step) = self.point_step {
            actions::remove_mount_point_of(self.journal.dir(), &self.point)?;
            self.point_step = None;
            self.journal.note_undone(step);
        }
        Ok(())
    }

    /// Leaves what could not be undone to `clean`.
    pub(crate) fn abandon(&mut self) {
        self.mount_step = None;
        self.point_step = None;
    }

    /// What an unmounted one answers to who needs it mounted.
    pub(crate) fn not_mounted(&self) -> Error {
        Error::io(
            &self.point,
            "it was unmounted before",
            std::io::ErrorKind::NotConnected,
        )
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(error) = self.undo(actions::PATIENCE) {
            tracing::warn!("{error}");
        }
    }
}
