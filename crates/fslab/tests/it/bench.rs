//! The workloads alone: one JSON document, the originals' layouts, bad options.

use crate::common;

use std::time::Instant;

use common::{Scratch, assert_code, error_line, run_in, stderr, stdout};
use serde_json::Value;

fn bench(scratch: &Scratch, words: &str) -> std::process::Output {
    let mut args = vec!["bench"];
    args.extend(words.split_whitespace());
    run_in(scratch.path(), &args)
}

fn document(output: &std::process::Output) -> Value {
    assert_code(output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(document: &Value) -> Vec<&str> {
    document["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_table_for_machines_has_the_figures_of_the_document() {
    let scratch = Scratch::new();
    let words = "throughput --dir . -t 2 -s 1m -r 64k --settle 0 --format csv";
    let output = bench(&scratch, words);
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.starts_with("workload,phase,metric,clock,value,unit\r\n"),
        "{text}"
    );
    for phase in ["initial_write", "random_write"] {
        for clock in ["original", "fsync", "syncfs"] {
            let start = format!("throughput,{phase},throughput,{clock},");
            let row = text.lines().find(|line| line.starts_with(&start));
            let row = row.unwrap_or_else(|| panic!("{start}: {text}"));
            let (value, unit) = row[start.len()..].split_once(',').unwrap();
            assert!(value.parse::<f64>().unwrap() > 0.0, "{row}");
            assert_eq!(unit, "bytes_per_s");
        }
    }
}

#[test]
fn throughput_prints_one_document() {
    let scratch = Scratch::new();
    let output = bench(
        &scratch,
        "throughput --dir . -t 2 -s 1m -r 64k --settle 0 --format json",
    );
    let document = document(&output);
    assert_eq!(document["workload"], "throughput");
    let expected = [
        "initial_write",
        "rewrite",
        "read",
        "reread",
        "random_read",
        "random_write",
    ];
    assert_eq!(names(&document), expected);
    for phase in document["phases"].as_array().unwrap() {
        for clock in ["original", "fsync", "syncfs"] {
            assert!(
                phase["bytes_per_s"][clock].as_f64().unwrap() > 0.0,
                "{phase}"
            );
        }
        assert!(phase["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(phase["threads"].as_array().unwrap().len(), 2);
        assert_eq!(phase["bytes_asked"], 2 << 20);
        assert!(phase["operations"].as_u64().unwrap() <= 32);
        let parent = phase["figures"]["parent"].as_f64().unwrap();
        assert!(phase["figures"]["children"].as_f64().unwrap() >= parent * 0.99);
        assert!(phase["figures"]["min_xfer"].as_f64().unwrap() <= f64::from(1 << 20));
    }
    assert_eq!(
        std::fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "its files are removed"
    );
}

#[test]
fn tree_prints_one_document() {
    let scratch = Scratch::new();
    let output = bench(
        &scratch,
        "tree --dir . -i 10 -r 30 --scale 0.005 --format json",
    );
    let document = document(&output);
    assert_eq!(document["workload"], "tree");
    let runs: Vec<(&str, u64)> = document["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| {
            (
                p["name"].as_str().unwrap(),
                p["operations"].as_u64().unwrap(),
            )
        })
        .collect();
    // compilebench -i 10 -r 30: the sequence is fixed by its seed.
    let expected = [
        ("initial_create", 10),
        ("create", 5),
        ("patch", 4),
        ("compile", 7),
        ("clean", 4),
        ("read_tree", 2),
        ("read_compiled_tree", 1),
        ("delete_tree", 2),
        ("delete_compiled_tree", 0),
        ("stat_tree", 4),
        ("stat_compiled_tree", 1),
    ];
    assert_eq!(runs, expected);
    for phase in document["phases"].as_array().unwrap() {
        let threads = phase["threads"].as_array().unwrap();
        let whole = phase["operations"] != 0;
        assert_eq!(threads.len(), usize::from(whole), "{phase}");
        assert!(!whole || threads[0]["bytes"] == phase["bytes"], "{phase}");
        for clock in ["original", "fsync", "syncfs"] {
            assert!(phase["bytes_per_s"].get(clock).is_some(), "{phase}");
        }
    }
}

#[test]
fn the_originals_layouts_can_be_had() {
    let scratch = Scratch::new();
    let output = bench(
        &scratch,
        "throughput --dir . -s 1m -r 64k --settle 0 --format original",
    );
    assert_code(&output, 0);
    assert!(stdout(&output).contains("\tChildren see throughput for  1 initial writers \t="));
    let output = bench(
        &scratch,
        "tree --dir . -i 2 -r 0 -n --scale 0.005 --format original",
    );
    assert_code(&output, 0);
    assert!(
        stdout(&output).contains("intial create total runs 2 avg "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn text_is_a_table_within_78_columns_with_every_clock() {
    let scratch = Scratch::new();
    let output = bench(&scratch, "throughput --dir . -t 2 -s 1m -r 64k --settle 0");
    assert_code(&output, 0);
    let text = stdout(&output);
    common::assert_fits_a_mail(&text);
    for word in ["(a) MB/s", "(b) MB/s", "(c) MB/s", "random_write"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_line_is_written_every_five_seconds_without_a_terminal() {
    let scratch = Scratch::new();
    let begun = Instant::now();
    let output = bench(&scratch, "throughput --dir . -s 1m -r 64k --settle 1.1");
    // Six seconds, and what a busy disk takes for the syncs.
    let most = begun.elapsed().as_secs() as usize / 5 + 1;
    assert_code(&output, 0);
    let text = stderr(&output);
    let phases = [
        "initial_write",
        "rewrite",
        "read",
        "reread",
        "random_read",
        "random_write",
    ];
    let lines = text
        .lines()
        .filter(|line| phases.iter().any(|name| line.contains(name)))
        .count();
    assert!((1..=most).contains(&lines), "{most}: {text}");
}

#[test]
fn bad_options_are_refused_with_what_is_allowed() {
    let scratch = Scratch::new();
    for (words, message) in [
        ("throughput --dir . -t 0", "1..=1024"),
        ("throughput --dir . -r 0", "1"),
        ("throughput --dir . -s 1k -r 4k", "size"),
        ("throughput --dir . --direct -s 64k -r 1000", "record"),
        ("throughput --dir . --queue-depth 4", "io_uring"),
        ("throughput --dir . --settle -1", "settle"),
        ("throughput --dir . -s 2x", "2x"),
        ("tree --dir . --scale 0", "scale"),
        ("tree --dir . -i 1001", "initial"),
        ("tree --dir . -s no-such-folder", "no-such-folder"),
    ] {
        let output = bench(&scratch, words);
        assert_code(&output, 2);
        assert!(
            error_line(&output).contains(message),
            "{words}: {}",
            error_line(&output)
        );
        assert_eq!(
            std::fs::read_dir(scratch.path()).unwrap().count(),
            0,
            "{words}"
        );
    }
}

#[test]
fn stream_prints_one_document_dd_lines_and_what_time_prints() {
    let scratch = Scratch::new();
    let words = "stream --dir . -b 64k -w 40 --verify --content random --format json";
    let document = document(&bench(&scratch, words));
    assert_eq!(names(&document), ["write", "read"]);
    for phase in document["phases"].as_array().unwrap() {
        assert_eq!(phase["bytes"], 40 * 65_536);
        assert_eq!(phase["operations"], 40);
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);

    let output = bench(
        &scratch,
        "stream --dir . -b 64k -w 40 -W --conv fsync,notrunc --format dd",
    );
    assert_code(&output, 0);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..2], ["40+0 records in", "40+0 records out"]);
    assert!(
        lines[2].starts_with("2621440 bytes (2.6 MB, 2.5 MiB) copied, "),
        "{text}"
    );
    let message = stderr(&output);
    assert!(
        message.contains("user ") && message.contains("pagefaults 0swaps"),
        "{message}"
    );
    assert!(scratch.join("bigfile").is_file(), "-W leaves it to -R");

    let output = bench(&scratch, "stream --dir . -b 64k -w 40 -R --format original");
    assert_code(&output, 0);
    assert!(
        stdout(&output).starts_with("read 2621440 bytes in "),
        "{}",
        stdout(&output)
    );
    let output = bench(&scratch, "stream --dir . -b 64k -w 41 -R");
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("bigfile"),
        "{}",
        error_line(&output)
    );
}

#[test]
fn latencies_are_recorded_unless_they_are_not_wanted() {
    let runs = [
        ("throughput --dir . -x -s 64k -r 4k --settle 0", "write"),
        ("stream --dir . -b 4k -w 16", "write"),
        ("tree --dir . -i 2 -r 4 -n --scale 0.005", "open"),
    ];
    for (words, operation) in runs {
        let scratch = Scratch::new();
        let with = document(&bench(&scratch, &format!("{words} --format json")));
        let phase = &with["phases"][0];
        let latency = phase["latency"].as_array().unwrap();
        let of = latency.iter().find(|of| of["operation"] == operation);
        let of = of.unwrap_or_else(|| panic!("{words}: {phase}"));
        let quantiles =
            ["min", "p50", "p90", "p99", "p999", "max"].map(|name| of[name].as_f64().unwrap());
        assert!(quantiles.is_sorted() && quantiles[1] > 0.0, "{words}: {of}");
        assert_eq!(phase["figures"][format!("{operation}_p50")], of["p50"]);
        let buckets = of["histogram"].as_array().unwrap();
        let counted: u64 = buckets.iter().map(|b| b["count"].as_u64().unwrap()).sum();
        assert_eq!(Some(counted), of["count"].as_u64());
        let text = stdout(&bench(&scratch, words));
        let (_, table) = text.split_once("\nLatency ").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap_or((table, ""));
        assert!(
            table.contains("p99.9") && table.contains(operation),
            "{text}"
        );
        assert!(table.lines().all(|l| l.chars().count() <= 78), "{table}");
        let without = document(&bench(
            &scratch,
            &format!("{words} --no-latency --format json"),
        ));
        assert!(without["phases"][0]["latency"].is_null(), "{words}");
        assert_eq!(without["parameters"]["latency"], false);
    }
}

#[test]
fn as_original_touches_what_it_moves_and_needs_the_engine_sync() {
    let scratch = Scratch::new();
    let words =
        "throughput --dir . -t 2 -s 256k -r 8k --settle 0 --as-original --keep --format json";
    let document = document(&bench(&scratch, words));
    assert_eq!(document["parameters"]["as_original"], true);
    assert_eq!(names(&document).len(), 6);
    let bytes = std::fs::read(scratch.path().join("iozone.DUMMY.1")).unwrap();
    assert_eq!(bytes.len(), 256 << 10);
    assert!(bytes.chunks(4096).all(|page| page[..8] == [0xa5; 8]));
    let output = bench(
        &scratch,
        "throughput --dir . --as-original --engine io-uring",
    );
    assert_code(&output, 2);
    assert!(error_line(&output).contains("engine sync"));
}

#[test]
fn fill_prints_one_document_and_fs_marks_lines() {
    let scratch = Scratch::new();
    let words = "fill -d . -n 30 -s 100 -t 2 -D 3 -N 5 -L 2 -S 1 --format json";
    let document = document(&bench(&scratch, words));
    assert_eq!(names(&document), ["fill"]);
    let phase = &document["phases"][0];
    assert_eq!(phase["operations"], 120);
    assert_eq!(phase["figures"]["count"], 120.0);
    for figure in [
        "creat_p99",
        "fsync_avg",
        "app_overhead",
        "fs_use",
        "total_over_elapsed",
    ] {
        assert!(phase["figures"][figure].as_f64().is_some(), "{figure}");
    }
    let median = phase["figures"]["creat_p50"].as_f64().unwrap();
    assert!(
        median >= phase["figures"]["creat_min"].as_f64().unwrap(),
        "{phase}"
    );
    let folders = std::fs::read_dir(scratch.path()).unwrap().count();
    assert_eq!(folders, 3, "-L keeps the files");

    let output = bench(&scratch, "fill -d . -n 10 -S 0 -v --format original");
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains("FSUse%        Count         Size    Files/sec     App Overhead"),
        "{text}"
    );
    assert!(stderr(&output).contains("pagefaults 0swaps"));
    let output = bench(&scratch, "fill -d . -n 10");
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(
        text.contains("app overhead") && text.contains("fsync"),
        "{text}"
    );
    common::assert_fits_a_mail(&text);
}

#[test]
fn age_keeps_exact_books() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.join("aged")).unwrap();
    let words = "age --dir aged --rounds 2 -n 40 -t 2 -D 8 -N 10 --step 1 -s 10 --format json";
    let document = document(&bench(&scratch, words));
    assert_eq!(names(&document), ["age_fill", "age_remove", "age_add"]);
    let figures = |at: usize| &document["phases"][at]["figures"];
    let mut count = 0;
    let mut todo = vec![scratch.join("aged")];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            } else {
                count += 1;
            }
        }
    }
    assert_eq!(figures(2)["count"], f64::from(count));
}

/// A small ext4 that has inodes for more files than it has blocks for.
struct Small(std::path::PathBuf);

impl Small {
    fn mounted(scratch: &Scratch) -> Small {
        let image = scratch.join("small.img");
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(16 << 20).unwrap();
        let made = std::process::Command::new("mkfs.ext4")
            .args(["-q", "-F", "-b", "4096", "-N", "9000", "-m", "0"])
            .arg(&image)
            .status();
        assert!(made.unwrap().success());
        let folder = scratch.join("small");
        std::fs::create_dir(&folder).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-o", "loop"])
            .args([&image, &folder])
            .status();
        assert!(mounted.unwrap().success());
        Small(folder)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_filesystem_is_an_error_with_what_was_measured_or_the_end_needs_root() {
    if !common::is_root() {
        return;
    }
    let scratch = Scratch::new();
    let small = Small::mounted(&scratch);
    let output = bench(&scratch, "fill -d small -n 8000 -s 1 -S 0");
    assert_code(&output, 7);
    let line = error_line(&output);
    assert!(line.contains("no space left"), "{line}");
    assert!(
        stdout(&output).contains("fill"),
        "what was measured is printed"
    );
    assert!(stdout(&output).contains("files/s"), "{}", stdout(&output));
    let left: Vec<_> = std::fs::read_dir(&small.0).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "lost+found alone: {left:?}");

    let output = bench(&scratch, "fill -d small -n 8000 -s 1 -S 0 -F --format json");
    let document = document(&output);
    let made = document["phases"][0]["operations"].as_u64().unwrap();
    assert!((1000..8000).contains(&made), "{made}");
    let kept = std::fs::read_dir(&small.0).unwrap().count() as u64 - 1;
    assert_eq!(kept, made, "-F keeps the files");

    let output = bench(&scratch, "stream --dir small -b 1m -w 64");
    let line = error_line(&output);
    assert!(line.contains("bigfile") || line.contains("small"), "{line}");
    assert_ne!(output.status.code(), Some(0));
}

#[test]
fn fsck_checks_images_and_refuses_what_is_mounted_needs_root() {
    if !common::is_root() {
        return;
    }
    let scratch = Scratch::new();
    let small = Small::mounted(&scratch);
    let output = bench(&scratch, "fsck small.img");
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("mounted"),
        "{}",
        error_line(&output)
    );
    let output = bench(&scratch, "fsck small");
    assert_code(&output, 2);
    drop(small);

    let output = bench(&scratch, "fsck small.img");
    assert_code(&output, 0);
    let text = stdout(&output);
    for word in ["e2fsck", "check_pass_5", "elapsed", "pagefaults"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let report = document(&bench(&scratch, "fsck small.img --type ext4 --format json"));
    assert_eq!(report["verdict"], "clean");
    assert_eq!(report["phases"][0]["name"], "check");

    // lost+found with a wrong count of links: an error that pass 4 reports.
    let damaged = std::process::Command::new("debugfs")
        .args(["-w", "-R", "sif <11> links_count 9"])
        .arg(scratch.join("small.img"))
        .output();
    assert!(damaged.unwrap().status.success());
    let output = bench(&scratch, "fsck small.img");
    assert_code(&output, 7);
    assert!(
        error_line(&output).contains("damaged"),
        "{}",
        error_line(&output)
    );

    std::fs::write(scratch.join("zeros.img"), vec![0; 1 << 20]).unwrap();
    let output = bench(&scratch, "fsck zeros.img");
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("--type"),
        "{}",
        error_line(&output)
    );
}
