//! Results of other programs become runs like any other.

use std::fs;
use std::path::{Path, PathBuf};

use record::{Run, Status};
use study::Clock;

use super::{Place, dump};
use crate::foreign::{self, ForeignRun, Program};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/tests/data")
        .join(name)
}

fn import(program: Program, files: &[PathBuf], out: &Path) -> Result<usize, String> {
    foreign::write(&ForeignRun {
        program,
        files,
        out,
        tool: "fslab 0.1.0".into(),
        command: vec!["fslab".into(), "import".into()],
        tags: [("branch".to_owned(), "main".to_owned())].into(),
    })
    .map_err(|error| error.to_string())
}

fn fio_files() -> Vec<PathBuf> {
    [3, 1, 2]
        .map(|n| data(&format!("fio-3.33-{n}.json")))
        .into()
}

#[test]
fn each_file_of_fio_is_a_repetition_of_its_jobs() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("run");
    assert_eq!(import(Program::Fio, &fio_files(), &out), Ok(6));
    let run = Run::load(&out).unwrap();
    assert_eq!((run.plan.study.as_str(), run.plan.blocks), ("fio", 3));
    assert_eq!(run.tags["branch"], "main");
    assert!(run.closing.is_some() && run.remaining().is_empty());
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.status == Status::Finished)
    );
    let labels: Vec<&str> = run
        .plan
        .cells
        .iter()
        .map(|cell| cell.workload_name.as_str())
        .collect();
    assert_eq!(labels, ["mixed", "stream"]);
    // Against fio's own figures, oldest first.
    for (n, file) in (1..=3)
        .map(|n| data(&format!("fio-3.33-{n}.json")))
        .enumerate()
    {
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        for (job, cell) in json["jobs"].as_array().unwrap().iter().zip(&run.plan.cells) {
            let of = |metric: &str| {
                run.values(cell, "mix", metric, Clock::Original)
                    .get(n)
                    .copied()
            };
            let write = &job["write"];
            assert_eq!(of("write_rate"), write["bw_bytes"].as_f64());
            assert_eq!(of("write_iops"), write["iops"].as_f64());
            let p99 = write["clat_ns"]["percentile"]["99.000000"]
                .as_f64()
                .map(|ns| ns / 1e9);
            assert_eq!(of("write_p99"), p99);
            let is_mixed = job["jobname"] == "mixed";
            assert_eq!(of("read_rate").is_some(), is_mixed);
            assert_eq!(of("fsync_avg").is_some(), !is_mixed);
        }
    }
    let place = Place::file();
    let mut store = place.open();
    store.import(&out).unwrap();
    assert!(dump(&mut store).iter().any(|row| row.contains("as-found")));
}

#[test]
fn each_repetition_of_ior_is_a_block() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("run");
    assert_eq!(import(Program::Ior, &[data("ior-4.1.txt")], &out), Ok(2));
    let run = Run::load(&out).unwrap();
    let cell = &run.plan.cells[0];
    let of = |phase: &str, metric: &str| run.values(cell, phase, metric, Clock::Original);
    assert_eq!(
        of("write", "throughput"),
        [765.85 * 1_048_576.0, 748.02 * 1_048_576.0]
    );
    assert_eq!(of("read", "iops"), [9021.12, 8899.90]);
    assert_eq!(of("write", "close_seconds"), [0.000_211, 0.000_224]);
    match &cell.workload {
        study::WorkloadSpec::Foreign(spec) => {
            assert_eq!(spec.parameters["xfersize"], "262144 bytes");
            assert_eq!(spec.parameters["access"], "single-shared-file");
            assert!(!spec.parameters.contains_key("test filename"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_text_of_mdtest_is_a_block() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("run");
    let files = [data("mdtest-4.1.txt"), data("mdtest-4.1.txt")];
    assert_eq!(import(Program::Mdtest, &files, &out), Ok(2));
    let run = Run::load(&out).unwrap();
    let cell = &run.plan.cells[0];
    let of = |phase: &str| run.values(cell, phase, "files", Clock::Original);
    assert_eq!(of("file_creation"), [15510.9, 15510.9]);
    assert_eq!(of("tree_removal"), [3120.87, 3120.87]);
    assert!(of("directory_rename").is_empty(), "it was not asked for");
    match &cell.workload {
        study::WorkloadSpec::Foreign(spec) => {
            assert_eq!(spec.parameters["tasks"], "4");
            assert_eq!(spec.parameters["options"], "-n 10");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_job_that_failed_is_a_failed_trial() {
    let temp = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(data("fio-3.33-1.json")).unwrap();
    let file = temp.path().join("failed.json");
    fs::write(&file, text.replacen("\"error\" : 0", "\"error\" : 28", 1)).unwrap();
    let out = temp.path().join("run");
    import(Program::Fio, &[file], &out).unwrap();
    let run = Run::load(&out).unwrap();
    let failed = run
        .trials
        .iter()
        .filter(|trial| matches!(trial.status, Status::Failed(..)));
    assert_eq!((failed.count(), run.closing.unwrap().failed), (1, 1));
}

#[test]
fn bad_results_are_one_line_and_leave_no_run() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("run");
    let text = |name: &str| fs::read_to_string(data(name)).unwrap();
    let (fio, ior, mdtest) = (
        text("fio-3.33-1.json"),
        text("ior-4.1.txt"),
        text("mdtest-4.1.txt"),
    );
    let cases: [(Program, String, &str); 14] = [
        (Program::Fio, String::new(), "no JSON"),
        (Program::Fio, "fio: no such job".into(), "no JSON"),
        (Program::Fio, fio[..fio.len() / 2].into(), "cannot be read"),
        (Program::Fio, "{}".into(), "fio version"),
        (
            Program::Fio,
            "{\"fio version\": \"fio-3\"}".into(),
            "\"jobs\"",
        ),
        (
            Program::Fio,
            "{\"fio version\": \"fio-3\", \"jobs\": []}".into(),
            "no results of fio",
        ),
        (
            Program::Fio,
            fio.replace("bw_bytes", "bw_kilobytes"),
            "read.bw_bytes is no number",
        ),
        (
            Program::Fio,
            text("fio-3.33-same-names.json"),
            "--group_reporting",
        ),
        (Program::Ior, mdtest.clone(), "no line begins with IOR-"),
        (
            Program::Ior,
            ior.replace("765.85     3120", "fast     3120"),
            "\"fast\"",
        ),
        (
            Program::Ior,
            ior[..ior.len() / 2].replace("write     ", ""),
            "no table of results",
        ),
        (Program::Mdtest, ior.clone(), "was launched with"),
        (
            Program::Mdtest,
            mdtest.replace("of 1 iterations", "of 3 iterations"),
            "-i 1",
        ),
        (
            Program::Mdtest,
            mdtest[..mdtest.find("SUMMARY").unwrap()].into(),
            "no SUMMARY",
        ),
    ];
    for (program, text, part) in cases {
        let file = temp.path().join("results");
        fs::write(&file, text).unwrap();
        let message = import(program, &[file], &out).unwrap_err();
        assert!(message.contains(part), "{message}");
        assert!(!message.contains('\n'), "{message}");
        assert!(!out.exists(), "{message}");
    }
    // Repetitions that are not the same.
    let other = temp.path().join("other.json");
    fs::write(&other, fio.replace("\"4k\"", "\"8k\"")).unwrap();
    let message = import(
        Program::Fio,
        &[data("fio-3.33-1.json"), other.clone()],
        &out,
    )
    .unwrap_err();
    assert!(message.contains("bs = "), "{message}");
    fs::write(&other, fio.replace("\"stream\"", "\"another\"")).unwrap();
    let message = import(Program::Fio, &[data("fio-3.33-1.json"), other], &out).unwrap_err();
    assert!(
        message.contains("import files with the same jobs"),
        "{message}"
    );
    fs::write(temp.path().join("bytes"), [0xff, 0xfe, 0]).unwrap();
    let message = import(Program::Fio, &[temp.path().join("bytes")], &out).unwrap_err();
    assert!(message.contains("not UTF-8 text"), "{message}");
    assert!(!out.exists());
}

#[test]
fn results_have_limits() {
    let temp = tempfile::tempdir().unwrap();
    let out = temp.path().join("run");
    let side = r#"{"io_bytes":1,"total_ios":1,"runtime":1,"bw_bytes":1,"iops":1}"#;
    let job = |name: &str| {
        format!(
            r#"{{"jobname":"{name}","error":0,"read":{side},"write":{side},"extra":[[0,0],{{}}]}}"#
        )
    };
    let fio = |global: &str, jobs: &[String]| {
        let jobs = jobs.join(",");
        format!(r#"{{"fio version":"fio-3","global options":{{{global}}},"jobs":[{jobs}]}}"#)
    };
    let many: Vec<String> = (0..5000).map(|n| job(&n.to_string())).collect();
    let long = "n".repeat(5_000_000);
    let ior = fs::read_to_string(data("ior-4.1.txt")).unwrap();
    let (head, row) = {
        let row = ior.lines().find(|line| line.starts_with("write")).unwrap();
        (ior.split(row).next().unwrap().to_owned(), row.to_owned())
    };
    let iteration = row.split_whitespace().last().unwrap().to_owned();
    let rows = (0..5000).map(|n| row.replace(&format!(" {iteration}"), &format!(" {n}")) + "\n");
    let repeated = head + &rows.collect::<String>();
    for (program, text, says) in [
        (Program::Fio, fio("", &many), "more than 4096 jobs"),
        (Program::Fio, fio("", &[job(&long)]), "has 5000000 bytes"),
        (
            Program::Fio,
            fio(&format!(r#""filename":"{long}""#), &[job("a")]),
            "more than 16384 bytes",
        ),
        (Program::Ior, repeated, "more than 4096 repetitions"),
    ] {
        let file = temp.path().join("results");
        fs::write(&file, text).unwrap();
        let message = import(program, &[file], &out).unwrap_err();
        assert!(message.contains(says), "{message}");
        assert!(message.len() < 1000 && !out.exists(), "{message}");
    }
    let file = temp.path().join("large");
    fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    let message = import(Program::Fio, &[file], &out).unwrap_err();
    assert!(message.contains("more than 64 MiB"), "{message}");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(cut in 0..20_000_usize, at in 0..20_000_usize, by in ".{0,6}") {
        let temp = tempfile::tempdir().unwrap();
        for (program, name) in [
            (Program::Fio, "fio-3.33-1.json"),
            (Program::Ior, "ior-4.1.txt"),
            (Program::Mdtest, "mdtest-4.1.txt"),
        ] {
            let mut text = fs::read_to_string(data(name)).unwrap();
            let at = at % text.len();
            let end = (at + cut % 12).min(text.len());
            text.replace_range(at..end, &by);
            let file = temp.path().join("results");
            fs::write(&file, &text).unwrap();
            let out = temp.path().join("run");
            match import(program, &[file], &out) {
                // What was imported can be read.
                Ok(_) => { Run::load(&out).unwrap(); fs::remove_dir_all(&out).unwrap(); }
                Err(message) => proptest::prop_assert!(!message.contains('\n'), "{message}"),
            }
        }
    }
}
