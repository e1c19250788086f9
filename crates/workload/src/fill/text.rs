//! fs_mark's own output, so that parsers of fs_mark's output can read ours.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use serde_json::Value;

use super::method::SyncMethod;
use super::place::STAY_SECONDS;
use crate::Outcome;
use crate::calls::Call;

/// The result of a run in the layout that fs_mark 3.3 prints: one line for each iteration, with
/// the columns of -v when `verbose`.
///
/// `Files/sec` is the sum of the processes' rates, clock (a). `Count` is files written so far,
/// `App Overhead` microseconds. Where a call took less than a microsecond Min is 0. As in the
/// original FSYNC is the time of one file for methods 3 to 6 (open and close inside), for method 2
/// the one fsync of a process shared among its files, and SYNC has an average only. The first line
/// names our program, for this is not fs_mark.
pub fn fs_mark_text(outcome: &Outcome, verbose: bool) -> String {
    let mut text = String::new();
    let p = &outcome.parameters;
    // Writing to a String cannot fail.
    let _ = banner(&mut text, p);
    let _ = heads(&mut text, verbose);
    for phase in &outcome.phases {
        for run in &phase.runs {
            let _ = line(&mut text, p, &run.figures, verbose);
        }
    }
    text
}

fn integer(p: &Value, name: &str) -> u64 {
    p[name].as_u64().unwrap_or_default()
}

fn method(p: &Value) -> Option<SyncMethod> {
    SyncMethod::from_number(u8::try_from(integer(p, "sync_method")).ok()?)
}

fn banner(out: &mut String, p: &Value) -> fmt::Result {
    write!(out, "\n# ")?;
    for argument in arguments(p) {
        write!(out, " {argument} ")?;
    }
    let (processes, began) = (integer(p, "processes"), began(p));
    writeln!(
        out,
        "\n#\tVersion 3.3, {processes} thread(s) starting at {began}"
    )?;
    let policy = method(p).map_or("", SyncMethod::banner);
    writeln!(out, "#\tSync method: {policy}")?;
    let (directories, each) = (integer(p, "directories"), integer(p, "per_directory"));
    match (directories, each) {
        (0, _) => writeln!(out, "#\tDirectories:  no subdirectories used")?,
        (_, 0) => writeln!(
            out,
            "#\tDirectories:  Time based hash between directories across {directories} \
             subdirectories with {STAY_SECONDS} seconds per subdirectory."
        )?,
        _ => writeln!(
            out,
            "#\tDirectories:  Round Robin between directories across {directories} \
             subdirectories with {each} files per subdirectory."
        )?,
    }
    let (length, random) = (integer(p, "name_length"), integer(p, "random_length"));
    writeln!(
        out,
        "#\tFile names: {length} bytes long, ({} initial bytes of time stamp with {random} random \
         bytes at end of name)",
        length.saturating_sub(random)
    )?;
    writeln!(
        out,
        "#\tFiles info: size {} bytes, written with an IO size of {} bytes per write",
        integer(p, "size"),
        integer(p, "write_size")
    )?;
    writeln!(
        out,
        "#\tApp overhead is time in microseconds spent in the test not doing file writing \
         related system calls."
    )
}

/// As `ctime` prints it, in local time.
fn began(p: &Value) -> String {
    let at = p["began"]
        .as_str()
        .and_then(|t| t.parse::<jiff::Timestamp>().ok());
    at.map_or_else(String::new, |at| {
        at.to_zoned(jiff::tz::TimeZone::system())
            .strftime("%a %b %e %H:%M:%S %Y")
            .to_string()
    })
}

/// fs_mark's options that do the same.
fn arguments(p: &Value) -> Vec<String> {
    let mut line = vec!["fslab".to_owned(), "fill".to_owned()];
    for base in p["bases"].as_array().into_iter().flatten() {
        line.extend(["-d".to_owned(), base.as_str().unwrap_or("?").to_owned()]);
    }
    for (option, name) in [
        ("-n", "files"),
        ("-t", "processes"),
        ("-s", "size"),
        ("-w", "write_size"),
        ("-D", "directories"),
        ("-N", "per_directory"),
        ("-S", "sync_method"),
        ("-L", "iterations"),
        ("-p", "name_length"),
        ("-r", "random_length"),
    ] {
        let value = integer(p, name);
        if value > 0 || option == "-s" || option == "-S" {
            line.extend([option.to_owned(), value.to_string()]);
        }
    }
    for (option, name) in [("-k", "keep"), ("-F", "until_full")] {
        if p[name] == Value::Bool(true) {
            line.push(option.to_owned());
        }
    }
    line
}

fn heads(out: &mut String, verbose: bool) -> fmt::Result {
    if verbose {
        writeln!(
            out,
            "#\tAll system call times are reported in microseconds."
        )?;
    }
    let (size, rate) = ("Size", "Files/sec");
    write!(
        out,
        "\n{:>6} {:>12} {size:>12} {rate:>12} {:>16}",
        "FSUse%", "Count", "App Overhead"
    )?;
    if verbose {
        for call in Call::FS_MARK {
            let title = format!("{} (Min/Avg/Max)", call.name().to_uppercase());
            write!(out, " {title:>26}")?;
        }
    }
    out.push('\n');
    Ok(())
}

fn line(
    out: &mut String,
    p: &Value,
    figures: &BTreeMap<String, f64>,
    verbose: bool,
) -> fmt::Result {
    let figure = |name: &str| figures.get(name).copied().unwrap_or_default();
    write!(
        out,
        "{:>6} {:>12} {:>12} {:>12.1} {:>16}",
        figure("fs_use"),
        figure("written"),
        integer(p, "size"),
        figure("files_per_s"),
        microseconds(figure("app_overhead"))
    )?;
    if verbose {
        for call in Call::FS_MARK {
            let of = |what: &str| figure(&format!("{}_{what}", call.name()));
            let (min, avg, max) = match call {
                Call::Sync => (0.0, of("avg"), 0.0),
                // One fsync for all files of a process.
                Call::Fsync if method(p) == Some(SyncMethod::SyncAndOne) => {
                    (0.0, of("avg") / integer(p, "files").max(1) as f64, 0.0)
                }
                _ => (of("min"), of("avg"), of("max")),
            };
            for seconds in [min, avg, max] {
                write!(out, " {:>8}", microseconds(seconds))?;
            }
        }
    }
    out.push('\n');
    Ok(())
}

/// Whole microseconds, as fs_mark has them.
fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6 + 1e-6) as u64
}

#[cfg(test)]
mod tests {
    use super::super::{FillSpec, run};
    use super::*;
    use crate::Silent;
    use params::Bytes;

    /// What Debian's fs_mark 3.3-3 printed for these options (tests/data/README.md).
    const PLAIN: &str = include_str!("../../tests/data/fs_mark_plain.txt");
    const VERBOSE: &str = include_str!("../../tests/data/fs_mark_verbose.txt");
    const TIME_HASH: &str = include_str!("../../tests/data/fs_mark_time_hash.txt");

    /// The date, the arguments and every number of the table become `#`, as wide as they are with
    /// the blanks before them; all else stays.
    fn masked(text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for line in text.lines() {
            let line = if line.starts_with("# ") {
                "# (arguments)".to_owned()
            } else if let Some((before, _)) = line.split_once(" starting at ") {
                format!("{before} starting at (date)")
            } else if line.starts_with(['#', 'F']) || line.is_empty() {
                line.to_owned()
            } else {
                line.split_inclusive(|c: char| c.is_ascii_digit() || c == '.')
                    .map(|part| "#".repeat(part.len()))
                    .collect()
            };
            lines.push(line);
        }
        lines
    }

    fn ours(change: impl FnOnce(&mut FillSpec), verbose: bool) -> String {
        let dir = super::super::tests::scratch();
        let mut options = FillSpec {
            files: 20,
            size: Bytes(4096),
            ..FillSpec::new(dir.path())
        };
        change(&mut options);
        fs_mark_text(&run(&options, &Silent).unwrap(), verbose)
    }

    #[test]
    fn the_layout_is_that_of_debians_fs_mark() {
        let plain = ours(
            |o| {
                (o.processes, o.directories, o.per_directory) = (2, 4, 3);
                (o.sync_method, o.keep) = (0, true);
            },
            false,
        );
        assert_eq!(masked(&plain), masked(PLAIN));
        let verbose = ours(
            |o| (o.iterations, o.sync_method, o.keep) = (2, 4, true),
            true,
        );
        assert_eq!(masked(&verbose), masked(VERBOSE));
        let hash = ours(
            |o| {
                (o.files, o.size, o.directories) = (5, Bytes(0), 3);
                (o.name_length, o.random_length) = (10, 4);
                (o.processes, o.sync_method) = (2, 2);
            },
            true,
        );
        assert_eq!(masked(&hash), masked(TIME_HASH));
    }

    #[test]
    fn values_stand_in_their_columns() {
        let parameters = serde_json::json!({"files": 10, "size": 51200, "sync_method": 2});
        let figures = [
            ("fs_use", 7.0),
            ("written", 30.0),
            ("files_per_s", 1234.56),
            ("app_overhead", 0.001_234_9),
            ("creat_min", 3e-6),
            ("creat_avg", 5.9e-6),
            ("creat_max", 1e-3),
            ("fsync_min", 40e-6),
            ("fsync_avg", 50e-6),
            ("fsync_max", 60e-6),
            ("sync_min", 1e-3),
            ("sync_avg", 2e-3),
        ];
        let figures = figures.map(|(n, v)| (n.to_owned(), v)).into();
        let mut text = String::new();
        line(&mut text, &parameters, &figures, true).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = "7 30 51200 1234.6 1234 3 5 1000 0 0 0 0 5 0 0 2000 0 0 0 0 0 0 0";
        assert_eq!(words, expected.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn every_sync_method_has_its_line() {
        let lines: Vec<&str> = SyncMethod::ALL.iter().map(|m| m.banner()).collect();
        assert_eq!(
            lines,
            include_str!("../../tests/data/fs_mark_methods.txt")
                .lines()
                .collect::<Vec<_>>()
        );
    }
}
