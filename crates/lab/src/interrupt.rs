//! SIGINT, SIGTERM and SIGHUP as a flag that everything long asks.
//!
//! The first signal stops the run at the next safe point: the workload within a record, an mkfs
//! with its whole process group. A second one changes nothing, on purpose: what was mounted is
//! being undone already, and leaving it undone would be worse than a moment's wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use progress::{Progress, Until};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether a stop was requested.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
}

impl Interrupt {
    /// A flag that only [`Interrupt::raise`] raises: for tests and for embedding.
    pub fn manual() -> Interrupt {
        Interrupt::default()
    }

    /// A flag that SIGINT, SIGTERM and SIGHUP raise.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn on_signals() -> std::io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupt.raised))?;
        }
        Ok(interrupt)
    }

    /// The same progress, which also asks to stop when this is raised.
    pub fn with<'a>(
        &'a self,
        progress: &'a dyn Progress,
    ) -> Until<'a, impl Fn() -> bool + Send + Sync + 'a> {
        Until::new(progress, || self.is_raised())
    }

    /// Raises it.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}
