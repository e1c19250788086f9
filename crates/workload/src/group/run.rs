//! A phase of all ranks: clocks compared, one start, the work, what comes after it, and everything at rank 0.

use std::collections::BTreeMap;
use std::path::Path;

use progress::{Step, Unit};

use super::is_first_of_kernel;
use super::merge::Merged;
use super::points::Points;
use super::{Group, Offsets, Part, Place, Stage, broadcast_value, clocks, gather_values};
use crate::calls::Calls;
use crate::clock::{Cpu, seconds};
use crate::syncfs::syncfs;
use crate::{Clocks, Error, Evidence, Observer, PhaseReport, ThreadReport};

/// Barriers that are timed before the first phase, at most.
const BARRIERS: usize = 100;
/// The first of them: if a rank has waited for longer than [`PATIENCE_NS`] by then, they are all, since ranks that take turns on a
/// processor need many milliseconds for each.
const FIRST: usize = 10;
/// See [`FIRST`].
const PATIENCE_NS: u64 = 20_000_000;
/// Largest share of a phase that clocks may be wrong by.
const DOUBT: f64 = 0.01;

/// What holds for all phases of a run.
pub struct Setting<'a> {
    /// All ranks.
    pub group: &'a dyn Group,
    /// Receives what rank 0 reports; drops the caches of each kernel.
    pub observer: &'a dyn Observer,
    /// Median time of a barrier, seconds.
    barrier: f64,
}

/// The work of a rank in a phase: its moments, and how far it was when.
pub(crate) type Work<'a> = dyn FnMut(&mut Part, &mut Option<Points>) -> Result<(), Error> + 'a;

/// What a rank does in a phase.
pub(crate) struct Plan<'a> {
    pub(crate) name: &'static str,
    /// Amount of all ranks, in the unit of [`Group::done`].
    pub(crate) amount: u64,
    pub(crate) unit: Unit,
    /// The work; it sets the moments from `begin` to `end`.
    pub(crate) work: &'a mut Work<'a>,
    /// Makes safe what was written, where there is such a thing.
    pub(crate) sync: Option<&'a dyn Fn() -> Result<(), Error>>,
    /// The filesystem whose syncfs is clock (c).
    pub(crate) settle: Option<&'a Path>,
}

/// A phase at rank 0.
pub struct Gathered {
    /// By rank.
    pub parts: Vec<Part>,
    /// Of the nodes' clocks.
    pub offsets: Offsets,
    /// What each rank had done when the first was done.
    pub at_first: Vec<u64>,
}

impl<'a> Setting<'a> {
    /// Times barriers. Collective.
    ///
    /// # Errors
    /// Another rank has failed.
    pub fn new(group: &'a dyn Group, observer: &'a dyn Observer) -> Result<Setting<'a>, Error> {
        let mut times = Vec::with_capacity(BARRIERS);
        group.barrier()?;
        let begin = group.now_ns();
        time_barriers(group, FIRST, &mut times)?;
        let waited = group.all(group.now_ns().saturating_sub(begin))?;
        if waited.into_iter().all(|ns| ns < PATIENCE_NS) {
            time_barriers(group, BARRIERS - FIRST, &mut times)?;
        }
        times.sort_unstable();
        Ok(Setting {
            group,
            observer,
            barrier: times[times.len() / 2] as f64 / 1e9,
        })
    }

    /// Runs a phase: at rank 0 everything of it, elsewhere nothing. Collective.
    pub(crate) fn phase(&self, plan: &mut Plan<'_>) -> Result<Option<Gathered>, Error> {
        let (group, name) = (self.group, plan.name);
        let before = clocks::compare(group)?;
        if group.rank() == 0 {
            let step = Step::new(name)
                .counted_in(plan.unit.clone())
                .of(plan.amount);
            self.observer.begin(step);
            self.observer.phase_started(name);
        }
        let (mut part, mut points) = (Part::default(), None);
        group.at(name, Stage::Works);
        group.barrier()?;
        let cpu = Cpu::thread();
        (plan.work)(&mut part, &mut points)?;
        let used = Cpu::thread() - cpu;
        part.cpu = (used.user, used.system);
        group.at(name, Stage::Waits);
        group.barrier()?;
        part.met = group.now_ns();
        self.after(plan, &mut part)?;
        let after = clocks::compare(group)?;
        let parts = gather_values(group, &part)?;
        let offsets = Offsets::new(before, after);
        let at_first = self.when_first(&parts, &offsets, points.as_ref())?;
        Ok((group.rank() == 0).then_some(Gathered {
            parts,
            offsets,
            at_first,
        }))
    }

    /// Clocks (b) and (c).
    fn after(&self, plan: &Plan<'_>, part: &mut Part) -> Result<(), Error> {
        let group = self.group;
        if let Some(sync) = plan.sync {
            sync()?;
            part.synced = group.now_ns();
            group.barrier()?;
        }
        if let Some(dir) = plan.settle {
            if is_first_of_kernel(group) {
                syncfs(dir)?;
                part.settled = group.now_ns();
            }
            group.barrier()?;
        }
        Ok(())
    }

    /// What each rank had done when the first was done: rank 0 says when that was, each looks it up by its own clock.
    fn when_first(
        &self,
        parts: &[Part],
        offsets: &Offsets,
        points: Option<&Points>,
    ) -> Result<Vec<u64>, Error> {
        let group = self.group;
        let mine = (group.rank() == 0).then(|| {
            let merged = Merged::new(parts, group.places(), offsets);
            let origin = parts.first().map_or(0, |part| part.begin);
            (merged.first_done().0, origin, offsets.clone())
        });
        let (instant, origin, offsets): (f64, u64, Offsets) =
            broadcast_value(group, mine.as_ref())?;
        let place = group.places().get(group.rank() as usize);
        let reading = place.map_or(0, |place| offsets.reading(&place.clock(), instant, origin));
        group.all(points.map_or(0, |points| points.at(reading)))
    }

    /// The report of a phase without its rates, which are the workload's.
    pub(crate) fn report(
        &self,
        name: &str,
        gathered: &Gathered,
        merged: &Merged<'_>,
    ) -> PhaseReport {
        let mut calls = Calls::default();
        for part in &gathered.parts {
            calls.merge(&part.calls);
        }
        let length = merged.seconds();
        let mut figures = calls.figures();
        figures.insert("barrier_seconds".into(), self.barrier);
        PhaseReport {
            name: name.into(),
            bytes: merged.bytes(),
            bytes_transferred: merged.bytes(),
            operations: merged.operations(),
            short_operations: gathered.parts.iter().map(|part| part.short).sum(),
            seconds: length,
            clock_seconds: Clocks {
                original: Some(length),
                fsync: merged.synced_seconds(),
                syncfs: merged.settled_seconds(),
            },
            user_seconds: gathered.parts.iter().map(|part| part.cpu.0).sum(),
            system_seconds: gathered.parts.iter().map(|part| part.cpu.1).sum(),
            figures,
            threads: gathered.parts.iter().zip(0..).map(of_rank).collect(),
            latency: calls.reports(),
            evidence: self.evidence(gathered, merged, length),
            ..PhaseReport::default()
        }
    }

    fn evidence(&self, gathered: &Gathered, merged: &Merged<'_>, length: f64) -> Vec<Evidence> {
        let doubt = gathered.offsets.doubt().filter(|_| merged.has_two_clocks());
        let mut evidence = vec![clocks_agree(doubt, length)];
        if self.group.is_of_processes() {
            evidence.push(ranks_fit(self.group.places()));
        }
        evidence
    }

    /// Ends a phase at rank 0.
    pub(crate) fn finished(&self, report: &PhaseReport) {
        self.observer.phase_finished(report);
        self.observer.end();
    }

    /// Refuses to go on after an interrupt.
    pub(crate) fn go_on(&self, phase: &'static str) -> Result<(), Error> {
        if self.observer.cancelled() {
            return Err(Error::Interrupted {
                phase: phase.into(),
            });
        }
        Ok(())
    }

    /// Makes the page cache of each kernel cold and proves it: at rank 0 the evidence of all, elsewhere none. Collective.
    pub(crate) fn drop_caches(&self, files: &[&Path]) -> Result<Option<Evidence>, Error> {
        let group = self.group;
        group.barrier()?;
        let mine = is_first_of_kernel(group)
            .then(|| crate::cache::emptied(self.observer.drop_caches(files)));
        let all: Vec<Option<Evidence>> = gather_values(group, &mine)?;
        group.barrier()?;
        let kernels: Vec<Evidence> = all.into_iter().flatten().collect();
        // The worst of them: one warm node is enough.
        let worst = kernels.iter().min_by_key(|seen| match seen.holds {
            Some(false) => 0,
            None => 1,
            Some(true) => 2,
        });
        Ok(worst.map(|worst| match kernels.len() {
            1 => worst.clone(),
            count => Evidence {
                detail: format!("{} (of {count} nodes the least cold)", worst.detail),
                ..worst.clone()
            },
        }))
    }
}

/// How long each of a number of barriers took this rank, ns.
fn time_barriers(group: &dyn Group, count: usize, times: &mut Vec<u64>) -> Result<(), Error> {
    for _ in 0..count {
        let begin = group.now_ns();
        group.barrier()?;
        times.push(group.now_ns().saturating_sub(begin));
    }
    Ok(())
}

fn of_rank((part, rank): (&Part, u32)) -> ThreadReport {
    let length = seconds(part.begin, part.end);
    ThreadReport {
        thread: rank,
        bytes: part.bytes,
        bytes_transferred: part.bytes,
        operations: part.operations,
        seconds: length,
        bytes_per_s: if length > 0.0 {
            part.bytes as f64 / length
        } else {
            0.0
        },
    }
}

/// Whether the clocks of the nodes are known well enough for a phase of this length.
fn clocks_agree(doubt: Option<(f64, f64)>, length: f64) -> Evidence {
    let (holds, detail) = match doubt {
        None => (true, "all ranks that worked read one clock".to_owned()),
        Some((error, drift)) => {
            let share = (error + drift) / length.max(f64::MIN_POSITIVE);
            let detail = format!(
                "compared within {:.1} us, drift {:.1} us, together {:.3} % of the phase (at most {} %)",
                error * 1e6,
                drift * 1e6,
                share * 100.0,
                DOUBT * 100.0
            );
            (share < DOUBT, detail)
        }
    };
    Evidence {
        name: "clocks_agree".into(),
        holds: Some(holds),
        detail,
    }
}

/// Whether each rank has a processor: without one, MPI's barriers cost milliseconds and ranks wait for each other's turns.
fn ranks_fit(places: &[Place]) -> Evidence {
    let mut kernels: BTreeMap<&str, (&str, u32, Vec<u32>)> = BTreeMap::new();
    for place in places {
        let (_, ranks, cpus) = kernels
            .entry(&place.boot)
            .or_insert((&place.node, 0, Vec::new()));
        *ranks += 1;
        cpus.extend(&place.cpus);
    }
    let mut fits = true;
    let mut worst = String::new();
    for (node, ranks, cpus) in kernels.values_mut() {
        cpus.sort_unstable();
        cpus.dedup();
        if *ranks as usize > cpus.len() || worst.is_empty() {
            fits &= *ranks as usize <= cpus.len();
            worst = format!("{node}: {ranks} ranks on {} processors", cpus.len());
        }
    }
    Evidence {
        name: "ranks_fit".into(),
        holds: Some(fits),
        detail: match kernels.len() {
            1 => worst,
            count => format!("{worst}; {count} nodes"),
        },
    }
}
