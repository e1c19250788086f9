//! What the tools of the time do not say, gathered in the same pass: quantiles, sizes, kinds,
//! sequential shares, losses, and the data of four plots.
//!
//! All of it is bounded: histograms instead of samples, time bins that double their width when the
//! trace is longer than they reach, and a scatter that is thinned evenly.

mod chain;
mod extra;
mod latency;
mod process;
mod scatter;
mod sizes;
mod timeline;
pub mod window;

use serde::{Deserialize, Serialize};

use crate::btt::average::{Average, Averages, Interval};
use crate::btt::live::LiveSummary;
use crate::btt::seek::SeekSummary;
pub(crate) use chain::Chains;
pub use chain::{ChainSummary, Step, StepSummary};
pub(crate) use extra::Extra;
pub use process::{Kind, KindSummary, ProcessSummary, Traffic};
pub use scatter::{Point, Scatter};
pub use sizes::SizeCount;
pub use timeline::{Bin, HeatCell, Timeline};

/// Where data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
    /// Given back to the device.
    Discard,
}

impl Direction {
    /// All.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Discard];

    /// Of an action word.
    #[inline]
    pub(crate) fn of(action: u32) -> Direction {
        use crate::record::Category;
        if action & Category::Discard as u32 != 0 {
            Direction::Discard
        } else if action & Category::Write as u32 != 0 {
            Direction::Write
        } else {
            Direction::Read
        }
    }
}

/// A trace explained. Times in seconds unless a name says ns, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The last part of the trace's base.
    pub name: String,
    /// Events, without notes.
    pub events: u64,
    /// From the first event to the last.
    pub seconds: f64,
    /// When the first event was, from the beginning of the trace: not 0 where only a part was asked for.
    #[serde(default)]
    pub begin: f64,
    /// What is missing.
    pub losses: Losses,
    /// By direction: bios, requests, merges.
    pub directions: Vec<DirectionSummary>,
    /// By interval and direction, those that have samples; without a direction: all together.
    pub intervals: Vec<IntervalSummary>,
    /// Sizes of bios as they were queued, before merging.
    pub bio_sizes: Vec<SizeCount>,
    /// Sizes of requests as they were issued.
    pub request_sizes: Vec<SizeCount>,
    /// In the order of their first event.
    pub devices: Vec<DeviceSummary>,
    /// By bytes queued, the most first.
    pub processes: Vec<ProcessSummary>,
    /// Data, metadata, journal.
    pub kinds: Vec<KindSummary>,
    /// Requests in the hands of the drivers: mean over time and the most.
    pub depth: Depth,
    /// Throughput, depth and latency over time.
    pub timeline: Timeline,
    /// Where requests lay.
    pub scatter: Scatter,
    /// Remaps that were seen: device asked, device it became (major << 20 | minor), how often.
    pub remaps: Vec<(u32, u32, u64)>,
    /// Bios of stacked devices followed to the disks below.
    #[serde(default)]
    pub chains: Vec<ChainSummary>,
    /// Requests that carry another kind (data, or metadata and journal) than the request before them
    /// and do not touch it.
    #[serde(default)]
    pub kind_switches: u64,
}

/// What a trace lacks, and what could not be matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Numbers missing in the sequences of the CPUs: events that the tracer dropped.
    pub missing: u64,
    /// Places where numbers are missing.
    pub gaps: u64,
    /// Records left out because they name another CPU than their file.
    pub strays: u64,
    /// Bios whose completion was awaited too long; they are not followed any more.
    pub forgotten: u64,
    /// Bios that were queued and not completed by the end.
    pub outstanding: u64,
    /// Passthrough requests' events.
    pub passthrough: u64,
    /// Events that follow a later one in their file: a few where interrupts came between, many
    /// where a file was shuffled or glued together.
    #[serde(default)]
    pub backwards: u64,
    /// CPUs without a file although a later one has one.
    #[serde(default)]
    pub absent: u64,
    /// Legs of remapped bios that were not completed below.
    #[serde(default)]
    pub legs: u64,
}

/// Why a trace is in doubt of which this many events follow a later one in their file; none where these are few.
pub fn shuffled(backwards: u64, events: u64) -> Option<String> {
    (backwards * 100 > events).then(|| {
        format!(
            "{backwards} of {events} events follow a later one of their file: it was shuffled, or glued \
             together of several traces"
        )
    })
}

/// Counts of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionSummary {
    /// The direction.
    pub direction: Direction,
    /// Bios queued.
    pub bios: u64,
    /// Their bytes.
    pub bio_bytes: u64,
    /// Requests issued.
    pub requests: u64,
    /// Their bytes.
    pub request_bytes: u64,
    /// Bytes completed.
    pub completed_bytes: u64,
    /// Bios merged into a request.
    pub merges: u64,
    /// Requests put back.
    pub requeues: u64,
    /// Completions with an error.
    pub errors: u64,
    /// Bios that flush first, or force unit access.
    pub barriers: u64,
}

/// Quantiles of an interval. Exact to 1 %; the extremes and the mean are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalSummary {
    /// The interval.
    pub interval: Interval,
    /// Of bios of this direction; none: of all.
    pub direction: Option<Direction>,
    /// Samples, ns.
    pub average: Average,
    /// The median.
    pub p50: f64,
    /// 90 % take no longer.
    pub p90: f64,
    /// 99 % take no longer.
    pub p99: f64,
    /// 99.9 % take no longer.
    pub p999: f64,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSummary {
    /// Its numbers.
    pub major: u32,
    /// The same.
    pub minor: u32,
    /// Whether it is stacked on others.
    pub stacked: bool,
    /// Bios queued.
    pub bios: u64,
    /// Requests issued.
    pub requests: u64,
    /// Sizes of completions, sectors.
    pub completions: Average,
    /// btt's averages, ns.
    pub averages: Averages,
    /// Distances of bios as queued.
    pub queue_seeks: SeekSummary,
    /// Distances of requests as issued.
    pub issue_seeks: SeekSummary,
    /// When it had work.
    pub live: LiveSummary,
    /// Plugs opened by a task.
    pub unplugs: u64,
    /// Plugs opened because their task was scheduled away.
    pub timer_unplugs: u64,
    /// How long it was plugged.
    pub plugged_seconds: f64,
    /// Bios queued and neither merged nor issued when another one came, on average.
    pub active_at_queue: f64,
}

/// Requests between issue and completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Depth {
    /// Mean over the time of the trace.
    pub mean: f64,
    /// Mean over the time with at least one.
    pub mean_busy: f64,
    /// The most.
    pub max: u32,
}
