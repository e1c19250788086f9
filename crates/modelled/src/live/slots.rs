//! Room for the requests in flight, which is there from the start and is used again and again.
//!
//! A kernel that is short of memory writes to its disks. Were this process one of them and asked for memory then, each would wait for
//! the other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

/// Bytes of a front's head before the bytes of an answer: those of FUSE.
pub(super) const HEAD: usize = 16;
/// Requests for which there is room: what a FUSE server may be asked at once.
pub(super) const ROOM: usize = 256;
/// Bytes of a request for which there is room: the largest that Linux sends by default.
pub(super) const LARGEST: usize = 1280 << 10;

/// The bytes of a request, and whether they could be moved.
pub(super) struct Bytes {
    room: Vec<u8>,
    pub(super) is_failed: bool,
}

impl Bytes {
    /// An answer of this many bytes after its head. What a former request left in it is overwritten by the caller.
    pub(super) fn answer(&mut self, len: usize) -> &mut [u8] {
        if self.room.len() < HEAD + len {
            self.room.resize(HEAD + len, 0);
        }
        &mut self.room[..HEAD + len]
    }
}

/// Room for a request.
pub(super) struct Slot(Mutex<Bytes>);

impl Slot {
    fn new() -> Slot {
        Slot(Mutex::new(Bytes {
            room: vec![0; HEAD + LARGEST],
            is_failed: false,
        }))
    }

    /// Its bytes, once no other thread has them.
    pub(super) fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its bytes, and how long another thread had them, ns.
    pub(super) fn bytes_in_time(&self) -> (MutexGuard<'_, Bytes>, u64) {
        match self.0.try_lock() {
            Ok(bytes) => (bytes, 0),
            Err(TryLockError::Poisoned(error)) => (error.into_inner(), 0),
            Err(TryLockError::WouldBlock) => {
                let begun = Instant::now();
                let bytes = self.bytes();
                (bytes, begun.elapsed().as_nanos() as u64)
            }
        }
    }
}

/// Slots that no request has. More are made only when more requests are in flight than ever before.
pub(super) struct Slots(Mutex<Vec<Arc<Slot>>>);

impl Slots {
    pub(super) fn new() -> Slots {
        let slots = std::iter::repeat_with(|| Arc::new(Slot::new()));
        Slots(Mutex::new(slots.take(ROOM).collect()))
    }

    pub(super) fn take(&self) -> Arc<Slot> {
        let slot = self.free().pop();
        slot.unwrap_or_else(|| Arc::new(Slot::new()))
    }

    /// The last that came back is the next to be taken: its memory is the likeliest to be in a cache.
    pub(super) fn put(&self, slot: Arc<Slot>) {
        self.free().push(slot);
    }

    fn free(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
