//! Block traces without the blktrace program.
//!
//! Three methods trace the kernel's block events.
//!
//! 1. **The blk tracer** of ftrace, which is taken where it is there. With `current_tracer` set to `blk` the
//!    kernel writes the very records of blktrace into ftrace's ring buffer, for the devices whose
//!    `/sys/block/X/trace/enable` is 1: filtered by device and category in the kernel, plugs and
//!    unplugs with their device, PDUs as blktrace has them. 52 bytes an event in the buffer. tracefs
//!    is readable where lockdown forbids debugfs. Its price: it lives in the top trace instance only,
//!    so one recording at a time, and its settings are everybody's ([`Changes`] restores them).
//! 2. **The block tracepoints** in an instance of their own. Nobody is disturbed, but by
//!    their formats `block_plug` and `block_unplug` say neither device nor cause, requests do not say whether they
//!    are a filesystem's or passed through, and events of all devices have to be taken and thrown away.
//!    Records made of them would be guesses in these fields.
//! 3. **blktrace's relay files** in debugfs. They hold what the tracer gives, and need a mounted
//!    debugfs that lockdown does not close. Nothing speaks for them where the tracer is; they are taken
//!    where it is not.
//!
//! [`methods`] lists which of them work here.
//!
//! The records are written as ordinary `<dev>.blktrace.<cpu>` files, with the record type of the
//! `blktrace` crate: the one thing of the experiment's wing that is known here, since writer and
//! reader of a format must not each have their own. Losses are counted twice, by the place they leave
//! in the stream and by the buffer's statistics, and are never hidden ([`Summary::degraded`]).

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
