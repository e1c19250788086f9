//! Layers: the steps of a part, and another reason to stop.

use crate::{Progress, Silent, Step};

/// Reports the steps of a part of an operation under the name of that part: `raw-device reference 1/2: random reads`.
pub struct Within<'a> {
    inner: &'a dyn Progress,
    name: String,
}

impl<'a> Within<'a> {
    /// Begins the part as a step of its own.
    pub fn begin(inner: &'a dyn Progress, name: impl Into<String>) -> Within<'a> {
        let name = name.into();
        inner.begin(Step::new(name.clone()));
        Within { inner, name }
    }
}

impl Progress for Within<'_> {
    fn inner(&self) -> &dyn Progress {
        self.inner
    }

    fn begin(&self, step: Step) {
        let name = format!("{}: {}", self.name, step.name).into();
        self.inner.begin(Step { name, ..step });
    }

    /// The part goes on without a step.
    fn end(&self) {
        self.inner.begin(Step::new(self.name.clone()));
    }
}

/// Reports to another [`Progress`], and asks to stop when either that or a condition does.
pub struct Until<'a, F> {
    inner: &'a dyn Progress,
    stop: F,
}

impl<F: Fn() -> bool + Send + Sync> Until<'_, F> {
    /// Reports nothing, and asks to stop when `stop` is true.
    pub fn silent(stop: F) -> Self {
        Until {
            inner: &Silent,
            stop,
        }
    }
}

impl<'a, F: Fn() -> bool + Send + Sync> Until<'a, F> {
    /// Reports to `inner`, and also asks to stop when `stop` is true.
    pub fn new(inner: &'a dyn Progress, stop: F) -> Self {
        Until { inner, stop }
    }
}

impl<F: Fn() -> bool + Send + Sync> Progress for Until<'_, F> {
    fn inner(&self) -> &dyn Progress {
        self.inner
    }

    fn cancelled(&self) -> bool {
        (self.stop)() || self.inner.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;
    use crate::{Event, Recorder, Unit};

    #[test]
    fn steps_of_a_part_carry_its_name() {
        let recorder = Recorder::default();
        let part = Within::begin(&recorder, "part 1/2");
        part.begin(Step::new("fill").counted_in(Unit::Bytes).of(9));
        part.advance(9);
        part.end();
        assert_eq!(
            recorder.events(),
            [
                Event::Begin(Step::new("part 1/2")),
                Event::Begin(Step::new("part 1/2: fill").counted_in(Unit::Bytes).of(9)),
                Event::Advance(9),
                Event::Begin(Step::new("part 1/2")),
            ]
        );
    }

    #[test]
    fn either_reason_stops() {
        let flag = AtomicBool::new(false);
        let recorder = Recorder::stopping_at(2);
        let until = Until::new(&recorder, || flag.load(Relaxed));
        until.advance(3);
        assert_eq!(recorder.advanced(), 3);
        flag.store(true, Relaxed);
        assert!(until.cancelled());
        assert_eq!(recorder.questions(), 0);
        flag.store(false, Relaxed);
        assert_eq!((until.cancelled(), until.cancelled()), (false, true));
        assert!(!Until::silent(|| false).cancelled());
    }
}
