//! One sweep of a pass: spans in, per-thread results out, with progress, cancellation and the memory limit.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use blockio::{BlockSource, Content, Piece, Span, Sweep};
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

/// Bytes of a hole that are looked at without a question whether to go on: a hole is one piece, however long it is. A multiple of every
/// block.
const HOLE: u64 = 16 << 20;

/// Hands on a piece, a long hole in parts, until `each` does not want more; whether it wanted all.
fn in_parts(piece: &Piece<'_>, mut each: impl FnMut(&Piece<'_>) -> bool) -> bool {
    let Content::Hole(len) = piece.content else {
        return each(piece);
    };
    let (mut at, end) = (piece.offset, piece.offset + len);
    while at < end {
        let to = end.min((at / HOLE + 1) * HOLE);
        let part = Piece {
            tag: piece.tag,
            offset: at,
            content: Content::Hole(to - at),
        };
        if !each(&part) {
            return false;
        }
        at = to;
    }
    true
}

impl Sweeper<'_> {
    /// Whether the check is to end.
    fn is_over(&self) -> bool {
        self.progress.cancelled() || self.guard.is_full()
    }

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
                let whole = in_parts(&piece, |part| {
                    each(state, part);
                    let range = part.range();
                    self.progress.advance(range.end - range.start);
                    !self.is_over()
                });
                if !whole {
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
            stopped = !in_parts(&piece, |part| {
                each(&mut state, part);
                !self.is_over()
            });
            if stopped {
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

#[cfg(test)]
mod tests {
    use blockio::Ram;
    use progress::{Progress, Silent};

    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Cancels after this many bytes.
    struct Until(AtomicU64, u64);

    impl Progress for Until {
        fn advance(&self, amount: u64) {
            self.0.fetch_add(amount, Relaxed);
        }

        fn cancelled(&self) -> bool {
            self.0.load(Relaxed) >= self.1
        }
    }

    fn run(progress: &dyn Progress, crew: Crew) -> Result<Vec<Vec<(u64, u64)>>, Failure> {
        let source = Ram::sparse(1 << 40);
        let sweeper = Sweeper {
            source: &source,
            sweep: Sweep {
                threads: 1,
                ..Sweep::default()
            },
            progress,
            guard: &Guard::default(),
        };
        let spans = vec![Span {
            tag: 7,
            range: 4096..4096 + (155 << 30),
        }];
        sweeper.run(
            crew,
            spans,
            Vec::new,
            |parts: &mut Vec<(u64, u64)>, part| {
                assert!(matches!(part.content, Content::Hole(_)) && part.tag == 7);
                let range = part.range();
                parts.push((range.start, range.end));
            },
        )
    }

    /// What is mapped and was never written takes no longer to end than what is read.
    #[test]
    fn a_hole_is_left_where_the_check_is_cancelled() {
        let parts = run(&Silent, Crew::All).unwrap().concat();
        assert_eq!(
            (parts[0].0, parts.last().unwrap().1),
            (4096, 4096 + (155 << 30))
        );
        assert!(parts.windows(2).all(|pair| pair[0].1 == pair[1].0));
        assert!(parts.iter().all(|(start, end)| end - start <= HOLE));
        let until = Until(AtomicU64::new(0), 40 << 20);
        assert!(matches!(run(&until, Crew::All), Err(Failure::Stopped)));
        assert!(until.0.load(Relaxed) <= 64 << 20, "{:?}", until.0);
        let cancelled = Until(AtomicU64::new(1), 1);
        assert!(matches!(
            run(&cancelled, Crew::Alone),
            Err(Failure::Stopped)
        ));
    }
}
