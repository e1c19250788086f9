//! Tests of comparisons between runs, from outside.

mod common;
mod formats;
mod verdicts;
