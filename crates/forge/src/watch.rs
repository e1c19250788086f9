//! Progress of a filesystem that is being written.

/// Receives progress, and may ask to stop. `()` does neither.
pub trait Watch: Sync {
    /// This many slots of the population have been written since the last call.
    fn advance(&self, slots: u64) {
        let _ = slots;
    }

    /// Whether to stop; called often.
    fn cancelled(&self) -> bool {
        false
    }
}

impl Watch for () {}
