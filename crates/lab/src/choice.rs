//! Which executor runs a plan: the first of host, User-mode Linux and QEMU that has all it needs.
//!
//! The order is that of what numbers are worth and of speed: the host times hardware, User-mode Linux is four
//! times faster at file work than emulation, QEMU runs everything else. What was passed over and why is
//! in the plan, so a reader sees why times are emulated. `--executor` and `--kernel` override
//! the choice but not the needs: what a kernel lacks is reported before anything is made.

mod host_info;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use guest::kernel::{Added, Cache, Form, Host, Kernel};
use study::Plan;

use crate::error::Error;
use crate::needs::Needs;
use crate::target::{GuestMachine, GuestTarget, Target};
use host_info::{HostInfo, ThisMachine};

/// An executor of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// This machine's kernel.
    Host,
    /// A guest's.
    Guest(GuestMachine),
}

/// What a user asks for besides the plan; by default nothing.
#[derive(Clone, Debug, Default)]
pub struct ExecutorRequest {
    /// The executor that is to run it; `None`: the first that can.
    pub runner: Option<Runner>,
    /// Whether trials run in virtual time, which QEMU alone has.
    pub virtual_time: bool,
    /// The cache of kernels; without one, the default cache.
    pub cache: Option<PathBuf>,
    /// Gets a line when a kernel is booted for a test, which takes some seconds, once on each machine.
    pub say: Option<fn(&str)>,
}

/// What it came to.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Where the trials run; kernels are those of the cache, by name.
    pub target: Target,
    /// One line: why there.
    pub why: String,
}

/// A runner that has everything.
struct Candidate {
    target: Target,
    /// `User-mode Linux 6.1.176`.
    place: String,
}

/// Chooses where a plan of disks that fslab makes runs.
///
/// # Errors
/// None has what it needs, each with what is lacking; a kernel that is not in the cache.
pub fn choose(plan: &Plan, request: &ExecutorRequest) -> Result<Choice, Error> {
    choose_on(&ThisMachine, plan, request)
}

fn choose_on(host: &dyn HostInfo, plan: &Plan, request: &ExecutorRequest) -> Result<Choice, Error> {
    let needs = Needs::of(plan);
    if let [name, ..] = needs.unknown()[..] {
        let name = name.to_owned();
        return Err(guest::kernel::Error::UnknownCapability { name }.into());
    }
    let selector = Selector {
        host_info: host,
        plan,
        needs: &needs,
        cache: request.cache.as_deref(),
        say: request.say.unwrap_or(|_| ()),
    };
    let levels = kernels(plan);
    let named = selector.named(&levels, request.runner)?;
    let mut asked = request.runner.or_else(|| machine_of(&named));
    if request.virtual_time {
        let qemu = Runner::Guest(GuestMachine::Qemu);
        if asked.is_some_and(|asked| asked != qemu) {
            return Err(Error::Preflight(
                "virtual time is QEMU's alone; leave out --virtual-time, or choose --executor qemu"
                    .into(),
            ));
        }
        asked = Some(qemu);
    }
    crate::crash::requirements::devices(plan)?;
    let forged = plan.cells.iter().any(|cell| cell.volume.is_forged());
    if forged && matches!(asked, Some(Runner::Guest(_))) {
        return Err(Error::Preflight(FORGED_IN_A_GUEST.into()));
    }
    let runners = match asked {
        Some(one) => vec![one],
        None if forged => vec![Runner::Host],
        None => vec![
            Runner::Host,
            Runner::Guest(GuestMachine::Uml),
            Runner::Guest(GuestMachine::Qemu),
        ],
    };
    let mut passed: Vec<String> = Vec::new();
    for runner in runners {
        match selector.candidate(runner, &named)? {
            Ok(mut candidate) => {
                if let Target::Guest(guest) = &mut candidate.target {
                    guest.virtual_time = request.virtual_time;
                }
                return Ok(chosen(candidate, &passed, asked.is_some()));
            }
            Err(why) => passed.push(why),
        }
    }
    let next = match asked {
        Some(Runner::Host | Runner::Guest(GuestMachine::Uml)) if needs.crash => {
            "run it with --executor qemu, or without the crash check (--set crash.enabled=false)"
        }
        Some(Runner::Host) => {
            "run it in a guest's kernel with --executor uml or qemu (`fslab kernel list` shows what each has)"
        }
        Some(Runner::Guest(GuestMachine::Uml))
            if passed.iter().any(|why| why.contains(DOES_NOT_RUN)) =>
        {
            "`fslab kernel fetch uml` brings the newest User-mode Linux, or run it with --executor qemu"
        }
        Some(_) => "`fslab kernel list` shows what each kernel has",
        None => {
            "take it out of the study, or bring a kernel that has it: `fslab kernel list --available`"
        }
    };
    Err(Error::Preflight(format!("{}; {next}", passed.join("; "))))
}

/// Why a forged volume is not read in a guest.
const FORGED_IN_A_GUEST: &str = "volume = \"forged\" is read on the host, which needs no driver for it; leave out --executor and --kernel";

fn chosen(candidate: Candidate, passed: &[String], asked: bool) -> Choice {
    let begin = match (passed.is_empty(), asked) {
        (false, _) => passed.join("; "),
        (true, true) => "as asked".to_owned(),
        (true, false) => "nothing is lacking".to_owned(),
    };
    let emulated = match &candidate.target {
        Target::Guest(guest) if guest.virtual_time => ", in virtual time",
        Target::Guest(_) => ", times are emulated",
        _ => "",
    };
    Choice {
        why: format!("{begin}: runs in {}{emulated}", candidate.place),
        target: candidate.target,
    }
}

/// The kernels that the cells name, in the plan's order.
pub fn kernels(plan: &Plan) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for kernel in plan.cells.iter().filter_map(|cell| cell.kernel.as_ref()) {
        if !all.contains(kernel) {
            all.push(kernel.clone());
        }
    }
    let place = |kernel: &String| {
        let factor = plan.factors.iter().find(|(name, _)| name == "kernel");
        factor.and_then(|(_, levels)| levels.iter().position(|level| level == kernel))
    };
    all.sort_by_key(place);
    all
}

/// What runs the kernels that were named, by their form.
fn machine_of(named: &BTreeMap<String, Kernel>) -> Option<Runner> {
    let first = named.values().next()?;
    Some(Runner::Guest(machine_for(first)))
}

fn machine_for(kernel: &Kernel) -> GuestMachine {
    match kernel.form {
        Form::Uml => GuestMachine::Uml,
        Form::Vmlinux => GuestMachine::Qemu,
    }
}

struct Selector<'a> {
    host_info: &'a dyn HostInfo,
    plan: &'a Plan,
    needs: &'a Needs,
    cache: Option<&'a Path>,
    say: fn(&str),
}

impl Selector<'_> {
    fn cache(&self) -> Result<Cache, Error> {
        Ok(Cache::open(self.cache)?)
    }

    /// The kernels of these names. What is missing is reported at once, with the command that fetches it.
    fn named(
        &self,
        levels: &[String],
        asked: Option<Runner>,
    ) -> Result<BTreeMap<String, Kernel>, Error> {
        if levels.is_empty() {
            return Ok(BTreeMap::new());
        }
        let cache = self.cache()?;
        let asked = asked == Some(Runner::Guest(GuestMachine::Uml));
        let is_uml = |level: &str| asked || level == "uml";
        let uml = if levels.iter().any(|level| is_uml(level)) {
            self.host_info.uml_kernels(&cache)?
        } else {
            Vec::new()
        };
        let mut found = BTreeMap::new();
        let mut missing = Vec::new();
        let mut first = None;
        for level in levels {
            let usual = if is_uml(level) {
                self.first_that_runs(&cache, &uml, level)?
            } else {
                None
            };
            let kernel = match usual {
                Some(kernel) => Ok(kernel),
                // An image is refused by its own name, with what runs it.
                None if asked => cache.uml(level).or_else(|_| cache.kernel(level)),
                None => cache.kernel(level),
            };
            match kernel {
                Ok(kernel) => drop(found.insert(level.clone(), kernel)),
                Err(error) => {
                    missing.push(level.as_str());
                    first.get_or_insert(error);
                }
            }
        }
        match (first, &missing[..]) {
            (None, _) => Ok(found),
            (Some(error), [_]) => Err(error.into()),
            (Some(_), _) => Err(Error::Preflight(format!(
                "no kernels {} in {}; `fslab kernel fetch {}` brings them",
                missing.join(", "),
                cache.root().display(),
                missing.join(" ")
            ))),
        }
    }

    /// Of the kernels that a name means, the first that runs on this machine; the first at all where none does.
    fn first_that_runs(
        &self,
        cache: &Cache,
        kernels: &[Kernel],
        name: &str,
    ) -> Result<Option<Kernel>, Error> {
        let meant: Vec<&Kernel> = kernels
            .iter()
            .filter(|kernel| kernel.is_uml(name))
            .collect();
        for kernel in &meant {
            if meant.len() == 1 || self.host_info.fails(cache, kernel, self.say)?.is_none() {
                return Ok(Some((*kernel).clone()));
            }
        }
        Ok(meant.first().map(|kernel| (*kernel).clone()))
    }

    /// Whether a runner has everything; if not, what it lacks, in words.
    fn candidate(
        &self,
        runner: Runner,
        named: &BTreeMap<String, Kernel>,
    ) -> Result<Result<Candidate, String>, Error> {
        match runner {
            Runner::Host if named.is_empty() => Ok(self.host()),
            Runner::Host => Err(Error::Preflight(
                "the host runs one kernel, its own; leave out --executor host, or the kernels"
                    .into(),
            )),
            Runner::Guest(machine) => self.guest(machine, named),
        }
    }

    fn host(&self) -> Result<Candidate, String> {
        let (release, lacks) = self.host_info.host(self.needs);
        if lacks.is_empty() {
            return Ok(Candidate {
                target: Target::LoopImages,
                place: format!("the host's Linux {release}"),
            });
        }
        Err(format!("host lacks {}", lacks.join(", ")))
    }

    fn guest(
        &self,
        machine: GuestMachine,
        named: &BTreeMap<String, Kernel>,
    ) -> Result<Result<Candidate, String>, Error> {
        if let Err(missing) = self.host_info.present(machine) {
            return Ok(Err(format!("{}: {missing}", machine.name())));
        }
        if !named.is_empty() {
            return self.those(machine, named);
        }
        let cache = self.cache()?;
        let found = match machine {
            GuestMachine::Uml => self.host_info.uml_kernels(&cache)?,
            GuestMachine::Qemu => newest_first(&cache)?,
        };
        if found.is_empty() {
            let cache = cache.root().display();
            return Ok(Err(match machine {
                GuestMachine::Uml => {
                    "uml: User-mode Linux is not installed; `fslab kernel fetch uml` brings one"
                        .into()
                }
                GuestMachine::Qemu => format!(
                    "qemu: no kernel for a guest in {cache}; `fslab kernel fetch 6.1` brings one"
                ),
            }));
        }
        let mut passed = Vec::new();
        for kernel in found {
            let lacks = self.needs.lacking_in(&kernel);
            if lacks.is_empty() {
                if let Some(reason) = self.host_info.fails(&cache, &kernel, self.say)? {
                    passed.push(does_not_run(&place(machine, &[&kernel]), &reason));
                    continue;
                }
                let mut target = GuestTarget::new(machine);
                target.cache = self.cache.map(Path::to_owned);
                target.kernel = Some(kernel.name.clone());
                return Ok(Ok(Candidate {
                    place: place(machine, &[&kernel]),
                    target: Target::Guest(target),
                }));
            }
            let lacks = lacks.join(", ");
            passed.push(format!("{} lacks {lacks}", place(machine, &[&kernel])));
        }
        // The newest come first.
        passed.truncate(3);
        Ok(Err(passed.join("; ")))
    }

    /// The kernels that were named, all of them.
    fn those(
        &self,
        machine: GuestMachine,
        named: &BTreeMap<String, Kernel>,
    ) -> Result<Result<Candidate, String>, Error> {
        let levels = kernels(self.plan);
        let all: Vec<(&String, &Kernel)> = levels
            .iter()
            .filter_map(|level| Some((level, named.get(level)?)))
            .collect();
        for (_, kernel) in &all {
            fits(kernel, machine, all.len() > 1)?;
        }
        let mut lacking = Vec::new();
        for (level, kernel) in &all {
            let lacks = Needs::of_kernel(self.plan, Some(level)).lacking_in(kernel);
            if !lacks.is_empty() {
                lacking.push(format!("kernel {} lacks {}", kernel.name, lacks.join(", ")));
            } else if let Some(reason) = self.host_info.fails(&self.cache()?, kernel, self.say)? {
                lacking.push(does_not_run(&format!("kernel {}", kernel.name), &reason));
            }
        }
        if !lacking.is_empty() {
            return Ok(Err(lacking.join("; ")));
        }
        let kernels: Vec<&Kernel> = all.iter().map(|(_, kernel)| *kernel).collect();
        let mut target = GuestTarget::new(machine);
        target.cache = self.cache.map(Path::to_owned);
        let factor = self.plan.factors.iter().any(|(name, _)| name == "kernel");
        let name = |(level, kernel): &(&String, &Kernel)| ((*level).clone(), kernel.name.clone());
        match kernels[..] {
            [one] if !factor => target.kernel = Some(one.name.clone()),
            _ => target.kernels = all.iter().map(name).collect(),
        }
        Ok(Ok(Candidate {
            place: place(machine, &kernels),
            target: Target::Guest(target),
        }))
    }
}

/// What is reported of a kernel whose test boot failed.
const DOES_NOT_RUN: &str = "does not run on this machine";

/// A kernel whose test boot failed, with the reason.
fn does_not_run(place: &str, reason: &str) -> String {
    format!("{place} {DOES_NOT_RUN} ({reason})")
}

/// `User-mode Linux 6.1.176`, `Linux 5.10.0-44-amd64 and 6.1.0-56-amd64 under QEMU`.
fn place(machine: GuestMachine, kernels: &[&Kernel]) -> String {
    let releases: Vec<&str> = kernels
        .iter()
        .map(|kernel| kernel.release.as_str())
        .collect();
    let releases = match releases.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => releases.concat(),
    };
    match machine {
        GuestMachine::Uml => format!("User-mode Linux {releases}"),
        GuestMachine::Qemu => format!("Linux {releases} under QEMU"),
    }
}

/// Images for QEMU, the newest first.
fn newest_first(cache: &Cache) -> Result<Vec<Kernel>, Error> {
    let mut all = cache.kernels()?;
    all.retain(|kernel| kernel.form == Form::Vmlinux);
    all.reverse();
    Ok(all)
}

/// Whether a kernel and what is to run it belong together.
fn fits(kernel: &Kernel, machine: GuestMachine, several: bool) -> Result<(), Error> {
    let right = machine_for(kernel);
    if right == machine {
        return Ok(());
    }
    let next = if several {
        "the kernels of one run need one executor, or their times could not be compared".to_owned()
    } else {
        format!("run it with --executor {}", right.name())
    };
    Err(Error::Preflight(format!(
        "kernel {} is not one for {}; {next}",
        kernel.name,
        machine.name(),
    )))
}

/// Refuses what a directory or a disk of this machine cannot give: another kernel, or what its own lacks.
///
/// # Errors
/// A plan that names kernels, or is about others than the one that runs.
pub fn plain(plan: &Plan) -> Result<(), Error> {
    if let [first, ..] = &kernels(plan)[..] {
        return Err(Error::Preflight(format!(
            "kernel {first}: a directory or disk of this machine is served by its own kernel; leave out \
             --dir or --device, or the kernel"
        )));
    }
    let host = Host::here();
    match plan
        .needs
        .kernel
        .as_ref()
        .filter(|range| !range.holds(&host.release))
    {
        Some(range) => Err(Error::Preflight(format!(
            "the study is about kernels {range} and this machine runs {}; leave out --dir or --device \
             to have it run in a guest's",
            host.release
        ))),
        None => Ok(()),
    }
}

/// Keeps a kernel that is given by its files and gives the name that it has in the cache from now on.
///
/// # Errors
/// Files that are no kernel's, modules of another one, a cache that cannot be written.
pub fn keep(
    image: &Path,
    modules: Option<&Path>,
    cache: Option<&Path>,
    say: &mut dyn FnMut(&str),
) -> Result<String, Error> {
    for path in std::iter::once(image).chain(modules) {
        if !path.exists() {
            return Err(Error::Preflight(format!(
                "{}: there is no such file; name a vmlinux, a bzImage or User-mode Linux, or a kernel of \
                 `fslab kernel list`",
                path.display()
            )));
        }
    }
    let added = Added {
        image: image.to_owned(),
        modules: modules.map(Path::to_owned),
        config: None,
    };
    Ok(Cache::open(cache)?.keep(&added, say)?.name)
}

#[cfg(test)]
mod tests;
