//! What each pass costs, measured from outside.
//!
//! e2fsck's `-tt` prints how long a pass took and how many bytes its reads were; fsck.ocfs2 adds which of them came from its cache.
//! Neither prints how long it waited, in how many requests, or what the disk would have needed at best, which is what
//! decides how a checker should read. So the source is counted from outside ([`Counting`]), the kernel reports what
//! the process has fetched from storage, and the code of a pass knows nothing of it.

use std::time::{Duration, Instant};

use blockio::BlockSource;
use blockio::layer::{Counting, IoCounts};
use progress::{Step, Unit};

use super::cost::Cost;
use super::failure::Failure;
use super::observer::Observer;
use super::pass::Pass;
use super::usage::Usage;

/// All passes of a check together.
static ALL: Pass = Pass::new(u8::MAX, "all", "all passes", "all passes", "passes");

/// All clocks and counters at one moment.
struct Reading {
    at: Instant,
    usage: Usage,
    io: IoCounts,
    fetched: Option<u64>,
}

/// Measures consecutive passes on one source.
pub(crate) struct Meter<'a, S> {
    source: &'a Counting<S>,
    observer: &'a dyn Observer,
    begin: Reading,
    costs: Vec<Cost>,
}

impl<'a, S: BlockSource> Meter<'a, S> {
    pub(crate) fn new(source: &'a Counting<S>, observer: &'a dyn Observer) -> Self {
        Meter {
            source,
            observer,
            begin: Reading::now(source),
            costs: Vec::new(),
        }
    }

    /// Runs a pass and reports its cost; `count` gives the number of objects from its result.
    ///
    /// # Errors
    /// The check was cancelled before the pass, or the pass failed.
    pub(crate) fn run<T>(
        &mut self,
        pass: &'static Pass,
        run: impl FnOnce() -> Result<T, Failure>,
        count: impl FnOnce(&T) -> u64,
    ) -> Result<T, Failure> {
        self.observer.pass_started(pass);
        let name = format!("{}: {}", pass.heading, pass.title);
        self.observer.begin(Step::new(name).counted_in(Unit::Bytes));
        if self.observer.cancelled() {
            return Err(Failure::Stopped);
        }
        let before = Reading::now(self.source);
        let result = run();
        let mut cost = before.until_now(self.source, pass);
        cost.objects = result.as_ref().map_or(0, count);
        self.observer.pass_finished(&cost);
        self.costs.push(cost);
        result
    }

    /// The cost of each pass, and of all together.
    pub(crate) fn finish(self) -> (Vec<Cost>, Cost) {
        let mut total = self.begin.until_now(self.source, &ALL);
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

    fn until_now<S: BlockSource>(&self, source: &Counting<S>, pass: &Pass) -> Cost {
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
            pass: pass.name,
            title: pass.title,
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
            objects_are: pass.objects,
            peak_memory: now.usage.peak_memory,
            ideal_s: None,
            sizes: io.sizes,
            ahead: io.ahead,
            back: io.back,
        }
    }
}

/// Bytes fetched from storage for this process.
fn fetched() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = text.lines().find(|line| line.starts_with("read_bytes:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockio::Ram;
    use progress::Silent;

    static PASSES: [Pass; 2] = [
        Pass::new(0, "0", "before pass 1", "superblock", "groups"),
        Pass::new(1, "1", "pass 1", "inodes", "inodes"),
    ];

    #[test]
    fn passes_count_what_they_read() {
        let source = Counting::new(Ram::sparse(1 << 20));
        let mut meter = Meter::new(&source, &Silent);
        let mut buf = vec![0; 65_536];
        let two_reads = || {
            source.read_at(&mut buf, 0).unwrap();
            source.read_at(&mut buf, 65_536).unwrap();
            Ok(())
        };
        meter.run(&PASSES[0], two_reads, |()| 7).unwrap();
        let one_read = || {
            source.read_at(&mut [0; 100], 0).unwrap();
            Ok(())
        };
        meter.run(&PASSES[1], one_read, |()| 3).unwrap();
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
