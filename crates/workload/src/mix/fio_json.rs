//! A report as `fio --output-format=json` prints it, for programs that read that.
//!
//! Every key is one of fio 3.33 with fio's type and unit; keys that would have no value here are left
//! out (`disk_util`). docs/fio.md lists them.

use serde_json::{Map, Value, json};

use super::stats::{JobStats, Recorder, Sample, ThreadStats};
use crate::Outcome;
use crate::calls::{Moments, Times};
use crate::clock::{Cpu, Faults, seconds};
use crate::engine::Direction;
use crate::engine::mixed::Course;

/// What was measured, as fio prints it. `version` is this program's with its commit, as in `0.1.0 (0123456789ab)`.
pub fn fio_json(outcome: &Outcome, version: &str) -> String {
    let now = jiff::Timestamp::now();
    let jobs: Vec<&JobStats> = (outcome.phases.iter())
        .filter_map(|phase| phase.job.as_deref())
        .collect();
    let mut document = Map::new();
    let mut add = |key: &str, value: Value| document.insert(key.into(), value);
    add("fio version", json!(format!("fslab-{version}")));
    add("timestamp", json!(now.as_second()));
    add("timestamp_ms", json!(now.as_millisecond()));
    add(
        "time",
        json!(now.strftime("%a %b %e %H:%M:%S %Y").to_string()),
    );
    if let Some(job) = jobs.first().filter(|job| !job.global.is_empty()) {
        add("global options", options(&job.global));
    }
    let entries = entries(&jobs);
    let all: Vec<Value> = entries.iter().map(|entry| job(entry, &entries)).collect();
    add("jobs", all.into());
    let text = serde_json::to_string_pretty(&Value::Object(document));
    text.unwrap_or_default() + "\n"
}

fn options(options: &[(String, String)]) -> Value {
    let pairs = options
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)));
    Value::Object(pairs.collect())
}

/// An entry of `jobs`: a thread, or with `group_reporting` all threads of the group's jobs, which has
/// the name and the options of its first.
struct Entry<'a> {
    job: &'a JobStats,
    threads: Vec<(&'a JobStats, &'a ThreadStats)>,
}

fn entries<'a>(jobs: &[&'a JobStats]) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for &job in jobs {
        let threads: Vec<_> = job.threads.iter().map(|thread| (job, thread)).collect();
        let last = entries.last_mut();
        match last.filter(|last| job.group_reporting && last.job.group == job.group) {
            // As in fio, the job before may itself be one without group_reporting.
            Some(last) => last.threads.extend(threads),
            None if job.group_reporting => entries.push(Entry { job, threads }),
            None => entries.extend(threads.into_iter().map(|thread| Entry {
                job,
                threads: vec![thread],
            })),
        }
    }
    entries
}

/// One direction of an entry.
struct Way<'a> {
    entry: &'a Entry<'a>,
    direction: Direction,
}

impl Way<'_> {
    fn times(&self) -> Times {
        let mut times = Times::default();
        for (_, thread) in &self.entry.threads {
            times.merge(thread.recorder.of(self.direction));
        }
        times
    }

    fn bytes(&self) -> u64 {
        let of = |(job, thread): &(&JobStats, &ThreadStats)| {
            thread.recorder.of(self.direction).count() * job.spec.block.get()
        };
        self.entry.threads.iter().map(of).sum()
    }

    /// Milliseconds of the longest thread; 0 where nothing went this way. At least 1 else, as in fio.
    fn runtime(&self) -> u64 {
        if self.bytes() == 0 {
            return 0;
        }
        self.entry
            .threads
            .iter()
            .map(|(_, thread)| milliseconds(thread.seconds()))
            .max()
            .unwrap_or(0)
            .max(1)
    }

    /// Bytes a second.
    fn rate(&self) -> f64 {
        match self.runtime() {
            0 => 0.0,
            runtime => self.bytes() as f64 * 1000.0 / runtime as f64,
        }
    }

    /// Requests and KiB a second in each interval between two samples, all threads together.
    fn intervals(&self) -> Vec<(f64, f64)> {
        let longest = self
            .entry
            .threads
            .iter()
            .map(|(_, thread)| thread.samples.len())
            .max();
        let mut intervals = vec![(0.0, 0.0); longest.unwrap_or(0)];
        for (job, thread) in &self.entry.threads {
            let mut before = Sample {
                at_ns: thread.begin_ns,
                ..Sample::default()
            };
            for (interval, sample) in intervals.iter_mut().zip(&thread.samples) {
                let blocks = match self.direction {
                    Direction::Read => sample.reads - before.reads,
                    Direction::Write => sample.writes - before.writes,
                };
                let time = seconds(before.at_ns, sample.at_ns).max(1e-9);
                interval.0 += blocks as f64 / time;
                interval.1 += (blocks * job.spec.block.get()) as f64 / 1024.0 / time;
                before = *sample;
            }
        }
        if self.bytes() == 0 {
            intervals.clear();
        }
        intervals
    }
}

fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

/// A number as fio prints it: six decimals.
fn decimal(value: f64) -> Value {
    let value = if value.is_finite() { value } else { 0.0 };
    json!((value * 1e6).round() / 1e6)
}

fn job(entry: &Entry<'_>, all: &[Entry<'_>]) -> Value {
    let way = |direction| {
        let way = Way { entry, direction };
        // The sum over the group's entries, of which `bw_agg` is this one's share.
        let group = all
            .iter()
            .filter(|other| other.job.group == entry.job.group);
        let sum = group.map(|entry| Way { entry, direction }.rate()).sum();
        direction_of(&way, sum)
    };
    let mut recorder = Recorder::default();
    let (mut cpu, mut faults, mut course) = (Cpu::default(), Faults::default(), Course::default());
    let (mut runtime, mut longest) = (0, 0.0_f64);
    for (_, thread) in &entry.threads {
        recorder.merge(&thread.recorder);
        cpu += thread.cpu;
        faults = Faults {
            major: faults.major + thread.faults.major,
            minor: faults.minor + thread.faults.minor,
            switches: faults.switches + thread.faults.switches,
        };
        course.merge(&thread.course);
        let whole = seconds(thread.begin_ns, thread.end_ns);
        runtime += milliseconds(whole).max(1);
        longest = longest.max(whole);
    }
    let share = |seconds: f64| decimal(100.0 * seconds * 1000.0 / runtime.max(1) as f64);
    let mut job = Map::new();
    let mut add = |key: &str, value: Value| job.insert(key.into(), value);
    add("jobname", json!(entry.job.name));
    add("groupid", json!(entry.job.group));
    add("error", json!(0));
    add("eta", json!(0));
    add("elapsed", json!(longest.ceil() as u64));
    add("job options", options(&entry.job.options));
    add("read", way(Direction::Read));
    add("write", way(Direction::Write));
    add("trim", trim());
    add("sync", sync(&recorder.fsync));
    add("job_runtime", json!(runtime));
    add("usr_cpu", share(cpu.user));
    add("sys_cpu", share(cpu.system));
    add("ctx", json!(faults.switches));
    add("majf", json!(faults.major));
    add("minf", json!(faults.minor));
    add(
        "iodepth_level",
        shares(&["1", "2", "4", "8", "16", "32", ">=64"], &course.depths),
    );
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    add("iodepth_submit", shares(&batches, &course.submitted));
    add("iodepth_complete", shares(&batches, &course.completed));
    distributions(&recorder, &mut job);
    let mut add = |key: &str, value: Value| job.insert(key.into(), value);
    add("latency_depth", json!(entry.job.spec.queue_depth));
    add("latency_target", json!(0));
    add("latency_percentile", decimal(100.0));
    add("latency_window", json!(0));
    Value::Object(job)
}

/// Percent of their sum.
fn shares(names: &[&str], counts: &[u64]) -> Value {
    let all: u64 = counts.iter().sum();
    let share = |count: u64| decimal(100.0 * count as f64 / all.max(1) as f64);
    let pairs = names.iter().zip(counts);
    Value::Object(
        pairs
            .map(|(name, count)| ((*name).to_owned(), share(*count)))
            .collect(),
    )
}

fn direction_of(way: &Way<'_>, of_group: f64) -> Value {
    let times = way.times();
    let moments = times.moments();
    let (bytes, runtime, rate) = (way.bytes(), way.runtime(), way.rate());
    let short = way
        .entry
        .threads
        .iter()
        .map(|(_, thread)| thread.course.short)
        .sum::<u64>();
    let mut members = Map::new();
    let mut add = |key: &str, value: Value| members.insert(key.into(), value);
    add("io_bytes", json!(bytes));
    add("io_kbytes", json!(bytes / 1024));
    add("bw_bytes", json!(rate as u64));
    add("bw", json!((rate / 1024.0) as u64));
    add(
        "iops",
        decimal(moments.count as f64 * 1000.0 / runtime.max(1) as f64),
    );
    add("runtime", json!(runtime));
    add("total_ios", json!(moments.count));
    // Short transfers are not kept by direction: they are those of the only one, or of both.
    add("short_ios", json!(if bytes == 0 { 0 } else { short }));
    add("drop_ios", json!(0));
    add("slat_ns", nanoseconds(&Moments::default(), None));
    add("clat_ns", nanoseconds(&moments, Some(&times)));
    add("lat_ns", nanoseconds(&moments, None));
    let intervals = way.intervals();
    let rates: Vec<f64> = intervals.iter().map(|(_, rate)| *rate).collect();
    let requests: Vec<f64> = intervals.iter().map(|(requests, _)| *requests).collect();
    let (of_rates, of_requests) = (Spread::of(&rates), Spread::of(&requests));
    add("bw_min", json!(of_rates.min as u64));
    add("bw_max", json!(of_rates.max as u64));
    let share = 100.0 * of_rates.mean * 1024.0 / of_group.max(1.0);
    add("bw_agg", decimal(share.min(100.0)));
    add("bw_mean", decimal(of_rates.mean));
    add("bw_dev", decimal(of_rates.deviation));
    add("bw_samples", json!(rates.len()));
    add("iops_min", json!(of_requests.min as u64));
    add("iops_max", json!(of_requests.max as u64));
    add("iops_mean", decimal(of_requests.mean));
    add("iops_stddev", decimal(of_requests.deviation));
    add("iops_samples", json!(requests.len()));
    Value::Object(members)
}

/// Nothing is trimmed.
fn trim() -> Value {
    let none = Entry {
        job: &JobStats {
            name: String::new(),
            options: Vec::new(),
            global: Vec::new(),
            group: 0,
            group_reporting: false,
            spec: params::MixSpec::default(),
            threads: Vec::new(),
        },
        threads: Vec::new(),
    };
    let way = Way {
        entry: &none,
        direction: Direction::Read,
    };
    direction_of(&way, 0.0)
}

fn sync(times: &Times) -> Value {
    let moments = times.moments();
    json!({ "total_ios": moments.count, "lat_ns": nanoseconds(&moments, Some(times)) })
}

/// fio's percentiles.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

fn nanoseconds(moments: &Moments, times: Option<&Times>) -> Value {
    let mut members = Map::new();
    let mut add = |key: &str, value: Value| members.insert(key.into(), value);
    add("min", json!(moments.min));
    add("max", json!(moments.max));
    add("mean", decimal(moments.mean));
    add("stddev", decimal(moments.deviation));
    add("N", json!(moments.count));
    if let Some(times) = times.filter(|_| moments.count > 0) {
        let found = times.quantiles(PERCENTILES.map(|percent| percent / 100.0));
        let named = PERCENTILES.iter().zip(found);
        let named = named.map(|(percent, ns)| (format!("{percent:.6}"), json!(ns)));
        add("percentile", Value::Object(named.collect()));
    }
    Value::Object(members)
}

/// Percent of the requests by latency: below 1 us in ns, below 1 ms in us, and in ms.
fn distributions(recorder: &Recorder, job: &mut Map<String, Value>) {
    const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let mut times = Times::default();
    times.merge(&recorder.read);
    times.merge(&recorder.write);
    let bounds: Vec<u64> = [1, 1000, 1_000_000]
        .iter()
        .flat_map(|unit| STEPS.iter().map(move |step| step * unit))
        .chain([2_000_000_000])
        .collect();
    let counts = times.ranges(&bounds);
    let all = times.count().max(1) as f64;
    let mut names: Vec<String> = STEPS.iter().map(u64::to_string).collect();
    let mut add = |key: &str, names: &[String], counts: &[u64]| {
        let share = |count: &u64| decimal(100.0 * *count as f64 / all);
        let pairs = names.iter().cloned().zip(counts.iter().map(share));
        job.insert(key.into(), Value::Object(pairs.collect()));
    };
    add("latency_ns", &names, &counts[..10]);
    add("latency_us", &names, &counts[10..20]);
    names.extend(["2000".to_owned(), ">=2000".to_owned()]);
    add("latency_ms", &names, &counts[20..]);
}

/// Of the rates of the intervals.
#[derive(Default)]
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = match values.len() {
            1 => 0.0,
            n => (squares / (n - 1) as f64).sqrt(),
        };
        Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            mean,
            deviation,
        }
    }
}
