//! fio's JSON (`--output-format=json`, its HOWTO, "JSON output").
//!
//! The metrics are those of the workload `mix`, under the same names, and the latencies of reads, writes and fsyncs are those
//! of calls: fio's completion latencies (`clat_ns`), without the time in its own queue.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::{Measured, Results, sample};
use record::Sample;

const PHASE: &str = "mix";

/// Percentiles of fio and the ends of our names.
const PERCENTILES: [(&str, &str); 4] = [
    ("50.000000", "p50"),
    ("90.000000", "p90"),
    ("99.000000", "p99"),
    ("99.900000", "p999"),
];

pub(super) fn read(text: &str) -> Result<Results, String> {
    // fio prints warnings in front of the document.
    let begin = text
        .find('{')
        .ok_or("no JSON is in it; run fio with --output-format=json")?;
    let mut documents = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Json>();
    let document = match documents.next() {
        Some(Ok(document)) => document,
        Some(Err(error)) => {
            return Err(format!(
                "its JSON cannot be read: {error}; run fio with --output-format=json"
            ));
        }
        None => return Err("no JSON is in it; run fio with --output-format=json".into()),
    };
    let version = document.get("fio version").and_then(Json::as_str);
    let version = version.ok_or("it has no \"fio version\"; run fio with --output-format=json")?;
    let jobs = document.get("jobs").and_then(Json::as_array);
    let jobs =
        jobs.ok_or("it has no \"jobs\"; results of fio's servers (client_stats) are not read")?;
    let global = options(document.get("global options"));
    let mut measured: Vec<Measured> = Vec::new();
    for job in jobs {
        let job = read_job(job, &global)?;
        if measured.iter().any(|other| other.label == job.label) {
            return Err(format!(
                "job {:?} is in it more than once; run fio with --group_reporting, or give each job a name",
                job.label
            ));
        }
        measured.push(job);
    }
    let at = document.get("timestamp_ms").and_then(Json::as_i64);
    let longest = measured.iter().map(|job| job.seconds).fold(0.0, f64::max);
    Ok(Results {
        version: version.to_owned(),
        // fio's time is that of the end.
        at: at.and_then(|at| {
            Timestamp::from_millisecond(at.checked_sub((longest * 1000.0) as i64)?).ok()
        }),
        measured,
    })
}

/// fio's options are texts.
fn options(of: Option<&Json>) -> BTreeMap<String, String> {
    let options = of.and_then(Json::as_object).into_iter().flatten();
    let text = |value: &Json| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    options
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

fn read_job(job: &Json, global: &BTreeMap<String, String>) -> Result<Measured, String> {
    let label = job
        .get("jobname")
        .and_then(Json::as_str)
        .ok_or("a job has no \"jobname\"")?;
    let mut parameters = global.clone();
    parameters.extend(options(job.get("job options")));
    parameters.remove("name");
    let error = job.get("error").and_then(Json::as_i64).unwrap_or(0);
    let mut samples = Vec::new();
    let sides: Vec<Side> = ["read", "write"]
        .into_iter()
        .map(|name| Side::read(job, name, label))
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
    let sync = job.get("sync");
    let syncs = sync
        .and_then(|sync| sync.get("total_ios"))
        .and_then(Json::as_f64);
    if syncs.is_some_and(|count| count > 0.0) {
        latencies(
            "fsync",
            sync.and_then(|sync| sync.get("lat_ns")),
            &mut samples,
        );
    }
    Ok(Measured {
        label: label.to_owned(),
        parameters,
        samples,
        failure: (error != 0)
            .then(|| format!("fio ended the job with error {error}; see its output")),
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
    /// In nanoseconds.
    latency: Option<&'j Json>,
}

impl<'j> Side<'j> {
    fn read(job: &'j Json, name: &'static str, label: &str) -> Result<Side<'j>, String> {
        let side = job
            .get(name)
            .ok_or_else(|| format!("job {label:?} has no {name:?}"))?;
        let number = |key: &str| {
            let found = side.get(key).and_then(Json::as_f64);
            found
                .filter(|number| number.is_finite() && *number >= 0.0)
                .ok_or_else(|| {
                    format!("job {label:?}: {name}.{key} is no number; fio 3 and later are read")
                })
        };
        Ok(Side {
            name,
            bytes: number("io_bytes")?,
            requests: number("total_ios")?,
            // Milliseconds.
            seconds: number("runtime")? / 1000.0,
            rate: number("bw_bytes")?,
            iops: number("iops")?,
            latency: side.get("clat_ns"),
        })
    }
}

fn latencies(call: &str, of: Option<&Json>, samples: &mut Vec<Sample>) {
    let mut add = |metric: &str, nanoseconds: Option<f64>| {
        if let Some(nanoseconds) = nanoseconds.filter(|value| value.is_finite()) {
            samples.push(sample(
                PHASE,
                &format!("{call}_{metric}"),
                "s",
                nanoseconds / 1e9,
            ));
        }
    };
    let Some(of) = of else {
        return;
    };
    add("min", of.get("min").and_then(Json::as_f64));
    add("avg", of.get("mean").and_then(Json::as_f64));
    for (percentile, metric) in PERCENTILES {
        let value = of.get("percentile").and_then(|all| all.get(percentile));
        add(metric, value.and_then(Json::as_f64));
    }
    add("max", of.get("max").and_then(Json::as_f64));
}
