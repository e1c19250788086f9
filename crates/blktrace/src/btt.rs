//! btt's analysis: where the time of each I/O went.
//!
//! The figures are btt 2.09's, from one pass over the files of the CPUs instead of two programs and a
//! file between them, in memory that depends on the I/Os outstanding and not on the length of the
//! trace. What differs, on purpose:
//!
//! | figure | btt | here |
//! |---|---|---|
//! | MEDIAN of seeks | a distance that alone makes up half of all, else 0 | the median |
//! | MODE among equals | the one its tree happens to give first | the least |
//! | distances that differ in more than 131,072 values | all kept | thinned, the error is reported ([`SeekSummary`]) |
//! | majors 9, 253, 254 | md or dm; but virtio disks have 253 and 254 as well | what the caller says ([`Stacked`]) |
//! | bios of one request, in the files | as its tree has them | by sector |
//! | the time of an issue that was not seen, in the files of requests | 2^64 - 1 ns, cut to 32 bits | `-` |
//! | records with a cgroup id | ignored | counted like any other |
//! | several outstanding bios at one sector | the one that its tree gives first | the one that begins last, then the latest |
//! | steps of the files of -Z | listed in the order of the devices' first events | of their first work |
//! | names of devices (-M) | read, and not used | used |
//! | rows TOTAL of the iostat file | other columns than their heads, zeros in an interval | sums |
//! | %util of the iostat file | idle also where a request is in flight at the end of an interval | busy |
//! | bios that are split (X) | never complete, and take what concerns the bios after them | each part is followed |
//! | completions that never come | kept forever | the oldest are given up beyond 200,000 |
//! | avgqu-sz of the iostat file | falls with each bio of a request, below zero | falls once a request |
//!
//! [`Options::btt`] restores btt's MEDIAN, its guess by majors and its ignoring of cgroup ids, for
//! comparison.

pub(crate) mod average;
mod device;
mod engine;
mod files;
mod iostat;
pub(crate) mod live;
mod options;
mod out;
mod print;
mod process;
mod range;
pub(crate) mod seek;

use std::collections::BTreeMap;

use crate::analysis::{Analysis, DeviceSummary, Losses};
use crate::error::Error;
use crate::pipeline;
use crate::trace::Trace;
pub use average::{Average, Averages, Interval, seconds};
use engine::Engine;
pub use files::FileOptions;
pub use live::LiveSummary;
pub use options::{Options, Stacked, device_names};
pub use seek::SeekSummary;

/// A trace that was analysed.
pub struct Outcome {
    engine: Engine,
    name: String,
    strays: u64,
    absent: u64,
}

/// Analyses a trace, and writes btt's files if asked to.
///
/// # Errors
/// A trace that is damaged; a file that cannot be written.
pub fn run(
    trace: &mut Trace,
    options: &Options,
    files: Option<&FileOptions>,
) -> Result<Outcome, Error> {
    let files = files.map(files::Files::open).transpose()?.map(Box::new);
    let genesis = trace.genesis();
    let mut engine = Engine::new(options.clone(), files);
    pipeline::each(trace, |file, event| {
        engine.event(file, event, event.head.time.wrapping_sub(genesis));
        Ok(())
    })?;
    engine.finish()?;
    Ok(Outcome {
        engine,
        name: trace.name(),
        strays: trace.strays(),
        absent: trace.absent(),
    })
}

impl Engine {
    fn finish(&mut self) -> Result<(), Error> {
        for device in &mut self.devices {
            device.plugs.finish(device.end);
        }
        self.extra.finish();
        for device in &mut self.devices {
            device.live.finish()?;
        }
        self.live.finish()?;
        match &mut self.files {
            Some(files) => files.finish([&self.queue_sizes, &self.issue_sizes]),
            None => Ok(()),
        }
    }

    /// The processes that have rows.
    fn shown_processes(&self) -> Box<dyn Iterator<Item = &process::Process> + '_> {
        match &self.options.processes[..] {
            [] => Box::new(self.processes.by_name()),
            names => Box::new(self.processes.named(names)),
        }
    }
}

impl Outcome {
    /// btt's tables; with `all`, those of --all-data.
    pub fn tables(&self, all: bool) -> String {
        print::tables(&self.engine, all)
    }

    /// btt's ranges of activity, as it prints them after the tables.
    pub fn ranges(&self) -> String {
        print::ranges(&self.engine)
    }

    /// btt's tables in words that a program reads (-X).
    pub fn easy(&self) -> String {
        print::easy(&self.engine)
    }

    /// How many bios had each size in sectors, 1 to 1,024 and above (btt's `_qhist.dat`).
    pub fn queue_sizes(&self) -> &[u64] {
        &self.engine.queue_sizes
    }

    /// How many requests had each size (`_dhist.dat`).
    pub fn issue_sizes(&self) -> &[u64] {
        &self.engine.issue_sizes
    }

    /// Averages over all devices.
    pub fn averages(&self) -> &Averages {
        &self.engine.all
    }

    /// Averages by process, as btt names it.
    pub fn by_process(&self) -> BTreeMap<&str, &Averages> {
        let processes = self.engine.processes.by_name();
        processes
            .map(|process| (process.name.as_str(), &process.averages))
            .collect()
    }

    /// All that was found, as one value.
    pub fn analysis(&self) -> Analysis {
        let devices: Vec<DeviceSummary> = self.engine.devices.iter().map(summary).collect();
        let mut analysis = self.engine.extra.analysis(&self.name);
        let sum = |field: fn(&device::Device) -> u64| self.engine.devices.iter().map(field).sum();
        analysis.losses = Losses {
            strays: self.strays,
            absent: self.absent,
            forgotten: sum(|device| device.forgotten),
            outstanding: sum(|device| device.ios.len() as u64),
            ..analysis.losses
        };
        analysis.devices = devices;
        analysis
    }
}

fn summary(device: &device::Device) -> DeviceSummary {
    let (major, minor) = device.numbers();
    DeviceSummary {
        major,
        minor,
        stacked: device.stacked,
        bios: device.queued,
        requests: device.issued,
        completions: device.blocks,
        averages: device.averages,
        queue_seeks: device.q2q.summary(),
        issue_seeks: device.d2d.summary(),
        live: device.live.summary(),
        unplugs: device.plugs.unplugs,
        timer_unplugs: device.plugs.timer_unplugs,
        plugged_seconds: device.plugs.plugged,
        active_at_queue: if device.queued > 0 {
            device.active_sum as f64 / device.queued as f64
        } else {
            0.0
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bio_that_is_split_completes_in_parts_and_never_in_btt() {
        use crate::record::{Action, Category, Head};
        let mut bytes = Vec::new();
        let steps = [
            (10, Action::Queue, 0, 16),
            (20, Action::Split, 0, 8),
            (30, Action::Issue, 0, 8),
            (40, Action::Issue, 8, 8),
            (50, Action::Complete, 0, 8),
            (70, Action::Complete, 8, 8),
        ];
        for (sequence, (time, action, sector, sectors)) in (1..).zip(steps) {
            let pdu: &[u8] = if action == Action::Split {
                &8_u64.to_be_bytes()
            } else {
                &[]
            };
            let head = Head {
                time,
                sequence,
                sector,
                bytes: sectors * 512,
                action: action as u32 | Category::Write as u32 | Category::Queue as u32,
                device: 8 << 20,
                pdu_len: pdu.len() as u16,
                ..Head::default()
            };
            bytes.extend(head.to_bytes());
            bytes.extend(pdu);
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sda.blktrace.0"), bytes).unwrap();
        let base = folder.path().join("sda");
        let run = |options: &Options| {
            let outcome = run(&mut Trace::open(&base).unwrap(), options, None).unwrap();
            let q2c = *outcome.averages().of(Interval::Q2C);
            (q2c.n, q2c.total, outcome.analysis().losses.outstanding)
        };
        assert_eq!(run(&Options::default()), (2, 40 + 60, 0));
        assert_eq!(run(&Options::btt()), (0, 0, 1));
    }
}
