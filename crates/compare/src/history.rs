//! The history of a study: a point a run, and where the level steps.
//!
//! A step in a history is a nomination and no verdict. Its runs are months apart; between them the machine was updated and
//! its disk aged. So a step never fails anything, and it is printed with the study that would confirm it: both sides
//! interleaved in the same hour.
//!
//! A step needs three runs on each side, so the last two runs are not judged yet. It is searched on logarithms of run medians
//! ([`stats::change`]), corrected over all series (Benjamini-Hochberg), and has to exceed the practical band and the spread of
//! the runs about their levels. 999 permutations show p = 0.001 at the least, and a correction over more than 50 series makes that more
//! than 0.05. So with more than 25 series the search takes 40 permutations times the number of series
//! (docs/decisions/0017-permutations-of-a-history.md).

mod text;

use serde::Serialize;
use stats::change::{FEWEST, Settings, changes, levels, spread_about};
use stats::multiple::benjamini_hochberg;
use stats::not_worse::values_to_find;
use study::Clock;

use crate::comparison::names;
use crate::context::{Times, kernel, machine};
use crate::error::Error;
use crate::figure::{self, Figure, Measured, SideCell, cells_of};
use crate::key::{Keys, short_id};
use crate::options::Options;
use crate::side::{Side, SideRun};
/// Fewest runs of a series in which a step can be found.
pub use stats::change::FEWEST as FEWEST_RUNS;
pub use text::render;

/// In which order the runs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// When they began.
    Date,
    /// The tag `commit`, else the commit of fslab; in the order in which commits first appear.
    Commit,
    /// Release of the kernel, lowest first.
    Kernel,
}

/// A run in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Its id.
    pub id: String,
    /// Its name.
    pub run: String,
    /// When it began.
    pub at: jiff::Timestamp,
    /// Date, commit or kernel.
    pub label: String,
    /// Median of its trials, in the series' unit.
    pub value: f64,
    /// Trials with a value.
    pub trials: usize,
    /// 95 % interval of that median, in the series' unit; none for a single trial. It is about these trials and says
    /// nothing of another run.
    pub interval: Option<[f64; 2]>,
}

/// A nominated step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Index of the first point after it.
    pub at: usize,
    /// Labels of the last run before it and the first after it.
    pub labels: [String; 2],
    /// Names of these runs.
    pub runs: [String; 2],
    /// Median after it over the median before it, up to the neighbouring steps.
    pub ratio: f64,
    /// Whether the change is for the worse.
    pub worse: bool,
    /// p of "no step".
    pub p: f64,
    /// p corrected over all series.
    pub p_adjusted: f64,
    /// Runs a side with which a comparison would find a step of this size; none: more than 1000.
    pub runs_to_confirm: Option<usize>,
    /// Commands of the interleaved study that confirms it.
    pub confirm: Vec<String>,
}

/// One figure of one cell over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The levels by which the cell differs from the others, or its workload.
    pub cell: String,
    /// Short id of its parameters.
    pub cell_id: String,
    /// Phase.
    pub phase: String,
    /// Metric.
    pub metric: String,
    /// What is inside the clock.
    pub clock: Clock,
    /// Unit of the values as stored.
    pub unit: String,
    /// Whether a larger value is better.
    pub higher_is_better: bool,
    /// Whose times these are.
    pub times: Times,
    /// The runs, in order.
    pub points: Vec<Point>,
    /// Spread of the runs about their levels, a share.
    pub spread: f64,
    /// Nominated steps.
    pub steps: Vec<Step>,
    /// Whether there are enough runs to find a step at all.
    pub enough: bool,
}

/// The history of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// The study.
    pub study: String,
    /// The order of the runs.
    pub by: By,
    /// Runs in it.
    pub runs: usize,
    /// The practical band.
    pub band: f64,
    /// Permutations of each search.
    pub permutations: usize,
    /// Every figure of every cell.
    pub series: Vec<Series>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// Runs from which on the last ones are judged: fewer after a step are no level.
pub const NOT_YET: usize = 2;

/// Series from which on there are more permutations.
const MANY: usize = 25;

/// Permutations for each series, where there are many.
const FOR_EACH: usize = 40;

/// Looks for steps in the runs of a study.
///
/// # Errors
/// A metric that no run has, values that no statistic takes.
pub fn history(
    study: &str,
    mut runs: Vec<SideRun>,
    by: By,
    options: &Options,
) -> Result<History, Error> {
    if runs.is_empty() {
        return Err(Error::NoRuns {
            side: study.to_owned(),
            place: "those that were looked through".to_owned(),
        });
    }
    order(&mut runs, by);
    let band = runs[runs.len() - 1].run.plan.band;
    let side = Side {
        name: study.to_owned(),
        runs,
    };
    figure::check(std::slice::from_ref(&side), options)?;
    let mut series = all_series(&side, by, options)?;
    let settings = Settings {
        permutations: match series.len() {
            0..=MANY => 999,
            many => FOR_EACH * many - 1,
        },
        ..Settings::default()
    };
    find_steps(&mut series, band, settings, &side, by)?;
    Ok(History {
        study: study.to_owned(),
        by,
        runs: side.runs.len(),
        band,
        permutations: settings.permutations,
        notes: notes(&side),
        series,
    })
}

fn order(runs: &mut [SideRun], by: By) {
    runs.sort_by(|a, b| (a.run.started_at, &a.run.id).cmp(&(b.run.started_at, &b.run.id)));
    match by {
        By::Date => {}
        By::Kernel => runs.sort_by_key(|one| version(&label(one, By::Kernel))),
        By::Commit => {
            let mut seen: Vec<String> = Vec::new();
            for one in runs.iter() {
                let commit = label(one, By::Commit);
                if !seen.contains(&commit) {
                    seen.push(commit);
                }
            }
            runs.sort_by_key(|one| {
                seen.iter()
                    .position(|commit| *commit == label(one, By::Commit))
            });
        }
    }
}

/// Numbers of a release, for its order: `6.12.1-amd64` is after `6.1.90`.
fn version(release: &str) -> (Vec<u64>, String) {
    let numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    (
        numbers
            .map(|part| part.parse().unwrap_or(u64::MAX))
            .collect(),
        release.to_owned(),
    )
}

fn label(one: &SideRun, by: By) -> String {
    let run = &one.run;
    let text = match by {
        By::Date => Some(run.started_at.strftime("%Y-%m-%d").to_string()),
        By::Kernel => kernel(run),
        By::Commit => {
            let tag = run.tags.get("commit").cloned();
            tag.or_else(|| run.commit().map(str::to_owned))
        }
    };
    words::printable(&text.unwrap_or_else(|| "unknown".to_owned())).into_owned()
}

fn all_series(side: &Side, by: By, options: &Options) -> Result<Vec<Series>, Error> {
    let keys = Keys::of(side.runs.iter().map(|one| &one.run), &options.across);
    let (order, cells) = cells_of(side, &keys);
    let wanted: Vec<(&String, &SideCell)> = order
        .iter()
        .map(|key| (key, &cells[key]))
        .filter(|(_, cell)| options.passes(&cell.cell))
        .collect();
    let names = names(&wanted.iter().map(|(_, cell)| *cell).collect::<Vec<_>>());
    let mut all = Vec::new();
    for ((key, cell), name) in wanted.iter().zip(names) {
        for figure in figure::figures(side, &cell.cell.workload_name, options) {
            all.extend(of_figure(
                side,
                cell,
                &name,
                &short_id(key),
                &figure,
                options,
                by,
            )?);
        }
    }
    Ok(all)
}

/// A series for each kind of times: those of different clocks never meet.
fn of_figure(
    side: &Side,
    cell: &SideCell,
    name: &str,
    id: &str,
    figure: &Figure,
    options: &Options,
    by: By,
) -> Result<Vec<Series>, Error> {
    let mut all: Vec<Series> = Vec::new();
    for (at, one) in side.runs.iter().enumerate() {
        let alone = SideCell {
            cell: cell.cell.clone(),
            places: cell
                .places
                .iter()
                .filter(|(run, _)| *run == at)
                .copied()
                .collect(),
        };
        let measured = Measured::of(side, &alone, figure);
        let Some(value) = measured.values(true).first().copied() else {
            continue;
        };
        let Some(up) = figure::direction(&figure.metric, &measured.unit) else {
            continue;
        };
        let doubtful = !measured.invalid.is_empty();
        if value <= 0.0 || doubtful {
            continue;
        }
        let times = if figure::is_of_time(&measured.unit) {
            Times::of(&one.run)
        } else {
            Times::Real
        };
        let point = Point {
            id: one.run.id.clone(),
            run: one.run.name.clone(),
            at: one.run.started_at,
            label: label(one, by),
            value,
            trials: measured.trials(),
            interval: stats::order::median_interval(&measured.values(false), options.level)?
                .map(|found| [found.low, found.high]),
        };
        match all.iter_mut().find(|series| series.times == times) {
            Some(series) => series.points.push(point),
            None => all.push(Series {
                cell: name.to_owned(),
                cell_id: id.to_owned(),
                phase: figure.phase.clone(),
                metric: figure.metric.clone(),
                clock: figure.clock,
                unit: measured.unit.clone(),
                higher_is_better: up,
                times,
                points: vec![point],
                spread: 0.0,
                steps: Vec::new(),
                enough: false,
            }),
        }
    }
    Ok(all)
}

fn find_steps(
    all: &mut [Series],
    band: f64,
    settings: Settings,
    side: &Side,
    by: By,
) -> Result<(), Error> {
    let mut found = Vec::new();
    // All p-values of all series: one family.
    let mut p = Vec::new();
    for series in all.iter_mut() {
        series.enough = series.points.len() >= FEWEST;
        let logs = logs(series);
        let changes = changes(&logs, settings)?;
        p.extend(changes.still);
        p.extend(changes.steps.iter().map(|step| step.p));
        found.push(changes);
    }
    let mut adjusted = benjamini_hochberg(&p)?.into_iter();
    for (series, changes) in all.iter_mut().zip(found) {
        // A still series has one p, in the same place.
        if changes.still.is_some() {
            adjusted.next();
        }
        let steps: Vec<(usize, f64, f64)> = changes
            .steps
            .iter()
            .map(|step| (step.at, step.p, adjusted.next().unwrap_or(1.0)))
            .filter(|(_, _, adjusted)| *adjusted <= 0.05)
            .collect();
        keep_large(series, steps, band, side, by)?;
    }
    Ok(())
}

fn logs(series: &Series) -> Vec<f64> {
    series.points.iter().map(|point| point.value.ln()).collect()
}

/// Leaves out the smallest step within the band or the spread of the runs, until all are larger.
fn keep_large(
    series: &mut Series,
    mut steps: Vec<(usize, f64, f64)>,
    band: f64,
    side: &Side,
    by: By,
) -> Result<(), Error> {
    let logs = logs(series);
    loop {
        let places: Vec<usize> = steps.iter().map(|(at, ..)| *at).collect();
        let levels = levels(&logs, &places);
        let spread = spread_about(&logs, &levels);
        series.spread = spread.exp() - 1.0;
        let sizes: Vec<f64> = levels
            .windows(2)
            .map(|pair| pair[1].median - pair[0].median)
            .collect();
        let least = (0..sizes.len()).min_by(|a, b| sizes[*a].abs().total_cmp(&sizes[*b].abs()));
        let Some(least) = least else { return Ok(()) };
        if sizes[least].abs() <= (1.0 + band).ln().max(spread) {
            steps.remove(least);
            continue;
        }
        for ((at, p, p_adjusted), size) in steps.into_iter().zip(sizes) {
            let step = step(series, at, size, [p, p_adjusted], spread, band, side, by)?;
            series.steps.push(step);
        }
        return Ok(());
    }
}

#[allow(clippy::too_many_arguments, reason = "what one step is made of")]
fn step(
    series: &Series,
    at: usize,
    size: f64,
    [p, p_adjusted]: [f64; 2],
    spread: f64,
    band: f64,
    side: &Side,
    by: By,
) -> Result<Step, Error> {
    let pair = [&series.points[at - 1], &series.points[at]];
    let down = 1.0 - (-size.abs()).exp();
    let runs = values_to_find(spread.max(1e-6), down, band, 0.95, 0.05)?;
    let of = |point: &Point| side.runs.iter().find(|one| one.run.id == point.id);
    let confirm = match (of(pair[0]), of(pair[1])) {
        (Some(before), Some(after)) => confirm([before, after], series, by, runs),
        _ => Vec::new(),
    };
    Ok(Step {
        at,
        labels: pair.map(|point| point.label.clone()),
        runs: pair.map(|point| point.run.clone()),
        ratio: size.exp(),
        worse: (size > 0.0) != series.higher_is_better,
        p,
        p_adjusted,
        runs_to_confirm: runs,
        confirm,
    })
}

/// Fewest runs or blocks of a study that confirms.
const CONFIRMING: usize = 5;

/// The interleaved study: both kernels in the same blocks, where the kernel changed; else both builds in turn.
fn confirm(pair: [&SideRun; 2], series: &Series, by: By, runs: Option<usize>) -> Vec<String> {
    let study = study_argument(pair[1]);
    let runs = runs.unwrap_or(CONFIRMING).max(CONFIRMING);
    let kernels = pair.map(|one| kernel(&one.run).unwrap_or_default());
    if kernels[0] != kernels[1] && by != By::Commit {
        let kernels = kernels.map(|kernel| shell(&kernel));
        let commands = (1..=2).map(|n| {
            format!(
                "fslab run {study} --kernel {},{} --blocks {runs} --tag confirm={n}",
                kernels[0], kernels[1]
            )
        });
        return commands.collect();
    }
    let commits = pair.map(|one| label(one, By::Commit));
    vec![
        format!("for i in $(seq {runs}); do"),
        format!(
            "  ... build or boot {} ...; fslab run {study} --tag side=before",
            commits[0]
        ),
        format!(
            "  ... build or boot {} ...; fslab run {study} --tag side=after",
            commits[1]
        ),
        "done".to_owned(),
        format!(
            "fslab compare tag.side=before tag.side=after --metric {} --phase {} --fail-on worse",
            shell(&series.metric),
            shell(&series.phase)
        ),
    ]
}

/// The study as its run was started with.
fn study_argument(one: &SideRun) -> String {
    let command = &one.run.command;
    let after_run = command
        .iter()
        .position(|word| word == "run")
        .map(|at| at + 1);
    let named = after_run
        .and_then(|at| command.get(at))
        .filter(|word| !word.starts_with('-'));
    shell(named.unwrap_or(&one.run.plan.study))
}

/// A word of a shell's command line.
fn shell(word: &str) -> String {
    let word = words::printable(word);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn notes(side: &Side) -> Vec<String> {
    let mut notes = Vec::new();
    let mut machines: Vec<String> = side
        .runs
        .iter()
        .filter_map(|one| machine(&one.run))
        .collect();
    machines.sort();
    machines.dedup();
    if machines.len() > 1 {
        notes.push(format!(
            "runs of {} kinds of machine are in one series; choose one with machine=: {}",
            machines.len(),
            machines.join("; ")
        ));
    }
    notes
}
