//! Why one cell of a run is slower than another.
//!
//! The threads below the published studies ask for the cause as soon as they have seen the table:
//! was it the cache, the readahead, a throttled writer, one CPU, fragments, the journal? A run has
//! recorded the answers beside its numbers, and this crate reads them. [`explain()`] takes every
//! difference that counts (by the comparison that reports use, [`compare`]), gathers what both
//! cells showed in that phase ([`evidence`]), and asks each [`Rule`].
//!
//! Four decisions shape it:
//!
//! - **A rule is one file and one cause.** It names what it needs, holds or is denied with the
//!   figures that decided, and says which measurement is missing where it cannot judge. There is no
//!   score that mixes causes: two causes may hold at once, and a reader must be able to object to
//!   one of them.
//! - **No rule is asked for a verdict it cannot lose.** Each has counter-evidence that denies it, and
//!   a counter-experiment: the setting that turns the cause off, so that anyone can see whether the
//!   difference shrinks.
//! - **Silence is an answer.** Where no rule holds, the difference is *not explained*, and the
//!   measurements that would let more rules judge are named.
//! - **Confidence has a stated meaning** ([`Confidence`]): it counts what is lacking, not how likely the
//!   author finds the cause.
//!
//! Rejected: a decision tree (its order hides causes behind others), correlations over many runs
//! (five blocks are not many), and text written by a language model (nobody could check it).
//!
//! Pure: reads a folded [`record::Run`] and its telemetry files.

#![allow(
    clippy::format_push_string,
    reason = "a string per printed line costs nothing here, and write! returns a Result to discard"
)]

pub mod compare;
mod comparison;
mod differences;
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

#[cfg(test)]
mod testing;

pub use comparison::{Direction, Pair};
pub use differences::{Difference, Place, Slower};
pub use error::Error;
pub use explanation::{Explained, Explanation, RuleAnswer, explain};
pub use options::Options;
pub use rule::{Confidence, Judgement, Rule, Verdict};
pub use text::{LEGEND, render, sentence, title, wrap};
pub use value::{Row, Unit, Value};
