//! How phases were shared among the members of a device of several layers.
//!
//! An array is as fast as its busiest member. Whether a load reached all of them equally, and how much
//! parity and copies added to it, shows in the members' own counters, which iostat prints but does not sum.

use std::collections::BTreeMap;

use serde::Serialize;

use record::{Members, Status, TrialRecord};
use study::Cell;
use words::bytes_f64 as size;

use crate::fill::Sources;
use crate::labels::Labels;

/// Heads of the columns after the row's name.
pub(crate) const HEADS: [&str; 7] = [
    "n",
    "members",
    "bytes",
    "by device",
    "least",
    "most",
    "request",
];

/// A phase of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The cell, by the levels in which the cells differ.
    #[serde(rename = "cell")]
    pub(crate) label: String,
    /// Name of the phase, in snake case.
    pub(crate) phase: String,
    /// Number of finished trials with counters.
    pub(crate) n: usize,
    /// Number of members.
    pub(crate) members: usize,
    /// Bytes that all members moved, on average of the trials.
    pub(crate) bytes: f64,
    /// The same by what the device above moved; none without its counters.
    #[serde(rename = "by_device")]
    pub(crate) times: Option<f64>,
    /// Share of the least loaded member, of the bytes of all trials; 0 to 1.
    pub(crate) least_share: f64,
    /// The same of the most loaded.
    pub(crate) most_share: f64,
    /// Mean request of the members, bytes; 0 without requests.
    #[serde(rename = "request_bytes")]
    pub(crate) request: f64,
}

impl Row {
    /// The phase of the cell in words.
    pub(crate) fn name(&self) -> String {
        format!("{}, {}", self.label, self.phase)
    }

    /// Its figures in words, below [`HEADS`].
    pub(crate) fn cells(&self) -> [String; 7] {
        let share = |share: f64| format!("{:.1}%", share * 100.0);
        [
            self.n.to_string(),
            self.members.to_string(),
            size(self.bytes),
            self.times.map_or("-".into(), |times| format!("{times:.2}")),
            share(self.least_share),
            share(self.most_share),
            size(self.request),
        ]
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shares {
    /// Rows, in the order of cells and phases.
    pub(crate) rows: Vec<Row>,
    /// The devices in words, each once: the cells' level or name, and what it is.
    pub(crate) devices: Vec<(String, String)>,
}

/// Shares of the report's finished trials; none without members.
pub(crate) fn of(sources: &Sources<'_>) -> Option<Shares> {
    let mut shares = Shares::default();
    let trials: Vec<_> = sources
        .slots()
        .filter(|(_, trial)| trial.status == Status::Finished)
        .collect();
    let has_stack = |cell: &&Cell| {
        cell.device.stack.is_some() && trials.iter().any(|(slot, _)| slot.cell == cell.id)
    };
    let cells: Vec<&Cell> = sources.run.plan.cells.iter().filter(has_stack).collect();
    let labels = Labels::of(&sources.run.plan, &cells);
    for cell in cells {
        let here: Vec<&TrialRecord> = trials
            .iter()
            .filter(|(slot, _)| slot.cell == cell.id)
            .map(|(_, trial)| *trial)
            .collect();
        shares.device(cell, &here);
        let mut phases: Vec<&str> = Vec::new();
        for members in here.iter().flat_map(|trial| &trial.members) {
            if !phases.contains(&members.phase.as_str()) {
                phases.push(&members.phase);
            }
        }
        let label = labels.of_cell(cell);
        let rows = phases
            .into_iter()
            .filter_map(|phase| row(&label, phase, &here));
        shares.rows.extend(rows);
    }
    (!shares.devices.is_empty()).then_some(shares)
}

impl Shares {
    fn device(&mut self, cell: &Cell, trials: &[&TrialRecord]) {
        let Some(stack) = &cell.device.stack else {
            return;
        };
        if self.devices.iter().any(|(name, _)| *name == stack.name) {
            return;
        }
        let facts = trials.iter().find_map(|trial| trial.mounted.as_ref());
        let fact = |name: &str| facts.and_then(|mounted| mounted.device_facts.get(name));
        let bytes = |name: &str| {
            let bytes = fact(name)?.parse::<u64>().ok()?;
            (bytes > 0).then_some(bytes)
        };
        let mut words = vec![stack.to_string()];
        if let Some(what) = fact("members_are") {
            let each = bytes("member_size")
                .map_or(String::new(), |bytes| format!(" of {}", size(bytes as f64)));
            words.push(format!("members: {what}{each}"));
        }
        if let Some(resync) = fact("md_first_resync") {
            words.push(format!("its first resync was {resync}"));
        }
        if let Some(best) = bytes("optimal_io_size") {
            words.push(format!("its best request is {} KiB", best >> 10));
        }
        self.devices.push((stack.name.clone(), words.join("; ")));
    }
}

fn row(label: &str, phase: &str, trials: &[&TrialRecord]) -> Option<Row> {
    let mut each: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut n, mut requests, mut above) = (0, 0.0, 0.0);
    for trial in trials {
        let Some(found) = trial.members.iter().find(|m| m.phase == phase) else {
            continue;
        };
        n += 1;
        requests += count(found);
        above += moved_above(trial, phase);
        for (place, member) in found.members.iter().enumerate() {
            *each.entry(place).or_default() += (member.read + member.written) as f64;
        }
    }
    let total: f64 = each.values().sum();
    if n == 0 || total <= 0.0 {
        return None;
    }
    let least = each.values().copied().fold(f64::INFINITY, f64::min);
    let most = each.values().copied().fold(0.0, f64::max);
    Some(Row {
        label: label.to_owned(),
        phase: phase.to_owned(),
        n,
        members: each.len(),
        bytes: total / n as f64,
        times: (above > 0.0).then(|| total / above),
        least_share: least / total,
        most_share: most / total,
        request: if requests > 0.0 {
            total / requests
        } else {
            0.0
        },
    })
}

fn count(members: &Members) -> f64 {
    let requests = members.members.iter().map(|m| m.reads + m.writes);
    requests.sum::<u64>() as f64
}

/// Bytes that the device above moved in the phase, by its own counters.
fn moved_above(trial: &TrialRecord, phase: &str) -> f64 {
    let of_device = |metric: &str| matches!(metric, "device_read" | "device_written");
    let samples = trial.samples.iter();
    let samples = samples.filter(|s| s.phase == phase && of_device(&s.metric));
    samples.map(|sample| sample.value).sum()
}

#[cfg(test)]
mod tests {
    use record::{Member, Sample};
    use study::Clock;

    use super::*;

    fn trial(written: &[u64], above: f64) -> TrialRecord {
        let member = |(place, written): (usize, &u64)| Member {
            name: format!("vd{place}"),
            writes: written >> 16,
            written: *written,
            ..Member::default()
        };
        TrialRecord {
            members: vec![Members {
                phase: "write".into(),
                members: written.iter().enumerate().map(member).collect(),
            }],
            samples: vec![Sample {
                phase: "write".into(),
                metric: "device_written".into(),
                clock: Clock::Original,
                value: above,
                unit: "bytes".into(),
            }],
            ..TrialRecord::default()
        }
    }

    #[test]
    fn parity_and_the_busiest_member_show() {
        const MIB: u64 = 1 << 20;
        let trials = [
            trial(&[50 * MIB, 50 * MIB, 50 * MIB], 100.0 * MIB as f64),
            trial(&[60 * MIB, 50 * MIB, 40 * MIB], 100.0 * MIB as f64),
        ];
        let all: Vec<&TrialRecord> = trials.iter().collect();
        let row = row("raid5", "write", &all).unwrap();
        assert_eq!((row.n, row.members), (2, 3));
        assert_eq!(row.bytes, 150.0 * MIB as f64);
        assert_eq!(row.times, Some(1.5));
        assert_eq!(
            (row.least_share, row.most_share),
            (90.0 / 300.0, 110.0 / 300.0)
        );
        assert_eq!(row.request, 65536.0);
        assert_eq!(super::row("raid5", "read", &all), None);
    }
}
