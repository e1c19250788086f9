//! What goes into a guest and what comes out: the lab's own documents in the guest's channel.

use probe::context::ContextRecord;
use record::{Event, FailureKind, Ledger};
use serde::{Deserialize, Serialize};
use study::Trial;

use crate::executor::Surroundings;

/// What a guest is to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Job {
    /// Take the context record of itself.
    Context {
        /// What it is about; folder and device are the guest's to name.
        around: Box<Surroundings>,
    },
    /// Run a trial.
    Trial {
        /// The trial.
        trial: Box<Trial>,
        /// The run's own context, as a guest before took it.
        context: Option<Box<ContextRecord>>,
        /// Serials of the disks to run it on, in the order of members.
        serials: Vec<String>,
        /// Whether the guest has persistent memory for the bytes of a modelled disk.
        #[serde(default)]
        persistent: bool,
    },
}

/// A message of a guest's job.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GuestMessage {
    /// The record that was asked for.
    Context(Box<ContextRecord>),
    /// An event of the trial.
    Event(Box<Event>),
    /// What is about to be done.
    Activity(String),
    /// Progress of it. Amounts of up to a second are sent as their sum.
    Progress(progress::Event),
    /// The trial did not end well.
    Failed {
        /// What kind of failure.
        kind: FailureKind,
        /// One line.
        message: String,
        /// Where the time went.
        ledger: Ledger,
    },
}
