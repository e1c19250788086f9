//! Figures of a trace between two moments: what the block layer did during a phase.
//!
//! A trace of a trial holds several phases, and a comparison is of one phase with another. So the
//! figures that a record keeps are gathered window by window, in one pass for all of them. Times are
//! those of the records (CLOCK_MONOTONIC, as `probe` and `workload` take theirs), not counted from the
//! first event. An interval belongs to the window in which it ends, a request to that in which it was
//! issued, the depth to every window it reaches into.
//!
//! What a bio carries is told best by where it lies: only a journal's thread and the META flag say it in the
//! trace, and ext4 writes its inode tables, bitmaps and maps back through the device's page cache, by
//! a flusher thread and without that flag. Who knows the filesystem's map hands it in as [`Places`].

use std::collections::{BTreeMap, HashMap};

use hdrhistogram::Histogram;

use super::Kind;
use super::process::is_journal;
use crate::error::Error;
use crate::file::Event;
use crate::hash::Fast;
use crate::pipeline;
use crate::record::{Action, Category, Head, Notify};
use crate::trace::Trace;

/// Bios that are followed at once; of more, completions are lost or were never traced.
const FOLLOWED: usize = 200_000;

/// A stretch of time, nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From here.
    pub begin_ns: u64,
    /// To here.
    pub end_ns: u64,
}

impl Window {
    fn holds(&self, time: u64) -> bool {
        (self.begin_ns..=self.end_ns).contains(&time)
    }

    /// Nanoseconds of `from..to` that lie in it.
    fn share(&self, from: u64, to: u64) -> u64 {
        to.min(self.end_ns).saturating_sub(from.max(self.begin_ns))
    }
}

/// What lies where on the traced device, in sectors of 512 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// First sector, sector after the last, and what is there; by rising sectors, apart.
    regions: Vec<(u64, u64, Kind)>,
    /// What lies elsewhere; none: the trace alone tells.
    elsewhere: Option<Kind>,
}

impl Places {
    /// Of regions in any order; where two overlap the one that begins first counts. `elsewhere` is for
    /// maps that are whole: then what is in no region is known, too.
    pub fn new(mut regions: Vec<(u64, u64, Kind)>, elsewhere: Option<Kind>) -> Places {
        regions.sort_unstable();
        let mut all: Vec<(u64, u64, Kind)> = Vec::with_capacity(regions.len());
        for (begin, end, kind) in regions {
            let begin = all.last().map_or(begin, |last| begin.max(last.1));
            match all.last_mut() {
                _ if begin >= end => {}
                Some(last) if last.1 == begin && last.2 == kind => last.1 = end,
                _ => all.push((begin, end, kind)),
            }
        }
        Places {
            regions: all,
            elsewhere,
        }
    }

    fn at(&self, sector: u64) -> Option<Kind> {
        let after = self.regions.partition_point(|region| region.0 <= sector);
        let region = self.regions.get(after.checked_sub(1)?)?;
        (sector < region.1).then_some(region.2)
    }
}

/// Figures by name (docs/metrics.md, "Block traces"): counts, bytes, seconds and shares. A mean or a
/// share of nothing is left out.
pub type Figures = BTreeMap<&'static str, f64>;

/// The figures of each window.
///
/// # Errors
/// A trace that is damaged.
pub fn figures(
    trace: &mut Trace,
    windows: &[Window],
    places: &Places,
) -> Result<Vec<Figures>, Error> {
    let mut watch = Watch::new(windows, places);
    pipeline::each(trace, |_, event| {
        watch.event(event);
        Ok(())
    })?;
    Ok(watch.tallies.iter().map(Tally::figures).collect())
}

/// A bio on its way.
#[derive(Clone, Copy, Debug)]
struct Bio {
    end: u64,
    queued: u64,
    /// Sectors that are not completed.
    left: u64,
    kind: Kind,
}

/// A request in the hands of the driver.
#[derive(Clone, Copy, Debug)]
struct Flight {
    end: u64,
    issued: u64,
}

/// The request that was issued last.
#[derive(Clone, Copy, Debug)]
struct Last {
    end: u64,
    kind: Kind,
    time: u64,
}

struct Watch<'a> {
    places: &'a Places,
    journals: HashMap<u32, bool, Fast>,
    /// By first sector, and by number where several begin there.
    bios: BTreeMap<(u64, u64), Bio>,
    number: u64,
    longest: u64,
    flying: HashMap<u64, Flight, Fast>,
    last: Option<Last>,
    /// Up to when the depth is counted.
    now: u64,
    tallies: Vec<Tally>,
}

impl<'a> Watch<'a> {
    fn new(windows: &[Window], places: &'a Places) -> Watch<'a> {
        Watch {
            places,
            journals: HashMap::default(),
            bios: BTreeMap::new(),
            number: 0,
            longest: 0,
            flying: HashMap::default(),
            last: None,
            now: 0,
            tallies: windows.iter().map(|window| Tally::new(*window)).collect(),
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let head = &event.head;
        if head.has(Category::Notify) {
            if head.note() == Some(Notify::Process) {
                let name = event
                    .pdu
                    .split(|&byte| byte == 0)
                    .next()
                    .unwrap_or_default();
                let journal = is_journal(&String::from_utf8_lossy(name));
                self.journals.entry(head.pid).or_insert(journal);
            }
            return;
        }
        self.each(head.time, |tally| tally.events += 1);
        let odd = head.has(Category::Passthrough) || head.has(Category::Discard);
        if odd {
            return;
        }
        match head.kind() {
            Some(Action::Queue) => self.queue(head),
            Some(Action::BackMerge | Action::FrontMerge) => {
                self.each(head.time, |tally| tally.merges += 1);
            }
            Some(Action::Issue) => self.issue(head),
            Some(Action::Requeue) => {
                self.advance(head.time);
                self.flying.remove(&head.sector);
            }
            Some(Action::Complete) => self.complete(head),
            _ => {}
        }
    }

    /// The windows that hold a time.
    fn each(&mut self, time: u64, mut add: impl FnMut(&mut Tally)) {
        for tally in &mut self.tallies {
            if tally.window.holds(time) {
                add(tally);
            }
        }
    }

    /// Counts the depth up to here.
    fn advance(&mut self, time: u64) {
        let (from, depth) = (self.now, self.flying.len() as u64);
        self.now = from.max(time);
        if depth == 0 {
            return;
        }
        for tally in &mut self.tallies {
            let ns = tally.window.share(from, time);
            tally.busy_ns += ns;
            tally.depth_ns += u128::from(ns) * u128::from(depth);
        }
    }

    fn kind(&self, head: &Head) -> Kind {
        if let Some(kind) = self.places.at(head.sector) {
            return kind;
        }
        if self.journals.get(&head.pid) == Some(&true) {
            Kind::Journal
        } else if head.has(Category::Meta) {
            Kind::Metadata
        } else {
            self.places.elsewhere.unwrap_or(Kind::Data)
        }
    }

    fn queue(&mut self, head: &Head) {
        let flush = head.has(Category::Flush);
        self.each(head.time, |tally| tally.flushes += u64::from(flush));
        if head.bytes == 0 {
            return;
        }
        let kind = self.kind(head);
        let bytes = u64::from(head.bytes);
        self.each(head.time, |tally| {
            tally.bios += 1;
            tally.kinds[kind as usize] += bytes;
        });
        if self.bios.len() >= FOLLOWED {
            self.bios.clear();
        }
        let sectors = u64::from(head.sectors());
        self.longest = self.longest.max(sectors);
        self.number += 1;
        let bio = Bio {
            end: head.end(),
            queued: head.time,
            left: sectors,
            kind,
        };
        self.bios.insert((head.sector, self.number), bio);
    }

    /// Bios that a request reaches into.
    fn within(&self, head: &Head) -> impl Iterator<Item = (&(u64, u64), &Bio)> {
        let from = head.sector.saturating_sub(self.longest);
        let sector = head.sector;
        self.bios
            .range((from, 0)..(head.end().max(from), 0))
            .filter(move |(_, bio)| bio.end > sector)
    }

    fn issue(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        let known = self.within(head).next().map(|(_, bio)| bio.kind);
        let kind = known.unwrap_or_else(|| self.kind(head));
        self.advance(head.time);
        let bytes = u64::from(head.bytes);
        let last = self.last.replace(Last {
            end: head.end(),
            kind,
            time: head.time,
        });
        self.each(head.time, |tally| {
            tally.requests += 1;
            tally.request_bytes += bytes;
            // The first of a window follows nothing.
            let Some(last) = last.filter(|last| tally.window.holds(last.time)) else {
                return;
            };
            let apart = last.end.abs_diff(head.sector);
            tally.pairs += 1;
            tally.sought += apart as f64 * 512.0;
            tally.touching += u64::from(apart == 0);
            let other = (last.kind == Kind::Data) != (kind == Kind::Data);
            tally.switches += u64::from(other && apart > 0);
        });
        if self.flying.len() >= FOLLOWED {
            self.flying.clear();
        }
        let flight = Flight {
            end: head.end(),
            issued: head.time,
        };
        self.flying.insert(head.sector, flight);
    }

    fn complete(&mut self, head: &Head) {
        if head.bytes == 0 {
            return;
        }
        self.advance(head.time);
        if let Some(flight) = self.flying.remove(&head.sector) {
            if head.end() < flight.end {
                self.flying.insert(head.end(), flight);
            } else {
                let ns = head.time.saturating_sub(flight.issued);
                self.each(head.time, |tally| tally.d2c.add(ns));
            }
        }
        let (begin, end) = (head.sector, head.end());
        let reached: Vec<(u64, u64)> = self.within(head).map(|(place, _)| *place).collect();
        for place in reached {
            let Some(bio) = self.bios.get_mut(&place) else {
                continue;
            };
            let done = bio.end.min(end) - place.0.max(begin);
            bio.left = bio.left.saturating_sub(done);
            if bio.left == 0 {
                let ns = head.time.saturating_sub(bio.queued);
                self.bios.remove(&place);
                self.each(head.time, |tally| tally.q2c.add(ns));
            }
        }
    }
}

/// Samples of an interval.
#[derive(Default)]
struct Interval {
    n: u64,
    sum: u128,
    histogram: Option<Histogram<u64>>,
}

impl Interval {
    fn add(&mut self, ns: u64) {
        self.n += 1;
        self.sum += u128::from(ns);
        // An hour is the largest; the constructor accepts these constants.
        let made = || Histogram::new_with_bounds(1, 3_600_000_000_000, 2).ok();
        if self.histogram.is_none() {
            self.histogram = made();
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(ns.max(1));
        }
    }

    fn mean(&self) -> Option<f64> {
        ratio(self.sum as f64 / 1e9, self.n as f64)
    }

    fn p99(&self) -> Option<f64> {
        let histogram = self.histogram.as_ref()?;
        Some(histogram.value_at_quantile(0.99).min(histogram.max()) as f64 / 1e9)
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// What was counted in a window.
struct Tally {
    window: Window,
    events: u64,
    bios: u64,
    requests: u64,
    request_bytes: u64,
    merges: u64,
    flushes: u64,
    /// Bytes queued by kind.
    kinds: [u64; 3],
    /// Requests that follow another one of the window.
    pairs: u64,
    /// Their distances, bytes.
    sought: f64,
    touching: u64,
    switches: u64,
    q2c: Interval,
    d2c: Interval,
    busy_ns: u64,
    depth_ns: u128,
}

impl Tally {
    fn new(window: Window) -> Tally {
        Tally {
            window,
            events: 0,
            bios: 0,
            requests: 0,
            request_bytes: 0,
            merges: 0,
            flushes: 0,
            kinds: [0; 3],
            pairs: 0,
            sought: 0.0,
            touching: 0,
            switches: 0,
            q2c: Interval::default(),
            d2c: Interval::default(),
            busy_ns: 0,
            depth_ns: 0,
        }
    }

    fn figures(&self) -> Figures {
        let ns = self.window.share(0, u64::MAX) as f64;
        let bytes: u64 = self.kinds.iter().sum();
        let of = |kind: Kind| self.kinds[kind as usize] as f64;
        let (bios, requests, pairs) = (self.bios as f64, self.requests as f64, self.pairs as f64);
        let all = [
            ("trace_events", Some(self.events as f64)),
            ("trace_bios", Some(bios)),
            ("trace_bio_mean", ratio(bytes as f64, bios)),
            ("trace_requests", Some(requests)),
            (
                "trace_request_mean",
                ratio(self.request_bytes as f64, requests),
            ),
            ("trace_merges", Some(self.merges as f64)),
            ("trace_merge_ratio", ratio(bios, requests)),
            ("trace_seek_mean", ratio(self.sought, pairs)),
            ("trace_sequential", ratio(self.touching as f64, pairs)),
            ("trace_q2c_mean", self.q2c.mean()),
            ("trace_q2c_p99", self.q2c.p99()),
            ("trace_d2c_mean", self.d2c.mean()),
            ("trace_d2c_p99", self.d2c.p99()),
            ("trace_depth", ratio(self.depth_ns as f64, ns)),
            ("trace_busy", ratio(self.busy_ns as f64, ns)),
            ("trace_data_bytes", Some(of(Kind::Data))),
            ("trace_metadata_bytes", Some(of(Kind::Metadata))),
            ("trace_journal_bytes", Some(of(Kind::Journal))),
            (
                "trace_metadata_share",
                ratio(of(Kind::Metadata), bytes as f64),
            ),
            (
                "trace_journal_share",
                ratio(of(Kind::Journal), bytes as f64),
            ),
            ("trace_flushes", Some(self.flushes as f64)),
            ("trace_kind_switches", Some(self.switches as f64)),
        ];
        let there = all.into_iter();
        there
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const W: u32 = Category::Write as u32;

    fn head(action: Action, time: u64, sector: u64, sectors: u32) -> Head {
        Head {
            time,
            sector,
            bytes: sectors << 9,
            action: action as u32 | W,
            pid: 7,
            ..Head::default()
        }
    }

    fn watch(windows: &[Window], places: &Places, heads: &[Head]) -> Vec<Figures> {
        let mut watch = Watch::new(windows, places);
        for head in heads {
            watch.event(&Event {
                head: *head,
                pdu: &[],
            });
        }
        watch.tallies.iter().map(Tally::figures).collect()
    }

    fn window(begin_ns: u64, end_ns: u64) -> Window {
        Window { begin_ns, end_ns }
    }

    #[test]
    fn a_request_of_two_bios_by_hand() {
        use Action::{BackMerge, Complete, Issue, Queue};
        let heads = [
            head(Queue, 1000, 0, 8),
            head(Queue, 1100, 8, 8),
            head(BackMerge, 1110, 8, 8),
            head(Issue, 2000, 0, 16),
            head(Complete, 4000, 0, 16),
            head(Queue, 4100, 100, 4),
            head(Issue, 4200, 100, 4),
            head(Complete, 4700, 100, 4),
        ];
        let windows = [window(1000, 5000), window(0, 3000), window(9000, 9999)];
        let all = watch(&windows, &Places::default(), &heads);
        let whole = &all[0];
        assert_eq!(whole["trace_events"], 8.0);
        assert_eq!((whole["trace_bios"], whole["trace_requests"]), (3.0, 2.0));
        assert_eq!(whole["trace_request_mean"], 10.0 * 512.0);
        assert_eq!(
            (whole["trace_merges"], whole["trace_merge_ratio"]),
            (1.0, 1.5)
        );
        // From sector 16, where the first request ended, to 100.
        assert_eq!(whole["trace_seek_mean"], 84.0 * 512.0);
        assert_eq!(whole["trace_sequential"], 0.0);
        let q2c = (3000.0 + 2900.0 + 600.0) / 3.0 / 1e9;
        assert!((whole["trace_q2c_mean"] - q2c).abs() < 1e-15);
        assert!((whole["trace_d2c_mean"] - 1250e-9).abs() < 1e-15);
        assert_eq!(whole["trace_busy"], 2500.0 / 4000.0);
        assert_eq!(whole["trace_depth"], 2500.0 / 4000.0);
        assert_eq!(whole["trace_data_bytes"], 20.0 * 512.0);
        // The completion is behind the second window, the flight half in it.
        let early = &all[1];
        assert_eq!((early["trace_bios"], early["trace_requests"]), (2.0, 1.0));
        assert!(!early.contains_key("trace_q2c_mean"));
        assert!(!early.contains_key("trace_seek_mean"));
        assert_eq!(early["trace_busy"], 1000.0 / 3000.0);
        let nothing = &all[2];
        assert_eq!((nothing["trace_events"], nothing["trace_busy"]), (0.0, 0.0));
        assert!(!nothing.contains_key("trace_bio_mean"));
    }

    #[test]
    fn a_bio_that_was_split_ends_with_its_last_part() {
        use Action::{Complete, Issue, Queue};
        let heads = [
            head(Queue, 0, 0, 16),
            head(Issue, 10, 0, 8),
            head(Issue, 20, 8, 8),
            head(Complete, 100, 8, 8),
            head(Complete, 300, 0, 4),
            head(Complete, 500, 4, 4),
        ];
        let all = watch(&[window(0, 1000)], &Places::default(), &heads);
        assert_eq!(all[0]["trace_sequential"], 1.0);
        assert!((all[0]["trace_q2c_mean"] - 500e-9).abs() < 1e-15);
        assert!((all[0]["trace_d2c_mean"] - f64::midpoint(80e-9, 490e-9)).abs() < 1e-15);
        // 10 to 20 alone, 20 to 100 both, then the first until its second half has come.
        let depth = (10.0 + 2.0 * 80.0 + 400.0) / 1000.0;
        assert!((all[0]["trace_depth"] - depth).abs() < 1e-12);
    }

    #[test]
    fn kinds_by_place_by_thread_and_by_flag() {
        use Action::{Issue, Queue};
        let places = Places::new(
            vec![
                (1000, 2000, Kind::Data),
                (100, 200, Kind::Journal),
                (150, 300, Kind::Metadata),
            ],
            Some(Kind::Metadata),
        );
        assert_eq!(places.at(99), None);
        assert_eq!(places.at(160), Some(Kind::Journal), "the first counts");
        assert_eq!(places.at(200), Some(Kind::Metadata));
        assert_eq!(places.at(300), None);
        let mut heads = Vec::new();
        for (at, sector) in [(0, 1000), (1, 100), (2, 5000), (3, 1008)] {
            heads.push(head(Queue, at * 10, sector, 8));
            heads.push(head(Issue, at * 10 + 1, sector, 8));
        }
        let all = watch(&[window(0, 100)], &places, &heads);
        let bytes = |name: &str| all[0][name];
        assert_eq!(bytes("trace_data_bytes"), 8192.0);
        assert_eq!(bytes("trace_journal_bytes"), 4096.0);
        assert_eq!(bytes("trace_metadata_bytes"), 4096.0);
        assert_eq!(bytes("trace_metadata_share"), 0.25);
        // To the journal, and from the metadata back to the data.
        assert_eq!(bytes("trace_kind_switches"), 2.0);

        // Without places: a thread's name and the flag.
        let none = Places::default();
        let mut watch = Watch::new(&[window(0, 100)], &none);
        let name = Head {
            action: Category::Notify as u32,
            pid: 7,
            ..Head::default()
        };
        watch.event(&Event {
            head: name,
            pdu: b"jbd2/loop0-8\0",
        });
        let mut meta = head(Queue, 5, 64, 8);
        (meta.pid, meta.action) = (8, meta.action | Category::Meta as u32);
        let mut flush = head(Queue, 6, 0, 0);
        flush.action |= Category::Flush as u32;
        for head in [head(Queue, 1, 0, 8), meta, flush] {
            watch.event(&Event { head, pdu: &[] });
        }
        let found = watch.tallies[0].figures();
        assert_eq!(found["trace_journal_bytes"], 4096.0);
        assert_eq!(found["trace_metadata_bytes"], 4096.0);
        assert_eq!((found["trace_flushes"], found["trace_bios"]), (1.0, 2.0));
    }

    #[test]
    fn forged_traces_agree_with_the_whole_analysis_and_hostile_ones_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let all = [window(0, u64::MAX)];
        for seed in 0..20 {
            let base = format!("h{seed}");
            let forged = crate::forge::Forge::hostile(seed, 500);
            forged.write(folder.path(), &base).unwrap();
            let mut trace = Trace::open(&folder.path().join(&base)).unwrap();
            let found = figures(&mut trace, &all, &Places::default()).unwrap();
            assert!(found[0].values().all(|value| value.is_finite()));
        }
        crate::forge::Forge::plain(1, 2000)
            .write(folder.path(), "sda")
            .unwrap();
        let open = || Trace::open(&folder.path().join("sda")).unwrap();
        let found = &figures(&mut open(), &all, &Places::default()).unwrap()[0];
        let whole = crate::btt::run(&mut open(), &crate::btt::Options::default(), None)
            .unwrap()
            .analysis();
        let sum = |of: fn(&super::super::DirectionSummary) -> u64| {
            whole.directions.iter().map(of).sum::<u64>() as f64
        };
        assert_eq!(found["trace_events"], whole.events as f64);
        assert_eq!(found["trace_bios"], sum(|d| d.bios));
        assert_eq!(found["trace_requests"], sum(|d| d.requests));
        assert_eq!(found["trace_merges"], sum(|d| d.merges));
        let q2c = whole
            .intervals
            .iter()
            .find(|found| found.interval == crate::btt::Interval::Q2C && found.direction.is_none());
        let mean = q2c.unwrap().average.mean_seconds().unwrap();
        assert!(
            (found["trace_q2c_mean"] / mean - 1.0).abs() < 1e-6,
            "{mean} {found:?}"
        );
    }
}
