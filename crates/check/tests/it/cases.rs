//! Every named case of damage: the code it is made for is found, and the verdict is that of the e2fsck of this machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::debian;
use blockio::Buffered;
use check::ext4::check;
use check::ext4::e2fsck::problems::problem;
use check::report::Report;
use check::{Class, Options, Silent};
use fixtures::bases as base;
use forge::damage::{self, Case, Filesystem};
use testkit::reference::e2fsck;

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

fn ours(image: &Path) -> Report {
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    check(
        &Buffered::open(image).unwrap(),
        &options,
        &debian(),
        &Silent,
    )
    .unwrap()
}

fn is_1470() -> bool {
    let output = Command::new("e2fsck").arg("-V").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("e2fsck 1.47.0 "))
}

/// What is wrong with our answer to a case.
fn judge(case: &Case, image: &Path, reference: Option<i32>) -> Vec<String> {
    let report = ours(image);
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
    let notice = problem(case.code).is_some_and(|p| p.class == Class::Notice);
    let hidden = matches!(case.reference, damage::Reference::Silent(_));
    if !found && !notice && !hidden {
        wrong.push(format!("{}: not found; instead {codes:?}", case.name));
    }
    let code = i32::from(report.verdict(check::report::Judge::Reference).exit_code);
    if reference.is_some_and(|reference| reference != code) {
        wrong.push(format!(
            "{}: exit code {code}, e2fsck's {reference:?}; {codes:?}",
            case.name
        ));
    }
    wrong
}

/// Memory and a file that one case after the other is made in: fresh pages would take most of the time.
struct Place {
    bytes: Vec<u8>,
    file: File,
    image: PathBuf,
}

impl Place {
    fn new(image: PathBuf) -> Place {
        Place {
            bytes: Vec::new(),
            file: File::create(&image).unwrap(),
            image,
        }
    }

    /// Breaks a base as the case says, and judges both answers; none where the reference comes to no end.
    fn case_on(&mut self, case: &Case, base: &[u8], compare: bool) -> Option<Vec<String>> {
        self.bytes.clear();
        self.bytes.extend_from_slice(base);
        let mut fs = Filesystem::open(&mut self.bytes).unwrap();
        case.apply(&mut fs)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        self.file.set_len(self.bytes.len() as u64).unwrap();
        self.file.write_all_at(&self.bytes, 0).unwrap();
        let reference = compare.then(|| e2fsck::<&str>(&self.image, &[]).verdict());
        if reference == Some(None) {
            testkit::skip!("{}: e2fsck comes to no end of it", case.name);
            return None;
        }
        Some(judge(case, &self.image, reference.flatten()))
    }
}

#[test]
fn every_case_is_found_and_judged_as_e2fsck_does() {
    let folder = scratch();
    let compare = is_1470();
    if !compare {
        testkit::skip!("the comparison of verdicts, which needs e2fsck 1.47.0");
    }
    let mut bases = Bases(BTreeMap::new());
    for case in damage::all() {
        bases.get(case.base, folder.path());
    }
    let all: Vec<_> = damage::all().collect();
    let (next, judged) = (AtomicUsize::new(0), Mutex::new((0, Vec::new())));
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let mut place = Place::new(folder.path().join(format!("case-{worker}")));
            let (all, bases, next, judged) = (&all, &bases, &next, &judged);
            scope.spawn(move || {
                while let Some(case) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(wrong) = place.case_on(case, &bases.0[case.base], compare) {
                        let mut judged = judged.lock().unwrap();
                        judged.0 += 1;
                        judged.1.extend(wrong);
                    }
                }
            });
        }
    });
    let (cases, wrong) = judged.into_inner().unwrap();
    println!("{cases} cases, {} differences", wrong.len());
    assert!(cases > 200 && wrong.is_empty(), "{}", wrong.join("\n"));
}
