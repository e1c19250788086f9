//! A trial on an image that was written before: a loop device, and nothing mounted.

use std::path::Path;
use std::time::Instant;

use probe::superblock::Source;
use progress::Progress;

use super::{Request, Rig, Target, stop};
use crate::device::Device;
use crate::device::image_place::ImagePlace;
use crate::device::loop_image::LoopImage;
use crate::device::readahead::Readahead;
use crate::device::stack::{Stack, Stacked};
use crate::prepared::{Facts, Prepared, State, Timings};
use crate::resource_limits::LimitRequest;
use crate::{Error, Result, filesystem};

impl Rig {
    /// A place for an image of `size` bytes that the caller writes. Where the folder's filesystem has no files as large, the place is in an XFS
    /// that is made in an image there.
    ///
    /// # Errors
    /// The target is a disk or a directory, or its folder is full; that XFS cannot be made or mounted.
    pub fn image_place(&mut self, size: u64, progress: &dyn Progress) -> Result<ImagePlace> {
        let Target::LoopImages { folder } = self.target.clone() else {
            return Err(Error::Cannot {
                thing: self.describe(),
                what: "an image cannot be written there".into(),
                why: "a forged volume is a file".into(),
                next: "leave out --device and --dir".into(),
            });
        };
        self.number += 1;
        let name = format!("fslab-{}-{}.img", std::process::id(), self.number);
        ImagePlace::new(&folder, &name, size, self.number, &self.journal, progress)
    }

    /// Binds an image that holds a filesystem to a loop device for one trial. The image stays when the trial is over.
    /// `made` are the words that say how it was made, and the program that made the empty filesystem.
    ///
    /// # Errors
    /// As [`Rig::prepare`]; everything made so far is undone.
    pub fn prepare_image(
        &mut self,
        request: &Request,
        image: &Path,
        made: (Vec<String>, String),
        progress: &dyn Progress,
    ) -> Result<Prepared> {
        let filesystem = filesystem::of_kind(&request.kind)?;
        let asked = LimitRequest::check(request.limit, request.memory)?;
        let begun = Instant::now();
        let device = self.over(request, image)?;
        let node = device.node().map(Path::to_path_buf).unwrap_or_default();
        let readahead = match request.readahead_sectors {
            Some(sectors) => Some(Readahead::change(
                &node,
                None,
                sectors.into(),
                &self.journal,
            )?),
            None => None,
        };
        stop(progress, "preparing the device")?;
        let superblock = Source::open(&node)
            .and_then(|source| filesystem.superblock(&source))
            .map_err(|error| Error::io(&node, "cannot read its superblock", error))?;
        let (mkfs, mkfs_version) = made;
        let mut prepared = Prepared {
            work: image.to_path_buf(),
            state: State {
                mounted: None,
                timings: Timings {
                    device: begun.elapsed().as_secs_f64(),
                    ..Timings::default()
                },
            }
            .into(),
            bounds: asked.begin(&self.journal)?,
            readahead,
            own_readahead: None,
            facts: Facts {
                asked_type: request.kind.clone(),
                mkfs,
                mkfs_version,
                superblock,
                device: device.facts(),
                ..Facts::default()
            },
            warnings: device.warnings().to_vec(),
            device,
            evidence: Vec::new(),
            formatted: None,
        };
        asked.hold(&mut prepared.bounds, &self.journal, &node, true)?;
        prepared.note_bounds();
        Ok(prepared)
    }

    /// A loop device on the image, or a modelled disk with its bytes.
    fn over(&mut self, request: &Request, image: &Path) -> Result<Box<dyn Device>> {
        if let Some(stacking) = &request.stack
            && let Stack::Model(disk) = &stacking.stack
        {
            self.number += 1;
            let name = format!("fslab-{}-{}", std::process::id(), self.number);
            let made = Stacked::over(stacking, disk, image, &name, &self.journal)?;
            return Ok(Box::new(made));
        }
        Ok(Box::new(LoopImage::over(image, &self.journal)?))
    }
}
