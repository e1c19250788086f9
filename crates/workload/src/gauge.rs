//! Counters of running threads, as progress.
//!
//! Working threads only count. The thread that waits for them reads their counters ten times a second and reports what was
//! added since, so that a slow terminal never costs measured time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use progress::Progress;

/// Reports the growth of counters.
pub(crate) struct Gauge<'a> {
    progress: &'a dyn Progress,
    parts: AtomicU64,
    bytes: AtomicU64,
}

impl<'a> Gauge<'a> {
    /// For counters that begin at 0.
    pub(crate) fn new(progress: &'a dyn Progress) -> Gauge<'a> {
        Gauge {
            progress,
            parts: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// The counters have reached `parts` and `bytes`. Only one thread reads them.
    pub(crate) fn read(&self, parts: u64, bytes: u64) {
        let more = |seen: &AtomicU64, now: u64| now.saturating_sub(seen.fetch_max(now, Relaxed));
        let (parts, bytes) = (more(&self.parts, parts), more(&self.bytes, bytes));
        if bytes > 0 {
            self.progress.moved(bytes);
        }
        if parts > 0 {
            self.progress.advance(parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use progress::{Event, Recorder};

    use super::*;

    #[test]
    fn growth_is_reported_once() {
        let recorder = Recorder::default();
        let gauge = Gauge::new(&recorder);
        gauge.read(0, 0);
        gauge.read(2, 200);
        gauge.read(2, 200);
        gauge.read(5, 500);
        let (moved, done) = (Event::Moved, Event::Advance);
        assert_eq!(
            recorder.events(),
            [moved(200), done(2), moved(300), done(3)]
        );
    }
}
