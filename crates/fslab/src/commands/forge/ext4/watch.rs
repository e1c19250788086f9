//! Progress and cancellation of a forge.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::progress::{Voice, seconds};

const TICK: Duration = Duration::from_millis(200);

/// Progress on a terminal, or as lines in a log; a thread draws it.
pub(crate) struct Terminal {
    done: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    quit: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

impl Terminal {
    /// `slots`: number of inodes to write.
    pub(crate) fn new(slots: u64) -> Terminal {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Where no handler can be set, the signal ends the program and leaves a file that is no filesystem yet: its
            // superblock is written last.
            let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
        }
        let done = Arc::new(AtomicU64::new(0));
        let (quit, quitted) = channel();
        let seen = Arc::clone(&done);
        let began = Instant::now();
        let draw = move || {
            let voice = Voice::new();
            while quitted.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                voice.set(line(seen.load(Relaxed), slots, began.elapsed()));
            }
        };
        Terminal {
            done,
            stop,
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

impl ::forge::Watch for Terminal {
    fn advance(&self, slots: u64) {
        self.done.fetch_add(slots, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// `42 % of 105000000 inodes, 3.1 M/s, 20 s left`.
fn line(done: u64, slots: u64, elapsed: Duration) -> String {
    if done == 0 {
        return "placing files".to_owned();
    }
    let share = (done as f64 / slots.max(1) as f64).min(1.0);
    let elapsed = elapsed.as_secs_f64();
    let rate = done as f64 / elapsed.max(1e-9) / 1e6;
    let mut text = format!("{:.0} % of {slots} inodes, {rate:.2} M/s", 100.0 * share);
    if share > 0.01 && share < 1.0 {
        let left = seconds(elapsed * (1.0 - share) / share);
        let _ = write!(text, ", {left} left");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_share_rate_and_what_is_left() {
        assert_eq!(line(0, 10, Duration::from_secs(1)), "placing files");
        assert_eq!(
            line(42_000_000, 105_000_000, Duration::from_secs(14)),
            "40 % of 105000000 inodes, 3.00 M/s, 21 s left"
        );
        assert_eq!(
            line(105, 105, Duration::from_secs(1)),
            "100 % of 105 inodes, 0.00 M/s"
        );
    }
}
