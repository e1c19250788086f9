//! mdtest's text (its manual; `src/mdtest.c` of version 4.1).
//!
//! The summary has the largest, the smallest and the mean rate of all iterations, and not the rates themselves. So a text of
//! one iteration is a repetition, and a text of more is refused.

use std::collections::BTreeMap;

use super::{Measured, Results, sample};

pub(super) fn read(text: &str) -> Result<Results, String> {
    let launched = text.lines().find_map(|line| {
        let (version, rest) = line
            .trim()
            .strip_prefix("mdtest-")?
            .split_once(" was launched with ")?;
        Some((version, rest))
    });
    let (version, launched) = launched
        .ok_or("no line \"mdtest-VERSION was launched with\"; give the text that mdtest prints")?;
    let mut lines = text.lines().zip(1..);
    let summary = lines
        .by_ref()
        .find(|(line, _)| line.trim_start().starts_with("SUMMARY"));
    let (summary, _) = summary.ok_or("no SUMMARY is in it; was mdtest stopped?")?;
    if summary.contains("time") {
        return Err(
            "its SUMMARY is of times; run mdtest without the option that prints them".into(),
        );
    }
    if !summary.contains("(of 1 iteration") {
        let of = summary
            .split_once("(of ")
            .map_or("several iterations", |(_, of)| of.trim_end_matches(')'));
        return Err(format!(
            "its summary is of {of} and has not the rate of each; run mdtest with -i 1 as often as needed, and import \
             the files together"
        ));
    }
    let mut samples = Vec::new();
    for (line, number) in lines {
        let line = line.trim();
        if line.starts_with("--") && line.contains("finished") {
            break;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        // Operation of some words, then max, min, mean, deviation; versions before 3 have a colon.
        let Some(place) = words
            .iter()
            .position(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        else {
            continue;
        };
        let name: Vec<&str> = words[..place]
            .iter()
            .copied()
            .filter(|word| *word != ":")
            .collect();
        if name.is_empty() {
            continue;
        }
        let figures = &words[place..];
        if figures.len() != 4 {
            return Err(format!(
                "line {number}: {} figures where 4 are expected",
                figures.len()
            ));
        }
        let mean = figures[2]
            .parse::<f64>()
            .ok()
            .filter(|rate| rate.is_finite());
        let rate = mean.ok_or_else(|| format!("line {number}: {:?} is no number", figures[2]))?;
        // 0: the operation was not asked for.
        if rate > 0.0 {
            let phase = name.join("_").trim_end_matches(':').to_lowercase();
            samples.push(sample(&phase, "files", "files_per_s", rate));
        }
    }
    if samples.is_empty() {
        return Err("its SUMMARY has no rates; was mdtest stopped?".into());
    }
    Ok(Results {
        version: format!("mdtest-{version}"),
        at: None,
        measured: vec![Measured {
            label: "mdtest".into(),
            parameters: parameters(text, launched),
            samples,
            failure: None,
            seconds: 0.0,
        }],
    })
}

/// Tasks, nodes and the options of the command line, without the folder.
fn parameters(text: &str, launched: &str) -> BTreeMap<String, String> {
    let number = |after: &str| {
        let (before, _) = launched.split_once(after)?;
        before.split_whitespace().last().map(str::to_owned)
    };
    let mut parameters = BTreeMap::new();
    for (name, after) in [("tasks", " total task"), ("nodes", " node")] {
        if let Some(count) = number(after) {
            parameters.insert(name.to_owned(), count);
        }
    }
    let command = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Command line used:"));
    let words: Vec<&str> = command
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut words = words.into_iter().map(|word| word.trim_matches('\''));
    while let Some(word) = words.next() {
        match word {
            "-d" => drop(words.next()),
            word if word.starts_with("-d") => {}
            word => kept.push(word),
        }
    }
    parameters.insert("options".to_owned(), kept.join(" "));
    parameters
}
