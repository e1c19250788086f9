//! A trial in a directory: nothing is formatted or mounted, and what only a device can be asked is
//! refused, so that no result carries a label that is not true.

use std::path::Path;
use std::time::Instant;

use workload::Evidence;

use super::{Request, Rig};
use crate::device::Device;
use crate::device::directory::WorkFolder;
use crate::prepared::{Facts, Prepared, State, Timings};
use crate::resource_limits::LimitRequest;
use crate::{Error, Result};

impl Rig {
    pub(super) fn prepare_directory(&mut self, path: &Path, request: &Request) -> Result<Prepared> {
        needs_no_device(path, request)?;
        let asked = LimitRequest::check(None, request.memory)?;
        let begun = Instant::now();
        self.number += 1;
        let name = format!("fslab-{}-{}", std::process::id(), self.number);
        let folder = WorkFolder::create(path, &name, &self.journal)?;
        let mut timings = Timings::default();
        let work = folder
            .work_folder()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        let facts = Facts::of_directory(&self.host, &work, &folder)?;
        timings.device = begun.elapsed().as_secs_f64();
        let mut warnings = folder.warnings().to_vec();
        warnings.push(format!(
            "it is on {}: the study's filesystems, mkfs and mount options and discard do not apply",
            facts.mounted_type
        ));
        let mut prepared = Prepared {
            work,
            state: State {
                mounted: None,
                timings,
            }
            .into(),
            bounds: asked.begin(&self.journal)?,
            readahead: None,
            own_readahead: None,
            device: Box::new(folder),
            facts,
            warnings,
            evidence: vec![Evidence {
                name: "lazy_init_finished".into(),
                holds: None,
                detail: "not waited for: the filesystem was there before".into(),
            }],
            formatted: None,
        };
        prepared.note_bounds();
        Ok(prepared)
    }
}

/// Readahead and limits belong to a device, and a directory's is not ours to change.
fn needs_no_device(path: &Path, request: &Request) -> Result<()> {
    let limit = request.limit.filter(|limit| !limit.is_empty());
    let asked = match (limit, request.readahead_sectors) {
        (Some(limit), _) => format!("a device limit ({limit})"),
        (None, Some(sectors)) => format!("readahead ({sectors} sectors)"),
        (None, None) => return Ok(()),
    };
    Err(Error::Cannot {
        thing: path.display().to_string(),
        what: format!("{asked} cannot be set in a directory"),
        why: "others use the device below it".into(),
        next: "use a loop image or a disk (no --dir), or ask for none".into(),
    })
}
