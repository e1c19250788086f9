//! When there was activity: events closer than a limit make one range.

/// Ranges of queueing and of completion, ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    pub(crate) queued: Vec<(u64, u64)>,
    pub(crate) completed: Vec<(u64, u64)>,
}

impl Regions {
    #[inline]
    pub(crate) fn queue(&mut self, time: u64, limit: u64) {
        extend(&mut self.queued, time, limit);
    }

    #[inline]
    pub(crate) fn complete(&mut self, time: u64, limit: u64) {
        extend(&mut self.completed, time, limit);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queued.is_empty() && self.completed.is_empty()
    }
}

#[inline]
fn extend(ranges: &mut Vec<(u64, u64)>, time: u64, limit: u64) {
    if let Some((_, end)) = ranges.last_mut() {
        if time < *end {
            return;
        }
        if time - *end < limit {
            *end = time;
            return;
        }
    }
    ranges.push((time, time));
}
