//! The messages of a guest about its trial, and which of them are accepted.
//!
//! Events go on to the log as they come, but only those that a trial has, of this trial, and each trial
//! ends once: the log is the truth of a run, and a guest may not write another trial's part of
//! it. The last event is held back until the guest has ended well and its files are in their places.

use std::path::Path;

use guest::machine::GuestExit;
use record::{Event, FailureKind, Ledger};

use super::job::GuestMessage;

/// Why an attempt ended early.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) ledger: Ledger,
    /// Set where no further trial can be kept, either.
    pub(super) fatal: Option<Box<rig::Error>>,
}

impl Stopped {
    pub(super) fn new(kind: FailureKind, message: String) -> Stopped {
        Stopped {
            kind,
            message,
            ledger: Ledger::default(),
            fatal: None,
        }
    }
}

/// The messages of one guest so far.
#[derive(Debug)]
pub(super) struct Account {
    /// The trial's number, from 0.
    trial: u32,
    finished: Option<Event>,
    failed: Option<Stopped>,
    strange: Option<String>,
}

impl Account {
    pub(super) fn of(trial: u32) -> Account {
        Account {
            trial,
            finished: None,
            failed: None,
            strange: None,
        }
    }

    /// Takes a message. `false`: the guest has to be stopped. `other` gets what is no event.
    pub(super) fn record(
        &mut self,
        message: GuestMessage,
        emit: &mut dyn FnMut(Event) -> bool,
        other: &mut dyn FnMut(&GuestMessage),
    ) -> bool {
        let over = self.finished.is_some() || self.failed.is_some();
        match message {
            GuestMessage::Event(event) if over || !self.belongs(&event) => {
                let event = serde_json::to_value(&event).unwrap_or_default();
                self.refuse(&event["event"].to_string(), over)
            }
            GuestMessage::Event(event) if matches!(*event, Event::TrialFinished { .. }) => {
                self.finished = Some(*event);
                true
            }
            GuestMessage::Event(event) => emit(*event),
            GuestMessage::Failed { .. } if over => self.refuse("a failure", over),
            GuestMessage::Failed {
                kind,
                message,
                ledger,
            } => {
                self.failed = Some(Stopped {
                    kind,
                    message,
                    ledger,
                    fatal: None,
                });
                true
            }
            GuestMessage::Context(_) => self.refuse("a context record", over),
            message => {
                other(&message);
                true
            }
        }
    }

    fn refuse(&mut self, what: &str, over: bool) -> bool {
        let why = if over {
            "after the trial's end"
        } else {
            "which is not for its trial to report"
        };
        self.strange = Some(format!(
            "the guest reported {what}, {why}; the trial does not count"
        ));
        false
    }

    fn belongs(&self, event: &Event) -> bool {
        match event {
            Event::Context { when, .. } => *when == format!("trial {}", self.trial + 1),
            Event::RunStarted { .. }
            | Event::Resumed { .. }
            | Event::TrialStarted { .. }
            | Event::Reference { .. }
            | Event::TrialFailed { .. }
            | Event::Note { .. }
            | Event::RunFinished { .. } => false,
            of_a_trial => serde_json::to_value(of_a_trial)
                .is_ok_and(|event| event["trial"].as_u64() == Some(self.trial.into())),
        }
    }

    /// What was refused, which explains why the guest was stopped.
    pub(super) fn strange(&mut self) -> Option<Stopped> {
        let printed = self.strange.take()?;
        Some(Stopped::new(FailureKind::Trial, printed))
    }

    /// What it came to, of a guest that ended by itself: the trial's last event.
    pub(super) fn close(self, ended: &GuestExit, console: &Path) -> Result<Event, Stopped> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let GuestExit { code, last, .. } = ended;
        let console = console.display();
        match self.finished {
            Some(event) if *code == 0 => Ok(event),
            Some(_) => Err(Stopped::new(
                FailureKind::Trial,
                format!(
                    "the guest ended with code {code} after its result, which does not count without \
                     its files{last}; its console is {console}"
                ),
            )),
            None => Err(Stopped::new(
                FailureKind::Cell,
                format!(
                    "the guest ended with code {code} and no result{last}; its console is {console}"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(trial: u32) -> GuestMessage {
        GuestMessage::Event(Box::new(Event::TrialFinished {
            trial,
            samples: Vec::new(),
            evidence: Vec::new(),
            warnings: Vec::new(),
            ledger: Ledger::default(),
        }))
    }

    fn context(when: &str) -> GuestMessage {
        GuestMessage::Event(Box::new(Event::Context {
            when: when.into(),
            context: serde_json::Value::Null,
        }))
    }

    fn ended(code: i32) -> GuestExit {
        GuestExit {
            code,
            release: "6.1".into(),
            boot_seconds: 1.0,
            seconds: 2.0,
            last: ": fslab: /run/x: 3 of 5 bytes could be read".into(),
        }
    }

    /// What is logged of these words of trial 2, and the account.
    fn reported(words: Vec<GuestMessage>) -> (Vec<Event>, bool, Account) {
        let (mut account, mut log) = (Account::of(1), Vec::new());
        let mut emit = |event| {
            log.push(event);
            true
        };
        let heard = words
            .into_iter()
            .all(|printed| account.record(printed, &mut emit, &mut |_| ()));
        (log, heard, account)
    }

    #[test]
    fn a_result_counts_when_the_guest_ended_well() {
        let whole = || reported(vec![context("trial 2"), finished(1)]);
        let (log, heard, account) = whole();
        assert!(heard && log.len() == 1, "the last event is held back");
        let event = account.close(&ended(0), Path::new("/c")).unwrap();
        assert!(matches!(event, Event::TrialFinished { trial: 1, .. }));
        let printed = whole().2.close(&ended(1), Path::new("/c")).unwrap_err();
        assert_eq!(printed.kind, FailureKind::Trial);
        assert_eq!(
            printed.message,
            "the guest ended with code 1 after its result, which does not count without its files: \
             fslab: /run/x: 3 of 5 bytes could be read; its console is /c"
        );
        let printed = reported(vec![])
            .2
            .close(&ended(0), Path::new("/c"))
            .unwrap_err();
        assert!(printed.message.contains("no result"), "{}", printed.message);
    }

    #[test]
    fn what_is_not_the_trials_is_refused() {
        let run_finished = GuestMessage::Event(Box::new(Event::RunFinished {
            finished: 1,
            failed: 0,
            skipped: 0,
            seconds: 1.0,
            peak_rss: 1,
        }));
        let failed = GuestMessage::Failed {
            kind: FailureKind::Trial,
            message: "no".into(),
            ledger: Ledger::default(),
        };
        for (words, says) in [
            (
                vec![run_finished],
                "\"run_finished\", which is not for its trial",
            ),
            (vec![finished(0)], "\"trial_finished\", which is not"),
            (vec![context("start")], "\"context\", which is not"),
            (vec![finished(1), finished(1)], "after the trial's end"),
            (
                vec![finished(1), context("trial 2")],
                "after the trial's end",
            ),
            (
                vec![finished(1), failed],
                "a failure, after the trial's end",
            ),
        ] {
            let (log, heard, mut account) = reported(words);
            assert!(!heard && log.is_empty());
            let printed = account.strange().unwrap().message;
            assert!(printed.contains(says), "{printed}");
        }
    }

    #[test]
    fn a_failure_is_reported_as_it_was_sent() {
        let failed = GuestMessage::Failed {
            kind: FailureKind::Cell,
            message: "no xfs here".into(),
            ledger: Ledger::default(),
        };
        let printed = reported(vec![failed]).2.close(&ended(0), Path::new("/c"));
        let printed = printed.unwrap_err();
        assert_eq!(
            (printed.kind, printed.message.as_str()),
            (FailureKind::Cell, "no xfs here")
        );
    }
}
