//! Ranks as threads of this process.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Group, Place};
use crate::{Error, Observer, Outcome};

/// How often progress is looked at.
const TICK: Duration = Duration::from_millis(200);

/// What the threads share.
struct Shared {
    places: Vec<Place>,
    /// How far the clock of each rank is ahead, ns: 0, except in tests.
    ahead: Vec<u64>,
    done: Vec<AtomicU64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// A rank has failed: the others must not wait for it.
    failed: bool,
    /// Ranks that have arrived at the barrier.
    arrived: usize,
    /// Barriers that all have passed.
    passed: u64,
    /// What ranks have brought to the current exchange.
    brought: Vec<Option<Vec<u8>>>,
    /// What all had brought to the last exchange.
    exchanged: Vec<Vec<u8>>,
    /// Numbers on their way: from, to, number.
    sent: VecDeque<(u32, u32, u64)>,
}

/// One of the threads.
struct Member<'a> {
    rank: u32,
    shared: &'a Shared,
}

fn abandoned() -> Error {
    Error::Abandoned
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, waits: impl Fn(&State) -> bool) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.lock();
        while !state.failed && waits(&state) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.failed {
            return Err(abandoned());
        }
        Ok(state)
    }

    fn fail(&self) {
        self.lock().failed = true;
        self.changed.notify_all();
    }
}

impl Member<'_> {
    fn meet(&self, mut state: MutexGuard<'_, State>) -> Result<(), Error> {
        let all = self.shared.places.len();
        let turn = state.passed;
        state.arrived += 1;
        if state.arrived == all {
            state.arrived = 0;
            state.passed += 1;
            let brought = state.brought.iter_mut().map(Option::take);
            let brought: Vec<_> = brought.map(Option::unwrap_or_default).collect();
            state.exchanged = brought;
            drop(state);
            self.shared.changed.notify_all();
            return Ok(());
        }
        drop(state);
        let waited = self.shared.wait_while(|state| state.passed == turn);
        waited.map(drop)
    }

    /// What every rank brought. A second barrier, so that no rank is at the next exchange before all have read.
    fn exchange(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let mut state = self.shared.wait_while(|_| false)?;
        if let Some(place) = state.brought.get_mut(self.rank as usize) {
            *place = Some(mine);
        }
        self.meet(state)?;
        let all = self.shared.lock().exchanged.clone();
        self.barrier()?;
        Ok(all)
    }
}

impl Group for Member<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn places(&self) -> &[Place] {
        &self.shared.places
    }

    fn is_of_processes(&self) -> bool {
        false
    }

    fn now_ns(&self) -> u64 {
        let ahead = self.shared.ahead.get(self.rank as usize);
        crate::clock::now_ns() + ahead.copied().unwrap_or_default()
    }

    fn barrier(&self) -> Result<(), Error> {
        let state = self.shared.wait_while(|_| false)?;
        self.meet(state)
    }

    fn broadcast(&self, mine: Vec<u8>) -> Result<Vec<u8>, Error> {
        Ok(self.exchange(mine)?.swap_remove(0))
    }

    fn gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let all = self.exchange(mine)?;
        Ok(if self.rank == 0 { all } else { Vec::new() })
    }

    fn all(&self, mine: u64) -> Result<Vec<u64>, Error> {
        let all = self.exchange(mine.to_le_bytes().to_vec())?;
        let number = |bytes: Vec<u8>| bytes.try_into().map_or(0, u64::from_le_bytes);
        Ok(all.into_iter().map(number).collect())
    }

    fn send(&self, to: u32, value: u64) -> Result<(), Error> {
        let mut state = self.shared.wait_while(|_| false)?;
        state.sent.push_back((self.rank, to, value));
        drop(state);
        self.shared.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: u32) -> Result<u64, Error> {
        let mine = |(sender, to, _): &(u32, u32, u64)| *sender == from && *to == self.rank;
        let mut state = self
            .shared
            .wait_while(|state| !state.sent.iter().any(mine))?;
        let at = state.sent.iter().position(mine);
        let found = at.and_then(|at| state.sent.remove(at));
        found.map(|(_, _, value)| value).ok_or_else(abandoned)
    }

    fn done(&self) -> &AtomicU64 {
        &self.shared.done[self.rank as usize]
    }
}

/// Lets the others go when a rank leaves early, a panic included.
struct LetGo<'a>(&'a Shared, bool);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fail();
        }
    }
}

/// Where the threads of this process run.
fn here() -> Place {
    let cpus = rustix::thread::sched_getaffinity(None).ok();
    let cpus = cpus.map_or_else(Vec::new, |set| {
        let all = 0..rustix::thread::CpuSet::MAX_CPU;
        all.filter(|cpu| set.is_set(*cpu))
            .map(|cpu| cpu as u32)
            .collect()
    });
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let host = rustix::system::uname();
    Place {
        node: host.nodename().to_string_lossy().into_owned(),
        boot: boot.unwrap_or_default().trim().to_owned(),
        time: std::fs::read_link("/proc/self/ns/time")
            .map_or_else(|_| String::new(), |link| link.display().to_string()),
        cpus,
        pid: std::process::id(),
    }
}

impl Place {
    /// The calling process's own.
    pub fn here() -> Place {
        here()
    }
}

/// What a rank runs. Rank 0 has the outcome.
pub type Work<'w> = dyn Fn(&dyn Group, &dyn Observer) -> Result<Option<Outcome>, Error> + Sync + 'w;

/// Runs the work with a number of threads as ranks.
///
/// # Errors
/// That of the first rank that failed.
pub fn run(ranks: u32, observer: &dyn Observer, work: &Work<'_>) -> Result<Outcome, Error> {
    run_in(
        vec![here(); ranks as usize],
        vec![0; ranks as usize],
        observer,
        work,
    )
}

/// [`run`] with places and clocks of one's own.
pub(crate) fn run_in(
    places: Vec<Place>,
    ahead: Vec<u64>,
    observer: &dyn Observer,
    work: &Work<'_>,
) -> Result<Outcome, Error> {
    let ranks = places.len();
    let shared = Shared {
        done: (0..ranks).map(|_| AtomicU64::new(0)).collect(),
        state: Mutex::new(State {
            brought: vec![None; ranks],
            ..State::default()
        }),
        changed: Condvar::new(),
        places,
        ahead,
    };
    let over = AtomicBool::new(false);
    let one = |rank: u32| {
        let mut guard = LetGo(&shared, false);
        let member = Member {
            rank,
            shared: &shared,
        };
        let outcome = work(&member, observer);
        guard.1 = outcome.is_ok();
        outcome
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let one = &one;
        let spawned = (0..ranks as u32).map(|rank| {
            let name = format!("rank {rank}");
            let builder = std::thread::Builder::new().name(name);
            builder.spawn_scoped(scope, move || one(rank))
        });
        let spawned: Vec<_> = spawned.collect();
        if spawned.iter().any(Result::is_err) {
            shared.fail();
        }
        scope.spawn(|| show(&shared, observer, &over));
        let joined = spawned.into_iter().map(|thread| {
            let thread = thread.map_err(Error::io("start a rank on", "/proc/self/task"))?;
            thread.join().unwrap_or_else(|panic| {
                Err(Error::Defect {
                    phase: "ranks".into(),
                    what: "a rank".into(),
                    reason: crate::children::last_words(&*panic),
                })
            })
        });
        let joined = joined.collect();
        over.store(true, Ordering::Relaxed);
        joined
    });
    first_of(results)
}

/// The outcome of rank 0, or the error of the rank that failed first: the others were only let go.
fn first_of(results: Vec<Result<Option<Outcome>, Error>>) -> Result<Outcome, Error> {
    let mut outcome = None;
    let mut failure = None;
    for result in results {
        match result {
            Ok(mine) => outcome = outcome.or(mine),
            Err(Error::Abandoned) => drop(failure.get_or_insert(Error::Abandoned)),
            Err(error) => match failure {
                None | Some(Error::Abandoned) => failure = Some(error),
                Some(_) => {}
            },
        }
    }
    match failure {
        Some(error) => Err(error),
        None => outcome.ok_or_else(abandoned),
    }
}

/// Reports progress until the work is over.
fn show(shared: &Shared, observer: &dyn Observer, over: &AtomicBool) {
    let mut shown = 0;
    let all = || -> u64 {
        shared
            .done
            .iter()
            .map(|done| done.load(Ordering::Relaxed))
            .sum()
    };
    loop {
        let ends = over.load(Ordering::Relaxed);
        let done = all();
        if done > shown {
            observer.advance(done - shown);
            shown = done;
        }
        if ends {
            return;
        }
        // Short waits, so that a short run does not take a tick longer.
        let mut waited = Duration::ZERO;
        while waited < TICK && !over.load(Ordering::Relaxed) {
            std::thread::sleep(TICK / 40);
            waited += TICK / 40;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::group::{clocks, size};

    fn outcome() -> Outcome {
        Outcome::default()
    }

    #[test]
    fn ranks_meet_and_exchange() {
        let ran = run(5, &Silent, &|group, _| {
            let rank = group.rank();
            for round in 0..50_u64 {
                group.barrier()?;
                let all = group.all(u64::from(rank) + round)?;
                assert_eq!(all, (0..5).map(|rank| rank + round).collect::<Vec<_>>());
                let sent = group.broadcast(vec![rank as u8 + 7])?;
                assert_eq!(sent, [7]);
                let gathered = group.gather(vec![rank as u8; rank as usize])?;
                assert_eq!(gathered.len(), if rank == 0 { 5 } else { 0 });
            }
            assert_eq!(size(group), 5);
            Ok((rank == 0).then(outcome))
        });
        ran.unwrap();
    }

    #[test]
    fn a_rank_that_fails_or_dies_lets_the_others_go() {
        let failed = run(4, &Silent, &|group, _| {
            if group.rank() == 2 {
                return Err(Error::Interrupted {
                    phase: "here".into(),
                });
            }
            group.barrier()?;
            Ok(Some(outcome()))
        });
        assert!(
            matches!(failed, Err(Error::Interrupted { .. })),
            "{failed:?}"
        );
        let died = run(3, &Silent, &|group, _| {
            assert!(group.rank() != 1, "no more");
            group.receive(1)?;
            Ok(Some(outcome()))
        });
        let message = died.unwrap_err().to_string();
        assert!(message.contains("no more"), "{message}");
    }

    /// The artificial half second of one node is found within its error.
    #[test]
    fn a_clock_that_is_ahead_is_found() {
        let places = ["a", "a", "b", "b"].map(|boot| Place {
            boot: boot.into(),
            ..here()
        });
        let ahead = vec![0, 0, 500_000_000, 500_000_000];
        let ran = run_in(places.to_vec(), ahead, &Silent, &|group, _| {
            let found = clocks::compare(group)?;
            if group.rank() != 0 {
                assert!(found.is_empty());
                return Ok(None);
            }
            assert_eq!(found.len(), 1);
            let seen = *found.values().next().unwrap();
            assert!(
                (seen.offset_ns - 5e8).abs() <= seen.error_ns + 1.0,
                "{seen:?}"
            );
            Ok(Some(outcome()))
        });
        ran.unwrap();
    }
}
