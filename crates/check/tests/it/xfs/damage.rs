//! Each of forge's cases: the exit code that `xfs_repair -n` has for it, and the code that the case names.
//!
//! That `xfs_repair` ends as a case says is tested where the cases are, in forge.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use check::report::Judge;
use fixtures::undo::Undo;
use forge::damage::xfs::{Base, Volume, all};
use testkit::xfs_profile::every_form;

use super::volume::{Forged, forged, lines, report, tools};

fn base(base: Base) -> Forged {
    let features = match base {
        Base::Plain => "",
        Base::Mapped => "rmapbt",
        Base::Old => "nocrc",
    };
    forged("400M", features, &every_form(0.9, "1-2"))
}

/// What else a case may be called: the field that it changes makes something before it impossible.
const OTHERWISE: [(&str, &str); 11] = [
    ("XFS-RMAP-HIGH-KEY", "XFS-RMAP-HIGH-REC"),
    ("XFS-INODE-NEXTENTS", "XFS-EXT-ORDER"),
    ("XFS-ROOT-TYPE", "XFS-INODE-FORMAT"),
    ("XFS-LINK-LONG", "XFS-LINK-FORMAT-SIZE"),
    ("XFS-EXT-USED", "XFS-EXT-FREE"),
    ("XFS-BMBT-RIGHT", "XFS-BMBT-LAST-SIBLING"),
    ("XFS-DIR-SF-I8COUNT", "XFS-DIR-SF-INO"),
    ("XFS-DIR-ENT-LEN0", "XFS-DIR-BLOCK-WALK"),
    ("XFS-DIR-ENT-SELF", "XFS-CONN-TWICE"),
    ("XFS-DIR-FREE-USED", "XFS-DIR-FREE-HEADER"),
    ("XFS-ATTR-RMT-BLOCK", "XFS-ATTR-LEAF-CRC"),
];

/// Whether a finding is what a case calls by this code: one message of `xfs_repair` has several codes here.
fn is_meant(code: &str, found: &str) -> bool {
    let ends = |list: &[&str]| list.iter().any(|end| found.ends_with(end));
    match code {
        "XFS-AGBT-SUSPECT" => ends(&[
            "-CRC",
            "-BLKNO",
            "-BLOCK-OWNER",
            "-UUID",
            "-SIBLING-RANGE",
            "-REFUSED",
        ]),
        "XFS-INOBT-NRECS" => found == "XFS-INOBT-HEADER",
        _ => found == code || OTHERWISE.contains(&(code, found)),
    }
}

#[test]
fn every_case_has_its_exit_code_and_its_code() {
    if !tools() {
        return;
    }
    let mut images: BTreeMap<Base, Forged> = BTreeMap::new();
    let mut wrong = String::new();
    for case in all() {
        let forged = images.entry(case.base).or_insert_with(|| base(case.base));
        let mut undo = Undo::open(&forged.image).unwrap();
        let mut volume = Volume::open(&mut undo).unwrap();
        case.apply(&mut volume).unwrap();
        let found = report(&forged.image, 2);
        let code = found.verdict(Judge::Reference).exit_code;
        let expected = u8::from(case.says.is_some());
        let is_found = found
            .findings
            .tallies
            .iter()
            .any(|tally| is_meant(case.code, tally.problem.name));
        if code != expected || !is_found {
            writeln!(
                wrong,
                "## {} {}: exit {code}, not {expected}, found {is_found}",
                case.name, case.code
            )
            .unwrap();
            for line in lines(&found).iter().take(4) {
                writeln!(wrong, "    {line}").unwrap();
            }
        }
        undo.back().unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
}
