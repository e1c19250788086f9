//! Telemetry at a fixed interval: the kernel's counters as rows for a [`Sink`].
//!
//! The counters are stored as they are, not as rates: any formula can be applied later, and a row
//! that came late loses nothing. Ticks are at absolute times, begin + k * interval, so that a
//! slow tick does not push the later ones; a tick whose time has passed is skipped and counted in
//! [`Stats::missed`], because two rows a microsecond apart are useless. Times are
//! CLOCK_MONOTONIC nanoseconds, the clock of the workload's phases.
//!
//! Every row holds every column, so a reader needs no state. Columns may be added while the
//! sampler runs (a task that becomes busy); rows before that lack the column, which means 0 for
//! a task. A signal-driven timer and an in-kernel sampler (perf, eBPF) were rejected: the first
//! disturbs the workload's system calls, the second needs privileges and a compiler.

mod engine;
mod source;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::Roots;
pub use clock::monotonic_ns;
use engine::Engine;

/// The destination of rows.
pub trait Sink: Send {
    /// Declares a column and returns its number. Called before the first row and, for a task that
    /// becomes busy, between rows.
    fn column(&mut self, name: &str, unit: &str) -> u32;
    /// Takes a row: CLOCK_MONOTONIC nanoseconds, and a value for each column declared so far.
    ///
    /// # Errors
    /// Ends the sampling; [`Sampler::stop`] returns it.
    fn row(&mut self, at_ns: u64, values: &[(u32, i64)]) -> io::Result<()>;
    /// The last row has been given.
    ///
    /// # Errors
    /// As [`Sink::row`].
    fn finish(&mut self) -> io::Result<()>;
}

/// What is sampled and how often.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time between rows; at least 1 ms.
    pub interval: Duration,
    /// Kernel names of block devices (`loop3`, and the disk under it).
    pub devices: Vec<String>,
    /// How many of the busiest tasks are followed at every tick; 0 follows none.
    pub tasks: usize,
    /// All tasks are scanned at every `scan_every`-th tick.
    pub scan_every: u32,
    /// Where `/proc` and `/sys` are.
    pub roots: Roots,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            interval: Duration::from_millis(100),
            devices: Vec::new(),
            tasks: 12,
            scan_every: 5,
            roots: Roots::default(),
        }
    }
}

/// Why sampling could not begin or ended early.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The interval is too short.
    #[error("sampling interval {0:?} is below 1 ms: choose 10 ms or more")]
    Interval(Duration),
    /// A device has no counters.
    #[error("{path}: {cause}: name a block device as /sys/class/block does")]
    Device {
        /// The file that was tried.
        path: String,
        /// The error of the kernel.
        cause: io::Error,
    },
    /// The kernel would not start a thread.
    #[error("cannot start the sampling thread: {0}: is the limit on threads (ulimit -u) reached?")]
    Thread(io::Error),
    /// The sink failed.
    #[error(
        "telemetry could not be stored: {0}: check the space and permissions of the run's folder"
    )]
    Sink(io::Error),
    /// The sampling thread panicked.
    #[error("the sampling thread died: this is a defect of fslab, please report it")]
    Died,
}

/// The sampler's own figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Rows given to the sink.
    pub rows: u64,
    /// Ticks that were skipped because their time had passed.
    pub missed: u64,
    /// The longest delay of a tick, nanoseconds.
    pub max_late_ns: u64,
    /// CPU time of the sampling thread, nanoseconds (CLOCK_THREAD_CPUTIME_ID).
    pub own_cpu_ns: u64,
    /// From the first row to the last, nanoseconds.
    pub elapsed_ns: u64,
    /// Sources that could not be sampled, with the reason; they have no columns.
    pub absent: Vec<String>,
    /// Files that stopped being readable (a device that was detached); their columns no longer change.
    pub gone: Vec<String>,
}

impl Stats {
    /// Share of one CPU that the sampler used, in percent.
    pub fn own_percent(&self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        100.0 * self.own_cpu_ns as f64 / self.elapsed_ns as f64
    }
}

#[derive(Default)]
struct Control {
    stop: Mutex<bool>,
    wake: Condvar,
    failed: AtomicBool,
}

impl Control {
    fn request_stop(&self) {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }

    /// Sleeps for `time` or until asked to stop; whether to stop.
    fn sleep(&self, time: Duration) -> bool {
        let guard = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        let (guard, _) = self
            .wake
            .wait_timeout_while(guard, time, |stop| !*stop)
            .unwrap_or_else(PoisonError::into_inner);
        *guard
    }
}

type Outcome = (Result<Stats, SamplerError>, Box<dyn Sink>);

/// A running sampler. Dropping it stops it; [`Sampler::stop`] also returns its result.
pub struct Sampler {
    control: Arc<Control>,
    thread: Option<JoinHandle<Outcome>>,
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler").finish_non_exhaustive()
    }
}

impl Sampler {
    /// Opens all sources, declares the columns, gives the first row, and continues in a thread named
    /// `fslab-probe`. When this returns, the baseline is stored and the workload may begin.
    ///
    /// # Errors
    /// See [`SamplerError`].
    pub fn start(options: &Options, sink: Box<dyn Sink>) -> Result<Sampler, SamplerError> {
        if options.interval < Duration::from_millis(1) {
            return Err(SamplerError::Interval(options.interval));
        }
        let mut engine = Engine::open(options, sink)?;
        engine.tick().map_err(SamplerError::Sink)?;
        let control = Arc::new(Control::default());
        let theirs = Arc::clone(&control);
        let thread = std::thread::Builder::new()
            .name("fslab-probe".to_owned())
            .stack_size(256 << 10)
            .spawn(move || run(engine, &theirs))
            .map_err(SamplerError::Thread)?;
        Ok(Sampler {
            control,
            thread: Some(thread),
        })
    }

    /// Whether the sampling ended early; [`Sampler::stop`] returns the reason.
    pub fn failed(&self) -> bool {
        self.control.failed.load(Ordering::Acquire)
    }

    /// Gives a last row, finishes the sink and returns it with the sampler's own figures.
    ///
    /// # Errors
    /// When the sink failed, at this row or earlier.
    pub fn stop(mut self) -> Result<(Stats, Box<dyn Sink>), SamplerError> {
        self.control.request_stop();
        let thread = self.thread.take().ok_or(SamplerError::Died)?;
        let (outcome, sink) = thread.join().map_err(|_| SamplerError::Died)?;
        outcome.map(|stats| (stats, sink))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.control.request_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut engine: Engine, control: &Control) -> Outcome {
    let outcome = ticks(&mut engine, control);
    if outcome.is_err() {
        control.failed.store(true, Ordering::Release);
    }
    (
        outcome.map(|()| engine.stats()).map_err(SamplerError::Sink),
        engine.into_sink(),
    )
}

fn ticks(engine: &mut Engine, control: &Control) -> io::Result<()> {
    loop {
        if control.sleep(engine.until_next()) {
            break;
        }
        engine.tick()?;
    }
    engine.last()
}
