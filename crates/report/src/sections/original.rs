//! What IOR and mdtest print of their repetitions, as a section.

use crate::doc::{Block, Section};
use crate::original::Original;
use crate::tool_output::{ior, mdtest};

/// What the lines of IOR are.
const IOR: &str = "A block is a repetition, a cell a test. Deviations are with n. MiB/s and OPs of the summary are of the whole of an access, IOPS of \
     the upper tables of its transfers alone. What IOR adds of a stonewall with a wear-out was not measured.";
/// What the lines of mdtest are.
const MDTEST: &str = "A block is an iteration. Rates are all items over the longest time of a rank, deviations with n - 1. A phase that was not run has 0.";

/// The section.
pub(crate) fn section(found: &Original) -> Section<'static> {
    let title = match (found.ior.is_empty(), found.mdtest.is_empty()) {
        (false, false) => "As IOR and mdtest print it",
        (true, _) => "As mdtest prints it",
        (_, true) => "As IOR prints it",
    };
    let mut section = Section::new("original", title).nav(title);
    let blocks = &mut section.blocks;
    if !found.ior.is_empty() {
        blocks.push(Block::Para(IOR.to_owned()));
        for (number, (name, test)) in found.ior.iter().enumerate() {
            blocks.push(Block::Minor(format!("Test {number}: {name}")));
            blocks.push(Block::Listing(ior::results(test)));
        }
        blocks.push(Block::Minor("Summary of all tests:".to_owned()));
        blocks.push(Block::Listing(found.ior_summary()));
    }
    if !found.mdtest.is_empty() {
        blocks.push(Block::Para(MDTEST.to_owned()));
        for (name, test) in &found.mdtest {
            blocks.push(Block::Minor(format!("{name}: {}", mdtest::tasks(test))));
            blocks.push(Block::Listing(mdtest::summary(test)));
        }
    }
    section
}
