//! Progress and cancellation of a check.

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

/// What the passes have reported so far.
struct State {
    /// The pass, when it began, and what was done by then.
    pass: Mutex<(&'static str, Instant, u64)>,
    /// Bytes that all passes together will read, estimated before they begin.
    foreseen: AtomicU64,
    /// Bytes that the passes so far announced.
    expected: AtomicU64,
    done: AtomicU64,
    /// The largest share that was shown, in hundredths of a percent: damage may increase the total, but the shown share must
    /// not decrease.
    shown: AtomicU64,
    stop: Arc<AtomicBool>,
}

/// A share of all, as [`State::shown`] has it.
const ALL: u64 = 10_000;

/// Progress on a terminal, or as lines in a log. Passes only count; a thread draws.
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
            pass: Mutex::new(("", Instant::now(), 0)),
            foreseen: AtomicU64::new(0),
            shown: AtomicU64::new(0),
            expected: AtomicU64::new(0),
            done: AtomicU64::new(0),
            stop,
        });
        let (quit, quitted) = channel();
        let seen = Arc::clone(&state);
        let draw = move || {
            // Most checks of small filesystems end before the first tick.
            let mut voice = None;
            while quitted.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                voice.get_or_insert_with(Voice::new).set(seen.line());
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
    /// `pass 1: 42 % of 1200 MiB, 512.3 MiB/s, 3 s left`. Share and time are those of the whole check, the rate is the pass's.
    fn line(&self) -> String {
        let (pass, began, before) = *self.pass.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.done.load(Relaxed);
        let all = self.expected.load(Relaxed).max(self.foreseen.load(Relaxed));
        let share = done.min(all).saturating_mul(ALL) / all.max(1);
        let share = self.shown.fetch_max(share, Relaxed).max(share);
        line(pass, share, done - before.min(done), all, began.elapsed())
    }
}

fn line(pass: &str, share: u64, done: u64, all: u64, elapsed: Duration) -> String {
    let mebi = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let name = match pass {
        "" => return String::new(),
        "after" => "after pass 5".to_owned(),
        "paths" => "looking for paths".to_owned(),
        number => format!("pass {number}"),
    };
    if all == 0 {
        return name;
    }
    let elapsed = elapsed.as_secs_f64();
    let mut text = format!("{name}: {} % of {:.0} MiB", share * 100 / ALL, mebi(all));
    if elapsed > 0.5 && done > 0 {
        let rate = mebi(done) / elapsed;
        let _ = write!(text, ", {rate:.1} MiB/s");
        if share < ALL {
            let left = mebi(all) * (ALL - share) as f64 / ALL as f64;
            let _ = write!(text, ", {} left", seconds(left / rate));
        }
    }
    text
}

impl ::check::Progress for Terminal {
    fn begin(&self, pass: &'static str) {
        // What only the start, or the pass before, had to run.
        ::check::give_back_program();
        *self
            .state
            .pass
            .lock()
            .unwrap_or_else(PoisonError::into_inner) =
            (pass, Instant::now(), self.state.done.load(Relaxed));
    }

    fn foresee(&self, bytes: u64) {
        let done = self.state.done.load(Relaxed);
        let all = done.saturating_add(bytes);
        self.state.foreseen.store(all, Relaxed);
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
    use ::check::Progress as _;

    use super::*;

    #[test]
    fn a_line_says_share_rate_and_what_is_left() {
        let after = |share, done: u64, seconds| {
            line(
                "2",
                share,
                done << 20,
                1000 << 20,
                Duration::from_secs(seconds),
            )
        };
        assert_eq!(
            after(2500, 50, 1),
            "pass 2: 25 % of 1000 MiB, 50.0 MiB/s, 15 s left"
        );
        assert_eq!(after(2599, 0, 5), "pass 2: 25 % of 1000 MiB");
        assert_eq!(
            after(ALL, 1000, 10),
            "pass 2: 100 % of 1000 MiB, 100.0 MiB/s"
        );
        assert_eq!(line("4", 0, 0, 0, Duration::ZERO), "pass 4");
        assert_eq!(line("", 0, 0, 0, Duration::ZERO), "");
    }

    /// Records the line at each report of a pass.
    struct Looking {
        terminal: Terminal,
        shares: Mutex<Vec<u32>>,
    }

    impl Looking {
        fn new() -> Looking {
            Looking {
                terminal: Terminal::new(),
                shares: Mutex::default(),
            }
        }

        fn look(&self) {
            // One at a time: two threads could record their lines in the wrong order.
            let mut shares = self.shares.lock().unwrap();
            let line = self.terminal.state.line();
            if let Some((before, _)) = line.split_once(" %") {
                let percent = before.rsplit(' ').next().unwrap();
                shares.push(percent.parse().unwrap());
            }
        }
    }

    impl ::check::Progress for Looking {
        fn begin(&self, pass: &'static str) {
            self.terminal.begin(pass);
            self.look();
        }

        fn foresee(&self, bytes: u64) {
            self.terminal.foresee(bytes);
            self.look();
        }

        fn expect(&self, bytes: u64) {
            self.terminal.expect(bytes);
            self.look();
        }

        fn advance(&self, bytes: u64) {
            self.terminal.advance(bytes);
            self.look();
        }
    }

    #[test]
    fn the_share_is_that_of_the_whole_check_and_never_falls() {
        let looking = Looking::new();
        looking.foresee(1000);
        for (pass, expected) in [("1", 500), ("1B", 500), ("2", 300), ("2", 200), ("5", 100)] {
            looking.begin(pass);
            looking.expect(expected);
            looking.advance(expected);
        }
        let shares = looking.shares.into_inner().unwrap();
        assert!(shares.is_sorted(), "{shares:?}");
        assert_eq!((shares[0], shares[3], shares.last()), (0, 50, Some(&100)));
    }

    /// A filesystem of mke2fs with directories of more than a block, checked in small pieces.
    #[test]
    fn the_share_never_falls_while_a_filesystem_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let (image, files) = (folder.path().join("image"), folder.path().join("files"));
        for (directory, file) in (0..20).flat_map(|dir| (0..100).map(move |file| (dir, file))) {
            let directory = files.join(directory.to_string());
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(
                directory.join(format!("a rather long name {file}")),
                [7; 2000],
            )
            .unwrap();
        }
        let made = std::process::Command::new("mke2fs")
            .args(["-q", "-F", "-t", "ext4", "-b", "1024", "-d"])
            .args([&files, &image])
            .arg("32m")
            .status();
        assert!(made.unwrap().success());
        let damage = |name| {
            let file = std::fs::File::options().read(true).write(true).open(&image);
            let mut medium = forge::damage::ImageFile::new(file.unwrap()).unwrap();
            let mut filesystem = forge::damage::Filesystem::open(&mut medium).unwrap();
            let case = forge::damage::case(name).unwrap();
            case.apply(&mut filesystem).unwrap();
        };
        for case in [None, Some("1d-dup-file")] {
            case.into_iter().for_each(damage);
            let looking = Looking::new();
            let mut options = ::check::Options {
                threads: 2,
                ..Default::default()
            };
            options.sweep.request = 4096;
            let source = ::blockio::open(&image, ::blockio::Mode::Buffered).unwrap();
            let report = ::check::for_source(&*source.source)
                .unwrap()
                .check(&*source.source, &options, &looking)
                .unwrap();
            assert_eq!(report.findings.tallies.is_empty(), case.is_none());
            let shares = looking.shares.into_inner().unwrap();
            assert!(shares.is_sorted(), "{shares:?}");
            assert!(shares.len() > 100, "{shares:?}");
            let steps = shares.windows(2).map(|pair| pair[1] - pair[0]);
            let largest = steps.max().unwrap();
            // A share that jumps is as misleading as one that falls.
            assert!(case.is_some() || largest <= 20, "{largest}: {shares:?}");
            assert_eq!(shares.last(), Some(&100), "{shares:?}");
        }
    }
}
