//! Every case, held against the codes that `fsck.ocfs2 -fn` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use fixtures::undo::Undo;
use forge::damage::ocfs2::{Base, Case, End, Volume, all};
use forge::ocfs2::FeatureLevel;

use testkit::fsck_ocfs2::{self, Ended, Limits};

use super::common::{Forged, forge, options, scratch, tools};

/// Every kind of file and tree that a case may need, in as few blocks as possible.
const PROFILE: &str = r#"
    files = 700
    per_directory = [["8-20", 4], ["190-260", 1]]
    file_size = [["0", 1], ["1-3k", 6], ["13k-90k", 3], ["3M-4M", 0.2]]
    [directories]
    fan_out = 5
    [names]
    length = "9-20"
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["3950-4000", 1]]
    [attributes]
    inode = 0.1
    block = 0.1
    [ageing]
    fragmented = 0.3
    pieces = "1-3"
"#;

/// A sound volume, and its folder.
fn base(base: Base) -> (PathBuf, tempfile::TempDir) {
    if base == Base::Quota {
        return with_quota();
    }
    let mut options = options("160M");
    options.block_size = Some(4096);
    options.cluster_size = Some(4096);
    options.local = true;
    let mut profile = PROFILE.to_owned();
    match base {
        Base::Rich => {}
        Base::Checksums => options.features = vec!["metaecc".to_owned()],
        Base::Old => {
            options.feature_level = FeatureLevel::MaxCompat;
            profile = profile
                .replace("inode = 0.1", "")
                .replace("block = 0.1", "");
        }
        Base::LargeClusters => {
            options.size = 512 << 20;
            options.cluster_size = Some(16_384);
        }
        Base::OneGroup => {
            options.size = 112 << 20;
            profile = profile.replace("files = 700", "files = 300");
        }
        Base::Quota => unreachable!("it is not forged"),
    }
    let Forged { image, dir, .. } = forge(&options, &profile).unwrap();
    (image, dir)
}

/// What mkfs.ocfs2 makes with quotas.
fn with_quota() -> (PathBuf, tempfile::TempDir) {
    let dir = scratch();
    let image = dir.path().join("image");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let status = Command::new("mkfs.ocfs2")
        .args(["-q", "-x", "-F", "-b", "4096", "-C", "4096", "-M", "local"])
        .args(["-J", "size=4M", "--fs-features=usrquota,grpquota,metaecc"])
        .arg(&image)
        .status()
        .unwrap();
    assert!(status.success());
    (image, dir)
}

/// What fsck.ocfs2 makes of an image: its end, and the codes.
fn judge(image: &Path) -> (Option<End>, BTreeSet<String>, String) {
    let limits = Limits {
        seconds: 60,
        ..Limits::default()
    };
    let run =
        fsck_ocfs2::run_within(image, limits).expect("mkfs.ocfs2 is there and fsck.ocfs2 is not");
    let end = match run.ended {
        Ended::Endless => None,
        Ended::Code(0) => Some(End::Complete),
        Ended::Code(code) if code > 128 => Some(End::Signal(code - 128)),
        Ended::Code(code) => Some(End::Exit(code)),
    };
    (end, run.codes.into_keys().collect(), run.text)
}

/// What is not as the case says. The image is sound again afterwards.
fn fault(case: &Case, image: &Path) -> Option<String> {
    let mut undo = Undo::open(image).unwrap();
    let made = Volume::open(&mut undo).and_then(|mut volume| case.apply(&mut volume));
    if let Err(error) = made {
        undo.back().unwrap();
        return Some(format!("{}: {error}", case.name));
    }
    let (end, found, text) = judge(image);
    undo.back().unwrap();
    let codes = case.also.iter().chain([&case.code]);
    let expected: BTreeSet<String> = codes
        .filter(|code| !code.is_empty())
        .map(|code| (*code).to_owned())
        .collect();
    let problems: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("Pass ") && !line.starts_with("  "))
        .skip(4)
        .take(12)
        .collect();
    (found != expected || end != Some(case.end)).then(|| {
        format!(
            "{}: {end:?} with {found:?} instead of {:?} with {expected:?}: {problems:#?}",
            case.name, case.end
        )
    })
}

#[test]
fn each_case_is_what_the_reference_prints() {
    if !tools() {
        return;
    }
    let folder = scratch();
    // FSLAB_CASE=part-of-a-name for some alone.
    let only = std::env::var("FSLAB_CASE").unwrap_or_default();
    let cases: Vec<&Case> = all().filter(|case| case.name.contains(&only)).collect();
    let mut bases = BTreeMap::new();
    for case in &cases {
        let name = format!("{:?}", case.base);
        bases.entry(name).or_insert_with(|| {
            let (image, dir) = base(case.base);
            let (end, codes, text) = judge(&image);
            assert_eq!((end, codes.len()), (Some(End::Complete), 0), "{text}");
            (image, dir)
        });
    }
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (cases, bases, wrong, folder) = (&cases, &bases, &wrong, folder.path());
            scope.spawn(move || {
                for case in cases.iter().skip(part).step_by(4) {
                    let base = format!("{:?}", case.base);
                    let image = folder.join(format!("{base}-{part}"));
                    if !image.exists() {
                        let mut copy = Command::new("cp");
                        copy.arg("--sparse=always").args([&bases[&base].0, &image]);
                        assert!(copy.status().unwrap().success());
                    }
                    wrong.lock().unwrap().extend(fault(case, &image));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn names_are_unique_and_short() {
    let mut seen = BTreeSet::new();
    for case in all() {
        assert!(seen.insert(case.name), "{} twice", case.name);
        assert!(case.about.len() <= 90, "{}", case.name);
    }
    assert!(forge::damage::all().all(|case| !seen.contains(case.name)));
}
