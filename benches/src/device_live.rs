//! Whether estimates and modelled disks in real time agree: acceptance of the specification of modelled devices.
//!
//! A check of an image of a million files is estimated on a modelled disk, and then really waits for it; its reads are answered in
//! time. A disk is served by FUSE under a loop device: a thousand random reads take what its model says, and what fio wrote comes
//! back. Models are fitted to devices by reading them (`fslab device bench PATH`): one that is limited by the block layer to 100 MB
//! and 200 requests a second, and one that answers after 5 ms, as dm-delay does; traces of these devices, replayed on the fitted
//! models, take as long.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use serde_json::Value;

use crate::arguments::{Binary, Place};
use crate::limited::Limited;
use crate::loop_device::Loop;
use crate::run::{Stop, cannot_start, output, verdict};
use crate::table::{Printer, Row, Table};
use crate::{fio, needs};

/// Files of the image.
const FILES: u64 = 1_000_000;
/// The device of the check.
const CHECKED_ON: &str = "lun-2011";
/// Random reads of a served disk, of 4 KiB.
const READS: u64 = 1000;

/// Measures estimates against modelled disks in real time and prints tables with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// A tenth of the files and reads: a quick look, not a result.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    binary: Binary,
}

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("device_live", measure(arguments))
}

/// What all parts need.
struct Bench {
    fslab: String,
    folder: tempfile::TempDir,
    part: u64,
    stop: Stop,
}

fn measure(arguments: &Arguments) -> Result<bool> {
    needs::root("FUSE, loop devices and tracing")?;
    needs::measured(&arguments.binary.fslab)?;
    fio::needed()?;
    let bench = Bench {
        fslab: arguments.binary.fslab.display().to_string(),
        folder: tempfile::tempdir_in(&arguments.place.dir)?,
        part: if arguments.quick { 10 } else { 1 },
        stop: Stop::on_signals()?,
    };
    let mut printer = Printer::default();
    printer.show(&bench.check()?);
    bench.stop.check()?;
    printer.show(&bench.served()?);
    bench.stop.check()?;
    printer.show(&bench.fitted()?);
    Ok(printer.all_met())
}

fn apart(modelled: f64, real: f64) -> String {
    format!("{:+.1} %", 100.0 * (modelled / real - 1.0))
}

fn near(modelled: f64, real: f64, share: f64) -> bool {
    (modelled / real - 1.0).abs() <= share
}

fn number(value: &Value, pointer: &str) -> Result<f64> {
    let found = pointed(value, pointer)?.as_f64();
    found.with_context(|| format!("no number {pointer} in {value}"))
}

fn pointed<'v>(value: &'v Value, pointer: &str) -> Result<&'v Value> {
    let found = value.pointer(pointer);
    found.with_context(|| format!("no {pointer} in {value}"))
}

/// How late a live check's reads were answered; whether that is in time is the program's own rule.
fn in_time(answers: &Value) -> Result<Row> {
    let mean = number(answers, "/mean_late_us")?;
    let share = number(answers, "/late_percent")?;
    let is_in_time = pointed(answers, "/in_time")?.as_bool();
    Ok(Row::new(
        "its answers, late",
        [
            String::new(),
            format!("{mean:.1} us"),
            format!("{share:.2} % > 50 us"),
        ],
        "in time",
        is_in_time.context("in_time is neither true nor false")?,
    ))
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn fslab(&self, arguments: &[&str]) -> Result<String> {
        output(&self.fslab, arguments)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let mut all = arguments.to_vec();
        all.extend(["--format", "json"]);
        Ok(serde_json::from_str(&self.fslab(&all)?)?)
    }

    /// An estimate against a check that waits.
    fn check(&self) -> Result<Table> {
        let image = self.path("million.img");
        let image = image.display().to_string();
        let files = FILES / self.part;
        let (count, size) = (files.to_string(), format!("{}g", 20 / self.part.min(4)));
        self.fslab(&["forge", "ext4", &image, "--files", &count, "--size", &size])?;
        let check = |more: &[&str]| {
            // From the page cache: this machine's disk is to be no slower than the device.
            let words = ["check", &image, "--io", "buffered", "--device", CHECKED_ON];
            let words = [&words[..], more].concat();
            self.json(&words)
        };
        let estimate = check(&[])?;
        let live = check(&["--live"])?;
        fs::remove_file(&image)?;
        let row = "/modelled/devices/0/rows/0";
        let estimate = number(&estimate, &format!("{row}/modelled/nominal_s"))?;
        let answers = pointed(&live, "/modelled/answers")?;
        let live = number(&live, &format!("{row}/recorded_s"))?;
        let mut table = Table::new(
            format!("fslab check of {files} files on {CHECKED_ON}, s"),
            &["estimate", "live", "apart"],
        );
        table.rows.push(Row::new(
            "whole check",
            [
                format!("{estimate:.2}"),
                format!("{live:.2}"),
                apart(estimate, live),
            ],
            "<= 10 %",
            near(estimate, live, 0.1),
        ));
        table.rows.push(in_time(answers)?);
        Ok(table)
    }

    /// Random reads and fio's verification on a disk that is served.
    fn served(&self) -> Result<Table> {
        let mut disk = Served::start(self, "7k500", None)?;
        let before = disk.counters()?;
        let reads = (READS / self.part).to_string();
        let mean = read_at_random(disk.node(), &reads)?;
        let after = disk.counters()?;
        let modelled = after.mean_since(&before);
        let mut table = Table::new(
            "7k500 by FUSE and a loop device",
            &["modelled", "measured", "apart"],
        );
        let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
        table.rows.push(Row::new(
            format!("{reads} random reads of 4 KiB"),
            [ms(modelled), ms(mean), apart(mean, modelled)],
            "<= 3 %, 0.1 ms",
            near(mean, modelled, 0.03) && (mean - modelled).abs() <= 1e-4,
        ));
        let verified = verified(disk.node());
        let word = if verified.is_ok() {
            "intact"
        } else {
            "NOT intact"
        };
        table.rows.push(Row::new(
            "64 MiB written and verified by fio",
            [String::new(), word.to_owned(), String::new()],
            "intact",
            verified.is_ok(),
        ));
        Ok(table)
    }

    /// Fitted models, and traces replayed on them.
    fn fitted(&self) -> Result<Table> {
        let mut table = Table::new(
            "traces replayed on a model fitted to the device, s",
            &["modelled", "recorded", "apart"],
        );
        let image = self.path("limited.img");
        fs::File::create(&image)?.set_len(4 << 30)?;
        let limited = Limited::attach(&image, 100_000_000, 200)?;
        // The throttle holds requests back before a trace sees them, so the device that is traced is one that reads the limited one.
        let above = Loop::read_only(limited.device())?;
        self.replays("100 MB/s, 200 requests/s", above.node(), &mut table)?;
        drop(above);
        drop(limited);
        let delayed = Served::start(self, "delay", Some(DELAY))?;
        self.replays("5 ms a request", delayed.node(), &mut table)?;
        Ok(table)
    }

    fn replays(&self, device: &str, node: &str, table: &mut Table) -> Result<()> {
        let file = self.path("fitted.toml").display().to_string();
        self.fslab(&["device", "bench", node, "--write", &file])?;
        let seconds = 20 / self.part.min(4);
        for (name, options) in LOADS {
            self.stop.check()?;
            let folder = self.path("trace");
            let folder_name = folder.display().to_string();
            let mut words = vec!["trace", "record", node, "-o", &folder_name, "--", "fio"];
            let time = format!("--runtime={seconds}");
            let target = format!("--filename={node}");
            words.extend(["--name=load", "--direct=1", "--time_based", "--readonly"]);
            words.extend(["--ioengine=libaio", &time, &target]);
            words.extend(options);
            self.fslab(&words)?;
            let replay = [
                "replay",
                &folder_name,
                "--devices-file",
                &file,
                "--device",
                "fitted",
                "--runs",
                "2",
            ];
            let report = self.json(&replay)?;
            fs::remove_dir_all(&folder)?;
            let row = "/devices/0/rows/0";
            let recorded = number(&report, &format!("{row}/recorded_s"))?;
            let modelled = number(&report, &format!("{row}/modelled/nominal_s"))?;
            table.rows.push(Row::new(
                format!("{device}: {name}"),
                [
                    format!("{modelled:.2}"),
                    format!("{recorded:.2}"),
                    apart(modelled, recorded),
                ],
                "<= 15 %",
                near(modelled, recorded, 0.15),
            ));
        }
        Ok(())
    }
}

/// Loads that are recorded: none of them is what the fit measures.
const LOADS: [(&str, &[&str]); 3] = [
    (
        "random reads of 16 KiB, alone",
        &["--rw=randread", "--bs=16k", "--iodepth=1"],
    ),
    (
        "random reads of 8 KiB, 4 at once",
        &["--rw=randread", "--bs=8k", "--iodepth=4"],
    ),
    (
        "reads of 512 KiB in order, 2 at once",
        &["--rw=read", "--bs=512k", "--iodepth=2"],
    ),
];

/// A disk that answers each request after 5 ms.
const DELAY: &str = r#"
[device.memory]
kind = "ssd"
capacity = "8 GB"
flash = { channels = 64, dies = 16, page = "4k", read_us = 0.1, program_us = 0.1, channel_rate = "100 GB/s" }
firmware_us = { read = 0, write = 0 }
buffer = "64m"
link = { rate = "100 GB/s" }

[device.delay]
kind = "array"
level = 0
chunk = "1m"
members = "1 x memory"
link = { latency_ms = 5 }
"#;

/// Mean seconds of a random read by fio.
fn read_at_random(node: &str, reads: &str) -> Result<f64> {
    let (target, count) = (
        format!("--filename={node}"),
        format!("--number_ios={reads}"),
    );
    let jobs = fio::jobs(&[
        "--name=read",
        "--rw=randread",
        "--bs=4k",
        "--direct=1",
        "--ioengine=psync",
        "--readonly",
        "--size=100%",
        &target,
        &count,
    ])?;
    let job = jobs.first().context("fio printed no job")?;
    Ok(number(job, "/read/lat_ns/mean")? / 1e9)
}

fn verified(node: &str) -> Result<()> {
    let target = format!("--filename={node}");
    fio::jobs(&[
        "--name=verify",
        "--rw=randwrite",
        "--bs=64k",
        "--size=64m",
        "--direct=1",
        "--ioengine=libaio",
        "--iodepth=8",
        "--verify=crc32c",
        "--do_verify=1",
        // Its state would be a file in the current folder.
        "--verify_state_save=0",
        "--verify_fatal=1",
        &target,
    ])
    .map(|_| ())
}

/// Most seconds that waking up is taken to add; what takes longer is something else.
const MOST_BEYOND: f64 = 5e-4;

/// Counters of a server.
struct Counters {
    requests: f64,
    modelled: f64,
}

impl Counters {
    /// Mean modelled seconds of the requests since then.
    fn mean_since(&self, before: &Counters) -> f64 {
        (self.modelled - before.modelled) / (self.requests - before.requests).max(1.0) / 1e9
    }
}

/// A disk that is served, with its loop device.
struct Served {
    child: Child,
    folder: PathBuf,
    /// None until the server is there.
    device: Option<Loop>,
}

impl Served {
    /// Serves a device, of this device file where one is given.
    fn start(bench: &Bench, device: &str, file: Option<&str>) -> Result<Served> {
        let folder = bench.path(&format!("served-{device}"));
        fs::create_dir(&folder)?;
        let mut command = std::process::Command::new(&bench.fslab);
        command.args([
            "device",
            "serve",
            device,
            "--size",
            "4g",
            "--controlled",
            "--fuse",
        ]);
        command.arg(&folder);
        if let Some(text) = file {
            let path = bench.path("device.toml");
            fs::write(&path, text)?;
            command.arg("--devices-file").arg(path);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut served = Served {
            child: child.map_err(|error| cannot_start(&bench.fslab, error))?,
            folder,
            device: None,
        };
        served.say("")?;
        let path = served.folder.join("disk").display().to_string();
        served.device = Some(Loop::attach(&path)?);
        // What the way to the server takes by itself is taken off, and what waking up from the model's own pauses adds.
        let way = read_at_random(served.node(), "101")?;
        served.begin(way)?;
        let before = served.counters()?;
        let mean = read_at_random(served.node(), "51")?;
        let beyond = mean - served.counters()?.mean_since(&before);
        served.begin(way + beyond.clamp(0.0, MOST_BEYOND))?;
        Ok(served)
    }

    /// Starts the model. Its answers leave `lead` seconds before they are due.
    fn begin(&mut self, lead: f64) -> Result<()> {
        self.say(&format!("begin {:.0}", lead * 1e9)).map(drop)
    }

    fn node(&self) -> &str {
        self.device.as_ref().map_or("", Loop::node)
    }

    /// A line to the server, a line from it.
    fn say(&mut self, text: &str) -> Result<Value> {
        let pipes = self.child.stdin.as_mut().zip(self.child.stdout.as_mut());
        let (input, output) = pipes.context("the server has no pipes")?;
        input.write_all(format!("{text}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(!line.is_empty(), "the server of the disk ended");
        Ok(serde_json::from_str(&line)?)
    }

    fn counters(&mut self) -> Result<Counters> {
        let value = self.say("")?;
        Ok(Counters {
            requests: number(&value, "/requests")?,
            modelled: number(&value, "/modelled")?,
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The server ends when its file is in use no more.
        drop(self.device.take());
        drop(self.child.stdin.take());
        if let Err(error) = self.child.wait() {
            eprintln!("{}: {error}", Path::new(&self.folder).display());
        }
    }
}
