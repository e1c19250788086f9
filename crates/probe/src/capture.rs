//! Block traces without the blktrace program.
//!
//! Three methods trace the kernel's block events.
//!
//! 1. **The blk tracer** of ftrace, which is used where it exists. With `current_tracer` set to `blk` the
//!    kernel writes the same records as blktrace into ftrace's ring buffer, for the devices whose
//!    `/sys/block/X/trace/enable` is 1: filtered by device and category in the kernel, plugs and
//!    unplugs with their device, PDUs as blktrace has them. An event takes 52 bytes in the buffer. tracefs
//!    is readable where lockdown forbids debugfs. Its cost: it works in the top trace instance
//!    only, so there is one recording at a time, and its settings are shared with all users of ftrace
//!    ([`Changes`] restores them).
//! 2. **The block tracepoints** in their own instance. No other user is disturbed, but in their
//!    formats `block_plug` and `block_unplug` have neither device nor cause, requests do not show
//!    whether they are a filesystem's or passed through, and events of all devices have to be read and
//!    discarded. Records made from them would be guesses in these fields.
//! 3. **blktrace's relay files** in debugfs. They hold the same records as the tracer, and need a mounted
//!    debugfs that lockdown does not close. They are used where the tracer does not exist.
//!
//! [`methods`] lists which of them work here.
//!
//! The records are written as ordinary `<dev>.blktrace.<cpu>` files, with the record type of the
//! `blktrace` crate: the only crate of the experiment that is known here, since writer and reader of a format must
//! share it. Losses are counted twice, by the gap they leave in the stream and by the buffer's
//! statistics, and are never hidden ([`Summary::degraded`]).

mod changes;
mod detached;
mod device;
mod error;
mod event;
mod mask;
mod methods;
mod names;
mod output;
mod page;
mod reader;
mod recording;
mod relay;
mod request;
mod stacked;
mod summary;
mod tracer;

pub use changes::Changes;
pub use device::Device;
pub use error::{Class, Error};
pub use mask::Mask;
pub use methods::{Method, methods};
pub use recording::{BUFFER, Options, Plan, Recording};
pub use stacked::stacked;
pub use summary::{Cpu, FORMAT, Summary};
