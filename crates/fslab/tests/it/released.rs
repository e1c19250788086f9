//! What a release is made of: its features, the check of its programs, the lists of what is linked in. All but the builds
//! themselves, which `make release` makes.

use crate::common;

use std::collections::BTreeSet;
use std::process::Command;

use common::documents::repository;
use common::{Scratch, assert_code, stderr, stdout};

/// A script of packaging/, in the source tree.
pub(crate) fn packaging(script: &str) -> Command {
    let top = repository();
    let mut command = Command::new(top.join("packaging").join(script));
    // A source tree without git has no commit of its own.
    command
        .current_dir(top)
        .env("FSLAB_COMMIT", "0123456789ab")
        .env("SOURCE_DATE_EPOCH", "1700000000");
    command
}

#[test]
fn releases_have_every_feature() {
    let manifest = repository().join("crates/fslab/Cargo.toml");
    let text = std::fs::read_to_string(manifest).unwrap();
    let (_, features) = text.split_once("\n[features]\n").unwrap();
    let features = features.split("\n[").next().unwrap();
    let lines = features.lines().filter_map(|line| line.split_once(" = "));
    let (mut all, mut released) = (BTreeSet::new(), BTreeSet::new());
    for (name, value) in lines {
        if name == "release" {
            let names = value.trim_matches(['[', ']']).split(", ");
            released.extend(names.map(|name| name.trim_matches('"')));
        } else {
            all.insert(name);
        }
    }
    assert_eq!(
        released, all,
        "feature `release` of crates/fslab/Cargo.toml"
    );
    assert!(all.contains("postgres"), "{all:?}");
}

/// Compiles a C program that prints a version, as a release is linked: stripped.
fn c_program(scratch: &Scratch, name: &str, flags: &[&str]) -> bool {
    let source = scratch.join("version.c");
    let text = "#include <stdio.h>\nstatic void *self[] = {&self, &self};\nint main(void) { puts(\"fslab 0\"); return self[0] == 0; }\n";
    std::fs::write(&source, text).unwrap();
    let output = Command::new("cc")
        .args(["-s", "-O1", "-o"])
        .arg(scratch.join(name))
        .arg(source)
        .args(flags)
        .output();
    output.is_ok_and(|output| output.status.success())
}

/// The last line that the check of a binary prints, after its exit code.
fn judged(scratch: &Scratch, kind: &str, name: &str) -> (bool, String) {
    let output = packaging("check-binary")
        .arg(kind)
        .arg(scratch.join(name))
        .output()
        .unwrap();
    let text = stdout(&output) + &stderr(&output);
    let last = text.lines().last().unwrap_or("").to_owned();
    (output.status.success(), last)
}

#[test]
fn a_binary_that_is_not_fit_for_release_is_refused() {
    if Command::new("readelf").arg("--version").output().is_err() {
        testkit::skip!("needs readelf (package binutils)");
        return;
    }
    let scratch = Scratch::new();
    if !c_program(&scratch, "plain", &["-fPIE", "-pie"]) {
        testkit::skip!("needs a C compiler");
        return;
    }
    let (fit, last) = judged(&scratch, "dynamic", "plain");
    assert!(fit && last.contains("glibc 2."), "{last}");
    let (fit, last) = judged(&scratch, "static", "plain");
    assert!(
        !fit && last.contains("needs libraries: libc.so.6"),
        "{last}"
    );

    let packed = ["-fPIE", "-pie", "-Wl,-z,pack-relative-relocs"];
    if c_program(&scratch, "packed", &packed) {
        let (fit, last) = judged(&scratch, "dynamic", "packed");
        assert!(!fit && last.contains("DT_RELR"), "{last}");
    } else {
        testkit::skip!("needs a linker that packs relocations");
    }

    let path = format!("-DBUILDER=\"{}/x\"", repository().display());
    let source = "const char builder[] __attribute__((used)) = BUILDER;\n";
    std::fs::write(scratch.join("path.c"), source).unwrap();
    let extra = scratch.join("path.c");
    assert!(c_program(
        &scratch,
        "path",
        &[&path, extra.to_str().unwrap()]
    ));
    let (fit, last) = judged(&scratch, "dynamic", "path");
    assert!(
        !fit && last.contains("holds a path of the builder 1 times"),
        "{last}"
    );

    if c_program(&scratch, "static", &["-static"]) {
        let (fit, last) = judged(&scratch, "static", "static");
        assert!(fit, "{last}");
        let (fit, last) = judged(&scratch, "dynamic", "static");
        assert!(!fit && last.contains("is static"), "{last}");
    } else {
        testkit::skip!("needs a static C library");
    }
}

/// Whether Python is new enough for packaging/crates.py; if not, the skip is reported.
pub(crate) fn has_python() -> bool {
    let found = Command::new("python3")
        .args(["-c", "import tomllib"])
        .output();
    found.is_ok_and(|output| output.status.success()) || {
        testkit::skip!("needs python3 of version 3.11 or newer");
        false
    }
}

#[test]
fn the_lists_of_what_is_linked_in_are_whole() {
    if !has_python() {
        return;
    }
    let run = |word: &str| {
        let output = packaging("crates.py").arg(word).output().unwrap();
        assert_code(&output, 0);
        stdout(&output)
    };
    let sbom: serde_json::Value = serde_json::from_str(&run("sbom")).unwrap();
    assert_eq!(sbom["bomFormat"], "CycloneDX");
    let components = sbom["components"].as_array().unwrap();
    let refs: BTreeSet<&str> = components
        .iter()
        .map(|one| one["bom-ref"].as_str().unwrap())
        .chain(sbom["metadata"]["component"]["bom-ref"].as_str())
        .collect();
    assert_eq!(refs.len(), components.len() + 1, "references differ");
    for one in components {
        let name = &one["name"];
        let licence = one["licenses"][0].to_string();
        assert!(licence.len() > 10, "{name}: {licence}");
        let foreign = one["purl"]
            .as_str()
            .is_some_and(|purl| purl.starts_with("pkg:cargo/"));
        assert_eq!(one["hashes"][0]["alg"] == "SHA-256", foreign, "{name}");
    }
    // Each component but the program is a dependency of another, and none is missing.
    let mut needed = BTreeSet::new();
    for one in sbom["dependencies"].as_array().unwrap() {
        let on = one["dependsOn"].as_array().unwrap();
        needed.extend(on.iter().map(|on| on.as_str().unwrap()));
    }
    needed.extend(sbom["metadata"]["component"]["bom-ref"].as_str());
    assert_eq!(needed, refs);
    let names: BTreeSet<&str> = components
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    for name in [
        "clap",
        "rusqlite",
        "sqlite",
        "uPlot",
        "parquet",
        "tokio-postgres",
        "workload",
    ] {
        assert!(names.contains(name), "{name}");
    }
    for name in ["testkit", "insta", "assert_cmd", "serde_derive"] {
        assert!(!names.contains(name), "{name} is not linked in");
    }

    let copyright = run("copyright");
    let licences = run("licences");
    let stanzas: BTreeSet<&str> = copyright
        .lines()
        .filter_map(|line| line.strip_prefix("License: "))
        .collect();
    for one in components.iter().filter(|one| one["hashes"].is_array()) {
        let (name, version) = (
            one["name"].as_str().unwrap(),
            one["version"].as_str().unwrap(),
        );
        assert!(
            copyright.contains(&format!("\nFiles: vendor/{name}-{version}/*\n")),
            "{name}"
        );
        assert!(
            licences.contains(&format!("\n{name} {version}: ")),
            "{name}"
        );
    }
    assert!(
        stanzas.contains("Expat") && stanzas.contains("Apache-2.0"),
        "{stanzas:?}"
    );
}
