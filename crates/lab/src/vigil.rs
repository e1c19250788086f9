//! Looks every moment whether the run's folder is still there, and stops the run when it is not.
//!
//! A run whose folder was moved or deleted would otherwise go on to the end of its trial and fail at some later write, for a
//! reason that has nothing to do with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use record::RunFolder;

use crate::error::Error;
use crate::interrupt::Interrupt;

/// Time between two looks: two stat(2) calls each.
const PERIOD: Duration = Duration::from_millis(500);

/// The thread that looks; ended when this is dropped.
pub(crate) struct Vigil {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Vigil {
    /// Begins to look. `interrupt` is raised when the folder is gone.
    pub(crate) fn begin(folder: &RunFolder, interrupt: &Interrupt) -> Result<Vigil, Error> {
        let presence = folder.presence()?;
        let over = Arc::new(AtomicBool::new(false));
        let (ended, interrupt) = (Arc::clone(&over), interrupt.clone());
        let look = move || {
            while !ended.load(Ordering::Relaxed) {
                if presence.require().is_err() {
                    interrupt.raise();
                    return;
                }
                thread::park_timeout(PERIOD);
            }
        };
        // Where no thread can be made, the look between two trials is what is left.
        let thread = thread::Builder::new().name("vigil".into()).spawn(look).ok();
        Ok(Vigil { over, thread })
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It only looks: it cannot have panicked.
            let _ = thread.join();
        }
    }
}
