//! What was found when a filesystem had finished the work that mkfs leaves to the kernel.

/// The end of a wait for the work that mkfs leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Whether the filesystem's own background work is over; true where it has none.
    pub holds: bool,
    /// Seconds waited.
    pub seconds: f64,
    /// Groups still without zeros at the end.
    pub groups_left: u64,
    /// One line of evidence.
    pub detail: String,
}

impl Settled {
    /// For filesystems that do no such work: what never begins is over, so the evidence holds.
    pub fn nothing_to_wait_for() -> Settled {
        Settled {
            holds: true,
            seconds: 0.0,
            groups_left: 0,
            detail: "this filesystem initialises nothing after mkfs".into(),
        }
    }
}
