//! Each of forge's cases: the exit code that `xfs_repair -n` has for it, and the code that the case names.
//!
//! That `xfs_repair` ends as a case says is tested where the cases are, in forge.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io;

use check::report::Judge;
use forge::damage::xfs::{Base, Volume, all};
use forge::damage::{ImageFile, Medium};
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

/// An image whose changes are taken back.
struct Undo {
    image: ImageFile,
    before: Vec<(u64, Vec<u8>)>,
}

impl Medium for Undo {
    fn size(&self) -> u64 {
        self.image.size()
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.image.read(at, bytes)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut old = vec![0; bytes.len()];
        self.image.read(at, &mut old)?;
        self.before.push((at, old));
        self.image.write(at, bytes)
    }
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
        let file = File::options().read(true).write(true).open(&forged.image);
        let mut medium = Undo {
            image: ImageFile::new(file.unwrap()).unwrap(),
            before: Vec::new(),
        };
        let mut volume = Volume::open(&mut medium).unwrap();
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
        for (at, old) in medium.before.iter().rev() {
            medium.image.write(*at, old).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
