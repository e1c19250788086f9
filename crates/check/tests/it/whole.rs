//! Whole filesystems of mke2fs: sound ones are clean, the number of threads changes nothing, an unreadable sector is a finding, and
//! a check can be stopped.
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use blockio::Ram;
use check::ext4::{self, check};
use check::report::{Judge, Report};
use check::{Failure, Finding, Options, Silent};
use progress::{Event, Recorder};

/// mke2fs's arguments: block sizes, feature sets of all ages, odd layouts.
const VARIANTS: [&str; 18] = [
    "-t ext2 -b 1024",
    "-t ext2 -b 4096 -O ^filetype,^dir_index",
    "-t ext2 -r 0 -b 1024",
    "-t ext3 -b 1024",
    "-t ext3 -b 4096 -I 128",
    "-t ext4 -b 1024",
    "-t ext4 -b 2048",
    "-t ext4 -b 4096",
    "-t ext4 -b 16384",
    "-t ext4 -b 65536",
    "-t ext4 -b 4096 -O ^metadata_csum,uninit_bg",
    "-t ext4 -b 4096 -O ^metadata_csum,^uninit_bg,^flex_bg",
    "-t ext4 -b 1024 -O ^resize_inode,meta_bg",
    "-t ext4 -b 4096 -O bigalloc -C 16384",
    "-t ext4 -b 4096 -O inline_data,ea_inode",
    "-t ext4 -b 4096 -O quota,project -I 512",
    "-t ext4 -b 1024 -O sparse_super2,mmp -g 4096",
    "-t ext4 -b 4096 -O orphan_file,fast_commit,casefold,large_dir",
];

/// A folder of files of all kinds: a large directory, a deep one, links, a sparse file.
fn population() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path();
            let many = at.join("many");
            std::fs::create_dir(&many).unwrap();
            for number in 0..1500 {
                std::fs::write(many.join(format!("a-rather-long-name-{number:05}")), []).unwrap();
            }
            std::fs::create_dir_all(at.join("a/b/c/d/e/f/g")).unwrap();
            for (name, len) in [("small", 10), ("tail", 5000), ("large", 1 << 20)] {
                std::fs::write(at.join("a/b").join(name), vec![7; len]).unwrap();
            }
            std::fs::hard_link(at.join("a/b/tail"), at.join("a/hard")).unwrap();
            std::os::unix::fs::symlink("b/small", at.join("a/short")).unwrap();
            std::os::unix::fs::symlink("x/".repeat(100), at.join("a/long")).unwrap();
            let sparse = std::fs::File::create(at.join("a/sparse")).unwrap();
            std::os::unix::fs::FileExt::write_at(&sparse, &[1; 4096], 8 << 20).unwrap();
            folder
        })
        .path()
}

/// mke2fs counts quotas before it fills a filesystem (1.47.0), which e2fsck then reports.
fn is_filled(variant: &str) -> bool {
    !variant.contains("quota")
}

/// A filesystem of mke2fs with the population in it; none where this mke2fs refuses the features.
fn made(variant: &str, image: &Path) -> Option<()> {
    let mut command = Command::new("mke2fs");
    if is_filled(variant) {
        command.arg("-d").arg(population());
    }
    let output = command
        .args(["-q", "-F"])
        .args(variant.split_whitespace())
        .arg(image)
        .arg("64m")
        .output()
        .unwrap();
    if !output.status.success() {
        testkit::skip!(
            "mke2fs {variant}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    output.status.success().then_some(())
}

fn options(threads: usize) -> Options {
    Options {
        threads,
        ..Options::default()
    }
}

/// The findings as a reader gets them.
fn as_json(report: &Report) -> Vec<String> {
    let json = |finding| serde_json::to_string(finding).unwrap();
    report.findings.list.iter().map(json).collect()
}

#[test]
fn what_mke2fs_makes_is_sound() {
    let scratch = tempfile::tempdir().unwrap();
    let mut made_any = 0;
    for variant in VARIANTS {
        let image = scratch.path().join("image");
        if made(variant, &image).is_none() {
            continue;
        }
        made_any += 1;
        let opened = blockio::open(&image, blockio::Mode::Buffered).unwrap();
        let report = check(
            &*opened.source,
            &options(2),
            &ext4::Options::default(),
            &Silent,
        )
        .unwrap();
        let faults: Vec<&Finding> = report.faults().collect();
        assert!(faults.is_empty(), "{variant}: {faults:?}");
        assert!(
            report.verdict(Judge::Strict).is_clean() && report.verdict(Judge::Reference).is_clean()
        );
        let inventory = report.inventory.unwrap();
        let (regular, directories) = if is_filled(variant) {
            (1504, 10)
        } else {
            (0, 2)
        };
        let files = &inventory.files;
        assert!(
            files.regular >= regular && files.directories == directories,
            "{files:?}"
        );
        let fs = report.subject.filesystem.unwrap();
        // With blocks of 1 KiB the boot block is before the first one that bitmaps know.
        let booted = u64::from(fs.block_size == 1024);
        assert_eq!(
            inventory.blocks,
            fs.blocks - booted - fs.free_blocks,
            "{variant}"
        );
        assert_eq!(
            inventory.files.inodes,
            fs.inodes - fs.free_inodes,
            "{variant}"
        );
    }
    assert!(made_any >= 12, "{made_any}");
}

fn debugfs(image: &Path, requests: &str) {
    let commands = image.with_extension("commands");
    std::fs::write(&commands, requests).unwrap();
    let output = Command::new("debugfs")
        .args(["-w", "-f"])
        .args([&commands, image])
        .output();
    assert!(output.unwrap().status.success());
}

/// A filesystem with faults in every pass.
fn damaged(scratch: &Path) -> Vec<u8> {
    let image = scratch.join("damaged");
    made("-t ext4 -b 1024 -O ^metadata_csum,uninit_bg", &image).unwrap();
    let mut requests = String::new();
    for number in (0..1500).step_by(3) {
        let name = format!("/many/a-rather-long-name-{number:05}");
        let request = match number % 4 {
            0 => format!("set_inode_field {name} links_count {}\n", 3 + number % 5),
            1 => format!("set_inode_field {name} dtime {}\n", 1_700_000_000 + number),
            2 => format!("set_inode_field {name} blocks {}\n", 2 + number),
            _ => format!("unlink {name}\n"),
        };
        requests.push_str(&request);
    }
    requests += "set_inode_field /a/b/large size 70\nfreeb 700 20\nfreei <20>\n";
    requests += "set_inode_field /a/b/c links_count 9\nunlink /a/b/c/d\n";
    debugfs(&image, &requests);
    std::fs::read(image).unwrap()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let image = Ram::new(&damaged(scratch.path()));
    let one = check(&image, &options(1), &ext4::Options::default(), &Silent).unwrap();
    assert!(
        one.findings.tallies.len() >= 6,
        "{:?}",
        one.findings.tallies
    );
    for threads in [2, 5, 16] {
        let mut options = options(threads);
        options.sweep.request = 16 << 10;
        let many = check(&image, &options, &ext4::Options::default(), &Silent).unwrap();
        for (one, many) in as_json(&one).iter().zip(as_json(&many)) {
            assert_eq!(*one, many, "{threads} threads");
        }
        assert_eq!(one.findings.list.len(), many.findings.list.len());
        assert_eq!(one.findings.tallies, many.findings.tallies);
    }
}

#[test]
fn findings_have_paths() {
    let scratch = tempfile::tempdir().unwrap();
    let image = Ram::new(&damaged(scratch.path()));
    let report = check(&image, &options(2), &ext4::Options::default(), &Silent).unwrap();
    let path = |finding: &&Finding| finding.path.is_some();
    let paths = report.faults().filter(path).count();
    assert!(paths > 300, "{paths}");
    let wrong = report
        .faults()
        .find(|f| f.path.as_deref() == Some("/a/b/large"));
    assert_eq!(wrong.unwrap().problem.name, "1_BAD_I_SIZE");
    let without = Options {
        paths: false,
        ..options(2)
    };
    let report = check(&image, &without, &ext4::Options::default(), &Silent).unwrap();
    assert!(
        report
            .findings
            .list
            .iter()
            .all(|finding| finding.path.is_none())
    );
    assert!(report.passes.iter().all(|cost| cost.pass != "paths"));
}

#[test]
fn an_unreadable_sector_anywhere_is_no_panic_and_no_clean_verdict_by_accident() {
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("image");
    made("-t ext4 -b 1024", &image).unwrap();
    let bytes = std::fs::read(&image).unwrap();
    let sound = check(
        &Ram::new(&bytes),
        &options(2),
        &ext4::Options::default(),
        &Silent,
    )
    .unwrap();
    let mut noticed = 0;
    // The descriptors, bitmaps and tables lie within the first 2 MiB and after each 8 MiB.
    for sector in (0..4096).step_by(37) {
        let range = sector * 512..(sector + 1) * 512;
        let ram = Ram::new(&bytes).failing([range], 5);
        let report = check(&ram, &options(2), &ext4::Options::default(), &Silent).unwrap();
        noticed += u32::from(!report.findings.list.is_empty());
        // Nothing that was read for a sound filesystem goes unread and unsaid.
        let failed: u64 = report.total.errors;
        assert!(
            failed == 0 || !report.findings.list.is_empty(),
            "sector {sector}"
        );
    }
    assert!(sound.findings.list.is_empty() && noticed > 5, "{noticed}");
}

#[test]
fn a_check_can_be_stopped() {
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("image");
    made("-t ext4 -b 4096", &image).unwrap();
    let opened = blockio::open(&image, blockio::Mode::Buffered).unwrap();
    for questions in [1, 2, 3, 4] {
        let watch = Recorder::stopping_at(questions);
        let stopped = check(
            &*opened.source,
            &options(1),
            &ext4::Options::default(),
            &watch,
        );
        assert!(matches!(stopped, Err(Failure::Stopped)), "{questions}");
    }
}

#[test]
fn too_little_memory_is_reported_before_pass_1() {
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("image");
    made("-t ext4 -b 4096", &image).unwrap();
    let opened = blockio::open(&image, blockio::Mode::Buffered).unwrap();
    let limited = |memory| Options {
        memory: Some(memory),
        ..options(2)
    };
    let refused = check(
        &*opened.source,
        &limited(1 << 20),
        &ext4::Options::default(),
        &Silent,
    );
    assert!(matches!(refused, Err(Failure::Memory { needs, .. }) if needs > 1 << 20));
    // The buffers give way first.
    let small = check(
        &*opened.source,
        &limited(30 << 20),
        &ext4::Options::default(),
        &Silent,
    )
    .unwrap();
    assert!(small.memory.stated_total.unwrap() <= 30 << 20);
    assert!(small.verdict(Judge::Strict).is_clean());
}

/// A superblock of a few numbers that are possible together speaks of 280 GB of descriptors, and they lie in a hole.
#[test]
fn more_descriptors_than_the_machine_has_memory_are_refused() {
    const GROUPS: u64 = u32::MAX as u64;
    let machine = rustix::system::sysinfo();
    if machine.totalram as u64 * u64::from(machine.mem_unit) > GROUPS * 64 {
        testkit::skip!("this machine has memory for them");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("image");
    let features = "-t ext4 -b 1024 -I 1024 -O 64bit,^metadata_csum,^resize_inode,^has_journal";
    made(features, &image).unwrap();
    let mut superblock = std::fs::read(&image).unwrap()[1024..2048].to_vec();
    let blocks = GROUPS * 8192;
    let mut put =
        |at: usize, value: u32| superblock[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(0, GROUPS as u32);
    put(4, blocks as u32);
    put(0x150, (blocks >> 32) as u32);
    put(0x28, 1);
    let mut ram = blockio::Ram::sparse(15 << 40);
    ram.put(1024, &superblock);
    let refused = check(&ram, &options(2), &ext4::Options::default(), &Silent);
    let Err(Failure::Memory { needs, limit }) = refused else {
        panic!("{:?}", refused.map(|report| report.findings.list));
    };
    assert!(needs >= GROUPS * 64 && limit < needs, "{needs} of {limit}");
}

/// What was foreseen, each with what was expected until then, and all that was expected.
fn forecasts(recorder: &Recorder) -> (Vec<(u64, u64)>, u64) {
    let (mut forecasts, mut expected) = (Vec::new(), 0);
    for event in recorder.events() {
        match event {
            Event::Foresee(bytes) => forecasts.push((expected, bytes)),
            Event::Expect(bytes) => expected += bytes,
            _ => {}
        }
    }
    (forecasts, expected)
}

#[test]
fn what_is_to_be_read_is_foreseen() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    for variant in [
        "-t ext2 -b 1024",
        "-t ext4 -b 1024",
        "-t ext4 -b 4096",
        "-t ext4 -b 4096 -N 50000",
        "-t ext4 -b 4096 -O ^metadata_csum,uninit_bg",
        "-t ext4 -b 4096 -O ^metadata_csum,^uninit_bg,^flex_bg",
    ] {
        let _ = std::fs::remove_file(&image);
        made(variant, &image).unwrap();
        let bytes = std::fs::read(&image).unwrap();
        let recorder = Recorder::default();
        check(
            &Ram::new(&bytes),
            &options(2),
            &ext4::Options::default(),
            &recorder,
        )
        .unwrap();
        let (forecasts, all) = forecasts(&recorder);
        let [(0, first), (tables, rest)] = forecasts[..] else {
            panic!("{variant}: {forecasts:?}")
        };
        assert_eq!(tables + rest, all, "{variant}: after pass 1");
        // Before it, all but the further blocks of the one large directory and of lost+found.
        let further = all.checked_sub(first).unwrap();
        assert!(
            (20_000..128 << 10).contains(&further),
            "{variant}: {first} of {all}"
        );
    }
}
