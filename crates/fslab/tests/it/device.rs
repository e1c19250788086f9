//! `fslab device`, `fslab replay` and `fslab check --device`: answers first, intervals, one clear line for what is wrong.

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Command;

use blktrace::record::{Action, Category, Head};
use common::{Scratch, assert_code, error_line, run_in, stderr, stdout};
use fixtures::block_trace::Forge;
use fixtures::write_log::WriteLog;
use serde_json::Value;

/// A trace of one process that reads `count` blocks of 4 KiB, each after the one before: 1 ms of think time, 2 ms of service.
fn reader(folder: &Path, name: &str, count: u64) {
    let mut bytes = Vec::new();
    let mut sequence = 0;
    for i in 0..count {
        let sector = i * 104_729 % 200_000 * 2048;
        for (action, time) in [
            (Action::Queue, 3_000_000 * i),
            (Action::Issue, 3_000_000 * i),
            (Action::Complete, 3_000_000 * i + 2_000_000),
        ] {
            sequence += 1;
            let head = Head {
                time: 1 + time,
                sector,
                sequence,
                bytes: 4096,
                action: action as u32 | Category::Read as u32,
                pid: 7,
                device: 8 << 20,
                ..Head::default()
            };
            bytes.extend(head.to_bytes());
        }
    }
    fs::write(folder.join(format!("{name}.blktrace.0")), bytes).unwrap();
}

fn json(scratch: &Scratch, args: &[&str]) -> Value {
    let mut all = args.to_vec();
    all.extend(["--format", "json"]);
    let output = run_in(scratch.path(), &all);
    assert_code(&output, 0);
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("{pointer} in {value}"))
}

#[test]
fn a_replay_answers_first_and_calls_its_numbers_modelled() {
    let scratch = Scratch::new();
    reader(scratch.path(), "sda", 300);
    let output = run_in(
        scratch.path(),
        &["replay", "sda", "--device", "cheetah-15k.5,7k500"],
    );
    assert_code(&output, 0);
    let text = stdout(&output);
    let mut lines = text.lines();
    for name in ["cheetah-15k.5", "7k500"] {
        let line = lines.find(|line| line.starts_with("On ")).unwrap();
        assert!(
            line.starts_with(&format!("On {name} this takes ")),
            "{line}"
        );
        assert!(
            line.contains("(5-95 %: ") && line.contains("modelled"),
            "{line}"
        );
    }
    for head in text.lines().filter(|line| line.contains("requests  ")) {
        assert!(head.contains("modelled s"), "{head}");
    }
    assert!(text.contains("Assumed: 7k500: "), "{text}");
    // What was recorded is called so, and nothing else is measured.
    assert!(!text.contains("measured"), "{text}");
    assert!(
        text.contains("This cannot tell what else the host would do"),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn think_time_and_service_make_the_time_and_modes_differ_as_they_should() {
    let scratch = Scratch::new();
    reader(scratch.path(), "sda", 200);
    let nominal = |more: &[&str]| {
        let mut args = vec!["replay", "sda", "--device", "cheetah-15k.5"];
        args.extend(more);
        let report = json(&scratch, &args);
        assert_eq!(report["timing"], "modelled");
        let row = "/devices/0/rows/0";
        assert_eq!(number(&report, &format!("{row}/requests")), 200.0);
        let recorded = number(&report, &format!("{row}/recorded_s"));
        assert!((recorded - 0.599).abs() < 1e-6);
        let service = number(&report, &format!("{row}/modelled/mean_ms")) / 1e3;
        (
            number(&report, &format!("{row}/modelled/nominal_s")),
            service,
        )
    };
    let (dependent, service) = nominal(&[]);
    // n * (service + 1 ms), less the last think time.
    assert!((dependent - (200.0 * (service + 1e-3) - 1e-3)).abs() < 1e-6);
    let (saturate, service) = nominal(&["--mode", "saturate", "--depth", "1"]);
    assert!((saturate - 200.0 * service).abs() < 1e-6);
    let (three, _) = nominal(&["--cpu", "3"]);
    assert!(
        (three - dependent - 0.002 * 199.0).abs() < 0.02,
        "{three} {dependent}"
    );
    let (open, _) = nominal(&["--mode", "open"]);
    // Every 3 ms, and the disk needs more than 5: the queue is sorted.
    assert!(open < dependent);
    let (queue, _) = nominal(&["--from", "queue"]);
    assert!((queue - dependent).abs() < 1e-9);
}

#[test]
fn what_is_not_whole_is_refused_or_marked() {
    let scratch = Scratch::new();
    reader(scratch.path(), "sda", 50);
    let path = scratch.join("sda.blktrace.0");
    let mut bytes = fs::read(&path).unwrap();
    bytes.drain(48 * 30..48 * 33);
    fs::write(&path, bytes).unwrap();
    let replay = ["replay", "sda", "--device", "7k500"];
    let output = run_in(scratch.path(), &replay);
    assert_code(&output, 7);
    assert!(error_line(&output).contains("3 events of its sequence are missing"));
    assert!(output.stdout.is_empty());
    let output = run_in(scratch.path(), &[&replay[..], &["--incomplete"]].concat());
    assert_code(&output, 7);
    assert!(stdout(&output).starts_with("Not whole: 3 events"));
}

#[test]
fn a_smaller_device_needs_a_place() {
    let scratch = Scratch::new();
    reader(scratch.path(), "sda", 50);
    let small = "[device.small]\nkind = \"disk\"\ncapacity = \"10 GB\"\nrpm = 7200\n\
        seek_ms = { track = 0.8, average = 8.5, full = 17.0 }\n\
        rate = { outer = \"60 MB/s\", inner = \"30 MB/s\" }\nsurfaces = 2\n";
    fs::write(scratch.join("my.toml"), small).unwrap();
    let args = |more: &[&'static str]| {
        let mut args = vec![
            "replay",
            "sda",
            "--device",
            "small",
            "--devices-file",
            "my.toml",
        ];
        args.extend(more);
        run_in(scratch.path(), &args)
    };
    let output = args(&[]);
    assert_code(&output, 2);
    assert!(error_line(&output).contains("choose a larger device (--place scale or wrap moves"));
    for place in ["scale", "wrap"] {
        assert_code(&args(&["--place", place]), 0);
    }
}

#[test]
fn a_trace_of_several_devices_is_replayed_by_device() {
    let scratch = Scratch::new();
    Forge::plain(1, 300).write(scratch.path(), "sda").unwrap();
    let sdb = Forge {
        devices: vec![(8 << 20) | 16],
        ..Forge::plain(3, 100)
    };
    sdb.write(scratch.path(), "sdb").unwrap();
    let output = run_in(
        scratch.path(),
        &["replay", ".", "--device", "constellation-es"],
    );
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("8,0 and 8,16"),
        "{}",
        stderr(&output)
    );
    let one = [
        "replay",
        ".",
        "--device",
        "constellation-es",
        "--place",
        "scale",
        "--traced",
        "8,16",
    ];
    let report = json(&scratch, &one);
    assert!(number(&report, "/devices/0/rows/0/requests") > 50.0);
}

/// A log of scattered writes of 4 KiB, with a flush after each twenty.
fn log(writes: u64) -> WriteLog {
    let mut log = WriteLog::new(512);
    for i in 0..writes {
        log.write(i * 104_729 % 200_000 * 2048, 4096, 0);
        if i % 20 == 19 {
            log.write(0, 0, 1);
        }
    }
    log
}

#[test]
fn a_log_of_writes_has_an_order_and_nothing_else() {
    let scratch = Scratch::new();
    log(200).save(&scratch.join("log")).unwrap();
    let replay = ["replay", "log", "--device", "cheetah-15k.5"];
    for mode in ["open", "closed", "dependent"] {
        let output = run_in(scratch.path(), &[&replay[..], &["--mode", mode]].concat());
        assert_code(&output, 2);
        assert!(error_line(&output).contains("use --mode saturate"));
    }
    let with = |more: &[&'static str]| [&replay[..], &["--mode", "saturate"], more].concat();
    let output = run_in(scratch.path(), &with(&[]));
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("of which a log of writes has none"), "{text}");
    assert!(
        text.contains("flushes") && !text.contains("In other modes"),
        "{text}"
    );
    let deep = json(&scratch, &with(&[]));
    let row = "/devices/0/rows/0";
    assert_eq!(number(&deep, &format!("{row}/requests")), 210.0);
    assert!(
        deep.pointer(&format!("{row}/recorded_s"))
            .unwrap()
            .is_null()
    );
    let seconds = |report: &Value| number(report, &format!("{row}/modelled/nominal_s"));
    let alone = json(&scratch, &with(&["--depth", "1"]));
    assert!(seconds(&alone) > 1.5 * seconds(&deep));
    // Cut within the data of the last write.
    let bytes = log(201).bytes();
    fs::write(scratch.join("log"), &bytes[..bytes.len() - 512]).unwrap();
    let output = run_in(scratch.path(), &with(&[]));
    assert_code(&output, 7);
    assert!(error_line(&output).contains("ends after 210 of the 211 entries"));
    let output = run_in(scratch.path(), &with(&["--incomplete"]));
    assert_code(&output, 7);
    assert!(stdout(&output).starts_with("Not whole: it ends after 210 of the 211 entries"));
}

#[test]
fn devices_are_listed_shown_checked_and_tried() {
    let scratch = Scratch::new();
    let listed = run_in(scratch.path(), &["device", "list"]);
    assert_code(&listed, 0);
    insta::assert_snapshot!("device_list", stdout(&listed));
    let shown = run_in(scratch.path(), &["device", "show", "lun-2011"]);
    insta::assert_snapshot!("device_show", stdout(&shown));
    let tried = run_in(scratch.path(), &["device", "bench", "cheetah-15k.5"]);
    insta::assert_snapshot!("device_bench", stdout(&tried));
    let striped = json(&scratch, &["device", "show", "7k500x4"]);
    assert_eq!(striped["kind"], "array");
    let bench = json(&scratch, &["device", "bench", "7k500"]);
    assert_eq!(bench["timing"], "modelled");
    fs::write(scratch.join("bad.toml"), "[device.a]\nkind = \"disc\"\n").unwrap();
    let output = run_in(scratch.path(), &["device", "check", "bad.toml"]);
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("bad.toml:"),
        "{}",
        stderr(&output)
    );
}

fn filesystem(scratch: &Scratch) {
    let made = Command::new("mke2fs")
        .current_dir(scratch.path())
        .args(["-q", "-F", "-t", "ext4", "disk.img", "64m"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
}

#[test]
fn a_check_says_what_it_would_take_there() {
    let scratch = Scratch::new();
    filesystem(&scratch);
    let output = run_in(scratch.path(), &["check", "disk.img", "--device", "7k500"]);
    assert_code(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("verdict (e2fsck-1.47.4): clean"), "{text}");
    assert!(text.contains("\nOn 7k500 this takes "), "{text}");
    assert!(text.contains("  pass 1"), "{text}");
    let document = json(&scratch, &["check", "disk.img", "--device", "7k500"]);
    let rows = document["modelled"]["devices"][0]["rows"]
        .as_array()
        .unwrap();
    let requests = |row: &Value| row["requests"].as_u64().unwrap();
    let sum: u64 = rows[1..].iter().map(requests).sum();
    assert_eq!(sum, requests(&rows[0]));
    let seconds: f64 = rows[1..]
        .iter()
        .map(|row| number(row, "/modelled/nominal_s"))
        .sum();
    assert!((seconds - number(&rows[0], "/modelled/nominal_s")).abs() < 1e-6);
    assert!(document.get("verdict").is_some());
}

#[test]
fn a_live_check_waits_and_finds_the_same() {
    let scratch = Scratch::new();
    filesystem(&scratch);
    let args = ["check", "disk.img", "--device", "7k500", "--live"];
    let document = json(&scratch, &args);
    assert_eq!(document["verdict"]["exit_code"], 0);
    assert_eq!(document["timing"], "modelled");
    assert_eq!(document["modelled"]["live"], true);
    let text = run_in(scratch.path(), &args);
    let first = "Times below are modelled: reads wait for 7k500 (--live).";
    assert!(stdout(&text).starts_with(first), "{}", stdout(&text));
    // It took at least what the device takes, and the replay of its own record agrees.
    let row = &document["modelled"]["devices"][0]["rows"][0];
    let (live, nominal) = (
        number(row, "/recorded_s"),
        number(row, "/modelled/nominal_s"),
    );
    assert!(live > 0.5 * nominal, "{live} {nominal}");
    assert!(number(row, "/requests") > 3.0);
    // Whether it was in time depends on what else the machine does.
    let answers = &document["modelled"]["answers"];
    assert!(number(answers, "/count") >= number(row, "/requests"));
    assert!(answers["in_time"].is_boolean(), "{answers}");
    let late = "Live reads were answered ";
    assert!(stdout(&text).contains(late), "{}", stdout(&text));
    // Other formats have no place that says modelled.
    let as_e2fsck = run_in(
        scratch.path(),
        &[&args[..], &["--format", "e2fsck"]].concat(),
    );
    assert_code(&as_e2fsck, 16);
}

#[test]
fn a_device_of_a_check_must_exist_and_be_large_enough() {
    let scratch = Scratch::new();
    filesystem(&scratch);
    let output = run_in(scratch.path(), &["check", "disk.img", "--device", "7k50"]);
    assert_code(&output, 16);
    assert!(error_line(&output).contains("did you mean 7k500?"));
    let sparse = fs::OpenOptions::new()
        .write(true)
        .open(scratch.join("disk.img"))
        .unwrap();
    sparse.set_len(600_000_000_000).unwrap();
    let output = run_in(scratch.path(), &["check", "disk.img", "--device", "7k500"]);
    assert_code(&output, 16);
    assert!(error_line(&output).contains("choose a larger device"));
    let args = [
        "check", "disk.img", "--device", "7k500x2", "--format", "csv",
    ];
    let output = run_in(scratch.path(), &args);
    assert_code(&output, 16);
    assert!(error_line(&output).contains("--format text or json"));
}

#[test]
fn a_checks_own_record_takes_no_choices_that_are_of_traces() {
    let scratch = Scratch::new();
    filesystem(&scratch);
    let recorded = run_in(scratch.path(), &["check", "disk.img", "--record", "reads"]);
    assert_code(&recorded, 0);
    let options = [
        "--mode open",
        "--depth 4",
        "--think-limit 2",
        "--from queue",
        "--place wrap",
        "--traced 8,0",
        "--incomplete",
        "--whole",
    ];
    for option in options {
        let words = option.split(' ');
        let all: Vec<&str> = ["replay", "reads", "--device", "7k500"]
            .into_iter()
            .chain(words.clone())
            .collect();
        let output = run_in(scratch.path(), &all);
        assert_code(&output, 2);
        let (line, name) = (error_line(&output), words.take(1).collect::<String>());
        assert!(line.contains(&format!("{name}: reads")), "{line}");
        assert!(line.ends_with("leave it out"), "{line}");
    }
}

#[test]
fn holes_of_an_image_are_named_when_it_is_measured() {
    let scratch = Scratch::new();
    let image = fs::File::create(scratch.join("sparse.img")).unwrap();
    image.set_len(16 << 20).unwrap();
    let output = run_in(scratch.path(), &["device", "bench", "./sparse.img"]);
    if stderr(&output).contains("cannot be read past the page cache") {
        testkit::skip!("no direct reads in the folder of temporary files");
        return;
    }
    assert_code(&output, 0);
    let text = stdout(&output);
    let line = text.lines().nth(1).unwrap_or_default();
    assert!(line.starts_with("16 MiB of it are holes"), "{text}");
}

#[test]
fn what_cannot_be_measured_is_refused_in_one_line() {
    let scratch = Scratch::new();
    fs::write(scratch.join("small"), [0; 8192]).unwrap();
    let refused = |words: &[&str]| {
        let output = run_in(scratch.path(), &[&["device", "bench"], words].concat());
        assert_code(&output, 2);
        assert!(output.stdout.is_empty());
        error_line(&output)
    };
    for (path, why) in [
        ("./nothing", "cannot be opened for reading"),
        ("/dev/null", "is a character device"),
        ("./small", "has 8 KiB, and reads of 1 MiB are measured"),
        ("/proc/", "name the disk"),
    ] {
        let line = refused(&[path]);
        // Where the scratch folder has no direct reads, that is said first.
        let direct = line.contains("cannot be read past the page cache") && path == "./small";
        assert!(line.contains(why) || direct, "{path}: {line}");
    }
    assert!(refused(&["7k50"]).contains("did you mean 7k500?"));
    let line = refused(&["7k500", "--write", "it.toml"]);
    assert!(line.contains("is a model already"), "{line}");
    // The device file cannot be written: said before anything is measured.
    let line = refused(&["./small", "--write", "no/folder/it.toml"]);
    assert!(line.contains("choose another --write"), "{line}");
}

/// A result must not take the place of what it is about, nor of a disk; a file that cannot be written costs no verdict.
#[test]
fn a_record_overwrites_nothing_that_is_read_and_costs_no_verdict() {
    let scratch = Scratch::new();
    filesystem(&scratch);
    let image = fs::read(scratch.join("disk.img")).unwrap();
    for args in [
        &["check", "disk.img", "--record", "disk.img"][..],
        &["device", "bench", "./disk.img", "--write", "disk.img"],
    ] {
        let output = run_in(scratch.path(), args);
        assert_code(&output, if args[0] == "check" { 8 } else { 2 });
        assert!(error_line(&output).contains("is what is read, and would be overwritten"));
        assert!(fs::read(scratch.join("disk.img")).unwrap() == image);
    }
    if !Path::new("/dev/full").exists() {
        testkit::skip!("needs /dev/full");
        return;
    }
    let output = run_in(
        scratch.path(),
        &["check", "disk.img", "--record", "/dev/full"],
    );
    assert_code(&output, 8);
    assert!(stdout(&output).contains("clean"), "{}", stdout(&output));
    assert!(error_line(&output).contains("/dev/full: "));
    // What else is read.
    fs::write(scratch.join("journal"), "a journal").unwrap();
    let both = "check disk.img -j journal --record journal";
    let output = run_in(scratch.path(), &both.split(' ').collect::<Vec<_>>());
    assert_code(&output, 8);
    assert!(error_line(&output).contains("is what is read"));
    assert_eq!(fs::read(scratch.join("journal")).unwrap(), b"a journal");
    // Codes are bits: errors are still errors.
    let cleared = Command::new("debugfs")
        .args(["-w", "-R", "clri <11>", "disk.img"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert!(cleared.status.success(), "{cleared:?}");
    let check = ["check", "disk.img"];
    assert_code(&run_in(scratch.path(), &check), 4);
    let kept = [&check[..], &["--record", "/dev/full"]].concat();
    assert_code(&run_in(scratch.path(), &kept), 12);
}

/// The table that is shipped is what the command prints: sixteen of twenty and a median of 10 % are its exit code.
#[test]
fn the_table_of_the_studies_is_the_one_that_is_shipped() {
    let scratch = Scratch::new();
    let args = ["device", "check", "--studies", "--format", "json"];
    let output = run_in(scratch.path(), &args);
    assert_code(&output, 0);
    assert!(stdout(&output) == include_str!("../../../modelled/data/table.json"));
}
