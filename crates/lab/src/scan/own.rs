//! `fslab check` as the reader: its passes, with what each of them asked the device for.
//!
//! It runs in this process as its command runs it on a device that was not read before: all processors, requests of its own choosing, one
//! ascending sweep a pass, no cache. Rejected: the command as a program. Its figures of each pass are printed when all is over, and
//! the device's counters could not be read around each.

use std::sync::Mutex;

use ::check::{Cost, Options, Pass, Report, ext4};
use progress::Progress;
use workload::{Evidence, Observer};

use super::figures::{self, Costs};
use super::{Job, Passes, Read, Source, Stop, WHOLE, evidence};
use crate::interrupt::Interrupt;

/// Makes everything cold, and checks.
pub(super) fn read(
    job: &Job<'_>,
    from: &Source<'_>,
    observer: &dyn Observer,
) -> Result<Read, Stop> {
    let checker =
        ::check::for_source(from.direct).unwrap_or_else(|| Box::<ext4::Checker>::default());
    let listener = Listener {
        observer,
        passes: Mutex::new(Passes::cold(job, from, observer)?),
        interrupt: job.interrupt,
    };
    let begin_ns = workload::clock::now_ns();
    let report = checker.check(from.measured(), &Options::default(), &listener)?;
    let end_ns = workload::clock::now_ns();
    let passes = listener.passes.into_inner();
    let passes = passes.unwrap_or_else(std::sync::PoisonError::into_inner);
    let evidence = vec![passes.cold, clean(&report)];
    Ok(Read {
        whole: figures::whole(WHOLE, &passes.phases, evidence),
        phases: passes.phases,
        begin_ns,
        end_ns,
    })
}

struct Listener<'a> {
    observer: &'a dyn Observer,
    passes: Mutex<Passes<'a>>,
    interrupt: &'a Interrupt,
}

impl Progress for Listener<'_> {
    fn inner(&self) -> &dyn Progress {
        self.observer
    }

    /// What a check prints of itself is not a run's.
    fn message(&self, _text: &str) {}

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised()
    }
}

impl ::check::Observer for Listener<'_> {
    fn pass_started(&self, pass: &'static Pass) {
        if let Ok(passes) = self.passes.lock() {
            passes.begins(pass.name);
        }
    }

    fn pass_finished(&self, cost: &Cost) {
        if let Ok(mut passes) = self.passes.lock() {
            passes.ended(cost.pass, &costs(cost));
        }
    }
}

fn costs(cost: &Cost) -> Costs {
    Costs {
        real_s: cost.wall_s,
        user_s: cost.user_s,
        system_s: cost.system_s,
        disk_bytes: cost.bytes,
        // It keeps none: what it needs again it asks for again.
        cache_bytes: 0,
        objects: cost.objects,
        counts: vec![
            ("requests", cost.requests),
            ("seeks", cost.seeks),
            ("seek_bytes", cost.seek_bytes),
            ("faults", cost.errors),
        ],
    }
}

fn clean(report: &Report) -> Evidence {
    let first = report.findings.list.first();
    let are = first.map_or_else(
        || "findings".to_owned(),
        |first| format!("findings, the first {}", first.problem.name),
    );
    let faults = if report.verdicts.strict.is_clean() {
        0
    } else {
        (report.findings.list.len() as u64).max(1)
    };
    evidence::sound(faults, &are)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::check::{Checker as _, Silent};
    use blockio::Ram;

    #[test]
    fn a_pass_of_the_checker_is_a_phase_with_its_requests() {
        let checker = ext4::Checker::default();
        let report = checker.check(&Ram::sparse(1 << 20), &Options::default(), &Silent);
        let report = report.unwrap();
        let cost = &report.passes[0];
        let phase = costs(cost).phase("scan_pass_0".into(), Vec::new());
        assert_eq!((phase.bytes, phase.seconds), (cost.bytes, cost.wall_s));
        assert_eq!(phase.figures["requests"], cost.requests as f64);
        assert_eq!(phase.figures["seek_bytes"], cost.seek_bytes as f64);
        // Nothing is no filesystem.
        let found = clean(&report);
        assert_eq!(found.holds, Some(false));
        assert!(
            found.detail.contains("findings, the first"),
            "{}",
            found.detail
        );
    }
}
