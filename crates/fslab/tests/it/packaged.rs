//! What a package installs beside the program: manual pages and completions, which the program itself prints.

use crate::common;

use std::collections::BTreeSet;
use std::process::Command;

use common::documents::repository;
use common::{Scratch, assert_code, error_line, fslab, run_in, stderr, stdout};

use crate::docs::COMMANDS;

/// The long options that `--help` of a command lists.
fn options(words: &[&str]) -> BTreeSet<String> {
    let output = fslab().args(words).arg("--help").output().unwrap();
    assert_code(&output, 0);
    let text = stdout(&output);
    let option = |line: &str| {
        let line = line.trim_start();
        let line = line.split_once(", ").map_or(
            line,
            |(short, rest)| {
                if short.len() == 2 { rest } else { line }
            },
        );
        let name = line.strip_prefix("--")?;
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        Some(name[..end.unwrap_or(name.len())].to_owned())
    };
    text.lines()
        .filter(|line| line.trim_start().starts_with('-'))
        .filter_map(option)
        .collect()
}

#[test]
fn every_command_has_a_page_with_all_its_options() {
    let scratch = Scratch::new();
    let output = run_in(scratch.path(), &["man", "--dir", "man/man1"]);
    assert_code(&output, 0);
    let listed: BTreeSet<String> = stdout(&output).lines().map(str::to_owned).collect();
    let mut expected = BTreeSet::new();
    for words in COMMANDS {
        let name = [&["fslab"], words].concat().join("-");
        let path = format!("man/man1/{name}.1");
        let page = std::fs::read_to_string(scratch.join(&path)).expect(&path);
        assert!(page.contains("\n.SH \"EXIT STATUS\"\n"), "{path}");
        let plain = page.replace("\\-", "-");
        for option in options(words) {
            assert!(plain.contains(&format!("--{option}")), "{path}: --{option}");
        }
        let title: Vec<&str> = [&["man"], words].concat();
        let printed = run_in(scratch.path(), &title);
        assert_eq!(stdout(&printed), page);
        expected.insert(path);
    }
    assert_eq!(listed, expected);
    let again = run_in(scratch.path(), &["man", "chekc"]);
    assert!(
        error_line(&again).contains("check"),
        "{}",
        error_line(&again)
    );
}

/// Whether a shell is installed; if not, the skip is reported.
fn has(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").output().is_ok();
    found || {
        testkit::skip!("needs {shell}");
        false
    }
}

/// Writes the completions of a shell into the scratch folder.
fn completions(scratch: &Scratch, shell: &str) -> String {
    let output = run_in(scratch.path(), &["completions", shell]);
    assert_code(&output, 0);
    std::fs::write(scratch.join("script"), stdout(&output)).unwrap();
    stdout(&output)
}

/// What a shell prints that runs these lines.
fn lines_of(scratch: &Scratch, shell: &str, script: &str) -> String {
    let output = Command::new(shell)
        .args(["-c", script])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{shell}: {output:?}");
    stdout(&output)
}

#[test]
fn bash_completes_commands_and_options() {
    let scratch = Scratch::new();
    completions(&scratch, "bash");
    if !has("bash") {
        return;
    }
    let complete = |words: &str| {
        let typed: Vec<&str> = words.split(' ').collect();
        let (at, [.., previous, current]) = (typed.len() - 1, &typed[..]) else {
            panic!("a command and what is typed after it");
        };
        let script = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD={at}; \
             _fslab fslab '{current}' '{previous}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        lines_of(&scratch, "bash", &script)
    };
    assert_eq!(complete("fslab che"), "check\n");
    assert_eq!(complete("fslab check --est"), "--estimate\n");
    assert_eq!(complete("fslab bench fi"), "fill\n");
}

#[test]
fn the_scripts_of_zsh_and_fish_name_every_command() {
    let scratch = Scratch::new();
    for shell in ["zsh", "fish"] {
        let text = completions(&scratch, shell);
        for words in COMMANDS {
            let last = words.last().unwrap_or(&"fslab");
            assert!(text.contains(last), "{shell}: {words:?}");
        }
        if has(shell) {
            lines_of(&scratch, shell, &format!("{shell} -n ./script"));
        }
    }
}

/// A script of packaging/, in the source tree.
fn packaging(script: &str) -> Command {
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
fn has_python() -> bool {
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

/// What `dpkg-deb` prints of a package.
fn dpkg_deb(arguments: &[&str], package: &str) -> String {
    let output = Command::new("dpkg-deb")
        .args(arguments)
        .arg(package)
        .output()
        .unwrap();
    assert_code(&output, 0);
    stdout(&output)
}

#[test]
fn the_debian_package_brings_what_the_program_prints() {
    let tools = ["dpkg-deb", "dpkg-shlibdeps"];
    let lacks = |tool: &&&str| Command::new(tool).arg("--version").output().is_err();
    if let Some(tool) = tools.iter().find(lacks) {
        testkit::skip!("needs {tool} (package dpkg-dev)");
        return;
    }
    if !has_python() {
        return;
    }
    let scratch = Scratch::new();
    // The program of the tests with what a debugger needs is ten times as large.
    let program = scratch.join("program");
    let stripped = Command::new("strip")
        .arg("-o")
        .arg(&program)
        .arg(env!("CARGO_BIN_EXE_fslab"))
        .status();
    assert!(stripped.unwrap().success());
    let output = packaging("deb")
        .arg(&program)
        .arg(scratch.path())
        .env("FSLAB_DEB_COMPRESSION", "none")
        .output()
        .unwrap();
    assert_code(&output, 0);
    let package = stdout(&output).trim_end().to_owned();

    let field = |name: &str| {
        dpkg_deb(&["-f"], &package)
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")).map(str::to_owned))
            .unwrap_or_default()
    };
    assert_eq!(field("Package"), "fslab");
    assert!(field("Version").starts_with("0."), "{}", field("Version"));
    assert!(
        field("Depends").contains("libc6 (>= "),
        "{}",
        field("Depends")
    );
    for programs in ["e2fsprogs", "xfsprogs", "btrfs-progs"] {
        assert!(field("Recommends").contains(programs), "{programs}");
    }
    assert!(
        field("Maintainer").contains(" <"),
        "{}",
        field("Maintainer")
    );

    let unpacked = scratch.join("unpacked");
    let to = unpacked.to_str().unwrap();
    let output = Command::new("dpkg-deb")
        .args(["-x", &package, to])
        .output()
        .unwrap();
    assert_code(&output, 0);
    let zipped = |path: &str| {
        let output = Command::new("gzip")
            .arg("-dc")
            .arg(unpacked.join(path))
            .output()
            .unwrap();
        assert_code(&output, 0);
        stdout(&output)
    };
    let mut pages = BTreeSet::new();
    for words in COMMANDS {
        let page = format!("{}.1.gz", [&["fslab"], words].concat().join("-"));
        let printed = run_in(scratch.path(), &[&["man"], words].concat());
        assert_eq!(
            zipped(&format!("usr/share/man/man1/{page}")),
            stdout(&printed),
            "{page}"
        );
        pages.insert(page);
    }
    let folder = std::fs::read_dir(unpacked.join("usr/share/man/man1")).unwrap();
    let packaged: BTreeSet<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(packaged, pages);
    for (shell, path) in [
        ("bash", "bash-completion/completions/fslab"),
        ("zsh", "zsh/vendor-completions/_fslab"),
        ("fish", "fish/vendor_completions.d/fslab.fish"),
    ] {
        let printed = run_in(scratch.path(), &["completions", shell]);
        let file = std::fs::read_to_string(unpacked.join("usr/share").join(path)).unwrap();
        assert_eq!(file, stdout(&printed), "{shell}");
    }
    let doc = "usr/share/doc/fslab";
    assert!(zipped(&format!("{doc}/changelog.Debian.gz")).starts_with("fslab ("));
    assert!(zipped(&format!("{doc}/changelog.gz")).starts_with("# Changelog"));
    let copyright = std::fs::read_to_string(unpacked.join(doc).join("copyright")).unwrap();
    assert!(copyright.starts_with(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
    ));

    // The same program, commit and time make the same package.
    std::fs::rename(&package, scratch.join("first")).unwrap();
    let output = packaging("deb")
        .arg(&program)
        .arg(scratch.path())
        .env("FSLAB_DEB_COMPRESSION", "none")
        .output()
        .unwrap();
    assert_code(&output, 0);
    let same = Command::new("cmp")
        .arg(scratch.join("first"))
        .arg(&package)
        .status();
    assert!(
        same.unwrap().success(),
        "two packages of one program differ"
    );
}
