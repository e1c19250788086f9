//! Work on several things at once, with as many threads as the system gives.
//!
//! Where a process may make no more threads (`ulimit -u`, `ulimit -v`, a control group's `pids.max`), a
//! check is slower, but it is a check. `std::thread::Scope::spawn` panics there.

use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// Calls `work` once for each item. The calling thread takes part, and a thread is made for each
/// further item, as far as that is possible; a thread that has finished one item takes the next.
/// A panic in `work` is passed on.
///
/// Threads are made one after another, and the work begins when all of them run. The standard library
/// and the allocator map memory when a thread starts; where it cannot be had then, the program ends.
/// So nothing else of the crew may take the memory that [`has_room`] has just seen.
pub fn for_each_in_threads<T: Send>(
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send>,
    work: impl Fn(T) + Sync,
) {
    let items = items.into_iter();
    let others = items.len().saturating_sub(1);
    let items = Mutex::new(items);
    let take = || {
        loop {
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { return };
            work(item);
        }
    };
    thread::scope(|scope| {
        let closed = items.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..others {
            let (started, has_started) = sync_channel(1);
            // The channel's end is dropped with the closure, so a thread that fails is not waited for.
            let first = move || {
                // The allocator maps an arena for a thread's first allocation.
                std::hint::black_box(Box::new(0_u8));
                started.send(()).ok();
                take();
            };
            let builder = Builder::new().name("fslab-worker".into());
            if !has_room() || builder.spawn_scoped(scope, first).is_err() {
                break;
            }
            has_started.recv().ok();
        }
        drop(closed);
        take();
    });
}

/// Whether a thread would find address space for its stack and its first allocations: without, it can
/// be had and then ends the program. The bytes are reserved, never touched, and given back.
fn has_room() -> bool {
    const ROOM: usize = 8 << 20;
    let mut bytes = Vec::<u8>::new();
    let reserved = bytes.try_reserve_exact(ROOM).is_ok();
    std::hint::black_box(&bytes);
    reserved
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_item_is_worked_on_once() {
        for count in [0, 1, 2, 50] {
            let mut items = vec![0; count];
            for_each_in_threads(items.iter_mut(), |item| *item += 1);
            assert!(items.iter().all(|item| *item == 1), "{count}");
        }
    }

    #[test]
    fn several_are_in_work_at_once() {
        // Each waits for the other: one thread alone would wait for ever.
        let barrier = std::sync::Barrier::new(2);
        let passed = AtomicUsize::new(0);
        for_each_in_threads([(), ()], |()| {
            barrier.wait();
            passed.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(passed.into_inner(), 2);
    }
}
