//! From a study and a target to a plan: what must fit is checked against the real target.

use std::fs;
use std::path::{Path, PathBuf};

use guest::kernel::Host;
use study::{Bytes, Overrides, Plan, Study};

use crate::choice::{self, Choice, ExecutorRequest};
use crate::error::Error;
use crate::target::Target;

/// What a user asks for besides the study.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// Changes to the study.
    pub overrides: Overrides,
    /// The directory or disk that was named; without one, disks that fslab makes.
    pub named: Option<Target>,
    /// Kernels of guests: series, versions, names in the cache, or paths of images, which contain a `/`.
    pub kernels: Vec<String>,
    /// Modules of the one image that is given by its path.
    pub modules: Option<PathBuf>,
    /// The executor that is to run it.
    pub executor: ExecutorRequest,
    /// Whether ranks of MPI run it in the directory that was named, and what replaces the study's launcher.
    pub ranks: Option<RanksRequest>,
}

/// What a user asks for besides the study's `[fleet]`.
#[derive(Clone, Debug, Default)]
pub struct RanksRequest {
    /// The launcher as one line.
    pub launcher: Option<String>,
    /// The MPI library.
    pub library: Option<String>,
}

/// A plan, where it will run, and why there.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Where it runs.
    pub target: Target,
    /// One line; none where a directory or disk was named.
    pub why: Option<String>,
}

impl Planned {
    /// Expands a study, and chooses who runs it. Images that are given by their paths are copied into the cache of
    /// kernels; a kernel that was not tried on this machine yet is booted for a test. Nothing else is touched.
    ///
    /// # Errors
    /// As [`plan`]; a kernel that is not in the cache; no executor has what the plan needs.
    pub fn new(study: &Study, request: PlanRequest) -> Result<Planned, Error> {
        let PlanRequest {
            mut overrides,
            named,
            kernels,
            modules,
            executor,
            ranks,
        } = request;
        let kernels = in_cache(&kernels, modules.as_deref(), &executor)?;
        if !kernels.is_empty() {
            overrides.set.push(format!("kernel={}", kernels.join(",")));
        }
        let mut plan = plan(
            study,
            &overrides,
            named.as_ref().unwrap_or(&Target::LoopImages),
        )?;
        if executor.virtual_time {
            crate::virtual_time::prepare(&mut plan)?;
        }
        if let Some(mut target) = named {
            if let Some(asked) = &ranks {
                target = crate::ranks::target(&plan, &target, asked)?;
            }
            choice::plain(&plan)?;
            return Ok(Planned {
                plan,
                target,
                why: None,
            });
        }
        plan = crate::forged::as_possible(plan, &Host::here());
        let Choice { target, why } = choice::choose(&plan, &executor)?;
        crate::crash::requirements::prepare(&mut plan, &target);
        if matches!(target, Target::Guest(_)) {
            plan.notes.push(why.clone());
        }
        Ok(Planned {
            plan,
            target,
            why: Some(why),
        })
    }
}

/// The kernels by their names in the cache.
fn in_cache(
    kernels: &[String],
    modules: Option<&Path>,
    request: &ExecutorRequest,
) -> Result<Vec<String>, Error> {
    let is_file = |name: &&String| name.contains('/');
    if modules.is_some() && kernels.iter().filter(is_file).count() != 1 {
        return Err(Error::Preflight(
            "--modules belongs to one kernel image: name it by its path, as in --kernel ./bzImage"
                .into(),
        ));
    }
    let name = |name: &String| {
        if !is_file(&name) {
            return Ok(name.clone());
        }
        let mut say = |text: &str| {
            if let Some(say) = request.say {
                say(text);
            }
        };
        choice::keep(Path::new(name), modules, request.cache.as_deref(), &mut say)
    };
    kernels.iter().map(name).collect()
}

/// Expands a study for a target. Touches nothing.
///
/// # Errors
/// As [`study::plan`], and a target whose size cannot be had.
pub fn plan(study: &Study, overrides: &Overrides, target: &Target) -> Result<Plan, Error> {
    let overrides = Overrides {
        target_size: size(target)?,
        target_is_folder: target.directory().is_some(),
        ..overrides.clone()
    };
    let plan = study::plan(study, &overrides)?;
    if target.directory().is_none() {
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
        Target::Directory(_) | Target::Ranks { .. } => plan.in_directory(),
        Target::LoopImages | Target::Device { .. } | Target::Disks(_) | Target::Guest(_) => plan,
    })
}

fn size(target: &Target) -> Result<Option<Bytes>, Error> {
    match target {
        Target::LoopImages | Target::Disks(_) | Target::Guest(_) => Ok(None),
        Target::Directory(path) | Target::Ranks { dir: path, .. } => {
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
