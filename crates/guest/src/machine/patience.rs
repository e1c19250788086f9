//! How long a machine is waited for.
//!
//! A machine that shares its processors with other work is slow, and that is no reason to end it. So a limit is counted in the
//! time in which the machine could run: the wall clock, less the time in which its threads were ready and waited for a processor. The
//! kernel counts that for each thread (`/proc/PID/task/TID/schedstat`). A machine that does nothing, that is stopped or that spins
//! waits for no processor, so each of its seconds counts. A machine that gets no processor at all is ended after
//! [`MOST`] times its limit by the wall clock.
//!
//! Rejected: the processor time alone. A machine that hangs uses none, or a thousandth for its timers. Rejected: the idle time of the
//! processors. A machine may be bound to one of them, or to a share of them (cgroups).

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// No limit is longer than this many times itself by the wall clock.
const MOST: u32 = 10;
/// Between two looks at the machine's threads.
const PERIOD: Duration = Duration::from_secs(1);

/// What a thread has used, and how long it has waited for a processor, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Thread {
    ran: Duration,
    waited: Duration,
}

impl Thread {
    /// Of the first two numbers of a schedstat file, nanoseconds both.
    fn parse(text: &str) -> Option<Thread> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
        Some(Thread {
            ran: next()?,
            waited: next()?,
        })
    }
}

/// Threads by number.
type Threads = BTreeMap<u32, Thread>;

/// The threads of a process and of all that it started. Empty where the kernel does not count; those of the process alone where it
/// does not list children.
fn threads_of(process: u32) -> Threads {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let mut found = Threads::new();
    let mut processes = vec![process];
    while let Some(process) = processes.pop() {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        for task in tasks.flatten() {
            let name = task.file_name();
            let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let folder = format!("/proc/{process}/task/{number}");
            if let Some(thread) = Thread::parse(&read(format!("{folder}/schedstat"))) {
                found.insert(number, thread);
            }
            let children = read(format!("{folder}/children"));
            processes.extend(children.split_whitespace().flat_map(str::parse::<u32>));
        }
    }
    found
}

/// A point of a machine's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// Since the start, by the wall clock.
    wall: Duration,
    /// Of that, the time in which the machine could run.
    own: Duration,
}

/// The time in which a machine could run.
#[derive(Debug, Default)]
struct OwnTime {
    now: Moment,
    threads: Threads,
}

impl OwnTime {
    /// Adds the time from the last look to this one. Threads that ended in between are not seen: their waiting is counted as if they
    /// had run.
    fn add(&mut self, wall: Duration, threads: Threads) {
        let passed = wall.saturating_sub(self.now.wall);
        let (mut ran, mut waited, mut longest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for (number, thread) in &threads {
            let before = self.threads.get(number).copied().unwrap_or_default();
            ran += thread.ran.saturating_sub(before.ran);
            let wait = thread.waited.saturating_sub(before.waited);
            waited += wait;
            longest = longest.max(wait);
        }
        // Several threads may wait at once, while others run.
        let own = passed.saturating_sub(waited).max(ran).min(passed);
        // The kernel adds a wait when it ends: what began before the last look was taken for time of the machine's own.
        let earlier = longest.saturating_sub(passed);
        self.now = Moment {
            wall,
            own: (self.now.own + own).saturating_sub(earlier),
        };
        self.threads = threads;
    }
}

/// Follows a machine's program, and judges whether a limit has run out.
#[derive(Debug)]
pub(super) struct Patience {
    process: u32,
    begun: Instant,
    time: OwnTime,
}

impl Patience {
    /// With a program that was started then.
    pub(super) fn new(process: u32, begun: Instant) -> Patience {
        Patience {
            process,
            begun,
            time: OwnTime::default(),
        }
    }

    /// Now. What the machine has waited for since the last look, a second ago at most, is found out by the next one.
    pub(super) fn now(&mut self) -> Moment {
        let wall = self.begun.elapsed();
        let last = self.time.now;
        let since = wall.saturating_sub(last.wall);
        if since >= PERIOD {
            self.look();
            return self.time.now;
        }
        Moment {
            wall,
            own: last.own + since,
        }
    }

    fn look(&mut self) {
        self.time
            .add(self.begun.elapsed(), threads_of(self.process));
    }

    /// How long was waited since then, if that is longer than the limit.
    pub(super) fn is_over(&mut self, since: Moment, limit: Duration) -> Option<Waited> {
        if self.begun.elapsed().saturating_sub(since.wall) <= limit {
            return None;
        }
        self.look();
        over(since, self.time.now, limit)
    }
}

fn over(since: Moment, now: Moment, limit: Duration) -> Option<Waited> {
    let wall = now.wall.saturating_sub(since.wall);
    let own = now.own.saturating_sub(since.own);
    (own > limit || wall > limit.saturating_mul(MOST)).then(|| Waited {
        own: own.min(limit),
        starved: wall.saturating_sub(own),
    })
}

/// How long a machine was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The time in which it could run.
    pub own: Duration,
    /// The time besides, in which it waited for a processor.
    pub starved: Duration,
}

impl fmt::Display for Waited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.own.as_secs())?;
        match self.starved.as_secs() {
            0 => Ok(()),
            more => write!(f, " (and {more} s in which it waited for a processor)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A machine whose threads run and wait for the given milliseconds of each second; returns when a limit of [`LIMIT`] is over, in seconds.
    fn ends_after(each_second: &[(u64, u64)]) -> (u64, Waited) {
        let mut time = OwnTime::default();
        let mut threads: Threads = (0..each_second.len() as u32)
            .map(|number| (number, Thread::default()))
            .collect();
        for second in 1..10_000 {
            for (thread, (ran, waited)) in threads.values_mut().zip(each_second) {
                thread.ran += Duration::from_millis(*ran);
                thread.waited += Duration::from_millis(*waited);
            }
            time.add(Duration::from_secs(second), threads.clone());
            if let Some(waited) = over(Moment::default(), time.now, LIMIT) {
                return (second, waited);
            }
        }
        panic!("it is waited for without end");
    }

    #[test]
    fn a_machine_is_waited_for_as_long_as_it_could_run() {
        for (what, each_second, seconds) in [
            ("a processor of its own", &[(1000, 0)][..], 61),
            ("idle, or stopped", &[(0, 0)], 61),
            ("its timers alone", &[(2, 0)], 61),
            ("a fifth of a processor", &[(200, 800)], 301),
            (
                "one with another and a thread that sleeps",
                &[(500, 500), (0, 0)],
                121,
            ),
            ("processes that take turns", &[(100, 400), (100, 400)], 301),
            // A guest of four processors on a busy host of four spins: it has all the time that one processor has.
            ("processors that spin", &[(300, 700); 4], 61),
            // No waiting that the kernel counts.
            ("no counts", &[], 61),
            ("no processor at all", &[(0, 1000)], 601),
            ("next to none", &[(1, 999)], 601),
        ] {
            assert_eq!(ends_after(each_second).0, seconds, "{what}");
        }
    }

    #[test]
    fn a_wait_that_is_longer_than_a_look_counts_when_it_ends() {
        // It runs for 20 ms every five seconds.
        let mut time = OwnTime::default();
        let mut thread = Thread::default();
        for second in 1..=500 {
            if second % 5 == 0 {
                thread.ran += Duration::from_millis(20);
                thread.waited += Duration::from_millis(4980);
            }
            time.add(Duration::from_secs(second), [(1, thread)].into());
            assert!(time.now.own < Duration::from_secs(8), "{time:?}");
        }
    }

    #[test]
    fn what_is_said_separates_the_two() {
        assert_eq!(ends_after(&[(1000, 0)]).1.to_string(), "60 s");
        let starved = ends_after(&[(200, 800)]).1.to_string();
        assert_eq!(
            starved,
            "60 s (and 240 s in which it waited for a processor)"
        );
        let starved = ends_after(&[(0, 1000)]).1.to_string();
        assert_eq!(
            starved,
            "0 s (and 601 s in which it waited for a processor)"
        );
    }

    #[test]
    fn a_limit_begins_at_the_last_sign_of_life() {
        let mut time = OwnTime::default();
        time.add(Duration::from_secs(100), Threads::new());
        let since = time.now;
        time.add(Duration::from_secs(160), Threads::new());
        assert_eq!(over(since, time.now, LIMIT), None);
        time.add(Duration::from_secs(161), Threads::new());
        assert!(over(since, time.now, LIMIT).is_some());
    }

    #[test]
    fn what_is_not_schedstat_is_no_thread() {
        let parsed = Thread::parse("1500000000 250000000 7\n").unwrap();
        assert_eq!(parsed.ran, Duration::from_millis(1500));
        assert_eq!(parsed.waited, Duration::from_millis(250));
        for text in ["", "1", "x 1 2", "-1 1 1"] {
            assert_eq!(Thread::parse(text), None, "{text}");
        }
    }

    /// Shells that burn one processor between them: none of them can run for the whole time.
    #[test]
    fn the_kernel_counts_what_a_machine_and_its_children_wait() {
        use super::super::process::{one_cpu, tests::shell};
        if std::fs::metadata("/proc/self/schedstat").is_err() {
            testkit::skip!("the kernel does not count what threads wait (CONFIG_SCHED_INFO)");
            return;
        }
        let console = tempfile::tempfile().unwrap();
        let begun = Instant::now();
        // A program is started on the processor that its parent is on. The second one's work is done by a child, which ends with it.
        rustix::thread::sched_setaffinity(None, &one_cpu().unwrap()).unwrap();
        let burn = "while :; do :; done";
        let burning: Vec<_> = [burn, "(while kill -0 $$; do :; done); :", burn, burn]
            .map(|script| shell(script, &console))
            .into();
        let mut patience = Patience::new(burning[1].id(), begun);
        std::thread::sleep(Duration::from_secs(2));
        patience.look();
        let Moment { wall, own } = patience.time.now;
        assert!(own < wall.mul_f64(0.7), "{own:?} of {wall:?}");
        assert!(own > Duration::ZERO);
    }
}
