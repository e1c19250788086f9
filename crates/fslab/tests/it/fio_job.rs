//! `fslab bench --fio-job` and `--format fio`, beside the real fio.

use crate::common;

use std::process::{Command, Output};

use common::{Scratch, assert_code, error_line, run_in, stderr, stdout};
use serde_json::Value;

/// Two groups, three jobs, one of two threads.
const JOBS: &str = "\
; what a database does
[global]
size=2m
bs=4k
direct=0
ioengine=psync

[data]
rw=randrw
rwmixread=70
numjobs=2
group_reporting=1

[log]
rw=write
bs=16k
fsync=4

[after]
stonewall
rw=read
filename=data.0.0
";

fn bench(scratch: &Scratch, words: &str) -> Output {
    let mut args = vec!["bench"];
    args.extend(words.split_whitespace());
    run_in(scratch.path(), &args)
}

fn with_jobs(jobs: &str) -> Scratch {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("jobs.fio"), jobs).unwrap();
    std::fs::create_dir(scratch.join("work")).unwrap();
    scratch
}

fn document(output: &Output) -> Value {
    assert_code(output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn left(scratch: &Scratch) -> usize {
    std::fs::read_dir(scratch.join("work")).unwrap().count()
}

#[test]
fn each_job_is_a_phase_and_no_file_stays() {
    let scratch = with_jobs(JOBS);
    let output = bench(&scratch, "--fio-job jobs.fio --dir work --format json");
    let document = document(&output);
    let phases = document["phases"].as_array().unwrap();
    let names: Vec<&str> = phases
        .iter()
        .map(|phase| phase["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["data", "log", "after"]);
    let operations: Vec<u64> = phases
        .iter()
        .map(|p| p["operations"].as_u64().unwrap())
        .collect();
    assert_eq!(operations, [1024, 128, 512]);
    assert_eq!(left(&scratch), 0);
    let text = bench(&scratch, "--fio-job jobs.fio --dir work");
    assert_code(&text, 0);
    assert!(stdout(&text).contains("Latency"), "{}", stdout(&text));
    common::assert_fits_a_mail(&stdout(&text));
}

#[test]
fn files_stay_when_they_are_asked_for_and_others_are_not_written() {
    let scratch =
        with_jobs("[a]\nsize=64k\nrw=write\nunlink=0\n[b]\nstonewall\nsize=64k\nrw=write\n");
    assert_code(&bench(&scratch, "--fio-job jobs.fio --dir work"), 0);
    assert_eq!(left(&scratch), 1);
    let again = bench(&scratch, "--fio-job jobs.fio --dir work");
    assert_code(&again, 2);
    assert!(
        error_line(&again).contains("would be overwritten"),
        "{}",
        stderr(&again)
    );
    assert_code(&bench(&scratch, "--fio-job jobs.fio --dir work --reuse"), 0);
    assert_eq!(left(&scratch), 1);
}

#[test]
fn an_option_that_is_not_supported_is_named_with_its_line() {
    let scratch = with_jobs("[a]\nsize=1m\nrw=read\nzonemode=zbd\n");
    let output = bench(&scratch, "--fio-job jobs.fio --dir work");
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(line.contains("jobs.fio line 4: \"zonemode\""), "{line}");
    assert_eq!(left(&scratch), 0);
}

/// The type of a JSON value; whole numbers and others are two.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "decimal",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Every key of ours is one of fio's, with the same type, down to the last.
fn assert_known(path: &str, ours: &Value, theirs: &Value) {
    assert_eq!(kind(ours), kind(theirs), "{path}: {ours} {theirs}");
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (key, ours) in ours {
                let path = format!("{path}.{key}");
                let theirs = theirs
                    .get(key)
                    .unwrap_or_else(|| panic!("{path} is not fio's"));
                assert_known(&path, ours, theirs);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{path}");
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                assert_known(&format!("{path}[{at}]"), ours, theirs);
            }
        }
        _ => {}
    }
}

/// Figures of a direction that follow from one another.
fn assert_consistent(job: &Value, way: &str) {
    let way = &job[way];
    let number = |value: &Value| value.as_f64().unwrap();
    let (bytes, runtime) = (number(&way["io_bytes"]), number(&way["runtime"]));
    assert_eq!((bytes / 1024.0).floor(), number(&way["io_kbytes"]));
    let requests = number(&way["total_ios"]);
    assert_eq!(requests, number(&way["lat_ns"]["N"]));
    if requests == 0.0 {
        assert_eq!((bytes, runtime), (0.0, 0.0));
        return;
    }
    let rate = bytes * 1000.0 / runtime;
    assert!((number(&way["bw_bytes"]) - rate).abs() <= 1.0);
    assert!((number(&way["bw"]) - rate / 1024.0).abs() <= 1.0);
    assert!((number(&way["iops"]) - requests * 1000.0 / runtime).abs() < 1e-3);
    for times in ["clat_ns", "lat_ns"] {
        let times = &way[times];
        let order = ["min", "mean", "max"].map(|key| number(&times[key]));
        assert!(order.is_sorted(), "{times}");
    }
    let percentiles = way["clat_ns"]["percentile"].as_object().unwrap();
    let mut named: Vec<(f64, u64)> = percentiles
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.as_u64().unwrap()))
        .collect();
    named.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(named.is_sorted_by(|a, b| a.1 <= b.1), "{named:?}");
}

#[test]
fn every_key_of_our_json_is_one_of_fios_for_the_same_jobs() {
    let scratch = with_jobs(JOBS);
    let ours = document(&bench(
        &scratch,
        "--fio-job jobs.fio --dir work --format fio",
    ));
    for job in ours["jobs"].as_array().unwrap() {
        for way in ["read", "write", "trim"] {
            assert_consistent(job, way);
        }
    }
    assert_eq!(
        ours["fio version"],
        format!("fslab-{}", env!("FSLAB_VERSION"))
    );
    let theirs = Command::new("fio")
        .args(["--output-format=json", "../jobs.fio"])
        .current_dir(scratch.join("work"))
        .output();
    let Ok(theirs) = theirs else {
        testkit::skip!("needs fio");
        return;
    };
    let theirs: Value = serde_json::from_slice(&theirs.stdout).unwrap();
    assert_known("fio", &ours, &theirs);
    for (ours, theirs) in ours["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .zip(theirs["jobs"].as_array().unwrap())
    {
        for way in ["read", "write"] {
            let sum = |document: &Value| document[way]["io_bytes"].as_u64().unwrap();
            // The mixture is drawn: both are near 70 %.
            let most = sum(ours).max(sum(theirs)) as f64;
            assert!(
                (sum(ours) as f64 - sum(theirs) as f64).abs() <= 0.2 * most,
                "{ours} {theirs}"
            );
        }
        assert_eq!(ours["jobname"], theirs["jobname"]);
        assert_eq!(ours["groupid"], theirs["groupid"]);
        assert_eq!(ours["job options"], theirs["job options"]);
    }
    assert_eq!(ours["global options"], theirs["global options"]);
}

#[test]
fn mix_alone_prints_fios_json_and_a_table() {
    let scratch = with_jobs("");
    let words = "mix --dir work -s 1m --rw randrw --rwmixread 75 --engine io-uring --queue-depth 8";
    let document = document(&bench(&scratch, &format!("{words} --format fio")));
    let job = &document["jobs"][0];
    assert_eq!(job["job options"]["iodepth"], "8");
    assert_eq!(job["job options"]["rwmixread"], "75");
    let requests = |way: &str| job[way]["total_ios"].as_u64().unwrap();
    assert_eq!(requests("read") + requests("write"), 256);
    let output = bench(&scratch, &format!("{words} --format csv"));
    assert_code(&output, 0);
    assert!(
        stdout(&output).contains("mix,mix,read_iops,original,"),
        "{}",
        stdout(&output)
    );
    assert_eq!(left(&scratch), 0);
}
