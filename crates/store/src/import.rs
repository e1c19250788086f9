//! A run's log into the store.
//!
//! An import is one transaction. It holds the lock of its run from before it looks at the store's copy until it commits, so
//! imports of one run follow one another, and one that is killed leaves the copy as it was. The copy is the log up to a line
//! (`log_lines`, `log_sha`); what follows that line is added, and a log whose first lines are others is refused.
//!
//! The log is folded from its beginning in any case: its first lines are hashed, and which trial counts depends on all
//! before it. Only rows that new events changed are written.

mod writer;

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use record::folder::EVENTS;
use record::log::Reader;
use record::{Event, Run, RunFolder};
use sha2::{Digest, Sha256};

use crate::Store;
use crate::engine::Engine;
use crate::error::Error;
use crate::rows::{Rows, RunRow, with_repeats};
use crate::value::Value;
use writer::Writer;

/// What an import did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// The run is new to the store.
    New {
        /// Its samples.
        samples: u64,
    },
    /// The log had more lines than the store's copy.
    Grown {
        /// Lines that are new.
        lines: u64,
        /// Samples of the trials that these lines changed.
        samples: u64,
    },
    /// The store's copy was of an older fslab and lacked what comparisons read; it was written anew.
    Completed {
        /// Its samples.
        samples: u64,
    },
    /// The store had all of it.
    Unchanged,
}

/// The store's copy of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copied {
    lines: u64,
    sha: [u8; 32],
    /// Whether it has what the newest schema has.
    complete: bool,
}

impl Store {
    /// Adds what the store does not have of the run in the folder `dir`. The run may still be written.
    ///
    /// # Errors
    /// [`Error::Record`], [`Error::Mismatch`], [`Error::TooLong`], [`Error::Database`].
    pub fn import(&mut self, dir: &Path) -> Result<Imported, Error> {
        let folder = RunFolder::open(dir)?;
        let nothing = || record::Error::NothingRecorded {
            dir: dir.to_owned(),
        };
        let log = folder.opened().read(EVENTS).map_err(record::Error::from)?;
        let mut reader = Reader::of(log.ok_or_else(nothing)?, &folder.events());
        let first = reader.next_entry()?.ok_or_else(nothing)?;
        let id: [u8; 32] = Sha256::digest(reader.line()).into();
        let run = Run::begin(&first, record::id_of_line(reader.line())).ok_or_else(nothing)?;
        refuse_time(&run, run.started_at)?;
        self.engine.begin(&id, run.started_at)?;
        let mut import = Import {
            engine: &mut *self.engine,
            store: &self.name,
            dir,
            id,
            run,
        };
        let imported = import.rest(&mut reader);
        match &imported {
            Ok(Imported::Unchanged) | Err(_) => self.engine.rollback(),
            Ok(_) => self.engine.commit()?,
        }
        imported
    }
}

/// PostgreSQL's partitions and the texts of times are of these years.
fn refuse_time(run: &Run, at: Timestamp) -> Result<(), Error> {
    let year = at.to_zoned(jiff::tz::TimeZone::UTC).year();
    if (1970..=9999).contains(&year) {
        return Ok(());
    }
    Err(Error::Time {
        run: run.name.clone(),
        at,
    })
}

/// An import within its transaction.
struct Import<'i> {
    engine: &'i mut dyn Engine,
    store: &'i str,
    dir: &'i Path,
    id: [u8; 32],
    run: Run,
}

impl Import<'_> {
    fn rest(&mut self, reader: &mut Reader<impl std::io::BufRead>) -> Result<Imported, Error> {
        let copied = self.copied()?;
        let had = copied.map_or(0, |copied| copied.lines);
        let mut hash = Sha256::new();
        let mut lines = 0;
        let (mut touched, mut contexts) = (BTreeSet::new(), false);
        let mut next = None;
        loop {
            lines += 1;
            hash.update(reader.line());
            hash.update(b"\n");
            if let Some(entry) = &next {
                self.run.apply(entry);
            }
            if lines > had {
                touch(
                    next.as_ref().map(|entry| &entry.event),
                    &mut touched,
                    &mut contexts,
                );
            } else if let Some(copied) = copied.filter(|copied| copied.lines == lines) {
                self.require_same(copied, hash.clone().finalize().into())?;
            }
            next = reader.next_entry()?;
            if next.is_none() {
                break;
            }
        }
        if lines < had {
            return Err(self.mismatch(format!(
                "the store has {had} lines of it, and the log has {lines}"
            )));
        }
        let lacks = copied.is_some_and(|copied| !copied.complete);
        if lines == had && !lacks {
            return Ok(Imported::Unchanged);
        }
        if copied.is_none() || lacks {
            touched.extend(0..self.run.plan.slots.len() as u32);
            contexts = true;
        }
        let touched = with_repeats(&self.run, &touched);
        let rows = Rows::of(&self.run, self.id, &touched, contexts)?;
        let copy = Copied {
            lines,
            sha: hash.finalize().into(),
            complete: true,
        };
        let samples = self.write(&rows, copy, copied.is_none())?;
        Ok(match copied {
            None => Imported::New { samples },
            Some(_) if lacks => Imported::Completed { samples },
            Some(copied) => Imported::Grown {
                lines: lines - copied.lines,
                samples,
            },
        })
    }

    fn copied(&mut self) -> Result<Option<Copied>, Error> {
        let mut copied = None;
        let sql = "select log_lines, log_sha, plan_id is not null from run where run_id = ?1";
        self.engine.query(sql, &[self.run_id()], &mut |row| {
            let sha = row[1].as_bytes().and_then(|sha| sha.try_into().ok());
            copied = Some(Copied {
                lines: row[0].as_int().unwrap_or(0) as u64,
                sha: sha.unwrap_or_default(),
                complete: row[2].as_bool().unwrap_or(false),
            });
            Ok(())
        })?;
        Ok(copied)
    }

    fn require_same(&self, copied: Copied, sha: [u8; 32]) -> Result<(), Error> {
        if copied.sha == sha {
            return Ok(());
        }
        Err(self.mismatch(format!(
            "one of its first {} lines is not the line that was imported",
            copied.lines
        )))
    }

    fn mismatch(&self, why: String) -> Error {
        Error::Mismatch {
            dir: self.dir.to_owned(),
            store: self.store.to_owned(),
            why,
        }
    }

    fn run_id(&self) -> Value {
        Value::Bytes(self.id.to_vec())
    }

    fn write(&mut self, rows: &Rows, copy: Copied, new: bool) -> Result<u64, Error> {
        self.write_run(&rows.run, copy)?;
        let missing = || Error::Database {
            store: self.store.to_owned(),
            why: "the run that was just written is not there".into(),
        };
        let key = self.engine.key(&self.id)?.ok_or_else(missing)?;
        let mut writer = Writer {
            engine: &mut *self.engine,
            key,
            started: rows.run.started_at,
        };
        let kinds = writer.cells(rows, new)?;
        let samples = writer.trials(rows, &kinds, new)?;
        writer.contexts(rows, new)?;
        Ok(samples)
    }

    /// The number of the run's plan, which is added unless another run had it.
    fn plan(&mut self, run: &RunRow) -> Result<Value, Error> {
        let sha = Value::Bytes(run.shared_plan().to_vec());
        self.engine.execute(
            "insert into plan (sha, plan) values (?1, ?2) on conflict (sha) do nothing",
            &[sha.clone(), Value::text(&run.plan)],
        )?;
        let mut number = Value::Null;
        self.engine.query(
            "select plan_id from plan where sha = ?1",
            &[sha],
            &mut |row| {
                number = row[0].clone();
                Ok(())
            },
        )?;
        Ok(number)
    }

    fn write_run(&mut self, run: &RunRow, copy: Copied) -> Result<(), Error> {
        let plan = self.plan(run)?;
        let text = |text: &Option<String>| Value::or_null(text.as_deref(), Value::text);
        let count = |n: usize| Value::or_null(run.counts, |counts| Value::Int(counts[n].into()));
        let values = [
            Value::Bytes(run.id.to_vec()),
            Value::text(&run.name),
            Value::text(&run.study),
            Value::text(&run.profile),
            Value::Number(run.seed),
            Value::text(&run.tool),
            text(&run.commit),
            Value::text(&run.target),
            text(&run.machine),
            Value::Bool(run.machine_named),
            text(&run.kernel),
            Value::Time(run.started_at),
            Value::or_null(run.ended_at, Value::Time),
            count(0),
            count(1),
            count(2),
            Value::Text(run.tags.to_string()),
            Value::Bytes(run.plan_sha.to_vec()),
            Value::Int(copy.lines as i64),
            Value::Bytes(copy.sha.to_vec()),
            Value::Time(Timestamp::now()),
            plan,
            Value::Text(run.head.to_string()),
        ];
        // What a later line of the log can change; the rest is of its first line.
        let sql = r#"insert into run (run_id, name, study, profile, seed, tool, "commit", target, machine,
            machine_named, kernel, started_at, ended_at, finished, failed, skipped, tags, plan_sha, log_lines,
            log_sha, ingested_at, plan_id, head)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)
            on conflict (run_id) do update set machine = excluded.machine, machine_named = excluded.machine_named,
            kernel = excluded.kernel, ended_at = excluded.ended_at, finished = excluded.finished,
            failed = excluded.failed, skipped = excluded.skipped, plan_sha = excluded.plan_sha,
            log_lines = excluded.log_lines, log_sha = excluded.log_sha, ingested_at = excluded.ingested_at,
            plan_id = excluded.plan_id, head = excluded.head"#;
        self.engine.execute(sql, &values).map(drop)
    }
}

/// What an event changes: a trial, or the contexts.
fn touch(event: Option<&Event>, trials: &mut BTreeSet<u32>, contexts: &mut bool) {
    match event {
        Some(Event::Context { .. }) => *contexts = true,
        Some(Event::TrialStarted { slot, .. } | Event::TrialRepeated { slot, .. }) => {
            trials.insert(slot.trial);
        }
        Some(Event::TrialFinished { trial, .. } | Event::TrialFailed { trial, .. }) => {
            trials.insert(*trial);
        }
        _ => {}
    }
}
