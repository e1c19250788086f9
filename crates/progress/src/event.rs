//! A report as a value: for tests, and to send it to another process.

use serde::{Deserialize, Serialize};

use crate::{Progress, Step};

/// One call of a [`Progress`]. Amounts that were reported one after the other may be sent as their sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// [`Progress::begin`].
    Begin(Step),
    /// [`Progress::foresee`].
    Foresee(u64),
    /// [`Progress::expect`].
    Expect(u64),
    /// [`Progress::advance`].
    Advance(u64),
    /// [`Progress::moved`].
    Moved(u64),
    /// [`Progress::end`].
    End,
    /// [`Progress::message`].
    Message(String),
}

impl Event {
    /// Reports it to `progress`.
    pub fn report(self, progress: &dyn Progress) {
        match self {
            Event::Begin(step) => progress.begin(step),
            Event::Foresee(amount) => progress.foresee(amount),
            Event::Expect(amount) => progress.expect(amount),
            Event::Advance(amount) => progress.advance(amount),
            Event::Moved(bytes) => progress.moved(bytes),
            Event::End => progress.end(),
            Event::Message(text) => progress.message(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recorder, Unit};

    /// What arrives in another process is what was reported in this one.
    #[test]
    fn events_survive_a_channel() {
        let inodes = Unit::Items("inodes".into());
        let events = vec![
            Event::Foresee(20),
            Event::Begin(Step::new("pass 1").counted_in(inodes).of(7)),
            Event::Expect(3),
            Event::Advance(10),
            Event::Moved(4096),
            Event::Message("memory: at most 3 MiB".into()),
            Event::End,
            Event::Begin(Step::new("pass 2").counted_in(Unit::Bytes)),
        ];
        let there = Recorder::default();
        for event in &events {
            let line = serde_json::to_string(event).unwrap();
            let arrived: Event = serde_json::from_str(&line).unwrap();
            arrived.report(&there);
        }
        assert_eq!(there.events(), events);
    }
}
