//! One rank's report of a phase, and what becomes of those of all ranks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::group::Part;
use crate::phase::{Clocks, Evidence, PhaseReport};

/// Figures that are an amount over clock (a): the amounts are summed.
const RATES: [&str; 5] = ["iops", "read_iops", "write_iops", "read_rate", "write_rate"];
/// Figures that are a sum over children: those of all ranks are summed, as iozone's master sums over its clients.
pub(super) const SUMS: [&str; 1] = ["children"];

/// Each warning once, with the first rank that gave it.
pub(super) fn of_all(warnings: Vec<Vec<String>>) -> Vec<String> {
    let mut seen: Vec<(u32, String)> = Vec::new();
    for (rank, warnings) in (0..).zip(warnings) {
        for warning in warnings {
            if !seen.iter().any(|(_, known)| *known == warning) {
                seen.push((rank, warning));
            }
        }
    }
    let named = seen.into_iter().map(|(rank, text)| match rank {
        0 => text,
        rank => format!("rank {rank}: {text}"),
    });
    named.collect()
}

/// What a rank's report says beyond its moments.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) part: Part,
    pub(super) asked: u64,
    pub(super) transferred: u64,
    /// Bytes and files under each clock.
    pub(super) bytes: Clocks,
    pub(super) files: Option<Clocks>,
    /// Amounts of [`RATES`], and [`SUMS`].
    pub(super) amounts: BTreeMap<String, f64>,
    pub(super) evidence: Vec<Evidence>,
}

impl Report {
    /// Of a phase that began at this time of the rank's clock.
    pub(super) fn of(phase: &PhaseReport, begin: u64) -> Report {
        let at = |seconds: f64| begin + (seconds * 1e9).max(0.0) as u64;
        let end = at(phase.seconds);
        let after = |seconds: Option<f64>| seconds.map_or(0, at);
        let mut part = Part {
            begin,
            opened: begin,
            first: begin,
            last: end,
            end,
            met: end,
            synced: after(phase.clock_seconds.fsync),
            settled: after(phase.clock_seconds.syncfs),
            bytes: phase.bytes,
            operations: phase.operations,
            short: phase.short_operations,
            cpu: (phase.user_seconds, phase.system_seconds),
            ..Part::default()
        };
        for latency in &phase.latency {
            latency.add_to(&mut part.calls);
        }
        let amount = |rates: Clocks| Clocks {
            original: product(rates.original, Some(phase.seconds)),
            fsync: product(rates.fsync, phase.clock_seconds.fsync),
            syncfs: product(rates.syncfs, phase.clock_seconds.syncfs),
        };
        let amounts = phase.figures.iter().filter_map(|(name, value)| {
            let name = name.as_str();
            let rate = RATES.contains(&name).then_some(value * phase.seconds);
            let found = rate.or(SUMS.contains(&name).then_some(*value))?;
            Some((name.to_owned(), found))
        });
        Report {
            asked: phase.bytes_asked,
            transferred: phase.bytes_transferred,
            bytes: amount(phase.bytes_per_s),
            files: phase.files_per_s.map(amount),
            amounts: amounts.collect(),
            evidence: phase.evidence.clone(),
            part,
        }
    }
}

fn product(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? * b?)
}

/// The work of all ranks under each clock over the time of all under it; none where a rank has none.
pub(super) fn together(amounts: &[Clocks], seconds: Clocks) -> Clocks {
    let rate = |of: fn(&Clocks) -> Option<f64>| {
        let sum: Option<f64> = amounts.iter().map(of).sum();
        let seconds = of(&seconds).filter(|seconds| *seconds > 0.0)?;
        Some(sum? / seconds)
    };
    Clocks {
        original: rate(|clocks| clocks.original),
        fsync: rate(|clocks| clocks.fsync),
        syncfs: rate(|clocks| clocks.syncfs),
    }
}

/// Of each kind of evidence the worst rank's.
pub(super) fn worst(all: Vec<Vec<Evidence>>) -> Vec<Evidence> {
    let ranks = all.len();
    let mut found: Vec<(u32, Evidence)> = Vec::new();
    let doubt = |seen: &Evidence| match seen.holds {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    };
    for (rank, evidence) in (0..).zip(all) {
        for seen in evidence {
            match found.iter_mut().find(|(_, known)| known.name == seen.name) {
                None => found.push((rank, seen)),
                Some(known) if doubt(&seen) < doubt(&known.1) => *known = (rank, seen),
                Some(_) => {}
            }
        }
    }
    let named = found.into_iter().map(|(rank, seen)| Evidence {
        detail: format!("{} (rank {rank}, of {ranks} the worst)", seen.detail),
        ..seen
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_evidence_and_each_warning_once_are_kept() {
        let seen = |holds, detail: &str| Evidence {
            name: "cold".into(),
            holds,
            detail: detail.into(),
        };
        let all = vec![
            vec![seen(Some(true), "a")],
            vec![seen(None, "b")],
            vec![seen(Some(false), "c")],
        ];
        let found = worst(all);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].detail, "c (rank 2, of 3 the worst)");
        let texts = vec![vec!["x".to_owned()], vec!["x".to_owned(), "y".to_owned()]];
        assert_eq!(of_all(texts), ["x", "rank 1: y"]);
        // A clock that one rank lacks is none of all.
        let one = Clocks {
            original: Some(4.0),
            fsync: Some(4.0),
            syncfs: None,
        };
        let other = Clocks {
            original: Some(6.0),
            fsync: None,
            syncfs: None,
        };
        let seconds = Clocks {
            original: Some(2.0),
            fsync: Some(3.0),
            syncfs: Some(4.0),
        };
        let rates = together(&[one, other], seconds);
        assert_eq!(
            (rates.original, rates.fsync, rates.syncfs),
            (Some(5.0), None, None)
        );
    }
}
