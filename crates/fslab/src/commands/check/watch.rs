//! Progress of a check, and the hand that stops it.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::out;
use crate::progress::{Voice, seconds};

const TICK: Duration = Duration::from_millis(200);

/// What the passes have said so far.
struct State {
    pass: Mutex<(&'static str, Instant)>,
    expected: AtomicU64,
    done: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// A terminal, or a log that stands in for one. Passes only count; a thread of its own draws.
pub(crate) struct Terminal {
    state: Arc<State>,
    quit: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Where no handler can be set the signal ends the program, which writes nothing anyway.
            let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
        }
        let state = Arc::new(State {
            pass: Mutex::new(("", Instant::now())),
            expected: AtomicU64::new(0),
            done: AtomicU64::new(0),
            stop,
        });
        let (quit, quitted) = channel();
        let seen = Arc::clone(&state);
        let draw = move || {
            let voice = Voice::new();
            while quitted.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                voice.set(seen.line());
            }
        };
        Terminal {
            state,
            quit: Some(quit),
            drawer: std::thread::Builder::new()
                .name("fslab-progress".into())
                .spawn(draw)
                .ok(),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.quit.take());
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
    }
}

impl State {
    /// `pass 1: 42 % of 1200 MiB, 512.3 MiB/s, 3 s left`.
    fn line(&self) -> String {
        let (pass, began) = *self.pass.lock().unwrap_or_else(PoisonError::into_inner);
        line(
            pass,
            self.done.load(Relaxed),
            self.expected.load(Relaxed),
            began.elapsed(),
        )
    }
}

fn line(pass: &str, done: u64, expected: u64, elapsed: Duration) -> String {
    let mebi = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let name = match pass {
        "" => return String::new(),
        "after" => "after pass 5".to_owned(),
        "paths" => "looking for paths".to_owned(),
        number => format!("pass {number}"),
    };
    if expected == 0 {
        return name;
    }
    let share = (done as f64 / expected as f64).min(1.0);
    let elapsed = elapsed.as_secs_f64();
    let mut text = format!(
        "{name}: {:.0} % of {:.0} MiB",
        100.0 * share,
        mebi(expected)
    );
    if elapsed > 0.5 && done > 0 {
        let _ = write!(text, ", {:.1} MiB/s", mebi(done) / elapsed);
        if share > 0.01 && share < 1.0 {
            let left = seconds(elapsed * (1.0 - share) / share);
            let _ = write!(text, ", {left} left");
        }
    }
    text
}

impl ::check::Watch for Terminal {
    fn begin(&self, pass: &'static str) {
        *self
            .state
            .pass
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = (pass, Instant::now());
        self.state.expected.store(0, Relaxed);
        self.state.done.store(0, Relaxed);
    }

    fn memory(&self, bytes: u64) {
        out::say(&format!("memory: at most {} MiB", bytes.div_ceil(1 << 20)));
    }

    fn expect(&self, bytes: u64) {
        self.state.expected.fetch_add(bytes, Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.state.done.fetch_add(bytes, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.state.stop.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_share_rate_and_what_is_left() {
        let after =
            |done: u64, seconds| line("1", done << 20, 1000 << 20, Duration::from_secs(seconds));
        assert_eq!(
            after(250, 5),
            "pass 1: 25 % of 1000 MiB, 50.0 MiB/s, 15 s left"
        );
        assert_eq!(after(0, 5), "pass 1: 0 % of 1000 MiB");
        assert_eq!(after(1000, 10), "pass 1: 100 % of 1000 MiB, 100.0 MiB/s");
        assert_eq!(line("4", 0, 0, Duration::ZERO), "pass 4");
        assert_eq!(line("", 0, 0, Duration::ZERO), "");
    }
}
