//! The images of e2fsprogs' own tests, where they are at hand: the verdict of each is the reference's, the repaired ones are
//! clean, nothing panics or hangs.
//!
//! They are GPL data and no part of this project; `FSLAB_CONFORMANCE` names the folder that holds `images`, `generated`
//! and `repaired`, each with `NAME.img.gz`, and `verdicts.tsv`. Without it the tests say that they were skipped. Which
//! problem comes first is asked of the e2fsck of this machine (`-E problem_log`), where there is one.
use fixtures::problem_codes as codes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use check::ext4::e2fsck::problems::problem;
use check::ext4::{self, ExternalJournal, Reference, check};
use check::report::Report;
use check::{Options, Problem, Silent};
use testkit::reference::e2fsck;

/// No image of these is so large that a check takes longer.
const LONGEST: Duration = Duration::from_secs(60);

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("FSLAB_CONFORMANCE").map(PathBuf::from);
    if folder.is_none() {
        testkit::skip!("FSLAB_CONFORMANCE does not name the folder of conformance images");
    }
    folder
}

/// The row of an image in verdicts.tsv, by column.
type Row = BTreeMap<String, String>;

fn rows(folder: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.join("verdicts.tsv")).unwrap();
    let mut lines = text.lines();
    let names: Vec<_> = lines.next().unwrap().split('\t').collect();
    lines
        .map(|line| {
            let values = line.split('\t').chain(std::iter::repeat(""));
            names
                .iter()
                .zip(values)
                .map(|(name, value)| ((*name).to_owned(), value.to_owned()))
                .collect()
        })
        .collect()
}

/// Unpacks an image as a sparse file.
fn unpack(packed: &Path, image: &Path) {
    let script = "gzip -dc \"$1\" | dd of=\"$2\" bs=4k conv=sparse status=none iflag=fullblock";
    let status = Command::new("sh")
        .args(["-c", script, "sh"])
        .args([packed, image])
        .status();
    assert!(status.unwrap().success(), "{}", packed.display());
}

/// The verdict on an image, with its journal where that is one of its own.
fn ours(image: &Path, journal: Option<&Path>, reference: Reference) -> Report {
    let opened = blockio::open(image, blockio::Mode::Buffered).unwrap();
    let options = Options {
        threads: 2,
        ..Options::default()
    };
    let own = ext4::Options {
        reference,
        journal: journal.map(|path| ExternalJournal::open(path).unwrap()),
        ..ext4::Options::default()
    };
    let begin = Instant::now();
    let report = check(&*opened.source, &options, &own, &Silent).unwrap();
    assert!(begin.elapsed() < LONGEST, "{}", image.display());
    report
}

/// The faults that the reference logs, in its order; none where it wrote no log. What ends it is missing.
fn logged(image: &Path, journal: Option<&Path>, log: &Path) -> Option<Vec<&'static Problem>> {
    let _ = std::fs::remove_file(log);
    let mut options = vec!["-E".into(), format!("problem_log={}", log.display())];
    if let Some(path) = journal {
        options.extend(["-j".into(), path.display().to_string()]);
    }
    e2fsck(image, &options);
    let codes = codes::logged(log)?.into_iter().filter_map(problem);
    Some(codes.filter(|problem| problem.is_fault()).collect())
}

/// How many agree, and a line on each that does not.
#[derive(Default)]
struct Score {
    verdicts: (u32, u32),
    firsts: (u32, u32),
    differ: Vec<String>,
}

impl Score {
    fn verdict(&mut self, image: &str, ours: u8, theirs: &str) {
        let agree = ours.to_string() == theirs;
        self.verdicts.0 += u32::from(agree);
        self.verdicts.1 += 1;
        if !agree {
            self.differ.push(format!(
                "{image}: exit code {ours}, the reference's {theirs}"
            ));
        }
    }

    fn first(&mut self, image: &str, ours: Option<&str>, theirs: Option<&str>) {
        let agree = ours == theirs;
        self.firsts.0 += u32::from(agree);
        self.firsts.1 += 1;
        if !agree {
            self.differ.push(format!(
                "{image}: begins with {}, the reference with {}",
                ours.unwrap_or("nothing"),
                theirs.unwrap_or("nothing")
            ));
        }
    }

    fn print(&self) {
        for line in &self.differ {
            println!("{line}");
        }
        println!("verdicts equal: {} of {}", self.verdicts.0, self.verdicts.1);
        println!(
            "first problem equal: {} of {}",
            self.firsts.0, self.firsts.1
        );
    }
}

fn first(report: &Report) -> Option<&'static str> {
    let fault = |finding: &&check::Finding| !finding.beyond_reference;
    report
        .faults()
        .find(fault)
        .map(|finding| finding.problem.name)
}

/// The journal beside an image, unpacked.
fn outside(folder: &Path, image: &str, scratch: &Path) -> Option<PathBuf> {
    let packed = folder.join(format!("{image}.journal.img.gz"));
    let journal = scratch.join("journal");
    let _ = std::fs::remove_file(&journal);
    packed.exists().then(|| {
        unpack(&packed, &journal);
        journal
    })
}

fn packed(folder: &Path, image: &str) -> PathBuf {
    let part = if image.contains('/') { "" } else { "images" };
    folder.join(part).join(format!("{image}.img.gz"))
}

#[test]
fn each_image_has_the_references_verdict() {
    let Some(folder) = folder() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (image, log) = (scratch.path().join("image"), scratch.path().join("log"));
    let (mut newest, mut debian) = (Score::default(), Score::default());
    for row in rows(&folder) {
        let name = &row["image"];
        let _ = std::fs::remove_file(&image);
        unpack(&packed(&folder, name), &image);
        let journal = outside(&folder.join("images"), name, scratch.path());
        let journal = journal.as_deref();
        let report = ours(&image, journal, Reference::E2fsck1474);
        if !row["notes"].is_empty() {
            // The reference crashes or never ends; the image is damaged all the same.
            let strict = &report.verdicts.strict;
            assert!(!strict.is_clean(), "{name}");
            continue;
        }
        newest.verdict(
            name,
            report.verdict(check::report::Judge::Reference).exit_code,
            &row["rc_1.47.4"],
        );
        let strict = if row["strict"] == "clean" {
            "clean"
        } else {
            "damaged"
        };
        let found = if report.verdicts.strict.is_clean() {
            "clean"
        } else {
            "damaged"
        };
        if strict != found {
            newest
                .differ
                .push(format!("{name}: strictly {found}, should be {strict}"));
        }
        let older = ours(&image, journal, Reference::E2fsck1470);
        debian.verdict(
            name,
            older.verdict(check::report::Judge::Reference).exit_code,
            &row["rc_1.47.0"],
        );
        if let Some(theirs) = logged(&image, journal, &log) {
            let ends = || row["pass0_or_abort"].split(',').find_map(of_name);
            let theirs = theirs.first().copied().or_else(ends);
            debian.first(name, first(&older), theirs.map(|problem| problem.name));
        }
    }
    newest.print();
    println!("e2fsck 1.47.0:");
    debian.print();
    assert!(newest.verdicts.1 > 100 && debian.verdicts.1 > 100);
    assert_eq!(newest.verdicts.0, newest.verdicts.1);
    assert_eq!(debian.verdicts.0, debian.verdicts.1);
    // 95 in a hundred.
    assert!(debian.firsts.0 * 100 >= debian.firsts.1 * 95);
}

fn of_name(name: &str) -> Option<&'static Problem> {
    let name = name.strip_prefix("PR_")?;
    check::ext4::e2fsck::problems::ALL
        .iter()
        .find(|problem| problem.name == name)
        .copied()
}

#[test]
fn every_repaired_image_is_clean() {
    let Some(folder) = folder() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("image");
    let (mut clean, mut differ) = (0, Vec::new());
    for row in rows(&folder) {
        let packed = folder
            .join("repaired")
            .join(format!("{}.img.gz", row["image"]));
        if !packed.exists() || row["repaired_rc"] != "0" {
            continue;
        }
        let _ = std::fs::remove_file(&image);
        unpack(&packed, &image);
        let journal = outside(&folder.join("repaired"), &row["image"], scratch.path())
            .or_else(|| outside(&folder.join("images"), &row["image"], scratch.path()));
        let report = ours(&image, journal.as_deref(), Reference::E2fsck1474);
        if report.verdict(check::report::Judge::Reference).is_clean() {
            clean += 1;
        } else {
            differ.push(format!("{}: {:?}", row["image"], report.findings.list));
        }
    }
    for line in &differ {
        println!("{line}");
    }
    println!(
        "repaired images that are clean: {clean} of {}",
        clean + differ.len()
    );
    assert!(clean > 90 && differ.is_empty());
}
