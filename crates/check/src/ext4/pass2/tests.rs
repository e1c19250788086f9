//! Progress and cancellation of the pass.

use blockio::Ram;
use progress::Recorder;

use super::*;
use crate::ext4::oracle::{debugfs, made, options, own, superblock};
use crate::ext4::{pass0, pass1};
use crate::frame::options::Options;

fn watched(image: &[u8], patience: u64) -> (Result<(), Failure>, Recorder) {
    let ram = Ram::new(image);
    let options = Options {
        threads: 1,
        ..options()
    };
    let mut volume = pass0::open(&ram, &options, &own(), &mut Log::new(1)).unwrap();
    let state = pass1::run(&volume, &mut Log::new(1)).unwrap();
    let watch = Recorder::stopping_at(patience);
    volume.progress = &watch;
    let done = run(&volume, &state, &mut Log::new(1));
    (done, watch)
}

/// Where the superblock names another hash than the roots do, the leaves of indexes are read a second time.
#[test]
fn leaves_that_are_hashed_again_are_watched_and_can_be_stopped() {
    let plain = fast_path::tests::image(0);
    let mut image = plain.to_vec();
    superblock(&mut image, 1024, |sb| sb.s_def_hash_version = 2);
    let (done, once) = watched(plain, u64::MAX);
    assert!(done.is_ok());
    let (done, twice) = watched(&image, u64::MAX);
    assert!(done.is_ok());
    let (once, bytes) = (once.expected(), twice.expected());
    assert!(once < bytes && bytes < 2 * once, "{once} {bytes}");
    assert_eq!(bytes, twice.advanced());
    for patience in 1..=twice.questions() {
        let (done, watch) = watched(&image, patience);
        assert!(matches!(done, Err(Failure::Stopped)), "{patience}");
        assert_eq!(watch.questions(), patience);
    }
}

/// A directory with a name twice in its first block, and this many consecutive blocks.
fn twins(blocks: u32, patience: u64) -> (Result<(), Failure>, Log, Recorder) {
    let mut image = made(&["-t", "ext4", "-b", "1024", "-O", "^metadata_csum"], 8000);
    image = debugfs(
        &image,
        "mkdir d\nwrite /dev/null d/one\nwrite /dev/null d/two\n",
    );
    let name = b"\x03\x01two";
    let at = image.windows(5).position(|bytes| bytes == name).unwrap();
    image[at + 2..at + 5].copy_from_slice(b"one");
    let ram = Ram::new(&image);
    let mut volume = pass0::open(&ram, &options(), &own(), &mut Log::new(1)).unwrap();
    let mut state = pass1::run(&volume, &mut Log::new(1)).unwrap();
    let last = state.directories.list.last().unwrap().inode;
    let runs = state.directories.runs.iter_mut();
    for run in runs.filter(|run| run.inode == last) {
        run.len = blocks;
    }
    let watch = Recorder::stopping_at(patience);
    volume.progress = &watch;
    let shared = Shared::new(&volume, &state);
    let at = state.directories.position(last).unwrap();
    let mut log = Log::new(10);
    let harvest = Harvest {
        twins: vec![(0, at)],
        ..Harvest::default()
    };
    let done = twins_of(&shared, &harvest, &mut log).map(|_| ());
    (done, log, watch)
}

/// What is listed is runs: sixteen bytes for each of these blocks would be 64 GiB.
#[test]
fn a_directory_with_twins_may_be_of_any_size() {
    let (done, log, _) = twins(1, u64::MAX);
    assert!(done.is_ok());
    assert_eq!(
        log.count(&crate::ext4::e2fsck::problems::P2_NON_UNIQUE_FILE),
        1
    );
    let (done, log, watch) = twins(u32::MAX, u64::MAX);
    assert!(done.is_ok());
    // The second block holds no names, so nothing would be rebuilt.
    assert_eq!(
        log.count(&crate::ext4::e2fsck::problems::P2_NON_UNIQUE_FILE),
        0
    );
    assert_eq!(watch.expected(), u64::from(u32::MAX) * 1024, "read once");
    assert_eq!(watch.advanced(), u64::from(u32::MAX) * 1024);
    let (done, _, _) = twins(u32::MAX, 1);
    assert!(matches!(done, Err(Failure::Stopped)));
}
