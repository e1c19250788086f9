//! What a package installs beside the program: manual pages and completions, which the program itself prints.

use crate::common;

use std::collections::BTreeSet;
use std::process::Command;

use common::{Scratch, assert_code, error_line, fslab, run_in, stdout};

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
