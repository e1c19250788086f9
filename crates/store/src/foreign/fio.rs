//! fio's JSON (`--output-format=json`, its HOWTO, "JSON output").
//!
//! The metrics are those of the workload `mix`, under the same names, and the latencies of reads, writes and fsyncs are those
//! of calls: fio's completion latencies (`clat_ns`), without the time in its own queue.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use record::Sample;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{LONGEST_PARAMETERS, MOST_MEASURED, Measured, Results, sample, too_long_parameters};

const PHASE: &str = "mix";

/// The parts of the document that are read. The others, which are most of it, take no memory.
#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: Option<String>,
    timestamp_ms: Option<i64>,
    #[serde(rename = "global options", default)]
    global: Options,
    jobs: Option<Jobs>,
}

#[derive(Deserialize)]
struct Job {
    jobname: Option<String>,
    #[serde(rename = "job options", default)]
    options: Options,
    #[serde(default)]
    error: i64,
    read: Option<Transfers>,
    write: Option<Transfers>,
    sync: Option<Syncs>,
}

#[derive(Deserialize)]
struct Transfers {
    io_bytes: Option<f64>,
    total_ios: Option<f64>,
    runtime: Option<f64>,
    bw_bytes: Option<f64>,
    iops: Option<f64>,
    clat_ns: Option<Latency>,
}

#[derive(Deserialize)]
struct Syncs {
    total_ios: Option<f64>,
    lat_ns: Option<Latency>,
}

/// In nanoseconds.
#[derive(Deserialize)]
struct Latency {
    min: Option<f64>,
    mean: Option<f64>,
    max: Option<f64>,
    #[serde(default)]
    percentile: Percentiles,
}

#[derive(Default, Deserialize)]
struct Percentiles {
    #[serde(rename = "50.000000")]
    p50: Option<f64>,
    #[serde(rename = "90.000000")]
    p90: Option<f64>,
    #[serde(rename = "99.000000")]
    p99: Option<f64>,
    #[serde(rename = "99.900000")]
    p999: Option<f64>,
}

/// Jobs, up to a limit.
struct Jobs(Vec<Job>);

impl<'de> Deserialize<'de> for Jobs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Jobs, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Jobs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of jobs")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Jobs, A::Error> {
                let mut jobs = Vec::new();
                while let Some(job) = all.next_element()? {
                    if jobs.len() == MOST_MEASURED {
                        return Err(A::Error::custom(format_args!(
                            "more than {MOST_MEASURED} jobs, the most that a run takes"
                        )));
                    }
                    jobs.push(job);
                }
                Ok(Jobs(jobs))
            }
        }
        from.deserialize_seq(Each)
    }
}

/// fio's options are texts. Their number has a limit in bytes.
#[derive(Clone, Default)]
struct Options(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Options, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Options;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options and their values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Options, A::Error> {
                let mut options = BTreeMap::new();
                let mut left = LONGEST_PARAMETERS;
                while let Some((name, Text(value))) = all.next_entry::<String, Text>()? {
                    left = left
                        .checked_sub(name.len() + value.len())
                        .ok_or_else(|| A::Error::custom(too_long_parameters()))?;
                    options.insert(name, value);
                }
                Ok(Options(options))
            }
        }
        from.deserialize_map(Each)
    }
}

/// The value of an option.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
        struct One;
        impl Visitor<'_> for One {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the value of an option")
            }
            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Text, E> {
                Ok(Text(truth.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
            fn visit_unit<E>(self) -> Result<Text, E> {
                Ok(Text("null".to_owned()))
            }
        }
        from.deserialize_any(One)
    }
}

pub(super) fn read(text: &str) -> Result<Results, String> {
    // fio prints warnings in front of the document.
    let begin = text
        .find('{')
        .ok_or("no JSON is in it; run fio with --output-format=json")?;
    let mut documents = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Document>();
    let document = match documents.next() {
        Some(Ok(document)) => document,
        Some(Err(error)) => {
            return Err(format!(
                "its JSON cannot be read: {error}; run fio with --output-format=json"
            ));
        }
        None => return Err("no JSON is in it; run fio with --output-format=json".into()),
    };
    let version = document.version;
    let version = version.ok_or("it has no \"fio version\"; run fio with --output-format=json")?;
    let Jobs(jobs) = document
        .jobs
        .ok_or("it has no \"jobs\"; results of fio's servers (client_stats) are not read")?;
    let mut measured: Vec<Measured> = Vec::new();
    for job in jobs {
        let job = read_job(job, &document.global)?;
        if measured.iter().any(|other| other.label == job.label) {
            return Err(format!(
                "job {} is in it more than once; run fio with --group_reporting, or give each job a name",
                words::quoted(&job.label)
            ));
        }
        measured.push(job);
    }
    let longest = measured.iter().map(|job| job.seconds).fold(0.0, f64::max);
    Ok(Results {
        version,
        // fio's time is that of the end.
        at: document.timestamp_ms.and_then(|at| {
            Timestamp::from_millisecond(at.checked_sub((longest * 1000.0) as i64)?).ok()
        }),
        measured,
    })
}

fn read_job(job: Job, Options(global): &Options) -> Result<Measured, String> {
    let label = job.jobname.ok_or("a job has no \"jobname\"")?;
    let mut parameters = global.clone();
    parameters.extend(job.options.0);
    parameters.remove("name");
    let mut samples = Vec::new();
    let sides: Vec<Side> = [("read", &job.read), ("write", &job.write)]
        .into_iter()
        .map(|(name, side)| Side::of(name, side.as_ref(), &label))
        .collect::<Result<_, _>>()?;
    let longest = sides.iter().map(|side| side.seconds).fold(0.0, f64::max);
    let (bytes, requests) = sides.iter().fold((0.0, 0.0), |(bytes, requests), side| {
        (bytes + side.bytes, requests + side.requests)
    });
    let mut add =
        |metric: &str, unit: &str, value: f64| samples.push(sample(PHASE, metric, unit, value));
    if longest > 0.0 {
        add("seconds", "s", longest);
        add("throughput", "bytes_per_s", bytes / longest);
        add("iops", "ops_per_s", requests / longest);
        add("read_share", "ratio", sides[0].requests / requests.max(1.0));
    }
    for side in sides.iter().filter(|side| side.requests > 0.0) {
        add(&format!("{}_rate", side.name), "bytes_per_s", side.rate);
        add(&format!("{}_iops", side.name), "ops_per_s", side.iops);
    }
    for side in sides.iter().filter(|side| side.requests > 0.0) {
        latencies(side.name, side.latency, &mut samples);
    }
    if let Some(sync) = &job.sync
        && sync.total_ios.is_some_and(|count| count > 0.0)
    {
        latencies("fsync", sync.lat_ns.as_ref(), &mut samples);
    }
    Ok(Measured {
        label,
        parameters,
        samples,
        failure: (job.error != 0)
            .then(|| format!("fio ended the job with error {}; see its output", job.error)),
        seconds: longest,
    })
}

/// The reads of a job, or its writes.
struct Side<'j> {
    name: &'static str,
    bytes: f64,
    requests: f64,
    seconds: f64,
    rate: f64,
    iops: f64,
    latency: Option<&'j Latency>,
}

impl<'j> Side<'j> {
    fn of(
        name: &'static str,
        side: Option<&'j Transfers>,
        label: &str,
    ) -> Result<Side<'j>, String> {
        let label = || words::quoted(label);
        let side = side.ok_or_else(|| format!("job {} has no {name:?}", label()))?;
        let number = |key: &str, found: Option<f64>| {
            found
                .filter(|number| number.is_finite() && *number >= 0.0)
                .ok_or_else(|| {
                    format!(
                        "job {}: {name}.{key} is no number; fio 3 and later are read",
                        label()
                    )
                })
        };
        Ok(Side {
            name,
            bytes: number("io_bytes", side.io_bytes)?,
            requests: number("total_ios", side.total_ios)?,
            // Milliseconds.
            seconds: number("runtime", side.runtime)? / 1000.0,
            rate: number("bw_bytes", side.bw_bytes)?,
            iops: number("iops", side.iops)?,
            latency: side.clat_ns.as_ref(),
        })
    }
}

fn latencies(call: &str, of: Option<&Latency>, samples: &mut Vec<Sample>) {
    let Some(of) = of else {
        return;
    };
    let percentiles = &of.percentile;
    for (metric, nanoseconds) in [
        ("min", of.min),
        ("avg", of.mean),
        ("p50", percentiles.p50),
        ("p90", percentiles.p90),
        ("p99", percentiles.p99),
        ("p999", percentiles.p999),
        ("max", of.max),
    ] {
        if let Some(nanoseconds) = nanoseconds.filter(|value| value.is_finite()) {
            samples.push(sample(
                PHASE,
                &format!("{call}_{metric}"),
                "s",
                nanoseconds / 1e9,
            ));
        }
    }
}
