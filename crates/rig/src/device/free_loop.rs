//! A free loop device, taken and bound.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::syscall::block;
use crate::undo::{Journal, Step};
use crate::{Error, Result};

/// How often a free loop device is requested again when another process took the one given.
const RACES: usize = 64;

/// A loop device that is bound.
pub(crate) struct Taken {
    /// `loop3`.
    pub(crate) name: String,
    /// Its node.
    pub(crate) node: PathBuf,
    /// Open, which keeps one that detaches itself.
    pub(crate) device: File,
    /// The journal's number of its step.
    pub(crate) step: u64,
}

/// Takes the first free device that `bind` gets; `step` is what the journal has of a node before it is bound.
///
/// # Errors
/// There is none, or it cannot be bound.
pub(crate) fn take(
    journal: &Journal,
    step: &dyn Fn(&Path) -> Step,
    bind: &dyn Fn(&File) -> rustix::io::Result<()>,
) -> Result<Taken> {
    let control_path = Path::new("/dev/loop-control");
    let control = OpenOptions::new()
        .read(true)
        .write(true)
        .open(control_path)
        .map_err(|error| Error::io(control_path, "cannot ask for a loop device", error))?;
    for _ in 0..RACES {
        let number = block::loop_free_number(control.as_fd())
            .map_err(|error| Error::io(control_path, "no free loop device", error))?;
        let name = format!("loop{number}");
        let node = Path::new("/dev").join(&name);
        let step = journal.will_make(step(&node))?;
        let device = match OpenOptions::new().read(true).write(true).open(&node) {
            Ok(device) => device,
            Err(error) => {
                journal.undone(step)?;
                return Err(Error::io(&node, "cannot open the loop device", error));
            }
        };
        match bind(&device) {
            Ok(()) => {
                return Ok(Taken {
                    name,
                    node,
                    device,
                    step,
                });
            }
            Err(Errno::BUSY) => journal.undone(step)?,
            Err(error) => {
                journal.undone(step)?;
                return Err(Error::io(&node, "cannot bind the image to it", error));
            }
        }
    }
    Err(Error::io(
        control_path,
        "other processes took every loop device that was offered",
        Errno::BUSY,
    ))
}
