//! fio as a peer.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::run::output;

/// fio and its Debian package.
pub const FIO: (&str, &str) = ("fio", "fio");

/// Its version, as it says.
pub fn version() -> Result<String> {
    Ok(output("fio", &["--version"])?.trim().to_owned())
}

/// Runs fio with these options and returns what its JSON says of each job.
///
/// # Errors
/// It could not run, or a job failed.
pub fn jobs<S: AsRef<str>>(options: &[S]) -> Result<Vec<Value>> {
    let mut words = vec!["--output-format=json"];
    words.extend(options.iter().map(AsRef::as_ref));
    let text = output("fio", &words)?;
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
}
