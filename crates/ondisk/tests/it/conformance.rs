//! The images of e2fsprogs' own tests, where they are at hand: damaged ones are walked without a panic, repaired
//! ones are found sound. They are GPL data and not part of this project; `FSLAB_CONFORMANCE` names the folder
//! that holds `images`, `generated` and `repaired`, each with `NAME.img.gz`, and `verdicts.tsv`.
use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Image, walk};

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("FSLAB_CONFORMANCE").map(PathBuf::from);
    if folder.is_none() {
        testkit::skip!("FSLAB_CONFORMANCE does not name the folder of conformance images");
    }
    folder
}

fn images(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut list: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path
                .file_name()?
                .to_str()?
                .strip_suffix(".img.gz")?
                .to_owned();
            Some((name, path))
        })
        .collect();
    list.sort();
    list
}

fn load(path: &Path) -> Image {
    let output = Command::new("gzip").arg("-dc").arg(path).output().unwrap();
    assert!(output.status.success(), "{}", path.display());
    Image {
        bytes: output.stdout,
    }
}

#[test]
fn damaged_images_are_walked() {
    let Some(folder) = folder() else { return };
    let mut walked = 0;
    let mut good: BTreeMap<&str, u32> = BTreeMap::new();
    for part in ["images", "generated"] {
        for (_, path) in images(&folder.join(part)) {
            let report = walk::walk(&load(&path));
            for (what, count) in report.good {
                *good.entry(what).or_default() += count;
            }
            walked += 1;
        }
    }
    println!("walked {walked} damaged images; held: {good:?}");
    assert!(walked > 100);
}

/// After e2fsck's repair every structure that we know must hold.
#[test]
fn repaired_images_are_sound() {
    let Some(folder) = folder() else { return };
    let verdicts = std::fs::read_to_string(folder.join("verdicts.tsv")).unwrap();
    let clean: Vec<&str> = verdicts
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|fields| fields.get(6) == Some(&"0"))
        .map(|fields| fields[0])
        .collect();
    let mut good: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut sound, mut failures) = (0, Vec::new());
    for (name, path) in images(&folder.join("repaired")) {
        if !clean.contains(&name.as_str()) {
            continue;
        }
        let mut report = walk::walk(&load(&path));
        for (what, count) in report.good {
            *good.entry(what).or_default() += count;
        }
        // e2fsck uses a backup when it must, but does not demand that the others are any good.
        report
            .problems
            .retain(|problem| !problem.starts_with("backup superblock"));
        match report.problems.first() {
            Some(first) => failures.push(format!("{name}: {} ({first})", report.problems.len())),
            None => sound += 1,
        }
    }
    println!("{sound} repaired images are sound; held: {good:?}");
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(sound > 100);
}
