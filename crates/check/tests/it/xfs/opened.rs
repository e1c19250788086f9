//! What stands before everything else: where the filesystem is, and whether it is all there.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::Command;
use std::sync::Arc;

use blockio::Mode;
use check::report::{self, Judge, Shown};
use check::{Checker as _, Options, Silent, xfs};
use fskind::Family;
use ondisk::xfs::Superblock;

use super::disk::Disk;
use super::strict::{expect, fresh, put, repair};
use super::volume::{Forged, forged, lines, report, tools};
use super::work::with_realtime_part;

/// The report of the checker that the source chooses.
fn chosen(image: &Forged) -> report::Report {
    let source = blockio::open(&image.image, Mode::Buffered).unwrap().source;
    let checker = check::for_source(&*source).expect("a checker knows it");
    assert_eq!(checker.format(), Family::Xfs);
    checker
        .check(&*source, &Options::default(), &Silent)
        .unwrap()
}

#[test]
fn a_device_shorter_than_the_filesystem() {
    let Some(image) = fresh(&[]) else { return };
    let file = File::options().write(true).open(&image.image).unwrap();
    let len = file.metadata().unwrap().len();
    // No structure is beyond that.
    for short in [4096, 512, 1] {
        file.set_len(len - short).unwrap();
        expect(&image, "XFS-SB-TRUNCATED", true);
        let found = chosen(&image);
        assert_eq!(found.verdict(Judge::Strict).exit_code, 4, "{short}");
        let brief = report::brief(&found, Judge::Reference);
        let text = report::text(&found, Judge::Reference, Shown::default());
        assert!(
            brief.contains("xfs, truncated: errors, exit code 1"),
            "{brief}"
        );
        assert!(text.contains("TRUNCATED"), "{text}");
    }
    file.set_len(len).unwrap();
    assert_eq!(lines(&report(&image.image, 1)), Vec::<String>::new());
}

/// What wipes the start of a device leaves the copies.
#[test]
fn the_first_superblock_is_lost() {
    if !tools() {
        return;
    }
    for (size, bytes) in [("300M", 512), ("300M", 2 << 20), ("2G", 512)] {
        let image = forged(size, "", "files = 300\n");
        let sound = report(&image.image, 1);
        let file = File::options().write(true).open(&image.image).unwrap();
        file.write_all_at(&vec![0; bytes], 0).unwrap();
        let found = chosen(&image);
        let lines = lines(&found);
        assert_eq!(found.verdict(Judge::Reference).exit_code, 1, "{lines:#?}");
        assert_eq!(repair(&image).unwrap_or(1), 1);
        assert_eq!(found.verdict(Judge::Strict).exit_code, 4);
        assert!(lines[0].starts_with("XFS-SB-BAD-MAGIC"), "{lines:#?}");
        let filesystem = found.subject.filesystem.as_ref().unwrap();
        assert_eq!(
            filesystem.uuid,
            sound.subject.filesystem.as_ref().unwrap().uuid
        );
        if bytes == 512 {
            assert_eq!(lines.len(), 1, "{lines:#?}");
            let files = |of: &report::Report| of.inventory.as_ref().unwrap().files;
            assert_eq!(files(&found), files(&sound));
        }
    }
}

/// A filesystem of a newer kernel is neither damaged nor to be repaired by a program that does not know it.
#[test]
fn features_of_newer_kernels() {
    let Some(image) = fresh(&[]) else { return };
    let disk = Disk::open(&image.image);
    for (bits, name) in [(0x140_u32, "metadata directories"), (0x740, "zones")] {
        disk.header(0, 0, |bytes| {
            let sb = Superblock::read_mut(bytes).unwrap();
            let old = sb.sb_features_incompat.get() & 0x3f;
            sb.sb_features_incompat = (old | bits).into();
        });
        let found = chosen(&image);
        for judge in [Judge::Reference, Judge::Strict] {
            assert_eq!(found.verdict(judge).exit_code, 8, "{:#?}", lines(&found));
        }
        let text = report::text(&found, Judge::Reference, Shown::default());
        assert!(
            text.contains(name) && text.contains("does not read"),
            "{text}"
        );
        for text in [text, report::brief(&found, Judge::Reference)] {
            assert!(!text.contains("what to do next"), "{text}");
            assert!(text.contains("xfs"), "{text}");
        }
    }
    // No kernel knows these bits, and a wrong checksum makes all bits doubtful.
    disk.header(0, 0, |bytes| {
        put(bytes, 216, &0x8000_0143_u32.to_be_bytes());
    });
    expect(&image, "XFS-SB-UNSUPPORTED", true);
    disk.header(0, 0, |bytes| put(bytes, 216, &0x143_u32.to_be_bytes()));
    let file = File::options().write(true).open(&image.image).unwrap();
    file.write_all_at(&[1, 2, 3, 4], 224).unwrap();
    expect(&image, "XFS-SB-BAD-CRC", true);
}

/// xfs_repair 6.1 does not know parent pointers and the exchange of contents: it ends with 1. Nothing is wrong with them.
#[test]
fn features_that_are_read_and_newer_than_the_reference() {
    let Some(image) = fresh(&[]) else { return };
    let disk = Disk::open(&image.image);
    for ag in 0..disk.geo.ag_count {
        disk.header(ag, 0, |bytes| {
            let sb = Superblock::read_mut(bytes).unwrap();
            sb.sb_features_incompat = (sb.sb_features_incompat.get() | 0xc0).into();
        });
    }
    expect(&image, "XFS-SB-UNKNOWN-FEATURES", true);
    let found = report(&image.image, 1);
    assert!(
        found.verdict(Judge::Strict).is_clean(),
        "{:#?}",
        lines(&found)
    );
    let text = report::text(&found, Judge::Strict, Shown::default());
    assert!(!text.contains("then repair"), "{text}");
}

/// 6.13 knows parent pointers and the exchange of contents, and says what 6.1 passes over in attributes.
#[test]
fn a_later_release() {
    let Some(image) = fresh(&[]) else { return };
    let by = |release| {
        let source = blockio::open(&image.image, Mode::Buffered).unwrap().source;
        let checker = xfs::Checker::new(xfs::Options {
            release,
            ..xfs::Options::default()
        });
        let found = checker
            .check(&*source, &Options::default(), &Silent)
            .unwrap();
        let version = found.reference.as_ref().unwrap().version;
        (found.verdict(Judge::Reference).exit_code, version)
    };
    assert_eq!(by(xfs::Release::V6_13), (0, "6.13.0"));
    let disk = Disk::open(&image.image);
    for ag in 0..disk.geo.ag_count {
        disk.header(ag, 0, |bytes| {
            let sb = Superblock::read_mut(bytes).unwrap();
            sb.sb_features_incompat = (sb.sb_features_incompat.get() | 0xc0).into();
        });
    }
    assert_eq!(by(xfs::Release::V6_1), (1, "6.1.0"));
    assert_eq!(by(xfs::Release::V6_13), (0, "6.13.0"));
}

/// xfs_repair refuses a filesystem of one allocation group, sound or not.
#[test]
fn one_allocation_group() {
    let Some(image) = fresh(&["--unsupported", "-d", "agcount=1"]) else {
        return;
    };
    expect(&image, "XFS-SB-ONE-AG", true);
    let found = report(&image.image, 1);
    assert!(
        found.verdict(Judge::Strict).is_clean(),
        "{:#?}",
        lines(&found)
    );
    let text = report::text(&found, Judge::Reference, Shown::default());
    assert!(!text.contains("then repair"), "{text}");
}

/// xfs_repair ends where the device of the realtime part is not given, or is too small.
#[test]
fn a_realtime_part() {
    if !tools() {
        return;
    }
    let image = with_realtime_part(&[]);
    let device = image.image.with_extension("rt");
    expect(&image, "XFS-SB-RT-NODEV", true);
    let bytes = std::fs::metadata(&device).unwrap().len();
    for (len, code) in [(bytes, 0), (bytes - 4096, 1), (0, 1)] {
        let file = File::options().write(true).open(&device).unwrap();
        file.set_len(len).unwrap();
        let source = blockio::open(&image.image, Mode::Buffered).unwrap().source;
        let realtime = blockio::Buffered::open(&device).unwrap();
        let checker = xfs::Checker::new(xfs::Options {
            realtime: Some(Arc::new(realtime)),
            ..xfs::Options::default()
        });
        let found = checker
            .check(&*source, &Options::default(), &Silent)
            .unwrap();
        let lines = lines(&found);
        assert_eq!(
            found.verdict(Judge::Reference).exit_code,
            code,
            "{lines:#?}"
        );
        let strict = found.verdict(Judge::Strict);
        assert_eq!(strict.is_clean(), code == 0, "{lines:#?}");
        assert_eq!(
            lines.iter().any(|line| line.starts_with("XFS-SB-RT-SHORT")),
            code == 1
        );
        let mut repair = Command::new("xfs_repair");
        repair
            .args(["-n", "-f", "-r"])
            .arg(&device)
            .arg(&image.image);
        if let Ok(output) = repair.output() {
            assert_eq!(output.status.code(), Some(code.into()), "{len}");
        }
    }
}

/// A file whose blocks a copy that ended early has not is named.
#[test]
fn a_file_past_the_end_is_named() {
    if !tools() {
        return;
    }
    let image = forged("300M", "", "files = 60\nfile_size = [[\"2M-3M\", 1]]\n");
    let sound = report(&image.image, 1);
    assert_eq!(lines(&sound), Vec::<String>::new());
    let file = File::options().write(true).open(&image.image).unwrap();
    // The last of four groups begins at 225 MiB, with its inodes.
    file.set_len(245 << 20).unwrap();
    let found = chosen(&image);
    let list = found.findings.list.iter();
    let cut: Vec<_> = list
        .filter(|finding| finding.problem.name == "XFS-FILE-CUT")
        .collect();
    assert!(!cut.is_empty(), "{:#?}", lines(&found));
    let affected = &found.affected.files;
    assert_eq!(affected.len(), cut.len(), "{affected:#?}");
    let first = &affected[0];
    assert!(
        first.path.is_some() && first.bytes > 0 && first.bytes <= 3 << 20,
        "{first:?}"
    );
    let text = report::text(&found, Judge::Strict, Shown::default());
    assert!(text.contains("past the end of the image"), "{text}");
}
