//! A check that is cancelled ends after a bounded amount of work, whatever pass it is in.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use blockio::layer::Counting;
use blockio::{BlockSource, Ram};
use check::{Checker, Failure, Observer, Options, Progress, ocfs2};

use crate::bounds;
use crate::common::Image;
use crate::ocfs2::{Made, populated};

/// Requests that were in flight, and those of loops that ask once for some.
const MORE: u64 = 80;

/// Cancels once a source was asked this often, and notes that it did.
struct After<'a, S> {
    source: &'a Counting<S>,
    requests: u64,
    seen: AtomicU64,
}

impl<S: BlockSource> Observer for After<'_, S> {}

impl<S: BlockSource> Progress for After<'_, S> {
    fn cancelled(&self) -> bool {
        let now = self.source.counts().requests;
        let over = now >= self.requests;
        if over {
            let _ = self.seen.compare_exchange(0, now.max(1), Relaxed, Relaxed);
        }
        over
    }
}

/// Cancels a check after a number of requests.
fn cancelled_anywhere(source: &dyn BlockSource, checker: &dyn Checker, what: &str) {
    let check = |requests| {
        let counting = Counting::new(source);
        let after = After {
            source: &counting,
            requests,
            seen: AtomicU64::new(0),
        };
        let mut options = Options {
            sweep: bounds::sweep(),
            ..Options::default()
        };
        options.threads = 1;
        let result = checker.check(&counting, &options, &after);
        let seen = after.seen.into_inner();
        (result, seen, counting.counts().requests)
    };
    let (whole, _, all) = check(u64::MAX);
    assert!(whole.is_ok() && all > 60, "{what}: {all}");
    for at in (0..all).step_by((all / 60).max(1) as usize) {
        let (result, seen, read) = check(at);
        assert!(
            matches!(result, Err(Failure::Stopped)),
            "{what}: cancelled after {at} of {all} requests: {:?}",
            result.map(|report| report.findings.tallies.len())
        );
        assert!(
            read.saturating_sub(at.max(seen)) <= MORE,
            "{what}: cancelled after {at} requests of {all}, seen after {seen}, and {read} were made"
        );
    }
}

#[test]
fn an_ocfs2_check_ends_in_every_pass() {
    let made = Made {
        block: 4096,
        cluster: 4096,
        options: &[],
    };
    let Some(image) = populated(made) else {
        return;
    };
    cancelled_anywhere(&Ram::new(&image.bytes), &ocfs2::Checker, "ocfs2");
}

#[test]
fn an_ext4_check_ends_in_every_pass() {
    let files: Vec<String> = (0..400)
        .map(|nth| format!("write @large f{nth}\nmkdir d{nth}\n"))
        .collect();
    let files = files.concat();
    let image = Image::make(&["-t", "ext4", "-b", "1024", "-O", "quota"], "64m", &files);
    let checker = check::ext4::Checker::default();
    cancelled_anywhere(&Ram::new(&image.bytes), &checker, "ext4");
}
