//! Phase lines in the layout of `xfs_repair -n`.

use std::fmt::Write as _;

use super::lines::{finding, first_of_each, name, printable};
use super::{Judge, Report};

/// The lines of `xfs_repair -n` for each phase, by the phase's name; findings follow the line of their phase.
const PHASES: [(&str, &[&str]); 7] = [
    ("1", &["Phase 1 - find and verify superblock..."]),
    (
        "2",
        &[
            "Phase 2 - using internal log",
            "        - zero log...",
            "        - scan filesystem freespace and inode maps...",
        ],
    ),
    (
        "3",
        &[
            "Phase 3 - for each AG...",
            "        - process known inodes and perform inode discovery...",
        ],
    ),
    ("4", &["Phase 4 - check for duplicate blocks..."]),
    ("5", &["Phase 5 - check realtime bitmap and summary..."]),
    (
        "6",
        &[
            "Phase 6 - check inode connectivity...",
            "        - traversing filesystem ...",
        ],
    ),
    ("7", &["Phase 7 - verify link counts..."]),
];

/// Phase by phase, with the first `list` findings of each problem (0: all) after the lines that `xfs_repair -n` prints for the phase.
///
/// Findings are worded as in the other formats. Passes of another format have their own headings.
pub fn xfs_repair(report: &Report, judge: Judge, list: usize) -> String {
    let mut out = String::new();
    let is_xfs = report
        .subject
        .filesystem
        .as_ref()
        .is_none_or(|fs| fs.format == "xfs");
    let shown = first_of_each(report, list);
    let mut rest = shown.into_iter().peekable();
    for cost in &report.passes {
        let lines = PHASES.iter().find(|phase| is_xfs && phase.0 == cost.pass);
        match lines {
            Some((_, lines)) => {
                for line in *lines {
                    let _ = writeln!(out, "{line}");
                }
                if cost.pass == "4" && !report.passes.iter().any(|pass| pass.pass == "5") {
                    skipped(&mut out, &mut rest, cost.pass);
                    let _ = writeln!(out, "No modify flag set, skipping phase 5");
                }
            }
            None if !is_xfs => {
                let _ = writeln!(out, "Pass {} - {}...", cost.pass, cost.title);
            }
            None => {}
        }
        skipped(&mut out, &mut rest, cost.pass);
    }
    for next in rest {
        line(&mut out, next);
    }
    let verdict = report.verdict(judge);
    let subject = printable(&report.subject.name);
    let _ = writeln!(
        out,
        "No modify flag set, skipping filesystem flush and exiting."
    );
    if !verdict.is_clean() {
        let unstable = if report.unstable { ", unstable" } else { "" };
        let _ = writeln!(out, "{subject}: {}{unstable}", verdict.word());
    }
    out
}

/// Prints the findings of a pass that come next.
fn skipped<'a>(
    out: &mut String,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a super::Finding>>,
    pass: &str,
) {
    while let Some(next) = rest.next_if(|next| next.problem.pass.name == pass) {
        line(out, next);
    }
}

fn line(out: &mut String, next: &super::Finding) {
    let _ = writeln!(
        out,
        "{}: {}: {}",
        name(next),
        next.problem.meaning,
        finding(next)
    );
}
