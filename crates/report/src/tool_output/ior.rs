//! IOR's text: the options of a test, its table of results, and the summary over repetitions.
//!
//! The layout is that of version 4.1 (`src/ior-output.c`). With `-v`, and in earlier versions always, the best rate of each access
//! comes before the summary; it is printed here. What IOR knows of a stonewall with a wear-out is not measured here and is `NA`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use study::{Reorder, SharedLayout, SharedSpec};

use super::spread::Spread;

const MIB: f64 = (1_u64 << 20) as f64;

/// A test: what was asked for, and what each repetition measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Test {
    /// Its options.
    pub spec: SharedSpec,
    /// Nodes that the ranks were on.
    pub nodes: u64,
    /// Writes and reads of each repetition, in their order.
    pub repetitions: Vec<Vec<Access>>,
}

/// A write or a read of a repetition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// `write`, `read`.
    pub name: String,
    /// Bytes of all ranks.
    pub bytes: u64,
    /// From the first begin of an open to the last end of a close, seconds.
    pub seconds: f64,
    /// Bytes a second of clock (a).
    pub rate: f64,
    /// `iops`, `best_mean_latency`, `open_seconds`, `transfer_seconds`, `close_seconds`.
    pub figures: BTreeMap<String, f64>,
}

/// What IOR prints of tests that ran one after the other.
pub fn text(tests: &[Test]) -> String {
    let mut text =
        String::from("IOR-4.1.0: MPI Coordinated Test of Parallel I/O (table of fslab)\n");
    for test in tests {
        text.push_str("\nOptions: \n");
        for (name, value) in options(test) {
            let _ = writeln!(text, "{name:<20}: {value}");
        }
        text.push_str("\nResults: \n\n");
        text.push_str(&lines(&results(test)));
    }
    text.push_str("\nSummary of all tests:\n");
    text + &lines(&summary(tests))
}

fn lines(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

fn options(test: &Test) -> Vec<(&'static str, String)> {
    let spec = &test.spec;
    let (tasks, nodes) = (u64::from(spec.ranks), test.nodes.max(1));
    let access = match spec.layout {
        SharedLayout::Own => "file-per-process",
        SharedLayout::Shared => "single-shared-file",
    };
    let mut options = vec![
        ("api", "POSIX".to_owned()),
        ("apiVersion", String::new()),
        (
            "test filename",
            spec.dir.join("testFile").display().to_string(),
        ),
        ("access", access.to_owned()),
        ("type", "independent".to_owned()),
        ("segments", spec.segments.to_string()),
        ("ordering in a file", "sequential".to_owned()),
    ];
    match spec.reorder {
        Reorder::None => options.push(("ordering inter file", "no tasks offsets".to_owned())),
        Reorder::Node => {
            options.push(("ordering inter file", "constant task offset".to_owned()));
            options.push(("task offset", spec.shift.to_string()));
        }
        // A shuffled order has no line.
        Reorder::Shuffle => {}
    }
    options.extend([
        ("nodes", nodes.to_string()),
        ("tasks", tasks.to_string()),
        ("clients per node", (tasks / nodes).to_string()),
        ("memoryBuffer", "CPU".to_owned()),
        ("dataAccess", "CPU".to_owned()),
        ("GPUDirect", "0".to_owned()),
        ("repetitions", test.repetitions.len().to_string()),
        ("xfersize", human(spec.transfer.get())),
        ("blocksize", human(spec.block.get())),
        ("aggregate filesize", human(spec.all_bytes())),
    ]);
    if spec.stonewall > 0.0 {
        options.push(("stonewallingTime", spec.stonewall.to_string()));
        options.push(("stoneWallingWearOut", u8::from(spec.wear_out).to_string()));
    }
    options
}

/// The table of results, and the best rate of each access.
pub fn results(test: &Test) -> Vec<String> {
    let mut found = vec![
        "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter".to_owned(),
        "------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----".to_owned(),
    ];
    for (repetition, accesses) in test.repetitions.iter().enumerate() {
        let rows = accesses.iter();
        found.extend(rows.map(|access| row(access, &test.spec, repetition)));
    }
    for (name, lead) in [("write", "Max Write: "), ("read", "Max Read:  ")] {
        let best = rates(test, name).into_iter().reduce(f64::max);
        found.extend(
            best.map(|best| format!("{lead}{:.2} MiB/sec ({:.2} MB/sec)", best / MIB, best / 1e6)),
        );
    }
    found
}

fn row(access: &Access, spec: &SharedSpec, repetition: usize) -> String {
    let figure = |name: &str| access.figures.get(name).copied().unwrap_or_default();
    let columns = [
        access.rate / MIB,
        figure("iops"),
        figure("best_mean_latency"),
        spec.block.get() as f64 / 1024.0,
        spec.transfer.get() as f64 / 1024.0,
        figure("open_seconds"),
        figure("transfer_seconds"),
        figure("close_seconds"),
        access.seconds,
    ];
    let mut line = format!("{:<10}", access.name);
    for (value, width) in columns
        .into_iter()
        .zip([10, 10, 11, 10, 10, 10, 10, 10, 10])
    {
        let _ = write!(line, "{:<width$} ", figure_text(value));
    }
    let _ = write!(line, "{repetition:<4}");
    line
}

/// The summary: a line for each access of each test, which are numbered from 0.
pub fn summary(tests: &[Test]) -> Vec<String> {
    let names = [
        "Max(MiB)",
        "Min(MiB)",
        "Mean(MiB)",
        "StdDev",
        "Max(OPs)",
        "Min(OPs)",
        "Mean(OPs)",
        "StdDev",
        "Mean(s)",
        "Stonewall(s)",
    ];
    let mut head = format!("{:<9}", "Operation");
    for name in names {
        let _ = write!(head, " {name:>10}");
    }
    let _ = write!(
        head,
        " {:>13} Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt {:>8} {:>8} {:>9} {:>5} RefNum",
        "Stonewall(MiB)", " blksiz", "xsize", "aggs(MiB)", "API"
    );
    let mut found = vec![head];
    for (number, test) in tests.iter().enumerate() {
        let of = |name| summary_row(number, test, name);
        found.extend(["write", "read"].into_iter().filter_map(of));
    }
    found
}

fn summary_row(number: usize, test: &Test, name: &str) -> Option<String> {
    let spec = &test.spec;
    let rates = rates(test, name);
    let rate = Spread::of(&rates, 0)?;
    let transfer = spec.transfer.get().max(1) as f64;
    let operations: Vec<f64> = rates.iter().map(|rate| rate / transfer).collect();
    let operations = Spread::of(&operations, 0)?;
    let seconds: Vec<f64> = of(test, name).map(|access| access.seconds).collect();
    let seconds = Spread::of(&seconds, 0)?;
    let mut line = format!("{name:<9} ");
    for value in [rate.max, rate.min, rate.mean, rate.deviation] {
        let _ = write!(line, "{:>10.2} ", value / MIB);
    }
    for value in [
        operations.max,
        operations.min,
        operations.mean,
        operations.deviation,
    ] {
        let _ = write!(line, "{value:>10.2} ");
    }
    let _ = write!(line, "{:>10.5} {:>10} {:>13} ", seconds.mean, "NA", "NA");
    let (tasks, nodes) = (u64::from(spec.ranks), test.nodes.max(1));
    let bytes = of(test, name).next().map_or(0, |access| access.bytes);
    // IOR counts its options: -Z -Z is 2, and has a seed.
    let (reorder, random, seed) = match spec.reorder {
        Reorder::None => (0, 0, 0),
        Reorder::Node => (1, 0, 0),
        Reorder::Shuffle => (0, 2, spec.seed),
    };
    let _ = write!(
        line,
        "{number:>5} {tasks:>6} {:>3} {:>4} {:>3} {reorder:>5} {:>8} {random:>9} {seed:>4} {:>6} {:>8} {:>8} {:>9.1} {:>3} {:>6}",
        tasks.div_ceil(nodes),
        test.repetitions.len(),
        u8::from(spec.layout == SharedLayout::Own),
        spec.shift,
        spec.segments,
        spec.block.get(),
        spec.transfer.get(),
        bytes as f64 / MIB,
        "POSIX",
        0,
    );
    Some(line)
}

/// The accesses of a name, of all repetitions.
fn of<'a>(test: &'a Test, name: &'a str) -> impl Iterator<Item = &'a Access> {
    let all = test.repetitions.iter().flatten();
    all.filter(move |access| access.name == name)
}

fn rates(test: &Test, name: &str) -> Vec<f64> {
    of(test, name).map(|access| access.rate).collect()
}

/// As IOR prints a number: six digits below 1, two up to an hour's seconds, then none.
fn figure_text(value: f64) -> String {
    match value {
        value if value < 1.0 => format!("{value:.6}"),
        value if value < 3600.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

/// As IOR prints a size: it has no KiB.
fn human(bytes: u64) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")];
    for (unit, name) in units {
        if bytes >= unit {
            let value = bytes as f64 / unit as f64;
            return if bytes.is_multiple_of(unit) {
                format!("{value:.0} {name}")
            } else {
                format!("{value:.2} {name}")
            };
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use study::Bytes;

    use super::*;

    /// What IOR 4.1.0+dev measured in three repetitions of `-b 4m -t 256k -s 2 -F -C`.
    fn measured() -> Test {
        let access = |name: &str, seconds: f64, iops: f64| Access {
            name: name.to_owned(),
            bytes: 8 << 20,
            seconds,
            rate: (8_u64 << 20) as f64 / seconds,
            figures: [
                ("iops", iops),
                ("best_mean_latency", 1.0 / iops),
                ("open_seconds", 0.000_028),
                ("transfer_seconds", 32.0 / iops),
                ("close_seconds", 0.000_005),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        };
        Test {
            spec: SharedSpec {
                block: Bytes(4 << 20),
                transfer: Bytes(256 << 10),
                segments: 2,
                reorder: Reorder::Node,
                ..SharedSpec::new("/mnt/x")
            },
            nodes: 1,
            repetitions: vec![
                vec![
                    access("write", 0.001_706, 19_128.0),
                    access("read", 0.000_320, 101_296.0),
                ],
                vec![
                    access("write", 0.001_471, 22_025.0),
                    access("read", 0.000_372, 87_211.0),
                ],
                vec![
                    access("write", 0.001_880, 17_177.0),
                    access("read", 0.000_297, 108_855.0),
                ],
            ],
        }
    }

    /// Column by column as IOR 4.1 has them.
    #[test]
    fn the_tables_are_those_of_ior() {
        let mut other = measured();
        other.spec.layout = SharedLayout::Shared;
        other.spec.ranks = 4;
        other.spec.reorder = Reorder::None;
        other.repetitions.truncate(1);
        other.repetitions[0].truncate(1);
        insta::assert_snapshot!(text(&[measured(), other]));
    }

    /// The line that the program printed of these repetitions; its times have six digits here, so rates differ in the last ones.
    #[test]
    fn the_summary_has_the_columns_of_the_program() {
        let theirs = "write        5439.20    4255.48    4794.56     488.98   21756.80   17021.91   19178.23    1955.94    0.00169         NA            NA     0      1   1    3   1     1        1         0    0      2  4194304   262144       8.0 POSIX      0";
        let ours = &summary(&[measured()])[1];
        let ends = |line: &str| -> Vec<usize> {
            let bytes = line.as_bytes();
            let end = |at: &usize| {
                bytes[*at] != b' ' && bytes.get(at + 1).is_none_or(|next| *next == b' ')
            };
            (0..bytes.len()).filter(end).collect()
        };
        assert_eq!(ends(ours), ends(theirs), "\n{ours}\n{theirs}");
        for (ours, theirs) in ours.split_whitespace().zip(theirs.split_whitespace()) {
            match (ours.parse::<f64>(), theirs.parse::<f64>()) {
                (Ok(ours), Ok(theirs)) => {
                    assert!((ours - theirs).abs() <= 0.002 * theirs, "{ours} {theirs}");
                }
                _ => assert_eq!(ours, theirs),
            }
        }
    }
}
