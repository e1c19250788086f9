//! iostat's and top's rows from the middle of a phase, as the mails of 2008 show them.
//!
//! A thread looks at the machine while a phase runs, and when the phase is over the two looks that
//! enclose most of its middle third give the rows. How long a phase takes is not known beforehand,
//! so the looks of a workload come at growing distances (a quarter of the time that has passed):
//! whatever the length, a few fall into the middle third, and a phase of hours costs some tens of
//! them. A checker's passes begin at any time, so there the pace is even, and is halved when the
//! looks become many.
//!
//! A look costs a few milliseconds of another CPU, next to nothing compared with a phase. Rejected: looking
//! when the workload reports its progress, which is too seldom for phases of less than a second, which
//! are those that people try out first.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use probe::Roots;
use probe::snapshot::{self, Snapshot};
use record::Middle;
use workload::clock::{now_ns, seconds};

/// Shortest interval worth a table, seconds: a few jiffies.
const SHORTEST: f64 = 0.08;
/// The closest that looks come together.
const CLOSEST: Duration = Duration::from_millis(80);
/// At an even pace, the number of looks at which it is halved.
const MOST: usize = 64;

/// How looks follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At growing distances from the beginning.
    Growing,
    /// At even distances.
    Even,
}

/// Takes looks, while a phase runs, at every level of a device's stack and at all tasks.
pub(crate) struct MidphaseSampler {
    shared: Arc<Shared>,
    /// None: there is no thread, and so no rows; the measurement is as good.
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    devices: Vec<String>,
    pace: Pace,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When looking began; none while nothing runs.
    since_ns: Option<u64>,
    distance: Duration,
    taken: Vec<(u64, Snapshot)>,
    over: bool,
}

impl MidphaseSampler {
    /// A thread that waits for [`MidphaseSampler::begin`].
    pub(crate) fn below(device: Option<&str>, pace: Pace) -> MidphaseSampler {
        let devices = device.map_or_else(Vec::new, stack);
        let shared = Arc::new(Shared {
            devices,
            pace,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let thread = Builder::new()
            .name("fslab-looks".into())
            .spawn(move || theirs.look_on())
            .ok();
        MidphaseSampler { shared, thread }
    }

    /// A phase begins: from now on there are looks, and the earlier ones are forgotten.
    pub(crate) fn begin(&self) {
        let mut state = self.shared.state();
        state.since_ns = Some(now_ns());
        state.distance = CLOSEST;
        state.taken.clear();
        self.shared.changed.notify_all();
    }

    /// It is over: no more looks.
    pub(crate) fn rest(&self) {
        self.shared.state().since_ns = None;
        self.shared.changed.notify_all();
    }

    /// The rows of the middle third of a span, or, where it has no two looks, of all of it.
    pub(crate) fn of(&self, begin_ns: u64, end_ns: u64) -> Option<Middle> {
        let state = self.shared.state();
        let third = end_ns.saturating_sub(begin_ns) / 3;
        let within = |from: u64, to: u64| {
            let mut inside = state
                .taken
                .iter()
                .filter(|(at, _)| (from..=to).contains(at));
            between(inside.next()?, inside.next_back()?)
        };
        within(begin_ns + third, end_ns - third).or_else(|| within(begin_ns, end_ns))
    }
}

impl Drop for MidphaseSampler {
    fn drop(&mut self) {
        self.shared.state().over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_on(&self) {
        let mut state = self.state();
        while !state.over {
            let Some(since) = state.since_ns else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // The thread that begins or ends a phase must not wait for a look.
            drop(state);
            let at = now_ns();
            let look = Snapshot::take(&Roots::default(), &self.devices).ok();
            state = self.state();
            if state.since_ns != Some(since) {
                continue;
            }
            if let Some(look) = look {
                state.keep(at, look, self.pace);
            }
            let wait = match self.pace {
                Pace::Growing => CLOSEST.max(Duration::from_nanos((at - since) / 4)),
                Pace::Even => state.distance,
            };
            let same = |state: &mut State| !state.over && state.since_ns == Some(since);
            let (back, _) = self
                .changed
                .wait_timeout_while(state, wait, same)
                .unwrap_or_else(PoisonError::into_inner);
            state = back;
        }
    }
}

impl State {
    fn keep(&mut self, at: u64, look: Snapshot, pace: Pace) {
        self.taken.push((at, look));
        if pace == Pace::Even && self.taken.len() >= MOST {
            let mut number = 0;
            self.taken.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.distance *= 2;
        }
    }
}

/// A device and the disks below it, lowest first, as iostat lists them: without partitions.
fn stack(device: &str) -> Vec<String> {
    let host = rig::host::Host::default();
    let mut names = host.ancestry(device);
    names.retain(|name| name == device || !host.is_partition(name));
    names.reverse();
    names
}

/// What passed between two looks, when it is long enough to mean something.
fn between(first: &(u64, Snapshot), second: &(u64, Snapshot)) -> Option<Middle> {
    if seconds(first.0, second.0) < SHORTEST {
        return None;
    }
    let lines = snapshot::lines(&Roots::default(), &first.1, &second.1);
    Some(Middle {
        seconds: lines.seconds,
        iostat_classic: lines.iostat_classic,
        iostat_modern: lines.iostat_modern,
        top_classic: lines.top_classic,
        top_modern: lines.top_modern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    fn run(looks: &MidphaseSampler, milliseconds: u64) -> (u64, u64) {
        looks.begin();
        let begin = now_ns();
        sleep(Duration::from_millis(milliseconds));
        let end = now_ns();
        looks.rest();
        (begin, end)
    }

    #[test]
    fn a_phase_of_a_second_has_a_middle_and_a_blink_has_none() {
        for pace in [Pace::Growing, Pace::Even] {
            let looks = MidphaseSampler::below(None, pace);
            let (begin, end) = run(&looks, 900);
            let middle = looks.of(begin, end).unwrap();
            assert!(
                middle.seconds >= SHORTEST && middle.seconds < 0.9,
                "{pace:?}: {}",
                middle.seconds
            );
            assert!(!middle.top_modern.is_empty() && !middle.iostat_classic.is_empty());
            let (begin, end) = run(&looks, 20);
            assert!(looks.of(begin, end).is_none(), "too short");
            assert!(looks.of(end + 1, end + 1_000_000_000).is_none(), "not seen");
        }
    }

    #[test]
    fn many_even_looks_are_thinned_out() {
        let look = Snapshot::take(&Roots::default(), &[]).unwrap();
        let mut state = State {
            distance: CLOSEST,
            ..State::default()
        };
        for at in 0..200 {
            state.keep(at, look.clone(), Pace::Even);
        }
        assert!(state.taken.len() < MOST);
        assert_eq!(state.taken[0].0, 0, "the first stays");
        assert!(state.distance >= CLOSEST * 4);
    }

    #[test]
    fn a_thread_without_work_ends_with_its_owner_and_has_taken_nothing() {
        let looks = MidphaseSampler::below(None, Pace::Growing);
        looks.rest();
        assert!(looks.of(0, u64::MAX).is_none());
        let shared = Arc::clone(&looks.shared);
        drop(looks);
        // The thread has given back its share.
        assert_eq!(Arc::strong_count(&shared), 1);
        assert!(shared.state().taken.is_empty());
    }
}
