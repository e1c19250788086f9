//! Recorded outputs replayed, and fake checkers that do what real ones do on their worst days.

mod fakes;
mod replay;
