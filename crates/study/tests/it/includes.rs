//! Files that build upon one another.

use std::fs;
use std::path::Path;

use study::{Overrides, Plan, Study, WorkloadSpec, plan};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn load(folder: &Path, name: &str) -> Result<Study, String> {
    let path = folder.join(name);
    Study::load(path.to_str().unwrap()).map_err(|error| {
        error
            .to_string()
            .replace(&format!("{}/", folder.display()), "")
    })
}

fn planned(study: &Study, profile: &str) -> Plan {
    let overrides = Overrides {
        profile: Some(profile.to_owned()),
        ..Overrides::default()
    };
    plan(study, &overrides).unwrap()
}

const BASE: &str = r#"
name = "base"
title = "t"
question = "q"
include = ["defaults.toml"]
[factors]
filesystem = ["ext4"]
[[workload]]
name = "io"
kind = "throughput"
size = "8m"
threads = 2
"#;

#[test]
fn a_study_changes_what_it_includes_by_key_and_by_name() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "parts/base.toml", BASE);
    let over = "include = [\"parts/base.toml\"]\nname = \"over\"\n\
        [filesystem.ext4]\nmount = \"noatime,nodiratime\"\n\
        [[workload]]\nname = \"io\"\nthreads = 3\n";
    write(folder.path(), "over.toml", over);
    let study = load(folder.path(), "over.toml").unwrap();
    assert_eq!((study.name(), study.title()), ("over", "t"));
    let plan = planned(&study, study::BASE);
    assert_eq!(plan.filesystems["ext4"].mount, ["noatime", "nodiratime"]);
    assert!(
        !plan.filesystems["ext4"].about.is_empty(),
        "kept from the defaults"
    );
    let WorkloadSpec::Throughput(spec) = &plan.cells[0].workload else {
        panic!("{plan:?}");
    };
    assert_eq!((spec.threads, spec.size.get()), (3, 8 << 20));
}

#[test]
fn a_file_beside_the_study_hides_the_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x.toml", BASE);
    write(
        folder.path(),
        "defaults.toml",
        "[filesystem.ext4]\nkind = \"ext4\"\nmkfs = \"-b 1024\"",
    );
    let plan = planned(&load(folder.path(), "x.toml").unwrap(), study::BASE);
    assert_eq!(plan.filesystems["ext4"].mkfs, ["-b", "1024"]);
}

#[test]
fn a_problem_points_into_the_included_file() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "base.toml",
        &BASE.replace("threads = 2", "threads = 0"),
    );
    write(folder.path(), "x.toml", "include = [\"base.toml\"]\n");
    let error = load(folder.path(), "x.toml").unwrap_err();
    assert_eq!(
        error,
        "base.toml:12: workload[0].threads: 0 is not a thread count (1..=1024)"
    );
}

#[test]
fn cycles_are_refused_however_they_are_spelt() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.toml", "include = [\"b.toml\"]\n");
    write(folder.path(), "b.toml", "include = [\"./../{}/a.toml\"]\n");
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    let text = format!("include = [\"../{name}/a.toml\"]\n");
    write(folder.path(), "b.toml", &text);
    let error = load(folder.path(), "a.toml").unwrap_err();
    assert!(
        error.contains("includes itself (break the cycle)"),
        "{error}"
    );
    assert!(error.starts_with("b.toml:1: include[0]: "), "{error}");
}

#[test]
fn includes_cannot_multiply_without_end() {
    let folder = tempfile::tempdir().unwrap();
    for depth in 0..20 {
        let next = format!("n{}.toml", depth + 1);
        let text = format!("include = [\"{next}\", \"{next}\"]\n");
        write(folder.path(), &format!("n{depth}.toml"), &text);
    }
    write(folder.path(), "n20.toml", "");
    let error = load(folder.path(), "n0.toml").unwrap_err();
    assert!(error.contains("more than 32 files are included"), "{error}");
}
