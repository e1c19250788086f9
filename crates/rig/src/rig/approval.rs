//! Whether a disk may be taken: the gate's word, and what a killed process of the same run left on it.

use std::fs;
use std::path::{Path, PathBuf};

use fskind::{Family, Kind};
use probe::superblock::Source;

use super::Rig;
use crate::gate::{self, Gate, Reason, Refusal};
use crate::syscall::block;
use crate::undo::Step;
use crate::{Error, Result, filesystem};

impl Rig {
    /// Puts the disk through the gate. A run that was killed left its own filesystem on it; that
    /// one, known by the UUID in the journal, does not count as foreign data.
    pub(super) fn approve(&mut self, device: &Path, serial: Option<&str>) -> Result<()> {
        let gate = Gate::default().protecting(self.journal.run());
        let approved = match gate.examine(device, serial) {
            Ok(approved) => approved,
            Err(refusals) if only_content(&refusals) && self.formatted_here(device, serial) => {
                self.disk_is_ours = true;
                gate.examine_own(device, serial).map_err(Error::Refused)?
            }
            Err(refusals) => return Err(Error::Refused(refusals)),
        };
        self.disk = Some((gate, approved));
        Ok(())
    }

    /// Puts every disk of a stack through the gate. Each has to be blank: of what a killed run left on
    /// several, nothing can be distinguished from a foreign array.
    pub(super) fn approve_members(&mut self, disks: &[(PathBuf, String)]) -> Result<()> {
        for (device, serial) in disks {
            let gate = Gate::default().protecting(self.journal.run()).of_several();
            let approved = gate.examine(device, Some(serial)).map_err(Error::Refused)?;
            self.members.push((gate, approved));
        }
        Ok(())
    }

    /// Whether the disk carries a filesystem that the journal knows, and no trace of anything else.
    fn formatted_here(&self, device: &Path, given: Option<&str>) -> bool {
        let Ok(file) = fs::File::open(device) else {
            return false;
        };
        let found = block::size(&file)
            .map_err(std::io::Error::from)
            .and_then(|size| gate::probe_signatures(&file, size));
        let Ok(found) = found else {
            return false;
        };
        let Ok(source) = Source::open(device) else {
            return false;
        };
        let noted = |uuid: &str| {
            self.journal.left().iter().any(|(_, step)| {
                matches!(step, Step::Formatted { serial, uuid: ours }
                    if Some(serial.as_str()) == given && ours == uuid)
            })
        };
        Family::ALL.iter().any(|family| {
            let uuid = filesystem::of_kind(Kind::of_family(*family).name())
                .ok()
                .and_then(|filesystem| filesystem.superblock(&source).ok())
                .and_then(|mut facts| facts.remove("uuid"));
            uuid.is_some_and(|uuid| noted(&uuid))
                && found.iter().all(|trace| trace.kind == family.described())
        })
    }
}

/// Whether the disk's content is the only reason to refuse it.
fn only_content(refusals: &[Refusal]) -> bool {
    refusals
        .iter()
        .all(|refusal| matches!(refusal.reason, Reason::Signature { .. }))
}
