//! What a waiting person sees: a live line on a terminal, a line every 5 s elsewhere.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use record::{Entry, Event};
use study::Trial;
use workload::Progress;

use crate::cli::LiveFormat;
use crate::out;

const QUIET: Duration = Duration::from_secs(5);

/// The terminal, or a log that stands in for one.
pub(crate) struct Terminal {
    bar: Option<ProgressBar>,
    jsonl: bool,
    trials: usize,
    done: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    /// What is going on, for people.
    doing: String,
    /// When a line was last written.
    spoke: Instant,
    /// The phase, and its bytes when it was first heard of: for its rate.
    phase: String,
    seen: (u64, Instant),
    /// When the workload, and the whole run, began: for what is left.
    workload: Instant,
    began: Instant,
}

impl Terminal {
    pub(crate) fn new(trials: usize, format: LiveFormat) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let now = Instant::now();
        Terminal {
            bar,
            jsonl: format == LiveFormat::Jsonl,
            trials,
            done: AtomicUsize::new(0),
            state: Mutex::new(State {
                doing: String::new(),
                spoke: now,
                phase: String::new(),
                seen: (0, now),
                workload: now,
                began: now,
            }),
        }
    }

    /// Clears the live line.
    pub(crate) fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, state: &mut State, message: &str, now: bool) {
        match &self.bar {
            Some(bar) => bar.set_message(message.to_owned()),
            None if now || state.spoke.elapsed() >= QUIET => {
                eprintln!("{message}");
                state.spoke = Instant::now();
            }
            None => {}
        }
    }

    /// `[12/90] ` with the whole run's ETA once a trial is done.
    fn position(&self, state: &State) -> String {
        let done = self.done.load(Ordering::Relaxed);
        if self.trials <= 1 {
            return String::new();
        }
        let eta = (done > 0 && done < self.trials).then(|| {
            let each = state.began.elapsed().as_secs_f64() / done as f64;
            format!(", {} left", seconds(each * (self.trials - done) as f64))
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
        if self.jsonl
            && let Ok(line) = serde_json::to_string(entry)
        {
            // A consumer that went away must not stop the run: the log has everything.
            let _ = out::print(&line);
        }
        match &entry.event {
            Event::TrialFinished { .. } => {
                self.done.fetch_add(1, Ordering::Relaxed);
            }
            Event::TrialFailed { trial, message, .. } => {
                self.done.fetch_add(1, Ordering::Relaxed);
                let line = format!("trial {trial} failed: {message}");
                match &self.bar {
                    Some(bar) => bar.println(line),
                    None => eprintln!("{line}"),
                }
            }
            _ => {}
        }
    }

    fn step(&self, trial: &Trial, step: &str) {
        if let Ok(mut state) = self.state.lock() {
            state.doing = format!("{}: {step}", trial.cell.label());
            state.workload = Instant::now();
            let message = format!("{}{}", self.position(&state), state.doing);
            self.say(&mut state, &message, false);
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
        let message = format!(
            "{}{}{}{}{}",
            self.position(&state),
            state.doing,
            if state.doing.is_empty() { "" } else { ": " },
            progress.phase,
            state.pace(progress),
        );
        self.say(&mut state, &message, false);
    }
}

impl State {
    /// ` 42 %, 512.3 MiB/s, 3 s left`: share and time left of the whole workload, by its steps; the
    /// rate of this phase, where bytes are what it moves.
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

/// `42 s`, `3 min 20 s`, `2 h 5 min`.
fn seconds(value: f64) -> String {
    let whole = value.round() as u64;
    match whole {
        0..=99 => format!("{whole} s"),
        100..=7199 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_read_as_people_say_them() {
        assert_eq!(seconds(42.4), "42 s");
        assert_eq!(seconds(200.0), "3 min 20 s");
        assert_eq!(seconds(7500.0), "2 h 5 min");
    }
}
