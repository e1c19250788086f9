//! Why one cell of a run is slower than another.
//!
//! The replies to the published studies ask for the cause at once: was it the cache, the readahead, a
//! throttled writer, one CPU, fragmentation, the journal? A run records the answers with its numbers,
//! and this crate reads them. [`explain()`] takes every difference that counts (by the comparison that
//! reports use, [`::compare::pair`]), gathers the evidence of both cells in that phase ([`evidence`]), and asks
//! each [`Rule`].
//!
//! Four decisions shape it:
//!
//! - **A rule is one file and one cause.** It holds or is denied with the figures that decided, and
//!   names the missing measurement where it cannot judge. No score mixes causes: two causes may hold at
//!   once, and a reader must be able to object to one of them.
//! - **Every rule can be refuted.** Each has evidence that denies it, and a counter-experiment: a
//!   setting that removes the cause, so that anyone can see whether the difference shrinks.
//! - **"Not explained" is an answer.** It is given where no rule holds, with the measurements that
//!   would let more rules judge.
//! - **Confidence has a stated meaning** ([`Confidence`]): it counts what is lacking, not how likely the
//!   author finds the cause.
//!
//! Rejected: a decision tree (its order lets one cause hide another), correlations over many runs (five
//! blocks are too few), and text written by a language model (it could not be checked).
//!
//! Pure: reads a folded [`record::Run`] and its telemetry files.

#![allow(
    clippy::format_push_string,
    reason = "a string per printed line costs nothing here, and write! returns a Result to discard"
)]

mod comparison;
mod differences;
pub mod effects;
mod error;
pub mod evidence;
mod explanation;
mod gather;
mod options;
mod questions;
mod rule;
pub mod rules;
mod telemetry;
mod text;
mod tolerance;
mod value;

pub use compare::tables;

#[cfg(test)]
mod testing;

pub use comparison::{CellComparison, Direction, level_name, subject};
pub use differences::{Difference, Place, Slower};
pub use effects::{Effect, Effects, Interaction, NotCompared, effects};
pub use error::Error;
pub use explanation::{Explained, Explanation, RuleAnswer, explain};
pub use options::Options;
pub use rule::{Confidence, Judgement, Rule, Verdict};
pub use text::{LEGEND, render, sentence, title, wrap};
pub use value::{Row, Unit, Value};
