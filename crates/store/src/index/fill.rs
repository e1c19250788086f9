//! Events into rows. It follows the same rules as [`Run::fold`](record::Run::fold): a trial that
//! begins again starts empty, and only a finished trial has samples.

use std::fmt::Write;

use record::{Entry, Event, Ledger, Mounted, Run, Status};
use rusqlite::{Connection, Result, named_params, params};
use serde::Serialize;
use study::{Plan, Slot};

use super::context;

/// SQLite joins at most 64 tables; factors beyond this many are in `level` only.
const VIEW_FACTORS: usize = 50;
/// Columns of `sample_view` that are no factors.
const VIEW_COLUMNS: [&str; 9] = [
    "trial", "block", "cell", "label", "phase", "metric", "clock", "value", "unit",
];

/// Takes events and writes rows.
pub(crate) struct Filler<'c> {
    db: &'c Connection,
    trials: u32,
    /// Trials of the plan itself.
    planned: u32,
}

impl<'c> Filler<'c> {
    /// On a connection that has the schema.
    pub(crate) fn new(db: &'c Connection) -> Filler<'c> {
        Filler {
            db,
            trials: 0,
            planned: 0,
        }
    }

    /// Adds an event.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<()> {
        match &entry.event {
            Event::RunStarted {
                run,
                tool,
                command,
                target,
                plan,
                ..
            } => {
                let command = command.join(" ");
                self.run(run, tool, &command, target, &entry.at.to_string(), plan)
            }
            Event::Context { when, context } => self.context(when, context),
            Event::Resumed { .. } => self.run_many(
                "update run set resumed = resumed + 1, ended_at = null, finished = null,
                 failed = null, skipped = null, seconds = null, peak_rss = null",
            ),
            Event::Note { message } => self.note(None, "note", message),
            Event::RunFinished {
                finished,
                failed,
                skipped,
                seconds,
                peak_rss,
            } => {
                let sql = "update run set ended_at = ?1, finished = ?2, failed = ?3, skipped = ?4,
                           seconds = ?5, peak_rss = ?6";
                let at = entry.at.to_string();
                self.db
                    .prepare_cached(sql)?
                    .execute(params![
                        at,
                        finished,
                        failed,
                        skipped,
                        seconds,
                        signed(*peak_rss)
                    ])
                    .map(drop)
            }
            Event::TrialRepeated { slot, repeats, .. } => self.add_slot(slot, *repeats),
            event => self.of_trial(entry, event),
        }
    }

    /// Events of trials; those of trials that are not in the plan are passed over, as in the fold.
    fn of_trial(&mut self, entry: &Entry, event: &Event) -> Result<()> {
        match event {
            Event::TrialStarted {
                slot, telemetry, ..
            } if slot.trial < self.trials => {
                self.begin(slot.trial, &entry.at.to_string(), telemetry.as_deref())
            }
            Event::FilesystemReady { trial, mounted } if *trial < self.trials => {
                self.mounted(*trial, mounted)
            }
            Event::PhaseFinished {
                trial,
                phase,
                begin_ns,
                end_ns,
                detail,
                ..
            } if *trial < self.trials => {
                let sql = "insert into phase select ?1, count(*), ?2, ?3, ?4, ?5
                           from phase where trial = ?1";
                let (begin, end) = (signed(*begin_ns), signed(*end_ns));
                self.db
                    .prepare_cached(sql)?
                    .execute(params![trial, phase, begin, end, detail.to_string()])
                    .map(drop)
            }
            Event::TrialFinished { trial, ledger, .. } if *trial < self.trials => {
                self.finished(*trial, event)?;
                self.close(*trial, "finished", None, None, ledger)
            }
            Event::TrialFailed {
                trial,
                kind,
                message,
                ledger,
            } if *trial < self.trials => {
                let kind = word(kind);
                self.close(*trial, "failed", Some(&kind), Some(message), ledger)
            }
            _ => Ok(()),
        }
    }

    /// A slot at the end of the plan, by the rules of the fold.
    fn add_slot(&mut self, slot: &Slot, repeats: u32) -> Result<()> {
        let same = "select count(*) from trial where trial = ?1 and block = ?2 and cell = ?3";
        let same: u32 =
            self.db
                .query_row(same, params![repeats, slot.block, slot.cell], |row| {
                    row.get(0)
                })?;
        if slot.trial != self.trials || same == 0 {
            return Ok(());
        }
        self.trials += 1;
        self.slot(slot)
    }

    fn slot(&self, slot: &Slot) -> Result<()> {
        let sql = "insert into trial (trial, block, cell, seed, status)
                   values (?1, ?2, ?3, ?4, 'pending')";
        self.db
            .prepare_cached(sql)?
            .execute(params![
                slot.trial,
                slot.block,
                slot.cell,
                slot.seed.to_string()
            ])
            .map(drop)
    }

    /// Trials whose place another one takes: they have no samples here either.
    pub(super) fn replaced(&self, run: &Run) -> Result<()> {
        for (slot, record) in run.plan.slots.iter().zip(&run.trials) {
            if let Status::Replaced { by } = record.status {
                let message = format!("trial {} counts in its place", by + 1);
                let sql = "update trial set status = 'replaced', message = ?2 where trial = ?1";
                self.db.execute(sql, params![slot.trial, message])?;
                let sql = "delete from sample where trial = ?1";
                self.db.execute(sql, [slot.trial])?;
            }
        }
        Ok(())
    }

    /// Whether the run has repeated any trial.
    pub(super) fn has_repeats(&self) -> bool {
        self.trials > self.planned
    }

    fn run_many(&self, sql: &str) -> Result<()> {
        self.db.execute_batch(sql)
    }

    fn run(
        &mut self,
        name: &str,
        tool: &str,
        command: &str,
        target: &str,
        at: &str,
        plan: &Plan,
    ) -> Result<()> {
        let sql = "insert into run (name, study, title, question, repeats, profile, seed,
                   trial_order, blocks, band, tool, command, target, started_at) values
                   (:name, :study, :title, :question, :repeats, :profile, :seed, :order, :blocks,
                   :band, :tool, :command, :target, :at)";
        self.db.execute(
            sql,
            named_params! {
                ":name": name, ":study": plan.study, ":title": plan.title,
                ":question": plan.question, ":repeats": plan.repeats, ":profile": plan.profile,
                ":seed": plan.seed.to_string(), ":order": word(&plan.order),
                ":blocks": plan.blocks, ":band": plan.band, ":tool": tool, ":command": command,
                ":target": target, ":at": at,
            },
        )?;
        self.trials = plan.slots.len() as u32;
        self.planned = self.trials;
        self.cells(plan)?;
        for slot in &plan.slots {
            self.slot(slot)?;
        }
        self.db.execute_batch(&view(plan))
    }

    fn cells(&self, plan: &Plan) -> Result<()> {
        let mut cell = self
            .db
            .prepare("insert into cell values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
        let mut level = self.db.prepare("insert into level values (?1, ?2, ?3)")?;
        for c in &plan.cells {
            cell.execute(params![
                c.id,
                c.label(),
                word(&c.filesystem.kind),
                json(&c.filesystem),
                json(&c.device),
                c.workload_name,
                c.workload.kind(),
                json(&c.workload),
            ])?;
            for (factor, value) in &c.levels {
                level.execute(params![c.id, factor, value])?;
            }
        }
        Ok(())
    }

    fn context(&self, when: &str, record: &serde_json::Value) -> Result<()> {
        // A record of the same moment (after a resume) replaces the one before.
        self.db
            .execute("delete from context_item where moment = ?1", [when])?;
        let mut insert = self
            .db
            .prepare_cached("insert into context_item values (?1, ?2, ?3, ?4, ?5)")?;
        for item in context::flatten(record) {
            insert.execute(params![
                when,
                item.name,
                item.value,
                item.source,
                item.reason
            ])?;
        }
        Ok(())
    }

    fn note(&self, trial: Option<u32>, kind: &str, message: &str) -> Result<()> {
        let mut insert = self
            .db
            .prepare_cached("insert into note values (?1, ?2, ?3)")?;
        insert.execute(params![trial, kind, message]).map(drop)
    }

    fn begin(&self, trial: u32, at: &str, telemetry: Option<&str>) -> Result<()> {
        for table in ["phase", "sample", "evidence", "note"] {
            let sql = format!("delete from {table} where trial = ?1");
            self.db.prepare_cached(&sql)?.execute([trial])?;
        }
        let sql = "update trial set status = 'pending', failure = null, message = null,
                   started_at = ?2, telemetry = ?3, driver = null, mounted_type = null,
                   mounted = null, device_s = null, mkfs_s = null, mount_s = null, wait_s = null,
                   workload_s = null, umount_s = null, total_s = null where trial = ?1";
        self.db
            .prepare_cached(sql)?
            .execute(params![trial, at, telemetry])
            .map(drop)
    }

    fn mounted(&self, trial: u32, mounted: &Mounted) -> Result<()> {
        let sql = "update trial set driver = ?2, mounted_type = ?3, mounted = ?4 where trial = ?1";
        self.db
            .prepare_cached(sql)?
            .execute(params![
                trial,
                mounted.driver,
                mounted.mounted_type,
                json(mounted)
            ])
            .map(drop)
    }

    fn finished(&self, trial: u32, event: &Event) -> Result<()> {
        let Event::TrialFinished {
            samples,
            evidence,
            warnings,
            ..
        } = event
        else {
            return Ok(());
        };
        let mut insert = self
            .db
            .prepare_cached("insert into sample values (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for s in samples {
            let clock = word(&s.clock);
            insert.execute(params![trial, s.phase, s.metric, clock, s.value, s.unit])?;
        }
        let mut insert = self
            .db
            .prepare_cached("insert into evidence values (?1, ?2, ?3, ?4, ?5)")?;
        for e in evidence {
            insert.execute(params![trial, e.phase, e.name, e.holds, e.detail])?;
        }
        warnings
            .iter()
            .try_for_each(|warning| self.note(Some(trial), "warning", warning))
    }

    fn close(
        &self,
        trial: u32,
        status: &str,
        failure: Option<&str>,
        message: Option<&str>,
        l: &Ledger,
    ) -> Result<()> {
        let sql = "update trial set status = ?2, failure = ?3, message = ?4, device_s = ?5,
                   mkfs_s = ?6, mount_s = ?7, wait_s = ?8, workload_s = ?9, umount_s = ?10,
                   total_s = ?11 where trial = ?1";
        self.db
            .prepare_cached(sql)?
            .execute(params![
                trial, status, failure, message, l.device, l.mkfs, l.mount, l.wait, l.workload,
                l.umount, l.total,
            ])
            .map(drop)
    }
}

/// `sample_view`: one column for each factor, named as the factor, or `factor_<name>` where that
/// is a column already.
fn view(plan: &Plan) -> String {
    let mut columns = String::new();
    let mut joins = String::new();
    for (n, (factor, _)) in plan.factors.iter().take(VIEW_FACTORS).enumerate() {
        let taken = VIEW_COLUMNS
            .iter()
            .any(|column| column.eq_ignore_ascii_case(factor));
        let name = if taken {
            format!("factor_{factor}")
        } else {
            factor.clone()
        };
        let _ = write!(columns, ", l{n}.level as {}", quoted(&name, '"'));
        let _ = write!(
            joins,
            " left join level l{n} on l{n}.cell = t.cell and l{n}.factor = {}",
            quoted(factor, '\'')
        );
    }
    format!(
        "create view sample_view as select s.trial, t.block, t.cell, c.label, s.phase, s.metric,
         s.clock, s.value, s.unit{columns} from sample s join trial t on t.trial = s.trial
         join cell c on c.cell = t.cell{joins}"
    )
}

fn quoted(text: &str, mark: char) -> String {
    let doubled = text.replace(mark, &format!("{mark}{mark}"));
    format!("{mark}{doubled}{mark}")
}

/// SQLite's integers have a sign; counters of nanoseconds and bytes never come near it.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The word an enum is written as in the log.
fn word(value: &impl Serialize) -> String {
    json(value).trim_matches('"').to_owned()
}
