//! The kernel mounts what is forged, reads the population back, and writes. Needs root.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use forge::population::{FileKind, Listed, ObjectId, Population};
use forge::xfs::{Placement, attributes, device_number, link_target, read};

use super::clean::{NAMES, PIECES, RICH};
use super::common::{assert_clean, featured, forge, tools};
use crate::common::mounted::Mounted;
use crate::common::unmount::unmount;

/// Everything below a mount is what the population has, and nothing else; returns the names seen.
fn read_back(population: &Population, root: &Path) -> usize {
    let mut paths: BTreeMap<u32, PathBuf> = BTreeMap::from([(0, root.to_owned())]);
    let mut inodes: BTreeMap<ObjectId, u64> = BTreeMap::new();
    let mut seen = 0;
    for directory in 0..population.directories() {
        let path = paths.remove(&directory).expect("parents come first");
        let mut found: Vec<Vec<u8>> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().as_bytes().to_vec())
            .collect();
        let mut expected = Vec::new();
        for named in population.list(directory) {
            let path = path.join(OsStr::from_bytes(&named.name));
            match named.what {
                Listed::LostAndFound => continue,
                Listed::Directory(number) => {
                    paths.insert(number, path);
                }
                Listed::File(id) => {
                    let ino = file(population, id, &path);
                    assert_eq!(*inodes.entry(id).or_insert(ino), ino, "{}", path.display());
                }
            }
            expected.push(named.name);
        }
        seen += expected.len();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{}", path.display());
        let links = fs::metadata(&path).unwrap().nlink();
        assert_eq!(links, 2 + population.children(directory).len() as u64);
    }
    assert!(paths.is_empty());
    seen
}

fn file(population: &Population, id: ObjectId, path: &Path) -> u64 {
    let about =
        fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let kind = about.file_type();
    match population.file_kind(id) {
        FileKind::Regular(size) => {
            assert_eq!(about.len(), size, "{}", path.display());
            let expected = read(population, id, 4096).unwrap();
            assert!(fs::read(path).unwrap() == expected, "{}", path.display());
        }
        FileKind::Symlink(_) => {
            let target = fs::read_link(path).unwrap();
            let expected = link_target(population, id).unwrap();
            assert_eq!(target.as_os_str().as_bytes(), expected);
        }
        FileKind::Fifo => assert!(kind.is_fifo()),
        FileKind::Socket => assert!(kind.is_socket()),
        FileKind::CharacterDevice | FileKind::BlockDevice => {
            let (major, minor) = device_number(population, id);
            assert_eq!(about.rdev(), rustix::fs::makedev(major, minor));
        }
    }
    for (name, value) in attributes(population, id) {
        let mut found = vec![0; 8192];
        let len = rustix::fs::lgetxattr(path, name.as_str(), &mut found[..])
            .unwrap_or_else(|error| panic!("{} {name}: {error}", path.display()));
        assert!(found[..len] == value, "{} {name}", path.display());
    }
    about.ino()
}

/// Writes to every part: new names in all directories, removals, longer and shorter files, attributes.
fn change(root: &Path) {
    let mut folders = vec![root.to_owned()];
    let mut nth = 0;
    while let Some(folder) = folders.pop() {
        nth += 1;
        for (at, entry) in fs::read_dir(&folder).unwrap().enumerate() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            if about.is_dir() {
                folders.push(path);
            } else if at % 5 == 1 {
                fs::remove_file(&path).unwrap();
            } else if at % 7 == 2 && about.is_file() {
                fs::write(&path, vec![7; 9000 + at]).unwrap();
                let flags = rustix::fs::XattrFlags::empty();
                rustix::fs::lsetxattr(&path, "user.more", &[3; 90], flags).unwrap();
            }
        }
        for number in 0..30 {
            let name = format!("a new file with number {number} of {nth}");
            fs::write(folder.join(name), vec![1; number * 300]).unwrap();
        }
        fs::create_dir(folder.join("a new directory")).unwrap();
    }
}

/// Whether the kernel mounts what mkfs.xfs makes with version 4.
fn kernel_has_version_4() -> bool {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (image, point) = (dir.path().join("image"), dir.path().join("mnt"));
    fs::create_dir(&point).unwrap();
    fs::File::create(&image)
        .unwrap()
        .set_len(300 << 20)
        .unwrap();
    let made = Command::new("mkfs.xfs")
        .args(["-q", "-m", "crc=0"])
        .arg(&image)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let mount = Command::new("mount")
        .args(["-t", "xfs", "-o", "loop"])
        .args([&image, &point])
        .output()
        .unwrap();
    if mount.status.success() {
        unmount(&point).unwrap();
    }
    mount.status.success()
}

#[test]
fn the_kernel_reads_everything_back_and_writes() {
    if !tools() || !testkit::root!("mounts need it") {
        return;
    }
    for (features, placement, profile) in [
        ("", Placement::Inode64, RICH),
        ("rmapbt,nrext64", Placement::Inode32, RICH),
        ("rmapbt", Placement::Packed, NAMES),
        ("rmapbt", Placement::Inode64, PIECES),
        ("nocrc", Placement::Inode64, RICH),
        ("nocrc,noftype", Placement::Inode64, NAMES),
    ] {
        if features.starts_with("nocrc") && !kernel_has_version_4() {
            testkit::skip!("the kernel does not mount XFS of version 4");
            return;
        }
        let mut options = featured("500M", features);
        options.placement = placement;
        if features.starts_with("nocrc") {
            options.inode_size = Some(256);
        }
        let forged = forge(&options, profile).unwrap();
        let mounted = Mounted::of("xfs", &forged.image, "ro");
        let seen = read_back(&forged.population, mounted.path());
        assert!(seen >= 60, "{features}: {seen}");
        mounted.unmount();
        let mounted = Mounted::of("xfs", &forged.image, "rw");
        change(mounted.path());
        mounted.unmount();
        assert_clean(&forged.image, features);
    }
}
