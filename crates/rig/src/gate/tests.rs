//! The gate against real loop devices: what it must refuse, and the one disk it may approve.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::*;

mod disk;

use disk::{Disk, root, run, wait_for_line};

const SIZE: u64 = 128 << 20;

/// A disk's first sector with an MBR of two partitions.
fn two_mbr_partitions() -> Vec<u8> {
    let mut sector = vec![0u8; 512];
    for (index, start) in [2048u32, 65536].into_iter().enumerate() {
        let entry = &mut sector[446 + index * 16..462 + index * 16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..16].copy_from_slice(&32768u32.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

/// A disk's first sectors with a GPT of one partition.
fn one_gpt_partition() -> Vec<u8> {
    let mut disk = vec![0u8; 34 * 512];
    disk[512..520].copy_from_slice(b"EFI PART");
    disk[512 + 72..512 + 80].copy_from_slice(&2u64.to_le_bytes());
    disk[512 + 80..512 + 84].copy_from_slice(&128u32.to_le_bytes());
    disk[512 + 84..512 + 88].copy_from_slice(&128u32.to_le_bytes());
    disk[1024..1040].copy_from_slice(&[0xAF; 16]);
    disk
}

/// A process that opens a file in Python's way and keeps it open.
fn opener(path: &Path, flags: &str) -> Child {
    let script = format!(
        "import os, time\nos.open({:?}, {flags})\nprint('ready', flush=True)\ntime.sleep(100)",
        path.display().to_string()
    );
    let mut child = Command::new("python3")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_line(&mut child);
    child
}

/// Bytes without a pattern, as a volume of plain dm-crypt has them.
fn random(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    std::io::Read::read_exact(&mut File::open("/dev/urandom").unwrap(), &mut bytes).unwrap();
    bytes
}

fn has(reasons: &[Reason], wanted: impl Fn(&Reason) -> bool) -> bool {
    reasons.iter().any(wanted)
}

fn carries(reasons: &[Reason], what: &str) -> bool {
    has(
        reasons,
        |r| matches!(r, Reason::Signature { kind, .. } if kind.contains(what)),
    )
}

#[test]
fn a_clean_zeroed_loop_device_is_approved_and_taken_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let disk = Disk::new(SIZE);
    let approved = examine(&disk.node, Some("loop:disk.img")).unwrap();
    assert_eq!(approved.size, SIZE);
    assert_eq!(approved.serial, "loop:disk.img");
    let held = Gate::default().reopen(&approved, false).unwrap();
    assert_eq!(disk.reasons(), vec![Reason::InUse], "it is held by us now");
    let gate = Gate::default();
    gate.still_the_same(&approved).unwrap();
    let mut other = approved.clone();
    other.sequence = Some("1".into());
    let swapped = gate.still_the_same(&other).unwrap_err();
    assert!(swapped.to_string().contains("another disk"), "{swapped}");
    other.number.1 += 1;
    let moved = gate.still_the_same(&other).unwrap_err();
    assert!(moved.to_string().contains("device number"), "{moved}");
    drop(held);
    assert_eq!(disk.reasons(), Vec::new());
}

#[test]
fn signatures_made_by_the_real_programs_are_refused_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    for (program, size, what) in [
        ("mkfs.ext4", SIZE, "ext2/3/4"),
        ("mkfs.xfs", 400 << 20, "XFS"),
        ("mkfs.btrfs", SIZE, "btrfs"),
    ] {
        let disk = Disk::new(size).mkfs(program);
        assert!(
            carries(&disk.reasons(), what),
            "{program}: {:?}",
            disk.reasons()
        );
    }
    let disk = Disk::new(SIZE);
    run("mkswap", &["-L", "spare", &disk.text()]);
    assert!(carries(&disk.reasons(), "swap"));
    assert!(
        has(&disk.reasons(), |r| r
            .to_string()
            .contains(" MiB, label \"spare\", UUID ")),
        "{:?}",
        disk.reasons()
    );
    run("wipefs", &["-a", &disk.text()]);
    assert!(
        has(&disk.reasons(), |r| matches!(r, Reason::NotEmpty { .. })),
        "wipefs -a leaves the rest"
    );
    run("blkdiscard", &["-f", &disk.text()]);
    assert_eq!(
        disk.reasons(),
        Vec::new(),
        "blkdiscard is the way out, as the message says"
    );
}

/// What one byte pattern on the disk must be refused as.
#[test]
fn foreign_signatures_are_refused_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let table: &[(&str, u64, &[u8])] = &[
        ("LVM2", 512, b"LABELONE"),
        ("md array", 4096, &0xA92B_4EFCu32.to_le_bytes()),
        ("md array", 0, &0xA92B_4EFCu32.to_le_bytes()),
        ("md array", SIZE - 65536, &0xA92B_4EFCu32.to_le_bytes()),
        ("md array", SIZE - 8192, &0xA92B_4EFCu32.to_le_bytes()),
        ("ZFS", 131_072, &0x00BA_B10Cu64.to_le_bytes()),
        (
            "ZFS",
            SIZE - 262_144 + 131_072 + 3072,
            &0x00BA_B10Cu64.to_le_bytes(),
        ),
        ("LUKS", 0, b"LUKS\xBA\xBE\0\x02"),
        ("LUKS2 second", 0x4000, b"SKUL\xBA\xBE"),
        ("FAT", 0x52, b"FAT32   "),
        ("NTFS", 3, b"NTFS    "),
        ("ISO 9660", 0x8001, b"CD001"),
        ("squashfs", 0, b"hsqs"),
        ("reiserfs", 0x1_0034, b"ReIsEr2Fs"),
        ("JFS", 0x8000, b"JFS1"),
        ("OCFS2", 0x2000, b"OCFSV2"),
        ("GFS2", 0x1_0000, &[1, 0x16, 0x19, 0x70]),
        ("f2fs", 0x400, &[0x10, 0x20, 0xF5, 0xF2]),
        ("swap", 65536 - 10, b"SWAPSPACE2"),
        ("GPT backup", SIZE - 512, b"EFI PART"),
        ("DRBD", SIZE - 4096 + 60, &[0x83, 0x74, 0x02, 0x6D]),
    ];
    let disk = Disk::new(SIZE);
    for &(what, offset, magic) in table {
        disk.write(magic, offset);
        let reasons = disk.reasons();
        assert!(carries(&reasons, what), "{what} at {offset}: {reasons:?}");
        disk.write(&vec![0; magic.len()], offset);
        assert_eq!(disk.reasons(), Vec::new(), "{what} is gone again");
    }
}

/// One way to use or spoil a disk, and the reason it must be refused for.
type Case = (&'static str, fn() -> Disk, fn(&Reason) -> bool);

const CASES: &[Case] = &[
    (
        "an MBR the kernel has not scanned",
        || {
            let disk = Disk::new(SIZE);
            disk.write(&two_mbr_partitions(), 0);
            disk
        },
        |r| {
            matches!(
                r,
                Reason::PartitionTable {
                    kind: "MBR",
                    partitions: 2
                }
            )
        },
    ),
    (
        "a GPT the kernel has not scanned",
        || {
            let disk = Disk::new(SIZE);
            disk.write(&one_gpt_partition(), 0);
            disk
        },
        |r| {
            matches!(
                r,
                Reason::PartitionTable {
                    kind: "GPT",
                    partitions: 1
                }
            )
        },
    ),
    (
        "partitions that only the kernel knows",
        || {
            let mut disk = Disk::with(SIZE, &["--partscan"]);
            run("addpart", &[&disk.text(), "1", "2048", "65536"]);
            let node = disk.text();
            disk.later("delpart", &[&node, "1"]);
            disk
        },
        |r| matches!(r, Reason::HasPartitions { names } if names.len() == 1),
    ),
    (
        "a mounted partition",
        || {
            let mut disk = Disk::with(SIZE, &["--partscan"]);
            run("addpart", &[&disk.text(), "1", "2048", "131072"]);
            let node = disk.text();
            disk.later("delpart", &[&node, "1"]);
            let part = format!("{node}p1");
            run("mkfs.ext4", &["-Fq", &part]);
            let point = disk.folder.path().join("mnt");
            fs::create_dir(&point).unwrap();
            let point = point.display().to_string();
            run("mount", &[&part, &point]);
            disk.later("umount", &[&point]);
            disk
        },
        |r| matches!(r, Reason::Mounted { name, .. } if name.ends_with("p1")),
    ),
    (
        "a mounted ext4",
        || Disk::new(SIZE).mkfs("mkfs.ext4").mounted(),
        |r| matches!(r, Reason::Mounted { .. }),
    ),
    (
        "a mounted btrfs, which has no device number",
        || Disk::new(SIZE).mkfs("mkfs.btrfs").mounted(),
        |r| matches!(r, Reason::Mounted { .. }),
    ),
    (
        "a device of a mounted btrfs",
        || Disk::new(SIZE).mkfs("mkfs.btrfs").mounted(),
        |r| matches!(r, Reason::BtrfsMember { .. }),
    ),
    (
        "a mount in another namespace",
        || Disk::new(SIZE).mkfs("mkfs.ext4").mounted_elsewhere(),
        |r| matches!(r, Reason::MountedElsewhere { pid, .. } if *pid > 1),
    ),
    (
        "a btrfs mounted in another namespace",
        || Disk::new(SIZE).mkfs("mkfs.btrfs").mounted_elsewhere(),
        |r| matches!(r, Reason::MountedElsewhere { .. }),
    ),
    (
        "swap in use",
        || {
            let mut disk = Disk::new(SIZE);
            run("mkswap", &[&disk.text()]);
            run("swapon", &[&disk.text()]);
            let node = disk.text();
            disk.later("swapoff", &[&node]);
            disk
        },
        |r| matches!(r, Reason::Swap { .. }),
    ),
    (
        "a loop device stacked on it",
        || {
            let mut disk = Disk::new(SIZE);
            let upper = run("losetup", &["--find", "--show", &disk.text()]);
            disk.later("losetup", &["-d", &upper]);
            disk
        },
        |r| matches!(r, Reason::BacksLoop { .. }),
    ),
    (
        "an image on its filesystem, attached to another loop device",
        || {
            let mut disk = Disk::new(SIZE).mkfs("mkfs.ext4").mounted();
            let image = disk.folder.path().join("mnt/inner.img");
            File::create(&image).unwrap().set_len(1 << 20).unwrap();
            let inner = run(
                "losetup",
                &["--find", "--show", &image.display().to_string()],
            );
            disk.later("losetup", &["-d", &inner]);
            disk
        },
        |r| matches!(r, Reason::Mounted { .. }),
    ),
    (
        "a process that has it open exclusively",
        || {
            let mut disk = Disk::new(SIZE);
            let child = opener(&disk.node, "os.O_RDONLY | os.O_EXCL");
            disk.children.push(child);
            disk
        },
        |r| matches!(r, Reason::InUse),
    ),
    (
        "a process that has it open for writing, like a virtual machine",
        || {
            let mut disk = Disk::new(SIZE);
            disk.children.push(opener(&disk.node, "os.O_RDWR"));
            disk
        },
        |r| matches!(r, Reason::Open { name, writes: true, command, .. } if name.starts_with("loop") && command.starts_with("python")),
    ),
    (
        "a process that reads it",
        || {
            let mut disk = Disk::new(SIZE);
            disk.children.push(opener(&disk.node, "os.O_RDONLY"));
            disk
        },
        |r| matches!(r, Reason::Open { writes: false, .. }),
    ),
    (
        "a process that has the file below it open",
        || {
            let mut disk = Disk::new(SIZE);
            disk.children.push(opener(&disk.image, "os.O_RDWR"));
            disk
        },
        |r| matches!(r, Reason::Open { name, writes: true, .. } if name.ends_with("disk.img")),
    ),
    (
        "a second loop device over the same file, mounted",
        || {
            let mut disk = Disk::new(SIZE).mkfs("mkfs.ext4");
            let point = disk.folder.path().join("second");
            fs::create_dir(&point).unwrap();
            let point = point.display().to_string();
            let second = run(
                "losetup",
                &["--find", "--show", &disk.image.display().to_string()],
            );
            disk.later("losetup", &["-d", &second]);
            run("mount", &[&second, &point]);
            disk.later("umount", &[&point]);
            disk
        },
        |r| matches!(r, Reason::SharedFile { lo, .. } if lo.starts_with("loop")),
    ),
    (
        "data without a signature from the first byte on, like plain dm-crypt",
        || {
            let disk = Disk::new(SIZE);
            disk.write(&random(8 << 20), 0);
            disk
        },
        |r| {
            matches!(
                r,
                Reason::NotEmpty {
                    offset: 0..16,
                    left: None
                }
            )
        },
    ),
    (
        "data in the middle alone",
        || {
            let disk = Disk::new(SIZE);
            disk.write(&random(1 << 20), SIZE / 2);
            disk
        },
        |r| matches!(r, Reason::NotEmpty { offset, left: None } if *offset >= SIZE / 2),
    ),
    (
        "a read-only device",
        || Disk::with(SIZE, &["--read-only"]),
        |r| matches!(r, Reason::ReadOnly),
    ),
    (
        "a device that is too small",
        || Disk::new(1 << 20),
        |r| {
            matches!(
                r,
                Reason::TooSmall {
                    bytes: 1_048_576,
                    ..
                }
            )
        },
    ),
];

#[test]
fn every_use_of_a_disk_is_refused_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    for (what, make, wanted) in CASES {
        let disk = make();
        let reasons = disk.reasons();
        assert!(has(&reasons, wanted), "{what}: {reasons:?}");
        for reason in &reasons {
            let line = reason.to_string();
            assert!(
                !line.contains('\n') && line.contains(';'),
                "{what}: one line with a next step: {line}"
            );
        }
    }
}

#[test]
fn the_mount_of_a_second_loop_device_is_named_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let (_, make, _) = CASES
        .iter()
        .find(|(what, ..)| what.starts_with("a second loop"))
        .unwrap();
    let disk = make();
    let reasons = disk.reasons();
    assert!(
        has(
            &reasons,
            |r| matches!(r, Reason::Mounted { point, .. } if point.ends_with("second"))
        ),
        "{reasons:?}"
    );
}

#[test]
fn a_loop_device_over_a_disk_in_use_is_refused_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let mut disk = Disk::new(SIZE);
    let upper = run("losetup", &["--find", "--show", &disk.text()]);
    disk.later("losetup", &["-d", &upper]);
    let reasons = || match examine(Path::new(&upper), Some("x")) {
        Ok(_) => Vec::new(),
        Err(refusals) => refusals.into_iter().map(|r| r.reason).collect::<Vec<_>>(),
    };
    let other = |r: &Reason| !matches!(r, Reason::SerialMismatch { .. });
    assert!(!has(&reasons(), other), "{:?}", reasons());
    disk.children.push(opener(&disk.node, "os.O_RDWR"));
    assert!(
        has(&reasons(), |r| matches!(
            r,
            Reason::Open { writes: true, .. }
        )),
        "{:?}",
        reasons()
    );
}

#[test]
fn a_descriptor_that_is_closed_in_a_moment_is_no_reason_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let disk = Disk::new(SIZE);
    let mut child = opener(&disk.node, "os.O_RDONLY");
    let reasons = std::thread::scope(|scope| {
        let looking = scope.spawn(|| disk.reasons());
        thread::sleep(Duration::from_millis(300));
        child.kill().unwrap();
        child.wait().unwrap();
        looking.join().unwrap()
    });
    assert_eq!(reasons, Vec::new());
}

#[test]
fn a_leftover_of_this_tool_is_taken_and_a_changed_one_is_not_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let disk = Disk::new(SIZE);
    disk.write(&random(16 << 20), 40 << 20);
    assert!(
        has(&disk.reasons(), |r| matches!(
            r,
            Reason::NotEmpty { left: None, .. }
        )),
        "without a marker it is anybody's data"
    );
    let file = File::options()
        .read(true)
        .write(true)
        .open(&disk.node)
        .unwrap();
    leave_marker(&file, SIZE, "loop:disk.img").unwrap();
    drop(file);
    assert_eq!(disk.reasons(), Vec::new());
    disk.write(&random(2 << 20), 80 << 20);
    assert!(
        has(&disk.reasons(), |r| matches!(
            r,
            Reason::NotEmpty { left: Some(_), .. }
        )),
        "{:?}",
        disk.reasons()
    );
}

#[test]
fn a_partition_is_refused_and_its_disk_named_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let mut disk = Disk::with(SIZE, &["--partscan"]);
    run("addpart", &[&disk.text(), "1", "2048", "65536"]);
    let node = disk.text();
    disk.later("delpart", &[&node, "1"]);
    let part = PathBuf::from(format!("{node}p1"));
    let refusals = examine(&part, Some("x")).unwrap_err();
    let expected = Reason::Partition { disk: disk.name() };
    assert_eq!(refusals[0].reason, expected);
}

#[test]
fn what_is_no_disk_is_refused_without_root() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let cases: &[(&Path, &str)] = &[
        (Path::new("/dev/no-such-disk"), "there is no such device"),
        (Path::new("/tmp"), "it is a folder"),
        (Path::new("/dev/null"), "it is a character device"),
        (file.path(), "it is a file"),
    ];
    for (path, wanted) in cases {
        let refusals = examine(path, Some("x")).unwrap_err();
        assert_eq!(refusals.len(), 1);
        let line = refusals[0].to_string();
        assert!(
            line.contains(wanted) && line.starts_with(&path.display().to_string()),
            "{line}"
        );
    }
}

#[test]
fn serials_are_asked_for_and_compared_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let disk = Disk::new(SIZE);
    let reason = |serial| examine(&disk.node, serial).unwrap_err()[0].reason.clone();
    assert_eq!(
        reason(None),
        Reason::SerialNotGiven {
            serial: "loop:disk.img".into()
        }
    );
    assert_eq!(
        reason(Some("WD-1")),
        Reason::SerialMismatch {
            given: "WD-1".into(),
            serial: "loop:disk.img".into()
        }
    );
    // Signed and named rightly: still refused.
    let disk = disk.mkfs("mkfs.ext4");
    assert!(carries(&disk.reasons(), "ext2/3/4"));
}

#[test]
fn an_unbound_loop_device_is_empty_and_has_no_serial_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    // Asked for and looked at in one go; another test may take it meanwhile, so a few tries.
    let found = (0..20).any(|_| {
        let node = PathBuf::from(run("losetup", &["--find"]));
        let reasons: Vec<Reason> = match examine(&node, None) {
            Err(refusals) => refusals.into_iter().map(|r| r.reason).collect(),
            Ok(_) => Vec::new(),
        };
        reasons.contains(&Reason::Empty) && reasons.contains(&Reason::NoSerial)
    });
    assert!(found);
}

#[test]
fn the_disk_of_the_root_filesystem_is_refused_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let host = Host::default();
    let Some(disk) = host
        .device_below(Path::new("/"))
        .first()
        .map(|name| host.ancestry(name))
        .and_then(|names| names.into_iter().find(|name| !host.is_partition(name)))
    else {
        testkit::skip!("the root filesystem has no disk here");
        return;
    };
    let refusals = examine(&Path::new("/dev").join(&disk), None).unwrap_err();
    let reasons: Vec<Reason> = refusals.into_iter().map(|r| r.reason).collect();
    assert!(
        has(&reasons, |r| matches!(r, Reason::HoldsSystem { .. })),
        "{reasons:?}"
    );
}

#[test]
fn a_disk_used_or_exchanged_after_approval_is_refused_before_the_first_write_needs_root() {
    let Some(_alone) = root() else {
        return;
    };
    let disk = Disk::new(SIZE);
    let approved = examine(&disk.node, Some("loop:disk.img")).unwrap();
    let disk = disk.mkfs("mkfs.ext4").mounted();
    let error = Gate::default().reopen(&approved, true).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert_eq!(error.class(), crate::Class::Safety);
    drop(disk);

    let disk = Disk::new(SIZE);
    let approved = examine(&disk.node, Some("loop:disk.img")).unwrap();
    // Another medium of the same size, name and serial in the same place.
    run("losetup", &["-d", &disk.text()]);
    let other = disk.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let other = other.join("disk.img");
    let mut file = File::create(&other).unwrap();
    file.write_all(&[0]).unwrap();
    file.set_len(SIZE).unwrap();
    run("losetup", &[&disk.text(), &other.display().to_string()]);
    let error = Gate::default().reopen(&approved, false).unwrap_err();
    let text = error.to_string();
    run("losetup", &["-d", &disk.text()]);
    assert!(text.contains("another disk has its place"), "{text}");
}
