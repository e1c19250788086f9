//! How a checker read: the sets and whole checkers side by side, the laws of 2011, and fsck.ocfs2's lines.
//!
//! Mushran printed each pass with two lines for each of his sets and drew his conclusions in prose: precache reads
//! twice what the cache loses, prefill reads the same faster, the larger buffer as well. Here a table
//! holds the sets against each other and against his numbers; each conclusion is a law that the run's own numbers
//! are held against, over every pair of cells that differ in one switch alone; and the lines are in his layout. A law is about
//! bytes and requests, which a fast disk shows as a slow one does. Seconds are in the tables.
//!
//! A law is open where the run cannot tell: too few trials for a verdict on time, or chains of one link, on which prefill changes
//! nothing. Open is neither kept nor broken, and is counted apart.
//!
//! Rejected: one verdict for a law over all pairs. A law that fails in one place is the interesting case, so each pair
//! has its line.

mod brief;
mod laws;
mod legend;
mod lines;
mod passes;
mod published;
mod sets;

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use study::{Cell, ScanSpec, WorkloadSpec};

use crate::fill::Sources;
use crate::model::{Figure, Mark, Versus};
use crate::numbers::{brief_ratio, short};
use crate::options::Options;
use crate::published::Published;

pub(crate) use lines::listing;
pub use passes::By;
pub use published::Theirs;

/// Bytes of what fsck.ocfs2 calls MB.
pub(crate) const MIB: f64 = 1_048_576.0;

/// What is known of a run's readings.
#[derive(Debug, Serialize)]
pub struct Scan {
    /// Sets on each kind of disk.
    pub groups: Vec<Group>,
    /// The laws, each with its pairs.
    pub laws: Vec<Law>,
    /// The document beside: `Mushran 2011`.
    pub beside: Option<String>,
    /// How many comparisons of the sets were corrected together.
    #[serde(rename = "comparisons")]
    pub family: usize,
    /// How many comparisons of times the laws rest on, corrected together.
    #[serde(rename = "comparisons_of_laws")]
    pub law_family: usize,
    /// What was read, and how it differs from what was published: a paragraph each.
    pub legend: Vec<String>,
}

/// Sets that ran on the same filesystem, device and limit.
#[derive(Debug, Serialize)]
pub struct Group {
    /// What it is called among the others: `ext4 on a disk held to 50m a second`.
    pub of: String,
    /// What this disk cannot show.
    pub note: Option<&'static str>,
    /// In the plan's order; the first is what the others are compared with.
    pub sets: Vec<Set>,
}

/// One way of reading.
#[derive(Debug, Serialize)]
pub struct Set {
    /// [`study::Cell::id`].
    pub cell: u32,
    /// Its workload: `set-1`; `fslab`, `e2fsck`, `fsck.ocfs2` where that was the reader.
    pub name: String,
    /// The reader.
    #[serde(rename = "reader")]
    pub by: By,
    /// Whether it read an OCFS2 volume.
    #[serde(skip)]
    pub on_ocfs2: bool,
    /// Whether the volume was written directly.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forged: bool,
    /// Its switches in words; how it reads, where it has none.
    pub how: String,
    /// Files of the population.
    pub files: u64,
    /// Number of finished trials.
    pub n: usize,
    /// The trial whose lines are printed: the one of the middle time.
    #[serde(rename = "middle_trial")]
    pub middle: u32,
    /// Bytes of the reader's cache, median.
    #[serde(rename = "cache_bytes")]
    pub cache_size: Option<f64>,
    /// Bytes of all metadata, median.
    #[serde(rename = "metadata_bytes")]
    pub metadata: Option<f64>,
    /// Chains of descriptors that were requested.
    pub chains: u32,
    /// Links of the longest chain, median.
    pub chain_links: Option<f64>,
    /// Each pass, and all of them as the last.
    pub passes: Vec<Pass>,
}

/// What a pass cost, medians of the trials; and the same of the middle trial.
#[derive(Debug)]
pub struct Pass {
    /// `0a`, `0b`, `1`, `2` of the model; those of a whole checker; `all`.
    pub name: &'static str,
    /// What it reads here.
    pub what: &'static str,
    /// What fsck.ocfs2 prints before its own.
    pub title: &'static str,
    /// Medians over the trials.
    pub median: Cost,
    /// Of the trial in the middle.
    pub middle: Cost,
    /// Wall time of each trial, seconds.
    pub seconds: Figure,
    /// Doubts about what was moved, as those about the seconds are in [`Pass::seconds`].
    pub marks: BTreeSet<Mark>,
    /// Seconds against the first set's.
    pub versus: Option<Versus>,
    /// What was published of such a set, message by message.
    pub theirs: [Option<Theirs>; 2],
}

/// Figures of a pass; none where nothing was measured, or where there is no such thing (a mean of no requests).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Bytes from the device.
    #[serde(rename = "disk_bytes")]
    pub disk: Option<f64>,
    /// Bytes from the reader's cache.
    #[serde(rename = "cache_bytes")]
    pub cache: Option<f64>,
    /// Requests to the device.
    pub requests: Option<f64>,
    /// Requests that did not begin where the one before ended.
    pub seeks: Option<f64>,
    /// Sum of their distances, bytes.
    pub seek_bytes: Option<f64>,
    /// Blocks requested together, at most.
    pub batched: Option<f64>,
    /// Descriptors, inodes or directory blocks.
    pub objects: Option<f64>,
    /// Of these, what held something to verify.
    pub verified: Option<f64>,
    /// Bytes of a mean request.
    #[serde(rename = "request_mean_bytes")]
    pub mean: Option<f64>,
    /// Wall time, seconds.
    #[serde(rename = "real_s")]
    pub real: Option<f64>,
    /// Processor seconds in the program.
    #[serde(rename = "user_s")]
    pub user: Option<f64>,
    /// Processor seconds in the kernel.
    #[serde(rename = "system_s")]
    pub system: Option<f64>,
    /// (disk + cache) / real, bytes a second: what was printed in 2011.
    #[serde(rename = "rate_with_cache")]
    pub with_cache: Option<f64>,
    /// disk / (real - user): what fsck.ocfs2 prints today.
    #[serde(rename = "rate_without_user")]
    pub without_user: Option<f64>,
    /// disk / real, bytes a second.
    #[serde(rename = "disk_rate")]
    pub rate: Option<f64>,
    /// Most resident memory of the process, bytes.
    #[serde(rename = "peak_rss")]
    pub peak: Option<f64>,
}

/// A conclusion of 2011.
#[derive(Debug)]
pub struct Law {
    /// `precache`, `precache-large-cache`, `prefill`, `scan-buffer`.
    pub id: &'static str,
    /// The conclusion, in words.
    pub says: &'static str,
    /// The same in few words; none of what he did not measure.
    brief: Option<&'static str>,
    /// His figures for it, in words; none beside a study that repeats nothing.
    pub published: Option<String>,
    /// The same in few words.
    was: Option<String>,
    /// Every pair that can tell.
    pub cases: Vec<Case>,
}

/// A law on a pair of cells that differ in one switch.
#[derive(Debug, Serialize)]
pub struct Case {
    /// The cells, the one with the switch as in the vanilla set first.
    pub cells: [u32; 2],
    /// What they are called.
    pub of: String,
    /// Its figures, in words.
    pub figures: String,
    /// What the switch multiplies, and by how much: `("the bytes", 1.986)`.
    #[serde(skip)]
    times: Vec<(&'static str, f64)>,
    /// Whether the law holds here; none: the run cannot tell.
    pub holds: Option<bool>,
    /// Doubts about the numbers that it was judged by.
    pub marks: BTreeSet<Mark>,
}

impl Case {
    /// `holds`, `FAILS`, `open`, and doubts after it: `holds (!)`.
    pub fn word(&self) -> String {
        let word = match self.holds {
            Some(true) => "holds",
            Some(false) => "FAILS",
            None => "open",
        };
        if self.marks.is_empty() {
            return word.to_owned();
        }
        let signs: String = self.marks.iter().map(|mark| mark.sign()).collect();
        format!("{word} ({signs})")
    }
}

impl Serialize for Law {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Law", 5)?;
        fields.serialize_field("id", self.id)?;
        fields.serialize_field("says", self.says)?;
        fields.serialize_field("published", &self.published)?;
        fields.serialize_field("verdict", &self.verdict())?;
        fields.serialize_field("cases", &self.cases)?;
        fields.end()
    }
}

impl Serialize for Pass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [first, second] = &self.theirs;
        let published = BTreeMap::from([("2011-09-16", first), ("2011-09-21", second)]);
        let mut fields = serializer.serialize_struct("Pass", 10)?;
        fields.serialize_field("pass", self.name)?;
        fields.serialize_field("what", self.what)?;
        fields.serialize_field("title", self.title)?;
        fields.serialize_field("median", &self.median)?;
        fields.serialize_field("middle", &self.middle)?;
        fields.serialize_field("real_s", &self.seconds.points)?;
        fields.serialize_field("against_the_first", &self.versus)?;
        fields.serialize_field("published", &published)?;
        fields.serialize_field("marks", &self.seconds.marks)?;
        fields.serialize_field("marks_of_bytes", &self.marks)?;
        fields.end()
    }
}

impl Law {
    /// `holds in 4 of 4 pairs`, `does not hold in the one pair`, `holds in 2 of 4 pairs, open in 2`.
    pub fn verdict(&self) -> String {
        let count = |holds| self.cases.iter().filter(|case| case.holds == holds).count();
        let (held, open) = (count(Some(true)), count(None));
        match (held, open, self.cases.len()) {
            (_, _, 0) => "not tested, no two cells differ in that alone".to_owned(),
            (1, _, 1) => "holds in the one pair".to_owned(),
            (_, 1, 1) => "open in the one pair".to_owned(),
            (_, _, 1) => "does not hold in the one pair".to_owned(),
            (_, open, n) if open == n => format!("open in all {n} pairs"),
            (0, 0, n) => format!("does not hold in any of {n} pairs"),
            (held, 0, n) => format!("holds in {held} of {n} pairs"),
            (held, open, n) => format!("holds in {held} of {n} pairs, open in {open}"),
        }
    }
}

/// A pass, with each set that has it.
pub(crate) type Row<'a> = Vec<(&'a Set, &'a Pass)>;

impl Group {
    /// The passes of all sets, in their order.
    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        let of = |known: &passes::Known| -> Row<'_> {
            let sets = self.sets.iter();
            sets.filter_map(|set| Some((set, set.pass(known.name)?)))
                .collect()
        };
        let rows = passes::PASSES.iter().map(of);
        rows.filter(|row| !row.is_empty()).collect()
    }
}

impl Set {
    /// A pass by its name.
    pub(crate) fn pass(&self, name: &str) -> Option<&Pass> {
        self.passes.iter().find(|pass| pass.name == name)
    }
}

impl Pass {
    /// Doubts about the seconds as characters.
    pub(crate) fn time_signs(&self) -> String {
        self.seconds.signs()
    }

    /// Doubts about bytes and requests as characters.
    pub(crate) fn moved_signs(&self) -> String {
        self.marks.iter().map(|mark| mark.sign()).collect()
    }
}

impl Scan {
    /// Every way of reading that the sets have, once: its name, and its switches in words.
    pub(crate) fn ways(&self) -> Vec<(&str, &str)> {
        let mut ways: Vec<(&str, &str)> = Vec::new();
        for set in self.groups.iter().flat_map(|group| &group.sets) {
            let way = (set.name.as_str(), set.how.as_str());
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }

    /// The heading of the laws, and what the verdicts on time rest on.
    pub(crate) fn laws_title(&self) -> String {
        let mut cases = self.laws.iter().flat_map(|law| &law.cases);
        let beside = if cases.any(|case| !case.marks.is_empty()) {
            "; a sign after a word is a doubt about its numbers, as in the tables"
        } else {
            ""
        };
        let times = match self.law_family {
            0 => String::new(),
            1 => "; 1 comparison of times".to_owned(),
            n => format!("; {n} comparisons of times, corrected together"),
        };
        format!("pairs of cells that differ in one switch alone{times}{beside}")
    }
}

/// A figure, `-` where there is none.
pub(crate) fn figure(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), write)
}

/// MB of bytes, as the tables print them.
pub(crate) fn mb(bytes: Option<f64>) -> String {
    figure(bytes, |bytes| short(bytes / MIB))
}

/// GB of bytes, 2^30 as MB are 2^20.
pub(crate) fn gb(bytes: Option<f64>) -> String {
    figure(bytes, |bytes| short(bytes / MIB / 1024.0))
}

/// A count.
pub(crate) fn count(value: Option<f64>) -> String {
    figure(value, |value| format!("{value:.0}"))
}

/// `0.13+`: time divided by the first set's, and whether that counts. The estimate that the interval is of; where there are too few
/// trials for one, that of the medians.
pub(crate) fn times(group: &Group, pass: &Pass) -> String {
    if let Some(versus) = &pass.versus {
        return format!("{}{}", brief_ratio(versus.ratio), versus.difference.sign());
    }
    let first = of_first(group, pass.name).and_then(|first| first.median.real);
    match (pass.median.real, first.filter(|real| *real > 0.0)) {
        (Some(real), Some(first)) => brief_ratio(real / first),
        _ => "-".to_owned(),
    }
}

/// Disk, real and ratio of a message; `-` where nothing was printed.
pub(crate) fn their_words(group: &Group, pass: &Pass, at: usize) -> [String; 3] {
    let Some(Theirs { disk, real, .. }) = pass.theirs[at] else {
        return ["-", "-", "-"].map(str::to_owned);
    };
    let first = of_first(group, pass.name).and_then(|first| first.theirs[at]);
    let times = first.map_or_else(|| "-".to_owned(), |first| brief_ratio(real / first.real));
    [format!("{disk:.0}"), short(real), times]
}

fn of_first<'a>(group: &'a Group, pass: &str) -> Option<&'a Pass> {
    group.sets.first()?.pass(pass)
}

/// The parameters of a cell that reads.
pub(crate) fn spec(cell: &Cell) -> Option<&ScanSpec> {
    match &cell.workload {
        WorkloadSpec::Scan(spec) => Some(spec),
        _ => None,
    }
}

/// Seconds of both messages for a phase of a cell whose reader read as a program of 2011 did; none of other documents.
pub(crate) fn published_seconds(
    document: Option<&Published>,
    cell: &Cell,
    phase: &str,
) -> [Option<f64>; 2] {
    let pass = passes::PASSES.iter().find(|pass| pass.phase == phase);
    let repeats = By::of(cell, false).repeats();
    let (Some(pass), Some(spec), true) = (pass, spec(cell), repeats) else {
        return [None, None];
    };
    published::of(document, spec, pass.title).map(|theirs| theirs.map(|theirs| theirs.real))
}

/// What the cells of a report have read; none where nothing was.
pub(crate) fn of(
    sources: &Sources<'_>,
    options: &Options,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> Option<Scan> {
    let (laws, law_family) = laws::of(sources, options, cells, notes)?;
    let (groups, family) = sets::of(sources, options, cells, notes);
    let theirs = |group: &Group| {
        let passes = group.sets.iter().flat_map(|set| &set.passes);
        passes
            .flat_map(|pass| pass.theirs)
            .any(|found| found.is_some())
    };
    let beside = sources.published.filter(|_| groups.iter().any(theirs));
    Some(Scan {
        legend: legend::of(sources, &groups, beside),
        beside: beside.map(|found| found.document.short()),
        groups,
        laws,
        family,
        law_family,
    })
}
