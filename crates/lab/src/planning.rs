//! From a study and a target to a plan: what must fit is checked against the real target.

use std::fs;

use study::{Bytes, Overrides, Plan, Study};

use crate::error::Error;
use crate::target::Target;

/// Expands a study for a target. Touches nothing.
///
/// # Errors
/// As [`study::plan`], and a target whose size cannot be had.
pub fn plan(study: &Study, overrides: &Overrides, target: &Target) -> Result<Plan, Error> {
    let overrides = Overrides {
        target_size: size(target)?,
        target_is_folder: matches!(target, Target::Directory(_)),
        ..overrides.clone()
    };
    let plan = study::plan(study, &overrides)?;
    if !matches!(target, Target::Directory(_)) {
        // The rig asks again; here nothing has been touched yet.
        for (name, variant) in plan
            .cells
            .iter()
            .map(|cell| (cell.label(), &cell.filesystem))
        {
            rig::filesystem::options::check(variant.kind.name(), &variant.mkfs, &variant.mount)
                .map_err(|error| Error::Preflight(format!("{name}: {error}")))?;
        }
    }
    Ok(match target {
        Target::Directory(_) => plan.in_directory(),
        Target::LoopImages | Target::Device { .. } | Target::Disks(_) | Target::Guest(_) => plan,
    })
}

fn size(target: &Target) -> Result<Option<Bytes>, Error> {
    match target {
        Target::LoopImages | Target::Disks(_) | Target::Guest(_) => Ok(None),
        Target::Directory(path) => {
            let stat = rustix::fs::statvfs(path).map_err(|error| {
                Error::Preflight(format!(
                    "{}: {error}; name a directory on the filesystem to load",
                    path.display()
                ))
            })?;
            Ok(Some(Bytes(stat.f_bavail.saturating_mul(stat.f_frsize))))
        }
        // A disk that cannot be read is the gate's to refuse, with every reason.
        Target::Device { path, .. } => Ok(path
            .canonicalize()
            .ok()
            .and_then(|node| {
                node.file_name()
                    .map(|name| name.to_string_lossy().into_owned())
            })
            .and_then(|name| fs::read_to_string(format!("/sys/class/block/{name}/size")).ok())
            .and_then(|sectors| sectors.trim().parse::<u64>().ok())
            .map(|sectors| Bytes(sectors * 512))),
    }
}
