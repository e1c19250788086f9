//! Requests of a block trace.
//!
//! A trace shows bios as they are queued (Q), requests as they are given to the driver (D), and completions (C). Requests are what
//! one disk was asked for, merged as the recorded kernel did. Bios are what the filesystem asked for; another topology merges them
//! otherwise, so they are merged anew: neighbours of one process that were queued without a completion of that process between
//! them, up to the kernel's limit of one request.
//!
//! A kernel thread submits for others. Whether one of them waits at once is seen by what is asked for: a read that is not
//! readahead, a flush, what must be on the medium, and what the kernel marks as synchronous.

mod bios;
mod issued;
#[cfg(test)]
mod tests;
mod threads;

use std::collections::{BTreeSet, VecDeque};

use blktrace::analysis::window::Window;
use blktrace::record::{Category, Head, Notify};
use blktrace::{Action, Trace};
use device::replay::{Asked, Linker, Sender};
use device::{Catalogue, Kind, Op};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::error::Error;
use crate::spool::{Spool, Spooled};

/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Largest request that bios are merged into: the kernel's usual `max_sectors_kb`.
pub(crate) const LARGEST: u64 = 1280 << 10;

/// Which events of a trace are requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// As the recorded kernel merged them: D to C.
    #[default]
    Issue,
    /// Bios, merged anew: Q to C.
    Queue,
}

impl Source {
    /// What suits these devices: an array is another topology than the disk of the record, and merges otherwise.
    ///
    /// # Errors
    /// There is no device of one of these names.
    pub fn suiting(catalogue: &Catalogue, devices: &[String]) -> Result<Source, device::Error> {
        for name in devices {
            if matches!(catalogue.device(name)?.kind, Kind::Array(_)) {
                return Ok(Source::Queue);
            }
        }
        Ok(Source::Issue)
    }

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Source::Issue => "requests as they were merged",
            Source::Queue => "bios, merged anew",
        }
    }

    fn other(self) -> Source {
        match self {
            Source::Issue => Source::Queue,
            Source::Queue => Source::Issue,
        }
    }

    /// The event that makes a request.
    fn action(self) -> Action {
        match self {
            Source::Issue => Action::Issue,
            Source::Queue => Action::Queue,
        }
    }
}

/// Whether an event has to do with requests, or names a process. Of a trace with all actions most have not.
fn is_wanted(head: &Head) -> bool {
    match head.kind() {
        Some(
            Action::Queue | Action::Split | Action::Issue | Action::Requeue | Action::Complete,
        ) => true,
        Some(_) => false,
        None => head.note() == Some(Notify::Process),
    }
}

/// The requests of a trace.
#[derive(Clone, Debug)]
pub struct Record {
    /// What the trace is called.
    pub name: String,
    /// In the order of submission.
    pub requests: Spooled,
    /// Which events they are.
    pub source: Source,
    /// Why it is not whole; empty for a good trace.
    pub doubts: Vec<String>,
    /// Commands without an address (passthrough), which are left out.
    pub commands: u64,
}

/// What must be known of a request until it is done.
#[derive(Clone, Copy, Debug)]
struct Flying {
    sent: Sent,
    /// Bytes that are not done.
    left: u64,
    /// Whether the driver gave it back, and will be given it again.
    is_back: bool,
}

/// A request by its number, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sent {
    number: u32,
    process: u32,
}

/// Reads the requests of a trace, in memory that does not grow with it. `device` (major << 20 | minor) chooses one of several.
///
/// # Errors
/// The trace cannot be read, has no request, or has requests of several devices.
pub fn read(trace: &mut Trace, source: Source, device: Option<u32>) -> Result<Record, Error> {
    read_into(Spool::default(), trace, source, device, None)
}

/// As [`read`], of requests that began in a stretch of time.
///
/// # Errors
/// As [`read`].
pub fn read_within(trace: &mut Trace, source: Source, window: Window) -> Result<Record, Error> {
    read_into(Spool::default(), trace, source, None, Some(window))
}

/// As [`read`] of these events, and where the trace has none of them, of the others. `window`: only what began in it.
///
/// # Errors
/// As [`read`].
pub fn read_either(
    open: impl Fn() -> Result<Trace, Error>,
    source: Source,
    device: Option<u32>,
    window: Option<Window>,
) -> Result<Record, Error> {
    let read = |source| read_into(Spool::default(), &mut open()?, source, device, window);
    match read(source) {
        Err(missing @ Error::NoRequests(_)) => match read(source.other()) {
            Err(Error::NoRequests(_)) => Err(missing),
            other => other,
        },
        read => read,
    }
}

fn read_into(
    spool: Spool,
    trace: &mut Trace,
    source: Source,
    device: Option<u32>,
    window: Option<Window>,
) -> Result<Record, Error> {
    let mut reader = Reader {
        linker: Linker::new(spool),
        threads: BTreeSet::new(),
        commands: 0,
    };
    let (mut devices, mut last) = (BTreeSet::new(), None);
    let mut whole = Whole::default();
    let mut issued = issued::Issued::default();
    let mut bios = bios::Bios::default();
    let base = trace.genesis();
    let wanted = |file, head: &Head| {
        whole.note(file, head);
        is_wanted(head)
    };
    let all = blktrace::each_of(trace, wanted, |_, event| {
        let head = event.head;
        if head.note() == Some(Notify::Process) {
            reader.name(head.pid, event.payload());
        }
        let Some(action) = head.kind() else {
            return Ok(());
        };
        if head.has(Category::Passthrough) {
            reader.commands += u64::from(action == Action::Issue);
            return Ok(());
        }
        if device.is_some_and(|device| device != head.device) {
            return Ok(());
        }
        let outside = |window: Window| !(window.begin_ns..=window.end_ns).contains(&head.time);
        if action == source.action() && window.is_some_and(outside) {
            return Ok(());
        }
        let at = head.time.saturating_sub(base);
        if action == source.action() && last != Some(head.device) {
            devices.insert(head.device);
            last = Some(head.device);
        }
        match source {
            Source::Issue => issued.event(&mut reader, at, action, &head),
            Source::Queue => bios.event(&mut reader, at, action, &head),
        }
    });
    match all {
        // The tracer was killed, or its disk was full: what was written before that can be replayed.
        Err(Error::Trace(blktrace::Error::Truncated { path, offset })) => {
            let name = path.file_name().unwrap_or_default().display();
            whole.broken = Some(format!(
                "{name} ends inside the record at byte {offset}, and all that came later is left out"
            ));
        }
        all => all?,
    }
    if devices.len() > 1 {
        let devices = numbers(&devices);
        return Err(Error::SeveralDevices { devices });
    }
    let record = reader.finish(trace.name(), source, whole.doubts(trace));
    if record.requests.outline().count == 0 {
        let what = match source {
            Source::Issue => "no request that was given to a driver",
            Source::Queue => "no bio that was queued",
        };
        return Err(Error::NoRequests(format!(
            "{}: the trace has {what}{}; record all actions of the device",
            record.name,
            device.map_or_else(String::new, |_| " of this device".to_owned())
        )));
    }
    Ok(record)
}

fn numbers(devices: &BTreeSet<u32>) -> String {
    let all: Vec<String> = devices
        .iter()
        .map(|device| format!("{},{}", device >> 20, device & 0xf_ffff))
        .collect();
    words::list(&all)
}

/// Requests as they are found.
struct Reader {
    linker: Linker<Spool>,
    /// Kernel threads.
    threads: BTreeSet<u32>,
    commands: u64,
}

impl Reader {
    fn push(&mut self, at: u64, process: u32, op: Op, head: &Head) -> Result<Sent, Error> {
        let asked = Asked {
            op,
            // A flush has no place. Kernels differ in what they write for it, and some write the largest sector.
            offset: if op == Op::Flush {
                0
            } else {
                head.sector.saturating_mul(SECTOR)
            },
            len: if op == Op::Flush {
                0
            } else {
                u64::from(head.bytes)
            },
            fua: head.has(Category::Fua),
            sender: self.sender(process, op, head),
        };
        let number = self.linker.submit(process, at, asked)?;
        Ok(Sent { number, process })
    }

    /// A process has this name. It may have had another.
    fn name(&mut self, process: u32, name: &[u8]) {
        if threads::is_kernel(name) {
            self.threads.insert(process);
        } else {
            self.threads.remove(&process);
        }
    }

    fn sender(&self, process: u32, op: Op, head: &Head) -> Sender {
        let is_awaited = match op {
            Op::Read => !head.has(Category::Ahead),
            Op::Flush => true,
            Op::Write | Op::Discard => head.has(Category::Sync) || head.has(Category::Fua),
        };
        if !self.threads.contains(&process) {
            Sender::Process
        } else if is_awaited {
            Sender::KernelAwaited
        } else {
            Sender::Kernel
        }
    }

    /// All of a request is done.
    fn complete(&mut self, sent: Sent, at: u64) {
        self.linker.complete(sent.number, sent.process, at);
    }

    fn finish(self, name: String, source: Source, doubts: Vec<String>) -> Record {
        let (spool, outline) = self.linker.finish();
        Record {
            name,
            requests: spool.finish(outline),
            source,
            doubts,
            commands: self.commands,
        }
    }
}

/// What a head asks for. A write of nothing with a flush before it is a flush.
fn op_of(head: &Head) -> Op {
    if head.has(Category::Discard) {
        Op::Discard
    } else if head.bytes == 0 {
        Op::Flush
    } else if head.has(Category::Write) {
        Op::Write
    } else {
        Op::Read
    }
}

/// Whether all events are there.
#[derive(Default)]
struct Whole {
    /// Last sequence number and time of each file and CPU.
    last: FxHashMap<(usize, u32), (u32, u64)>,
    missing: u64,
    events: u64,
    /// Those that follow a later one.
    backwards: u64,
    /// Where it ends too early.
    broken: Option<String>,
}

impl Whole {
    fn note(&mut self, file: usize, head: &Head) {
        if head.has(Category::Notify) {
            return;
        }
        let (last, time) = self.last.entry((file, head.cpu)).or_default();
        self.events += 1;
        self.backwards += u64::from(head.time < *time);
        *time = head.time;
        if head.sequence > 0 {
            self.missing += u64::from(head.sequence.saturating_sub(last.saturating_add(1)));
            *last = head.sequence.max(*last);
        }
    }

    fn doubts(&self, trace: &Trace) -> Vec<String> {
        let mut doubts: Vec<String> = self.broken.iter().cloned().collect();
        if self.missing > 0 && !trace.is_merged() {
            doubts.push(format!(
                "{} of its sequence {} missing",
                words::plural(self.missing, "event"),
                if self.missing == 1 { "is" } else { "are" }
            ));
        }
        doubts.extend(blktrace::analysis::shuffled(self.backwards, self.events));
        if trace.absent() > 0 {
            doubts.push(format!(
                "{} without a file",
                words::plural(trace.absent(), "CPU")
            ));
        }
        if trace.strays() > 0 {
            doubts.push(format!(
                "{} of another CPU than its file's",
                words::plural(trace.strays(), "record")
            ));
        }
        doubts
    }
}

/// In-flight requests of a device by their first sector: readers may ask for the same at once.
type ByAddress = FxHashMap<(u32, u64), Vec<Flying>>;

/// Flushes in flight, by device. They have no address, so the first that was sent is the first that is done.
#[derive(Default)]
struct Flushes(FxHashMap<u32, VecDeque<Sent>>);

impl Flushes {
    fn sent(&mut self, device: u32, sent: Sent) {
        self.0.entry(device).or_default().push_back(sent);
    }

    fn done(&mut self, reader: &mut Reader, device: u32, at: u64) {
        if let Some(sent) = self.0.get_mut(&device).and_then(VecDeque::pop_front) {
            reader.complete(sent, at);
        }
    }
}
