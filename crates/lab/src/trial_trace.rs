//! A block trace of a trial: recorded while its workload and check run, explained when it is over.
//!
//! What is traced is the device that the filesystem is on. Below a loop image the host's disk is traced as
//! well, for there a reader finds what became of the image's requests; everything else that disk did is in
//! its trace too, the writing of the trace among it. The figures that become samples are those of the
//! filesystem's device.
//!
//! Tracing changes settings of the whole machine, so the run's undo journal knows of it before it begins,
//! as of a mount: after a kill -9 `fslab clean` finds it there. A trial that was to be traced and cannot be
//! is no trial: its cell fails, because an untraced run under the name of a traced one would make the
//! cost of tracing look like nothing.
//!
//! Traces are kept, and a long trial at many requests a second writes much. So a trace has a bound: a
//! quarter of what is free in the run's folder, at most 16 GiB. What reaches it is stopped and marked;
//! the trial goes on.

mod explain;
mod recording;

pub(crate) use explain::{Explained, Spans};
pub(crate) use recording::{Recorded, Traced, subjects};
