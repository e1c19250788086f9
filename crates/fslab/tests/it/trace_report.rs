//! `fslab trace report`: every format of a good trace, and one clear line for every bad one.

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Output;

use blktrace::record::{Head, SIZE};
use common::{Scratch, assert_code, error_line, run_in, stderr, stdout};
use fixtures::block_trace::Forge;

/// A scratch folder with a plain trace `sda` of two CPUs.
fn traced(seed: u64) -> Scratch {
    let scratch = Scratch::new();
    Forge::plain(seed, 400)
        .write(scratch.path(), "sda")
        .unwrap();
    scratch
}

fn report(scratch: &Scratch, args: &[&str]) -> Output {
    run_in(scratch.path(), &[&["trace", "report"], args].concat())
}

fn file(scratch: &Scratch, cpu: u32) -> std::path::PathBuf {
    scratch.join(&format!("sda.blktrace.{cpu}"))
}

/// Changes a CPU's file.
fn change(scratch: &Scratch, cpu: u32, change: impl FnOnce(&mut Vec<u8>)) {
    let path = file(scratch, cpu);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_format_of_a_good_trace() {
    let scratch = traced(1);
    for (format, begins, holds) in [
        ("text", "Block trace sda\n", "How long each step took"),
        ("blkparse", "  8,0 ", "Events (sda): "),
        ("btt", "==================== Per Process", "# Total System"),
        ("json", "{\n", "\"request_sizes\""),
        (
            "csv",
            "table,name,direction,metric,value,unit\r\n",
            "step,D2C,",
        ),
        ("html", "<!doctype html>", "<svg"),
    ] {
        let printed = report(&scratch, &["sda", "--format", format]);
        assert_code(&printed, 0);
        let text = stdout(&printed);
        assert!(text.starts_with(begins), "{format}: {}", &text[..40]);
        assert!(text.contains(holds), "{format}");
        assert_eq!(stderr(&printed), "");
        let written = report(
            &scratch,
            &["sda.blktrace.1", "--format", format, "-o", "out"],
        );
        assert_code(&written, 0);
        assert_eq!(stdout(&written), "");
        assert_eq!(
            fs::read_to_string(scratch.join("out")).unwrap(),
            text,
            "{format}"
        );
    }
}

#[test]
fn a_folder_means_all_devices_in_it() {
    let scratch = traced(2);
    let sdb = Forge {
        devices: vec![(8 << 20) | 16],
        ..Forge::plain(3, 100)
    };
    sdb.write(scratch.path(), "sdb").unwrap();
    let text = report(&scratch, &["."]);
    assert_code(&text, 0);
    assert!(
        stdout(&text).starts_with("Block trace sda, sdb\n"),
        "{}",
        stdout(&text)
    );
    assert!(stdout(&text).contains("8,0, 8,16"));
    let one = report(&scratch, &[".", "--devices", "8,16", "--format", "btt"]);
    assert_code(&one, 0);
    assert!(!stdout(&one).contains("(  8,  0)") && stdout(&one).contains("(  8, 16)"));
    let unknown = report(&scratch, &[".", "--devices", "8,0;9,0"]);
    assert_code(&unknown, 2);
    assert!(error_line(&unknown).contains("9,0: not in the trace"));
}

#[test]
fn the_recorders_description_and_names_are_used() {
    let scratch = traced(4);
    let json = r#"{"format":1,"device":"sda","number":"8:0","way":"blk tracer","clock":"mono",
        "kernel":"6.18.0","seconds":1.5,"actions":"all","buffer":8,"cpus":[],"events":9,"bytes":480,
        "lost":31,"lost_is_shared":false,"broken_pages":0,"degraded":true,"traces_itself":false}"#;
    fs::write(scratch.join("sda.blktrace.json"), json).unwrap();
    let degraded = report(&scratch, &["sda"]);
    assert_code(&degraded, 7);
    assert!(error_line(&degraded).contains("31 events were lost"));
    assert!(stdout(&degraded).contains("DEGRADED"));
    assert!(stdout(&degraded).contains("sda (8,0)"));
    fs::remove_file(scratch.join("sda.blktrace.json")).unwrap();
    fs::write(scratch.join("map"), "root disk 8,0\n").unwrap();
    let named = report(&scratch, &["sda", "--names", "map", "--format", "btt"]);
    assert_code(&named, 0);
    assert!(
        stdout(&named).contains("\n      root | "),
        "{}",
        stdout(&named)
    );
    let unknown = report(&scratch, &["sda", "--processes", "absent"]);
    assert_code(&unknown, 2);
    assert!(error_line(&unknown).contains("absent"));
}

#[test]
fn all_of_btts_files_are_written() {
    let scratch = traced(5);
    let output = report(&scratch, &["sda", "--files", "btt", "--format", "btt"]);
    assert_code(&output, 0);
    let has = |name: &str| {
        let size = fs::metadata(scratch.join("btt").join(name)).map(|meta| meta.len());
        assert!(size.is_ok_and(|size| size > 0), "{name}");
    };
    for name in [
        "sda.avg",
        "sda.dat",
        "sda.xvg",
        "sda.iostat",
        "sda.per_io",
        "8,0_pit.dat",
        "sda_8,0_q2d.dat",
        "sda_8,0_d2c.dat",
        "sda_8,0_q2c.dat",
        "sda_8,0_c.dat",
        "sda_8,0_aqd.dat",
        "sda_unplug_8,0.dat",
        "sda_8,0_d2d_c.dat",
        "sda_sps_8,0.dat",
        "8,0_q2c_plat.dat",
        "8,0_live.dat",
        "sys_live.dat",
        "sys_iops_fp.dat",
        "sda_qhist.dat",
        "sda_dhist.dat",
    ] {
        has(name);
    }
    let avg = fs::read_to_string(scratch.join("btt/sda.avg")).unwrap();
    assert!(stdout(&output).starts_with(&avg));
}

#[test]
fn a_part_of_a_trace_is_reported_as_a_part() {
    let scratch = traced(6);
    let whole = stdout(&report(&scratch, &["sda", "--format", "json"]));
    let part = report(
        &scratch,
        &[
            "sda", "--format", "json", "--from", "0.0005", "--to", "0.001",
        ],
    );
    assert_code(&part, 0);
    let events = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        (
            value["events"].as_u64().unwrap(),
            value["begin"].as_f64().unwrap(),
        )
    };
    let (whole, part) = (events(&whole), events(&stdout(&part)));
    assert!(part.0 > 50 && part.0 < whole.0 / 2, "{part:?} of {whole:?}");
    assert!(whole.1 == 0.0 && part.1 >= 0.0005);
    for bad in [["--from", "2", "--to", "1"], ["--from", "nan", "--to", "1"]] {
        let output = report(&scratch, &[&["sda"], &bad[..]].concat());
        assert_code(&output, 2);
        assert!(error_line(&output).contains("--from"));
    }
}

/// What is wrong with a trace, the message and the exit code.
#[test]
fn bad_traces_get_one_line_and_their_code() {
    type Spoil = fn(&Scratch);
    let cases: [(&str, Spoil, i32, &str); 8] = [
        (
            "truncated",
            |s| change(s, 0, |bytes| bytes.truncate(bytes.len() - 20)),
            1,
            "it ends inside the record",
        ),
        (
            "corrupt",
            |s| change(s, 1, |bytes| bytes[SIZE * 10..SIZE * 40].fill(0xa5)),
            1,
            "there is no record at byte",
        ),
        (
            "other-endian",
            |s| change(s, 0, |bytes| bytes[..4].reverse()),
            1,
            "other byte order",
        ),
        (
            "version 8",
            |s| change(s, 0, |bytes| bytes[0] = 8),
            1,
            "version 8",
        ),
        (
            "empty",
            |s| (0..2).for_each(|cpu| change(s, cpu, Vec::clear)),
            1,
            "its files are empty",
        ),
        (
            "no CPU 0",
            |s| fs::remove_file(file(s, 0)).unwrap(),
            7,
            "CPUs have no file",
        ),
        (
            "no trace",
            |s| (0..2).for_each(|cpu| fs::remove_file(file(s, cpu)).unwrap()),
            2,
            "there is no sda.blktrace.0",
        ),
        ("shuffled", |s| change(s, 0, shuffle), 7, "shuffled"),
    ];
    for (what, spoil, code, message) in cases {
        let scratch = traced(7);
        spoil(&scratch);
        let formats: &[&str] = if code == 7 {
            &["text", "json", "html", "btt"]
        } else {
            &FORMATS
        };
        for format in formats {
            let output = report(&scratch, &["sda", "--format", format]);
            assert_code(&output, code);
            let lines = stderr(&output);
            assert!(lines.contains(message), "{what}, {format}: {lines}");
            assert!(
                lines.lines().all(|line| line.starts_with("fslab: ")),
                "{what}: {lines}"
            );
            assert!(code == 7 || lines.lines().count() == 1, "{what}: {lines}");
        }
    }
}

const FORMATS: [&str; 5] = ["text", "blkparse", "btt", "json", "html"];

/// Puts the records of a file in another order.
fn shuffle(bytes: &mut Vec<u8>) {
    let mut records = Vec::new();
    let mut rest = &bytes[..];
    while let Some((head, _)) = rest.split_first_chunk::<SIZE>() {
        let end = SIZE + usize::from(Head::parse(head).unwrap().pdu_len);
        records.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    let count = records.len();
    for at in 0..count {
        records.swap(at, at * 7919 % count);
    }
    *bytes = records.concat();
}

#[test]
fn what_is_no_trace_is_named() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("empty")).unwrap();
    fs::write(
        scratch.join("text"),
        "This is no trace, but long enough to be read as one record.",
    )
    .unwrap();
    for (path, code, message) in [
        ("empty", 2, "no trace in this folder"),
        ("nothing", 2, "there is no nothing.blktrace.0"),
        ("no/such/sda", 2, "no such folder"),
        ("text", 1, "there is no record at byte"),
    ] {
        let output = report(&scratch, &[path]);
        assert_code(&output, code);
        let line = error_line(&output);
        assert!(line.contains(message) && line.contains(path), "{line}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    // A folder can be opened but not read, even by root.
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("sda.blktrace.0")).unwrap();
    let output = report(&scratch, &["sda"]);
    assert_code(&output, 1);
    assert!(
        error_line(&output).contains("sda.blktrace.0"),
        "{}",
        error_line(&output)
    );
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let scratch = traced(8);
    for format in FORMATS {
        let output = report(
            &scratch,
            &["sda", "--format", format, "-o", "no/such/folder/out"],
        );
        assert_code(&output, 2);
        assert!(error_line(&output).contains("no/such/folder/out"));
    }
    fs::write(scratch.join("file"), "").unwrap();
    let files = report(&scratch, &["sda", "--files", "file"]);
    assert_code(&files, 1);
    assert!(error_line(&files).contains("file"));
    assert!(Path::new(&scratch.join("file")).is_file());
}
