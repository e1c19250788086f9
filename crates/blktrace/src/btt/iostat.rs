//! iostat's columns from a trace (btt -I).
//!
//! btt lowers its queue and its device once for each bio of a request that completes but raises them
//! once a request, so avgqu-sz sinks below zero and %util forgets idle time as soon as anything is
//! merged. Here both fall once a request. svctm is, as in btt, the time from queueing to completion.

use super::device::{Io, NEVER};
use super::out::Out;

/// Sums of an interval, or of all; writes first, then reads.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    merges: [u64; 2],
    requests: [u64; 2],
    sectors: [u64; 2],
    wait: u64,
    service: u64,
    /// Queue times seconds.
    queue: f64,
    idle: f64,
}

/// A row's figures a second, and its means.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    merges: [f64; 2],
    requests: [f64; 2],
    sectors: [f64; 2],
    kib: [f64; 2],
    size: f64,
    queue: f64,
    wait: f64,
    service: f64,
    busy: f64,
}

/// iostat's view of a device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Iostat {
    now: Sums,
    whole: Sums,
    queue: u64,
    driver: u64,
    queue_changed: f64,
    driver_changed: f64,
    row: Row,
}

impl Iostat {
    pub(super) fn head(out: &mut Out) {
        out.line(format_args!(
            "Device:       rrqm/s   wrqm/s     r/s     w/s    rsec/s    wsec/s     rkB/s     wkB/s \
             avgrq-sz avgqu-sz   await   svctm  %util   Stamp\n"
        ));
    }

    fn both(&mut self, change: impl Fn(&mut Sums)) {
        change(&mut self.now);
        change(&mut self.whole);
    }

    fn advance_queue(&mut self, time: f64) {
        let area = (time - self.queue_changed) * self.queue as f64;
        self.both(|sums| sums.queue += area);
        self.queue_changed = time;
    }

    fn advance_driver(&mut self, time: f64) {
        if self.driver == 0 {
            let idle = time - self.driver_changed;
            self.both(|sums| sums.idle += idle);
        }
        self.driver_changed = time;
    }

    pub(super) fn got(&mut self, time: u64) {
        self.advance_queue(time as f64 / 1e9);
        self.queue += 1;
    }

    pub(super) fn merged(&mut self, read: bool) {
        self.both(|sums| sums.merges[usize::from(read)] += 1);
    }

    pub(super) fn issued(&mut self, time: u64, read: bool, sectors: u32) {
        let way = usize::from(read);
        self.both(|sums| {
            sums.requests[way] += 1;
            sums.sectors[way] += u64::from(sectors);
        });
        self.advance_driver(time as f64 / 1e9);
        self.driver += 1;
    }

    /// A request is completed, or a part of it.
    pub(super) fn completed(&mut self, time: u64) {
        let time = time as f64 / 1e9;
        self.advance_queue(time);
        self.queue = self.queue.saturating_sub(1);
        self.advance_driver(time);
        self.driver = self.driver.saturating_sub(1);
    }

    /// A bio of it is completed.
    pub(super) fn ended(&mut self, io: &Io, time: u64, q2c: u64) {
        let since = if io.inserted == NEVER {
            io.merged
        } else {
            io.inserted
        };
        let wait = if since == NEVER {
            0
        } else {
            super::average::delta(since, time)
        };
        self.both(|sums| {
            // Records that were exchanged can be centuries apart.
            sums.wait = sums.wait.wrapping_add(wait);
            sums.service = sums.service.wrapping_add(q2c);
        });
    }

    /// The row of an interval; its sums are reset.
    pub(super) fn interval(&mut self, out: &mut Out, name: &str, since: u64, time: u64) {
        let now = time as f64 / 1e9;
        self.advance_driver(now);
        self.advance_queue(now);
        self.row = self.now.row((time - since) as f64 / 1e9);
        let stamp = format!("{now:8.2}");
        self.row.print(out, &device(name), &stamp);
        self.now = Sums::default();
    }

    /// The row of the whole trace.
    pub(super) fn all(&mut self, out: &mut Out, name: &str, time: u64) {
        let now = time as f64 / 1e9;
        self.advance_driver(now);
        self.advance_queue(now);
        self.row = self.whole.row(now);
        self.row.print(out, &device(name), "   TOTAL");
    }

    /// The row of several devices together; `time` of an interval.
    pub(super) fn sum<'a>(
        out: &mut Out,
        devices: impl Iterator<Item = &'a Iostat>,
        time: Option<u64>,
    ) {
        let rows: Vec<Row> = devices.map(|device| device.row).collect();
        if rows.len() < 2 {
            return;
        }
        let n = rows.len() as f64;
        let add = |of: fn(&Row) -> [f64; 2]| {
            rows.iter()
                .map(of)
                .fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
        };
        let mean = |of: fn(&Row) -> f64| rows.iter().map(of).sum::<f64>() / n;
        let sum = Row {
            merges: add(|row| row.merges),
            requests: add(|row| row.requests),
            sectors: add(|row| row.sectors),
            kib: add(|row| row.kib),
            size: mean(|row| row.size),
            queue: mean(|row| row.queue),
            wait: mean(|row| row.wait),
            service: mean(|row| row.service),
            busy: mean(|row| row.busy),
        };
        let stamp = match time {
            Some(time) => format!("{:8.2}", time as f64 / 1e9),
            None => "   TOTAL".into(),
        };
        sum.print(out, "TOTAL", &stamp);
    }
}

/// A device as the file names it, from `8,0`.
fn device(name: &str) -> String {
    let (major, minor) = name.split_once(',').unwrap_or_default();
    let full = format!("({major:>3},{minor:>3})");
    full.chars().take(10).collect()
}

impl Sums {
    fn row(&self, seconds: f64) -> Row {
        let a_second = |counts: [u64; 2]| counts.map(|count| count as f64 / seconds);
        let requests = (self.requests[0] + self.requests[1]) as f64;
        let merges = (self.merges[0] + self.merges[1]) as f64;
        let over = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        Row {
            merges: a_second(self.merges),
            requests: a_second(self.requests),
            sectors: a_second(self.sectors),
            kib: a_second(self.sectors.map(|sectors| sectors / 2)),
            size: over((self.sectors[0] + self.sectors[1]) as f64, requests),
            queue: self.queue / seconds,
            wait: over(self.wait as f64 / 1e6, requests + merges),
            service: over(self.service as f64 / 1e6, requests),
            busy: if self.idle <= seconds {
                100.0 * (1.0 - self.idle / seconds)
            } else {
                0.0
            },
        }
    }
}

impl Row {
    fn print(&self, out: &mut Out, name: &str, stamp: &str) {
        let [wm, rm] = self.merges;
        let [w, r] = self.requests;
        let [ws, rs] = self.sectors;
        let [wk, rk] = self.kib;
        out.line(format_args!(
            "{name:<11} {rm:>8.2} {wm:>8.2} {r:>7.2} {w:>7.2} {rs:>9.2} {ws:>9.2} {rk:>9.2} \
             {wk:>9.2} {:>8.2} {:>8.2} {:>7.2} {:>7.2} {:>6.2}{stamp}\n",
            self.size, self.queue, self.wait, self.service, self.busy
        ));
    }
}
