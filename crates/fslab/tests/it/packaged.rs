//! What a package installs beside the program: manual pages and completions, which the program itself prints; and the
//! Debian package with them.

use crate::common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Scratch, assert_code, error_line, fslab, run_in, stdout};

use crate::docs::COMMANDS;
use crate::released::{has_python, packaging};

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
    for &words in COMMANDS {
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
        for &words in COMMANDS {
            let last = words.last().unwrap_or(&"fslab");
            assert!(text.contains(last), "{shell}: {words:?}");
        }
        if has(shell) {
            lines_of(&scratch, shell, &format!("{shell} -n ./script"));
        }
    }
}

/// Makes the Debian package of a program, without compression.
fn package(program: &Path, folder: &Path) -> PathBuf {
    let output = packaging("deb")
        .arg(program)
        .arg(folder)
        .env("FSLAB_DEB_COMPRESSION", "none")
        .output()
        .unwrap();
    assert_code(&output, 0);
    PathBuf::from(stdout(&output).trim_end())
}

/// The value of a field of a package; empty where it has none.
fn field(package: &Path, name: &str) -> String {
    let output = Command::new("dpkg-deb")
        .arg("-f")
        .arg(package)
        .arg(name)
        .output();
    stdout(&output.unwrap()).trim_end().to_owned()
}

/// The text of a compressed file.
fn unzipped(path: &Path) -> String {
    let output = Command::new("gzip").arg("-dc").arg(path).output().unwrap();
    assert_code(&output, 0);
    stdout(&output)
}

/// Asserts that an unpacked package has what its program prints: a page of every command, a script for every shell.
fn assert_as_printed(share: &Path) {
    let mut pages = BTreeSet::new();
    for &words in COMMANDS {
        let page = format!("{}.1.gz", [&["fslab"], words].concat().join("-"));
        let printed = fslab().arg("man").args(words).output().unwrap();
        assert_eq!(
            unzipped(&share.join("man/man1").join(&page)),
            stdout(&printed),
            "{page}"
        );
        pages.insert(page);
    }
    let folder = std::fs::read_dir(share.join("man/man1")).unwrap();
    let packaged: BTreeSet<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(packaged, pages);
    for (shell, path) in [
        ("bash", "bash-completion/completions/fslab"),
        ("zsh", "zsh/vendor-completions/_fslab"),
        ("fish", "fish/vendor_completions.d/fslab.fish"),
    ] {
        let printed = fslab().args(["completions", shell]).output().unwrap();
        let file = std::fs::read_to_string(share.join(path)).unwrap();
        assert_eq!(file, stdout(&printed), "{shell}");
    }
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
    let made = package(&program, scratch.path());
    assert_eq!(field(&made, "Package"), "fslab");
    for (name, part) in [
        ("Version", env!("CARGO_PKG_VERSION")),
        ("Depends", "libc6 (>= "),
        ("Recommends", "e2fsprogs, xfsprogs, btrfs-progs"),
        ("Maintainer", " <"),
    ] {
        let value = field(&made, name);
        assert!(value.contains(part), "{name}: {value}");
    }

    let unpacked = scratch.join("unpacked");
    let output = Command::new("dpkg-deb")
        .arg("-x")
        .arg(&made)
        .arg(&unpacked)
        .output();
    assert_code(&output.unwrap(), 0);
    let share = unpacked.join("usr/share");
    assert_as_printed(&share);
    let doc = share.join("doc/fslab");
    assert!(unzipped(&doc.join("changelog.Debian.gz")).starts_with("fslab ("));
    assert!(unzipped(&doc.join("changelog.gz")).starts_with("# Changelog"));
    let copyright = std::fs::read_to_string(doc.join("copyright")).unwrap();
    assert!(copyright.starts_with("Format: https://www.debian.org/doc/packaging-manuals/"));

    // The same program, commit and time make the same package.
    let first = std::fs::read(&made).unwrap();
    let again = std::fs::read(package(&program, scratch.path())).unwrap();
    assert!(first == again, "two packages of one program differ");
}
