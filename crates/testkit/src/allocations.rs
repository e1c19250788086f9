//! Counts how often a thread asks the allocator for memory.
//!
//! A test binary makes [`Counting`] its global allocator; threads of other tests do not count.

#![allow(unsafe_code, reason = "a global allocator is unsafe to write")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The system's allocator, which counts the calls of the threads that are watched.
#[derive(Debug)]
pub struct Counting;

/// A count of calls, of all threads that are watched with it.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

thread_local! {
    static WATCHED: Cell<Option<&'static Count>> = const { Cell::new(None) };
}

impl Count {
    /// Counts the calling thread, from now on and until it ends.
    pub fn watch(&'static self) {
        WATCHED.set(Some(self));
    }

    /// How often memory was asked for.
    pub fn so_far(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

fn count() {
    // A thread that ends has no such value any more, and still frees.
    let _ = WATCHED.try_with(|watched| {
        if let Some(count) = watched.get() {
            count.0.fetch_add(1, Relaxed);
        }
    });
}

// SAFETY: each call is passed on to the system's allocator as it came; a counter is kept beside it, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}
