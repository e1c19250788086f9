//! Every named case of damage: the code it is made for is found, and the verdict is that of the e2fsck of this machine.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use blockio::Ram;
use check::ext4::{Options, Reference, check};
use check::report::Report;
use check::{Class, Problem, Unwatched};
use forge::damage::{self, Case, Filesystem, base};

/// A folder in memory where there is one: e2fsprogs waits for the disk after every step.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// The sound filesystems, made once.
struct Bases(BTreeMap<&'static str, Vec<u8>>);

impl Bases {
    fn get(&mut self, name: &'static str, folder: &Path) -> &[u8] {
        self.0.entry(name).or_insert_with(|| {
            let made = base::find(name).unwrap().make(folder);
            let image = made.unwrap_or_else(|error| panic!("{error}"));
            std::fs::read(image).unwrap()
        })
    }
}

fn ours(bytes: &[u8]) -> Report {
    let options = Options {
        threads: 2,
        reference: Reference::E2fsck1470,
        ..Options::default()
    };
    check(&Ram::new(bytes), &options, &Unwatched).unwrap()
}

/// e2fsck's exit code; none when it crashes or never ends. Only 1.47.0 is the one that is followed here.
fn e2fsck(bytes: &[u8], image: &Path) -> Option<i32> {
    std::fs::write(image, bytes).unwrap();
    let output = Command::new("timeout")
        .args(["5", "e2fsck", "-fn"])
        .arg(image)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let crashed = text.contains("Signal") || text.contains("Internal error");
    output.status.code().filter(|code| *code < 100 && !crashed)
}

fn is_1470() -> bool {
    let output = Command::new("e2fsck").arg("-V").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("e2fsck 1.47.0 "))
}

/// Cases in which the verdicts differ, and why (docs/check.md says so, too).
const DIFFER: [(&str, &str); 1] = [(
    "1-read-ea-block",
    "e2fsck goes on with what its buffer held before the read that failed",
)];

/// What is wrong with our answer to a case.
fn judge(case: &Case, bytes: &[u8], reference: Option<i32>) -> Vec<String> {
    let report = ours(bytes);
    let codes: Vec<_> = report
        .findings
        .list
        .iter()
        .map(|f| f.problem.name)
        .collect();
    let mut wrong = Vec::new();
    let found = report
        .findings
        .list
        .iter()
        .any(|f| f.problem.code == case.code);
    // Banners and what e2fsck would add by itself are nothing to find, and what it meets first may hide the rest.
    let notice = Problem::of(case.code).is_some_and(|p| p.class == Class::Notice);
    let hidden = matches!(case.reference, damage::Reference::Silent(_));
    if !found && !notice && !hidden {
        wrong.push(format!("{}: not found; instead {codes:?}", case.name));
    }
    let code = i32::from(report.verdicts.e2fsck.exit_code);
    let known = DIFFER.iter().any(|(name, _)| *name == case.name);
    if !known && reference.is_some_and(|reference| reference != code) {
        wrong.push(format!(
            "{}: exit code {code}, e2fsck's {reference:?}; {codes:?}",
            case.name
        ));
    }
    wrong
}

#[test]
fn every_case_is_found_and_judged_as_e2fsck_does() {
    let folder = scratch();
    let image = folder.path().join("case");
    let mut bases = Bases(BTreeMap::new());
    let compare = is_1470();
    if !compare {
        println!("skipped: the comparison of verdicts, which needs e2fsck 1.47.0");
    }
    let (mut cases, mut wrong) = (0, Vec::new());
    for case in damage::all() {
        let mut bytes = bases.get(case.base, folder.path()).to_vec();
        let mut fs = Filesystem::open(&mut bytes).unwrap();
        case.apply(&mut fs)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let reference = if compare {
            e2fsck(&bytes, &image)
        } else {
            None
        };
        if compare && reference.is_none() {
            println!("skipped: {}: e2fsck comes to no end of it", case.name);
            continue;
        }
        for line in judge(case, &bytes, reference) {
            println!("{line}");
            wrong.push(line);
        }
        cases += 1;
    }
    println!("{cases} cases, {} differences", wrong.len());
    assert!(cases > 200 && wrong.is_empty());
}
