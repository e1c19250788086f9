//! A report for people: the answer, the tables, what they rest on.

use std::fmt::Write as _;

use words::{grouped, significant};

use super::{DeviceReport, Report, Row};

const WIDTH: usize = 100;

pub(super) fn text(report: &Report) -> String {
    let mut out = String::new();
    for doubt in &report.doubts {
        line(&mut out, &format!("Not whole: {doubt}."));
    }
    for device in &report.devices {
        line(&mut out, &answer(device, report.live));
    }
    if let Some(answers) = &report.answers {
        let late = words::short_time(answers.mean_late_us / 1e6);
        let percent = answers.late_percent;
        let verdict = if answers.in_time {
            "."
        } else {
            ": this machine is too slow or too busy for the time with --live to stand for the device."
        };
        line(
            &mut out,
            &format!(
                "Live reads were answered {late} late on average, {percent:.2} % of them more than 50 us{verdict}"
            ),
        );
    }
    out.push('\n');
    let mode = match report.mode {
        "program" => "its own requests, as its threads depend on them".to_owned(),
        mode => format!("mode {mode}{}", settings(report)),
    };
    let from = report
        .from
        .map_or_else(String::new, |from| format!("; {}", from.words()));
    let cpu = if report.cpu.to_bits() == 1.0_f64.to_bits() {
        String::new()
    } else {
        format!("; processor times times {}", significant(report.cpu))
    };
    let head = format!(
        "{} (modelled; {mode}{from}{cpu}; intervals of {}{}, seed {})",
        report.subject,
        words::plural(report.runs.into(), "run"),
        report.sampled.map_or_else(String::new, |count| format!(
            " of {} requests",
            grouped(count)
        )),
        report.seed
    );
    line(&mut out, &head);
    if report.commands > 0 {
        let commands = words::plural(report.commands, "command");
        let text = format!("{commands} without an address (passthrough) left out.");
        line(&mut out, &text);
    }
    durations(&mut out, report);
    responses(&mut out, report);
    spent(&mut out, report);
    for device in &report.devices {
        out.push('\n');
        basis(&mut out, device, report.mode);
    }
    out.push('\n');
    line(
        &mut out,
        &format!("This cannot tell {}.", report.cannot_tell),
    );
    out
}

/// What was chosen for the replay, besides its mode.
fn settings(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    if let Some(depth) = report.depth {
        let _ = write!(text, ", {depth} in flight");
    }
    if let Some(limit) = report.think_limit_ms {
        let _ = write!(text, ", think times of up to {} ms", significant(limit));
    }
    if let Some(place) = report.place {
        let _ = write!(text, "; placed by {place}");
    }
    text
}

fn line(out: &mut String, text: &str) {
    out.push_str(&words::wrap("", 2, text, WIDTH));
}

/// `97.3 s`.
fn seconds(value: f64) -> String {
    if value < 0.1 {
        words::short_time(value)
    } else {
        format!("{} s", significant(value))
    }
}

fn answer(device: &DeviceReport, live: bool) -> String {
    let Some(row) = device.whole() else {
        return String::new();
    };
    let modelled = &row.modelled;
    let time = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), seconds);
    let mut text = format!(
        "On {} this takes {} (5-95 %: {} to {}), modelled.",
        device.device,
        time(modelled.seconds),
        time(modelled.low_s),
        time(modelled.high_s)
    );
    if let (Some(recorded), Some(ratio)) = (row.recorded_s, modelled.ratio) {
        let (what, other) = if live {
            (
                "with reads that waited for the model (--live)",
                "modelled / live",
            )
        } else {
            ("where it was recorded", "modelled / recorded")
        };
        let (recorded, ratio) = (seconds(recorded), significant(ratio));
        let _ = write!(text, " It took {recorded} {what}: {other} is {ratio}.");
    }
    let _ = write!(text, " What decides is {}.", device.limit);
    text
}

/// A table with its first column to the left.
fn table(out: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([heads[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let heads = heads.iter().map(|head| (*head).to_owned()).collect();
    for row in std::iter::once(&heads).chain(rows) {
        let mut text = String::new();
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if index == 0 {
                write!(text, "{cell:<width$}")
            } else {
                write!(text, "  {cell:>width$}")
            };
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
}

/// The cells of all rows. `cells` is given the row's number: the first is the whole.
fn cells(
    report: &Report,
    cells: impl Fn(&DeviceReport, usize, &Row) -> Vec<String>,
) -> Vec<Vec<String>> {
    let of_device = |device: &DeviceReport| -> Vec<Vec<String>> {
        let of_row = |(index, row): (usize, &Row)| {
            let indent = if index == 0 { "" } else { "  " };
            let name = words::printable(&row.name);
            let mut all = vec![format!("{indent}{name}")];
            all.extend(cells(device, index, row));
            all
        };
        device.rows.iter().enumerate().map(of_row).collect()
    };
    report.devices.iter().flat_map(of_device).collect()
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), significant)
}

fn durations(out: &mut String, report: &Report) {
    let rows = cells(report, |device, number, row| {
        let modelled = &row.modelled;
        let busy = (number == 0).then_some(device.modelled_busy_percent);
        let busy = busy.or(modelled.busy_percent);
        let interval = match (modelled.low_s, modelled.high_s) {
            (Some(low), Some(high)) => format!("{} to {}", significant(low), significant(high)),
            _ => "-".to_owned(),
        };
        vec![
            grouped(row.requests),
            words::bytes(row.bytes),
            or_dash(modelled.seconds),
            interval,
            or_dash(row.recorded_s),
            or_dash(modelled.ratio),
            busy.map_or_else(|| "-".to_owned(), |busy| format!("{busy:.0}")),
        ]
    });
    let heads = [
        "",
        "requests",
        "bytes",
        "modelled s",
        "5-95 %",
        "recorded s",
        "ratio",
        "busy %",
    ];
    table(out, &heads, &rows);
}

fn responses(out: &mut String, report: &Report) {
    out.push_str("\nResponse times, ms (modelled, with the figures of the device file)\n");
    let rows = cells(report, |_, _, row| {
        let modelled = &row.modelled;
        [
            modelled.mean_ms,
            modelled.p50_ms,
            modelled.p95_ms,
            modelled.p99_ms,
        ]
        .map(significant)
        .to_vec()
    });
    table(out, &["", "mean", "p50", "p95", "p99"], &rows);
}

fn spent(out: &mut String, report: &Report) {
    out.push_str(
        "\nWhere time went, s summed over requests and parts (modelled, with the figures of the device file)\n",
    );
    let mut heads = vec![""];
    let mut rows = Vec::new();
    for device in &report.devices {
        let columns = device.spent.columns();
        heads = std::iter::once("")
            .chain(columns.iter().map(|(name, _)| *name))
            .collect();
        let cells = columns.iter().map(|(_, value)| significant(*value));
        rows.push(
            std::iter::once(device.device.clone())
                .chain(cells)
                .collect(),
        );
    }
    table(out, &heads, &rows);
}

/// `1 request was`, `3 requests were`.
fn hits(device: &DeviceReport) -> String {
    let count = device.modelled_hits;
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb}", words::plural(count, "request"))
}

/// Times of modes that are this near each other agree: that is within what the models are known to be wrong by.
const ALIKE: f64 = 1.12;

/// Whether it matters which mode is asked.
fn agreement(own: Option<f64>, others: &[(&'static str, f64)]) -> &'static str {
    let all = || own.into_iter().chain(others.iter().map(|(_, time)| *time));
    let (least, most) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(0.0, f64::max),
    );
    if most <= ALIKE * least {
        "They agree within 12 %, so the mode does not matter."
    } else {
        "They differ, so the mode matters."
    }
}

/// What the numbers of a device rest on.
fn basis(out: &mut String, device: &DeviceReport, mode: &str) {
    if !device.stands_for.is_empty() {
        line(out, &format!("{}: {}.", device.device, device.stands_for));
    }
    let busy = device.modelled_members_busy_percent;
    if let Some([least, mean, most]) = busy.filter(|_| device.members > 1) {
        let members = words::plural(device.members as u64, "member");
        line(
            out,
            &format!(
                "Busy (modelled): {members}, {least:.0} to {most:.0} %, mean {mean:.0} %; {} answered from a buffer or cache.",
                hits(device)
            ),
        );
    } else {
        line(
            out,
            &format!(
                "Busy (modelled): {:.0} %; {} answered from a buffer or cache.",
                device.modelled_busy_percent,
                hits(device)
            ),
        );
    }
    if !device.modelled_other_modes_s.is_empty() {
        let own = device.whole().and_then(|row| row.modelled.nominal_s);
        let own = own.map(|value| (mode, value));
        let all = own.iter().chain(&device.modelled_other_modes_s);
        let all: Vec<String> = all
            .map(|(mode, value)| format!("{mode} {}", seconds(*value)))
            .collect();
        line(
            out,
            &format!(
                "By mode, with the figures of the device file (modelled): {}. {}",
                all.join(", "),
                agreement(own.map(|(_, own)| own), &device.modelled_other_modes_s)
            ),
        );
    }
    if let Some([completion, burst, time]) = device.bound_percent {
        line(
            out,
            &format!(
                "Of the submissions, {completion:.0} % wait for a completion, {burst:.0} % follow in a burst, and {time:.0} % keep their time."
            ),
        );
    }
    if let Some(left_out) = device.left_out {
        line(out, &format!("Not modelled: {left_out}."));
    }
    if !device.assumed.is_empty() {
        line(out, &format!("Assumed: {}.", device.assumed.join("; ")));
    }
    if !device.fitted.is_empty() {
        line(out, &format!("Fitted: {}.", device.fitted.join("; ")));
    }
}
