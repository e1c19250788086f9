//! For people: what was checked, the verdict, the findings, what to do next, the cost. 78 columns, apart from longer values.

use std::fmt::Write as _;

use super::advice;
use super::lines::{self, bytes, grouped, plural};
use super::{Filesystem, Inventory, Judge, Report, Step};
use crate::frame::cost::Cost;
use crate::frame::finding::Finding;
use crate::frame::log::Tally;
use crate::frame::problem::{Class, Severity};

/// Affected files that [`brief`] lists.
const BRIEF_FILES: usize = 10;
/// Problems that [`brief`] lists, each in a line; the rest are counted.
const BRIEF: usize = 12;

/// What the text has besides the verdict and the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Most findings of each problem; 0: all that were kept.
    pub list: usize,
    /// Whether time, bytes and memory of each pass are in it.
    pub costs: bool,
}

/// The report for people.
pub fn text(report: &Report, judge: Judge, shown: Shown) -> String {
    let mut out = String::new();
    subject(&mut out, report);
    verdict(&mut out, report, judge);
    affected(&mut out, report, shown.list);
    findings(&mut out, report, shown.list);
    next(&mut out, &report.next);
    if let Some(inventory) = &report.inventory {
        contents(&mut out, inventory, report.subject.filesystem.as_ref());
    }
    if shown.costs {
        costs(&mut out, report);
    } else {
        let _ = writeln!(
            out,
            "\ntime {:.2} s, {} read, memory {} (--costs: each pass)",
            report.total.wall_s,
            bytes(report.total.bytes),
            bytes(report.memory.peak)
        );
    }
    // Labels and names come from the image.
    words::printable_lines(&out).into_owned()
}

/// The verdict, a line for each kind of fault, and what to do next.
pub fn brief(report: &Report, judge: Judge) -> String {
    let mut out = String::new();
    let verdict = report.verdict(judge);
    let format = report
        .subject
        .filesystem
        .as_ref()
        .map_or("no usable superblock", |fs| fs.format);
    let unstable = if report.unstable { ", unstable" } else { "" };
    let truncated = if advice::is_truncated(report) {
        ", truncated"
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "{}: {format}{truncated}: {}{unstable}, exit code {}",
        lines::printable(&report.subject.name),
        verdict.word(),
        verdict.exit_code
    );
    affected(&mut out, report, BRIEF_FILES);
    if !report.affected.files.is_empty() {
        out.push_str("\nfaults\n");
    }
    let mut faults: Vec<&Tally> = in_order(report);
    faults.retain(|tally| tally.problem.is_fault());
    faults.sort_by_key(|tally| tally.problem.severity as u8);
    for tally in faults.iter().take(BRIEF) {
        let problem = tally.problem;
        let lead = format!(
            "  {}, {}: ",
            kind(problem.class, problem.severity),
            plural(tally.count, "time")
        );
        out.push_str(&words::wrap(
            &lead,
            4,
            &format!("{} ({})", problem.meaning, problem.name),
            78,
        ));
    }
    if faults.len() > BRIEF {
        let _ = writeln!(
            out,
            "  and {} more",
            plural((faults.len() - BRIEF) as u64, "kind")
        );
    }
    next(&mut out, &report.next);
    words::printable_lines(&out).into_owned()
}

/// The first files of which something is wrong, the worst first.
fn affected(out: &mut String, report: &Report, list: usize) {
    let affected = &report.affected;
    if affected.files.is_empty() {
        return;
    }
    out.push_str("\naffected files\n");
    let limit = if list == 0 { usize::MAX } else { list };
    for file in affected.files.iter().take(limit) {
        let _ = writeln!(out, "  {}", lines::affected(file));
    }
    let more = affected.files.len().saturating_sub(limit) as u64;
    if more > 0 {
        let _ = writeln!(out, "  and {}", plural(more, "other"));
    }
    if affected.more > 0 {
        let _ = writeln!(
            out,
            "  and what {} of that were not kept name (--keep)",
            plural(affected.more, "finding")
        );
    }
}

/// What to do next; nothing where nothing is wrong. Commands are on lines of their own and never broken.
fn next(out: &mut String, steps: &[Step]) {
    if steps.is_empty() {
        return;
    }
    out.push_str("\nwhat to do next\n");
    for (number, step) in (1..).zip(steps) {
        out.push_str(&words::wrap(&format!("  {number}. "), 5, &step.what, 78));
        for command in &step.commands {
            let _ = writeln!(out, "       {command}");
        }
    }
}

fn subject(out: &mut String, report: &Report) {
    let name = lines::printable(&report.subject.name);
    let Some(fs) = &report.subject.filesystem else {
        let _ = writeln!(
            out,
            "{name}: {}, no usable superblock",
            bytes(report.subject.bytes)
        );
        return;
    };
    let label = if fs.label.is_empty() {
        String::new()
    } else {
        format!(" \"{}\"", lines::printable(&fs.label))
    };
    let size = fs.blocks.saturating_mul(fs.block_size.into());
    let truncated = if advice::is_truncated(report) {
        let (end, size) = (bytes(report.subject.bytes), bytes(size));
        format!(", TRUNCATED: it ends at {end} of {size}")
    } else {
        String::new()
    };
    let _ = writeln!(
        out,
        "{name}: {}{label}, {} in blocks of {}{truncated}",
        fs.format,
        bytes(size),
        bytes(fs.block_size.into())
    );
    out.push_str(&words::wrap("  features: ", 4, &fs.features.join(" "), 78));
}

fn verdict(out: &mut String, report: &Report, judge: Judge) {
    let verdict = report.verdict(judge);
    let _ = write!(
        out,
        "\nverdict ({}): {}, exit code {}",
        lines::judge(report, judge),
        verdict.word(),
        verdict.exit_code
    );
    out.push('\n');
    if report.unstable {
        let _ = writeln!(out, "  unstable: {}", lines::unstable(report));
    }
    let strict = &report.verdicts.strict;
    if let Some(reference) = report.reference {
        if judge == Judge::Reference && strict.is_clean() != verdict.is_clean() {
            let _ = writeln!(out, "  strict: {}; {}", strict.word(), reference.lenience);
        }
        if let Some(problem) = verdict.stopped_at {
            let _ = writeln!(
                out,
                "  {} ends at {problem}; this check continued past it",
                reference.command
            );
        }
    }
    if report.unjudged.names > 0 {
        let _ = writeln!(
            out,
            "  not judged: the order of {} (case folding beyond ASCII, or a key is needed)",
            plural(report.unjudged.names, "name")
        );
    }
    let mut by = [0_u64; 4];
    let faults = || {
        report
            .findings
            .tallies
            .iter()
            .filter(|t| t.problem.is_fault())
    };
    for tally in faults() {
        by[tally.problem.severity as usize] += tally.count;
    }
    if faults().next().is_none() {
        return;
    }
    let parts = [
        (Severity::Data, "data at risk"),
        (Severity::Metadata, "metadata"),
        (Severity::Accounting, "accounting"),
        (Severity::Cosmetic, "cosmetic"),
    ];
    let parts: Vec<_> = parts
        .iter()
        .filter(|(severity, _)| by[*severity as usize] > 0)
        .map(|(severity, word)| format!("{word} {}", grouped(by[*severity as usize])))
        .collect();
    let _ = writeln!(
        out,
        "  {} of {}: {}",
        plural(by.iter().sum(), "finding"),
        plural(faults().count() as u64, "kind"),
        parts.join(", ")
    );
}

fn findings(out: &mut String, report: &Report, list: usize) {
    let mut pass = None;
    let (hints, others): (Vec<&Tally>, Vec<&Tally>) = in_order(report)
        .into_iter()
        .partition(|tally| is_idle(report, tally));
    for tally in others {
        let at = tally.problem.pass;
        if pass != Some(at.number) {
            pass = Some(at.number);
            let _ = writeln!(out, "\n{}: {}", at.heading, at.title);
        }
        let problem = tally.problem;
        let _ = writeln!(out, "  {}", problem.meaning);
        let _ = writeln!(
            out,
            "    {} 0x{:06x}, {}, {}",
            problem.name,
            problem.code,
            kind(problem.class, problem.severity),
            plural(tally.count, "time")
        );
        let kept: Vec<&Finding> = report
            .findings
            .list
            .iter()
            .filter(|finding| finding.problem.code == problem.code)
            .collect();
        // What all of them say is said once.
        let common = common_note(&kept);
        if let Some(note) = common {
            out.push_str(&words::wrap("    ", 4, &lines::printable(note), 78));
        }
        let limit = if list == 0 { usize::MAX } else { list };
        let mut shown = 0;
        for finding in kept.into_iter().take(limit) {
            shown += 1;
            let note = finding.note.as_deref().filter(|_| common.is_none());
            let _ = writeln!(
                out,
                "      {}{}",
                lines::of(finding, note),
                mark(report, finding)
            );
        }
        if tally.count > shown {
            let _ = writeln!(out, "      and {} more", grouped(tally.count - shown));
        }
    }
    if !hints.is_empty() {
        let count = hints.iter().map(|tally| tally.count).sum();
        let names: Vec<&str> = hints.iter().map(|tally| tally.problem.name).collect();
        let lead = format!("\n{} (--format json lists them): ", plural(count, "hint"));
        out.push_str(&words::wrap(&lead, 2, &names.join(", "), 78));
    }
}

/// Whether nothing follows from a problem: it is a hint, and one that the reference program does not give.
fn is_idle(report: &Report, tally: &Tally) -> bool {
    let mut list = report.findings.list.iter();
    let given = |finding: &Finding| finding.problem == tally.problem && !finding.beyond_reference;
    tally.problem.class == Class::Optional && !list.any(given)
}

/// The note that several findings have in common, if they have.
fn common_note<'a>(findings: &[&'a Finding]) -> Option<&'a str> {
    let [first, rest @ ..] = findings else {
        return None;
    };
    let note = first.note.as_deref()?;
    let same = rest.iter().all(|next| next.note.as_deref() == Some(note));
    (same && !rest.is_empty()).then_some(note)
}

/// Problems in the order of their first findings.
fn in_order(report: &Report) -> Vec<&Tally> {
    let mut seen: Vec<&Tally> = Vec::new();
    for finding in report.shown() {
        let code = finding.problem.code;
        if seen.iter().any(|tally| tally.problem.code == code) {
            continue;
        }
        seen.extend(
            report
                .findings
                .tallies
                .iter()
                .find(|t| t.problem.code == code),
        );
    }
    // At least one finding of each problem is kept, so none is missing.
    seen.sort_by_key(|tally| tally.problem.pass.number);
    seen
}

/// How much a problem matters.
fn kind(class: Class, severity: Severity) -> &'static str {
    match (class, severity) {
        (Class::Notice | Class::Repair | Class::Dead, _) => "notice",
        (Class::Optional, _) => "hint",
        (_, Severity::Data) => "data at risk",
        (_, Severity::Metadata) => "metadata",
        (_, Severity::Accounting) => "accounting",
        (_, Severity::Cosmetic) => "cosmetic",
    }
}

/// What the reference program does at this finding, where that is not to report it and go on.
fn mark(report: &Report, finding: &Finding) -> String {
    let Some(reference) = report.reference else {
        return String::new();
    };
    if finding.reference_stops {
        format!(" [{} ends here]", reference.command)
    } else if finding.beyond_reference {
        format!(" [{} does not look for this]", reference.command)
    } else {
        String::new()
    }
}

fn contents(out: &mut String, inventory: &Inventory, fs: Option<&Filesystem>) {
    let _ = write!(out, "\nin use: {}", plural(inventory.files.inodes, "inode"));
    if let Some(fs) = fs {
        let _ = write!(
            out,
            " of {}, {} of {} blocks",
            grouped(fs.inodes),
            grouped(inventory.blocks),
            grouped(fs.blocks)
        );
    }
    out.push('\n');
    let files = &inventory.files;
    let kinds = [
        (files.regular, "regular"),
        (files.directories, "directories"),
        (files.symlinks, "symlinks"),
        (files.char_devices, "character devices"),
        (files.block_devices, "block devices"),
        (files.fifos, "fifos"),
        (files.sockets, "sockets"),
        (files.fragmented_files, "fragmented"),
    ];
    let words: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{} {kind},", grouped(*count)))
        .collect();
    let mut words = words;
    if let Some(last) = words.last_mut() {
        last.pop();
    }
    out.push_str(&words::wrap("  ", 4, &words.join(" "), 78));
}

/// One row for each pass.
fn costs(out: &mut String, report: &Report) {
    let _ = writeln!(
        out,
        "\npass   wall s  user s   sys s  wait s     read   device requests   mean  seeks"
    );
    for cost in report.passes.iter().chain([&report.total]) {
        row(out, cost);
    }
    for cost in &report.passes {
        if cost.objects > 0 && cost.wall_s > 0.0 {
            let ideal = cost
                .ideal_s
                .map_or_else(String::new, |ideal| format!("; ideal {ideal:.2} s"));
            let _ = writeln!(
                out,
                "{}: {} {}, {} per second{ideal}",
                cost.pass,
                grouped(cost.objects),
                cost.objects_are,
                grouped((cost.objects as f64 / cost.wall_s) as u64)
            );
        }
    }
    if let Some(rate) = report.sequential_rate {
        let _ = writeln!(
            out,
            "ideal: all bytes of the pass at {}/s, the rate of a sequential read",
            bytes(rate as u64)
        );
    }
    let stated = report
        .memory
        .stated_total
        .map_or_else(String::new, |stated| {
            format!(" of {} estimated", bytes(stated))
        });
    let _ = writeln!(out, "memory: {} peak{stated}", bytes(report.memory.peak));
}

fn row(out: &mut String, cost: &Cost) {
    let device = cost.device_bytes.map_or_else(|| "?".into(), bytes);
    let _ = writeln!(
        out,
        "{:<5} {:>7.2} {:>7.2} {:>7.2} {:>7.2} {:>8} {:>8} {:>8} {:>6} {:>6}",
        cost.pass,
        cost.wall_s,
        cost.user_s,
        cost.system_s,
        cost.io_wait_s,
        bytes(cost.bytes).replace(' ', ""),
        device.replace(' ', ""),
        cost.requests,
        bytes(cost.mean_request as u64)
            .replace(' ', "")
            .replace("iB", ""),
        cost.seeks
    );
}
