//! btt's tables as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::average::{Average, Averages, Interval, seconds};
use super::device::Device;
use super::engine::Engine;
use super::range::Regions;
use super::seek::SeekSummary;

/// The intervals of stacked devices.
const STACKED: [Interval; 3] = [Interval::Q2QDm, Interval::Q2ADm, Interval::Q2CDm];

/// Those of the others, as the tables by process and device have them.
const PLAIN: [Interval; 9] = [
    Interval::Q2Q,
    Interval::Q2A,
    Interval::Q2G,
    Interval::S2G,
    Interval::G2I,
    Interval::Q2M,
    Interval::I2D,
    Interval::D2C,
    Interval::Q2C,
];

pub(super) fn tables(engine: &Engine, all: bool) -> String {
    let mut text = String::new();
    if all {
        section(&mut text, "Per Process");
        let processes = engine.processes.by_name();
        let rows: Vec<(String, &Averages)> = processes
            .map(|process| {
                let name: String = process.name.chars().take(14).collect();
                (name, &process.averages)
            })
            .collect();
        each(&mut text, &rows);
        section(&mut text, "Per Device");
        let devices = engine.devices.iter();
        let rows: Vec<(String, &Averages)> = devices
            .map(|device| (name(device), &device.averages))
            .collect();
        each(&mut text, &rows);
    }
    totals(&mut text, &engine.all);
    overhead(&mut text, &engine.devices);
    merges(&mut text, &engine.devices);
    let as_btt = engine.options.as_btt;
    section(&mut text, "Device Q2Q Seek Information");
    seeks(&mut text, &engine.devices, as_btt, |d| d.q2q.summary());
    section(&mut text, "Device D2D Seek Information");
    seeks(&mut text, &engine.devices, as_btt, |d| d.d2d.summary());
    plugs(&mut text, &engine.devices);
    active(&mut text, &engine.devices);
    live(&mut text, engine);
    if all {
        q2d(&mut text, &engine.devices);
    }
    text
}

fn section(text: &mut String, title: &str) {
    let line = "=".repeat(20);
    let _ = write!(text, "{line} {title} {line}\n\n");
}

/// A device as the tables name it.
fn name(device: &Device) -> String {
    let (major, minor) = device.numbers();
    format!("({major:>3},{minor:>3})")
}

fn head(text: &mut String, title: &str) {
    let _ = writeln!(
        text,
        "{title:>15} {:>13} {:>13} {:>13} {:>11}",
        "MIN", "AVG", "MAX", "N"
    );
    text.push_str("--------------- ------------- ------------- ------------- -----------\n");
}

fn row(text: &mut String, title: &str, average: &Average) {
    if let Some(mean) = average.mean_seconds() {
        let (min, max) = (seconds(average.min), seconds(average.max));
        let _ = writeln!(
            text,
            "{title:<15} {min:>13.9} {mean:>13.9} {max:>13.9} {:>11}",
            average.n
        );
    }
}

fn each(text: &mut String, rows: &[(String, &Averages)]) {
    let mut table = |interval: Interval| {
        head(text, interval.name());
        for (name, averages) in rows {
            row(text, name, averages.of(interval));
        }
        text.push('\n');
    };
    STACKED.into_iter().for_each(&mut table);
    text.push('\n');
    let mut table = |interval: Interval| {
        head(text, interval.name());
        for (name, averages) in rows {
            row(text, name, averages.of(interval));
        }
        text.push('\n');
    };
    PLAIN.into_iter().for_each(&mut table);
}

fn totals(text: &mut String, all: &Averages) {
    section(text, "All Devices");
    head(text, "ALL");
    for interval in STACKED {
        row(text, interval.name(), all.of(interval));
    }
    text.push('\n');
    for interval in Interval::ALL[3..13].iter().copied() {
        row(text, interval.name(), all.of(interval));
    }
    text.push('\n');
}

fn overhead(text: &mut String, devices: &[Device]) {
    const PARTS: [Interval; 5] = [
        Interval::Q2G,
        Interval::G2I,
        Interval::Q2M,
        Interval::I2D,
        Interval::D2C,
    ];
    section(text, "Device Overhead");
    let rule = format!("---------- |{}\n", " ---------".repeat(5));
    let _ = write!(text, "{:>10} |", "DEV");
    for part in PARTS {
        let _ = write!(text, " {:>9}", part.name());
    }
    let _ = write!(text, "\n{rule}");
    let mut sums = [0_u64; 5];
    let mut whole = 0_u64;
    for device in devices {
        let total = device.averages.of(Interval::Q2C).total;
        if total == 0 {
            continue;
        }
        let parts = PARTS.map(|part| device.averages.of(part).total);
        shares(text, &name(device), parts, total);
        sums = std::array::from_fn(|i| sums[i].wrapping_add(parts[i]));
        whole = whole.wrapping_add(total);
    }
    if sums.iter().any(|&sum| sum > 0) {
        text.push_str(&rule);
        shares(text, "Overall", sums, whole);
    }
    text.push('\n');
}

fn shares(text: &mut String, title: &str, parts: [u64; 5], whole: u64) {
    let _ = write!(text, "{title:>10} |");
    for part in parts {
        let _ = write!(text, " {:>8.4}%", 100.0 * part as f64 / whole as f64);
    }
    text.push('\n');
}

/// What a device's row of merges says.
struct Merged {
    queued: u64,
    issued: u64,
    blocks: Average,
}

fn merged(device: &Device) -> Option<Merged> {
    (device.queued > 0 && device.issued > 0).then_some(Merged {
        queued: device.queued,
        issued: device.issued,
        blocks: device.blocks,
    })
}

fn merges(text: &mut String, devices: &[Device]) {
    section(text, "Device Merge Information");
    let titles = format!(
        "{:>10} | {:>8} {:>8} {:>7} | {:>8} {:>8} {:>8} {:>8}\n",
        "DEV", "#Q", "#D", "Ratio", "BLKmin", "BLKavg", "BLKmax", "Total"
    );
    let rule = "---------- | -------- -------- ------- | -------- -------- -------- --------\n";
    let _ = write!(text, "{titles}{rule}");
    let mut line = |title: &str, m: &Merged, ratio: f64| {
        let Average {
            min, max, total, ..
        } = m.blocks;
        let _ = writeln!(
            text,
            "{title:>10} | {:>8} {:>8} {ratio:>7.1} | {min:>8} {:>8} {max:>8} {total:>8}",
            m.queued,
            m.issued,
            total / m.issued
        );
    };
    let mut sum: Option<Merged> = None;
    let mut rows = 0;
    for device in devices {
        let Some(row) = merged(device) else { continue };
        line(&name(device), &row, row.queued as f64 / row.issued as f64);
        rows += 1;
        match &mut sum {
            None => sum = Some(row),
            Some(sum) => {
                sum.queued += row.queued;
                sum.issued += row.issued;
                sum.blocks.min = sum.blocks.min.min(row.blocks.min);
                sum.blocks.max = sum.blocks.max.max(row.blocks.max);
                sum.blocks.total += row.blocks.total;
            }
        }
    }
    if let Some(sum) = sum
        && rows > 1
    {
        let _ = write!(text, "{rule}{titles}");
        let mut total = String::new();
        let Average {
            min,
            max,
            total: blocks,
            ..
        } = sum.blocks;
        let ratio = f64::from(sum.queued as f32 / sum.issued as f32);
        let _ = writeln!(
            total,
            "{:>10} | {:>8} {:>8} {ratio:>7.1} | {min:>8} {:>8} {max:>8} {blocks:>8}",
            "TOTAL",
            sum.queued,
            sum.issued,
            blocks / sum.issued
        );
        text.push_str(&total);
    }
    text.push('\n');
}

/// A line of `...(n more)` under the column of modes.
fn more(text: &mut String, count: u64) {
    let _ = writeln!(text, "\n{:63}...({count} more)", "");
}

fn seeks(text: &mut String, devices: &[Device], as_btt: bool, of: impl Fn(&Device) -> SeekSummary) {
    let title = |first: &str| {
        format!(
            "{first:>10} | {:>15} {:>15} {:>15} | {:<15}\n",
            "NSEEKS", "MEAN", "MEDIAN", "MODE"
        )
    };
    let rule = "---------- | --------------- --------------- --------------- | ---------------\n";
    let _ = write!(text, "{}{rule}", title("DEV"));
    let (mut count, mut sum, mut medians) = (0, 0.0, 0);
    let mut modes: BTreeMap<u64, u64> = BTreeMap::new();
    for device in devices {
        let seeks = of(device);
        if seeks.count == 0 {
            continue;
        }
        let median = if as_btt {
            seeks.btt_median
        } else {
            seeks.median
        };
        let _ = write!(
            text,
            "{:>10} | {:>15} {:>15.1} {median:>15} | {}({})",
            name(device),
            seeks.count,
            seeks.mean,
            seeks.modes.first().copied().unwrap_or(0),
            seeks.mode_count
        );
        match seeks.mode_ties {
            0 | 1 => text.push('\n'),
            2 => {
                let _ = writeln!(text, " {}", seeks.modes[1]);
            }
            ties => more(text, ties - 1),
        }
        count += seeks.count;
        sum += seeks.count as f64 * seeks.mean;
        medians += u128::from(seeks.count) * u128::from(median);
        for mode in seeks.modes {
            *modes.entry(mode).or_insert(0) += seeks.mode_count;
        }
    }
    if count > 0 {
        let most = modes.values().copied().max().unwrap_or(0);
        let mut equal = modes.iter().filter(|(_, n)| **n == most);
        let mode = equal.next().map_or(0, |(mode, _)| *mode);
        let _ = write!(
            text,
            "{rule}{}{:>10} | {count:>15} {:>15.1} {:>15} | {mode}({most})",
            title("Overall"),
            "Average",
            sum / count as f64,
            medians / u128::from(count)
        );
        match equal.count() {
            0 => text.push('\n'),
            ties => {
                more(text, ties as u64);
                text.push('\n');
            }
        }
    }
    text.push('\n');
}

/// The share of the time that a device was plugged, %.
fn plugged(device: &Device) -> f64 {
    100.0 * device.plugs.plugged / (seconds(device.end) - seconds(device.start))
}

/// Mean requests in a plug that a task opened, and in one that a timer did.
fn unplugged(device: &Device) -> (f64, f64) {
    let mean = |sum: u64, count: u64| {
        if count > 0 {
            sum as f64 / count as f64
        } else {
            0.0
        }
    };
    let plugs = &device.plugs;
    (
        mean(plugs.requests, plugs.unplugs),
        mean(plugs.timer_requests, plugs.timer_unplugs),
    )
}

fn plugs(text: &mut String, devices: &[Device]) {
    section(text, "Plug Information");
    let titles = |first: &str| {
        format!(
            "{first:>10} | {:>10} {:>10}  | % Time Q Plugged\n",
            "# Plugs", "# Timer Us"
        )
    };
    let rule = "---------- | ---------- ----------  | ----------------\n";
    let _ = write!(text, "{}{rule}", titles("DEV"));
    let shown: Vec<&Device> = devices.iter().filter(|d| d.plugs.unplugs > 0).collect();
    let mut sums = (0, 0, 0.0);
    for device in &shown {
        let (plugs, share) = (&device.plugs, plugged(device));
        let _ = writeln!(
            text,
            "{:>10} | {:>10}({:>10}) | {share:>13.9}%",
            name(device),
            plugs.unplugs,
            plugs.timer_unplugs
        );
        sums = (
            sums.0 + plugs.unplugs,
            sums.1 + plugs.timer_unplugs,
            sums.2 + share,
        );
    }
    if shown.len() > 1 {
        let n = shown.len() as u64;
        let _ = writeln!(
            text,
            "{rule}{}{:>10} | {:>10}({:>10}) | {:>13.9}%",
            titles("Overall"),
            "Average",
            sums.0 / n,
            sums.1 / n,
            sums.2 / n as f64
        );
    }
    text.push('\n');
    unplugs(text, devices);
}

fn unplugs(text: &mut String, devices: &[Device]) {
    let titles = |first: &str| format!("{first:>10} | {:>10}   {:>10}\n", "IOs/Unp", "IOs/Unp(to)");
    let rule = "---------- | ----------   ----------\n";
    let _ = write!(text, "{}{rule}", titles("DEV"));
    let (mut tasks, mut timers) = ((0, 0), (0, 0));
    for device in devices {
        let (task, timer) = unplugged(device);
        let _ = writeln!(text, "{:>10} | {task:>10.1}   {timer:>10.1}", name(device));
        let plugs = &device.plugs;
        if plugs.requests > 0 && plugs.unplugs > 0 {
            tasks = (
                plugs.requests.wrapping_add(tasks.0),
                tasks.1 + plugs.unplugs,
            );
        }
        if plugs.timer_requests > 0 && plugs.timer_unplugs > 0 {
            timers = (
                plugs.timer_requests.wrapping_add(timers.0),
                timers.1 + plugs.timer_unplugs,
            );
        }
    }
    if tasks.1 + timers.1 > 0 {
        let mean = |(sum, n): (u64, u64)| if n > 0 { sum as f64 / n as f64 } else { 0.0 };
        let _ = writeln!(
            text,
            "{rule}{}{:>10} | {:>10.1}   {:>10.1}",
            titles("Overall"),
            "Average",
            mean(tasks),
            mean(timers)
        );
    }
    text.push('\n');
}

fn active(text: &mut String, devices: &[Device]) {
    section(text, "Active Requests At Q Information");
    let rule = "---------- | -------------\n";
    let _ = write!(text, "{:>10} | {:>13}\n{rule}", "DEV", "Avg Reqs @ Q");
    let shown: Vec<&Device> = devices
        .iter()
        .filter(|d| d.queued > 0 && !d.stacked)
        .collect();
    let (mut queued, mut sum) = (0, 0);
    for device in &shown {
        let mean = device.active_sum as f64 / device.queued as f64;
        let _ = writeln!(text, "{:>10} | {mean:>13.1}", name(device));
        queued += device.queued;
        sum += device.active_sum;
    }
    if shown.len() > 1 {
        let mean = sum as f64 / queued as f64;
        let _ = write!(
            text,
            "{rule}{:>10} | {:>13}\n{:>10} | {mean:>13.1}\n",
            "Overall", "Avgs Reqs @ Q", "Average"
        );
    }
    text.push('\n');
}

fn live(text: &mut String, engine: &Engine) {
    section(text, "I/O Active Period Information");
    let rule = "---------- | ---------- ------------- ------------- ------\n";
    let _ = write!(
        text,
        "{:>10} | {:>10} {:>13} {:>13} % Live\n{rule}",
        "DEV", "# Live", "Avg. Act", "Avg. !Act"
    );
    let mut row = |title: &str, live: &super::live::Live| {
        let summary = live.summary();
        let (act, lull, share) = summary.btt();
        let _ = writeln!(
            text,
            "{title:>10} | {:>10} {act:>13.9} {lull:>13.9} {share:>6.2}",
            summary.periods
        );
    };
    for device in &engine.devices {
        row(&name(device), &device.live);
    }
    text.push_str(rule);
    let mut row = |title: &str, live: &super::live::Live| {
        let summary = live.summary();
        let (act, lull, share) = summary.btt();
        let _ = writeln!(
            text,
            "{title:>10} | {:>10} {act:>13.9} {lull:>13.9} {share:>6.2}",
            summary.periods
        );
    };
    row("Total Sys", &engine.live);
    text.push('\n');
}

fn q2d(text: &mut String, devices: &[Device]) {
    section(text, "Q2D Histogram");
    let _ = write!(text, "{:>10} | ", "DEV");
    for title in [
        "<.005", "<.010", "<.025", "<.050", "<.075", "<.100", "<.250", "<.500", "< 1.0",
    ] {
        let _ = write!(text, "{title:>5} ");
    }
    let rule = format!("| {}\n", "===== ".repeat(10));
    let _ = write!(text, ">=1.0\n --------- {rule}");
    let mut sums = [0; 10];
    for device in devices.iter().filter(|d| d.q2d.iter().any(|&n| n > 0)) {
        classes(text, &name(device), &device.q2d);
        sums = std::array::from_fn(|i| sums[i] + device.q2d[i]);
    }
    if sums.iter().any(|&n| n > 0) {
        let _ = write!(text, "========== {rule}");
        classes(text, "AVG", &sums);
        text.push('\n');
    }
}

fn classes(text: &mut String, title: &str, counts: &[u64; 10]) {
    let all: u64 = counts.iter().sum();
    let _ = write!(text, "{title:>10} | ");
    for &count in counts {
        let _ = write!(text, "{:>5.1} ", 100.0 * count as f64 / all as f64);
    }
    text.push('\n');
}

pub(super) fn ranges(engine: &Engine) -> String {
    let mut text = String::from("# Total System\n");
    let mut base = 0.0_f32;
    if regions(&mut text, "Total System", &engine.regions, base) {
        base += 1.0;
    }
    if engine.devices.len() > 1 {
        text.push_str("# Per device\n");
        for device in &engine.devices {
            let (major, minor) = device.numbers();
            let name = format!("{major},{minor}");
            if regions(&mut text, &name, &device.regions, base) {
                base += 1.0;
            }
        }
    }
    text.push_str("# Per process\n");
    for process in engine.processes.by_name() {
        regions(&mut text, &process.name, &process.regions, base);
        base += 1.0;
    }
    text
}

fn regions(text: &mut String, name: &str, regions: &Regions, base: f32) -> bool {
    if regions.is_empty() {
        return false;
    }
    for (what, ranges, base) in [
        ('q', &regions.queued, base),
        ('c', &regions.completed, base + 0.5),
    ] {
        let _ = writeln!(text, "# {name:>16} : {what} activity");
        let top = base + 0.4;
        for &(from, to) in ranges {
            for (time, height) in [(from, base), (from, top), (to, top), (to, base)] {
                let _ = writeln!(text, "{:>13.9} {height:>5.1}", seconds(time));
            }
        }
        text.push('\n');
    }
    true
}

/// The tables in words (btt -X): a line begins with what it is.
pub(super) fn easy(engine: &Engine) -> String {
    let mut text = String::new();
    for interval in Interval::ALL[3..13].iter().copied() {
        let average = engine.all.of(interval);
        if let Some(mean) = average.mean_seconds() {
            let (min, max) = (seconds(average.min), seconds(average.max));
            let name = interval.name();
            let _ = writeln!(text, "{name} {min:.9} {mean:.9} {max:.9} {}", average.n);
        }
    }
    let plain = |device: &Device| {
        let (major, minor) = device.numbers();
        format!("{major},{minor}")
    };
    for device in &engine.devices {
        if let Some(m) = merged(device) {
            let ratio = m.queued as f64 / m.issued as f64;
            let Average {
                min, max, total, ..
            } = m.blocks;
            let _ = writeln!(
                text,
                "DMI {} {} {} {ratio:.9} {min} {} {max} {total}",
                plain(device),
                m.queued,
                m.issued,
                total / m.issued
            );
        }
    }
    for (word, which) in [("QSK", false), ("DSK", true)] {
        for device in &engine.devices {
            let seeks = if which {
                device.d2d.summary()
            } else {
                device.q2q.summary()
            };
            if seeks.count == 0 {
                continue;
            }
            let median = if engine.options.as_btt {
                seeks.btt_median
            } else {
                seeks.median
            };
            let _ = write!(
                text,
                "{word} {} {} {:.9} {median} {} {}",
                plain(device),
                seeks.count,
                seeks.mean,
                seeks.modes.first().copied().unwrap_or(0),
                seeks.mode_count
            );
            for mode in seeks.modes.iter().skip(1) {
                let _ = write!(text, " {mode}");
            }
            text.push('\n');
        }
    }
    for device in engine.devices.iter().filter(|d| d.plugs.unplugs > 0) {
        let (plugs, share) = (&device.plugs, plugged(device));
        let (n, t) = (plugs.unplugs, plugs.timer_unplugs);
        let _ = writeln!(text, "PLG {} {n} {t} {share:.9}", plain(device));
    }
    for device in &engine.devices {
        let (task, timer) = unplugged(device);
        let _ = writeln!(text, "UPG {} {task:.9} {timer:.9}", plain(device));
    }
    for device in engine.devices.iter().filter(|d| d.queued > 0 && !d.stacked) {
        let mean = device.active_sum as f64 / device.queued as f64;
        let _ = writeln!(text, "ARQ {} {mean:.9}", plain(device));
    }
    text
}
