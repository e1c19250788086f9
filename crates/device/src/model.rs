//! What every model implements, and what it is given and returns.

/// Simulated time, in nanoseconds since the start of the simulation.
pub type Nanoseconds = u64;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Makes completed writes durable. Offset and length are ignored.
    Flush,
    /// Gives bytes up.
    Discard,
}

/// A request as a host sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Returned in the completion; the model does not interpret it.
    pub tag: u64,
    /// What it does.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// A write that completes only when it is on the medium (forced unit access).
    pub fua: bool,
    /// Whether its sender waits for it. Writeback does not set it, and an array with parity may then collect more of a row.
    pub sync: bool,
}

impl Request {
    /// A read.
    pub const fn read(tag: u64, offset: u64, len: u64) -> Request {
        Request {
            tag,
            op: Op::Read,
            offset,
            len,
            fua: false,
            sync: true,
        }
    }

    /// A write that a cache may hold.
    pub const fn write(tag: u64, offset: u64, len: u64) -> Request {
        Request {
            op: Op::Write,
            ..Request::read(tag, offset, len)
        }
    }

    /// A flush.
    pub const fn flush(tag: u64) -> Request {
        Request {
            op: Op::Flush,
            ..Request::read(tag, 0, 0)
        }
    }

    /// The byte after the last.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's tag.
    pub tag: u64,
    /// When it was done.
    pub at: Nanoseconds,
}

/// What one part of a device has done so far. Times are sums in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Which part: `disk`, `ssd`, `controller`, `link`.
    pub part: &'static str,
    /// Requests served, those of its cache included.
    pub requests: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Requests served from a cache or a look-ahead buffer.
    pub hits: u64,
    /// Time in which it worked on a request.
    pub busy: Nanoseconds,
    /// Command processing.
    pub overhead: Nanoseconds,
    /// Moving the head.
    pub seek: Nanoseconds,
    /// Waiting for the first byte to pass the head.
    pub rotation: Nanoseconds,
    /// Moving bytes.
    pub transfer: Nanoseconds,
}

/// A device, or a part of one, in simulated time.
///
/// Time never runs backwards: `now` of a call is at least that of the call before. A caller first
/// advances to the time of [`Model::next_event`] and then submits what that allows.
pub trait Model: Send {
    /// Bytes it holds.
    fn capacity(&self) -> u64;

    /// Takes a request at `now`.
    fn submit(&mut self, now: Nanoseconds, request: Request);

    /// When something next happens without further requests; `None` while it is idle. A time that is
    /// not later than the last call's is due at once.
    fn next_event(&self) -> Option<Nanoseconds>;

    /// Moves on to `now` and appends what was done up to then, in the order of time.
    fn advance(&mut self, now: Nanoseconds, done: &mut Vec<Completion>);

    /// Whether completed writes may be lost without a flush: whether a host is to send flushes. One that is not needed is never
    /// wrong.
    fn has_volatile_cache(&self) -> bool {
        true
    }

    /// Appends what its parts have done.
    fn usage(&self, parts: &mut Vec<Usage>);
}

/// Serves one request on an idle model and returns when it is done.
///
/// Work that goes on after the completion (look-ahead, destaging) has been done up to that time.
pub fn run_alone(model: &mut dyn Model, now: Nanoseconds, request: Request) -> Nanoseconds {
    model.submit(now, request);
    let mut done = Vec::new();
    let mut latest = now;
    while let Some(at) = model.next_event() {
        latest = latest.max(at);
        model.advance(latest, &mut done);
        if let Some(completion) = done.iter().find(|c| c.tag == request.tag) {
            return completion.at;
        }
    }
    latest
}
