//! IOR's own table, from a phase's figures.

use std::fmt::Write as _;

use crate::{Outcome, PhaseReport};

const MIB: f64 = (1_u64 << 20) as f64;

/// What IOR 4.1 prints of one repetition: options, and the table of results.
pub fn ior_text(outcome: &Outcome) -> String {
    let parameters = &outcome.parameters;
    let number = |name: &str| parameters[name].as_u64().unwrap_or_default();
    let is = |name: &str, text: &str| parameters[name].as_str() == Some(text);
    let mut text =
        String::from("IOR-4.1.0: MPI Coordinated Test of Parallel I/O (table of fslab)\n\n");
    text.push_str("Options: \n");
    let tasks = number("ranks");
    let nodes = number("nodes").max(1);
    let bytes = number("block") * number("segments") * tasks;
    let dir = parameters["dir"].as_str().unwrap_or_default();
    let access = if is("layout", "own") {
        "file-per-process"
    } else {
        "single-shared-file"
    };
    let mut options = vec![
        ("api", "POSIX".to_owned()),
        ("apiVersion", String::new()),
        ("test filename", format!("{dir}/testFile")),
        ("access", access.to_owned()),
        ("type", "independent".to_owned()),
        ("segments", number("segments").to_string()),
        ("ordering in a file", "sequential".to_owned()),
    ];
    // A shuffled order has no line.
    if is("reorder", "node") {
        options.push(("ordering inter file", "constant task offset".to_owned()));
        options.push(("task offset", number("shift").to_string()));
    } else if is("reorder", "none") {
        options.push(("ordering inter file", "no tasks offsets".to_owned()));
    }
    options.extend([
        ("nodes", nodes.to_string()),
        ("tasks", tasks.to_string()),
        ("clients per node", (tasks / nodes).to_string()),
        ("memoryBuffer", "CPU".to_owned()),
        ("dataAccess", "CPU".to_owned()),
        ("GPUDirect", "0".to_owned()),
        ("repetitions", "1".to_owned()),
        ("xfersize", human(number("transfer"))),
        ("blocksize", human(number("block"))),
        ("aggregate filesize", human(bytes)),
    ]);
    for (name, value) in options {
        let _ = writeln!(text, "{name:<20}: {value}");
    }
    text.push_str("\nResults: \n\n");
    text.push_str("access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n");
    text.push_str("------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----\n");
    for phase in &outcome.phases {
        text.push_str(&row(phase, number("block"), number("transfer")));
    }
    text
}

fn row(phase: &PhaseReport, block: u64, transfer: u64) -> String {
    let figure = |name: &str| phase.figures.get(name).copied().unwrap_or_default();
    let rate = phase.bytes_per_s.original.unwrap_or_default() / MIB;
    let columns = [
        rate,
        figure("iops"),
        figure("best_mean_latency"),
        block as f64 / 1024.0,
        transfer as f64 / 1024.0,
        figure("open_seconds"),
        figure("transfer_seconds"),
        figure("close_seconds"),
        phase.seconds,
    ];
    let mut line = format!("{:<10}", phase.name);
    for (value, width) in columns
        .into_iter()
        .zip([10, 10, 11, 10, 10, 10, 10, 10, 10])
    {
        let _ = write!(line, "{:<width$} ", figure_text(value));
    }
    let _ = writeln!(line, "{:<4}", 0);
    line
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
