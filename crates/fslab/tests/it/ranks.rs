//! Ranks as threads and as processes of every MPI on this machine: the numbers of IOR and mdtest, a run, and what cannot begin.

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use common::launchers::{self, Mpi, document};
use common::{Scratch, assert_code, assert_ran, error_line, run_in, stdout};
use record::{Run, Status};

/// Files by their sizes, directories as none, below a folder.
fn found(dir: &Path) -> BTreeMap<String, Option<u64>> {
    let mut all = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            let meta = entry.metadata().unwrap();
            let name = entry
                .path()
                .strip_prefix(dir)
                .unwrap()
                .display()
                .to_string();
            all.insert(name, meta.is_file().then_some(meta.len()));
            if meta.is_dir() {
                left.push(entry.path());
            }
        }
    }
    all
}

fn counts(dir: &Path) -> (usize, usize, u64) {
    let all = found(dir);
    let files = all.values().flatten();
    (
        files.clone().count(),
        all.len() - files.clone().count(),
        files.sum(),
    )
}

fn numbers_of(run: &dyn Fn(&Path, &str) -> Output, all: bool) {
    let shared = |words: &str| {
        let scratch = Scratch::new();
        let words =
            format!("bench shared --dir . --ranks 4 --keep --no-cold --format json {words}");
        let document = document(&run(scratch.path(), &words));
        (document, found(scratch.path()))
    };
    let (document, files) = shared("-b 4m -t 256k -s 2");
    let names: Vec<&String> = files.keys().collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(
        files.values().all(|size| *size == Some(8_388_608)),
        "{files:?}"
    );
    for phase in document["phases"].as_array().unwrap() {
        assert_eq!(phase["operations"], 128);
        assert_eq!(phase["bytes"], 32 << 20);
        assert_eq!(phase["threads"].as_array().unwrap().len(), 4);
        let latency = &phase["latency"].as_array().unwrap()[1];
        assert_eq!(latency["count"], 128, "{latency}");
    }
    let (_, files) = shared("--layout shared -b 1m -t 256k -s 2");
    assert_eq!(files, [("testFile".to_owned(), Some(8_388_608))].into());
    let (document, _) = shared("-b 4k -t 4k -s 1000000 -D 0.1 --wear-out --test write");
    let write = &document["phases"][0];
    let ranks = write["threads"].as_array().unwrap();
    let most = ranks[0]["operations"].as_u64().unwrap();
    assert!(ranks.iter().all(|rank| rank["operations"] == most) && most < 1_000_000);
    assert_eq!(write["bytes"], 4 * most * 4096);
    let metadata = |words: &str| {
        let scratch = Scratch::new();
        let words =
            format!("bench metadata --dir . --ranks 4 --steps create --format json {words}");
        assert_ran(&run(scratch.path(), &words));
        counts(scratch.path())
    };
    // A launch of more ranks than processors is slow: with processes those cases in which ranks do different things.
    let few = if all { 0 } else { 5 };
    let cases = [
        ("-n 10", (40, 42, 0)),
        ("-n 10 --items files", (40, 2, 0)),
        ("-n 10 --items directories", (0, 42, 0)),
        ("-n 10 -u", (40, 45, 0)),
        ("-z 2 -b 3 -I 5", (260, 274, 0)),
        ("-z 2 -b 3 -I 5 -u", (260, 313, 0)),
        ("-z 2 -b 3 -I 5 -L", (180, 194, 0)),
        ("-z 2 -b 2 -n 20", (56, 64, 0)),
        ("-n 10 --items files -w 4096 -e 4096", (40, 2, 163_840)),
    ];
    for (words, made) in cases.into_iter().skip(few) {
        assert_eq!(metadata(words), made, "{words}");
    }
}

#[test]
fn threads_give_the_numbers_of_ior_and_mdtest() {
    numbers_of(
        &|dir, words| run_in(dir, &words.split_whitespace().collect::<Vec<_>>()),
        true,
    );
}

#[test]
fn processes_of_every_mpi_give_the_numbers_of_ior_and_mdtest() {
    for mpi in launchers::some() {
        numbers_of(&|dir, words| mpi.fslab(dir, words), false);
    }
}

/// What `--format original` prints is what the importer of IOR's and mdtest's own text reads.
#[test]
fn original_tables_are_imported_again() {
    let scratch = Scratch::new();
    for (program, words) in [
        (
            "ior",
            "bench shared --dir . --ranks 2 --no-cold --format original",
        ),
        (
            "mdtest",
            "bench metadata --dir . --ranks 2 -n 20 --format original",
        ),
    ] {
        let output = run_in(
            scratch.path(),
            &words.split_whitespace().collect::<Vec<_>>(),
        );
        assert_code(&output, 0);
        let text = scratch.join("text");
        fs::write(&text, stdout(&output)).unwrap();
        let import = ["import", "--from", program, "--out", program, "text"];
        let output = run_in(scratch.path(), &import);
        assert_code(&output, 0);
    }
}

/// Lines of options, heads of tables and the shape of rows are those that the programs themselves print.
#[test]
fn original_tables_are_those_of_the_programs() {
    let peers = [
        (
            "FSLAB_IOR",
            // The best rates are among what -v prints.
            "-v -a POSIX -w -r -F -b 1m -t 256k -s 2 -o ./testFile",
            "bench shared --dir . --ranks 1 -b 1m -t 256k -s 2 --no-cold",
        ),
        (
            "FSLAB_MDTEST",
            "-n 50 -F -d .",
            "bench metadata --dir . --ranks 1 -n 50 --items files",
        ),
    ];
    for (variable, theirs, ours) in peers {
        let Some(peer) = std::env::var_os(variable) else {
            testkit::skip!("{variable} names no program");
            continue;
        };
        let scratch = Scratch::new();
        let mut command = std::process::Command::new(peer);
        command
            .current_dir(scratch.path())
            .args(theirs.split_whitespace());
        let theirs = command
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let theirs = stdout(&theirs.output().unwrap());
        let words = format!("{ours} --format original");
        let ours = stdout(&run_in(
            scratch.path(),
            &words.split_whitespace().collect::<Vec<_>>(),
        ));
        // Numbers apart: they are measured. A first line has the version, and a last the time.
        let shape = |line: &str| -> String {
            let words = line.split_whitespace();
            let words = words.map(|word| {
                // A rate of MB a second is in parentheses.
                if word.trim_start_matches('(').parse::<f64>().is_ok() {
                    "N"
                } else {
                    word
                }
            });
            words.collect::<Vec<_>>().join(" ")
        };
        let known: Vec<String> = theirs.lines().map(shape).collect();
        let skipped = [
            "IOR-4.1.0",
            "mdtest-4.1.0",
            "Command line used",
            "-- finished",
        ];
        let lines = ours
            .lines()
            .filter(|line| !skipped.iter().any(|skip| line.starts_with(skip)));
        for line in lines.map(shape) {
            assert!(
                known.contains(&line),
                "{variable}: {line:?} is not in\n{theirs}"
            );
        }
    }
}

const STUDY: &str = r#"
include = ["defaults.toml"]
name = "ranks-test"
title = "Ranks"
[factors]
filesystem = ["ext4"]
[[workload]]
name = "ior"
kind = "shared"
block = "256k"
transfer = "64k"
segments = 4
factors.ranks = [1, 2]
[[workload]]
name = "mdtest"
kind = "metadata"
ranks = 2
files = 50
[run]
blocks = 2
reference_seconds = 0.0
"#;

/// The study in a folder, run there.
pub(crate) fn run_study(mpi: &Mpi, scratch: &Scratch, study: &str, more: &str) -> Output {
    fs::write(scratch.join("study.toml"), study).unwrap();
    fs::create_dir_all(scratch.join("data")).unwrap();
    let words = format!("run study.toml --executor mpi --dir data --out run {more}");
    mpi.fslab(scratch.path(), &words)
}

#[test]
fn a_study_runs_on_ranks_and_is_reported() {
    for mpi in launchers::some() {
        let scratch = Scratch::new();
        let output = run_study(&mpi, &scratch, STUDY, "");
        assert_ran(&output);
        let run = Run::load(&scratch.join("run")).unwrap();
        assert_eq!(run.trials.len(), 6);
        for trial in &run.trials {
            assert_eq!(trial.status, Status::Finished, "{}: {trial:?}", mpi.name);
            let has = |name: &str| trial.evidence.iter().any(|e| e.name == name);
            assert!(has("clocks_agree") && has("ranks_fit") && has("same_program"));
            assert!(
                trial
                    .samples
                    .iter()
                    .any(|sample| sample.metric == "barrier_seconds")
            );
        }
        assert!(run.target.starts_with("ranks {"), "{}", run.target);
        let program = &run.trials[0]
            .evidence
            .iter()
            .find(|e| e.name == "same_program")
            .unwrap()
            .detail;
        assert!(program.contains("ranks by node"), "{program}");
        assert_eq!(counts(&scratch.join("data")), (0, 0, 0), "{}", mpi.name);
        let report = common::whole_report(&scratch.join("run"));
        assert!(report.contains("ranks"), "{report}");
    }
}

/// Workloads of one process, on two ranks at the same time.
const COPIES: &str = r#"
include = ["defaults.toml"]
name = "copies-test"
title = "Copies"
[factors]
filesystem = ["ext4"]
[[workload]]
name = "fs_mark"
kind = "fill"
files = 30
size = 4096
ranks = 2
[[workload]]
name = "dd"
kind = "stream"
block = "64k"
count = 20
ranks = 2
[[workload]]
name = "iozone"
kind = "throughput"
size = "256k"
record = "64k"
settle_seconds = 0.0
ranks = 2
[[workload]]
name = "fio"
kind = "mix"
size = "256k"
ranks = 2
[run]
blocks = 1
reference_seconds = 0.0
"#;

#[test]
fn workloads_of_one_process_run_on_ranks() {
    let Some(mpi) = launchers::all().into_iter().next() else {
        testkit::skip!("no MPI");
        return;
    };
    let scratch = Scratch::new();
    assert_ran(&run_study(&mpi, &scratch, COPIES, ""));
    let run = Run::load(&scratch.join("run")).unwrap();
    assert_eq!(run.trials.len(), 4);
    for trial in &run.trials {
        assert_eq!(trial.status, Status::Finished, "{trial:?}");
        let has = |name: &str| trial.evidence.iter().any(|e| e.name == name);
        assert!(has("clocks_agree") && has("ranks_fit") && has("same_program"));
        let value = |metric: &str| {
            let mut samples = trial.samples.iter();
            samples
                .find(|sample| sample.metric == metric)
                .map(|sample| sample.value)
        };
        let (slowest, fastest) = (value("slowest").unwrap(), value("fastest").unwrap());
        assert!(0.0 < slowest && slowest <= fastest, "{trial:?}");
        assert!(value("tail").is_some() && value("barrier_seconds").is_some());
    }
    let mut cells = run.plan.cells.iter();
    assert!(cells.all(|cell| cell.workload.ranks() == Some(2)));
    assert_eq!(counts(&scratch.join("data")), (0, 0, 0));
    // Where nothing starts processes they are refused, before anything is written.
    let words = ["run", "study.toml", "--dir", "data", "--out", "other"];
    let output = run_in(scratch.path(), &words);
    assert_code(&output, 2);
    assert!(error_line(&output).contains("add --executor mpi"));
    assert!(!scratch.join("other").exists());
}

/// Threads of this process run the same study in the same directory.
#[test]
fn the_same_study_runs_with_threads() {
    let scratch = Scratch::new();
    fs::write(scratch.join("study.toml"), STUDY).unwrap();
    fs::create_dir(scratch.join("data")).unwrap();
    let words = ["run", "study.toml", "--dir", "data", "--out", "run"];
    assert_ran(&run_in(scratch.path(), &words));
    let run = Run::load(&scratch.join("run")).unwrap();
    assert!(
        run.trials
            .iter()
            .all(|trial| trial.status == Status::Finished)
    );
}

/// A library that is not the launcher's, and none at all: code 2, both named, nothing written.
#[test]
fn a_library_that_does_not_fit_is_refused_and_nothing_is_written() {
    let all = launchers::some();
    let of = |name: &str| all.iter().find(|mpi| mpi.name == name).cloned();
    let refused = |mpi: Mpi, says: &[&str]| {
        let scratch = Scratch::new();
        let output = run_study(&mpi, &scratch, STUDY, "");
        assert_code(&output, 2);
        let message = error_line(&output);
        for words in says {
            assert!(message.contains(words), "{message}");
        }
        assert!(!scratch.join("run").exists());
        assert_eq!(counts(&scratch.join("data")), (0, 0, 0));
    };
    if let (Some(open), Some(_)) = (of("Open MPI"), of("MPICH")) {
        let crossed = Mpi {
            library: Some("libmpich.so.12".into()),
            ..open
        };
        refused(
            crossed,
            &["MPICH", "sees 1 of 2 ranks", "Open MPI's launcher"],
        );
    }
    if let Some(mpi) = all.first() {
        let none = Mpi {
            library: Some("/nowhere/libmpi.so".into()),
            ..mpi.clone()
        };
        refused(none, &["no MPI library", "/nowhere/libmpi.so"]);
        let other = Mpi {
            launcher: "/nowhere/mpirun -np {ranks}".into(),
            ..mpi.clone()
        };
        refused(other, &["/nowhere/mpirun", "cannot be started"]);
        let scratch = Scratch::new();
        let study = STUDY.replace(
            "kind = \"metadata\"\nranks = 2\nfiles = 50",
            "kind = \"tree\"",
        );
        let output = run_study(mpi, &scratch, &study, "");
        assert_code(&output, 2);
        assert!(error_line(&output).contains("does not run on ranks"));
    }
}

/// The order of another node is refused on one, before anything is written.
#[test]
fn the_next_node_needs_two() {
    let Some(mpi) = launchers::all().into_iter().next() else {
        testkit::skip!("no MPI");
        return;
    };
    let scratch = Scratch::new();
    let study = STUDY.replace("segments = 4", "segments = 4\nreorder = \"node\"");
    let output = run_study(&mpi, &scratch, &study, "");
    assert_code(&output, 2);
    assert!(error_line(&output).contains("all ranks are on one node"));
    assert!(!scratch.join("run").exists());
}

#[test]
fn the_program_is_linked_to_no_mpi() {
    let output = std::process::Command::new("ldd")
        .arg(env!("CARGO_BIN_EXE_fslab"))
        .output();
    let Ok(output) = output else {
        testkit::skip!("no ldd");
        return;
    };
    let text = stdout(&output);
    assert!(!text.contains("mpi") && !text.contains("MPI"), "{text}");
}
