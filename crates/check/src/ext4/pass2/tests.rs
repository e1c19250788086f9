//! The pass as those see it who watch it.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use blockio::Ram;

use super::*;
use crate::Watch;
use crate::ext4::oracle::{options, superblock};
use crate::ext4::{Options, pass0, pass1};

/// Counts, and stops at the so-manieth question.
#[derive(Default)]
struct Impatient {
    patience: u64,
    questions: AtomicU64,
    expected: AtomicU64,
    advanced: AtomicU64,
}

impl Watch for Impatient {
    fn expect(&self, bytes: u64) {
        self.expected.fetch_add(bytes, Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.advanced.fetch_add(bytes, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.questions.fetch_add(1, Relaxed) + 1 >= self.patience
    }
}

fn watched(image: &[u8], patience: u64) -> (Result<(), Failure>, Impatient) {
    let ram = Ram::new(image);
    let options = Options {
        threads: 1,
        ..options()
    };
    let mut volume = pass0::open(&ram, &options, &mut Log::new(1)).unwrap();
    let state = pass1::run(&volume, &mut Log::new(1)).unwrap();
    let watch = Impatient {
        patience,
        ..Impatient::default()
    };
    volume.watch = &watch;
    let done = run(&volume, &state, &mut Log::new(1));
    (done, watch)
}

/// Where the superblock names another hash than the roots do, the leaves of indexes are read a second time.
#[test]
fn leaves_that_are_hashed_again_are_watched_and_can_be_stopped() {
    let plain = plain::tests::image(0);
    let mut image = plain.to_vec();
    superblock(&mut image, 1024, |sb| sb.s_def_hash_version = 2);
    let (done, once) = watched(plain, u64::MAX);
    assert!(done.is_ok());
    let (done, twice) = watched(&image, u64::MAX);
    assert!(done.is_ok());
    let (once, bytes) = (once.expected.into_inner(), twice.expected.into_inner());
    assert!(once < bytes && bytes < 2 * once, "{once} {bytes}");
    assert_eq!(bytes, twice.advanced.into_inner());
    for patience in 1..=twice.questions.into_inner() {
        let (done, watch) = watched(&image, patience);
        assert!(matches!(done, Err(Failure::Stopped)), "{patience}");
        assert_eq!(watch.questions.into_inner(), patience);
    }
}
