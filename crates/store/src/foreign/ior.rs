//! IOR's text (its user guide, "Output"; `src/ior-output.c` of version 4.1).
//!
//! The table of results has a line for each access and repetition. Its columns are found by their names in the head line, as
//! they differ between versions.

use std::collections::BTreeMap;

use super::{LONGEST_PARAMETERS, MOST_MEASURED, Measured, Results, sample, too_long_parameters};

/// A column of the table: what it is called, our metric, our unit, and the factor to our unit.
const COLUMNS: [(&str, &str, &str, f64); 7] = [
    ("bw(MiB/s)", "throughput", "bytes_per_s", 1_048_576.0),
    ("IOPS", "iops", "ops_per_s", 1.0),
    ("Latency(s)", "best_mean_latency", "s", 1.0),
    ("open(s)", "open_seconds", "s", 1.0),
    ("wr/rd(s)", "transfer_seconds", "s", 1.0),
    ("close(s)", "close_seconds", "s", 1.0),
    ("total(s)", "seconds", "s", 1.0),
];

/// Options that say where, and not what.
const PLACES: [&str; 4] = ["test filename", "access date", "nodes list", "machine"];

pub(super) fn read(text: &str) -> Result<Results, String> {
    let version = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("IOR-"));
    let version =
        version.ok_or("no line begins with IOR-VERSION; give the text that IOR prints")?;
    let version = version.split(':').next().unwrap_or(version).trim();
    let parameters = options(text);
    // Each repetition has them.
    let bytes: usize = parameters
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if bytes > LONGEST_PARAMETERS {
        return Err(too_long_parameters());
    }
    let mut head: Option<Vec<&str>> = None;
    let mut repetitions: BTreeMap<u64, Measured> = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.first(), &head) {
            (Some(&"access"), _) if line.contains("bw(") => head = Some(words),
            (Some(&access @ ("write" | "read")), Some(head)) if words.len() == head.len() => {
                row(access, head, &words, &parameters, &mut repetitions)
                    .map_err(|why| format!("line {number}: {why}"))?;
            }
            // The summary has rows of its own under another head.
            (Some(&"Operation" | &"Max" | &"Summary"), _) => head = None,
            _ => {}
        }
    }
    if repetitions.is_empty() {
        return Err(
            "no table of results (access, bw(MiB/s), ...) is in it; was IOR stopped?".into(),
        );
    }
    Ok(Results {
        version: format!("IOR-{version}"),
        at: None,
        measured: repetitions.into_values().collect(),
    })
}

/// Adds a line of the table to its repetition.
fn row(
    access: &str,
    head: &[&str],
    words: &[&str],
    parameters: &BTreeMap<String, String>,
    repetitions: &mut BTreeMap<u64, Measured>,
) -> Result<(), String> {
    let of = |column: &str| {
        let place = head.iter().position(|name| *name == column);
        place.map(|place| words[place])
    };
    let repetition = of("iter").and_then(|text| text.parse::<u64>().ok());
    let repetition = repetition.ok_or("the column iter has no number")?;
    if repetitions.len() == MOST_MEASURED && !repetitions.contains_key(&repetition) {
        return Err(format!(
            "more than {MOST_MEASURED} repetitions, the most that a run takes of a file"
        ));
    }
    let measured = repetitions.entry(repetition).or_insert_with(|| Measured {
        label: "ior".into(),
        parameters: parameters.clone(),
        ..Measured::default()
    });
    if measured.samples.iter().any(|sample| sample.phase == access) {
        return Err(format!(
            "{access} of repetition {repetition} is in it twice; give the text of one test"
        ));
    }
    for (column, metric, unit, factor) in COLUMNS {
        match of(column) {
            // A column that this version or this access does not have.
            None | Some("-" | "NA") => {}
            Some(text) => {
                let value = text
                    .parse::<f64>()
                    .ok()
                    .filter(|value| value.is_finite() && *value >= 0.0);
                let value =
                    value.ok_or_else(|| format!("{column} is {text:?}, which is no number"))?;
                measured
                    .samples
                    .push(sample(access, metric, unit, value * factor));
                if metric == "seconds" {
                    measured.seconds += value;
                }
            }
        }
    }
    let has_rate =
        |sample: &record::Sample| sample.phase == access && sample.metric == "throughput";
    if !measured.samples.iter().any(has_rate) {
        return Err("no column bw(MiB/s)".into());
    }
    Ok(())
}

/// The lines `name : value` below `Options:`.
fn options(text: &str) -> BTreeMap<String, String> {
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("Options:"));
    lines
        .skip(1)
        .take_while(|line| !line.starts_with("Results:") && !line.contains("bw("))
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .filter(|(name, _)| !name.is_empty() && !PLACES.contains(&name.as_str()))
        .collect()
}
