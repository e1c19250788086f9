//! What a judgement of a trial's crash images is given, and what it gives back.

use std::sync::Arc;

use record::{Crash, Evidence};
use rig::undo::Journal;
use study::{Cell, CrashSpec};

use crate::interrupt::Interrupt;
use crate::watch::Watcher;

/// What a judgement needs: the cell, what the study asks for, and how to report and stop.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) spec: &'a CrashSpec,
    pub(crate) journal: &'a Arc<Journal>,
    pub(crate) watcher: &'a dyn Watcher,
    pub(crate) interrupt: &'a Interrupt,
}

/// The result of a judgement.
pub(crate) struct CrashResult {
    pub(super) crash: Crash,
    pub(super) evidence: Vec<Evidence>,
}
