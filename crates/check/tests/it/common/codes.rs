//! Which problems e2fsck and a report of ours name, in a form that can be compared.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::Path;

use check::ext4::e2fsck::problems::problem;
use check::{Class, Report};

/// Whether a code says that something is wrong, and is not what ends e2fsck: that is in its log only now and then.
pub(crate) fn counts(code: u32) -> bool {
    problem(code).is_some_and(|problem| matches!(problem.class, Class::Error | Class::Uncounted))
}

/// All codes in what `e2fsck -E problem_log=FILE` has written, in its order: banners and hints as well. None where it wrote nothing.
pub(crate) fn logged(log: &Path) -> Option<Vec<u32>> {
    let text = fs::read_to_string(log).ok()?;
    let codes = text.split("code=\"0x").skip(1);
    let codes = codes.map(|rest| {
        let digits = rest.split('"').next().unwrap_or_default();
        u32::from_str_radix(digits, 16).expect("a problem log holds codes")
    });
    Some(codes.collect())
}

/// Those codes of a report that the reference would raise as well and that count, in its order.
pub(crate) fn raised(report: &Report) -> Vec<u32> {
    let list = report.findings.list.iter();
    let end = list.clone().position(|finding| finding.reference_stops);
    list.take(end.map_or(usize::MAX, |end| end + 1))
        .filter(|finding| !finding.beyond_reference)
        .map(|finding| finding.problem.code)
        .filter(|code| counts(*code))
        .collect()
}

/// Names for codes.
pub(crate) fn names(codes: &[u32]) -> Vec<&'static str> {
    let name = |code: &u32| problem(*code).map_or("?", |problem| problem.name);
    codes.iter().map(name).collect()
}
