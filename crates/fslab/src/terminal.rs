//! Progress on stderr, for all commands: one line redrawn in place on a terminal, otherwise a line every 5 s while it changes and every
//! minute while it does not.
//!
//! Whatever runs only counts, in atomic variables; a thread of its own makes a line of them and draws it. Nothing is drawn by the thread
//! that is measured. Where no thread can be made nothing is drawn, and messages are still printed.

mod lines;
mod meter;
mod run;
#[cfg(test)]
mod tests;

use std::io::IsTerminal as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lab::Interrupt;
use progress::{Progress, Step};

use crate::out;
use lines::{INTERVAL, Lines};
use meter::Meter;

pub(crate) use run::RunTerminal;

/// Between two drawings on a terminal.
const TICK: Duration = Duration::from_millis(120);

/// The progress of one operation on stderr.
pub(crate) struct Terminal {
    screen: Arc<Screen>,
    interrupt: Interrupt,
    quit: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

/// What the drawing thread and the operation share.
#[derive(Default)]
struct Screen {
    meter: Meter,
    /// The line that is redrawn: none before the first drawing, and where stderr is not a terminal.
    bar: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    /// Never asks to stop.
    pub(crate) fn new() -> Terminal {
        Terminal::with(Interrupt::manual())
    }

    /// Asks to stop after SIGINT, SIGTERM or SIGHUP. Where no handlers can be set, a signal ends the program.
    pub(crate) fn stopped_by_signals() -> Terminal {
        Terminal::with(Interrupt::on_signals().unwrap_or_default())
    }

    fn with(interrupt: Interrupt) -> Terminal {
        let screen = Arc::new(Screen::default());
        let (quit, quitted) = channel();
        let theirs = Arc::clone(&screen);
        let drawer = std::thread::Builder::new()
            .name("fslab-progress".into())
            .spawn(move || theirs.draw(&quitted));
        Terminal {
            screen,
            interrupt,
            quit: Some(quit),
            drawer: drawer.ok(),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.quit.take());
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
        if let Some(bar) = self.screen.bar().take() {
            bar.finish_and_clear();
        }
    }
}

impl Screen {
    /// The body of the drawing thread. Nothing is drawn before the first tick, by which most checks of small filesystems have ended.
    fn draw(&self, quitted: &Receiver<()>) {
        let terminal = std::io::stderr().is_terminal();
        let tick = if terminal { TICK } else { INTERVAL };
        let mut lines = Lines::default();
        while quitted.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
            let line = out::line(&self.meter.line(Instant::now()));
            if terminal {
                let mut bar = self.bar();
                let bar = bar.get_or_insert_with(bar_on_stderr);
                bar.set_message(line);
                bar.tick();
            } else if lines.is_due(&line) {
                out::say(&line);
            }
        }
    }

    /// Prints a line that stays, above the one that is redrawn.
    fn say(&self, text: &str) {
        match &*self.bar() {
            Some(bar) => bar.println(out::line(text)),
            None => out::say(text),
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bar_on_stderr() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

impl Progress for Terminal {
    fn begin(&self, step: Step) {
        self.screen.meter.begin(step, Instant::now());
    }

    fn foresee(&self, amount: u64) {
        self.screen.meter.foresee(amount, Instant::now());
    }

    fn expect(&self, amount: u64) {
        self.screen.meter.expect(amount);
    }

    fn advance(&self, amount: u64) {
        self.screen.meter.advance(amount);
    }

    fn moved(&self, bytes: u64) {
        self.screen.meter.moved(bytes);
    }

    fn end(&self) {
        self.screen.meter.end();
    }

    fn message(&self, text: &str) {
        self.screen.say(text);
    }

    fn cancelled(&self) -> bool {
        self.interrupt.is_raised()
    }
}
