//! Between the wings: what a workload reports becomes the record's samples and evidence, and a
//! study's limits become the rig's. Nothing is computed here but units.

use record::{Evidence, Sample};
use study::{Bytes, Clock, Limit};
use workload::{Clocks, PhaseReport};

/// What the rig holds a device to.
pub fn limits(limit: Limit) -> rig::limits::Limits {
    rig::limits::Limits {
        read_bytes: limit.read.map(Bytes::get),
        write_bytes: limit.write.map(Bytes::get),
        read_ops: limit.read_iops,
        write_ops: limit.write_iops,
    }
}

/// Every sample of these phases. A phase in which nothing ran gives none.
pub fn samples(phases: &[PhaseReport]) -> Vec<Sample> {
    phases
        .iter()
        .filter(|phase| phase.operations > 0)
        .flat_map(phase_samples)
        .collect()
}

fn phase_samples(phase: &PhaseReport) -> Vec<Sample> {
    let mut samples = clocked(phase, "throughput", "bytes_per_s", phase.bytes_per_s);
    if let Some(files) = phase.files_per_s {
        samples.extend(clocked(phase, "files", "files_per_s", files));
    }
    // compilebench's seconds are means over its runs of a kind; a phase's clock is their sum.
    let seconds = match phase.figures.get("mean_seconds") {
        Some(mean) => Clocks {
            original: Some(*mean),
            ..Clocks::default()
        },
        None => phase.clock_seconds,
    };
    samples.extend(clocked(phase, "seconds", "s", seconds));
    samples.extend(phase.figures.iter().map(|(name, value)| Sample {
        phase: phase.name.clone(),
        metric: name.clone(),
        clock: Clock::Original,
        value: *value,
        unit: figure_unit(name).into(),
    }));
    samples
}

fn clocked(phase: &PhaseReport, metric: &str, unit: &str, clocks: Clocks) -> Vec<Sample> {
    [
        (Clock::Original, clocks.original),
        (Clock::Fsync, clocks.fsync),
        (Clock::Syncfs, clocks.syncfs),
    ]
    .into_iter()
    .filter_map(|(clock, value)| {
        value.filter(|v| v.is_finite()).map(|value| Sample {
            phase: phase.name.clone(),
            metric: metric.into(),
            clock,
            value,
            unit: unit.into(),
        })
    })
    .collect()
}

/// The unit of a figure, by its name.
fn figure_unit(name: &str) -> &'static str {
    study::metrics::of_name(name).map_or("count", |metric| metric.unit)
}

/// A workload's own evidence, with the phase it speaks of.
pub fn phase_evidence(phase: &PhaseReport) -> impl Iterator<Item = Evidence> + '_ {
    phase
        .evidence
        .iter()
        .map(|found| evidence(found, Some(&phase.name)))
}

/// Evidence of the live system, for the record.
pub fn evidence(found: &workload::Evidence, phase: Option<&str>) -> Evidence {
    Evidence {
        phase: phase.map(str::to_owned),
        name: found.name.clone(),
        holds: found.holds,
        detail: found.detail.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, operations: u64) -> PhaseReport {
        PhaseReport {
            name: name.into(),
            operations,
            clock_seconds: Clocks {
                original: Some(2.0),
                fsync: Some(3.0),
                syncfs: None,
            },
            bytes_per_s: Clocks {
                original: Some(10.0),
                fsync: None,
                syncfs: Some(f64::NAN),
            },
            ..PhaseReport::default()
        }
    }

    fn value(samples: &[Sample], metric: &str, clock: Clock) -> Option<f64> {
        let found = samples
            .iter()
            .find(|s| s.metric == metric && s.clock == clock);
        found.map(|sample| sample.value)
    }

    #[test]
    fn clocks_that_do_not_exist_give_no_samples() {
        let samples = samples(&[phase("rewrite", 1), phase("read", 0)]);
        assert!(samples.iter().all(|sample| sample.phase == "rewrite"));
        assert_eq!(value(&samples, "throughput", Clock::Original), Some(10.0));
        assert_eq!(value(&samples, "throughput", Clock::Fsync), None);
        assert_eq!(
            value(&samples, "throughput", Clock::Syncfs),
            None,
            "not a number"
        );
        assert_eq!(value(&samples, "seconds", Clock::Fsync), Some(3.0));
    }

    #[test]
    fn a_mean_over_runs_is_what_a_phase_in_seconds_gives() {
        let mut deleting = phase("delete_tree", 2);
        deleting.figures.insert("mean_seconds".into(), 0.5);
        deleting.figures.insert("children".into(), 7.0);
        let samples = samples(&[deleting]);
        assert_eq!(value(&samples, "seconds", Clock::Original), Some(0.5));
        assert_eq!(value(&samples, "seconds", Clock::Fsync), None);
        let unit = |metric: &str| {
            samples
                .iter()
                .find(|s| s.metric == metric)
                .map(|s| s.unit.as_str())
        };
        assert_eq!(unit("children"), Some("bytes_per_s"));
        assert_eq!(unit("mean_seconds"), Some("s"));
    }

    #[test]
    fn every_latency_that_a_study_may_name_is_in_seconds() {
        use study::names::{CALL_FIGURES, CALLS, METRICS};
        for call in CALLS {
            for figure in CALL_FIGURES {
                let name = format!("{call}_{figure}");
                assert!(METRICS.contains(&name.as_str()), "{name}");
                assert_eq!(figure_unit(&name), "s", "{name}");
            }
        }
        assert_eq!(figure_unit("read_p999"), "s");
        assert_eq!(figure_unit("read_requests"), "count");
    }
}
