//! The guest's side: the first process of a guest kernel.
//!
//! A kernel starts `/init` of its initramfs as process 1 and expects it to make everything else.
//! Here that is this same binary: [`asked`] detects it, and [`run`] mounts what programs expect,
//! loads the modules in the order that the host computed, opens the channel, hands the job to its
//! caller and switches the machine off. There is no shell, no udev and no service in between, which
//! is most of why a guest is up in two seconds.
//!
//! What fails before the channel is open goes to the console, which the host quotes. What fails
//! after it ends without the last line, and is quoted the same way. A panic of process 1 is a panic of
//! its kernel: the machine ends, and the host sees why.

mod channel;
mod channel_writer;
mod exercise;
mod modules;
mod mounts;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::Path;

use rustix::system::RebootCommand;
use serde_json::Value;

use crate::initramfs::MODULES_ORDER;
use crate::machine::MARK;
pub use channel_writer::ChannelWriter;
pub(crate) use exercise::{Exercise, document};

/// The job, within the initramfs.
pub const JOB: &str = "/fslab/job.json";

/// Whether this process is a guest's init: process 1, with [`MARK`] on the kernel's command line. A container's first
/// process is number 1, too.
pub fn asked() -> bool {
    rustix::process::getpid().as_raw_nonzero().get() == 1 && std::env::var_os(MARK).is_some()
}

/// Runs the guest from its first process to its power switch. `job` gets the job's document and
/// the channel that reaches the host, and gives the exit code.
pub fn run(job: impl FnOnce(Value, &ChannelWriter) -> i32) -> Infallible {
    if let Err(why) = work(job) {
        eprintln!("fslab: {why}");
    }
    rustix::fs::sync();
    let _ = rustix::system::reboot(RebootCommand::PowerOff);
    // Only a process 1 without the right to do it comes here: a container with the mark.
    std::process::exit(1)
}

fn work(job: impl FnOnce(Value, &ChannelWriter) -> i32) -> Result<(), String> {
    mounts::mount_all()?;
    nothing_to_read()?;
    modules::load(Path::new(MODULES_ORDER))?;
    mounts::mount_of_modules();
    let mark = std::env::var_os(MARK);
    let channel = channel::open(mark.as_deref().unwrap_or(OsStr::new("")))?;
    let channel = ChannelWriter::new(channel);
    channel.ready()?;
    let document = std::fs::read(JOB).map_err(|error| format!("{JOB}: {error}"))?;
    let document = serde_json::from_slice(&document).map_err(|error| format!("{JOB}: {error}"))?;
    let beating = channel.beat()?;
    let code = match exercise::asked(&document) {
        Some(exercise) => exercise::report(&exercise, &channel),
        None => job(document, &channel),
    };
    drop(beating);
    channel.done(code)
}

/// The kernel gives init the console as its stdin. A serial line never ends, so a program that
/// asks a question there waits forever; /dev/null ends at once.
fn nothing_to_read() -> Result<(), String> {
    let null = std::fs::File::open("/dev/null").map_err(|error| format!("/dev/null: {error}"))?;
    rustix::stdio::dup2_stdin(null).map_err(|error| format!("stdin: {error}"))
}
