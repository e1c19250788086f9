//! What shows that the figures mean what they say, and what warns that they may not.

use std::io;

use super::stats::{JobStats, ThreadStats};
use crate::Evidence;
use crate::cache::{self, First};
use crate::engine::Direction;
use crate::memory::total_ram;
use crate::residency::Residency;
use params::MixSpec;

/// What a reader must know before the job has run.
pub(super) fn warnings(spec: &MixSpec) -> Vec<String> {
    let mut warnings = Vec::new();
    let rest = spec.size.get() % spec.block.get();
    if rest != 0 {
        warnings.push(format!(
            "size {} is not a multiple of block {}: the last {rest} bytes of each file are not \
             transferred, as in fio",
            spec.size.get(),
            spec.block.get()
        ));
    }
    let transfers = spec.engine.capabilities().transfers;
    let working_set = spec.file_bytes() * u64::from(spec.files());
    let ratio = working_set as f64 / total_ram() as f64;
    if spec.rw.reads() && !spec.direct && transfers && ratio < 2.0 {
        warnings.push(format!(
            "buffered reads of {working_set} bytes, {ratio:.2} of the memory (less than 2): blocks \
             that were read or written once come from the page cache"
        ));
    }
    if !transfers {
        warnings.push("engine null moves no data: rates show the generator alone".into());
    }
    warnings
}

/// The page cache as a job with buffered reads found it. tmpfs, which has no other store, is never cold.
pub(super) fn cache_state(
    spec: &MixSpec,
    before: &io::Result<Residency>,
    warnings: &mut Vec<String>,
) -> Option<Evidence> {
    if spec.direct || !spec.rw.reads() || !spec.engine.capabilities().transfers {
        return None;
    }
    let state = cache::state(before, false);
    if spec.invalidate && before.as_ref().is_ok_and(|seen| seen.resident > 0) {
        warnings.push(format!(
            "the files were to be dropped from the page cache, but the filesystem kept them: {}",
            state.detail
        ));
    }
    Some(state)
}

/// Whether O_DIRECT kept the files out of the page cache.
pub(super) fn direct(
    spec: &MixSpec,
    before: &io::Result<Residency>,
    first: First,
    after: &io::Result<Residency>,
) -> Option<Evidence> {
    let asked = spec.direct && spec.engine.capabilities().direct;
    asked.then(|| cache::direct(before, first, after))
}

/// Of what was recorded: the rates against their limits, and the mixture.
pub(super) fn of_stats(stats: &JobStats) -> Vec<Evidence> {
    let limits = [Direction::Read, Direction::Write];
    let mut found: Vec<Evidence> = (limits.into_iter())
        .filter_map(|direction| rate(stats, direction))
        .collect();
    if found.is_empty() {
        found.extend(mixture(stats));
    }
    found
}

/// Whether no thread exceeded its rate. That it did not reach it is a result, not a fault.
fn rate(stats: &JobStats, direction: Direction) -> Option<Evidence> {
    let limit = stats.spec.rate(direction)? as f64;
    let block = stats.spec.block.get();
    let (mut holds, mut fastest) = (true, 0.0_f64);
    for thread in &stats.threads {
        let seconds = thread.seconds();
        // What was in flight when recording began, and one request at the start.
        let slack = u64::from(stats.spec.queue_depth) + 1;
        let blocks = thread.recorder.of(direction).count();
        let most = limit * seconds * 1.01 + (slack * block) as f64;
        // A delay of the ramp is caught up after it.
        holds &= stats.spec.ramp_time > 0.0 || (blocks * block) as f64 <= most;
        if seconds > 0.0 {
            fastest = fastest.max((blocks * block) as f64 / seconds);
        }
    }
    if stats.spec.share(direction) == 0 {
        return None;
    }
    let (name, way) = match direction {
        Direction::Read => ("read_rate_limited", "read"),
        Direction::Write => ("write_rate_limited", "written"),
    };
    Some(Evidence {
        name: name.into(),
        holds: Some(holds),
        detail: format!(
            "{fastest:.0} bytes/s {way} by the fastest thread, {:.1} % of the limit of {limit:.0}",
            100.0 * fastest / limit
        ),
    })
}

/// Whether the share of reads is what was asked for, within five standard deviations.
fn mixture(stats: &JobStats) -> Option<Evidence> {
    let share = f64::from(stats.spec.share(Direction::Read)) / 100.0;
    let reads: u64 = stats.threads.iter().map(|t| t.recorder.read.count()).sum();
    let all: u64 = stats.threads.iter().map(ThreadStats::operations).sum();
    if share <= 0.0 || share >= 1.0 || all == 0 {
        return None;
    }
    let seen = reads as f64 / all as f64;
    let deviation = (share * (1.0 - share) / all as f64).sqrt();
    Some(Evidence {
        name: "mixture".into(),
        holds: Some((seen - share).abs() <= 5.0 * deviation + 1.0 / all as f64),
        detail: format!(
            "{:.2} % of {all} requests were reads, {:.0} % were asked for",
            100.0 * seen,
            100.0 * share
        ),
    })
}

#[cfg(test)]
mod tests {
    use params::Bytes;

    use super::*;

    fn stats(reads: u64, writes: u64, change: impl FnOnce(&mut MixSpec)) -> JobStats {
        let mut spec = MixSpec::new("/nowhere");
        change(&mut spec);
        let mut thread = ThreadStats {
            begin_ns: 1,
            end_ns: 1_000_000_001,
            ..ThreadStats::default()
        };
        (0..reads).for_each(|_| thread.recorder.read.record(1000));
        (0..writes).for_each(|_| thread.recorder.write.record(1000));
        JobStats {
            name: "a".into(),
            options: Vec::new(),
            global: Vec::new(),
            group: 0,
            group_reporting: false,
            spec,
            threads: vec![thread],
        }
    }

    fn holds(stats: &JobStats) -> Vec<(String, Option<bool>)> {
        let found = of_stats(stats).into_iter();
        found
            .map(|evidence| (evidence.name, evidence.holds))
            .collect()
    }

    #[test]
    fn a_mixture_that_is_far_off_does_not_hold() {
        let one = |holds| vec![("mixture".to_owned(), Some(holds))];
        assert_eq!(holds(&stats(500, 500, |_| ())), one(true));
        assert_eq!(holds(&stats(900, 100, |_| ())), one(false));
        assert_eq!(holds(&stats(1, 0, |_| ())), one(true));
        assert!(holds(&stats(0, 0, |_| ())).is_empty());
        assert!(holds(&stats(9, 0, |spec| spec.rwmixread = 100)).is_empty());
    }

    #[test]
    fn a_rate_above_its_limit_does_not_hold() {
        let limited = |reads| {
            stats(reads, 0, |spec| {
                (spec.rate_read, spec.rwmixread) = (Bytes(4096 * 1000), 100);
            })
        };
        let one = |holds| vec![("read_rate_limited".to_owned(), Some(holds))];
        assert_eq!(holds(&limited(1000)), one(true));
        assert_eq!(holds(&limited(100)), one(true));
        assert_eq!(holds(&limited(1100)), one(false));
        let detail = &of_stats(&limited(500))[0].detail;
        assert!(
            detail.contains("50.0 % of the limit of 4096000"),
            "{detail}"
        );
    }

    #[test]
    fn warns_of_remainders_small_working_sets_and_the_null_engine() {
        let mut spec = MixSpec::new("/nowhere");
        spec.size = Bytes(10_000);
        let both = warnings(&spec);
        assert!(both[0].contains("the last 1808 bytes"), "{both:?}");
        assert!(both[1].contains("from the page cache"), "{both:?}");
        (spec.size, spec.direct) = (Bytes(8192), true);
        assert!(warnings(&spec).is_empty());
        spec.engine = crate::engine::Kind::Null;
        assert_eq!(warnings(&spec).len(), 1);
    }
}
