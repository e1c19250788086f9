//! Phases that have begun and not ended, with what was read at their begin.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// What was read when each open phase began.
pub(crate) struct Open<T>(Mutex<BTreeMap<String, Begun<T>>>);

/// A phase's begin.
pub(crate) struct Begun<T> {
    /// What was read.
    pub(crate) reading: T,
    /// No other phase was open at any time since: what the process did was done for this one.
    pub(crate) alone: bool,
}

impl<T> Default for Open<T> {
    fn default() -> Self {
        Open(Mutex::default())
    }
}

impl<T> Open<T> {
    /// A phase begins. One made of many operations begins with its first.
    pub(crate) fn begin(&self, phase: &str, read: impl FnOnce() -> T) {
        let Ok(mut all) = self.0.lock() else {
            return;
        };
        if all.contains_key(phase) {
            return;
        }
        let alone = all.is_empty();
        for other in all.values_mut() {
            other.alone = false;
        }
        let reading = read();
        all.insert(phase.to_owned(), Begun { reading, alone });
    }

    /// Whether any phase is open.
    pub(crate) fn any(&self) -> bool {
        self.0.lock().is_ok_and(|all| !all.is_empty())
    }

    /// Something of what was read when it began; none when it is not open.
    pub(crate) fn of<R>(&self, phase: &str, what: impl FnOnce(&T) -> R) -> Option<R> {
        let all = self.0.lock().ok()?;
        all.get(phase).map(|begun| what(&begun.reading))
    }

    /// It ends.
    pub(crate) fn end(&self, phase: &str) -> Option<Begun<T>> {
        self.0.lock().ok()?.remove(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_that_overlap_are_not_alone() {
        let open = Open::default();
        open.begin("write", || 1);
        assert_eq!(open.of("write", |reading| reading + 10), Some(11));
        let write = open.end("write").unwrap();
        assert_eq!(open.of("write", |reading| *reading), None);
        assert!(write.alone && write.reading == 1);
        assert!(open.end("write").is_none(), "it ended");
        open.begin("patch", || 2);
        open.begin("clean", || 3);
        open.begin("patch", || 4);
        let (patch, clean) = (open.end("patch").unwrap(), open.end("clean").unwrap());
        assert_eq!((patch.reading, clean.reading), (2, 3));
        assert!(!patch.alone && !clean.alone);
    }
}
