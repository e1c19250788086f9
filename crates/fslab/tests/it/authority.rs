//! What each command does with a folder of another user, by the table in the source.

use crate::common;
#[path = "../../src/authority/table.rs"]
mod table;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{Scratch, assert_code, error_line, example_run, is_root, run_in, stderr, stdout};
use rundir::Authority;
use table::TABLE;

/// A user who is neither root nor the caller.
const OTHER: u32 = 65_534;

const STUDY: &str = r#"
include = ["defaults.toml"]
name = "authority"
title = "A folder of another user"
[factors]
filesystem = ["ext4"]
[[workload]]
name = "mdtest"
kind = "metadata"
items = "files"
files = 20
[workload.factors]
ranks = [1]
[run]
reference_seconds = 0.0
blocks = 1
"#;

/// Folders of the other user: runs/example, and a fleet whose launcher is a program of theirs. What must not change.
struct Foreign {
    scratch: Scratch,
}

impl Foreign {
    fn new() -> Foreign {
        let scratch = Scratch::new();
        fs::write(scratch.join("study.toml"), STUDY).unwrap();
        fs::create_dir(scratch.join("data")).unwrap();
        fs::create_dir(scratch.join("victim")).unwrap();
        let example = example_run(&scratch);
        let theirs = scratch.join("theirs");
        fs::create_dir(&theirs).unwrap();
        fs::rename(example, theirs.join("example")).unwrap();
        // An image that the journal of an exited process names.
        let image = theirs.join("example/image");
        fs::write(&image, "").unwrap();
        let image = serde_json::to_string(&image).unwrap();
        fs::write(
            theirs.join("example/undo.jsonl"),
            format!(
                "{{\"number\":0,\"made\":\"opened\",\"pid\":4194304}}\n{{\"number\":1,\"made\":\"image\",\"path\":{image}}}\n"
            ),
        )
        .unwrap();
        fs::create_dir(theirs.join("empty")).unwrap();
        fleet(&scratch, &theirs.join("fleet"));
        let results =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/src/tests/data/fio-3.33-1.json");
        fs::copy(results, scratch.join("fio.json")).unwrap();
        Foreign { scratch }
    }

    /// Makes the other user their owner.
    fn give_away(&self) {
        let owned = Command::new("chown")
            .args(["-R", &OTHER.to_string()])
            .arg(self.scratch.join("theirs"))
            .status();
        assert!(owned.unwrap().success());
    }

    /// Everything in the other user's folders, and whether their program ran.
    fn state(&self) -> String {
        let mut text = listing(&self.scratch.join("theirs"));
        text += &listing(&self.scratch.join("victim"));
        text
    }
}

/// A fleet's folder whose ranks are started by a program that leaves a file in `victim`.
fn fleet(scratch: &Scratch, dir: &Path) {
    let name = dir.to_str().unwrap();
    let line = [
        "fleet",
        "submit",
        "study.toml",
        "--dir",
        "data",
        "--dry-run",
    ];
    let output = run_in(scratch.path(), &[&line[..], &["--out", name]].concat());
    assert_code(&output, 0);
    let file = dir.join("fleet.json");
    let mut plan: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let command = format!("id > {}/ran # {{ranks}}", scratch.join("victim").display());
    let launcher = serde_json::json!({
        "command": ["sh", "-c", command], "library": null, "nodes": 1,
        "patience": {"secs": 5, "nanos": 0},
    });
    let data = scratch.join("data");
    plan["target"] = format!("ranks {launcher} directory {}", data.display()).into();
    fs::write(&file, plan.to_string()).unwrap();
}

/// Names, owners, modes, times and contents below a folder.
fn listing(dir: &Path) -> String {
    let mut text = String::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let meta = path.symlink_metadata().unwrap();
        let time = (meta.mtime(), meta.mtime_nsec());
        let _ = writeln!(
            text,
            "{} {} {:o} {time:?}",
            path.display(),
            meta.uid(),
            meta.mode()
        );
        if meta.is_dir() {
            text += &listing(&path);
        } else if meta.is_file() {
            let _ = writeln!(text, "{:?}", fs::read(&path).unwrap());
        }
    }
    text
}

/// A command line for a row, with the other user's folder in place of the argument.
fn line(command: &str, argument: &str) -> &'static str {
    match (command, argument) {
        ("run", "--out") => "run study.toml --dir data --out theirs/empty",
        ("resume", "run") => "resume theirs/example",
        ("clean", "dir") => "clean theirs/example",
        ("trace record", "--out") => "trace record /dev/null --out theirs/empty --seconds 1",
        ("import", "--out") => "import fio.json --from fio --out theirs/empty",
        ("fleet submit", "--out") => {
            "fleet submit study.toml --dir data --dry-run --out theirs/empty"
        }
        ("fleet submit", "study") => "fleet submit theirs/fleet --missing --dry-run",
        ("fleet block", "run") => "fleet block theirs/fleet 0",
        ("fleet status", "run") => "fleet status theirs/fleet",
        ("fleet gather", "run") => "fleet gather theirs/fleet",
        ("list", "dir") => "list theirs",
        ("show", "run") => "show theirs/example",
        ("report", "run") => "report theirs/example",
        ("explain", "run") => "explain theirs/example --partial",
        ("compare", "sides") => "compare theirs/example theirs/example",
        ("compare", "--runs") => "compare example example --runs theirs",
        ("history", "--runs") => "history journal --runs theirs",
        // Runs that are too close: the search stops, and not for whose they are.
        ("bisect-step", "--good" | "--bad") => {
            "bisect-step --good theirs/example --bad theirs/example --out made -- true {out}"
        }
        ("bisect-step", "--runs") => {
            "bisect-step --good example --bad example --runs theirs --out made -- true {out}"
        }
        ("import", "runs") => "import theirs/example --store store.sqlite",
        ("site", "--from") => "site pages --from theirs",
        ("site", "--compare") => "site pages --from theirs --compare theirs/example theirs/example",
        ("serve", "--from") => "serve --from theirs --listen 127.0.0.1:0",
        ("serve", "--compare") => {
            "serve --from theirs --compare theirs/example theirs/example --listen 127.0.0.1:0"
        }
        // No trace is in it.
        ("trace report", "bases") => "trace report theirs/example",
        ("replay", "bases") => "replay theirs/example --device 7k500x4",
        _ => panic!("{command} {argument}: say here how it is called"),
    }
}

/// Runs a command line; a server for two seconds.
fn called(scratch: &Scratch, line: &str) -> Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words[0] != "serve" {
        return run_in(scratch.path(), &words);
    }
    Command::new("timeout")
        .args(["--preserve-status", "-s", "TERM", "2"])
        .arg(env!("CARGO_BIN_EXE_fslab"))
        .args(words)
        .current_dir(scratch.path())
        .output()
        .unwrap()
}

#[test]
fn every_command_keeps_to_the_table_needs_root() {
    if !is_root() {
        return;
    }
    for row in TABLE {
        let line = line(row.command, row.argument);
        let foreign = Foreign::new();
        // A reader answers as it does to the folder's owner.
        let reads = row.authority == Authority::Reads;
        let own = reads.then(|| called(&foreign.scratch, line).status.code());
        foreign.give_away();
        let before = foreign.state();
        let output = called(&foreign.scratch, line);
        let said = format!("{line}: {}{}", stdout(&output), stderr(&output));
        assert_eq!(foreign.state(), before, "{said}");
        if let Some(code) = own {
            assert!(code != Some(5) && output.status.code() == code, "{said}");
        } else {
            assert_code(&output, 5);
            assert!(said.contains(&format!("belongs to user {OTHER}")), "{said}");
            assert_eq!(
                fs::read_dir(foreign.scratch.join("data")).unwrap().count(),
                0
            );
        }
        foreign.scratch.assert_nothing_left();
    }
}

/// Makes of a fleet at the first path something that root must not obey; the second is a place outside.
type Change = fn(&Path, &Path);

/// A fleet of root's own, with one thing in it that is not as root made it.
#[test]
fn a_fleet_with_links_or_files_of_others_is_refused_needs_root() {
    if !is_root() {
        return;
    }
    let changes: [(&str, Change); 6] = [
        ("parts: refused: it is a symbolic link", |fleet, victim| {
            fs::remove_dir(fleet.join("parts")).unwrap();
            symlink(victim, fleet.join("parts")).unwrap();
        }),
        ("parts: refused: it belongs to user", |fleet, _| {
            chown(fleet.join("parts"), Some(OTHER), None).unwrap();
        }),
        ("fleet.json: refused: it belongs to user", |fleet, _| {
            chown(fleet.join("fleet.json"), Some(OTHER), None).unwrap();
        }),
        ("fleet.json: refused: everyone may write it", |fleet, _| {
            let mode = fs::Permissions::from_mode(0o646);
            fs::set_permissions(fleet.join("fleet.json"), mode).unwrap();
        }),
        ("fleet.json: refused: it is a FIFO", |fleet, _| {
            fs::remove_file(fleet.join("fleet.json")).unwrap();
            let made = Command::new("mkfifo")
                .arg(fleet.join("fleet.json"))
                .status();
            assert!(made.unwrap().success());
        }),
        (
            "sbatch.sh: refused: it is a symbolic link",
            |fleet, victim| {
                fs::remove_file(fleet.join("sbatch.sh")).unwrap();
                symlink(victim.join("script"), fleet.join("sbatch.sh")).unwrap();
            },
        ),
    ];
    for (why, change) in changes {
        let scratch = Scratch::new();
        fs::write(scratch.join("study.toml"), STUDY).unwrap();
        for dir in ["data", "victim"] {
            fs::create_dir(scratch.join(dir)).unwrap();
        }
        fleet(&scratch, &scratch.join("fleet"));
        change(&scratch.join("fleet"), &scratch.join("victim"));
        for command in [
            "block fleet 0",
            "status fleet",
            "gather fleet",
            "submit fleet --missing",
        ] {
            let output = called(&scratch, &format!("fleet {command}"));
            assert_code(&output, 5);
            let line = error_line(&output);
            assert!(line.contains(why), "{command}: {line}");
        }
        assert_eq!(listing(&scratch.join("victim")), "", "{why}");
        // The folder by a link, which its owner may change.
        symlink(scratch.join("fleet"), scratch.join("link")).unwrap();
        let output = called(&scratch, "fleet status link/");
        assert_code(&output, 5);
        assert!(error_line(&output).contains("link: refused: it is a symbolic link"));
    }
}

#[test]
fn a_plan_has_a_largest_size() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("fleet")).unwrap();
    let file = fs::File::create(scratch.join("fleet/fleet.json")).unwrap();
    file.set_len(65 << 20).unwrap();
    let output = run_in(scratch.path(), &["fleet", "status", "fleet"]);
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("larger than 64 MiB"),
        "{}",
        stderr(&output)
    );
}

/// A link that is the argument itself is not followed, however it is written; the folder that it leads to is not touched.
#[test]
fn a_link_is_not_cleaned_or_resumed() {
    let scratch = Scratch::new();
    let run = example_run(&scratch);
    fs::create_dir(scratch.join("runs")).unwrap();
    fs::rename(run, scratch.join("runs/example")).unwrap();
    let image = scratch.join("runs/example/image");
    fs::write(&image, "").unwrap();
    let path = serde_json::to_string(&image).unwrap();
    let lines = format!(
        "{{\"number\":0,\"made\":\"opened\",\"pid\":4194304}}\n{{\"number\":1,\"made\":\"image\",\"path\":{path}}}\n"
    );
    fs::write(scratch.join("runs/example/undo.jsonl"), lines).unwrap();
    symlink("runs/example", scratch.join("link")).unwrap();
    symlink("runs", scratch.join("all")).unwrap();
    for words in [
        ["clean", "link"],
        ["clean", "link/"],
        ["clean", "link/."],
        ["clean", "all"],
        ["resume", "link"],
    ] {
        let output = run_in(scratch.path(), &words);
        assert_code(&output, 5);
        let line = error_line(&output);
        assert!(
            line.contains("it is a symbolic link") && line.contains("readlink -f"),
            "{line}"
        );
        assert!(image.exists());
    }
    assert_code(&run_in(scratch.path(), &["show", "link"]), 0);
    assert_code(&run_in(scratch.path(), &["clean", "runs"]), 0);
    assert!(!image.exists());
}
