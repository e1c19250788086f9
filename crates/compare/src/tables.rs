//! The tables of a run: those of its study, and those that the study leaves to the reader.
//!
//! A study says which figures matter; it need not say that each factor it varies is to be compared. A
//! study without tables and grids gets one for each workload ([`tables`]). A factor that no table has as
//! its columns, and along which no grid varies, gets a table of its own ([`crossed`]), of the rows that the study
//! prints anyway. The report and the explanations both read them here, so that what one
//! compares, the other does, too.

use std::collections::{BTreeMap, BTreeSet};

use record::Run;
use study::wording::{Sense, words_of, words_of_metric};
use study::{Cell, Clock, Plan, RowSpec, TableSpec};

use crate::direction::{Direction, is_wall_time};
use crate::select::{has, varying};

/// Levels from which on a factor is not set as columns by itself: they would not fit a mail.
const MOST_COLUMNS: usize = 8;
/// Rows of a table that the study did not define.
const MOST_ROWS: usize = 24;

/// The study's tables; for a study that defines no tables, grids or laws of growth one for each workload.
pub fn tables(run: &Run) -> Vec<TableSpec> {
    let plan = &run.plan;
    let defined = plan.tables.len() + plan.grids.len() + plan.growth.len();
    if defined > 0 {
        return plan.tables.clone();
    }
    let table = |workload: &str| {
        let rows = usual_rows(run, workload);
        (!rows.is_empty()).then(|| TableSpec {
            title: workload.to_owned(),
            subtitle: String::new(),
            filter: of_workload(plan, workload),
            columns: usual_columns(plan, workload),
            rows,
            published_columns: BTreeMap::new(),
            published_table: None,
        })
    };
    let workloads = workloads(plan);
    workloads.iter().filter_map(|name| table(name)).collect()
}

/// A table by each factor that neither a table of `tables` has as its columns nor a grid varies.
pub fn crossed(run: &Run, tables: &[TableSpec]) -> Vec<TableSpec> {
    let plan = &run.plan;
    let workloads = workloads(plan);
    let mut all = Vec::new();
    for workload in &workloads {
        let cells = cells_of(plan, workload);
        let rows = rows_of(run, tables, workload);
        for factor in compared_factors(plan, &cells) {
            if is_covered(plan, tables, workload, &factor) || rows.is_empty() {
                continue;
            }
            let title = match workloads.len() {
                1 => format!("By {factor}"),
                _ => format!("{workload} by {factor}"),
            };
            all.push(TableSpec {
                title,
                subtitle: String::new(),
                filter: of_workload(plan, workload),
                columns: factor,
                rows: rows.clone(),
                published_columns: BTreeMap::new(),
                published_table: None,
            });
        }
    }
    all
}

/// Names of the workloads, in the order of the cells.
pub fn workloads(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in &plan.cells {
        if !names.contains(&cell.workload_name) {
            names.push(cell.workload_name.clone());
        }
    }
    names
}

/// The cells of a workload, without the traced twins of others: what these show is the tracer's cost.
pub fn cells_of<'a>(plan: &'a Plan, workload: &str) -> Vec<&'a Cell> {
    let cells = plan.cells.iter().filter(|c| c.workload_name == workload);
    let cells: Vec<&Cell> = cells.collect();
    let is_twin = |cell: &Cell| {
        cell.levels.get("trace").is_some_and(|l| l == "true")
            && cells.iter().any(|other| {
                let mut levels = other.levels.clone();
                let untraced = levels.insert("trace".to_owned(), "true".to_owned());
                untraced.is_some_and(|l| l == "false") && levels == cell.levels
            })
    };
    cells.iter().copied().filter(|c| !is_twin(c)).collect()
}

/// The factors in which these cells differ and that are compared: not the tracer, whose cost has a section of
/// its own, nor sizes of which a law of growth is asked.
pub fn compared_factors(plan: &Plan, cells: &[&Cell]) -> Vec<String> {
    let mut factors = varying(plan, cells);
    factors.retain(|factor| factor != "trace");
    factors
}

/// The rows that a study prints of a workload, each figure under the first clock it is printed with; the usual
/// ones where it prints none.
pub fn rows_of(run: &Run, tables: &[TableSpec], workload: &str) -> Vec<RowSpec> {
    let plan = &run.plan;
    let cells = cells_of(plan, workload);
    let any = |filter: &BTreeMap<String, String>| cells.iter().any(|cell| has(cell, filter));
    let of_tables = tables.iter().filter(|table| any(&table.filter));
    let of_tables = of_tables.flat_map(|table| table.rows.iter().cloned());
    let of_grids = plan.grids.iter().filter(|grid| any(&grid.filter));
    let of_grids = of_grids.flat_map(|grid| &grid.columns);
    let of_grids = of_grids.map(|column| RowSpec {
        phase: column.phase.clone(),
        metric: column.metric.clone(),
        clock: column.clock,
        label: column.phase.clone(),
        unit: column.unit.clone(),
        published: None,
    });
    let mut rows: Vec<RowSpec> = Vec::new();
    for row in of_tables.chain(of_grids) {
        // A phase has one speed: another metric or clock of it says the same once more.
        let known = |r: &RowSpec| {
            r.phase == row.phase
                && (r.metric == row.metric || (is_speed(&r.metric) && is_speed(&row.metric)))
        };
        // CPU time explains a difference and is none.
        let timed = crate::pair::higher_is_better(&row.unit).is_some() && is_wall_time(&row.metric);
        if timed && !rows.iter().any(known) && is_measured(run, workload, &row) {
            rows.push(RowSpec {
                published: None,
                ..row
            });
        }
    }
    if rows.is_empty() {
        rows = usual_rows(run, workload);
    }
    rows
}

/// The same rows under another clock: in their own metric, else in another of the phase's speed. Rows of which
/// neither was measured are left out.
pub fn at_clock(run: &Run, workload: &str, rows: Vec<RowSpec>, clock: Clock) -> Vec<RowSpec> {
    let turned = |row: RowSpec| {
        let own = row.metric.clone();
        let speed = words_of(&row.phase).map(|(_, metric)| metric.to_owned());
        let speed = speed.filter(|_| is_speed(&own));
        let mut candidates = std::iter::once(own).chain(speed).map(|metric| RowSpec {
            metric,
            clock,
            ..row.clone()
        });
        candidates.find(|row| is_measured(run, workload, row))
    };
    rows.into_iter().filter_map(turned).collect()
}

/// Whether a metric says how fast a phase was.
fn is_speed(metric: &str) -> bool {
    matches!(words_of_metric(metric).sense, Sense::Rate | Sense::Time)
}

/// Whether any trial of a workload has the figure of a row.
pub fn is_measured(run: &Run, workload: &str, row: &RowSpec) -> bool {
    let cells: BTreeSet<u32> = cells_of(&run.plan, workload).iter().map(|c| c.id).collect();
    let slots = run.plan.slots.iter().filter(|s| cells.contains(&s.cell));
    let trials = slots.filter_map(|slot| run.trials.get(slot.trial as usize));
    trials
        .flat_map(|trial| &trial.samples)
        .any(|s| (&s.phase, &s.metric, s.clock) == (&row.phase, &row.metric, row.clock))
}

/// `workload=NAME`, where there are several.
fn of_workload(plan: &Plan, workload: &str) -> BTreeMap<String, String> {
    let named = |cell: &Cell| cell.levels.get("workload").is_some_and(|l| l == workload);
    let several = workloads(plan).len() > 1 && plan.cells.iter().any(named);
    let pair = several.then(|| ("workload".to_owned(), workload.to_owned()));
    pair.into_iter().collect()
}

/// Whether a factor is compared by the study's own tables or grids.
fn is_covered(plan: &Plan, tables: &[TableSpec], workload: &str, factor: &str) -> bool {
    let cells = cells_of(plan, workload);
    let by_table = tables.iter().any(|table| {
        let here: Vec<&Cell> = cells
            .iter()
            .copied()
            .filter(|c| has(c, &table.filter))
            .collect();
        table.columns == factor && varying(plan, &here).iter().any(|f| f == factor)
    });
    let by_grid = plan.grids.iter().any(|grid| {
        let here: Vec<&Cell> = cells
            .iter()
            .copied()
            .filter(|c| has(c, &grid.filter))
            .filter(|c| grid.columns.iter().any(|column| has(c, &column.filter)))
            .collect();
        varying(plan, &here).iter().any(|f| f == factor)
    });
    by_table || by_grid
}

/// The first factor of the study that varies and whose levels fit side by side; else the first that varies.
fn usual_columns(plan: &Plan, workload: &str) -> String {
    let cells = cells_of(plan, workload);
    let factors = compared_factors(plan, &cells);
    let levels = |factor: &String| {
        let levels = cells.iter().filter_map(|cell| cell.levels.get(factor));
        levels.collect::<BTreeSet<_>>().len()
    };
    let fits = factors.iter().find(|factor| levels(factor) <= MOST_COLUMNS);
    let found = fits.or(factors.first()).cloned();
    let any = || plan.factors.iter().map(|(name, _)| name.clone()).next();
    found.or_else(any).unwrap_or_else(|| "workload".to_owned())
}

/// One row for each phase that was measured, in the metric of its speed; of a phase that writes to the end of
/// syncfs, so that data still in memory does not count as written, and a second one of the original tool's clock. Passes are left out where the whole would not
/// fit a screen.
fn usual_rows(run: &Run, workload: &str) -> Vec<RowSpec> {
    let cells: BTreeSet<u32> = cells_of(&run.plan, workload).iter().map(|c| c.id).collect();
    let slots = run.plan.slots.iter().filter(|s| cells.contains(&s.cell));
    let trials: Vec<_> = slots
        .filter_map(|slot| run.trials.get(slot.trial as usize))
        .collect();
    let samples = || trials.iter().flat_map(|trial| &trial.samples);
    let mut best: Vec<(&record::Sample, u8)> = Vec::new();
    for sample in samples() {
        let Some(rank) = rank(sample) else { continue };
        match best.iter_mut().find(|(s, _)| s.phase == sample.phase) {
            Some(known) if rank < known.1 => *known = (sample, rank),
            Some(_) => {}
            None => best.push((sample, rank)),
        }
    }
    if best.len() > MOST_ROWS {
        best.retain(|(sample, _)| !sample.phase.contains("_pass_"));
    }
    let row = |sample: &record::Sample| RowSpec {
        phase: sample.phase.clone(),
        metric: sample.metric.clone(),
        clock: sample.clock,
        // Tables are of clock (a) unless they say otherwise.
        label: match sample.clock {
            Clock::Original => sample.phase.clone(),
            clock => format!("{} {}", sample.phase, clock.mark()),
        },
        unit: printed(&sample.unit).to_owned(),
        published: None,
    };
    let original = |best: &record::Sample| {
        samples().find(|other| {
            best.clock == Clock::Syncfs
                && other.clock == Clock::Original
                && (&other.phase, &other.metric) == (&best.phase, &best.metric)
        })
    };
    let both = best
        .iter()
        .flat_map(|(sample, _)| [Some(*sample), original(sample)]);
    both.flatten().map(row).collect()
}

/// How well a sample says how fast its phase was, the best first; none for other figures.
fn rank(sample: &record::Sample) -> Option<u8> {
    let usual = words_of(&sample.phase).map(|(_, metric)| metric);
    let metric = match sample.metric.as_str() {
        metric if Some(metric) == usual => 0,
        "throughput" => 1,
        "files" => 2,
        "seconds" => 3,
        _ => return None,
    };
    let clock = match (Direction::of(&sample.phase), sample.clock) {
        (Direction::Write, Clock::Syncfs) | (Direction::Read, Clock::Original) => 0,
        (Direction::Write, Clock::Original) | (Direction::Read, Clock::Syncfs) => 1,
        (_, Clock::Fsync) => 2,
    };
    Some(3 * metric + clock)
}

/// The unit that tables print for a stored one.
fn printed(stored: &str) -> &str {
    match stored {
        "bytes_per_s" => "MB/s",
        "files_per_s" => "files/s",
        "ops_per_s" => "IOPS",
        "s" => "secs",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_that_no_table_names_gets_one() {
        let run = fixtures::mail_server::run(&fixtures::mail_server::FAST_COMMIT);
        let tables = tables(&run);
        assert_eq!(tables, run.plan.tables);
        let more = crossed(&run, &tables);
        let by: Vec<&str> = more.iter().map(|t| t.columns.as_str()).collect();
        assert_eq!(by, ["mkfs"]);
        assert_eq!(more[0].title, "By mkfs");
        let metrics: Vec<&str> = more[0].rows.iter().map(|r| r.metric.as_str()).collect();
        assert_eq!(metrics, ["files"]);
        // A run whose tables name every factor has no more.
        let example = fixtures::example::run();
        assert_eq!(crossed(&example, &example.plan.tables), []);
    }

    #[test]
    fn a_study_without_tables_gets_the_speed_of_each_phase() {
        let mut run = fixtures::mail_server::run(&fixtures::mail_server::FAST_COMMIT);
        run.plan.tables.clear();
        let found = tables(&run);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].title.as_str(), found[0].columns.as_str()),
            ("mail", "mount")
        );
        let row = &found[0].rows[0];
        assert_eq!((row.metric.as_str(), row.clock), ("files", Clock::Syncfs));
        assert_eq!(
            (row.label.as_str(), row.unit.as_str()),
            ("fill (c)", "files/s")
        );
        let mut example = fixtures::example::run();
        example.plan.tables.clear();
        let titles: Vec<String> = tables(&example).into_iter().map(|t| t.title).collect();
        assert_eq!(titles, ["iozone", "compilebench"]);
    }

    /// The tracer is no factor to compare: its twins would repeat every difference.
    #[test]
    fn traced_twins_are_left_out() {
        let mut plan = fixtures::mail_server::plan(2);
        let n = plan.cells.len() as u32;
        let twins: Vec<Cell> = plan.cells.clone();
        for cell in &mut plan.cells {
            cell.levels.insert("trace".into(), "false".into());
        }
        for mut twin in twins {
            twin.id += n;
            twin.levels.insert("trace".into(), "true".into());
            plan.cells.push(twin);
        }
        let cells = cells_of(&plan, "mail");
        assert_eq!(cells.len() as u32, n);
        assert_eq!(compared_factors(&plan, &cells), ["mount", "mkfs"]);
    }
}
