//! Block sources: images and devices read as bytes, for checkers that never write.
//!
//! A checker of an unmounted filesystem is a reader, and its time is the time of its reads. The
//! published measurements agree on what decides it: the number of requests and the seeks between
//! them, not the bytes (fsck.ocfs2, 2011: the same 6.5 GB took 484 s in requests of 32 KiB and 271 s
//! in requests of 4 MiB; xfs_repair: a prefetch without a bound ran so far ahead that its cache hit
//! 3 %). So this crate knows three things: how to read ([`BlockSource`]), what reading costs
//! (layers that count, cache, limit and fail), and how to read a lot ([`Sweep`]).
//!
//! **Sources.** [`Buffered`] reads through the kernel's page cache, [`Direct`] past it with
//! `io_uring`, [`Mapped`] through a mapping, [`Ram`] from memory. [`open`] chooses. A source is
//! opened for reading only, and there is no way to write through this crate.
//!
//! **Layers** are sources that hold a source: [`layer::Counting`], [`layer::Cache`],
//! [`layer::Throttle`], [`layer::Faulty`], [`layer::Recording`], and [`layer::OnModel`], which is as slow as a modelled
//! device. The reader above never knows. They are generic, so a stack costs no dynamic call unless it is built of `Box<dyn BlockSource>`.
//!
//! **Write logs** ([`log_writes`]) are sources too: a device as of any write that dm-log-writes recorded.
//!
//! **Asynchronous reading** is by ownership: a [`Request`] takes its [`Buffer`] along into a
//! [`Queue`] and the [`Completion`] brings it back. The kernel writes into memory that
//! nothing else can access meanwhile, which is what makes `io_uring` sound, and the number of buffers is
//! the bound of memory. Futures were rejected: a checker has a handful of threads that each have
//! their own queue, and no runtime should be between a request and its device.
//!
//! **Holes.** A sparse image is mostly hole, and forged ones are 72 TB of it. [`Sweep`] asks the
//! source where its data is (`SEEK_DATA`) and hands out a hole as one piece without bytes, so a sweep
//! costs the time of the data. Single reads do not ask: a system call for each 4 KiB block would cost
//! more than the zeros.
//!
//! Errors say what was asked, where and why ([`ReadError`]); a sweep that meets one reads around it
//! and hands out what can be read, because a checker that gives up at the first bad sector is of no
//! use when it is needed.

mod buffer;
mod buffered;
mod crew;
mod direct;
mod error;
mod handle;
mod histogram;
pub mod layer;
pub mod log_writes;
mod mapped;
mod open;
mod overlay;
mod queue;
mod ram;
mod request;
mod salvage;
mod scattered;
mod slice;
mod source;
mod sweep;
mod sync_queue;

pub use buffer::Buffer;
pub use buffered::Buffered;
pub use crew::for_each_in_threads;
pub use direct::{Direct, io_uring_works};
pub use error::{Fault, OpenError, ReadError};
pub use histogram::{Histogram, Row};
pub use mapped::Mapped;
pub use open::{Mode, Opened, open};
pub use overlay::Overlay;
pub use queue::{Completion, Queue, Request};
pub use ram::Ram;
pub use salvage::{Salvaged, salvage};
pub use scattered::{Run, Scattered};
pub use slice::Slice;
pub use source::{BlockSource, Geometry};
pub use sweep::{Content, Piece, Span, Sweep, SweepCounts, Swept};
