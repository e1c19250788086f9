//! Which request of a thread is next, and when: order, mixture, fsyncs, rates and the end.

use super::permutation::{Permutation, Random, mixed};
use super::stats::Recorder;
use crate::engine::mixed::{Action, Next, Requests};
use crate::engine::{Counter, Direction};
use params::MixSpec;

/// A thread's progress, for the thread that watches.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) reads: Counter,
    pub(super) writes: Counter,
}

/// A thread's requests.
pub(super) struct Plan<'a> {
    spec: &'a MixSpec,
    shown: &'a Shown,
    /// What is recorded of those that complete.
    pub(super) recorder: Recorder,
    begin_ns: u64,
    /// No request begins from here on.
    end_ns: u64,
    blocks: u64,
    key: u64,
    order: Option<Permutation>,
    random: Random,
    /// Passes over the file that are over.
    pass: u64,
    /// Position in this pass of all requests, for a random order and for the end of the pass.
    position: u64,
    /// Next block of sequential reads and writes.
    sequential: [u64; 2],
    /// Requests begun, reads and writes.
    begun: [u64; 2],
    /// Transfers completed, the ramp's included, and shown.
    done: [u64; 2],
    /// A direction that was drawn and had to wait for its rate.
    drawn: Option<Direction>,
    fsync_is_due: bool,
}

const fn index(direction: Direction) -> usize {
    match direction {
        Direction::Read => 0,
        Direction::Write => 1,
    }
}

const fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Read => Direction::Write,
        Direction::Write => Direction::Read,
    }
}

impl<'a> Plan<'a> {
    /// The requests of this thread; the clock starts with [`Plan::start`].
    pub(super) fn new(spec: &'a MixSpec, thread: u32, shown: &'a Shown) -> Plan<'a> {
        let key = mixed(spec.seed ^ mixed(u64::from(thread) + 1));
        let mut plan = Plan {
            spec,
            shown,
            recorder: Recorder::default(),
            begin_ns: 0,
            end_ns: u64::MAX,
            blocks: spec.blocks(),
            key,
            order: None,
            random: Random::new(!key),
            pass: 0,
            position: 0,
            sequential: [0; 2],
            begun: [0; 2],
            done: [0; 2],
            drawn: None,
            fsync_is_due: false,
        };
        plan.shuffle();
        plan
    }

    /// The clock starts now.
    pub(super) fn start(&mut self, now_ns: u64) {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let counts_ns = now_ns + ns(self.spec.ramp_time);
        self.begin_ns = now_ns;
        if self.spec.runtime > 0.0 {
            self.end_ns = counts_ns + ns(self.spec.runtime);
        }
        self.recorder.start(counts_ns);
    }

    /// Transfers that have completed, the ramp's included.
    pub(super) fn transfers(&self) -> u64 {
        self.done.iter().sum()
    }

    fn shuffle(&mut self) {
        if self.spec.rw.is_random() {
            let key = mixed(self.key.wrapping_add(self.pass));
            self.order = Some(Permutation::new(self.blocks, key));
        }
    }

    /// Whether another pass begins after this one; if so, it does.
    fn goes_on(&mut self) -> bool {
        if !self.spec.time_based {
            return false;
        }
        self.pass += 1;
        self.position = 0;
        self.shuffle();
        true
    }

    #[inline]
    fn draw(&mut self) -> Direction {
        match self.spec.share(Direction::Read) {
            0 => Direction::Write,
            100 => Direction::Read,
            share if self.random.percent() < share => Direction::Read,
            _ => Direction::Write,
        }
    }

    /// When the next request in a direction is due under its rate: when all bytes begun before it have
    /// had their time.
    #[inline]
    fn due(&self, direction: Direction) -> u64 {
        let Some(rate) = self.spec.rate(direction) else {
            return 0;
        };
        let bytes = u128::from(self.begun[index(direction)]) * u128::from(self.spec.block.get());
        let ns = bytes * 1_000_000_000 / u128::from(rate);
        self.begin_ns
            .saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The direction of the next request, or the time until which both have to wait. As in fio, a
    /// direction that is ahead of its rate gives way to the other.
    #[inline]
    fn direction(&mut self, now_ns: u64) -> Result<Direction, u64> {
        let wanted = match self.drawn.take() {
            Some(drawn) => drawn,
            None => self.draw(),
        };
        let due = self.due(wanted);
        if due <= now_ns {
            return Ok(wanted);
        }
        self.drawn = Some(wanted);
        if self.spec.share(other(wanted)) == 0 {
            return Err(due);
        }
        let instead = self.due(other(wanted));
        if instead <= now_ns {
            self.drawn = None;
            return Ok(other(wanted));
        }
        Err(due.min(instead))
    }

    #[inline]
    fn block(&mut self, direction: Direction) -> u64 {
        if let Some(order) = &self.order {
            return order.at(self.position);
        }
        let next = &mut self.sequential[index(direction)];
        let block = *next;
        *next = if block + 1 == self.blocks {
            0
        } else {
            block + 1
        };
        block
    }
}

impl Requests for Plan<'_> {
    #[inline]
    fn next(&mut self, now_ns: u64) -> Next {
        if now_ns >= self.end_ns {
            return Next::End;
        }
        if self.fsync_is_due {
            self.fsync_is_due = false;
            return Next::Do(Action::Fsync);
        }
        if self.position == self.blocks && !self.goes_on() {
            return Next::End;
        }
        let direction = match self.direction(now_ns) {
            Ok(direction) => direction,
            Err(due) => return Next::WaitUntil(due.min(self.end_ns)),
        };
        let block = self.block(direction);
        self.position += 1;
        let begun = &mut self.begun[index(direction)];
        *begun += 1;
        let every = u64::from(self.spec.fsync);
        if direction == Direction::Write && every > 0 && begun.is_multiple_of(every) {
            self.fsync_is_due = true;
        }
        Next::Do(Action::Transfer(direction, block))
    }

    #[inline]
    fn finished(&mut self, action: Action, latency_ns: u64, now_ns: u64) {
        if let Action::Transfer(direction, _) = action {
            let done = &mut self.done[index(direction)];
            *done += 1;
            match direction {
                Direction::Read => self.shown.reads.show(*done),
                Direction::Write => self.shown.writes.show(*done),
            }
        }
        self.recorder.finished(action, latency_ns, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use params::Bytes;
    use params::mix::Rw;

    use super::*;

    const START: u64 = 1_000_000_000;

    fn spec(rw: Rw, blocks: u64) -> MixSpec {
        MixSpec {
            rw,
            size: Bytes(blocks * 4096),
            ..MixSpec::new("/nowhere")
        }
    }

    /// All requests of a plan whose every request takes 1 us, and the time of each.
    fn requests(spec: &MixSpec) -> Vec<(u64, Action)> {
        let shown = Shown::default();
        let mut plan = Plan::new(spec, 0, &shown);
        plan.start(START);
        let (mut now, mut all) = (START, Vec::new());
        loop {
            match plan.next(now) {
                Next::End => return all,
                Next::WaitUntil(due) => {
                    assert!(due > now);
                    now = due;
                }
                Next::Do(action) => {
                    all.push((now - START, action));
                    now += 1000;
                    plan.finished(action, 1000, now);
                }
            }
        }
    }

    fn blocks(requests: &[(u64, Action)], wanted: Direction) -> Vec<u64> {
        let block = |(_, action): &(u64, Action)| match action {
            Action::Transfer(direction, block) if *direction == wanted => Some(*block),
            _ => None,
        };
        requests.iter().filter_map(block).collect()
    }

    #[test]
    fn a_random_mixture_visits_each_block_once_in_its_shares() {
        let mut spec = spec(Rw::RandRw, 10_000);
        spec.rwmixread = 70;
        let all = requests(&spec);
        let (reads, writes) = (
            blocks(&all, Direction::Read),
            blocks(&all, Direction::Write),
        );
        assert!((6_800..7_200).contains(&reads.len()), "{}", reads.len());
        let mut both = [reads, writes].concat();
        both.sort_unstable();
        assert!(both.into_iter().eq(0..10_000));
    }

    #[test]
    fn sequential_reads_and_writes_each_have_their_own_position() {
        let all = requests(&spec(Rw::Rw, 1000));
        for direction in [Direction::Read, Direction::Write] {
            let blocks = blocks(&all, direction);
            assert!((400..600).contains(&blocks.len()));
            assert!(blocks.iter().copied().eq(0..blocks.len() as u64));
        }
        assert_eq!(
            blocks(&requests(&spec(Rw::Read, 7)), Direction::Read),
            [0, 1, 2, 3, 4, 5, 6]
        );
        assert!(blocks(&requests(&spec(Rw::Read, 7)), Direction::Write).is_empty());
    }

    #[test]
    fn an_fsync_follows_every_so_many_writes() {
        let mut spec = spec(Rw::Write, 10);
        spec.fsync = 4;
        let all: Vec<Action> = requests(&spec)
            .into_iter()
            .map(|(_, action)| action)
            .collect();
        assert_eq!(all.len(), 12);
        assert_eq!((all[4], all[9]), (Action::Fsync, Action::Fsync));
    }

    #[test]
    fn a_run_by_time_repeats_the_file_in_another_order_until_its_end() {
        let mut spec = spec(Rw::RandRead, 100);
        (spec.runtime, spec.time_based) = (0.000_25, true);
        let all = blocks(&requests(&spec), Direction::Read);
        assert_eq!(all.len(), 250);
        assert_ne!(all[..100], all[100..200]);
        // Without it the file's end is the end, and so is the time where it comes first.
        spec.time_based = false;
        assert_eq!(requests(&spec).len(), 100);
        spec.runtime = 0.000_05;
        assert_eq!(requests(&spec).len(), 50);
    }

    #[test]
    fn a_rate_is_kept_and_a_delay_is_caught_up() {
        let mut spec = spec(Rw::RandRead, 1000);
        spec.rate_read = Bytes(4096 * 1000);
        let all = requests(&spec);
        for (at, (time, _)) in all.iter().enumerate() {
            assert_eq!(*time, at as u64 * 1_000_000);
        }
        let shown = Shown::default();
        let mut plan = Plan::new(&spec, 0, &shown);
        plan.start(START);
        let late = START + 5_000_000;
        let begun = (0..20)
            .filter(|_| matches!(plan.next(late), Next::Do(_)))
            .count();
        assert_eq!(begun, 6);
        assert_eq!(plan.next(late), Next::WaitUntil(START + 6_000_000));
    }

    #[test]
    fn a_direction_ahead_of_its_rate_gives_way_to_the_other() {
        let mut spec = spec(Rw::RandRw, 1000);
        (spec.rate_read, spec.rate_write) = (Bytes(4096 * 3000), Bytes(4096 * 1000));
        let all = requests(&spec);
        let (reads, writes) = (
            blocks(&all, Direction::Read),
            blocks(&all, Direction::Write),
        );
        // Both at their rates, whatever the mixture: 3 to 1.
        assert!((740..760).contains(&reads.len()), "{}", reads.len());
        assert_eq!(reads.len() + writes.len(), 1000);
        let end = all.last().unwrap().0;
        assert!((245_000_000..255_000_000).contains(&end), "{end}");
    }

    #[test]
    fn what_completes_in_the_ramp_is_shown_and_not_recorded() {
        let mut spec = spec(Rw::Read, 100);
        spec.ramp_time = 0.000_04;
        let shown = Shown::default();
        let mut plan = Plan::new(&spec, 0, &shown);
        plan.start(START);
        for at in 1..=100 {
            plan.finished(
                Action::Transfer(Direction::Read, at),
                1000,
                START + at * 1000,
            );
        }
        assert_eq!((shown.reads.get(), plan.transfers()), (100, 100));
        assert_eq!(plan.recorder.read.count(), 61);
    }
}
