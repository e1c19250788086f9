//! Filesystems that a kernel in User-mode Linux fills, with what this machine's may lack: quotas, version 4, a realtime part. They are sound
//! to both verdicts.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use check::report::Judge;

use super::disk::Disk;
use super::volume::{lines, report, tools};

const INIT: &str = r#"#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
mkdir /mnt/a
cd /mnt
fill() {
  for folder in none few block leaf; do mkdir a/$folder; done
  for nth in $(seq 5); do echo $nth >a/few/file-$nth; done
  for nth in $(seq 30); do head -c $((nth * 700)) /dev/zero >a/block/file-$nth; done
  for nth in $(seq 300); do : >a/leaf/file-number-$nth; done
  for nth in $(seq 3 3 300); do rm a/leaf/file-number-$nth; done
  ln -s $(printf 'x/%.0s' $(seq 300)) a/far
  mknod a/pipe p
  for nth in $(seq 30); do chown $((1000 + nth % 3)):$((2000 + nth % 2)) a/block/file-$nth; done
}
mount -i -t xfs -o uquota,gquota,pquota /dev/ubda a && fill
xfs_quota -x -c 'limit bsoft=1m bhard=2m isoft=8 ihard=100 1001' a
xfs_quota -x -c 'limit -g isoft=3 2001' a
xfs_quota -x -c 'project -s -p a/few 7' a >/dev/null
chown 1001 a/leaf/file-number-*
umount a && echo "guest: quotas"
mount -i -t xfs /dev/ubdb a && fill
umount a && echo "guest: version 4"
mount -i -t xfs -o rtdev=/dev/ubdd /dev/ubdc a && fill
xfs_io -c 'chattr +t' a/none
for nth in $(seq 20); do head -c $((nth * 9000)) /dev/zero >a/none/file-$nth; done
rm a/none/file-7
umount a && echo "guest: realtime"
echo o >/proc/sysrq-trigger
sleep 9
"#;

/// Makes a file of this size.
fn sized(folder: &Path, name: &str, size: u64) -> PathBuf {
    let path = folder.join(name);
    File::create(&path).unwrap().set_len(size).unwrap();
    path
}

fn mkfs(image: &Path, words: &[&str]) {
    let status = Command::new("mkfs.xfs")
        .args(["-q", "-f"])
        .args(words)
        .arg(image)
        .status();
    assert!(status.unwrap().success(), "{words:?}");
}

/// Boots the guest; its console, or none where no User-mode Linux is installed, or where it does not run here.
fn boot(folder: &Path, images: &[&PathBuf]) -> Option<String> {
    let init = folder.join("init");
    fs::write(&init, INIT).unwrap();
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("linux.uml");
    command.args([
        "mem=256M",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "con=null",
        "con0=null,fd:1",
        "seccomp=on",
    ]);
    for (nth, image) in images.iter().enumerate() {
        command.arg(format!("ubd{nth}={}", image.display()));
    }
    command.arg(format!("init={}", init.display()));
    let needed = std::env::var_os("FSLAB_NEED_GUESTS").is_some();
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(!needed, "linux.uml: {error}");
            testkit::skip!("needs user-mode-linux");
            return None;
        }
    };
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    if !console.contains("as init process") {
        assert!(!needed, "{console}");
        testkit::skip!("User-mode Linux does not run here");
        return None;
    }
    Some(console)
}

#[test]
fn quotas_version_4_and_a_realtime_part_of_a_kernel_are_sound_needs_uml() {
    if !tools() || !testkit::root!("owners of files in the guest") {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let quotas = sized(folder.path(), "quotas", 300 << 20);
    let old = sized(folder.path(), "old", 300 << 20);
    let data = sized(folder.path(), "data", 300 << 20);
    let realtime = sized(folder.path(), "realtime", 64 << 20);
    mkfs(&quotas, &[]);
    mkfs(&old, &["-m", "crc=0"]);
    let device = format!("rtdev={},extsize=64k,size=64m", realtime.display());
    mkfs(&data, &["-m", "reflink=0,rmapbt=0", "-r", &device]);
    let Some(console) = boot(folder.path(), &[&quotas, &old, &data, &realtime]) else {
        return;
    };
    for (image, line) in [
        (&quotas, "guest: quotas"),
        (&old, "guest: version 4"),
        (&data, "guest: realtime"),
    ] {
        if !console.contains(line) {
            testkit::skip!("the guest's kernel does not mount it: {line}");
            continue;
        }
        let found = report(image, 1);
        let lines = lines(&found);
        assert!(
            found.verdict(Judge::Strict).is_clean(),
            "{line}: {lines:#?}"
        );
        let mut command = Command::new("xfs_repair");
        command.args(["-n", "-f"]);
        if image == &data {
            // Without its realtime device xfs_repair ends; so does our verdict after it.
            assert_eq!(found.verdict(Judge::Reference).exit_code, 1);
            command.arg("-r").arg(&realtime);
        } else {
            assert!(
                found.verdict(Judge::Reference).is_clean(),
                "{line}: {lines:#?}"
            );
        }
        let status = command.arg(image).status().unwrap();
        assert_eq!(status.code(), Some(0), "{line}");
        let files = found.inventory.unwrap().files;
        assert!(files.regular >= 200 && files.directories >= 5, "{files:?}");
    }
    if console.contains("guest: quotas") {
        wrong_quotas(&quotas);
    }
    if console.contains("guest: realtime") {
        wrong_realtime(&data);
    }
}

/// A record of a user that counts a block more, and then one that is no record.
fn wrong_quotas(image: &Path) {
    let disk = Disk::open(image);
    let file = disk.inode_bytes(disk.sb.sb_uquotino.get());
    let inode = ondisk::xfs::dinode::Inode::new(&disk.geo, &file);
    let mut extents = ondisk::xfs::extent::list(inode.data_fork(), inode.nextents() as usize);
    // The block of the record of user 1001: 30 records in each.
    let (block, nth) = (1001 / 30, 1001 % 30);
    let extent = extents.find(|extent| extent.offset <= block && block < extent.end());
    let fsblock = extent
        .map(|extent| extent.block + block - extent.offset)
        .unwrap();
    let at = disk.geo.block_offset(fsblock) + nth * 136;
    let codes = |what: &str| -> Vec<&'static str> {
        let found = report(image, 1);
        assert_eq!(found.verdict(Judge::Reference).exit_code, 1, "{what}");
        let status = Command::new("xfs_repair")
            .args(["-n", "-f"])
            .arg(image)
            .output()
            .unwrap();
        assert_eq!(status.status.code(), Some(1), "{what}");
        found
            .findings
            .tallies
            .iter()
            .map(|tally| tally.problem.name)
            .collect()
    };
    let sound = disk.bytes(at, 136);
    disk.change(at, 136, ondisk::xfs::checksum::DQUOT, |bytes| {
        bytes[47] ^= 1;
    });
    assert_eq!(codes("blocks"), ["XFS-QUOTA-BCOUNT"]);
    disk.change(at, 136, ondisk::xfs::checksum::DQUOT, |bytes| {
        bytes.copy_from_slice(&sound);
    });
    disk.change(at, 136, ondisk::xfs::checksum::DQUOT, |bytes| {
        bytes[55] ^= 1;
    });
    assert_eq!(codes("inodes"), ["XFS-QUOTA-ICOUNT"]);
    // A timer of blocks although there are fewer than the limit: xfs_repair does not look for that.
    disk.change(at, 136, ondisk::xfs::checksum::DQUOT, |bytes| {
        bytes.copy_from_slice(&sound);
        bytes[60..64].copy_from_slice(&1_999_999_999_u32.to_be_bytes());
    });
    let found = report(image, 1);
    let codes: Vec<&str> = found
        .findings
        .tallies
        .iter()
        .map(|tally| tally.problem.name)
        .collect();
    assert_eq!(codes, ["XFS-QUOTA-TIMER"]);
    assert!(found.verdict(Judge::Reference).is_clean());
    assert_eq!(found.verdict(Judge::Strict).exit_code, 4);
}

/// A bit of the realtime bitmap: only the strict verdict is asked, because `xfs_repair` needs the device.
fn wrong_realtime(image: &Path) {
    let disk = Disk::open(image);
    let file = disk.inode_bytes(disk.sb.sb_rbmino.get());
    let first = ondisk::xfs::Extent::read(&file[176..]);
    let at = disk.geo.block_offset(first.block);
    let size = disk.geo.block_size as usize;
    disk.change(at, size, size, |bytes| bytes[100] ^= 1);
    let found = report(image, 1);
    let codes: Vec<&str> = found
        .findings
        .tallies
        .iter()
        .map(|tally| tally.problem.name)
        .collect();
    assert!(codes.contains(&"XFS-RT-CONTENT"), "{codes:?}");
    assert_eq!(found.verdict(Judge::Strict).exit_code, 4);
}
