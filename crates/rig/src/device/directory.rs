//! An existing directory: no root needed, no filesystem made.
//!
//! What it cannot give is a fresh filesystem: the trial shares age, free space and journal with
//! everything else there. It works in a new folder of its own and removes only that.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probe::superblock::Fields;
use rustix::fs::{major, minor};

use super::{Device, queue_facts};
use crate::host::Host;
use crate::undo::{Journal, Step, actions};
use crate::{Error, Result};

/// A folder to work in below a directory that the user gave.
#[derive(Debug)]
pub struct WorkFolder {
    journal: Arc<Journal>,
    host: Host,
    folder: PathBuf,
    step: Option<u64>,
    block: Option<String>,
    warnings: Vec<String>,
}

impl WorkFolder {
    /// Makes `directory/name`, which must not exist; `name` begins with `fslab-`.
    pub fn create(directory: &Path, name: &str, journal: &Arc<Journal>) -> Result<WorkFolder> {
        let directory = directory
            .canonicalize()
            .map_err(|error| Error::io(directory, "cannot work there", error))?;
        let folder = directory.join(name);
        let step = journal.will_make(Step::Folder {
            path: folder.clone(),
        })?;
        if let Err(error) = fs::create_dir(&folder) {
            // Not ours to remove.
            journal.undone(step)?;
            return Err(Error::io(&folder, "cannot make a working folder", error));
        }
        let host = Host::default();
        let block = fs::metadata(&folder)
            .ok()
            .and_then(|meta| host.name_of(major(meta.dev()), minor(meta.dev())))
            .or_else(|| host.device_below(&folder).into_iter().next());
        Ok(WorkFolder {
            journal: journal.clone(),
            host,
            folder,
            step: Some(step),
            block,
            warnings: vec![
                "the workload runs in a directory: the filesystem is not fresh, and others may use it meanwhile"
                    .into(),
            ],
        })
    }
}

impl Device for WorkFolder {
    fn kind(&self) -> &'static str {
        "directory"
    }

    fn block_name(&self) -> Option<&str> {
        self.block.as_deref()
    }

    fn work_folder(&self) -> Option<&Path> {
        Some(&self.folder)
    }

    fn facts(&self) -> Fields {
        let mut facts = match &self.block {
            Some(name) => queue_facts(&self.host, name),
            None => Fields::new(),
        };
        facts.insert("folder".into(), self.folder.display().to_string());
        facts
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn release(&mut self) -> Result<()> {
        if let Some(step) = self.step {
            actions::remove_work_folder(&self.folder)?;
            self.step = None;
            self.journal.note_undone(step);
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.step = None;
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!("{error}");
        }
    }
}
