//! `fslab compare` and `fslab history` from a store print what they print from the run folders.

use std::path::Path;

use crate::common::{Scratch, assert_code, error_line, run_in, stdout};
use fixtures::simulated::{Normal, Simulated};
use serde_json::Value;

const RUNS: u32 = 200;

/// Runs of two branches, two kernels, three commits and several ages, of which some are doubtful, some have failed trials, and
/// some have emulated times.
fn write_runs(dir: &Path) -> Vec<String> {
    let mut draws = Normal::new(200);
    let mut names = Vec::new();
    for number in 0..RUNS {
        let level = if number % 2 == 0 { 1000.0 } else { 930.0 };
        let cells = 1 + number as usize % 3;
        let mut rates: Vec<Vec<f64>> = (0..cells)
            .map(|cell| draws.rates(level * (cell + 1) as f64, 3, 0.01, 0.02))
            .collect();
        if number % 17 == 3 {
            rates[0][1] = 0.0;
        }
        let mut run = Simulated::new(number, rates);
        run.doubtful = number % 23 == 5;
        run.kernel = ["6.1.140", "6.12.48-cloud"][number as usize / 100].into();
        run.tool = format!("fslab 0.1.0 ({:012x})", 0xabc0 + number / 70);
        let mut side = ["main", "next"][number as usize % 2];
        if number % 40 == 39 {
            run.timing = "emulated".into();
            side = "emulated";
        }
        run.tags.insert("side".into(), side.into());
        if number % 5 == 0 {
            run.tags.insert("machine".into(), "rack-7".into());
        }
        run.write(&dir.join("fslab-runs").join(&run.name)).unwrap();
        names.push(format!("fslab-runs/{}", run.name));
    }
    names
}

/// Takes out where runs came from.
fn without_sources(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("from");
            map.values_mut().for_each(without_sources);
        }
        Value::Array(list) => list.iter_mut().for_each(without_sources),
        _ => {}
    }
}

fn json(dir: &Path, arguments: &[&str]) -> Value {
    let output = run_in(dir, &[arguments, &["--format", "json"]].concat());
    assert_code(&output, 0);
    let mut json = serde_json::from_str(&stdout(&output)).unwrap();
    without_sources(&mut json);
    json
}

/// The questions, and whether the answer has to say something.
const QUESTIONS: [&[&str]; 9] = [
    &["compare", "tag.side=main", "tag.side=next"],
    &[
        "compare",
        "kernel=6.1,tag.side=main",
        "kernel=6.12,tag.side=main",
    ],
    &[
        "compare",
        "machine=rack-7,tag.side=main",
        "tag.side=next,kernel=6.1,commit=00000000abc1",
        "--metric",
        "files",
    ],
    &[
        "compare",
        "tag.side=main,kernel=6.1",
        "tag.side=next,kernel=6.1",
        "--metric",
        "seconds",
    ],
    &["compare", "run=run-10", "run=run-12"],
    &["compare", "tag.side=main", "--plan"],
    &["history", "mailserver"],
    &["history", "mailserver", "tag.side=main", "--by", "kernel"],
    &[
        "history",
        "mailserver",
        "machine=rack-7",
        "--by",
        "commit",
        "--metric",
        "count",
    ],
];

fn same_from(store: &str) {
    let scratch = Scratch::new();
    let names = write_runs(scratch.path());
    let mut import = vec!["import", "--store", store];
    import.extend(names.iter().map(String::as_str));
    assert_code(&run_in(scratch.path(), &import), 0);
    for question in QUESTIONS {
        if question.contains(&"count") {
            // More of it is neither better nor worse: refused from both, in the same words.
            let lines = [&[][..], &["--store", store]].map(|more| {
                let output = run_in(scratch.path(), &[question, more].concat());
                assert_code(&output, 2);
                error_line(&output)
            });
            assert_eq!(lines[0], lines[1]);
            continue;
        }
        let folders = json(scratch.path(), question);
        let stored = json(scratch.path(), &[question, &["--store", store]].concat());
        assert!(folders == stored, "{question:?}");
        let rows = if question[0] == "history" {
            "series"
        } else {
            "rows"
        };
        assert!(
            folders
                .get(rows)
                .and_then(Value::as_array)
                .is_some_and(|rows| !rows.is_empty()),
            "{question:?}: {folders}"
        );
    }
    // A run is found by its name, and by the beginning of its id.
    let sides = json(scratch.path(), &["compare", "tag.side=main", "run=run-1"]);
    let id = sides["sides"][1]["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    std::fs::rename(scratch.join("fslab-runs"), scratch.join("elsewhere")).unwrap();
    for side in [
        "run-1",
        &format!("run={}", &id[..10]),
        &format!("id={}", &id[..10]),
    ] {
        let found = json(
            scratch.path(),
            &["compare", "tag.side=main", side, "--store", store],
        );
        assert_eq!(found["sides"][1]["runs"][0]["id"], id, "{side}");
        assert_eq!(found["rows"], sides["rows"], "{side}");
    }
}

#[test]
fn a_comparison_of_an_sqlite_store_is_that_of_the_folders() {
    same_from("runs.sqlite");
}

#[cfg(feature = "postgres")]
#[test]
fn a_comparison_of_a_postgresql_store_is_that_of_the_folders() {
    let Some(server) = testkit::postgres::Server::start() else {
        testkit::skip!("needs a PostgreSQL server (package postgresql)");
        return;
    };
    same_from(&server.url);
}

#[test]
fn what_is_wrong_with_a_store_is_one_line() {
    let scratch = Scratch::new();
    let mut draws = Normal::new(1);
    for number in 0..2 {
        let run = Simulated::new(number, vec![draws.rates(1000.0, 2, 0.01, 0.02)]);
        run.write(&scratch.join("fslab-runs").join(&run.name))
            .unwrap();
    }
    let import = ["import", "run-0", "run-1", "--store", "s.sqlite"];
    assert_code(&run_in(scratch.path(), &import), 0);
    for (arguments, says) in [
        (
            &[
                "compare",
                "run=run-0",
                "run=run-1",
                "--store",
                "none.sqlite",
            ][..],
            "none.sqlite does not exist",
        ),
        (
            &["compare", "run=run-0", "run=run-9", "--store", "s.sqlite"],
            "s.sqlite",
        ),
        (
            &["compare", "run=run-0", "run=", "--store", "s.sqlite"],
            "has no value",
        ),
        (
            &["compare", "run=run-0", "run=run-0", "--store", "s.sqlite"],
            "is on the side",
        ),
        (
            &["compare", "run-0", "no-such-run", "--store", "s.sqlite"],
            "no-such-run",
        ),
        (
            &["compare", "run=run-0,run-1", "run-1", "--store", "s.sqlite"],
            "one side",
        ),
        (
            &["history", "mailserver", "colour=red", "--store", "s.sqlite"],
            "selects nothing",
        ),
        (&["history", "none", "--store", "s.sqlite"], "none"),
        (
            &["compare", "a=b", "run-1", "--store", "mysql://x/y"],
            "mysql is no store",
        ),
    ] {
        let output = run_in(scratch.path(), arguments);
        let line = error_line(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {line}");
        assert!(line.contains(says), "{arguments:?}: {line}");
    }
}
