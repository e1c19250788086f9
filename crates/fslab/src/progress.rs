//! Progress on stderr: a live line on a terminal, else a line every 5 s while it changes and every
//! minute while it does not.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use record::{Entry, Event, FailureKind};
use study::Trial;
use workload::Progress;

use crate::cli::LiveFormat;
use crate::out;

const QUIET: Duration = Duration::from_secs(5);
/// After this many silent intervals a line is printed although it has not changed.
const AGAIN: u32 = 12;

/// Progress of a run on a terminal, or as lines in a log.
pub(crate) struct Terminal {
    voice: Voice,
    jsonl: bool,
    /// The first error when printing events.
    lost: Mutex<Option<anyhow::Error>>,
    trials: usize,
    done: AtomicUsize,
    state: Mutex<State>,
}

/// How the current line is shown.
pub(crate) enum Voice {
    /// One line, redrawn in place.
    Bar(ProgressBar),
    /// New lines at intervals, printed by a thread, because a long mkfs or pause reports nothing.
    Lines {
        line: Arc<Mutex<String>>,
        stop: Option<Sender<()>>,
        speaker: Option<JoinHandle<()>>,
    },
}

struct State {
    /// The current step, for people.
    doing: String,
    /// The phase, and its bytes at its first report: for its rate.
    phase: String,
    seen: (u64, Instant),
    /// When the workload and the whole run started: for the time left.
    workload: Instant,
    began: Instant,
    /// When the last trial ended.
    finished: Instant,
}

impl Voice {
    pub(crate) fn new() -> Voice {
        if !std::io::stderr().is_terminal() {
            return Voice::lines();
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Voice::Bar(bar)
    }

    fn lines() -> Voice {
        let line = Arc::new(Mutex::new(String::new()));
        let (stop, stopped) = channel();
        let current = Arc::clone(&line);
        let speak = move || {
            let (mut printed, mut silent) = (String::new(), 0);
            while stopped.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                let line = current
                    .lock()
                    .map_or_else(|_| String::new(), |line| line.clone());
                silent += 1;
                if !line.is_empty() && (line != printed || silent >= AGAIN) {
                    out::say(&line);
                    (printed, silent) = (line, 0);
                }
            }
        };
        let speaker = std::thread::Builder::new()
            .name("fslab-progress".into())
            .spawn(speak)
            .ok();
        Voice::Lines {
            line,
            stop: Some(stop),
            speaker,
        }
    }

    pub(crate) fn set(&self, message: String) {
        match self {
            Voice::Bar(bar) => bar.set_message(message),
            Voice::Lines { line, .. } => {
                if let Ok(mut line) = line.lock() {
                    *line = message;
                }
            }
        }
    }

    /// A line that stays.
    fn say(&self, message: &str) {
        match self {
            Voice::Bar(bar) => bar.println(message),
            Voice::Lines { .. } => out::say(message),
        }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        match self {
            Voice::Bar(bar) => bar.finish_and_clear(),
            Voice::Lines { stop, speaker, .. } => {
                drop(stop.take());
                if let Some(speaker) = speaker.take() {
                    let _ = speaker.join();
                }
            }
        }
    }
}

impl Terminal {
    /// Progress of this many trials (1: a single workload).
    pub(crate) fn new(trials: usize, format: LiveFormat) -> Self {
        let now = Instant::now();
        Terminal {
            voice: Voice::new(),
            jsonl: format == LiveFormat::Jsonl,
            lost: Mutex::new(None),
            trials,
            done: AtomicUsize::new(0),
            state: Mutex::new(State {
                doing: String::new(),
                phase: String::new(),
                seen: (0, now),
                workload: now,
                began: now,
                finished: now,
            }),
        }
    }

    /// Prints an event. A closed stdout must not stop the run, whose log has everything; the exit
    /// code reports it at the end.
    fn stream(&self, entry: &Entry) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some() {
            return;
        }
        let line = serde_json::to_string(entry).map_err(anyhow::Error::from);
        *lost = line.and_then(|line| out::print(&line)).err();
    }

    /// Ends the progress. Returns the error of the stream of events, if its reader closed it.
    pub(crate) fn finish(self) -> Option<anyhow::Error> {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.take()
    }

    /// `[3/90] filesystem=ext4: iozone: rewrite`, and how fast.
    fn show(&self, state: &State, pace: &str) {
        let mut line = format!("{}{}", self.position(state), state.doing);
        if !state.phase.is_empty() {
            let colon = if state.doing.is_empty() { "" } else { ": " };
            let _ = write!(line, "{colon}{}{pace}", state.phase);
        }
        self.voice.set(line);
    }

    /// One more trial is over.
    fn count(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut state) = self.state.lock() {
            state.finished = Instant::now();
        }
    }

    /// `[12/90] ` with the whole run's ETA once a trial is done.
    fn position(&self, state: &State) -> String {
        let done = self.done.load(Ordering::Relaxed);
        if self.trials <= 1 {
            return String::new();
        }
        let eta = (done > 0 && done < self.trials).then(|| {
            // The mean time of a trial, less the time since the last one ended.
            let each = state.finished.duration_since(state.began).as_secs_f64() / done as f64;
            let left = each * (self.trials - done) as f64 - state.finished.elapsed().as_secs_f64();
            format!(", {} left", seconds(left.max(0.0)))
        });
        format!(
            "[{}/{}{}] ",
            (done + 1).min(self.trials),
            self.trials,
            eta.unwrap_or_default()
        )
    }
}

impl lab::Watcher for Terminal {
    fn entry(&self, entry: &Entry) {
        if self.jsonl {
            self.stream(entry);
        }
        match &entry.event {
            Event::TrialFinished { .. } => self.count(),
            // Not an error: the end of the run reports it.
            Event::TrialFailed {
                kind: FailureKind::Interrupted,
                ..
            } => {}
            Event::TrialFailed { trial, message, .. } => {
                self.count();
                self.voice
                    .say(&format!("trial {} failed: {message}", trial + 1));
            }
            _ => {}
        }
    }

    fn step(&self, trial: &Trial, step: &str) {
        if let Ok(mut state) = self.state.lock() {
            state.doing = format!("{}: {step}", trial.cell.label());
            state.phase.clear();
            state.workload = Instant::now();
            self.show(&state, "");
        }
    }

    fn phase(&self, name: &str) {
        if let Ok(mut state) = self.state.lock()
            && state.phase != name
        {
            name.clone_into(&mut state.phase);
            state.seen = (0, Instant::now());
            self.show(&state, "");
        }
    }

    fn progress(&self, progress: &Progress) {
        let Ok(mut state) = self.state.lock() else {
            return;
        };
        if state.phase != progress.phase {
            state.phase.clone_from(&progress.phase);
            state.seen = (progress.bytes, Instant::now());
        }
        let pace = state.pace(progress);
        self.show(&state, &pace);
    }
}

impl State {
    /// ` 42 %, 512.3 MiB/s, 3 s left`: share and time left of the whole workload, by its steps; the
    /// rate of this phase, if it moves bytes.
    fn pace(&self, progress: &Progress) -> String {
        let mut text = String::new();
        let share = progress.steps as f64 / progress.steps_total.max(1) as f64;
        if progress.steps_total > 0 {
            let _ = write!(text, " {:.0} %", 100.0 * share.min(1.0));
        }
        let elapsed = self.seen.1.elapsed().as_secs_f64();
        let moved = progress.bytes.saturating_sub(self.seen.0);
        if moved > 0 && elapsed > 0.05 {
            let _ = write!(
                text,
                ", {:.1} MiB/s",
                moved as f64 / elapsed / f64::from(1 << 20)
            );
        }
        let elapsed = self.workload.elapsed().as_secs_f64();
        if share > 0.01 && share < 1.0 {
            let _ = write!(text, ", {} left", seconds(elapsed * (1.0 - share) / share));
        }
        text
    }
}

pub(crate) use words::clock_time as seconds;
