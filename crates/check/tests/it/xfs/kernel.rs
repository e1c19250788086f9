//! Filesystems that a kernel has filled are sound to both verdicts, and `xfs_repair -n` agrees. Needs root and a kernel with XFS.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use check::report::Judge;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::mounted::Mounted;
use super::volume::{lines, made, report, tools};

/// Directories of every form, names as long as they can be, names removed again.
fn directories(root: &Path) {
    for (name, count) in [
        ("none", 0),
        ("few", 5),
        ("block", 30),
        ("leaf", 300),
        ("node", 2500),
    ] {
        let folder = root.join(name);
        fs::create_dir(&folder).unwrap();
        for nth in 0..count {
            let bytes = vec![b'x'; nth % 3 * 3000 * usize::from(count < 1000)];
            fs::write(folder.join(format!("file-{nth:06}")), bytes).unwrap();
        }
        for nth in (0..count).step_by(3) {
            fs::remove_file(folder.join(format!("file-{nth:06}"))).unwrap();
        }
    }
    let long = root.join("long");
    fs::create_dir(&long).unwrap();
    for nth in 0..100 {
        File::create(long.join(format!("{nth:05}{}", "y".repeat(250)))).unwrap();
    }
    let deep: PathBuf = (0..40).map(|nth| format!("d{nth}")).collect();
    fs::create_dir_all(root.join(deep)).unwrap();
    for nth in 0..300 {
        fs::create_dir_all(root.join(format!("many/s{nth}"))).unwrap();
    }
}

/// Hard links, symbolic links in inodes and in blocks, a pipe.
fn links(root: &Path) {
    fs::write(root.join("file"), [7; 5000]).unwrap();
    for nth in 0..100 {
        fs::hard_link(root.join("file"), root.join(format!("many/s{nth}/link"))).unwrap();
    }
    symlink("short", root.join("short")).unwrap();
    symlink("/".repeat(300), root.join("middle")).unwrap();
    symlink("./".repeat(500), root.join("far")).unwrap();
    mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
}

/// Attributes in inodes, leaves and trees, and values in blocks of their own.
fn attributes(root: &Path) {
    let set = |path: &Path, name: &str, bytes: usize| {
        setxattr(path, name, &vec![b'v'; bytes], XattrFlags::empty()).unwrap();
    };
    for nth in 0..40 {
        let path = root.join(format!("noted-{nth}"));
        File::create(&path).unwrap();
        for key in 0..nth / 3 {
            set(&path, &format!("user.k{key}"), key * 13 % 200);
        }
        match nth % 10 {
            0 => set(&path, "user.large", 5000 + 300 * nth),
            5 => set(&path, "trusted.large", 9000),
            _ => {}
        }
    }
    let many = root.join("noted-much");
    File::create(&many).unwrap();
    for nth in 0..500 {
        set(&many, &format!("user.attribute-number-{nth}"), nth % 150);
    }
}

/// Files with holes, with extents in a btree, and shared ones.
fn extents(root: &Path) {
    for (name, count) in [("some", 15), ("tree", 1200)] {
        let file = File::create(root.join(name)).unwrap();
        for nth in 0..count {
            file.write_all_at(&[1; 4096], nth * 8192).unwrap();
        }
    }
    let words = ["--reflink=auto", "some", "some-too"].map(OsString::from);
    let copied = Command::new("cp")
        .args(words)
        .current_dir(root)
        .status()
        .unwrap();
    assert!(copied.success());
    let file = File::options()
        .write(true)
        .open(root.join("some-too"))
        .unwrap();
    file.write_all_at(&[2; 4096], 8192).unwrap();
}

#[test]
fn what_a_kernel_fills_is_sound_needs_root() {
    if !testkit::root!("loop mounts") || !tools() {
        return;
    }
    for words in [
        &[][..],
        &["-m", "rmapbt=1", "-i", "nrext64=1"],
        &["-b", "size=1024"],
        &["-n", "size=8192"],
        &["-i", "size=2048", "-m", "reflink=0"],
        &["-m", "crc=0"],
    ] {
        let image = made("400M", words);
        let Some(mounted) = Mounted::new(&image.image) else {
            testkit::skip!("this kernel does not mount {words:?}");
            continue;
        };
        directories(&mounted.0);
        links(&mounted.0);
        attributes(&mounted.0);
        extents(&mounted.0);
        drop(mounted);
        let repair = Command::new("xfs_repair")
            .args(["-n", "-f"])
            .arg(&image.image)
            .output();
        assert_eq!(repair.unwrap().status.code(), Some(0), "{words:?}");
        let found = report(&image.image, 2);
        let lines = lines(&found);
        assert!(
            found.verdict(Judge::Reference).is_clean(),
            "{words:?}: {lines:#?}"
        );
        assert!(
            found.verdict(Judge::Strict).is_clean(),
            "{words:?}: {lines:#?}"
        );
        let files = found.inventory.unwrap().files;
        assert!(files.regular > 2000 && files.directories > 340, "{files:?}");
    }
}

/// Leftovers of kernels are not damage: sizes of removed directories and links, blocks preallocated to an append-only file.
#[test]
fn what_a_kernel_leaves_is_sound_needs_root() {
    if !testkit::root!("loop mounts") || !tools() {
        return;
    }
    let image = made("400M", &[]);
    let Some(mounted) = Mounted::new(&image.image) else {
        testkit::skip!("this kernel does not mount XFS");
        return;
    };
    let at = |name: &str| mounted.0.join(name);
    fs::create_dir_all(at("removed/too")).unwrap();
    fs::write(at("removed/file"), "x").unwrap();
    symlink("short", at("link")).unwrap();
    fs::remove_file(at("link")).unwrap();
    fs::remove_dir_all(at("removed")).unwrap();
    let log = at("log");
    File::create(&log).unwrap();
    let flag = |flag: &str| Command::new("chattr").arg(flag).arg(&log).status();
    assert!(flag("+a").unwrap().success());
    let mut file = File::options().append(true).open(&log).unwrap();
    for _ in 0..40 {
        std::io::Write::write_all(&mut file, &[7; 5000]).unwrap();
        file.sync_data().unwrap();
    }
    drop(file);
    drop(mounted);
    let found = report(&image.image, 2);
    let lines = lines(&found);
    assert!(found.verdict(Judge::Strict).is_clean(), "{lines:#?}");
    assert!(found.verdict(Judge::Reference).is_clean(), "{lines:#?}");
}
