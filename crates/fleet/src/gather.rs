//! The parts of all blocks as one run.
//!
//! Of each block the first whole attempt counts; what else there is becomes a note. The events of all are merged in the order of their
//! times and numbered anew, one event of each part in memory at a time. No clock is read: the same parts give the same bytes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use record::log::Reader;
use record::{Entry, Event, Evidence, Run};
use rundir::RunDir;
use serde_json::Value;
use study::Slot;

use crate::attempts::Attempt;
use crate::error::Error;
use crate::nodes::{self, NodeFacts};
use crate::plan::FleetPlan;
use crate::slurm;

/// What was gathered.
#[derive(Debug)]
pub struct Gathered {
    /// The run.
    pub run: Run,
    /// Its nodes.
    pub nodes: Vec<NodeFacts>,
    /// Blocks without a whole attempt.
    pub missing: Vec<u32>,
}

/// A whole attempt, as its log was looked through once.
struct Part {
    attempt: Attempt,
    facts: NodeFacts,
    context: Value,
    finished: u32,
    failed: u32,
    skipped: u32,
    peak_rss: u64,
}

/// Gathers a fleet's folder: writes its log, index and reports.
///
/// # Errors
/// It is no fleet; no block is whole; kernels differ.
pub fn gather(run: &Path) -> Result<Gathered, Error> {
    let (dir, fleet) = FleetPlan::open(run)?;
    let (parts, mut notes) = choose(&fleet, &dir)?;
    if parts.is_empty() {
        return Err(Error::Refused(format!(
            "{}: no block is whole yet; `fslab fleet status` shows how far they are",
            run.display()
        )));
    }
    let nodes = nodes::of(parts.iter().map(|part| &part.facts));
    refuse_kernels(&fleet, &nodes)?;
    let has = |block: u32| parts.iter().any(|part| part.attempt.block == block);
    let missing: Vec<u32> = (0..fleet.plan.blocks)
        .filter(|block| !has(*block))
        .collect();
    if !missing.is_empty() {
        let blocks = crate::script::ranges(&missing);
        notes.push(format!(
            "blocks {blocks} have no whole attempt: the run is not whole"
        ));
    }
    dir.replace_with(record::folder::EVENTS, |file| {
        let mut log = Log {
            out: BufWriter::new(file),
            path: dir.path().join(record::folder::EVENTS),
            next: 0,
        };
        write(&mut log, &fleet, &dir, &parts, notes, missing.is_empty())?;
        log.out.flush().map_err(Error::io("write", log.path))
    })?;
    store::index::rebuild(&dir)?;
    let gathered = Run::read(&dir)?;
    report(&gathered, &dir)?;
    Ok(Gathered {
        run: gathered,
        nodes,
        missing,
    })
}

/// Of each block the first whole attempt, in the order of blocks; and what is to be said of the others.
fn choose(fleet: &FleetPlan, dir: &RunDir) -> Result<(Vec<Part>, Vec<String>), Error> {
    let mut parts: Vec<Part> = Vec::new();
    let mut notes = Vec::new();
    for attempt in Attempt::all(dir)? {
        let name = format!("block {}, attempt {}", attempt.block, attempt.number);
        if attempt.block >= fleet.plan.blocks {
            notes.push(format!("{name}: the plan has no such block"));
            continue;
        }
        if parts
            .last()
            .is_some_and(|last| last.attempt.block == attempt.block)
        {
            notes.push(format!("{name}: not needed, an attempt before it is whole"));
            continue;
        }
        match look(fleet, dir, attempt) {
            Ok(Some(part)) => parts.push(part),
            Ok(None) => notes.push(format!("{name}: broken off, it does not count")),
            Err(error) => notes.push(format!("{name}: {error}; it does not count")),
        }
    }
    Ok((parts, notes))
}

/// Looks an attempt's log through; none: it is not whole.
fn look(fleet: &FleetPlan, dir: &RunDir, attempt: Attempt) -> Result<Option<Part>, Error> {
    let run = match Run::read(&attempt.open(dir)?) {
        Ok(run) => run,
        Err(record::Error::NotARun { .. } | record::Error::NothingRecorded { .. }) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let Some(closing) = run.closing else {
        return Ok(None);
    };
    let theirs = run
        .plan
        .slots
        .iter()
        .filter(|slot| slot.block == attempt.block);
    let same = theirs
        .zip(fleet.slots(attempt.block))
        .all(|(theirs, ours)| (theirs.cell, theirs.seed) == (ours.cell, ours.seed));
    if !same || run.plan.cells != fleet.plan.cells {
        return Err(Error::Refused("its plan is not this fleet's".into()));
    }
    let context = run.contexts.get("start").cloned().unwrap_or_default();
    let node = run.trials.iter().find_map(|trial| trial.node.clone());
    Ok(Some(Part {
        attempt,
        facts: NodeFacts::of(node.unwrap_or_else(|| "unknown".into()), &context),
        context,
        finished: closing.finished,
        failed: closing.failed,
        skipped: closing.skipped,
        peak_rss: closing.peak_rss,
    }))
}

/// Refuses nodes with different kernels: what differs between them is then not the node alone.
fn refuse_kernels(fleet: &FleetPlan, nodes: &[NodeFacts]) -> Result<(), Error> {
    let is_factor = fleet.plan.factors.iter().any(|(name, _)| name == "kernel");
    let first = nodes.first().map(|node| &node.kernel);
    let other = nodes.iter().find(|node| Some(&node.kernel) != first);
    match (other, nodes.first()) {
        (Some(other), Some(first)) if !is_factor => Err(Error::Refused(format!(
            "node {} runs kernel {} and node {} kernel {}: their blocks are no repetitions of each other; choose nodes of one \
             kernel (sbatch --constraint, --nodelist), or make the kernel a factor",
            first.node, first.kernel, other.node, other.kernel
        ))),
        _ => Ok(()),
    }
}

struct Log<'f> {
    out: BufWriter<&'f mut File>,
    path: std::path::PathBuf,
    next: u64,
}

impl Log<'_> {
    fn push(&mut self, at: Timestamp, event: Event) -> Result<(), Error> {
        let entry = Entry {
            seq: self.next,
            at,
            event,
        };
        self.next += 1;
        let mut line = serde_json::to_vec(&entry).unwrap_or_default();
        line.push(b'\n');
        let path = &self.path;
        self.out
            .write_all(&line)
            .map_err(Error::io("write", path.clone()))
    }
}

/// A part that is being merged.
struct Source<'p> {
    part: &'p Part,
    reader: Reader<BufReader<File>>,
    /// Numbers of its trials in the whole plan.
    numbers: BTreeMap<u32, u32>,
    next: Option<Entry>,
}

fn write(
    log: &mut Log<'_>,
    fleet: &FleetPlan,
    dir: &RunDir,
    parts: &[Part],
    notes: Vec<String>,
    whole: bool,
) -> Result<(), Error> {
    let name = dir
        .path()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let begun = Event::RunStarted {
        format: record::FORMAT,
        run: name,
        tool: fleet.tool.clone(),
        command: fleet.command.clone(),
        target: fleet.target.clone(),
        tags: fleet.tags.clone(),
        part: None,
        plan: Box::new(fleet.plan.clone()),
    };
    log.push(fleet.at, begun)?;
    contexts(log, fleet.at, parts)?;
    for message in notes {
        log.push(fleet.at, Event::Note { message })?;
    }
    let mut sources = Vec::new();
    let mut queue = BinaryHeap::new();
    for part in parts {
        let source = open(fleet, dir, part)?;
        if let Some(entry) = &source.next {
            queue.push(Reverse((entry.at, sources.len())));
        }
        sources.push(source);
    }
    let mut slots = fleet.plan.slots.len() as u32;
    let mut last = fleet.at;
    while let Some(Reverse((_, index))) = queue.pop() {
        let Some(source) = sources.get_mut(index) else {
            continue;
        };
        let Some(entry) = source.next.take() else {
            continue;
        };
        last = last.max(entry.at);
        if let Some(event) = translated(fleet, source, entry.event, &mut slots) {
            log.push(entry.at, event)?;
        }
        source.next = source.reader.next_entry()?;
        if let Some(entry) = &source.next {
            queue.push(Reverse((entry.at, index)));
        }
    }
    if !whole {
        return Ok(());
    }
    let sum = |of: fn(&Part) -> u32| parts.iter().map(of).sum();
    let finished = Event::RunFinished {
        finished: sum(|part| part.finished),
        failed: sum(|part| part.failed),
        skipped: sum(|part| part.skipped),
        seconds: last.duration_since(fleet.at).as_secs_f64(),
        peak_rss: parts.iter().map(|part| part.peak_rss).max().unwrap_or(0),
    };
    log.push(last, finished)
}

/// The run's context is that of the first block's node; each node has its own beside.
fn contexts(log: &mut Log<'_>, at: Timestamp, parts: &[Part]) -> Result<(), Error> {
    let mut known: Vec<&str> = Vec::new();
    for part in parts {
        let node = part.facts.node.as_str();
        if known.is_empty() {
            let context = part.context.clone();
            log.push(
                at,
                Event::Context {
                    when: "start".into(),
                    context,
                },
            )?;
        }
        if !known.contains(&node) {
            known.push(node);
            let (when, context) = (format!("node {node}"), part.context.clone());
            log.push(at, Event::Context { when, context })?;
        }
    }
    Ok(())
}

fn open<'p>(fleet: &FleetPlan, dir: &RunDir, part: &'p Part) -> Result<Source<'p>, Error> {
    let mut reader = Reader::of_run(&part.attempt.open(dir)?)?;
    let ours = fleet.slots(part.attempt.block).map(|slot| slot.trial);
    Ok(Source {
        next: reader.next_entry()?,
        reader,
        numbers: (0..).zip(ours).collect(),
        part,
    })
}

/// An event of a part as one of the whole run; none: the whole has its own.
fn translated(
    fleet: &FleetPlan,
    source: &mut Source<'_>,
    event: Event,
    slots: &mut u32,
) -> Option<Event> {
    let part = source.part;
    let number = |trial: u32| source.numbers.get(&trial).copied();
    let of = |slot: Slot, trial: u32| {
        let ours = fleet.plan.slots.get(trial as usize);
        ours.copied().unwrap_or(Slot { trial, ..slot })
    };
    match event {
        Event::TrialStarted {
            slot, telemetry, ..
        } => Some(Event::TrialStarted {
            slot: of(slot, number(slot.trial)?),
            telemetry: telemetry.map(|file| format!("{}/{file}", part.attempt.relative())),
            node: Some(part.facts.node.clone()),
        }),
        Event::TrialRepeated { slot, repeats, why } => {
            let repeats = number(repeats)?;
            let trial = *slots;
            *slots += 1;
            source.numbers.insert(slot.trial, trial);
            Some(Event::TrialRepeated {
                slot: Slot { trial, ..slot },
                repeats,
                why,
            })
        }
        Event::Context { when, context } => {
            let trial: u32 = when.strip_prefix("trial ")?.parse().ok()?;
            let trial = number(trial.checked_sub(1)?)? + 1;
            Some(Event::Context {
                when: format!("trial {trial}"),
                context,
            })
        }
        Event::Note { message } => Some(Event::Note {
            message: format!("node {}: {message}", part.facts.node),
        }),
        Event::Reference { reference } => Some(Event::Reference { reference }),
        Event::RunStarted { .. }
        | Event::Resumed { .. }
        | Event::Probed { .. }
        | Event::RunFinished { .. } => None,
        of_trial => {
            let mut event = with_number(of_trial, number)?;
            if let Event::TrialFinished { evidence, .. } = &mut event {
                evidence.extend(alone(part));
            }
            Some(event)
        }
    }
}

/// An event of a trial with the trial's number in the whole run.
fn with_number(event: Event, number: impl Fn(u32) -> Option<u32>) -> Option<Event> {
    let mut value = serde_json::to_value(event).ok()?;
    let trial = u32::try_from(value.get("trial")?.as_u64()?).ok()?;
    *value.get_mut("trial")? = number(trial)?.into();
    serde_json::from_value(value).ok()
}

/// Whether the node was the job's alone, where a scheduler says.
fn alone(part: &Part) -> Option<Evidence> {
    let items = part.context.get("items")?;
    // What is in no file of the machine is kept below `manual.`.
    let item = |name: &str| {
        let item = items.get(format!("manual.{name}").as_str())?;
        Some(item.get("value")?.as_str()?.to_owned())
    };
    let facts = ["slurm.scontrol", "slurm.cpus"];
    let facts = facts
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), item(name)?)));
    let (holds, detail) = slurm::alone(&facts.collect())?;
    Some(Evidence {
        phase: None,
        name: "node_alone".into(),
        holds: Some(holds),
        detail,
    })
}

fn report(run: &Run, dir: &RunDir) -> Result<(), Error> {
    for (name, format) in [
        ("report.txt", report::Format::Text),
        ("report.html", report::Format::Html),
    ] {
        let options = report::Options {
            format,
            ..report::Options::default()
        };
        let text = report::render(run, Some(dir.path()), &options)?;
        dir.replace(name, text.as_bytes())?;
    }
    Ok(())
}
