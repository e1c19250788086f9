//! Impossible requests are refused, unusual ones are done; both with a message of one line.

use crate::common;

use std::fs;

use common::checked::{STREAM, study};
use common::{Scratch, assert_code, error_line, is_root, run_in, stderr, stdout};

#[test]
fn what_cannot_work_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[STREAM]);
    for (set, expected) in [
        (["aiod.direct=true", "aiod.block=5000"], "block"),
        (["aiod.count=400", "aiod.block=1m"], "size"),
        (["memory=1m", "aiod.count=24"], "memory"),
        (["limit=fast", "aiod.count=24"], "limit"),
    ] {
        for command in ["plan", "run"] {
            let output = run_in(
                scratch.path(),
                &[
                    command,
                    &study.to_string_lossy(),
                    "--set",
                    set[0],
                    "--set",
                    set[1],
                ],
            );
            assert_code(&output, 2);
            let line = error_line(&output);
            assert!(line.contains(expected), "{set:?}: {line}");
        }
    }
    assert!(!scratch.join("fslab-runs").exists());
}

#[test]
fn a_read_only_directory_is_refused_alike_by_run_and_bench_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[STREAM]);
    fs::create_dir(scratch.join("frozen")).unwrap();
    let study = study.to_string_lossy();
    for words in [
        &["run", &study, "--out", "out", "--dir", "frozen"][..],
        &["bench", "stream", "--dir", "frozen"],
        &["bench", "fill", "-d", "frozen"],
        &["bench", "age", "--dir", "frozen"],
        &["bench", "mix", "--dir", "frozen"],
        &["bench", "throughput", "--dir", "frozen"],
        &["bench", "tree", "--dir", "frozen"],
    ] {
        let script = r#"mount -t tmpfs -o ro none frozen && exec "$@""#;
        let output = std::process::Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh"])
            .arg(env!("CARGO_BIN_EXE_fslab"))
            .args(words)
            .current_dir(scratch.path())
            .output()
            .unwrap();
        assert_code(&output, 2);
        let line = error_line(&output);
        assert!(
            line.contains("frozen") && line.contains("Read-only") && line.contains("remount,rw"),
            "{line}"
        );
    }
    assert!(!scratch.join("out").exists());
}

#[test]
fn a_name_with_a_newline_stays_one_line() {
    let scratch = Scratch::new();
    let study = study(&scratch, "\"ext4\"", "", &[STREAM]);
    fs::create_dir(scratch.join("target")).unwrap();
    let output = run_in(
        scratch.path(),
        &[
            "run",
            &study.to_string_lossy(),
            "--dir",
            "target",
            "--out",
            "two\nlines",
        ],
    );
    assert_code(&output, 0);
    assert!(
        stderr(&output).contains("two\\nlines/report.txt"),
        "{}",
        stderr(&output)
    );
    assert!(
        stdout(&output).contains("two\\nlines"),
        "{}",
        stdout(&output)
    );
    let list = run_in(scratch.path(), &["list", "."]);
    assert!(stdout(&list).contains("two\\nlines"), "{}", stdout(&list));
}
