//! The lab runs a study: it takes a plan, prepares the rig, puts the workload on it under the eyes
//! of the probes, and writes everything into the record.
//!
//! This is the only crate that knows both wings. The experiment (study, stats, record, report) is
//! pure and could run anywhere; the live system (rig, workload, probe) knows nothing of plans. The
//! lab translates ([`convert`]), so neither wing has to know the other's words.
//!
//! Two rules shape it. What is timed never shares its clock with preparation: the rig times mkfs
//! and mount, a workload times its phases, and the lab only keeps a ledger of who spent what, in
//! which its own time is the remainder. And the log comes first: an event is written and flushed
//! before anyone sees it, so a kill at any moment loses no finished trial.
//!
//! Rejected: a worker process per trial, to be safe from a crash of the workload. The workloads are
//! ours and return errors; what a process would protect from, a kill, `fslab clean` undoes anyway.
//! [`Executor`] is the seam: this process, or a guest kernel ([`guest`]). Ranks of MPI are a workload of this process that is launched
//! ([`::ranks::Launched`]): what surrounds a trial (its folder, its counters, its context) is the same with one rank and with many.

pub mod bench;
pub mod bench_fsck;
pub mod bench_text;
mod block_map;
mod check;
mod checked;
pub mod choice;
pub mod clean;
pub mod convert;
pub mod crash;
pub mod error;
mod estimate;
pub mod executor;
pub mod facilities;
mod forged;
pub mod guest;
pub mod interrupt;
mod io_crosscheck;
mod layout;
pub mod local;
mod members;
mod midphase_stats;
pub mod needs;
pub mod noise;
mod observer;
mod open_phases;
mod partial_result;
pub mod planning;
pub mod preflight;
mod pressure;
mod ranks;
mod rates;
mod reference;
mod scan;
mod scan_program;
pub mod session;
mod stack;
pub mod target;
mod telemetry;
pub mod trace_command;
mod trial_trace;
mod usage;
mod vigil;
pub mod virtual_time;
pub mod watch;

pub use choice::{Choice, ExecutorRequest, Runner, choose};
pub use clean::{Cleaned, clean};
pub use error::{Class, Error};
pub use executor::{Executor, Failure, KernelContext, Surroundings};
pub use interrupt::Interrupt;
pub use needs::Needs;
pub use planning::{PlanRequest, Planned, RanksRequest, plan};
pub use progress::Silent;
pub use session::{Ending, Finished, Request, probe, resume, start, start_in};
pub use target::{GuestMachine, GuestTarget, Target};
pub use watch::Watcher;
