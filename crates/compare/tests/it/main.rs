//! Tests of comparisons between runs, from outside.

mod acceptance;
mod bisect;
mod common;
mod formats;
mod history;
mod verdicts;
