//! Finding one's way: the studies and metrics that exist, a study of one's own, and the example of the docs.

use crate::common;

use std::path::Path;
use std::process::Output;

use common::{Scratch, assert_code, assert_ran, error_line, is_root, run_in, stderr, stdout};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON document")
}

#[test]
fn the_studies_are_listed_with_their_profiles() {
    let scratch = Scratch::new();
    let list = run_in(scratch.path(), &["studies"]);
    assert_code(&list, 0);
    let text = stdout(&list);
    for name in study::Study::builtin() {
        assert!(text.contains(name), "{text}");
    }
    let all = json(&stdout(&run_in(
        scratch.path(),
        &["studies", "--format", "json"],
    )));
    let names: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|s| s["name"].as_str())
        .collect();
    assert_eq!(names, study::Study::builtin());
    let one = run_in(scratch.path(), &["studies", "journal"]);
    assert_code(&one, 0);
    let text = stdout(&one);
    for word in [
        "Question",
        "wohlgemuth2009",
        "threads",
        "compilebench",
        "quick",
        "paper",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let one = json(&stdout(&run_in(
        scratch.path(),
        &["studies", "journal", "--format", "json"],
    )));
    assert!(one["profiles"][0]["seconds"].as_f64().unwrap() > 0.0);
    let wrong = run_in(scratch.path(), &["studies", "jurnal"]);
    assert_code(&wrong, 2);
    assert!(
        error_line(&wrong).contains("did you mean journal?"),
        "{}",
        error_line(&wrong)
    );
}

/// The catalogue says what a workload gives: nothing that `bench` reports is missing from it.
#[test]
fn every_figure_of_every_workload_is_in_the_catalogue() {
    let scratch = Scratch::new();
    let calls: [(&str, Vec<&str>); 6] = [
        (
            "throughput",
            vec!["--dir", "work", "-s", "1m", "-r", "64k", "--settle", "0"],
        ),
        (
            "tree",
            vec!["--dir", "work", "-i", "1", "-r", "10", "--scale", "0.001"],
        ),
        ("stream", vec!["--dir", "work", "-b", "64k", "-w", "16"]),
        ("fill", vec!["-d", "work", "-n", "5", "-s", "100"]),
        ("mix", vec!["--dir", "work", "-s", "1m", "--fsync", "8"]),
        (
            "age",
            vec![
                "--dir", "work", "--rounds", "1", "-n", "8", "-t", "1", "-D", "4", "-N", "2",
                "--step", "1", "-s", "1",
            ],
        ),
    ];
    for (kind, more) in calls {
        // Each in an empty folder: ageing refuses another.
        let folder = scratch.join(kind);
        std::fs::create_dir_all(folder.join("work")).unwrap();
        let mut args = vec!["bench", kind, "--format", "json"];
        args.extend(more);
        let output = run_in(&folder, &args);
        assert_code(&output, 0);
        let known: Vec<&str> = study::metrics::of_workload(kind)
            .unwrap()
            .iter()
            .map(|metric| metric.name)
            .collect();
        let report = json(&stdout(&output));
        let mut figures = 0;
        for phase in report["phases"].as_array().unwrap_or(&Vec::new()) {
            for name in phase["figures"]
                .as_object()
                .into_iter()
                .flat_map(|map| map.keys())
            {
                assert!(
                    known.contains(&name.as_str()),
                    "{kind}: {name} is not in the catalogue"
                );
                figures += 1;
            }
        }
        assert!(figures > 3, "{kind}: {figures}");
    }
}

#[test]
fn metrics_have_a_unit_a_clock_and_a_direction() {
    let scratch = Scratch::new();
    let text = stdout(&run_in(scratch.path(), &["metrics", "fill"]));
    let line = text
        .lines()
        .find(|line| line.starts_with("fsync_p99 "))
        .expect(&text);
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(&words[1..4], ["s", "(a)", "lower"], "{line}");
    let line = text
        .lines()
        .find(|line| line.starts_with("files "))
        .expect(&text);
    assert!(
        line.contains("(a)(b)(c)") && line.contains("higher"),
        "{line}"
    );
    assert!(!text.contains("children "), "iozone's: {text}");
    let all = json(&stdout(&run_in(
        scratch.path(),
        &["metrics", "--format", "json"],
    )));
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), study::metrics::CATALOGUE.len());
    let wrong = run_in(scratch.path(), &["metrics", "thruput"]);
    assert_code(&wrong, 2);
    assert!(
        error_line(&wrong).contains("throughput"),
        "{}",
        error_line(&wrong)
    );
}

#[test]
fn a_new_study_is_written_once_and_plans() {
    let scratch = Scratch::new();
    for kind in study::template::kinds() {
        let name = format!("my-{kind}");
        let made = run_in(scratch.path(), &["new", &name, "--workload", kind]);
        assert_code(&made, 0);
        let file = format!("{name}.toml");
        assert!(stdout(&made).contains(&file), "{}", stdout(&made));
        let plan = run_in(scratch.path(), &["plan", &file, "--profile", "quick"]);
        assert_code(&plan, 0);
        let before = std::fs::read(scratch.join(&file)).unwrap();
        std::fs::write(scratch.join(&file), "# mine\n").unwrap();
        let again = run_in(scratch.path(), &["new", &name, "--workload", kind]);
        assert_code(&again, 2);
        assert!(
            error_line(&again).contains("exists already"),
            "{}",
            error_line(&again)
        );
        assert_eq!(std::fs::read(scratch.join(&file)).unwrap(), b"# mine\n");
        assert!(before.len() > 1000);
    }
}

#[test]
fn a_new_study_runs_as_it_is_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    assert_code(&run_in(scratch.path(), &["new", "mine"]), 0);
    let output = run_in(
        scratch.path(),
        &[
            "run",
            "mine.toml",
            "--profile",
            "quick",
            "--blocks",
            "2",
            "--out",
            "out",
        ],
    );
    assert_ran(&output);
    assert_all_finished(&scratch, 4, &output);
    scratch.assert_nothing_left();
}

/// All trials of the run in `out` finished; what fslab printed explains those that did not.
fn assert_all_finished(scratch: &Scratch, trials: usize, output: &Output) {
    let run = record::Run::load(&scratch.join("out")).unwrap();
    assert_eq!(run.trials.len(), trials);
    for trial in &run.trials {
        assert_eq!(trial.status, record::Status::Finished, "{}", stderr(output));
    }
}

/// The example of docs/studies.md.
fn mail_server() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/examples/mail-server.toml");
    path.canonicalize().unwrap().to_string_lossy().into_owned()
}

#[test]
fn the_mail_server_has_six_cells() {
    let scratch = Scratch::new();
    for profile in ["quick", "standard"] {
        let output = run_in(
            scratch.path(),
            &[
                "plan",
                &mail_server(),
                "--profile",
                profile,
                "--format",
                "json",
            ],
        );
        assert_code(&output, 0);
        let plan = &json(&stdout(&output))["plan"];
        assert_eq!(plan["cells"].as_array().unwrap().len(), 6);
    }
}

#[test]
fn the_mail_server_runs_as_the_docs_say_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let output = run_in(
        scratch.path(),
        &[
            "run",
            &mail_server(),
            "--profile",
            "quick",
            "--set",
            "delivery.files=40",
            "--out",
            "out",
        ],
    );
    assert_ran(&output);
    assert_all_finished(&scratch, 18, &output);
    let report = stdout(&output);
    assert!(report.contains("files"), "{report}");
    scratch.assert_nothing_left();
}

#[test]
fn options_of_one_run_need_no_edit_of_the_file() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let study = study.to_string_lossy();
    let plan = |set: &[&str]| {
        let mut args = vec!["plan", &study, "--format", "json"];
        for one in set {
            args.extend(["--set", one]);
        }
        let output = run_in(scratch.path(), &args);
        assert_code(&output, 0);
        json(&stdout(&output))["plan"].clone()
    };
    let options = |plan: &Value, key: &str| -> Vec<String> {
        let cells = plan["cells"].as_array().unwrap();
        let words = cells.iter().map(|cell| {
            let words = cell["filesystem"][key]
                .as_array()
                .cloned()
                .unwrap_or_default();
            words
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" ")
        });
        let mut all: Vec<String> = words.collect();
        all.sort();
        all.dedup();
        all
    };
    let one = plan(&["mount=data=journal,noatime", "mkfs=-O fast_commit"]);
    assert_eq!(options(&one, "mount"), ["data=journal noatime"]);
    assert_eq!(options(&one, "mkfs"), ["-O fast_commit"]);
    assert_eq!(one["cells"].as_array().unwrap().len(), 2);
    let several = plan(&["mount=['', 'noatime']"]);
    assert_eq!(several["cells"].as_array().unwrap().len(), 4);
    let changed = plan(&["filesystem.ext4.mkfs=-I 512"]);
    assert_eq!(options(&changed, "mkfs"), ["-I 512"]);
    let variant = plan(&[
        "filesystem.ext4-fast.mkfs=-O fast_commit",
        "filesystem.ext4-fast.mount=noatime",
    ]);
    assert_eq!(options(&variant, "mkfs"), ["", "-O fast_commit"]);
    assert_eq!(variant["filesystems"]["ext4-fast"]["kind"], "ext4");
    assert_eq!(variant["cells"].as_array().unwrap().len(), 4);
}

#[test]
fn a_study_may_have_no_question() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let text = std::fs::read_to_string(&study).unwrap();
    std::fs::write(
        &study,
        text.replace("question = \"Does everything work?\"\n", ""),
    )
    .unwrap();
    let output = run_in(
        scratch.path(),
        &["plan", &study.to_string_lossy(), "--format", "json"],
    );
    assert_code(&output, 0);
    assert_eq!(
        json(&stdout(&output))["plan"]["question"],
        "A study for tests"
    );
}

#[test]
fn the_context_is_text_and_json() {
    let scratch = Scratch::new();
    let text = run_in(scratch.path(), &["context"]);
    assert_code(&text, 0);
    let text = stdout(&text);
    assert!(
        text.contains("\nmemory\n") && text.contains("total_kib"),
        "{text}"
    );
    let record = json(&stdout(&run_in(
        scratch.path(),
        &["context", "--format", "json"],
    )));
    assert!(
        record["items"]["memory.total_kib"]["value"]
            .as_u64()
            .unwrap()
            > 0
    );
}
