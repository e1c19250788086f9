//! The event log: `events.jsonl`, one [`Entry`](crate::Entry) a line.
//!
//! # Policy for trouble while recording
//! A measurement that is not recorded did not happen, so recording trouble never passes in
//! silence. [`Log::emit`] returns an error that names the file and the cause (no space left,
//! input/output error); the lab then stops at once: it undoes mounts and loop devices, prints that
//! line and exits as incomplete. It does not run on in the hope of space. What is in the log stays
//! valid: a line that went in partly is cut off again, so a torn line can only ever be the last,
//! left by a kill or a power cut, and `fslab resume` repeats just that trial.
//!
//! # Durability
//! Each event is one `write(2)`, which outlives a kill -9. Events that a power cut must not take
//! back (run started, resumed, trial finished or failed, run finished) are followed by
//! `fdatasync`; the others are not, because a sync in mid-trial would disturb what is measured
//! when the images are on the same disk.
//!
//! # What a reader tolerates
//! Exactly one torn last line: bytes at the end that are not JSON, or blocks of zeros that a power
//! cut left. Anything else (a bad line in the middle, a gap in the numbers, a plan that contradicts
//! itself) is an error with file and line, because a report over a log with a hole would be wrong
//! without looking wrong. A whole JSON line that this version does not know is never "torn".

mod read;
mod write;

pub use read::{Loaded, Reader, Torn, read};
pub use write::Log;
