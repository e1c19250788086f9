//! Studies as a list: what each asks, what it varies, and how long each profile takes.

use std::fmt::Write as _;

use serde::Serialize;

use crate::error::Error;
use crate::estimate::{Rates, estimate};
use crate::model::Plan;
use crate::overrides::Overrides;
use crate::planner::{BASE, Study, plan};

/// Columns of the text.
const WIDTH: usize = 78;

/// One profile of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileEntry {
    /// Its name; `base` for the study without a profile.
    pub name: String,
    /// Repetitions of each cell.
    pub blocks: u32,
    /// Combinations of levels.
    pub cells: usize,
    /// Cells times blocks.
    pub trials: usize,
    /// Estimated wall time, seconds, at assumed rates of the disk.
    pub seconds: f64,
    /// Estimated bytes written in total.
    pub bytes_written: u64,
    /// Most bytes on disk at one time.
    pub disk_bytes: u64,
}

/// A factor and its levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorEntry {
    /// Its name.
    pub name: String,
    /// Its levels.
    pub levels: Vec<String>,
}

/// A workload of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkloadEntry {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
}

/// A study, summarised.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its name, as `fslab run` takes it.
    pub name: String,
    /// One line.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// The published results that it repeats.
    pub repeats: Option<String>,
    /// Profiles, the shortest first.
    pub profiles: Vec<ProfileEntry>,
    /// Factors and workloads of the default profile.
    pub factors: Vec<FactorEntry>,
    /// Its workloads.
    pub workloads: Vec<WorkloadEntry>,
}

/// Summarises a study.
///
/// # Errors
/// A profile that cannot be planned.
pub fn entry(study: &Study) -> Result<Entry, Error> {
    let usual = plan(study, &Overrides::default())?;
    let mut names: Vec<&str> = study.profiles().collect();
    if names.is_empty() {
        names.push(BASE);
    }
    let mut profiles = Vec::new();
    for name in names {
        let overrides = Overrides {
            profile: Some(name.to_owned()),
            ..Overrides::default()
        };
        profiles.push(profile(name, &plan(study, &overrides)?));
    }
    profiles.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut workloads: Vec<WorkloadEntry> = Vec::new();
    for cell in &usual.cells {
        let workload = WorkloadEntry {
            name: cell.workload_name.clone(),
            kind: cell.workload.kind().to_string(),
        };
        if !workloads.contains(&workload) {
            workloads.push(workload);
        }
    }
    Ok(Entry {
        name: usual.study,
        title: usual.title,
        question: usual.question,
        repeats: usual.repeats,
        profiles,
        factors: usual
            .factors
            .into_iter()
            .map(|(name, levels)| FactorEntry { name, levels })
            .collect(),
        workloads,
    })
}

fn profile(name: &str, plan: &Plan) -> ProfileEntry {
    let cost = estimate(plan, Rates::default());
    ProfileEntry {
        name: name.to_owned(),
        blocks: plan.blocks,
        cells: plan.cells.len(),
        trials: plan.slots.len(),
        seconds: cost.seconds,
        bytes_written: cost.bytes_written,
        disk_bytes: cost.disk_bytes_peak,
    }
}

/// All studies: two lines for each, and how to go on.
pub fn text(entries: &[Entry]) -> String {
    let mut out = String::new();
    let width = entries.iter().map(|e| e.name.len()).max().unwrap_or(0) + 2;
    for entry in entries {
        let first = format!("{:<width$}", entry.name);
        out.push_str(&words::wrap(&first, width, &entry.title, WIDTH));
        let times: Vec<String> = entry
            .profiles
            .iter()
            .map(|p| format!("{} {}", p.name, words::clock_time(p.seconds)))
            .collect();
        let blank = " ".repeat(width);
        out.push_str(&words::wrap(&blank, width, &times.join(", "), WIDTH));
    }
    out.push_str(
        "\nTimes are estimates. Next:\n\
         \x20 fslab studies NAME                its question, factors and profiles\n\
         \x20 fslab run NAME --profile quick    runs it\n\
         \x20 fslab new NAME                    writes a study of your own\n",
    );
    out
}

/// One study: its question, factors, workloads and profiles.
pub fn text_of(entry: &Entry) -> String {
    let mut out = String::new();
    let repeats = entry.repeats.as_deref().unwrap_or("nothing published");
    for (label, value) in [
        ("Study", entry.name.as_str()),
        ("Title", &entry.title),
        ("Question", &entry.question),
        ("Repeats", repeats),
    ] {
        out.push_str(&words::wrap(&format!("{label:<10}"), 10, value, WIDTH));
    }
    out.push_str("\nFactors\n");
    for factor in entry.factors.iter().filter(|f| f.name != "workload") {
        let first = format!("  {:<14}", factor.name);
        out.push_str(&words::wrap(&first, 16, &factor.levels.join(", "), WIDTH));
    }
    out.push_str("\nWorkloads\n");
    for workload in &entry.workloads {
        let _ = writeln!(out, "  {:<14}{}", workload.name, workload.kind);
    }
    out.push_str("\nProfiles        blocks  cells  trials  time (estimate)\n");
    for profile in &entry.profiles {
        let _ = writeln!(
            out,
            "  {:<14}{:>6} {:>6} {:>7}  {}",
            profile.name,
            profile.blocks,
            profile.cells,
            profile.trials,
            words::clock_time(profile.seconds)
        );
    }
    let _ = write!(
        out,
        "\nNext: fslab run {} --profile PROFILE (fslab plan: what it would do)\n",
        entry.name
    );
    words::printable_lines(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_study_is_listed_within_a_mail() {
        let entries: Vec<Entry> = Study::builtin()
            .into_iter()
            .map(|name| entry(&Study::load(name).unwrap()).unwrap())
            .collect();
        let all = text(&entries);
        for entry in &entries {
            assert!(all.contains(&entry.title[..20]), "{all}");
            let seconds: Vec<f64> = entry.profiles.iter().map(|p| p.seconds).collect();
            assert!(seconds.is_sorted() && seconds[0] > 0.0, "{seconds:?}");
            for line in text_of(entry).lines().chain(all.lines()) {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
        }
        let journal = text_of(&entries[1]);
        for line in [
            "Repeats   wohlgemuth2009",
            "  threads       1, 8",
            "  compilebench  tree",
        ] {
            assert!(journal.lines().any(|known| known == line), "{journal}");
        }
    }
}
