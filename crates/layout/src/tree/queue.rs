//! What is still to be looked at, shared by all threads.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::portion::Portion;

/// Portions that may wait for a thread before the lister works on one itself.
const WAITING: usize = 64;

/// Paths are below the root.
pub(super) enum Job {
    /// List this directory, in a directory whose inode is in the group `above`.
    List { path: PathBuf, above: Option<u64> },
    /// Look at these files of a directory.
    Files(Arc<Path>, Portion),
}

/// Jobs, last in first out: that keeps their number near the depth of the tree.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    /// Portions among the jobs.
    portions: usize,
    busy: usize,
    stopped: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, job: Job) {
        let mut state = self.lock();
        state.portions += usize::from(matches!(job, Job::Files(..)));
        state.jobs.push(job);
        drop(state);
        self.changed.notify_one();
    }

    pub(super) fn has_room(&self) -> bool {
        self.lock().portions < WAITING
    }

    /// The next job; `None` when all is done. The caller calls `done` after it.
    pub(super) fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.portions -= usize::from(matches!(job, Job::Files(..)));
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn done(&self) {
        let mut state = self.lock();
        state.busy -= 1;
        if state.busy == 0 && state.jobs.is_empty() {
            drop(state);
            self.changed.notify_all();
        }
    }

    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.jobs.clear();
        drop(state);
        self.changed.notify_all();
    }
}

/// Marks a job as done even when the thread panics: the others must not wait for ever.
pub(super) struct Done<'a>(pub(super) &'a Queue);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        } else {
            self.0.done();
        }
    }
}
