//! One sweep of a pass: spans in, per-thread results out, with progress, cancellation and the memory limit.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use blockio::{BlockSource, Piece, Span, Sweep};
use progress::Progress;

use super::failure::Failure;
use super::memory::Guard;
use super::request_size;

/// How many threads process the pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crew {
    /// As many as the options allow.
    All,
    /// One, which sees the pieces in the order of the device.
    Alone,
}

/// Reads spans on behalf of a checker.
pub(crate) struct Sweeper<'a> {
    pub(crate) source: &'a dyn BlockSource,
    pub(crate) sweep: Sweep,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) guard: &'a Guard,
}

impl Sweeper<'_> {
    /// Reads these spans: announces their total, then reports each piece and asks whether to continue. `make` gives each thread its
    /// state, `each` takes a piece into it; the states are returned.
    ///
    /// # Errors
    /// There are no buffers or no queue, the memory limit is reached, or the check was cancelled.
    pub(crate) fn run<T: Send>(
        &self,
        crew: Crew,
        spans: Vec<Span>,
        make: impl Fn() -> T,
        each: impl Fn(&mut T, &Piece<'_>) + Sync,
    ) -> Result<Vec<T>, Failure> {
        match crew {
            Crew::All => self.all(spans, make, each),
            Crew::Alone => Ok(vec![self.alone(spans, make(), each)?]),
        }
    }

    fn all<T: Send>(
        &self,
        spans: Vec<Span>,
        make: impl Fn() -> T,
        each: impl Fn(&mut T, &Piece<'_>) + Sync,
    ) -> Result<Vec<T>, Failure> {
        let bytes = spans.iter().map(|span| span.range.end - span.range.start);
        self.progress.expect(bytes.fold(0, u64::saturating_add));
        let stopped = AtomicBool::new(false);
        let sweep = request_size::fitted(&self.sweep, &spans, self.source.geometry());
        let swept = sweep.run(
            self.source,
            spans,
            |_| make(),
            |state, piece| {
                each(state, &piece);
                let range = piece.range();
                self.progress.advance(range.end - range.start);
                if self.progress.cancelled() || self.guard.is_full() {
                    stopped.store(true, Relaxed);
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        )?;
        self.guard.hold()?;
        if stopped.into_inner() {
            return Err(Failure::Stopped);
        }
        Ok(swept.states)
    }

    /// One request at a time, so that pieces come in the order of the device. Reports no progress: it repeats a sweep that did.
    fn alone<T>(
        &self,
        spans: Vec<Span>,
        mut state: T,
        each: impl Fn(&mut T, &Piece<'_>),
    ) -> Result<T, Failure> {
        let sweep = Sweep {
            threads: 1,
            depth: 1,
            ..self.sweep.clone()
        };
        let mut stopped = false;
        sweep.each(self.source, spans, |piece| {
            each(&mut state, &piece);
            stopped = self.progress.cancelled();
            if stopped || self.guard.is_full() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        self.guard.hold()?;
        if stopped {
            return Err(Failure::Stopped);
        }
        Ok(state)
    }
}
