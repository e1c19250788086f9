//! The published measurements of the five studies on their own hardware, modelled.
//!
//! `data/streams.toml` says what each measured program asked for: the order and sizes of its requests, which follow from the program
//! and the format, where they lie, and which published numbers are its processor time. Published values come from `published/`. No
//! study has code or a constant of its own here; a row is a kind of stream with parameters. The device files are frozen: rows whose
//! results were used to choose a figure are marked `fitted` and do not count.
//!
//! `data/table.json` is the table as `fslab device check --studies --format json` prints it: reports of runs on that hardware show
//! it without computing it again, and a test compares what is quick to compute.

mod host;
mod published;
mod stream;
mod table;

use std::ops::Range;
use std::path::Path;

use device::replay::{Estimate, Structural, seed_of_run};
use device::{Catalogue, Variation, limits, random_read_ms};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::error::{Error, text_of};
use crate::estimator::Estimator;
use published::Published;
use stream::Stream;

const STREAMS: &str = include_str!("../data/streams.toml");

/// Error up to which a row counts as met, percent.
pub const NEAR: f64 = 25.0;
/// Rows that must be met.
pub const ENOUGH: usize = 16;
/// Largest median error, percent.
pub const MEDIAN: f64 = 10.0;

/// Longest processor time of a row, s.
const MOST_CPU: f64 = 1e8;

/// Longest name of a row: its column of the table.
const LONGEST: usize = 44;

/// The streams of the studies.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Streams {
    row: Vec<Spanned<RowOfFile>>,
    bound: Vec<BoundOfFile>,
}

/// A file of streams of the user's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnStreams {
    row: Vec<Spanned<RowOfFile>>,
}

/// What a program asked for, and what was published of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowOfFile {
    name: String,
    device: String,
    /// Ids of published numbers of the same thing.
    #[serde(default)]
    published: Vec<String>,
    /// Values that the messages print in a sample which `published/` does not have.
    #[serde(default)]
    printed: Vec<f64>,
    /// Ids of its processor times, s.
    #[serde(default)]
    cpu: Vec<String>,
    /// More of it, where `published/` does not have it, s.
    #[serde(default)]
    cpu_s: f64,
    unit: Unit,
    #[serde(default)]
    fitted: bool,
    /// Why the model misses it, where it does.
    #[serde(default)]
    cause: String,
    stream: Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Unit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "MiB/s")]
    MibPerSecond,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::MibPerSecond => "MiB/s",
        }
    }
}

impl RowOfFile {
    /// Why it cannot be modelled, or compared.
    fn problem(&self) -> Option<String> {
        if words::printable(&self.name) != self.name || self.name.chars().count() > LONGEST {
            return Some(format!(
                "`name`: longer than {LONGEST} characters, or not printable"
            ));
        }
        if self.published.is_empty() && self.printed.is_empty() {
            return Some("has no number: neither `published` nor `printed`".to_owned());
        }
        let is_number = |number: &f64| number.is_finite() && *number > 0.0;
        if let Some(number) = self.printed.iter().find(|number| !is_number(number)) {
            return Some(format!("`printed`: {number} is not above 0"));
        }
        if !(0.0..=MOST_CPU).contains(&self.cpu_s) {
            return Some(format!(
                "`cpu_s`: {} is not a processor time in seconds",
                self.cpu_s
            ));
        }
        self.stream.problem()
    }
}

/// What the device could do, where the host decided.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundOfFile {
    name: String,
    device: String,
    published: Vec<String>,
    unit: String,
    /// Where the published numbers are seconds: what was moved.
    moved: Option<Moved>,
}

/// What was read in a time that the host decided.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Moved {
    bytes: f64,
    /// Bytes of a read where each waits for the one before it.
    read: u64,
}

/// A published number and the modelled one.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Who published it: a name of `published/`.
    pub document: String,
    /// What was measured.
    pub name: String,
    /// Where.
    pub device: String,
    /// `s` or `MiB/s`.
    pub unit: &'static str,
    /// The published number.
    pub published: f64,
    /// With the figures of the device file.
    pub modelled: f64,
    /// 5 % are below.
    pub modelled_low: f64,
    /// 5 % are above.
    pub modelled_high: f64,
    /// The same two where command times are drawn also below a fitted time that contains them (docs/devices.md).
    pub modelled_without_rule: [f64; 2],
    /// Whether figures were chosen by it.
    pub fitted: bool,
    /// Why it is missed, where it is.
    pub cause: String,
}

impl Comparison {
    /// modelled / published - 1, percent.
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.modelled / self.published - 1.0)
    }

    /// Whether the published number is within the interval.
    pub fn is_inside(&self) -> bool {
        (self.modelled_low..=self.modelled_high).contains(&self.published)
    }

    /// Whether it would be without the rule.
    pub fn is_inside_without_rule(&self) -> bool {
        let [low, high] = self.modelled_without_rule;
        (low..=high).contains(&self.published)
    }

    fn is_near(&self) -> bool {
        self.error_percent().abs() <= NEAR
    }
}

/// What a device could do, beside published numbers that the host decided.
#[derive(Clone, Debug, Serialize)]
pub struct HostDecides {
    /// Who published it: a name of `published/`.
    pub document: String,
    /// What was measured.
    pub name: String,
    /// Where.
    pub device: String,
    /// Unit of all numbers.
    pub unit: String,
    /// Least and most of the published numbers.
    pub published: [f64; 2],
    /// What the device can do, in its unit: in two ways.
    pub modelled_bound: [f64; 2],
    /// Which ways.
    pub how: String,
    /// Whether the published numbers are within it.
    pub holds: bool,
}

/// How many numbers a table meets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Answer {
    /// Predicted numbers.
    pub predicted: usize,
    /// Those within 25 %.
    pub near: usize,
    /// Median of their absolute errors, percent.
    pub median_error_percent: f64,
    /// Those inside their intervals.
    pub inside: usize,
    /// The same without the rule that was chosen after the intervals had been seen.
    pub inside_without_rule: usize,
    /// Whether the targets are met; none for rows of the user's.
    pub is_met: Option<bool>,
}

/// Whose rows a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of the studies, for which there are targets.
    Frozen,
    /// The user's.
    Own,
}

/// The table.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Always `modelled`.
    pub timing: &'static str,
    /// Whose rows these are.
    #[serde(skip)]
    pub whose: Whose,
    /// What the text begins with.
    pub answer: Answer,
    /// Published and modelled numbers.
    pub rows: Vec<Comparison>,
    /// Rows that the host decides.
    pub host: Vec<HostDecides>,
}

impl Table {
    fn of(rows: Vec<Comparison>, host: Vec<HostDecides>, whose: Whose) -> Table {
        let mut table = Table {
            timing: "modelled",
            whose,
            answer: Answer::default(),
            rows,
            host,
        };
        table.answer = Answer {
            predicted: table.near().1,
            near: table.near().0,
            median_error_percent: table.median_error(),
            inside: table.inside(),
            inside_without_rule: table.inside_without_rule(),
            is_met: (whose == Whose::Frozen).then(|| table.is_met()),
        };
        table
    }

    fn predicted(&self) -> impl Iterator<Item = &Comparison> {
        self.rows.iter().filter(|row| !row.fitted)
    }

    /// Predicted numbers within 25 %, and all.
    pub fn near(&self) -> (usize, usize) {
        (
            self.predicted().filter(|row| row.is_near()).count(),
            self.predicted().count(),
        )
    }

    /// Predicted numbers inside their intervals.
    pub fn inside(&self) -> usize {
        self.predicted().filter(|row| row.is_inside()).count()
    }

    /// Predicted numbers that would be inside if command times were drawn also below a fitted time that contains them.
    pub fn inside_without_rule(&self) -> usize {
        self.predicted()
            .filter(|row| row.is_inside_without_rule())
            .count()
    }

    /// Median of the absolute errors of predicted numbers, percent.
    pub fn median_error(&self) -> f64 {
        let mut errors: Vec<f64> = self
            .predicted()
            .map(|row| row.error_percent().abs())
            .collect();
        errors.sort_by(f64::total_cmp);
        let n = errors.len();
        match n {
            0 => 0.0,
            n if n % 2 == 0 => f64::midpoint(errors[n / 2 - 1], errors[n / 2]),
            _ => errors[n / 2],
        }
    }

    /// Whether the targets are met: enough rows, the median, all bounds. There are none for rows of the user's.
    pub fn is_met(&self) -> bool {
        if self.whose == Whose::Own {
            return true;
        }
        self.near().0 >= ENOUGH
            && self.median_error() <= MEDIAN
            && self.host.iter().all(|bound| bound.holds)
    }

    /// As text, at most 100 columns wide.
    pub fn text(&self) -> String {
        table::text(self)
    }
}

/// Models all rows; those of which `wanted` does not hold are left out. `runs` of 1 gives intervals of the models' own error alone.
///
/// # Errors
/// The data in the program are wrong, which a test excludes.
pub fn table(
    estimator: Estimator,
    catalogue: &Catalogue,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Table, Error> {
    let wrong = |error: String| Error::Record(format!("the table of the studies: {error}"));
    let streams: Streams = toml::from_str(STREAMS).map_err(|e| wrong(e.to_string()))?;
    compared(estimator, catalogue, &streams, wanted).map_err(wrong)
}

/// Models the rows of a file of the user's.
///
/// # Errors
/// One line: it is no file of streams, or a row has no device, no number, or a stream that cannot run.
pub fn own_table(estimator: Estimator, catalogue: &Catalogue, path: &Path) -> Result<Table, Error> {
    let name = path.display().to_string();
    let text = text_of(path).map_err(|why| format!("{name}: {why}"));
    let table = text.and_then(|text| table_of(estimator, catalogue, &name, &text));
    table.map_err(Error::Streams)
}

/// The table of a user's text. An error begins with the file and the line.
fn table_of(
    estimator: Estimator,
    catalogue: &Catalogue,
    name: &str,
    text: &str,
) -> Result<Table, String> {
    let at = |span: Option<Range<usize>>, why: &str| {
        let before = span.and_then(|span| text.get(..span.start));
        let line = before.unwrap_or_default().matches('\n').count() + 1;
        format!("{name}:{line}: {why}")
    };
    let own: OwnStreams =
        toml::from_str(text).map_err(|error| at(error.span(), error.message()))?;
    let published = Published::load()?;
    let mut rows = Vec::new();
    for row in &own.row {
        let found = match row.get_ref().problem() {
            Some(problem) => Err(problem),
            None => compare(catalogue, &published, row.get_ref(), estimator),
        };
        rows.extend(found.map_err(|why| at(Some(row.span()), &why))?);
    }
    Ok(Table::of(rows, Vec::new(), Whose::Own))
}

/// The table of these streams.
fn compared(
    estimator: Estimator,
    catalogue: &Catalogue,
    streams: &Streams,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Table, String> {
    let published = Published::load()?;
    let mut rows = Vec::new();
    let rows_of_file = streams.row.iter().map(Spanned::get_ref);
    for row in rows_of_file.filter(|row| wanted(&row.name)) {
        let compared = compare(catalogue, &published, row, estimator);
        rows.extend(compared.map_err(|why| format!("row {}: {why}", words::quoted(&row.name)))?);
    }
    let mut host = Vec::new();
    for bound in streams.bound.iter().filter(|bound| wanted(&bound.name)) {
        let found = bounded(catalogue, &published, bound);
        host.push(found.map_err(|why| format!("bound {}: {why}", words::quoted(&bound.name)))?);
    }
    Ok(Table::of(rows, host, Whose::Frozen))
}

/// One comparison for each published number of a row.
fn compare(
    catalogue: &Catalogue,
    published: &Published,
    row: &RowOfFile,
    estimator: Estimator,
) -> Result<Vec<Comparison>, String> {
    let cpu: Result<Vec<f64>, String> = row.cpu.iter().map(|id| published.value(id)).collect();
    let cpu = cpu?.into_iter().sum::<f64>() + row.cpu_s;
    let value = |variation: Variation| -> Result<f64, String> {
        let mut model = catalogue
            .model(&row.device, variation)
            .map_err(|e| e.to_string())?;
        let found = row.stream.run(&mut *model, cpu)?;
        Ok(match row.unit {
            Unit::Seconds => found.seconds,
            Unit::MibPerSecond => found.bytes as f64 / found.seconds / f64::from(1 << 20),
        })
    };
    let modelled = value(Variation::Nominal)?;
    let runs = if row.fitted { 1 } else { estimator.runs };
    let drawn = |variation: fn(u64) -> Variation| -> Result<Vec<f64>, String> {
        (0..u64::from(runs))
            .map(|run| value(variation(seed_of_run(estimator.seed, run))))
            .collect()
    };
    let structural = if row.stream.is_sequential() {
        Structural::Sequential
    } else {
        Structural::Scattered
    };
    let interval = Estimate::of(&drawn(Variation::Drawn)?, structural);
    let wide = Estimate::of(&drawn(Variation::DrawnWithout)?, structural);
    let ids: Result<Vec<f64>, String> =
        row.published.iter().map(|id| published.value(id)).collect();
    let values = ids?.into_iter().chain(row.printed.iter().copied());
    Ok(values
        .map(|number| Comparison {
            document: document(row.published.iter().chain(&row.cpu)),
            name: row.name.clone(),
            device: row.device.clone(),
            unit: row.unit.name(),
            published: number,
            modelled,
            modelled_low: interval.low,
            modelled_high: interval.high,
            modelled_without_rule: [wide.low, wide.high],
            fitted: row.fitted,
            cause: row.cause.clone(),
        })
        .collect())
}

/// The document of numbers by their ids: `dokos2008` of `dokos2008-0003`.
fn document<'a>(mut ids: impl Iterator<Item = &'a String>) -> String {
    let name = ids.next().and_then(|id| id.rsplit_once('-'));
    name.map_or("", |(document, _)| document).to_owned()
}

fn bounded(
    catalogue: &Catalogue,
    published: &Published,
    bound: &BoundOfFile,
) -> Result<HostDecides, String> {
    let values: Result<Vec<f64>, String> = bound
        .published
        .iter()
        .map(|id| published.value(id))
        .collect();
    let values = values?;
    let found =
        limits(|| catalogue.model(&bound.device, Variation::Nominal)).map_err(|e| e.to_string())?;
    let rates = found.sequential;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let (modelled_bound, holds, how) = if let Some(Moved { bytes, read }) = bound.moved {
        let model = catalogue.model(&bound.device, Variation::Nominal);
        let mut model = model.map_err(|e| e.to_string())?;
        let alone = random_read_ms(&mut *model, read) / 1e3;
        let times = [bytes / rates[0], bytes / read as f64 * alone];
        let how = format!(
            "in order, or with one read of {} at a time",
            words::bytes(read)
        );
        (times, least >= times[0] && most <= times[1], how)
    } else {
        let rates = [rates[2] / 1e6, rates[0] / 1e6];
        let how = "at its end, or at its start".to_owned();
        (rates, most <= rates[1], how)
    };
    Ok(HostDecides {
        document: document(bound.published.iter()),
        name: bound.name.clone(),
        device: bound.device.clone(),
        unit: bound.unit.clone(),
        published: [least, most],
        modelled_bound,
        how,
        holds,
    })
}

#[cfg(test)]
mod tests;
