//! Filesystems of every kind, really made and mounted, and nothing left afterwards.

use crate::common;
use progress::{Silent, Until};

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::{MIB, files, open, root, traces};
use rig::{Class, Error, Facts, Request, Rig, Target};

fn request(kind: &str) -> Request {
    common::request(kind, 512 * MIB)
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn has(facts: &Facts, set: &str, name: &str) -> bool {
    facts.superblock[set]
        .split(' ')
        .any(|feature| feature == name)
}

/// Prepares, lets `look` see it, finishes, and asserts that nothing is left.
fn trial(request: &Request, look: impl Fn(&rig::Prepared)) {
    let run = tempfile::tempdir().unwrap();
    let mut rig = open(run.path());
    let prepared = rig.prepare(request, &Silent).unwrap();
    fs::write(prepared.mount_point().join("file"), "text").unwrap();
    look(&prepared);
    let timings = prepared.finish().unwrap();
    assert!(
        timings.mkfs > 0.0 && timings.mount > 0.0 && timings.umount > 0.0,
        "{timings:?}"
    );
    drop(rig);
    assert_eq!(traces(run.path()), Vec::<String>::new());
    assert_eq!(files(run.path()), vec!["undo.jsonl"]);
}

#[test]
fn ext4_as_asked_and_as_it_is_needs_root() {
    let Some(_alone) = root() else { return };
    let asked = Request {
        readahead_sectors: Some(4096),
        mkfs: words(&["-I", "512", "-J", "size=16", "-E", "lazy_itable_init=0"]),
        mount: words(&["noatime,data=writeback", "commit=30"]),
        ..request("ext4")
    };
    trial(&asked, |prepared| {
        let facts = prepared.facts();
        assert_eq!(
            (facts.asked_type.as_str(), facts.mounted_type.as_str()),
            ("ext4", "ext4")
        );
        assert_eq!(facts.driver, "ext4");
        assert!(
            facts.mkfs_version.contains("mke2fs"),
            "{}",
            facts.mkfs_version
        );
        assert!(facts.mkfs[0].ends_with("mkfs.ext4") && facts.mkfs.contains(&"512".to_string()));
        for option in ["rw", "noatime", "data=writeback", "commit=30"] {
            assert!(
                facts.options.iter().any(|o| o == option),
                "{option}: {:?}",
                facts.options
            );
        }
        assert_eq!(facts.superblock["inode_size"], "512");
        assert_eq!(facts.superblock["journal_bytes"], (16 * MIB).to_string());
        assert!(facts.superblock["effective_options"].contains("delalloc"));
        assert!(facts.superblock["barriers"].starts_with("mount on; device write"));
        assert_eq!(facts.device["read_ahead_kb"], "2048");
        if ["ext4", "xfs"].contains(&facts.device["host_filesystem"].as_str()) {
            assert_eq!(facts.device["direct_io"], "true");
            assert_eq!(prepared.warnings(), Vec::<String>::new());
        }
        assert_eq!(prepared.device_size(), Some(512 * MIB));
        assert_eq!(
            prepared.evidence()[0].holds,
            Some(true),
            "{:?}",
            prepared.evidence()
        );
    });
}

#[test]
fn ext4_without_a_journal_needs_root() {
    let Some(_alone) = root() else { return };
    let asked = Request {
        mkfs: words(&["-O", "^has_journal", "-E", "lazy_itable_init=0"]),
        ..request("ext4")
    };
    trial(&asked, |prepared| {
        assert_eq!(prepared.facts().superblock["journal"], "none");
        assert!(!has(prepared.facts(), "features_compat", "has_journal"));
    });
}

#[test]
fn ext2_and_ext3_tell_the_driver_that_serves_them_needs_root() {
    let Some(_alone) = root() else { return };
    trial(&request("ext2"), |prepared| {
        let facts = prepared.facts();
        assert_eq!(facts.mounted_type, "ext2");
        let own = Path::new("/sys/fs/ext4")
            .join(prepared.block_name().unwrap())
            .is_dir();
        assert_eq!(facts.driver, if own { "ext4" } else { "ext2" });
        assert_eq!(facts.superblock["journal"], "none");
        assert_eq!(prepared.evidence()[0].holds, Some(true));
        assert!(!has(facts, "features_incompat", "extent"));
    });
    trial(&request("ext3"), |prepared| {
        let facts = prepared.facts();
        assert_eq!(
            (facts.mounted_type.as_str(), facts.driver.as_str()),
            ("ext3", "ext4")
        );
        assert_eq!(facts.superblock["journal"], "internal");
        assert!(!has(facts, "features_incompat", "extent"));
    });
}

/// What never begins is over: the evidence holds, and says why.
fn nothing_to_initialise(prepared: &rig::Prepared) {
    let evidence = &prepared.evidence()[0];
    assert_eq!(evidence.name, "lazy_init_finished");
    assert_eq!(evidence.holds, Some(true));
    assert_eq!(
        evidence.detail,
        "this filesystem initialises nothing after mkfs"
    );
}

#[test]
fn xfs_and_btrfs_needs_root() {
    let Some(_alone) = root() else { return };
    trial(&request("xfs"), |prepared| {
        let facts = prepared.facts();
        assert_eq!(
            (facts.mounted_type.as_str(), facts.driver.as_str()),
            ("xfs", "xfs")
        );
        assert!(
            facts.mkfs_version.contains("mkfs.xfs"),
            "{}",
            facts.mkfs_version
        );
        assert!(has(facts, "features_incompat", "ftype"));
        assert!(facts.superblock["log_bytes"].parse::<u64>().unwrap() >= 16 * MIB);
        nothing_to_initialise(prepared);
    });
    let asked = Request {
        readahead_sectors: Some(1024),
        mount: words(&["compress=zstd:1"]),
        ..request("btrfs")
    };
    trial(&asked, |prepared| {
        let facts = prepared.facts();
        assert_eq!(
            (facts.mounted_type.as_str(), facts.driver.as_str()),
            ("btrfs", "btrfs")
        );
        nothing_to_initialise(prepared);
        assert_eq!(facts.superblock["node_size"], "16384");
        assert_eq!(facts.superblock["data_profile"], "single");
        assert!(
            facts.options.iter().any(|o| o == "compress=zstd:1"),
            "{:?}",
            facts.options
        );
        assert_eq!(facts.device["filesystem_read_ahead_kb"], "512");
        assert_eq!(facts.device["read_ahead_kb"], "512");
    });
}

#[test]
fn caches_are_dropped_down_to_the_image_and_proven_needs_root() {
    let Some(_alone) = root() else { return };
    trial(&request("ext4"), |prepared| {
        let file = prepared.mount_point().join("big");
        fs::write(&file, vec![3; 8 << 20]).unwrap();
        let proof = prepared.drop_caches(&[&file]).unwrap();
        assert_eq!(proof.holds, Some(true), "{proof:?}");
        assert_eq!(proof.files, 2, "the file and the image below it");
        assert!(
            proof.method.starts_with("drop_caches 3"),
            "{}",
            proof.method
        );
        assert!(proof.pages > 512 * MIB / 4096);
        assert_eq!(prepared.drop_caches(&[]).unwrap().holds, None);
    });
}

#[test]
fn lazy_initialisation_is_waited_for_needs_root() {
    let Some(_alone) = root() else { return };
    let lazy = |mount: &[&str]| Request {
        // Without discard mke2fs cannot know that a sparse image reads as zeros.
        mkfs: words(&["-E", "lazy_itable_init=1,nodiscard", "-b", "1024"]),
        mount: words(mount),
        ..request("ext4")
    };
    trial(&lazy(&["init_itable=0"]), |prepared| {
        let evidence = &prepared.evidence()[0];
        assert_eq!(evidence.holds, Some(true), "{}", evidence.detail);
        assert!(prepared.timings().wait > 0.0);
        // Before the wait; the kernel may have begun.
        let left: u32 = prepared.facts().superblock["groups_not_zeroed"]
            .parse()
            .unwrap();
        assert!((1..=64).contains(&left), "{left}");
    });
    trial(&lazy(&["noinit_itable"]), |prepared| {
        // What never comes is not waited for.
        assert!(prepared.timings().wait < 1.0, "{:?}", prepared.timings());
        let evidence = &prepared.evidence()[0];
        assert_eq!(evidence.holds, Some(false));
        assert!(
            evidence
                .detail
                .contains("never will be: mounted noinit_itable"),
            "{}",
            evidence.detail
        );
        assert_eq!(prepared.warnings().len(), 1);
    });
}

/// Prepares what cannot be prepared; nothing may be left, before the rig is closed.
fn refused(request: &Request) -> Error {
    let run = tempfile::tempdir().unwrap();
    let mut rig = open(run.path());
    let error = rig.prepare(request, &Silent).unwrap_err();
    assert_eq!(traces(run.path()), Vec::<String>::new(), "{error}");
    drop(rig);
    assert_eq!(files(run.path()), vec!["undo.jsonl"], "{error}");
    assert!(!error.to_string().contains('\n'), "one line: {error}");
    error
}

#[test]
fn bad_requests_are_one_line_and_leave_nothing_needs_root() {
    let Some(_alone) = root() else { return };
    let cases: &[(Request, Class, &[&str])] = &[
        (
            Request {
                mount: words(&["noatime,no_such_option"]),
                ..request("ext4")
            },
            Class::Cell,
            &[
                "mount -t ext4",
                "option no_such_option",
                "Unknown parameter",
                "study",
            ],
        ),
        (
            Request {
                mount: words(&["data=sideways"]),
                ..request("ext4")
            },
            Class::Cell,
            &["option data=sideways", "sideways"],
        ),
        (
            // Refused only when all options are put together.
            Request {
                mount: words(&["journal_async_commit,data=journal", "delalloc"]),
                ..request("ext4")
            },
            Class::Cell,
            &[
                "options journal_async_commit,data=journal,delalloc",
                "the kernel refused it",
            ],
        ),
        (
            Request {
                mount: words(&["nobarrier"]),
                ..request("xfs")
            },
            Class::Cell,
            &["option nobarrier", "xfs"],
        ),
        (
            Request {
                mount: words(&["compress=gzip"]),
                ..request("btrfs")
            },
            Class::Cell,
            &["mount -t btrfs", "compress=gzip"],
        ),
        (
            Request {
                mkfs: words(&["-b", "1000"]),
                ..request("ext4")
            },
            Class::Cell,
            &["mkfs.ext4: exit status 1: ", "invalid block size"],
        ),
        (
            Request {
                mkfs: words(&["-O", "nosuchfeature"]),
                ..request("ext3")
            },
            Class::Cell,
            &["mkfs.ext3", "nosuchfeature"],
        ),
        (
            Request {
                mkfs: words(&["-d", "agcount=100000"]),
                ..request("xfs")
            },
            Class::Cell,
            &["mkfs.xfs: exit status 1: "],
        ),
        (request("zfs"), Class::Cell, &["zfs", "choose one of ext2"]),
        (
            Request {
                image_size: 100 * MIB,
                ..request("xfs")
            },
            Class::Cell,
            &["100 MiB is too small", "300 MiB"],
        ),
    ];
    for (request, class, wanted) in cases {
        let error = refused(request);
        let text = error.to_string();
        for part in *wanted {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert_eq!(error.class(), *class, "{text}");
    }
}

#[test]
fn a_stop_at_any_moment_leaves_nothing_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir().unwrap();
    let mut rig = open(run.path());
    let asked = AtomicU32::new(0);
    let mut stopped = 0;
    for limit in 0..4 {
        asked.store(0, Relaxed);
        let stop = || asked.fetch_add(1, Relaxed) >= limit;
        match rig.prepare(&request("ext4"), &Until::silent(stop)) {
            Err(error @ Error::Interrupted { .. }) => {
                assert_eq!(error.class(), Class::Interrupted);
                stopped += 1;
            }
            Ok(prepared) => drop(prepared),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(traces(run.path()), Vec::<String>::new());
    }
    assert!(stopped >= 2, "{stopped}");
}

#[test]
fn a_dropped_trial_is_undone_and_a_busy_one_names_its_holder_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir().unwrap();
    let mut rig = open(run.path());
    drop(rig.prepare(&request("ext4"), &Silent).unwrap());
    assert_eq!(traces(run.path()), Vec::<String>::new());

    let prepared = rig.prepare(&request("ext4"), &Silent).unwrap();
    let file = fs::File::create(prepared.mount_point().join("held")).unwrap();
    let text = prepared.finish().unwrap_err().to_string();
    assert!(
        text.contains(&format!("pid {}", std::process::id())),
        "{text}"
    );
    assert!(text.contains("fslab clean"), "{text}");
    assert_eq!(
        traces(run.path()).len(),
        2,
        "the mount and its device wait for clean"
    );
    drop(file);
    drop(rig);
    let undone = rig::clean(run.path(), false).unwrap();
    assert_eq!(undone[0].what, "mount");
    assert_eq!(traces(run.path()), Vec::<String>::new());
}

#[test]
fn an_image_on_a_filesystem_without_direct_io_says_so_needs_root() {
    let Some(_alone) = root() else { return };
    // ext4 that journals data has no direct I/O: a host for images as bad as any.
    let (outer, inner) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut hosting = open(outer.path());
    let host = Request {
        mount: words(&["data=journal"]),
        ..request("ext4")
    };
    let host = hosting.prepare(&host, &Silent).unwrap();
    let folder = host.mount_point().join("images");
    let mut rig = Rig::open(Target::LoopImages { folder }, inner.path()).unwrap();
    let asked = Request {
        image_size: 64 * MIB,
        ..request("ext4")
    };
    let prepared = rig.prepare(&asked, &Silent).unwrap();
    assert_eq!(prepared.facts().device["direct_io"], "false");
    let warnings = prepared.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("through the page cache"),
        "{warnings:?}"
    );
    // Here the image's own pages are what would make a read warm.
    let file = prepared.mount_point().join("file");
    fs::write(&file, vec![5; 4 << 20]).unwrap();
    assert_eq!(prepared.drop_caches(&[&file]).unwrap().holds, Some(true));
    prepared.finish().unwrap();
    host.finish().unwrap();
    assert_eq!(traces(outer.path()), Vec::<String>::new());
}

#[test]
fn an_image_in_ram_says_so_needs_root() {
    let Some(_alone) = root() else { return };
    // /dev/shm is a tmpfs on every Linux: whatever it can do, it is not a disk.
    let images = tempfile::tempdir_in("/dev/shm").unwrap();
    let run = tempfile::tempdir().unwrap();
    let folder = images.path().to_path_buf();
    let mut rig = Rig::open(Target::LoopImages { folder }, run.path()).unwrap();
    let asked = Request {
        image_size: 64 * MIB,
        ..request("ext4")
    };
    let prepared = rig.prepare(&asked, &Silent).unwrap();
    assert_eq!(prepared.facts().device["host_filesystem"], "tmpfs");
    assert_eq!(prepared.warnings().len(), 1, "{:?}", prepared.warnings());
    assert!(
        prepared.warnings()[0].contains("tmpfs"),
        "{:?}",
        prepared.warnings()
    );
    prepared.finish().unwrap();
    assert_eq!(files(images.path()), Vec::<String>::new());
}

#[test]
fn a_directory_keeps_everything_that_was_there() {
    let run = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("mine"), "text").unwrap();
    let path = place.path().to_path_buf();
    let mut rig = Rig::open(Target::Directory { path }, run.path()).unwrap();
    let prepared = rig.prepare(&Request::default(), &Silent).unwrap();
    let work = prepared.mount_point().to_path_buf();
    assert!(work.starts_with(place.path().canonicalize().unwrap()));
    fs::create_dir(work.join("tree")).unwrap();
    fs::write(work.join("tree/file"), "x").unwrap();
    assert!(!prepared.facts().mounted_type.is_empty());
    assert!(prepared.facts().mkfs.is_empty());
    assert!(
        prepared
            .warnings()
            .iter()
            .any(|w| w.contains("do not apply"))
    );
    prepared.finish().unwrap();
    assert_eq!(files(place.path()), vec!["mine"]);
}

#[test]
fn targets_that_cannot_serve_are_refused() {
    let run = tempfile::tempdir().unwrap();
    let file = run.path().join("file");
    fs::write(&file, "").unwrap();
    for path in ["/no/such/folder".into(), file] {
        let text = Rig::open(Target::Directory { path: path.clone() }, run.path())
            .unwrap_err()
            .to_string();
        assert!(text.starts_with(&path.display().to_string()), "{text}");
    }
    let device = Path::new("/dev/null").to_path_buf();
    let error = Rig::open(
        Target::Block {
            device,
            serial: None,
        },
        run.path(),
    )
    .unwrap_err();
    assert_eq!(error.class(), Class::Safety, "{error}");
}

#[test]
fn a_sparse_image_may_be_larger_than_its_host_but_a_full_host_is_refused_needs_root() {
    let Some(_alone) = root() else { return };
    let host = tempfile::tempdir().unwrap();
    for (size, fits) in [("size=256m", true), ("size=32m", false)] {
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", size, "tmpfs"]);
        assert!(mount.arg(host.path()).status().unwrap().success());
        let run = tempfile::tempdir_in(host.path()).unwrap();
        let mut rig = open(run.path());
        let asked = Request {
            image_size: 1 << 30,
            ..request("ext2")
        };
        match rig.prepare(&asked, &Silent) {
            Ok(prepared) if fits => drop(prepared),
            Err(error) if !fits => {
                assert!(error.to_string().contains("no room"), "{error}");
                assert_eq!(error.class(), Class::Target);
            }
            other => panic!("{size}: {other:?}"),
        }
        drop(rig);
        drop(run);
        let status = std::process::Command::new("umount")
            .arg(host.path())
            .status();
        assert!(status.unwrap().success());
    }
}

#[test]
fn a_journal_on_a_full_disk_keeps_no_trial_from_being_undone_needs_root() {
    use std::io::Write;
    let Some(_alone) = root() else { return };
    let (small, images) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
    assert!(mount.arg(small.path()).status().unwrap().success());
    let run = small.path().join("run");
    fs::create_dir(&run).unwrap();
    let folder = images.path().to_path_buf();
    let mut rig = Rig::open(Target::LoopImages { folder }, &run).unwrap();
    let prepared = rig.prepare(&request("ext2"), &Silent).unwrap();
    // The journal's last page is filled as well, so that not one more line fits.
    let path = run.join("undo.jsonl");
    let mut journal = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let page = rustix::param::page_size();
    let rest = page - usize::try_from(journal.metadata().unwrap().len()).unwrap() % page;
    journal.write_all(&vec![b'\n'; rest]).unwrap();
    let full = fs::write(run.join("filler"), vec![0; 2 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    assert!(journal.write_all(b"\n").is_err());
    prepared.finish().unwrap();
    drop((rig, journal));
    assert_eq!(files(images.path()), Vec::<String>::new());
    assert_eq!(traces(images.path()), Vec::<String>::new());
    // The missing lines are harmless: what they name is gone.
    fs::remove_file(run.join("filler")).unwrap();
    rig::clean(&run, false).unwrap();
    let status = std::process::Command::new("umount")
        .arg(small.path())
        .status();
    assert!(status.unwrap().success());
}
