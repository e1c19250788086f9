//! iozone's own output, so that parsers of iozone's output can read ours.

use std::fmt::{self, Write};

use serde_json::Value;

use crate::{Outcome, PhaseReport};
use params::throughput::Test;

/// The result of a run in the layout that iozone 3.4 prints with `-t`, tabs included.
///
/// "kB" are KiB; rates are those of clock (a). The banner is our own, for this is not iozone.
pub fn iozone_text(outcome: &Outcome) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = header(&mut text, &outcome.parameters);
    let threads = integer(&outcome.parameters, "threads");
    for phase in &outcome.phases {
        let _ = test(&mut text, phase, threads);
    }
    text.push_str("\n\n\niozone test complete.\n");
    text
}

fn header(out: &mut String, p: &Value) -> fmt::Result {
    let (threads, on) = (integer(p, "threads"), |name| p[name] == Value::Bool(true));
    let (size, record) = (integer(p, "size") / 1024, integer(p, "record") / 1024);
    writeln!(out, "\tfslab throughput {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(
        out,
        "\t\tiozone's throughput mode, engine {}\n",
        p["engine"].as_str().unwrap_or("?")
    )?;
    writeln!(out, "\tRun began: {}\n", began(p))?;
    writeln!(out, "\tFile size set to {size} kB")?;
    writeln!(out, "\tRecord Size {record} kB")?;
    for (option, line) in [
        ("direct", "\tO_DIRECT feature enabled"),
        ("include_fsync", "\tInclude fsync in write timing"),
        ("include_close", "\tInclude close in write timing"),
    ] {
        if on(option) {
            writeln!(out, "{line}")?;
        }
    }
    if !on("stonewall") {
        writeln!(out, "\tStonewall disabled")?;
    }
    writeln!(out, "\tCommand line used: {}", command_line(p))?;
    writeln!(out, "\tOutput is in kBytes/sec")?;
    writeln!(out, "\tTime Resolution = 0.000001 seconds.")?;
    writeln!(out, "\tProcessor cache size set to 1024 kBytes.")?;
    writeln!(out, "\tProcessor cache line size set to 32 bytes.")?;
    writeln!(out, "\tFile stride size set to 17 * record size.")?;
    let plural = if threads == 1 { "" } else { "s" };
    writeln!(out, "\tThroughput test with {threads} thread{plural}")?;
    writeln!(
        out,
        "\tEach thread writes a {size} kByte file in {record} kByte records"
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

/// The iozone command that does the same.
fn command_line(p: &Value) -> String {
    let mut line = format!(
        "iozone -t {} -s {} -r {} -T",
        integer(p, "threads"),
        integer(p, "size") / 1024,
        integer(p, "record") / 1024
    );
    for (option, when, letter) in [
        ("direct", true, " -I"),
        ("include_fsync", true, " -e"),
        ("include_close", true, " -c"),
        ("stonewall", false, " -x"),
        ("keep", true, " -w"),
    ] {
        if p[option] == Value::Bool(when) {
            line.push_str(letter);
        }
    }
    let named = |group: u8| {
        let tests = p["tests"].as_array().into_iter().flatten();
        tests.filter_map(Value::as_str).any(|name| {
            Test::ALL
                .iter()
                .any(|t| t.group() == group && t.name() == name)
        })
    };
    for group in (0..=2).filter(|g| named(*g)) {
        let _ = write!(line, " -i {group}");
    }
    line
}

fn integer(p: &Value, name: &str) -> u64 {
    p[name].as_u64().unwrap_or_default()
}

/// One test's six lines after an empty one. Each name has the tabs that iozone gives it.
fn test(out: &mut String, phase: &PhaseReport, threads: u64) -> fmt::Result {
    let (wide, name) = match phase.name.as_str() {
        "initial_write" => (true, "initial writers \t"),
        "rewrite" => (true, "rewriters \t"),
        "read" => (true, "readers \t\t"),
        "reread" => (false, "re-readers \t"),
        "random_read" => (false, "random readers \t"),
        "random_write" => (false, "random writers \t"),
        other => (false, other),
    };
    let n = if wide {
        format!("{threads:2}")
    } else {
        threads.to_string()
    };
    let kib = |figure: &str| phase.figures.get(figure).copied().unwrap_or_default() / 1024.0;
    writeln!(out)?;
    let (children, parent) = (kib("children"), kib("parent"));
    writeln!(
        out,
        "\tChildren see throughput for {n} {name}= {children:10.2} kB/sec"
    )?;
    writeln!(
        out,
        "\tParent sees throughput for {n} {name}= {parent:10.2} kB/sec"
    )?;
    writeln!(
        out,
        "\tMin throughput per thread \t\t\t= {:10.2} kB/sec ",
        kib("min")
    )?;
    writeln!(
        out,
        "\tMax throughput per thread \t\t\t= {:10.2} kB/sec",
        kib("max")
    )?;
    writeln!(
        out,
        "\tAvg throughput per thread \t\t\t= {:10.2} kB/sec",
        kib("avg")
    )?;
    writeln!(out, "\tMin xfer \t\t\t\t\t= {:10.2} kB", kib("min_xfer"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn phase(test: Test, scale: f64) -> PhaseReport {
        let figures: BTreeMap<String, f64> = [
            ("children", 28500.12),
            ("parent", 27011.03),
            ("min", 3500.01),
            ("max", 3601.22),
            ("avg", 3562.51),
            ("min_xfer", 2_030_000.0),
        ]
        .into_iter()
        .map(|(name, kib)| (name.to_owned(), kib * 1024.0 * scale))
        .collect();
        PhaseReport {
            name: test.name().into(),
            figures,
            ..PhaseReport::default()
        }
    }

    fn outcome() -> Outcome {
        let mut options = params::ThroughputSpec::new("/mnt/target");
        (options.threads, options.direct) = (8, true);
        let mut parameters = super::super::parameters(&options, None);
        parameters["began"] = json!("2009-01-05T12:00:09Z");
        Outcome {
            workload: "throughput".into(),
            parameters,
            phases: (1..)
                .zip(Test::ALL)
                .map(|(i, t)| phase(t, f64::from(i)))
                .collect(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn layout_is_iozones() {
        let text = iozone_text(&outcome());
        // The hour depends on the time zone of the machine.
        let text = text.replace(&began(&outcome().parameters), "[ctime]");
        insta::assert_snapshot!(text.replace('\t', "→"));
    }

    #[test]
    fn autotests_pattern_finds_the_figure() {
        let text = iozone_text(&outcome());
        let line = text
            .lines()
            .find(|l| l.contains("initial writers"))
            .unwrap();
        assert_eq!(
            line,
            "\tChildren see throughput for  8 initial writers \t=   28500.12 kB/sec"
        );
    }

    #[test]
    fn other_options_show_in_the_command_line() {
        let mut options = params::ThroughputSpec::new("/mnt/target");
        (options.include_fsync, options.stonewall) = (true, false);
        options.tests = vec![Test::InitialWrite, Test::RandomRead];
        let line = command_line(&super::super::parameters(&options, None));
        assert_eq!(line, "iozone -t 1 -s 2097152 -r 256 -T -e -x -i 0 -i 2");
    }
}
