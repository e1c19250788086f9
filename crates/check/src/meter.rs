//! What each pass costs.
//!
//! e2fsck's `-tt` says how long a pass took and how many bytes its reads were; fsck.ocfs2 adds which of them came from its cache.
//! Neither says how long it waited, in how many requests, or what the disk would have needed at best, and these are what
//! decides how a checker should read. So the source is counted from outside ([`Counting`]), the kernel is asked what
//! the process has fetched from storage, and a pass knows nothing of it.

use std::time::{Duration, Instant};

use blockio::layer::{Counting, IoCounts};
use blockio::{BlockSource, Histogram};
use serde::Serialize;

use crate::usage::Usage;

/// A pass, as reports call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// `0` to `5`, `after`.
    pub name: &'static str,
    /// What it looks at, as e2fsck words it.
    pub title: &'static str,
    /// What it counts: `inodes`.
    pub objects: &'static str,
}

/// All of them, in order.
pub static STAGES: [Stage; 8] = [
    stage("0", "superblock, descriptors, journal", "groups"),
    stage("1", "inodes, blocks, and sizes", "inodes"),
    stage("2", "directory structure", "directory blocks"),
    stage("3", "directory connectivity", "directories"),
    stage("4", "reference counts", "inodes"),
    stage("5", "group summary information", "groups"),
    stage("after", "quota and orphan file", "files"),
    stage("paths", "paths of what was found", "inodes"),
];

const fn stage(name: &'static str, title: &'static str, objects: &'static str) -> Stage {
    Stage {
        name,
        title,
        objects,
    }
}

/// What a pass cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// `0` to `5`, `after`, `paths`; `all` for the sum.
    pub pass: &'static str,
    /// What it looked at.
    pub title: &'static str,
    /// Seconds that passed.
    pub wall_s: f64,
    /// Seconds of processor time in the program, all threads.
    pub user_s: f64,
    /// Seconds of processor time in the kernel, all threads.
    pub system_s: f64,
    /// Seconds that threads waited for reads, summed over threads. A buffered read's copying is part of it.
    pub io_wait_s: f64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Of these, fetched from storage for this process (read_bytes of /proc/self/io, which counts readahead, too); none where the
    /// kernel does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// Of these, found in memory: what is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// Requests.
    pub requests: u64,
    /// Bytes of a mean request.
    pub mean_request: f64,
    /// Requests that did not begin where the one before ended.
    pub seeks: u64,
    /// Sum of the distances of these seeks, bytes, in the order asked.
    pub seek_bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// How many things it looked at.
    pub objects: u64,
    /// What they are.
    pub objects_are: &'static str,
    /// Most memory in use until its end, bytes.
    pub peak_memory: u64,
    /// Seconds that its bytes would have taken at the sequential rate, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ideal_s: Option<f64>,
    /// Sizes of requests, bytes.
    pub sizes: Histogram,
    /// Distances of seeks ahead, bytes.
    pub ahead: Histogram,
    /// Distances of seeks back.
    pub back: Histogram,
}

impl Cost {
    /// Bytes per second of all that was asked for.
    pub fn rate(&self) -> f64 {
        if self.wall_s > 0.0 {
            self.bytes as f64 / self.wall_s
        } else {
            0.0
        }
    }
}

/// A reading of every clock and counter.
struct Reading {
    at: Instant,
    usage: Usage,
    io: IoCounts,
    fetched: Option<u64>,
}

/// Measures passes that follow each other on one source.
pub(crate) struct Meter<'a, S> {
    source: &'a Counting<S>,
    begin: Reading,
    costs: Vec<Cost>,
}

impl<'a, S: BlockSource> Meter<'a, S> {
    pub(crate) fn new(source: &'a Counting<S>) -> Self {
        Meter {
            source,
            begin: Reading::now(source),
            costs: Vec::new(),
        }
    }

    /// Runs a pass; `count` says how many objects its result stands for.
    pub(crate) fn pass<T>(
        &mut self,
        stage: &Stage,
        run: impl FnOnce() -> T,
        count: impl FnOnce(&T) -> u64,
    ) -> T {
        let before = Reading::now(self.source);
        let result = run();
        let mut cost = before.until_now(self.source, stage);
        cost.objects = count(&result);
        self.costs.push(cost);
        result
    }

    /// What the last pass cost.
    pub(crate) fn last(&self) -> Option<&Cost> {
        self.costs.last()
    }

    /// Each pass, and all together.
    pub(crate) fn finish(self) -> (Vec<Cost>, Cost) {
        let all = stage("all", "all passes", "passes");
        let mut total = self.begin.until_now(self.source, &all);
        total.objects = self.costs.len() as u64;
        (self.costs, total)
    }
}

impl Reading {
    fn now<S: BlockSource>(source: &Counting<S>) -> Reading {
        Reading {
            at: Instant::now(),
            usage: Usage::now(),
            io: source.counts(),
            fetched: fetched(),
        }
    }

    fn until_now<S: BlockSource>(&self, source: &Counting<S>, stage: &Stage) -> Cost {
        let now = Reading::now(source);
        let seconds = |of: fn(&Usage) -> Duration| {
            of(&now.usage).saturating_sub(of(&self.usage)).as_secs_f64()
        };
        let io = now.io.since(&self.io);
        let device = now
            .fetched
            .zip(self.fetched)
            .map(|(now, then)| now.saturating_sub(then));
        Cost {
            pass: stage.name,
            title: stage.title,
            wall_s: now.at.duration_since(self.at).as_secs_f64(),
            user_s: seconds(|usage| usage.user),
            system_s: seconds(|usage| usage.system),
            io_wait_s: io.waited().as_secs_f64(),
            bytes: io.bytes,
            device_bytes: device,
            cache_bytes: device.map(|device| io.bytes.saturating_sub(device)),
            requests: io.requests,
            mean_request: io.mean_request(),
            seeks: io.seeks,
            seek_bytes: io.travelled,
            errors: io.errors,
            objects: 0,
            objects_are: stage.objects,
            peak_memory: now.usage.peak_memory,
            ideal_s: None,
            sizes: io.sizes,
            ahead: io.ahead,
            back: io.back,
        }
    }
}

/// Bytes that were fetched from storage for this process.
fn fetched() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = text.lines().find(|line| line.starts_with("read_bytes:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockio::Ram;

    #[test]
    fn passes_know_what_they_read() {
        let source = Counting::new(Ram::sparse(1 << 20));
        let mut meter = Meter::new(&source);
        let mut buf = vec![0; 65_536];
        let read = |buf: &mut [u8]| {
            source.read_at(buf, 0).unwrap();
            source.read_at(buf, 65_536).unwrap();
        };
        meter.pass(&STAGES[0], || read(&mut buf), |()| 7);
        meter
            .pass(&STAGES[1], || source.read_at(&mut buf[..100], 0), |_| 3)
            .unwrap();
        let (costs, total) = meter.finish();
        assert_eq!(
            costs.iter().map(|cost| cost.pass).collect::<Vec<_>>(),
            ["0", "1"]
        );
        assert_eq!(
            (costs[0].bytes, costs[0].requests, costs[0].seeks),
            (131_072, 2, 0)
        );
        assert_eq!((costs[0].objects, costs[0].mean_request), (7, 65_536.0));
        assert_eq!((costs[1].bytes, costs[1].seeks), (100, 1));
        assert_eq!(
            (total.bytes, total.requests, total.objects),
            (131_172, 3, 2)
        );
        assert!(total.wall_s >= costs[0].wall_s && total.peak_memory > 1 << 20);
        // Memory is no device.
        assert!(costs[1].device_bytes.is_none_or(|bytes| bytes < 1 << 20));
    }
}
