//! Numbered pieces of work for several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use progress::Progress;

use crate::Error;

/// Does units `0..count` with as many threads as there are processors, eight at most; each thread has a worker of its own. Units are begun in
/// ascending order. The first error ends all of them.
///
/// # Errors
///
/// That error, or [`Error::Stopped`] when `progress` asks to stop.
pub(crate) fn each<W>(
    count: usize,
    progress: &dyn Progress,
    worker: impl Fn() -> W + Sync,
    unit: impl Fn(&mut W, usize) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let work = || {
        let mut own = worker();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = if progress.cancelled() {
                Err(Error::Stopped)
            } else {
                unit(&mut own, number)
            };
            if let Err(error) = result {
                // The other threads find nothing left to do.
                next.store(count, Ordering::Relaxed);
                let mut failed = failed
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                failed.get_or_insert(error);
                return;
            }
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 1..processors.clamp(1, 8).min(count.max(1)) {
            let made = std::thread::Builder::new().spawn_scoped(scope, work);
            if made.is_err() {
                // The threads that could be started, and this one, do all the work.
                break;
            }
        }
        work();
    });
    let failed = failed
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}
