//! Counts what is allocated, in order to hold the checker to what it may take.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::pedantic,
    reason = "the fuzz target, the test and the example each use a part"
)]
#![allow(unsafe_code)] // A global allocator is one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with a count of what lives.
pub struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Large pieces asked for as zeros: the kernel's memory, not yet touched. They are known by their addresses, to be left out
/// again when they are given back. The checker's maps are such, and it counts itself what it touches of them.
static ZEROED: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
const LARGE: usize = 256 << 10;

fn add(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
}

/// From here on the peak is that of what comes; bytes that live now.
pub fn begin() -> usize {
    let live = LIVE.load(Relaxed);
    PEAK.store(live, Relaxed);
    live
}

/// The most that lived at once since [`begin`].
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

fn swap(from: usize, to: usize) -> bool {
    let place = ZEROED
        .iter()
        .find(|place| place.compare_exchange(from, to, Relaxed, Relaxed).is_ok());
    place.is_some()
}

// SAFETY: every call is handed on to the system's allocator as it came; only counters are kept beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if layout.size() < LARGE || !swap(at as usize, 0) {
            LIVE.fetch_sub(layout.size(), Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let at = unsafe { System.alloc_zeroed(layout) };
        if layout.size() < LARGE || at.is_null() || !swap(0, at as usize) {
            add(layout.size());
        }
        at
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() >= LARGE && swap(at as usize, 0) {
            add(layout.size());
        }
        // Both may live for a moment, and do where the piece is moved.
        add(size);
        // SAFETY: the caller's promise.
        let new = unsafe { System.realloc(at, layout, size) };
        LIVE.fetch_sub(if new.is_null() { size } else { layout.size() }, Relaxed);
        new
    }
}
