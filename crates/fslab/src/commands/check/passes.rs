//! `--passes`: a line when a pass begins, and two when it has ended, for programs that time passes from outside. The format is part of
//! docs/check.md and read by `rig`'s checkers.

use ::check::{Cost, Observer, Pass};
use progress::Progress;

use crate::out;

/// Prints passes as they come; everything else is the inner observer's.
pub(super) struct Printed<'a, O> {
    inner: &'a O,
}

impl<'a, O: Observer> Printed<'a, O> {
    pub(super) fn new(inner: &'a O) -> Self {
        Printed { inner }
    }
}

impl<O: Observer> Progress for Printed<'_, O> {
    fn inner(&self) -> &dyn Progress {
        self.inner
    }
}

impl<O: Observer> Observer for Printed<'_, O> {
    fn pass_started(&self, pass: &'static Pass) {
        // Where no one reads any more, the report after it says so.
        let _ = out::print(&format!("pass {}: {}\n", pass.name, pass.title));
        self.inner.pass_started(pass);
    }

    fn pass_finished(&self, cost: &Cost) {
        let _ = out::print(&lines(cost));
        self.inner.pass_finished(cost);
    }
}

fn lines(cost: &Cost) -> String {
    let Cost {
        pass,
        wall_s,
        user_s,
        system_s,
        bytes,
        requests,
        seeks,
        seek_bytes,
        ..
    } = cost;
    format!(
        "pass {pass}: took {wall_s:.6} s, user {user_s:.6}, system {system_s:.6}\n\
         pass {pass}: read {bytes} bytes, {requests} requests, {seeks} seeks over {seek_bytes} bytes\n"
    )
}
