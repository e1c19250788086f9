//! Readahead: of a device, and of a filesystem that has its own.
//!
//! It applies to files opened afterwards, so it is set before mkfs and mount. What cannot be set as
//! asked ends the cell: a result under another readahead than its label says would be mislabelled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::syscall::block;
use crate::undo::{Journal, Step};
use crate::{Error, Result};

/// A device's own readahead, to be given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Readahead {
    node: PathBuf,
    asked: u64,
    was: u64,
    journal: Arc<Journal>,
    step: u64,
}

impl Readahead {
    /// Changes the readahead of `node` to `sectors` of 512 bytes, writing down first what it was. `serial` is a real
    /// disk's, none for what the run itself made.
    ///
    /// # Errors
    /// [`Error::Cannot`] when the kernel refuses it or shows another afterwards.
    pub(crate) fn change(
        node: &Path,
        serial: Option<&str>,
        sectors: u64,
        journal: &Arc<Journal>,
    ) -> Result<Readahead> {
        let was = read(node)?;
        let step = journal.will_make(Step::Readahead {
            device: node.into(),
            sectors: was,
            serial: serial.map(str::to_owned),
        })?;
        let changed = Readahead {
            node: node.into(),
            asked: sectors,
            was,
            journal: Arc::clone(journal),
            step,
        };
        // From here on an early return drops `changed`, which gives it back.
        match set(node, sectors) {
            Err(Error::Io { source, .. }) => Err(cannot(
                node,
                sectors,
                &format!("the device refused it (BLKRASET): {source}"),
            )),
            Err(error) => Err(error),
            Ok(seen) => agree(node, sectors, seen).map(|()| changed),
        }
    }

    /// Whether it still is as asked.
    pub(crate) fn verify(&self) -> Result<()> {
        agree(&self.node, self.asked, read(&self.node)?)
    }
}

impl Drop for Readahead {
    fn drop(&mut self) {
        match set(&self.node, self.was) {
            Ok(_) => self.journal.note_undone(self.step),
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

fn agree(thing: &Path, asked: u64, seen: u64) -> Result<()> {
    if seen == asked {
        return Ok(());
    }
    Err(cannot(thing, asked, &format!("got {seen}")))
}

fn cannot(thing: &Path, asked: u64, why: &str) -> Error {
    let page = rustix::param::page_size() as u64 / 512;
    Error::Cannot {
        thing: thing.display().to_string(),
        what: format!("cannot set readahead: asked for {asked} sectors of 512 bytes"),
        why: why.into(),
        next: format!(
            "ask for a multiple of {page} (a page) that the device takes, or for none (the kernel's own)"
        ),
    }
}

fn read(node: &Path) -> Result<u64> {
    File::open(node)
        .and_then(|file| Ok(block::readahead(&file)?))
        .map_err(|error| Error::io(node, "cannot read its readahead (BLKRAGET)", error))
}

/// Sets readahead on a device and reads it back. `sectors` are of 512 bytes.
pub(crate) fn set(node: &Path, sectors: u64) -> Result<u64> {
    let file = File::open(node)
        .map_err(|error| Error::io(node, "cannot open it to set readahead", error))?;
    block::set_readahead(&file, sectors)
        .map_err(|error| Error::io(node, "cannot set readahead (BLKRASET)", error))?;
    block::readahead(&file)
        .map_err(|error| Error::io(node, "cannot read readahead back (BLKRAGET)", error))
}

/// Readahead of a mounted filesystem that does not use its device's (btrfs). It goes with the mount.
#[derive(Clone, Debug)]
pub(crate) struct OfFilesystem {
    /// The sysfs file, in KiB.
    pub(crate) file: PathBuf,
    /// What is asked, in sectors of 512 bytes.
    pub(crate) sectors: u64,
}

impl OfFilesystem {
    /// Sets it and reads it back.
    pub(crate) fn set(&self) -> Result<()> {
        let kib = (self.sectors / 2).to_string();
        fs::write(&self.file, &kib).map_err(|error| {
            let why = format!("the kernel refused {kib} KiB: {error}");
            cannot(&self.file, self.sectors, &why)
        })?;
        let seen = fs::read_to_string(&self.file)
            .map_err(|error| Error::io(&self.file, "cannot read readahead back", error))?;
        if seen.trim() == kib && self.sectors.is_multiple_of(2) {
            return Ok(());
        }
        Err(cannot(
            &self.file,
            self.sectors,
            &format!("got {} KiB", seen.trim()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_request_the_result_the_device_and_a_way_out() {
        let error = agree(Path::new("/dev/sdx"), 4095, 4088).unwrap_err();
        assert_eq!(error.class(), crate::Class::Cell);
        assert_eq!(
            error.to_string(),
            format!(
                "/dev/sdx: cannot set readahead: asked for 4095 sectors of 512 bytes: got 4088; ask for a multiple \
                 of {} (a page) that the device takes, or for none (the kernel's own)",
                rustix::param::page_size() / 512
            )
        );
        agree(Path::new("/dev/sdx"), 8, 8).unwrap();
    }

    #[test]
    fn a_filesystem_that_takes_no_readahead_says_so() {
        let own = OfFilesystem {
            file: "/no/such/read_ahead_kb".into(),
            sectors: 256,
        };
        let error = own.set().unwrap_err();
        assert_eq!(error.class(), crate::Class::Cell);
        let text = error.to_string();
        assert!(
            text.starts_with("/no/such/read_ahead_kb: ") && text.contains("asked for 256"),
            "{text}"
        );
    }
}
