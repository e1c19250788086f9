//! A whole check of whatever it is given, held to bounds that depend on how much of it is no hole.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::pedantic,
    reason = "the fuzz target and the test each use a part"
)]

use std::time::Duration;

use blockio::{BlockSource, Sweep};
use check::ext4::{self, Reference};
use check::{Options, report};

use super::damage::Subject;
use crate::bounds::{self, Bounds};

/// Bytes of memory that a check is allowed.
pub const MEMORY: u64 = 40 << 20;
/// Bytes read for each byte of the image that is no hole, and those that come on top.
pub const READS: u64 = 100;
/// See [`READS`].
pub const READS_LEAST: u64 = 32 << 20;

/// What a check took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Most bytes of memory.
    pub memory: u64,
    /// Bytes read.
    pub read: u64,
    /// Those of the image that are no hole.
    pub data: u64,
    /// Time.
    pub time: Duration,
    /// It ended for want of memory.
    pub refused: bool,
    /// Problems found.
    pub kinds: usize,
}

/// Checks it and prints the report in every way.
///
/// # Panics
/// A bound does not hold, or the checker panics.
pub fn hold(subject: &Subject) -> Took {
    let ram = subject.image.source();
    if subject.failing.is_empty() {
        held(&ram, subject)
    } else {
        held(&ram.failing(subject.failing.clone(), 5), subject)
    }
}

fn held(source: &dyn BlockSource, subject: &Subject) -> Took {
    let options = Options {
        threads: subject.threads,
        sweep: Sweep {
            gap: 4096,
            ..bounds::sweep()
        },
        now: 1_800_000_000,
        ..Options::default()
    };
    let checker = ext4::Checker::new(ext4::Options {
        reference: if subject.old {
            Reference::E2fsck1470
        } else {
            Reference::E2fsck1474
        },
        superblock: subject.superblock,
        ..ext4::Options::default()
    });
    let data = subject.image.data();
    let most = Bounds {
        memory: MEMORY,
        reads: READS * data + READS_LEAST,
    };
    let what = format!("an image with {data} bytes");
    let took = bounds::check(source, &what, &checker, options, most);
    let classics: [bounds::Classic; 2] = [report::e2fsck, report::ocfs2];
    let report = took.report.as_ref();
    Took {
        memory: took.memory,
        read: took.read,
        data,
        time: took.time,
        refused: report.is_none(),
        kinds: report.map_or(0, |report| bounds::print(report, &classics)),
    }
}
