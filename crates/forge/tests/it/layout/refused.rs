//! What cannot be made is refused, and leaves nothing.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use forge::ext4::plan::Object;
use forge::ext4::{FsType, Layout, Options, write};
use forge::{Error, Progress, Written};
use progress::{Event, Recorder, Step, Unit};

use crate::common::unmount::unmount;
use crate::layout::population::{Directory, File, Tree, file};
use crate::layout::{run, text};

/// Forges files in the root.
fn forge(
    options: &Options,
    files: Vec<File>,
    image: &Path,
    progress: &dyn Progress,
) -> Result<Written, Error> {
    let layout = Layout::new(options, image, progress)?;
    let root = Directory {
        files,
        ..Directory::default()
    };
    let tree = Tree::new(layout.superblock(), vec![root]);
    write(layout, &tree, progress)
}

#[test]
fn what_does_not_fit_is_refused_with_both_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    let options = Options::new(64 << 20, FsType::Ext4);
    let large = vec![file("large", 70 << 20)];
    let error = forge(&options, large, &image, &forge::Silent).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Room {
                what: "blocks",
                need: 71_681..,
                have: 65_536,
                ..
            }
        ),
        "{error}"
    );
    let many = (0..20_000).map(|nth| file(format!("{nth}"), 0)).collect();
    let error = forge(&options, many, &image, &forge::Silent).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Room {
                what: "inodes",
                need: 20_000,
                ..
            }
        ),
        "{error}"
    );
    // With clusters, whole ones are counted: a thousand files of a block each take a thousand clusters.
    let mut options = Options::new(64 << 20, FsType::Ext4);
    options.block_size = Some(1024);
    options.cluster_size = Some(64 << 10);
    options.features.names = vec!["bigalloc".to_owned()];
    options.inodes = Some(4000);
    let files = (0..1000).map(|nth| file(format!("{nth}"), 1024)).collect();
    let error = forge(&options, files, &image, &forge::Silent).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Room {
                what: "blocks",
                need: 64_000..,
                have: 65_536,
                ..
            }
        ),
        "{error}"
    );
    assert!(!image.exists());
}

#[test]
fn a_file_that_exists_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    std::fs::write(&image, "mine").unwrap();
    let options = Options::new(8 << 20, FsType::Ext2);
    let error = forge(&options, Vec::new(), &image, &forge::Silent).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Io {
                action: "create the image",
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(std::fs::read(&image).unwrap(), b"mine");
}

#[test]
fn contradictions_of_a_population_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    let options = Options::new(64 << 20, FsType::Ext4);
    let links = File {
        object: Object {
            links: 70_000,
            ..file("", 0).object
        },
        ..file("links", 0)
    };
    let late = File {
        object: Object {
            time: 1 << 40,
            ..file("", 0).object
        },
        ..file("late", 0)
    };
    for wrong in [links, late, file("long", 1 << 50)] {
        let name = wrong.name.clone();
        let error = forge(&options, vec![wrong], &image, &forge::Silent).unwrap_err();
        assert!(matches!(error, Error::Population(_)), "{name}: {error}");
        assert!(!image.exists(), "{name}");
    }
}

#[test]
fn a_full_disk_leaves_nothing_needs_root() {
    if !testkit::root!() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let small = dir.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let tmpfs = ["-t", "tmpfs", "-o", "size=2M", "none"];
    let output = run(Command::new("mount").args(tmpfs).arg(&small));
    assert!(output.status.success(), "{}", text(&output));
    let image = small.join("image");
    let options = Options::new(512 << 20, FsType::Ext4);
    let many = (0..20_000)
        .map(|nth| file(format!("{nth}"), 4096))
        .collect();
    let result = forge(&options, many, &image, &forge::Silent);
    let left = image.exists();
    unmount(&small).unwrap();
    let error = result.unwrap_err();
    let Error::Io { source, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{error}");
    assert!(!left);
}

struct Impatient(AtomicU64);

impl Progress for Impatient {
    fn advance(&self, slots: u64) {
        self.0.fetch_add(slots, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1000
    }
}

#[test]
fn stopping_half_way_removes_the_image() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    let mut options = Options::new(2 << 30, FsType::Ext4);
    options.features.names = vec!["^flex_bg".to_owned()];
    let many = (0..5000).map(|nth| file(format!("{nth}"), 4096)).collect();
    let watch = Impatient(AtomicU64::new(0));
    let error = forge(&options, many, &image, &watch).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
    assert!(watch.0.into_inner() > 0 && !image.exists());
}

#[test]
fn progress_counts_every_inode_once() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(64 << 20, FsType::Ext4);
    let files = (0..500).map(|nth| file(format!("{nth}"), 4096)).collect();
    let recorder = Recorder::default();
    forge(&options, files, &dir.path().join("image"), &recorder).unwrap();
    let [empty, placing, Event::Begin(writing), Event::Advance(done)] = &recorder.events()[..]
    else {
        panic!("{:?}", recorder.events());
    };
    assert_eq!(*empty, Event::Begin(Step::new("mke2fs")));
    assert_eq!(*placing, Event::Begin(Step::new("placing files")));
    assert_eq!(writing.unit, Unit::Items("inodes".into()));
    assert_eq!((writing.amount, *done), (Some(500), 500));
}
