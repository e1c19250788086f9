//! Where a journal is and was: a run's folder may be moved, and a copy is not the run.

use std::io;
use std::path::{Path, PathBuf};

use rundir::RunDir;
use serde::{Deserialize, Serialize};

use super::Step;
use crate::{Error, Result};

/// Where a journal is. The folder's path alone does not tell a run from its copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The run's folder, canonical.
    run: PathBuf,
    /// Its device (`st_dev`).
    dev: u64,
    /// Its inode number.
    ino: u64,
}

impl Place {
    /// Where an opened folder is.
    pub(super) fn of(dir: &RunDir) -> Place {
        let identity = dir.identity();
        Place {
            run: dir.path().into(),
            dev: identity.dev,
            ino: identity.ino,
        }
    }

    /// The run's folder.
    pub(super) fn run(&self) -> &Path {
        &self.run
    }

    /// A step of a journal that was at `then`, with its paths as they are here; `None` when it was made
    /// outside of a folder that was moved since. A copy is refused: what the original made is not the copy's to undo.
    pub(super) fn adopt(&self, then: Option<&Place>, step: &Step) -> Result<Option<Step>> {
        let old = match then {
            // Journals of old versions do not say where they were.
            None => return Ok(Some(step.clone())),
            // Device numbers may change over a reboot.
            Some(then) if then.ino == self.ino && then.run == self.run => {
                return Ok(Some(step.clone()));
            }
            Some(then) if (then.dev, then.ino) == (self.dev, self.ino) && is_missing(&then.run) => {
                &then.run
            }
            Some(then) => {
                return Err(Error::Copied {
                    run: self.run.clone(),
                    original: then.run.clone(),
                });
            }
        };
        Ok(step.moved(old, &self.run))
    }
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
