//! fio as a peer.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::needs::{self, Missing};
use crate::run::output;

/// fio and its Debian package.
pub const FIO: (&str, &str) = ("fio", "fio");

/// The variable that names a fio that is not in `PATH`.
const VARIABLE: &str = "FSLAB_FIO";

/// The fio to run: that of `FSLAB_FIO`, or the one in `PATH`.
fn program() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| FIO.0.to_owned())
}

/// Requires it.
///
/// # Errors
/// [`Missing`].
pub fn needed() -> Result<()> {
    let program = program();
    if program == FIO.0 {
        return needs::peers(&[FIO]);
    }
    if Path::new(&program).is_file() {
        return Ok(());
    }
    Err(Missing(format!(
        "{VARIABLE}: {program}: no such program; name a fio"
    ))
    .into())
}

/// Its version, as it says.
pub fn version() -> Result<String> {
    Ok(output(&program(), &["--version"])?.trim().to_owned())
}

/// Runs fio with these options and returns what its JSON says of each job.
///
/// # Errors
/// It could not run, or a job failed.
pub fn jobs<S: AsRef<str>>(options: &[S]) -> Result<Vec<Value>> {
    let mut words = vec!["--output-format=json"];
    words.extend(options.iter().map(AsRef::as_ref));
    let text = output(&program(), &words)?;
    let jobs = parse(&text)?;
    for job in &jobs {
        ensure!(
            job["error"] == 0,
            "fio {}: error {}",
            words.join(" "),
            job["error"]
        );
    }
    Ok(jobs)
}

fn parse(text: &str) -> Result<Vec<Value>> {
    // fio may print notes before the document.
    let begin = text.find('{').context("fio printed no JSON")?;
    let mut document: Value = serde_json::from_str(&text[begin..])?;
    match document["jobs"].take() {
        Value::Array(jobs) if !jobs.is_empty() => Ok(jobs),
        _ => anyhow::bail!("fio's JSON has no jobs"),
    }
}

/// Bytes a second, reads and writes together.
///
/// # Errors
/// They moved nothing.
pub fn rate(jobs: &[Value]) -> Result<f64> {
    let ways = ["read", "write"];
    let rates = jobs
        .iter()
        .flat_map(|job| ways.iter().filter_map(|way| job[*way]["bw_bytes"].as_f64()));
    let sum: f64 = rates.sum();
    ensure!(sum > 0.0, "fio moved nothing");
    Ok(sum)
}

/// Reads and writes a second, all jobs together.
///
/// # Errors
/// There were none.
pub fn iops(jobs: &[Value]) -> Result<f64> {
    let sum: f64 = ways(jobs, "iops").sum();
    ensure!(sum > 0.0, "fio moved nothing");
    Ok(sum)
}

/// Seconds of CPU, user and system, for each read or write.
///
/// # Errors
/// There were none.
pub fn cpu_per_request(jobs: &[Value]) -> Result<f64> {
    let requests: f64 = ways(jobs, "total_ios").sum();
    ensure!(requests > 0.0, "fio moved nothing");
    // Percent of the milliseconds that the job's threads ran.
    let used = jobs.iter().map(|job| {
        let number = |key: &str| job[key].as_f64().unwrap_or_default();
        (number("usr_cpu") + number("sys_cpu")) / 100.0 * number("job_runtime") / 1e3
    });
    Ok(used.sum::<f64>() / requests)
}

fn ways<'a>(jobs: &'a [Value], key: &'a str) -> impl Iterator<Item = f64> + 'a {
    let both = move |job: &'a Value| ["read", "write"].map(|way| job[way][key].as_f64());
    jobs.iter().flat_map(both).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_found_after_notes_and_their_rates_added() {
        let text = "note: something\n{\"jobs\": [{\"error\": 0, \"read\": {\"bw_bytes\": 5}, \
                    \"write\": {\"bw_bytes\": 0}}, {\"error\": 0, \"write\": {\"bw_bytes\": 7}}]}";
        assert_eq!(rate(&parse(text).unwrap()).unwrap(), 12.0);
        assert!(parse("fio: bad option").is_err());
        assert!(parse("{\"jobs\": []}").is_err());
        assert!(rate(&[]).is_err());
    }

    #[test]
    fn requests_and_their_cpu_are_of_both_ways() {
        let text = "{\"jobs\": [{\"error\": 0, \"usr_cpu\": 10.0, \"sys_cpu\": 15.0, \"job_runtime\": 2000, \
                    \"read\": {\"iops\": 30.5, \"total_ios\": 61}, \"write\": {\"iops\": 19.5, \"total_ios\": 39}}]}";
        let jobs = parse(text).unwrap();
        assert_eq!(iops(&jobs).unwrap(), 50.0);
        assert!((cpu_per_request(&jobs).unwrap() - 0.005).abs() < 1e-12);
        assert!(iops(&[]).is_err() && cpu_per_request(&[]).is_err());
    }
}
