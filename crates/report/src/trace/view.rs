//! The sections of a report, the same for text, Markdown and page.

use blktrace::Analysis;
use blktrace::analysis::{
    ChainSummary, DeviceSummary, Direction, DirectionSummary, Kind, ProcessSummary, SizeCount,
};
use blktrace::btt::SeekSummary;

use super::Subject;
use super::figures::{distance, fixed, kib, mib, micros, micros_of, over, percent, power};
use crate::doc::{Block, Cell, Column, Item, Row, Section, Sheet};

/// Processes that have rows unless some are named.
const PROCESSES: usize = 10;

/// A row; names from the trace can neither break a line nor steer a terminal.
fn row(cells: &[String]) -> Row {
    Row::texts({ cells.iter() }.map(|cell| words::printable(cell).into_owned()))
}

/// A section with one table. The first `words` columns are labels in words.
fn section(
    id: &str,
    title: &str,
    (words, heads): (usize, &[&str]),
    rows: &[Vec<String>],
    note: &str,
) -> Section<'static> {
    let column = |(at, head): (usize, &&str)| {
        if at < words {
            Column::words(*head)
        } else {
            Column::figures(*head)
        }
    };
    let sheet = Sheet {
        about: title.to_owned(),
        columns: heads.iter().enumerate().map(column).collect(),
        labels: words,
        rows: rows.iter().map(|cells| row(cells)).collect(),
        class: "trace",
        ..Sheet::default()
    };
    let mut blocks = vec![Block::Table(sheet)];
    if !note.is_empty() {
        blocks.push(Block::Para(note.to_owned()));
    }
    Section {
        blocks,
        ..Section::new(id, title)
    }
}

/// What precedes the tables: the trace, its facts, and what speaks against its figures.
pub(super) fn head(subject: &Subject<'_>) -> Section<'static> {
    let mut facts: Vec<(Cell, Cell)> = { facts(subject).into_iter() }
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let doubts = subject.doubts();
    if doubts.is_empty() {
        facts.push(("lost".into(), "nothing".into()));
    }
    let mut blocks = vec![Block::Facts(facts)];
    if !doubts.is_empty() {
        let items = doubts
            .into_iter()
            .map(|doubt| Item::from(format!("{doubt}.")));
        blocks.extend(subject.verdict().map(Block::Heading));
        blocks.push(Block::List(items.collect()));
    }
    Section {
        blocks,
        ..Section::new("trace", format!("Block trace {}", subject.analysis.name))
    }
}

/// Facts of the trace before its tables: a name and a value each.
pub(super) fn facts(subject: &Subject<'_>) -> Vec<(&'static str, String)> {
    let analysis = subject.analysis;
    let mut facts = Vec::new();
    if let Some(first) = subject.recorded.first() {
        let lines = subject.recorded.iter().map(|trace| &trace.actions);
        let same = lines.clone().all(|actions| *actions == first.actions);
        let actions = if same { &first.actions[..] } else { "differ" };
        facts.push(("taken by", format!("{}, Linux {}", first.way, first.kernel)));
        facts.push(("actions", actions.to_owned()));
    }
    let shown = devices(subject).into_iter().map(|device| {
        let number = device.major << 20 | device.minor;
        let plain = format!("{},{}", device.major, device.minor);
        let name = subject.name(number);
        let name = if name == plain {
            plain
        } else {
            format!("{name} ({plain})")
        };
        if device.stacked {
            name + " on others"
        } else {
            name
        }
    });
    facts.push(("devices", shown.collect::<Vec<_>>().join(", ")));
    let span = if analysis.begin > 0.0 {
        format!("{:.3} s, from {:.3} s on", analysis.seconds, analysis.begin)
    } else {
        format!("{:.3} s", analysis.seconds)
    };
    facts.push(("time", span));
    facts.push(("events", analysis.events.to_string()));
    let losses = &analysis.losses;
    for (name, count) in [
        ("unfinished", losses.outstanding + losses.forgotten),
        ("legs unfinished", losses.legs),
        ("passed through", losses.passthrough),
    ] {
        if count > 0 {
            facts.push((name, count.to_string()));
        }
    }
    facts
}

/// A section for each table that has rows.
pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section<'static>> {
    let analysis = subject.analysis;
    let all = [
        traffic(analysis).nav("Traffic"),
        steps(analysis).nav("Steps"),
        sizes(analysis).nav("Sizes"),
        seeks(subject).nav("Distances"),
        processes(subject).nav("Processes"),
        kinds(analysis).nav("Kinds"),
        work(subject).nav("Devices"),
        chains(subject).nav("Stacked devices"),
    ];
    let has_rows = |section: &Section<'_>| {
        { section.blocks.iter() }
            .any(|block| matches!(block, Block::Table(t) if !t.rows.is_empty()))
    };
    all.into_iter().filter(has_rows).collect()
}

/// The devices that have rows.
pub(super) fn devices<'a>(subject: &Subject<'a>) -> Vec<&'a DeviceSummary> {
    let all = &subject.analysis.devices;
    let number = |device: &DeviceSummary| device.major << 20 | device.minor;
    match subject.devices {
        [] => all.iter().collect(),
        asked => {
            let find = |wanted: &u32| all.iter().find(|device| number(device) == *wanted);
            asked.iter().filter_map(find).collect()
        }
    }
}

pub(super) const fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Discard => "discard",
    }
}

/// The directions in which anything went.
fn used(analysis: &Analysis) -> Vec<&DirectionSummary> {
    let used = |d: &&DirectionSummary| d.bios + d.requests + d.completed_bytes > 0;
    analysis.directions.iter().filter(used).collect()
}

fn traffic(analysis: &Analysis) -> Section<'static> {
    type Cell = fn(&DirectionSummary) -> f64;
    let used = used(analysis);
    let span = analysis.seconds;
    let mut rows = Vec::new();
    let mut row = |name: &str, cell: &dyn Fn(&DirectionSummary) -> String| {
        let cells = used.iter().map(|d| cell(d));
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    row("bios queued (Q)", &|d| d.bios.to_string());
    row("KiB a bio", &|d| {
        over(d.bio_bytes as f64 / 1024.0, d.bios as f64)
    });
    row("merged into a request (M, F)", &|d| d.merges.to_string());
    row("requests issued (D)", &|d| d.requests.to_string());
    row("KiB a request", &|d| {
        over(d.request_bytes as f64 / 1024.0, d.requests as f64)
    });
    row("bios a request (Q/D)", &|d| {
        over(d.bios as f64, d.requests as f64)
    });
    row("MiB queued", &|d| mib(d.bio_bytes as f64));
    row("MiB completed (C)", &|d| mib(d.completed_bytes as f64));
    row("MiB/s, over the whole trace", &|d| {
        over(d.completed_bytes as f64 / 1_048_576.0, span)
    });
    let rare: [(&str, Cell); 3] = [
        ("flush first, or FUA", |d| d.barriers as f64),
        ("put back (R)", |d| d.requeues as f64),
        ("completed with an error", |d| d.errors as f64),
    ];
    for (name, count) in rare {
        if used.iter().any(|d| count(d) > 0.0) {
            row(name, &|d| format!("{:.0}", count(d)));
        }
    }
    if used.is_empty() {
        rows.clear();
    }
    let words = used.iter().map(|d| word(d.direction));
    let heads: Vec<&str> = std::iter::once("").chain(words).collect();
    section(
        "traffic",
        "What was asked, and what became of it",
        (1, &heads),
        &rows,
        "",
    )
}

fn steps(analysis: &Analysis) -> Section<'static> {
    let several = used(analysis).len() > 1;
    // All together only where that is more than one of them alone.
    let shown = analysis.intervals.iter().filter(|summary| {
        let same = analysis
            .intervals
            .iter()
            .filter(|s| s.interval == summary.interval);
        summary.direction.is_some() || several && same.count() > 2
    });
    let rows = shown.map(|summary| {
        let average = &summary.average;
        vec![
            summary.interval.name().to_owned(),
            summary.direction.map_or("all", word).to_owned(),
            average.n.to_string(),
            micros(average.mean_seconds().unwrap_or(0.0)),
            micros(summary.p50),
            micros(summary.p90),
            micros(summary.p99),
            micros(summary.p999),
            micros_of(average.max),
        ]
    });
    section(
        "steps",
        "How long each step took, microseconds",
        (
            2,
            &["step", "", "n", "mean", "p50", "p90", "p99", "p99.9", "max"],
        ),
        &rows.collect::<Vec<_>>(),
        "Q queued, G request got, I inserted into the scheduler, M merged, D issued to the \
               driver, C completed, A remapped; counted once a bio. D2C is the device's time, Q2D what \
               comes before it. Quantiles are exact to 1 %.",
    )
}

/// How many of all lie in a class, and their share.
fn class(counts: &[SizeCount], direction: Direction, up_to: u64) -> String {
    let of = || counts.iter().filter(|size| size.direction == direction);
    let all: u64 = of().map(|size| size.count).sum();
    let here = of()
        .find(|size| size.up_to == up_to)
        .map_or(0, |size| size.count);
    match here {
        0 => "-".into(),
        here => format!(
            "{here} {:>5}",
            format!("{:.0} %", 100.0 * here as f64 / all as f64)
        ),
    }
}

fn sizes(analysis: &Analysis) -> Section<'static> {
    let (bios, requests) = (&analysis.bio_sizes, &analysis.request_sizes);
    let directions: Vec<Direction> = used(analysis).iter().map(|d| d.direction).collect();
    let mut classes: Vec<u64> = bios.iter().chain(requests).map(|size| size.up_to).collect();
    classes.sort_unstable();
    classes.dedup();
    let letters = ["Q", "D"].iter();
    let names = letters.flat_map(|letter| {
        directions
            .iter()
            .map(move |d| format!("{letter} {}", word(*d)))
    });
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = std::iter::once("up to")
        .chain(names.iter().map(String::as_str))
        .collect();
    let rows = classes.iter().map(|&up_to| {
        let of = |counts: &[SizeCount]| {
            let cells = directions.iter().map(|d| class(counts, *d, up_to));
            cells.collect::<Vec<_>>()
        };
        [vec![power(up_to)], of(bios), of(requests)].concat()
    });
    section(
        "sizes",
        "Sizes: bios as queued (Q), requests as issued (D)",
        (1, &names),
        &rows.collect::<Vec<_>>(),
        "",
    )
}

fn seeks(subject: &Subject<'_>) -> Section<'static> {
    let mut rows = Vec::new();
    for device in devices(subject) {
        let name = subject.name(device.major << 20 | device.minor);
        for (what, seeks) in [("Q", &device.queue_seeks), ("D", &device.issue_seeks)] {
            if seeks.count > 0 {
                rows.push(seek_row(&name, what, seeks));
            }
        }
    }
    section(
        "seeks",
        "Distance from one I/O to the next",
        (
            2,
            &[
                "device", "", "n", "touching", "mean", "median", "p90", "p99", "max",
            ],
        ),
        &rows,
        "Q: bios as queued, D: requests as issued. Touching: begins or ends where the one before \
               lies. Distances run from its end forwards, or from its beginning backwards.",
    )
}

fn seek_row(name: &str, what: &str, seeks: &SeekSummary) -> Vec<String> {
    vec![
        name.to_owned(),
        what.to_owned(),
        seeks.count.to_string(),
        percent(seeks.sequential as f64, seeks.count as f64),
        distance(seeks.mean),
        distance(seeks.median as f64),
        distance(seeks.p90 as f64),
        distance(seeks.p99 as f64),
        distance(seeks.max as f64),
    ]
}

/// The processes that have rows in a file: those that were named, or all.
pub(super) fn shown_processes<'a>(subject: &Subject<'a>) -> Vec<&'a ProcessSummary> {
    let all = &subject.analysis.processes;
    match subject.processes {
        [] => all.iter().collect(),
        asked => {
            // btt's names end at the first slash.
            let is = |name: &String, process: &ProcessSummary| {
                process.name == *name || process.name.split('/').next() == Some(name)
            };
            let find = |name| all.iter().filter(move |process| is(name, process));
            asked.iter().flat_map(find).collect()
        }
    }
}

fn processes(subject: &Subject<'_>) -> Section<'static> {
    let all = &subject.analysis.processes;
    let mut shown = shown_processes(subject);
    if subject.processes.is_empty() {
        shown.truncate(PROCESSES);
    }
    let rest = all.len() - shown.len();
    let rows = shown.into_iter().map(|process| {
        let [read, write, discard] = process.directions.map(|traffic| traffic.bytes as f64);
        let (bios, bytes) = (process.bios(), process.bytes() as f64);
        let [_, metadata, journal] = process.kinds.map(|traffic| traffic.bytes as f64);
        vec![
            process.name.clone(),
            process.threads.to_string(),
            bios.to_string(),
            over(bytes / 1024.0, bios as f64),
            mib(read),
            mib(write + discard),
            percent(process.sequential as f64, bios as f64),
            percent(metadata + journal, bytes),
        ]
    });
    let mut note = String::from(
        "Touching: begins where the process' last bio on the device ended. Meta: with the META flag, \
         or by a journal's thread.",
    );
    if rest > 0 && subject.processes.is_empty() {
        note.insert_str(0, &format!("{rest} more queued less. "));
    }
    section(
        "processes",
        "Who asked, by bytes queued",
        (
            1,
            &[
                "process", "threads", "bios", "KiB each", "MiB read", "written", "touching", "meta",
            ],
        ),
        &rows.collect::<Vec<_>>(),
        &note,
    )
}

fn kinds(analysis: &Analysis) -> Section<'static> {
    let total = |kind: usize| -> f64 {
        let directions = analysis.kinds[kind].directions;
        directions.iter().map(|traffic| traffic.bytes as f64).sum()
    };
    let all: f64 = (0..analysis.kinds.len()).map(total).sum();
    let rows = analysis.kinds.iter().enumerate().map(|(at, kind)| {
        let [read, write, discard] = kind.directions;
        let bios = read.bios + write.bios + discard.bios;
        vec![
            match kind.kind {
                Kind::Data => "data",
                Kind::Metadata => "metadata",
                Kind::Journal => "journal",
            }
            .to_owned(),
            bios.to_string(),
            over(total(at) / 1024.0, bios as f64),
            mib(read.bytes as f64),
            mib((write.bytes + discard.bytes) as f64),
            percent(total(at), all),
        ]
    });
    let any = all > 0.0;
    section(
        "kinds",
        "What for",
        (
            1,
            &[
                "kind", "bios", "KiB each", "MiB read", "written", "of bytes",
            ],
        ),
        &if any { rows.collect() } else { Vec::new() },
        &format!(
            "By the META flag and by the journals' threads. {} requests carry another kind than the \
             one before them and lie apart from it.",
            analysis.kind_switches
        ),
    )
}

/// What a device had to do.
fn work(subject: &Subject<'_>) -> Section<'static> {
    let analysis = subject.analysis;
    let rows = devices(subject).into_iter().map(|device| {
        let (plugs, timers) = (device.unplugs, device.timer_unplugs);
        let covered = device.live.covered as f64 / 1e9;
        vec![
            subject.name(device.major << 20 | device.minor),
            device.bios.to_string(),
            device.requests.to_string(),
            kib(device.completions.total as f64 * 512.0 / device.completions.n.max(1) as f64),
            percent(covered, analysis.seconds),
            device.live.periods.to_string(),
            fixed(device.active_at_queue),
            format!("{plugs} + {timers}"),
        ]
    });
    let depth = &analysis.depth;
    section(
        "work",
        "What the devices had to do",
        (
            1,
            &[
                "device", "bios", "requests", "KiB a C", "busy", "periods", "at Q", "unplugs",
            ],
        ),
        &rows.collect::<Vec<_>>(),
        &format!(
            "Requests at the drivers: {:.2} over time, {:.2} while there were any, {} at most. Busy: at \
             least one there. At Q: bios neither merged nor issued when one was queued. Unplugs: by \
             the task + by the scheduler.",
            depth.mean, depth.mean_busy, depth.max
        ),
    )
}

fn chains(subject: &Subject<'_>) -> Section<'static> {
    let row = |chain: &ChainSummary, first: bool, step: &blktrace::analysis::StepSummary| {
        let names = format!(
            "{} > {}",
            subject.name(chain.upper),
            subject.name(chain.lower)
        );
        vec![
            if first { names } else { String::new() },
            step.step.name().to_owned(),
            step.average.n.to_string(),
            micros(step.average.mean_seconds().unwrap_or(0.0)),
            micros(step.p50),
            micros(step.p90),
            micros(step.p99),
            micros_of(step.average.max),
        ]
    };
    let rows = subject.analysis.chains.iter().flat_map(|chain| {
        let steps = chain.steps.iter().enumerate();
        steps
            .map(|(at, step)| row(chain, at == 0, step))
            .collect::<Vec<_>>()
    });
    section(
        "chains",
        "Bios of stacked devices, down to the disks, microseconds",
        (
            2,
            &["from > to", "step", "n", "mean", "p50", "p90", "p99", "max"],
        ),
        &rows.collect::<Vec<_>>(),
        "A leg for each remap: queued above to remapped (Q2A), to issued below (Q2D), issued to \
               completed below (D2C); once a bio: from its last leg to its own completion (C2C), and \
               all of it (Q2C).",
    )
}
