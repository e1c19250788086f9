//! How a checker read: fsck.ocfs2's lines, the sets side by side, and the laws of 2011.
//!
//! Mushran printed each pass with two lines for each of his sets and drew his conclusions in prose: precache reads
//! twice what the cache loses, prefill reads the same faster, the larger buffer as well. Here the lines are his; a table
//! holds the sets against each other and against his numbers; and each conclusion is a law that the run's own numbers
//! are held against, over every pair of cells that differ in one switch alone. A law is about bytes and requests, which a
//! fast disk shows as a slow one does. Seconds stand in the tables.
//!
//! Rejected: one verdict for a law over all pairs. A law that fails in one place is the interesting case, so each pair
//! has its line.

mod laws;
mod lines;
mod published;
mod sets;

use study::{Cell, ScanSpec, WorkloadSpec};

use crate::fill::Sources;
use crate::model::{Figure, Versus};
use crate::options::Options;

pub(crate) use lines::lines;
pub use published::Theirs;

/// What is known of a run's readings.
#[derive(Debug)]
pub struct Scan {
    /// Sets on each kind of disk.
    pub groups: Vec<Group>,
    /// The laws, each with its pairs.
    pub laws: Vec<Law>,
    /// The document beside: `Mushran 2011`.
    pub beside: Option<String>,
    /// How many comparisons of the sets were corrected together.
    pub family: usize,
}

/// Sets that ran on the same filesystem, device and limit.
#[derive(Debug)]
pub struct Group {
    /// What it is called among the others: `ext4 on a disk of 50m a second`.
    pub of: String,
    /// In the plan's order; the first is what the others are compared with.
    pub sets: Vec<Set>,
}

/// One way of reading.
#[derive(Debug)]
pub struct Set {
    /// The cell.
    pub cell: u32,
    /// Its workload: `set-1`.
    pub name: String,
    /// Its switches in words.
    pub how: String,
    /// Trials.
    pub n: usize,
    /// The trial whose lines are printed: the one of the middle time.
    pub middle: u32,
    /// Bytes of the reader's cache, median.
    pub cache_size: f64,
    /// Bytes of all metadata, median.
    pub metadata: f64,
    /// Each pass, and all of them as the last.
    pub passes: Vec<Pass>,
}

/// What a pass cost, medians of the trials; and the same of the middle trial.
#[derive(Debug)]
pub struct Pass {
    /// `0a`, `0b`, `1`, `2`; `all`.
    pub name: &'static str,
    /// What fsck.ocfs2 prints before it.
    pub title: &'static str,
    /// Medians.
    pub median: Cost,
    /// Of the trial in the middle.
    pub middle: Cost,
    /// Seconds.
    pub seconds: Figure,
    /// Seconds against the first set's.
    pub versus: Option<Versus>,
    /// What was published of such a set, message by message.
    pub theirs: [Option<Theirs>; 2],
}

/// Figures of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Bytes from the device.
    pub disk: f64,
    /// Bytes from the reader's cache.
    pub cache: f64,
    /// Requests to the device.
    pub requests: f64,
    /// Requests that did not begin where the one before ended.
    pub seeks: f64,
    /// Bytes of a mean request.
    pub mean: f64,
    /// Seconds.
    pub real: f64,
    /// Processor seconds in the program.
    pub user: f64,
    /// Processor seconds in the kernel.
    pub system: f64,
    /// (disk + cache) / real, bytes a second: what was printed in 2011.
    pub with_cache: f64,
    /// disk / (real - user): what fsck.ocfs2 prints today.
    pub without_user: f64,
    /// disk / real.
    pub rate: f64,
    /// Most resident memory of the process, bytes.
    pub peak: f64,
}

/// A conclusion of 2011.
#[derive(Debug)]
pub struct Law {
    /// `precache`, `precache-large-cache`, `prefill`, `scan-buffer`.
    pub id: &'static str,
    /// What it says.
    pub says: &'static str,
    /// His figures for it, in words.
    pub published: &'static str,
    /// Every pair that can tell.
    pub cases: Vec<Case>,
}

/// A law on a pair of cells that differ in one switch.
#[derive(Debug)]
pub struct Case {
    /// The cells, the one with the switch as in the vanilla set first.
    pub cells: [u32; 2],
    /// What they are called.
    pub of: String,
    /// Its figures, in words.
    pub figures: String,
    /// Whether the law holds here.
    pub holds: bool,
}

impl Law {
    /// `holds in 4 of 4 pairs`, `does not hold in the one pair`.
    pub fn verdict(&self) -> String {
        let held = self.cases.iter().filter(|case| case.holds).count();
        match (held, self.cases.len()) {
            (_, 0) => "not tested, no two cells differ in that alone".to_owned(),
            (0, 1) => "does not hold in the one pair".to_owned(),
            (1, 1) => "holds in the one pair".to_owned(),
            (0, n) => format!("does not hold in any of {n} pairs"),
            (held, n) => format!("holds in {held} of {n} pairs"),
        }
    }
}

/// The parameters of a cell that reads.
pub(crate) fn spec(cell: &Cell) -> Option<&ScanSpec> {
    match &cell.workload {
        WorkloadSpec::Scan(spec) => Some(spec),
        _ => None,
    }
}

/// What the cells of a report have read; none where nothing was.
pub(crate) fn of(
    sources: &Sources<'_>,
    options: &Options,
    cells: &[&Cell],
    notes: &mut Vec<String>,
) -> Option<Scan> {
    let laws = laws::of(sources, options, cells);
    if laws.is_empty() {
        return None;
    }
    let (groups, family) = sets::of(sources, options, cells, notes);
    let theirs = |group: &Group| {
        let passes = group.sets.iter().flat_map(|set| &set.passes);
        passes
            .flat_map(|pass| pass.theirs)
            .any(|found| found.is_some())
    };
    let beside = sources.published.filter(|_| groups.iter().any(theirs));
    Some(Scan {
        beside: beside.map(|found| found.document.short()),
        groups,
        laws,
        family,
    })
}
