//! The result of a check, and how it is printed.
//!
//! One value ([`Report`]) and six ways to print it: for people ([`text()`]), as one JSON document ([`json`]), its findings as CSV ([`csv()`]), and with the lines about
//! time and bytes laid out as in e2fsck's `-tt` ([`e2fsck()`]) or fsck.ocfs2's ([`ocfs2()`]) or with the phase lines of `xfs_repair -n` ([`xfs_repair()`]), so that tables
//! made of those can be continued. Findings are grouped by problem: a broken bitmap has thousands, and a reader wants to know
//! first how many kinds of faults there are.

pub(crate) mod advice;
mod csv;
mod e2fsck;
mod fsck_ocfs2;
pub(in crate::frame) mod lines;
mod ocfs2;
#[cfg(test)]
mod tests;
mod text;
mod xfs_repair;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

pub use advice::{Step, Target};
pub use csv::csv;
pub use e2fsck::e2fsck;
pub use ocfs2::ocfs2;
pub use text::{Shown, brief, text};
pub use xfs_repair::xfs_repair;

use super::affected::Affected;
use super::cost::Cost;
use super::finding::Finding;
use super::log::{Findings, Tally};
use super::memory::Estimate;
use super::problem::Problem;
use super::verdict::{Reference, ReferenceRun, Verdict, Verdicts};

/// Whose verdict decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judge {
    /// The reference program of the format, in the version that the checker follows. Strict for a format without one.
    #[default]
    Reference,
    /// Whatever is wrong with the image is wrong.
    Strict,
}

/// Values that only one format has, by name. Serialise as a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(pub Vec<(&'static str, Value)>);

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// What was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// The name of the source: its path.
    pub name: String,
    /// Size of the image or device, bytes.
    pub bytes: u64,
    /// What the superblock says; none without a usable one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Filesystem>,
}

/// What a superblock says of its filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Filesystem {
    /// Name of the format: `ext2`, `ext3` or `ext4`, by the features.
    pub format: &'static str,
    /// The label; bytes that are not UTF-8 are replaced.
    pub label: String,
    /// The UUID.
    pub uuid: String,
    /// Names of the features, in the order of their bits; unknown ones in hexadecimal.
    pub features: Vec<String>,
    /// Size of a block, bytes.
    pub block_size: u32,
    /// Number of blocks.
    pub blocks: u64,
    /// Values that only this format has.
    #[serde(flatten)]
    pub facts: Facts,
    /// Number of inodes.
    pub inodes: u64,
    /// Free blocks, as the superblock says.
    pub free_blocks: u64,
    /// Free inodes, as the superblock says.
    pub free_inodes: u64,
}

/// Files by type, as far as inodes show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileCounts {
    /// Inodes in use, reserved ones included.
    pub inodes: u64,
    /// Regular files.
    pub regular: u64,
    /// Directories.
    pub directories: u64,
    /// Character devices.
    pub char_devices: u64,
    /// Block devices.
    pub block_devices: u64,
    /// Pipes.
    pub fifos: u64,
    /// Sockets.
    pub sockets: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Files whose blocks are not consecutive.
    pub fragmented_files: u64,
    /// Directories whose blocks are not consecutive.
    pub fragmented_directories: u64,
}

/// What the filesystem contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// Blocks in use (of whole clusters).
    pub blocks: u64,
    /// Files by type.
    #[serde(flatten)]
    pub files: FileCounts,
    /// Counts that only this format has.
    #[serde(flatten)]
    pub facts: Facts,
}

/// Memory of the check, bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The forecast by use; none without a usable superblock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated: Option<Estimate>,
    /// Sum of the forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated_total: Option<u64>,
    /// Peak memory of the process.
    pub peak: u64,
}

/// What could not be judged because the image does not hold what is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// Names in indexed directories whose hash, and so whose place, is not known: case is folded beyond ASCII, or the hash needs a key.
    pub names: u64,
}

/// The result of a check.
#[derive(Debug)]
pub struct Report {
    /// What was checked.
    pub subject: Subject,
    /// The program whose behaviour was followed; none for a format without one.
    pub reference: Option<Reference>,
    /// The verdicts.
    pub verdicts: Verdicts,
    /// How the reference program itself would have run, where that is not what its verdict says.
    pub reference_run: Option<ReferenceRun>,
    /// What was read may describe no state that ever existed: it was mounted read-write, or its log is not replayed.
    pub unstable: bool,
    /// It was mounted read-write during the check. A check leaves it unset.
    pub mounted: bool,
    /// The files that are affected.
    pub affected: Affected,
    /// What was found.
    pub findings: Findings,
    /// What to do next ([`crate::Checker::advice`]); a check leaves it empty.
    pub next: Vec<Step>,
    /// What could not be judged.
    pub unjudged: Unjudged,
    /// What the filesystem contains; none where the inodes were not all read.
    pub inventory: Option<Inventory>,
    /// Cost of each pass.
    pub passes: Vec<Cost>,
    /// Cost of the whole check.
    pub total: Cost,
    /// Memory.
    pub memory: Memory,
    /// Rate of a sequential read past the page cache, bytes per second, where it was measured.
    pub sequential_rate: Option<f64>,
}

impl Report {
    /// The verdict of that judge.
    pub fn verdict(&self, judge: Judge) -> &Verdict {
        let Verdicts { reference, strict } = &self.verdicts;
        match judge {
            Judge::Reference => reference.as_ref().unwrap_or(strict),
            Judge::Strict => strict,
        }
    }

    /// Findings of problems that matter: all but notices and hints.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .list
            .iter()
            .filter(|finding| finding.problem.is_fault())
    }

    /// Whether a problem was found, kept or only counted.
    pub(crate) fn has(&self, problem: &Problem) -> bool {
        let mut tallies = self.findings.tallies.iter();
        tallies.any(|tally| tally.problem == problem)
    }

    /// The findings that are printed: headings of lists are not.
    pub fn shown(&self) -> impl Iterator<Item = &Finding> {
        let list = self.findings.list.iter();
        list.filter(|finding| !finding.problem.is_heading())
    }

    /// Sets the rate at which the device is read sequentially, bytes per second: each pass then has an ideal time.
    pub fn set_sequential_rate(&mut self, bytes_per_second: f64) {
        if bytes_per_second <= 0.0 {
            return;
        }
        self.sequential_rate = Some(bytes_per_second);
        for cost in self.passes.iter_mut().chain([&mut self.total]) {
            cost.ideal_s = Some(cost.bytes as f64 / bytes_per_second);
        }
    }
}

/// Both verdicts by the name of who gives them.
struct ByName<'a>(&'a Report);

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ByName(report) = self;
        let mut map = serializer.serialize_map(None)?;
        if let (Some(reference), Some(verdict)) = (report.reference, &report.verdicts.reference) {
            map.serialize_entry(reference.program, verdict)?;
        }
        map.serialize_entry("strict", &report.verdicts.strict)?;
        map.end()
    }
}

/// One JSON document, with each finding that was kept.
///
/// # Errors
/// None for the values of this program.
pub fn json(report: &Report, judge: Judge) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Number {
        code: u32,
        name: &'static str,
        count: u64,
    }
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        subject: &'a Subject,
        judge: String,
        verdict: &'a Verdict,
        word: &'static str,
        unstable: bool,
        verdicts: ByName<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reference: Option<&'a ReferenceRun>,
        counts: Vec<Number>,
        affected: &'a Affected,
        findings: Vec<&'a Finding>,
        next: &'a [Step],
        unjudged: Unjudged,
        #[serde(skip_serializing_if = "Option::is_none")]
        inventory: Option<&'a Inventory>,
        passes: &'a [Cost],
        total: &'a Cost,
        memory: &'a Memory,
        #[serde(skip_serializing_if = "Option::is_none")]
        sequential_rate: Option<f64>,
    }
    let verdict = report.verdict(judge);
    let tallies = report.findings.tallies.iter();
    let tallies = tallies.filter(|tally| !tally.problem.is_heading());
    let count = |tally: &Tally| Number {
        code: tally.problem.code,
        name: tally.problem.name,
        count: tally.count,
    };
    serde_json::to_string_pretty(&Document {
        schema: "fslab-check-1",
        subject: &report.subject,
        judge: lines::judge(report, judge),
        verdict,
        word: verdict.word(),
        unstable: report.unstable,
        verdicts: ByName(report),
        reference: report.reference_run.as_ref(),
        counts: tallies.map(count).collect(),
        affected: &report.affected,
        findings: report.shown().collect(),
        next: &report.next,
        unjudged: report.unjudged,
        inventory: report.inventory.as_ref(),
        passes: &report.passes,
        total: &report.total,
        memory: &report.memory,
        sequential_rate: report.sequential_rate,
    })
}
