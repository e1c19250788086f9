//! What a check leaves, and how it is told.
//!
//! One value ([`Report`]) and four ways to print it: for people ([`text`]), as one JSON document ([`json`]), and with the lines about time
//! and bytes laid out as e2fsck's `-tt` ([`e2fsck`]) or fsck.ocfs2's ([`ocfs2`]), so that tables
//! made of those can be continued. Findings are grouped by problem: a broken bitmap has thousands, and a reader wants to know
//! first how many kinds of trouble there are.

mod e2fsck;
mod lines;
mod ocfs2;
#[cfg(test)]
mod tests;
mod text;

use serde::Serialize;

pub use e2fsck::e2fsck;
pub use ocfs2::ocfs2;
pub use text::text;

use crate::ext4::{Estimate, Statistics};
use crate::finding::Finding;
use crate::log::Findings;
use crate::meter::Cost;
use crate::verdict::{Verdict, Verdicts};

/// Whose verdict decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judge {
    /// `e2fsck -fn`, of the version that the passes were asked to follow.
    #[default]
    E2fsck,
    /// Whatever is wrong with the image is wrong.
    Strict,
}

/// What was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// The path, as the source calls it.
    pub name: String,
    /// Bytes of the image or device.
    pub bytes: u64,
    /// What the superblock says; none without a usable one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Filesystem>,
}

/// What a superblock says of its filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Filesystem {
    /// `ext2`, `ext3` or `ext4`, by its features.
    pub format: &'static str,
    /// The label; bytes that are not UTF-8 replaced.
    pub label: String,
    /// The UUID.
    pub uuid: String,
    /// Names of the features, in the order of dumpe2fs's bits; unknown ones in hexadecimal.
    pub features: Vec<String>,
    /// Bytes of a block.
    pub block_size: u32,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of an inode.
    pub inode_size: u16,
    /// Inodes.
    pub inodes: u32,
    /// Block groups.
    pub groups: u32,
    /// Free blocks, as the superblock says.
    pub free_blocks: u64,
    /// Free inodes, as the superblock says.
    pub free_inodes: u32,
}

/// What is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// Blocks in use (of whole clusters).
    pub blocks: u64,
    /// Files, by kind and by how they lie.
    #[serde(flatten)]
    pub files: Statistics,
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// What was said beforehand; none without a usable superblock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated: Option<Estimate>,
    /// All of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated_total: Option<u64>,
    /// Most that the process ever had.
    pub peak: u64,
}

/// What could not be judged, for want of something that the image does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// Names in indexed directories whose hash, and so whose place, is not known: case is folded beyond ASCII, or the hash needs a key.
    pub names: u64,
}

/// All that a check leaves.
#[derive(Debug)]
pub struct Report {
    /// What was checked.
    pub subject: Subject,
    /// e2fsck's version whose behaviour was followed.
    pub reference: &'static str,
    /// Both verdicts.
    pub verdicts: Verdicts,
    /// It was mounted for writing meanwhile: nothing is certain.
    pub unstable: bool,
    /// What was found.
    pub findings: Findings,
    /// What could not be judged.
    pub unjudged: Unjudged,
    /// What is there; none where pass 1 did not come to its end.
    pub inventory: Option<Inventory>,
    /// What each pass cost.
    pub passes: Vec<Cost>,
    /// What all of them cost.
    pub total: Cost,
    /// Memory.
    pub memory: Memory,
    /// Bytes per second of a sequential reading past the page cache, where it was measured.
    pub sequential_rate: Option<f64>,
}

impl Report {
    /// What that judge says.
    pub fn verdict(&self, judge: Judge) -> &Verdict {
        match judge {
            Judge::E2fsck => &self.verdicts.e2fsck,
            Judge::Strict => &self.verdicts.strict,
        }
    }

    /// Findings of problems that matter: all but notices and hints.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .list
            .iter()
            .filter(|finding| finding.problem.is_fault())
    }

    /// Says how fast the device is when it is read from one end to the other: each pass then has an ideal time.
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

/// One JSON document, with each finding that was kept.
///
/// # Errors
/// None that this program's values lead to.
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
        verdicts: &'a Verdicts,
        counts: Vec<Number>,
        findings: &'a [Finding],
        unjudged: Unjudged,
        #[serde(skip_serializing_if = "Option::is_none")]
        inventory: Option<Inventory>,
        passes: &'a [Cost],
        total: &'a Cost,
        memory: Memory,
        #[serde(skip_serializing_if = "Option::is_none")]
        sequential_rate: Option<f64>,
    }
    let verdict = report.verdict(judge);
    let count = |tally: &crate::Tally| Number {
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
        verdicts: &report.verdicts,
        counts: report.findings.tallies.iter().map(count).collect(),
        findings: &report.findings.list,
        unjudged: report.unjudged,
        inventory: report.inventory,
        passes: &report.passes,
        total: &report.total,
        memory: report.memory,
        sequential_rate: report.sequential_rate,
    })
}
