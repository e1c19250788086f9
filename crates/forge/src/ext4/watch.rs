//! Who looks on while a filesystem is written.

/// Progress, and the wish to stop.
pub trait Watch: Sync {
    /// So many slots of the population have been written since the last call.
    fn advance(&self, slots: u64) {
        let _ = slots;
    }

    /// Whether to stop; asked often.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Nobody.
impl Watch for () {}
