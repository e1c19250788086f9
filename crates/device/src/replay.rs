//! Replay of recorded requests on a model.
//!
//! What a record says about another device depends on what is kept of it:
//!
//! | mode | kept | answers |
//! |---|---|---|
//! | [`Mode::Open`] | the time of each submission | latency under this load |
//! | [`Mode::Closed`] | the depth at each submission | jobs with a fixed queue depth |
//! | [`Mode::Dependent`] | what each submission waited for, and think time | how long the same job takes |
//! | [`Mode::Saturate`] | the order | the bound of the device |
//!
//! Where the modes agree, the choice does not matter; a report should show more than one.
//!
//! Dependencies follow hfplayer (Haghdoost et al., On the accuracy and scalability of intensive I/O
//! workload replay, FAST 2017): a submission depends on the last completion of its process before it,
//! unless the gap is longer than a think time can be. Kernel threads ([`Sender`]) submit for others: a process waits for
//! what they send for it, and they wait for that process.
//!
//! A record may be larger than memory. [`Linker`] finds what each request waited for while the events of a record pass, and puts
//! the requests where its caller keeps them ([`Keep`]); a replay asks for them by number ([`Requests`]) and holds those that wait
//! or are in flight.

mod engine;
mod estimate;
mod frontier;
mod kept;
mod linker;
mod place;
mod program;
mod response;
mod sample;

pub use engine::{Bound, Each, Error, Finished, Options, Replayed, replay, replay_linked};
pub use estimate::{Estimate, Failure, RUNS, Structural, estimate, seed_of_run};
pub use kept::{After, Keep, Kept, Requests};
pub use linker::{Asked, Linker, Outline, linked};
pub use place::Place;
pub use program::{
    Action, Builder, InMemory, KeepSteps, Mark, Outline as ProgramOutline, Planned, Program, Ran,
    Sent, Step, Steps,
};
pub use response::Responses;
pub use sample::Sample;

use crate::model::{Nanoseconds, Op};

/// A request of a record. Records are in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Who submitted it: requests of one process may wait for each other.
    pub process: u32,
    /// When it was submitted.
    pub submitted: Nanoseconds,
    /// When it was done; `None` if the record ends before.
    pub completed: Option<Nanoseconds>,
    /// What it did.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Whether it had to be on the medium.
    pub fua: bool,
    /// Who sent it.
    pub sender: Sender,
}

/// Who sends a request, as far as it matters for what waits for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sender {
    /// A process, which waits for its own requests.
    #[default]
    Process,
    /// A kernel thread, for a process that waits at once: a read, a flush, what must be on the medium, what is synchronous.
    KernelAwaited,
    /// A kernel thread, for none that waits: writeback.
    Kernel,
}

/// What is kept of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each request at its recorded time.
    Open,
    /// As many requests in flight as at each recorded submission.
    Closed,
    /// Each request after what its process waited for, and the think time since.
    Dependent {
        /// The longest gap that is think time; by default the larger of 1 ms and the 95th percentile of all
        /// gaps.
        think_limit: Option<Nanoseconds>,
    },
    /// All, with this many in flight.
    Saturate {
        /// At least 1.
        depth: u32,
    },
}

#[cfg(test)]
mod tests;
