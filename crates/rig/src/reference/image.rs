//! The reference of loop images: one made for it, written through, limited as trials are.
//!
//! A sparse image would be read without touching the disk, and zeros or repeated blocks may be stored
//! by a disk below as nothing at all. So every block is written once, with bytes that neither
//! compress nor repeat.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use super::random::Random;
use super::{Measured, Options, measure};
use crate::device::Device;
use crate::device::loop_image::{self, LoopImage};
use crate::limits::Limits;
use crate::resource_limits::{Bounds, LimitRequest};
use crate::rig::{Rig, Target};
use crate::{Error, Result};
use progress::{Progress, Step, Unit};

/// Bytes written at a time.
const PIECE: usize = 1 << 20;

impl Rig {
    /// Makes a loop image of `size` bytes where the trials' images are, writes it through, holds it
    /// to `limit`, measures it as [`measure`] does, and removes it.
    ///
    /// # Errors
    /// One line with the reason: no root, not loop images, no room, no such limit here, stopped.
    pub fn reference_image(
        &mut self,
        size: u64,
        limit: Option<Limits>,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Measured> {
        let Target::LoopImages { folder } = self.target() else {
            return Err(Error::Cannot {
                thing: self.describe(),
                what: "no reference image can be made".into(),
                why: "the trials do not run on loop images".into(),
                next: "measure the disk itself".into(),
            });
        };
        let asked = LimitRequest::check(limit, None)?;
        loop_image::room_to_fill(folder, size)?;
        let name = format!("reference-{}.img", std::process::id());
        let journal = self.journal();
        let mut image = LoopImage::create(folder, &name, size, journal)?;
        let node = image.node().map(Path::to_path_buf).unwrap_or_default();
        fill(&node, size, progress)?;
        // Declared after the image, so that on an error the limit goes before the device.
        let mut bounds = asked.begin(journal)?;
        let measured = hold_and_measure(&asked, &mut bounds, self, &node, options, progress);
        let lifted = bounds.lift();
        let mut measured = measured?;
        lifted?;
        measured.notes.extend(image.warnings().iter().cloned());
        image.release()?;
        Ok(measured)
    }
}

fn hold_and_measure(
    asked: &LimitRequest,
    bounds: &mut Bounds,
    rig: &Rig,
    node: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Measured> {
    asked.hold(bounds, rig.journal(), node, true)?;
    let mut measured = measure(node, options, progress)?;
    measured
        .notes
        .extend(bounds.limit_facts().map(|facts| format!("limit: {facts}")));
    Ok(measured)
}

/// Writes every byte of the device once.
fn fill(node: &Path, size: u64, progress: &dyn Progress) -> Result<()> {
    let failed = |error| Error::io(node, "cannot write the reference image", error);
    let mut file = OpenOptions::new().write(true).open(node).map_err(failed)?;
    let mut random = Random::seeded(0);
    let mut piece = vec![0_u8; PIECE];
    for bytes in piece.chunks_exact_mut(8) {
        bytes.copy_from_slice(&random.next().to_le_bytes());
    }
    let mut left = size / 512 * 512;
    let step = Step::new("writing the reference image").counted_in(Unit::Bytes);
    progress.begin(step.of(left));
    while left > 0 {
        if progress.cancelled() {
            return Err(Error::Interrupted {
                doing: format!("writing the reference image on {}", node.display()),
            });
        }
        // Fresh random words in every block: incompressible already, now also unlike any other.
        for block in piece.chunks_exact_mut(512) {
            block[..8].copy_from_slice(&random.next().to_le_bytes());
        }
        let length = left.min(PIECE as u64) as usize;
        file.write_all(&piece[..length]).map_err(failed)?;
        left -= length as u64;
        progress.advance(length as u64);
    }
    file.sync_all().map_err(failed)
}
