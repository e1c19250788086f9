//! How far the blocks are.

use std::fmt::Write as _;

use record::Run;
use rundir::RunDir;
use serde::Serialize;

use crate::attempts::Attempt;
use crate::error::Error;
use crate::plan::FleetPlan;

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All of its trials ended.
    Whole,
    /// A process writes it.
    Running,
    /// It ended before its last trial; or a node writes it whose locks this one does not see.
    BrokenOff,
}

/// An attempt at a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptStatus {
    /// Its number.
    pub number: u32,
    /// How far it is.
    pub state: State,
    /// Its node, once it has begun a trial.
    pub node: Option<String>,
    /// Trials that ended well.
    pub finished: u32,
    /// Trials that failed.
    pub failed: u32,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockStatus {
    /// Its number.
    pub block: u32,
    /// Trials that it has.
    pub trials: u32,
    /// Its attempts.
    pub attempts: Vec<AttemptStatus>,
}

impl BlockStatus {
    /// Whether an attempt is whole.
    pub fn is_whole(&self) -> bool {
        self.attempts
            .iter()
            .any(|attempt| attempt.state == State::Whole)
    }

    fn is_running(&self) -> bool {
        self.attempts
            .iter()
            .any(|attempt| attempt.state == State::Running)
    }
}

/// All blocks of an opened fleet.
///
/// # Errors
/// Its attempts cannot be listed.
pub fn of(dir: &RunDir, fleet: &FleetPlan) -> Result<Vec<BlockStatus>, Error> {
    let mut blocks: Vec<BlockStatus> = (0..fleet.plan.blocks)
        .map(|block| BlockStatus {
            block,
            trials: fleet.slots(block).count() as u32,
            attempts: Vec::new(),
        })
        .collect();
    for attempt in Attempt::all(dir)? {
        if let Some(block) = blocks.get_mut(attempt.block as usize) {
            block.attempts.push(look(dir, &attempt));
        }
    }
    Ok(blocks)
}

fn look(fleet: &RunDir, attempt: &Attempt) -> AttemptStatus {
    let dir = attempt.open(fleet).ok();
    let locked = dir.as_ref().and_then(record::folder::writer).is_some();
    let unread = AttemptStatus {
        number: attempt.number,
        state: if locked {
            State::Running
        } else {
            State::BrokenOff
        },
        node: None,
        finished: 0,
        failed: 0,
    };
    let Some(run) = dir.and_then(|dir| Run::read(&dir).ok()) else {
        return unread;
    };
    let of = |is: fn(&record::Status) -> bool| {
        run.trials.iter().filter(|trial| is(&trial.status)).count() as u32
    };
    AttemptStatus {
        state: match run.closing {
            Some(_) => State::Whole,
            None => unread.state,
        },
        node: run.trials.iter().find_map(|trial| trial.node.clone()),
        finished: of(|status| *status == record::Status::Finished),
        failed: of(|status| matches!(status, record::Status::Failed(..))),
        ..unread
    }
}

/// Blocks without a whole attempt; those that are running are left out.
pub fn missing(blocks: &[BlockStatus]) -> Vec<u32> {
    let lacks = |block: &&BlockStatus| !block.is_whole() && !block.is_running();
    blocks
        .iter()
        .filter(lacks)
        .map(|block| block.block)
        .collect()
}

/// A line for each block, and a sum.
pub fn text(blocks: &[BlockStatus]) -> String {
    let mut text = String::from("block  attempt  node              trials      state\n");
    let mut whole = 0;
    for block in blocks {
        whole += u32::from(block.is_whole());
        if block.attempts.is_empty() {
            let _ = writeln!(
                text,
                "{:>5}  {:>7}  {:<16}  {:<10}  not begun",
                block.block, "-", "-", "-"
            );
        }
        for attempt in &block.attempts {
            let state = match attempt.state {
                State::Whole => "whole",
                State::Running => "running",
                State::BrokenOff => "broken off",
            };
            let failed = match attempt.failed {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            let node = attempt.node.as_deref().unwrap_or("-");
            let trials = format!("{} of {}", attempt.finished, block.trials);
            let _ = writeln!(
                text,
                "{:>5}  {:>7}  {node:<16}  {trials:<10}  {state}{failed}",
                block.block, attempt.number
            );
        }
    }
    let _ = writeln!(text, "{whole} of {} blocks are whole", blocks.len());
    text
}
