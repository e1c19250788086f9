//! A run as its log records it: the fold of all events, which reports, resume and the index read.

mod repeats;
mod trial;

use std::collections::BTreeMap;
use std::path::Path;

use rundir::RunDir;
use study::{Cell, Plan, Slot};

use crate::error::Error;
use crate::event::{Entry, Event, FailureKind, Reference};
use crate::folder::RunFolder;
use crate::identity;
use crate::log::Reader;
use crate::names::EVENTS;
use crate::tags::Tags;
pub use trial::{Phase, Status, TrialRecord};

/// The closing figures of a whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closing {
    /// Time of the last event.
    pub at: jiff::Timestamp,
    /// Trials whole, failed and skipped.
    pub finished: u32,
    /// See `finished`.
    pub failed: u32,
    /// See `finished`.
    pub skipped: u32,
    /// Wall seconds of the last process.
    pub seconds: f64,
    /// Its peak resident memory, bytes.
    pub peak_rss: u64,
}

fn context_item(context: &serde_json::Value, item: &str) -> Option<String> {
    let value = context.get("items")?.get(item)?.get("value")?;
    value.as_str().map(str::to_owned)
}

/// Whose times a run has, in one word: `real`, `modelled`, `emulated` or `virtual`; in a guest whose disks are models
/// `modelled-emulated` or `modelled-virtual`. `said`: the context's `run.timing`, which for a guest names its clock alone.
pub fn timing(said: &str, on_models: bool) -> String {
    match said {
        "emulated" | "virtual" if on_models => format!("modelled-{said}"),
        _ => said.to_owned(),
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// SHA-256 of the first line of its log, in hexadecimal digits: which run it is.
    pub id: String,
    /// The user's tags, name to value.
    pub tags: Tags,
    /// fslab's version and commit.
    pub tool: String,
    /// The command line that began it.
    pub command: Vec<String>,
    /// The target, in words.
    pub target: String,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// How often it was resumed.
    pub resumed: u32,
    /// The plan.
    pub plan: Plan,
    /// Context records by their `when`.
    pub contexts: BTreeMap<String, serde_json::Value>,
    /// By [`Slot::trial`], one for each slot of the plan.
    pub trials: Vec<TrialRecord>,
    /// Slots that repeat a doubtful or failed trial: number of the new trial to number of the first.
    pub repeats: BTreeMap<u32, u32>,
    /// What the disks themselves can do.
    pub references: Vec<Reference>,
    /// Notes.
    pub notes: Vec<String>,
    /// Set when the run is whole.
    pub closing: Option<Closing>,
}

impl Run {
    /// Folds a log. `None` when it does not begin with `RunStarted`.
    pub fn fold(entries: &[Entry]) -> Option<Run> {
        let (first, rest) = entries.split_first()?;
        let mut folded = Run::begin(first, identity::id_of(first))?;
        for entry in rest {
            folded.apply(entry);
        }
        Some(folded)
    }

    /// Folds the log of a run's folder, one event in memory at a time. A torn last line becomes a
    /// note.
    ///
    /// # Errors
    /// [`Error::NotARun`], [`Error::NothingRecorded`], and those of [`log::read`](crate::log::read).
    pub fn load(dir: &Path) -> Result<Run, Error> {
        Run::read(RunFolder::open(dir)?.opened())
    }

    /// Loads the run of a folder that is open.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn read(dir: &RunDir) -> Result<Run, Error> {
        let mut reader = Reader::of_run(dir)?;
        let first = reader.next_entry()?;
        let id = identity::id_of_line(reader.line());
        let mut run = first
            .and_then(|first| Run::begin(&first, id))
            .ok_or_else(|| Error::NothingRecorded {
                dir: dir.path().to_owned(),
            })?;
        while let Some(entry) = reader.next_entry()? {
            run.apply(&entry);
        }
        if let Some(torn) = reader.torn() {
            run.notes.push(format!(
                "line {} of {EVENTS} is torn ({} bytes) and was left out: the run was killed while \
                 it wrote; fslab resume repairs it",
                torn.line, torn.bytes
            ));
        }
        Ok(run)
    }

    /// A run of which only the first event is known; `None` when that is not `RunStarted`. `id` is
    /// [`id_of_line`](crate::id_of_line) of its line.
    pub fn begin(first: &Entry, id: String) -> Option<Run> {
        let Event::RunStarted {
            run,
            tool,
            command,
            target,
            tags,
            plan,
            ..
        } = &first.event
        else {
            return None;
        };
        Some(Run {
            name: run.clone(),
            id,
            tags: tags.clone(),
            tool: tool.clone(),
            command: command.clone(),
            target: target.clone(),
            started_at: first.at,
            resumed: 0,
            trials: vec![TrialRecord::default(); plan.slots.len()],
            plan: (**plan).clone(),
            contexts: BTreeMap::new(),
            repeats: BTreeMap::new(),
            references: Vec::new(),
            notes: Vec::new(),
            closing: None,
        })
    }

    /// Adds the next event of the log.
    pub fn apply(&mut self, entry: &Entry) {
        match &entry.event {
            Event::RunStarted { .. } => {}
            Event::Resumed { .. } => {
                self.resumed += 1;
                self.closing = None;
            }
            Event::Context { when, context } => {
                self.contexts.insert(when.clone(), context.clone());
            }
            Event::Reference { reference } => self.references.push(reference.clone()),
            Event::Note { message } => self.notes.push(message.clone()),
            Event::RunFinished {
                finished,
                failed,
                skipped,
                seconds,
                peak_rss,
            } => {
                self.closing = Some(Closing {
                    at: entry.at,
                    finished: *finished,
                    failed: *failed,
                    skipped: *skipped,
                    seconds: *seconds,
                    peak_rss: *peak_rss,
                });
            }
            Event::Probed { measured } => self.plan.measured = Some(measured.clone()),
            Event::TrialRepeated { slot, repeats, .. } => self.add_slot(*slot, *repeats),
            event => self.apply_to_trial(entry, event),
        }
    }

    fn apply_to_trial(&mut self, entry: &Entry, event: &Event) {
        match event {
            Event::TrialStarted {
                slot,
                telemetry,
                node,
            } => {
                if let Some(trial) = self.trials.get_mut(slot.trial as usize) {
                    *trial = TrialRecord {
                        started_at: Some(entry.at),
                        telemetry: telemetry.clone(),
                        node: node.clone(),
                        ..TrialRecord::default()
                    };
                }
            }
            Event::FilesystemReady { trial, mounted } => {
                self.with(*trial, |t| t.mounted = Some(mounted.clone()));
            }
            Event::PhaseFinished {
                trial,
                phase,
                begin_ns,
                end_ns,
                detail,
                usage,
                memory,
                middle,
            } => {
                let phase = Phase {
                    name: phase.clone(),
                    begin_ns: *begin_ns,
                    end_ns: *end_ns,
                    detail: detail.clone(),
                    usage: usage.clone(),
                    memory: memory.clone(),
                    middle: middle.clone(),
                };
                self.with(*trial, |t| t.phases.push(phase));
            }
            Event::Noise { trial, noise } => {
                self.with(*trial, |t| t.noise.push(noise.clone()));
            }
            Event::Layout { trial, layout } => {
                self.with(*trial, |t| t.layouts.push(layout.clone()));
            }
            Event::Members { trial, members } => {
                self.with(*trial, |t| t.members.push(members.clone()));
            }
            Event::Traced { trial, trace } => {
                self.with(*trial, |t| t.traces.push(trace.clone()));
            }
            Event::Estimated { trial, estimate } => {
                self.with(*trial, |t| t.estimates.push(estimate.clone()));
            }
            Event::CrashChecked { trial, crash } => {
                self.with(*trial, |t| t.crash = Some(crash.clone()));
            }
            Event::TrialFinished {
                trial,
                samples,
                evidence,
                warnings,
                ledger,
            } => {
                self.with(*trial, |t| {
                    t.status = Status::Finished;
                    t.samples.clone_from(samples);
                    t.evidence.clone_from(evidence);
                    t.warnings.clone_from(warnings);
                    t.ledger = *ledger;
                });
                self.settle_repeat(*trial);
            }
            Event::TrialFailed {
                trial,
                kind,
                message,
                ledger,
            } => {
                self.with(*trial, |t| {
                    t.status = Status::Failed(*kind, message.clone());
                    t.ledger = *ledger;
                });
                self.settle_repeat(*trial);
            }
            _ => {}
        }
    }

    /// The commit of the fslab that began it, if its log names one.
    pub fn commit(&self) -> Option<&str> {
        identity::commit_of(&self.tool)
    }

    /// The value of one item of the context at the start, as text.
    pub fn context_item(&self, item: &str) -> Option<String> {
        context_item(self.contexts.get("start")?, item)
    }

    /// The modelled disks of the cells, as `7k500, nvme-2018`; empty where there are none.
    pub fn modelled_disks(&self) -> String {
        let cells = self.plan.cells.iter();
        let names = cells.filter_map(|cell| match &cell.device.stack.as_ref()?.layers {
            study::Layers::Model(model) => Some(model.device.as_str()),
            _ => None,
        });
        let names: std::collections::BTreeSet<&str> = names.collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// Whose times these are, in one word ([`timing`]); none: the log does not say, as those of other programs.
    pub fn timing(&self) -> Option<String> {
        let said = self.context_item("run.timing")?;
        Some(timing(&said, !self.modelled_disks().is_empty()))
    }

    /// Name of the context of one level of the kernel factor.
    pub fn of_kernel(level: &str) -> String {
        format!("kernel {level}")
    }

    /// The context of the kernel that a cell's trials ran in.
    pub fn context_of(&self, cell: &Cell) -> Option<&serde_json::Value> {
        let level = cell.kernel.as_deref();
        let own = level.and_then(|level| self.contexts.get(&Run::of_kernel(level)));
        own.or_else(|| self.contexts.get("start"))
    }

    fn with(&mut self, trial: u32, change: impl FnOnce(&mut TrialRecord)) {
        if let Some(record) = self.trials.get_mut(trial as usize) {
            change(record);
        }
    }

    /// The slots that still have to run, in the order of the plan: not begun, torn or interrupted,
    /// and not of a cell that cannot run here.
    pub fn remaining(&self) -> Vec<Slot> {
        let hopeless: Vec<u32> = self
            .plan
            .slots
            .iter()
            .filter(|slot| {
                matches!(
                    self.trials[slot.trial as usize].status,
                    Status::Failed(FailureKind::Cell, _)
                )
            })
            .map(|slot| slot.cell)
            .collect();
        self.plan
            .slots
            .iter()
            .filter(|slot| !hopeless.contains(&slot.cell))
            .filter(|slot| {
                matches!(
                    self.trials[slot.trial as usize].status,
                    Status::Pending | Status::Failed(FailureKind::Interrupted, _)
                )
            })
            .copied()
            .collect()
    }

    /// The finished trials of a cell, in block order, each with its place in the order.
    pub fn finished(&self, cell: u32) -> Vec<(Slot, &TrialRecord)> {
        let mut slots: Vec<&Slot> = (self.plan.slots.iter())
            .filter(|slot| slot.cell == cell)
            .collect();
        slots.sort_by_key(|slot| slot.block);
        slots
            .into_iter()
            .filter_map(|slot| Some((*slot, self.trials.get(slot.trial as usize)?)))
            .filter(|(_, record)| record.status == Status::Finished)
            .collect()
    }

    /// The values of one metric of one cell, in block order, from finished trials only.
    pub fn values(&self, cell: &Cell, phase: &str, metric: &str, clock: study::Clock) -> Vec<f64> {
        self.finished(cell.id)
            .iter()
            .flat_map(|(_, record)| &record.samples)
            .filter(|s| s.phase == phase && s.metric == metric && s.clock == clock)
            .map(|s| s.value)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Layout, Trace};
    use crate::example;

    /// The example, and the event after the last line that speaks of trial 0's phases.
    fn with(event: Event) -> Run {
        let entries = example::entries();
        let mut run = Run::begin(&entries[0], String::new()).unwrap();
        for entry in &entries[1..] {
            run.apply(entry);
        }
        run.apply(&Entry {
            event,
            ..entries[entries.len() - 1].clone()
        });
        run
    }

    #[test]
    fn a_cell_has_the_context_of_its_kernel() {
        let mut run = with(Event::Context {
            when: Run::of_kernel("6.1"),
            context: serde_json::json!({"items": {"x": {"value": "of 6.1"}}}),
        });
        let mut cell = run.plan.cells[0].clone();
        assert_eq!(run.context_of(&cell), run.contexts.get("start"));
        cell.kernel = Some("6.1".into());
        assert_eq!(run.context_of(&cell), run.contexts.get("kernel 6.1"));
        run.contexts.clear();
        assert_eq!(run.context_of(&cell), None);
    }

    #[test]
    fn finished_trials_of_a_cell_are_in_the_order_of_blocks() {
        let mut run = example::run();
        let cell = run.plan.cells[1].clone();
        let before = run.finished(cell.id);
        assert_eq!(before.len(), run.plan.blocks as usize);
        let blocks: Vec<u32> = before.iter().map(|(slot, _)| slot.block).collect();
        assert!(blocks.is_sorted(), "{blocks:?}");
        let first = before[0].0.trial;
        run.plan.slots.reverse();
        run.trials[first as usize].status = Status::Pending;
        let left: Vec<u32> = (run.finished(cell.id).iter())
            .map(|(slot, _)| slot.block)
            .collect();
        assert_eq!(left, blocks[1..]);
        // A plan with more slots than the log has trials.
        run.trials.clear();
        assert!(run.finished(cell.id).is_empty());
    }

    #[test]
    fn layouts_and_traces_belong_to_their_trial() {
        let layout = Layout {
            phase: "write".into(),
            files_total: 3,
            ..Layout::default()
        };
        let run = with(Event::Layout {
            trial: 0,
            layout: layout.clone(),
        });
        assert_eq!(run.trials[0].layouts, [layout]);
        assert!(run.trials[1].layouts.is_empty());
        let trace = Trace {
            base: "traces/trial-0001/loop0".into(),
            events: 7,
            ..Trace::default()
        };
        let run = with(Event::Traced {
            trial: 0,
            trace: trace.clone(),
        });
        assert_eq!(run.trials[0].traces, [trace]);
        assert!(run.trials[1].traces.is_empty());
    }
}
