//! A real disk, whole, that passed the gate.
//!
//! The first write happens while the disk is held open exclusively and after it was examined once
//! more; the hold ends before mkfs, which claims the disk for itself. After a trial the signatures of our own filesystem are wiped, so that the gate, which
//! refuses a disk that carries one, approves the same disk for the next trial and the next run.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use probe::superblock::Fields;
use progress::{Progress, Step, Unit};
use rustix::io::Errno;

use super::{Device, queue_facts};
use crate::gate::{self, Approved, Gate, probe_signatures};
use crate::host::Host;
use crate::syscall::block;
use crate::{Error, Result};

/// Bytes zeroed at each end: every partition table and most signatures are there.
const END: u64 = 1 << 20;
/// One discard at most, so that a request to stop is heard.
const DISCARD_STEP: u64 = 4 << 30;

/// An approved disk, ready to be formatted.
#[derive(Debug)]
pub struct Disk {
    gate: Gate,
    approved: Approved,
    host: Host,
    taken: bool,
    warnings: Vec<String>,
}

impl Disk {
    /// Takes the disk: examines it again, then wipes both ends and, if asked, discards all of it.
    /// `own_content`: this run has formatted it before.
    pub fn take(
        gate: &Gate,
        approved: &Approved,
        own_content: bool,
        discard: bool,
        progress: &dyn Progress,
    ) -> Result<Disk> {
        let file = gate.reopen(approved, own_content)?;
        let mut disk = Disk {
            gate: gate.clone(),
            approved: approved.clone(),
            host: Host::default(),
            taken: true,
            warnings: approved.unseen().to_vec(),
        };
        let mut written = Ok(());
        if discard {
            written = disk.discard(&file, progress);
        }
        let written = written.and_then(|()| disk.wipe(&file));
        // Before `disk` is dropped on an error: its release opens the disk exclusively again.
        drop(file);
        written.map(|()| disk)
    }

    fn discard(&mut self, file: &File, progress: &dyn Progress) -> Result<()> {
        let step = Step::new("discarding").counted_in(Unit::Bytes);
        progress.begin(step.of(self.approved.size));
        let mut offset = 0;
        while offset < self.approved.size {
            if progress.cancelled() {
                return Err(Error::Interrupted {
                    doing: format!("discarding {}", self.approved.device.display()),
                });
            }
            let length = DISCARD_STEP.min(self.approved.size - offset);
            match block::discard(file, offset, length) {
                Ok(()) => {}
                Err(Errno::OPNOTSUPP | Errno::INVAL) => {
                    self.warnings.push(format!(
                        "{} cannot discard: its blocks are not as on a fresh disk",
                        self.approved.device.display()
                    ));
                    return Ok(());
                }
                Err(error) => {
                    return Err(Error::io(&self.approved.device, "cannot discard", error));
                }
            }
            offset += length;
            progress.advance(length);
        }
        progress.end();
        Ok(())
    }

    /// Zeros both ends and every signature that is still found.
    fn wipe(&self, file: &File) -> Result<()> {
        let path = &self.approved.device;
        let size = self.approved.size;
        let failed = |error: Errno| Error::io(path, "cannot wipe it", error);
        let end = END.min(size / 2);
        block::zero_out(file, 0, end).map_err(failed)?;
        block::zero_out(file, size - end, end).map_err(failed)?;
        let left = probe_signatures(file, size)
            .map_err(|error| Error::io(path, "cannot read it back", error))?;
        for signature in left {
            let zeros = vec![0; signature.length];
            file.write_all_at(&zeros, signature.offset)
                .map_err(|error| Error::io(path, "cannot wipe a signature", error))?;
        }
        file.sync_all()
            .map_err(|error| Error::io(path, "cannot flush it", error))?;
        block::flush_buffers(file).map_err(failed)
    }
}

impl Device for Disk {
    fn kind(&self) -> &'static str {
        "block device"
    }

    fn node(&self) -> Option<&Path> {
        Some(&self.approved.device)
    }

    fn block_name(&self) -> Option<&str> {
        Some(&self.approved.name)
    }

    fn size(&self) -> Option<u64> {
        Some(self.approved.size)
    }

    fn facts(&self) -> Fields {
        let mut facts = queue_facts(&self.host, &self.approved.name);
        facts.insert("serial".into(), self.approved.serial.clone());
        facts.insert("size".into(), self.approved.size.to_string());
        let model = format!("sys/block/{}/device/model", self.approved.name);
        if let Some(model) = self.host.text(model) {
            facts.insert("model".into(), model);
        }
        facts
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn still_the_same(&self) -> Result<()> {
        self.gate.still_the_same(&self.approved)
    }

    fn release(&mut self) -> Result<()> {
        if self.taken {
            let file = self.gate.reopen(&self.approved, true)?;
            self.wipe(&file)?;
            let device = &self.approved;
            gate::leave_marker(&file, device.size, &device.serial)
                .map_err(|error| Error::io(&device.device, "cannot mark it as free", error))?;
            self.taken = false;
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.taken = false;
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!("{error}");
        }
    }
}
