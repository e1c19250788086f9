//! How many requests a second the models of `device` serve on one core, and what recording and replaying cost ([`costs`]).
//!
//! A queue of requests is kept at a depth, as a replay keeps it; nothing else runs. The targets are those of the specification of
//! modelled devices: 5 million requests a second where a disk serves in order, by an SSD and by a RAID-0 (counted by what its
//! members serve), and 1.5 million where 32 requests compete for the shortest positioning.

mod costs;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use device::{Catalogue, Model, Request, Variation};

use crate::arguments::{Binary, Place, Times};
use crate::pairs::median;
use crate::run::verdict;
use crate::table::{Printer, Row, Table};

/// Requests of a figure.
const REQUESTS: u64 = 1_000_000;

/// Measures how fast modelled devices are computed and prints a table with targets.
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    times: Times<15>,
    /// What to measure.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "models,recording,replay,memory"
    )]
    parts: Vec<Part>,
    /// Files of the image that is checked with and without a record.
    #[arg(long, default_value_t = 1_000_000)]
    files: u64,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    binary: Binary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Requests a second of models.
    Models,
    /// What a record costs a check.
    Recording,
    /// What a replay costs beside a report.
    Replay,
    /// The memory of replays.
    Memory,
}

/// How often the rate of a model is measured.
const TIMES: u32 = 5;

/// A load and its target.
struct Load {
    name: &'static str,
    device: &'static str,
    depth: u64,
    random: bool,
    len: u64,
    /// Members that serve each request.
    members: u64,
    /// Millions of requests a second.
    target: f64,
}

const LOADS: [Load; 7] = [
    Load {
        name: "disk, random reads, depth 1",
        device: "7k500",
        depth: 1,
        random: true,
        len: 4096,
        members: 1,
        target: 5.0,
    },
    Load {
        name: "disk, reads in order, depth 1",
        device: "7k500",
        depth: 1,
        random: false,
        len: 65_536,
        members: 1,
        target: 5.0,
    },
    Load {
        name: "SSD, random reads, depth 32",
        device: "nvme-2018",
        depth: 32,
        random: true,
        len: 4096,
        members: 1,
        target: 5.0,
    },
    Load {
        name: "RAID-0 of 8 disks, reads of 8 chunks, depth 1",
        device: "7k500x8",
        depth: 1,
        random: false,
        len: 524_288,
        members: 8,
        target: 5.0,
    },
    Load {
        name: "RAID-0 of 8 disks, random reads, depth 8",
        device: "7k500x8",
        depth: 8,
        random: true,
        len: 4096,
        members: 1,
        target: 5.0,
    },
    Load {
        name: "RAID-0 of 8 SSDs, reads of 8 chunks, depth 4",
        device: "nvme-2018x8",
        depth: 4,
        random: false,
        len: 524_288,
        members: 8,
        target: 5.0,
    },
    Load {
        name: "disk, random reads, depth 32, shortest first",
        device: "7k500",
        depth: 32,
        random: true,
        len: 4096,
        members: 1,
        target: 1.5,
    },
];

pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    verdict("device_speed", bench(arguments))
}

fn bench(arguments: &Arguments) -> Result<bool> {
    let mut printer = Printer::default();
    let asked = |part| arguments.parts.contains(&part);
    if asked(Part::Models) {
        printer.show(&models(arguments)?);
    }
    if [Part::Recording, Part::Replay, Part::Memory]
        .into_iter()
        .any(asked)
    {
        let costs = costs::Costs::of(arguments)?;
        if asked(Part::Recording) {
            printer.show(&costs::Costs::recorded_read()?);
            printer.show(&costs.recording()?);
        }
        if asked(Part::Replay) {
            printer.show(&costs.replay()?);
        }
        if asked(Part::Memory) {
            printer.show(&costs.memory()?);
        }
    }
    Ok(printer.all_met())
}

fn models(arguments: &Arguments) -> Result<Table> {
    let catalogue = Catalogue::shipped()?;
    let mut table = Table::new(
        format!("Modelled requests a second, one core ({REQUESTS} requests each)"),
        &["median", "ns each"],
    );
    for load in &LOADS {
        let mut rates = Vec::new();
        for _ in 0..arguments.times.pairs().min(TIMES) {
            let mut model = catalogue.model(load.device, Variation::Nominal)?;
            rates.push(rate(&mut *model, load));
        }
        let rate = median(&rates);
        table.rows.push(Row::new(
            load.name,
            [
                format!("{:.2} M/s", rate / 1e6),
                format!("{:.0}", 1e9 / rate),
            ],
            format!(">= {:.1} M/s", load.target),
            rate >= load.target * 1e6,
        ));
    }
    Ok(table)
}

/// Requests a second of the processor's time.
fn rate(model: &mut dyn Model, load: &Load) -> f64 {
    let blocks = model.capacity() / load.len;
    let offset = |number: u64| {
        let block = if load.random {
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
        } else {
            number
        };
        block % blocks * load.len
    };
    let (mut sent, mut finished, mut now) = (0, 0, 0);
    let count = REQUESTS / load.members;
    let mut done = Vec::new();
    let begin = Instant::now();
    while finished < count {
        while sent < count && sent - finished < load.depth {
            model.submit(now, Request::read(sent, offset(sent), load.len));
            sent += 1;
        }
        let Some(at) = model.next_event() else { break };
        now = now.max(at);
        model.advance(now, &mut done);
        finished += done.len() as u64;
        done.clear();
    }
    (finished * load.members) as f64 / begin.elapsed().as_secs_f64()
}
