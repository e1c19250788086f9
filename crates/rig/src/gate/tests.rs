//! The gate against real loop devices: what it must refuse, and the one disk it may approve.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::partition_table::tests::{one_gpt_partition, two_mbr_partitions};
use super::*;

const SIZE: u64 = 128 << 20;

/// A loop device set up by losetup(8), not by our own code, and taken down on drop.
struct Disk {
    node: PathBuf,
    image: PathBuf,
    folder: tempfile::TempDir,
    undo: Vec<(String, Vec<String>)>,
    children: Vec<Child>,
}

fn run(program: &str, arguments: &[&str]) -> String {
    let path = crate::command::locate(program).unwrap_or_else(|| panic!("{program} is needed"));
    let output = Command::new(path)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

impl Disk {
    fn new(size: u64) -> Disk {
        Disk::with(size, &[])
    }

    fn with(size: u64, options: &[&str]) -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("disk.img");
        File::create(&image).unwrap().set_len(size).unwrap();
        let image_text = image.display().to_string();
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(&image_text);
        let node = PathBuf::from(run("losetup", &arguments));
        Disk {
            node,
            image,
            folder,
            undo: Vec::new(),
            children: Vec::new(),
        }
    }

    fn text(&self) -> String {
        self.node.display().to_string()
    }

    fn name(&self) -> String {
        self.node
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned()
    }

    fn write(&self, bytes: &[u8], offset: u64) {
        let file = OpenOptions::new().write(true).open(&self.node).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }

    fn mkfs(self, program: &str) -> Disk {
        run(
            program,
            &[
                if program == "mkfs.ext4" { "-Fq" } else { "-fq" },
                &self.text(),
            ],
        );
        self
    }

    fn later(&mut self, program: &str, arguments: &[&str]) {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        self.undo.push((program.into(), arguments));
    }

    /// Mounts it below its own folder.
    fn mounted(mut self) -> Disk {
        let point = self.folder.path().join("mnt");
        fs::create_dir(&point).unwrap();
        let point = point.display().to_string();
        run("mount", &[&self.text(), &point]);
        self.later("umount", &[&point]);
        self
    }

    /// Mounts it where only another process's namespace sees it.
    fn mounted_elsewhere(mut self) -> Disk {
        let point = self.folder.path().join("else");
        fs::create_dir(&point).unwrap();
        let script = format!(
            "mount {} {} && echo ready && exec sleep 100",
            self.text(),
            point.display()
        );
        let mut child = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_line(&mut child);
        self.children.push(child);
        self
    }

    fn reasons(&self) -> Vec<Reason> {
        let serial = "loop:disk.img";
        examine(&self.node, Some(serial)).map_or_else(
            |refusals| refusals.into_iter().map(|r| r.reason).collect(),
            |_| Vec::new(),
        )
    }
}

fn wait_for_line(child: &mut Child) {
    use std::io::BufRead;
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    std::io::BufReader::new(stdout)
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line.trim(), "ready");
}

impl Drop for Disk {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for (program, arguments) in self.undo.drain(..).rev() {
            let program = crate::command::locate(&program).unwrap();
            let _ = Command::new(program).args(arguments).status();
        }
        // A namespace that just ended may still be taken down.
        for _ in 0..50 {
            let bound = Host::default()
                .loops()
                .iter()
                .any(|lo| lo.backing == self.image);
            if !bound {
                return;
            }
            let program = crate::command::locate("losetup").unwrap();
            let _ = Command::new(program)
                .arg("-d")
                .arg(&self.node)
                .stderr(Stdio::null())
                .status();
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Root, and alone: loop devices are the host's, and a number that one test gives back is at once
/// another's.
fn root() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if crate::host::is_root() {
        return Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    println!("skipped: needs root");
    None
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
    run("mkswap", &[&disk.text()]);
    assert!(carries(&disk.reasons(), "swap"));
    run("wipefs", &["-a", &disk.text()]);
    assert_eq!(
        disk.reasons(),
        Vec::new(),
        "wipefs -a is the way out, as the message says"
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
        "an image on its filesystem behind another loop device",
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
            let script = format!(
                "import os, time\nos.open({:?}, os.O_RDONLY | os.O_EXCL)\nprint('ready', flush=True)\ntime.sleep(100)",
                disk.text()
            );
            let mut child = Command::new("python3")
                .args(["-c", &script])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            wait_for_line(&mut child);
            disk.children.push(child);
            disk
        },
        |r| matches!(r, Reason::InUse),
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
        println!("skipped: the root filesystem has no disk here");
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
