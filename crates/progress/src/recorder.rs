//! The test double: records what is reported, and stops an operation where a test wants it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Event, Progress, Step};

/// Keeps everything that is reported, in order. Successive amounts of one kind are kept as their sum, so that what a test
/// expects does not depend on the size of batches.
#[derive(Debug)]
pub struct Recorder {
    events: Mutex<Vec<Event>>,
    questions: AtomicU64,
    patience: u64,
}

impl Default for Recorder {
    /// Never asks to stop.
    fn default() -> Self {
        Recorder::stopping_at(u64::MAX)
    }
}

impl Recorder {
    /// Asks to stop from this call of [`Progress::cancelled`] on; 1 is the first.
    pub fn stopping_at(question: u64) -> Recorder {
        Recorder {
            events: Mutex::default(),
            questions: AtomicU64::new(0),
            patience: question,
        }
    }

    /// Everything that was reported.
    pub fn events(&self) -> Vec<Event> {
        self.lock().clone()
    }

    /// Names of the steps, in order.
    pub fn steps(&self) -> Vec<String> {
        let begun = self.events().into_iter().filter_map(|event| match event {
            Event::Begin(step) => Some(step.name.into_owned()),
            _ => None,
        });
        begun.collect()
    }

    /// Sum of what was expected: amounts of steps, and what [`Progress::expect`] added.
    pub fn expected(&self) -> u64 {
        self.sum(|event| match event {
            Event::Begin(step) => step.amount.unwrap_or(0),
            Event::Expect(amount) => *amount,
            _ => 0,
        })
    }

    /// Sum of what was done.
    pub fn advanced(&self) -> u64 {
        self.sum(|event| match event {
            Event::Advance(amount) => *amount,
            _ => 0,
        })
    }

    /// How often it was asked whether to stop.
    pub fn questions(&self) -> u64 {
        self.questions.load(Relaxed)
    }

    fn sum(&self, of: impl Fn(&Event) -> u64) -> u64 {
        self.lock().iter().map(of).fold(0, u64::saturating_add)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, event: Event) {
        let mut events = self.lock();
        match (events.last_mut(), &event) {
            (Some(Event::Expect(sum)), Event::Expect(more))
            | (Some(Event::Advance(sum)), Event::Advance(more))
            | (Some(Event::Moved(sum)), Event::Moved(more)) => *sum = sum.saturating_add(*more),
            _ => events.push(event),
        }
    }
}

impl Progress for Recorder {
    fn begin(&self, step: Step) {
        self.keep(Event::Begin(step));
    }

    fn foresee(&self, amount: u64) {
        self.keep(Event::Foresee(amount));
    }

    fn expect(&self, amount: u64) {
        self.keep(Event::Expect(amount));
    }

    fn advance(&self, amount: u64) {
        self.keep(Event::Advance(amount));
    }

    fn moved(&self, bytes: u64) {
        self.keep(Event::Moved(bytes));
    }

    fn end(&self) {
        self.keep(Event::End);
    }

    fn message(&self, text: &str) {
        self.keep(Event::Message(text.to_owned()));
    }

    fn cancelled(&self) -> bool {
        self.questions.fetch_add(1, Relaxed) + 1 >= self.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_summed_and_steps_separate_them() {
        let recorder = Recorder::default();
        recorder.begin(Step::new("a").of(5));
        recorder.expect(1);
        recorder.advance(2);
        recorder.advance(4);
        recorder.begin(Step::new("b"));
        recorder.advance(8);
        assert_eq!(
            recorder.events(),
            [
                Event::Begin(Step::new("a").of(5)),
                Event::Expect(1),
                Event::Advance(6),
                Event::Begin(Step::new("b")),
                Event::Advance(8),
            ]
        );
        assert_eq!(recorder.steps(), ["a", "b"]);
        assert_eq!((recorder.expected(), recorder.advanced()), (6, 14));
    }

    #[test]
    fn it_stops_at_the_question_that_was_named() {
        let recorder = Recorder::stopping_at(3);
        let answers = [(); 4].map(|()| recorder.cancelled());
        assert_eq!(answers, [false, false, true, true]);
        assert_eq!(recorder.questions(), 4);
    }
}
