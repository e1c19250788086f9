//! The kernel mounts what is forged, reads back the population, and can write. Needs root.

use crate::common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::mounted::Mounted;
use common::{
    Forged, RICH, SMALL, SMALL_AND_NOTED, assert_clean, forge, is_root, options, profile,
};
use forge::ext4::Contents;
use forge::ext4::FsType::{self, Ext2, Ext3, Ext4};
use forge::ext4::plan::{Kind, ObjectId, Objects as _};
use forge::population::Listed;

/// Everything below a mount is what the population has, and nothing else.
fn read_back(contents: &Contents, root: &Path) {
    let mut paths: BTreeMap<u32, PathBuf> = BTreeMap::from([(0, root.to_owned())]);
    let mut inodes: BTreeMap<ObjectId, u64> = BTreeMap::new();
    for directory in 0..contents.directories() {
        let path = paths.remove(&directory).expect("parents come first");
        let mut there: Vec<Vec<u8>> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().as_bytes().to_vec())
            .collect();
        let mut expected = Vec::new();
        for named in contents.population().list(directory) {
            let path = path.join(OsStr::from_bytes(&named.name));
            match named.what {
                Listed::LostAndFound => assert!(path.is_dir()),
                Listed::Directory(number) => {
                    paths.insert(number, path);
                }
                Listed::File(id) => {
                    let ino = file(contents, id, &path);
                    assert_eq!(*inodes.entry(id).or_insert(ino), ino, "{}", path.display());
                }
            }
            expected.push(named.name);
        }
        there.sort();
        expected.sort();
        assert_eq!(there, expected, "{}", path.display());
        let links = fs::metadata(&path).unwrap().nlink();
        assert_eq!(
            links,
            u64::from(contents.object(ObjectId { directory, slot: 0 }).links)
        );
    }
    assert!(paths.is_empty());
}

fn file(contents: &Contents, id: ObjectId, path: &Path) -> u64 {
    let object = contents.object(id);
    let about = fs::symlink_metadata(path).unwrap();
    assert_eq!(about.nlink(), u64::from(object.links), "{}", path.display());
    assert_eq!((about.uid(), about.gid()), (object.uid, object.gid));
    let kind = about.file_type();
    match object.kind {
        Kind::File => {
            assert!(kind.is_file());
            assert_eq!(about.len(), object.size);
            let expected = contents.read(id, 0, usize::MAX);
            assert!(fs::read(path).unwrap() == expected, "{}", path.display());
            if object.size > 100 {
                assert_eq!(contents.read(id, 13, 50), expected[13..63]);
            }
        }
        Kind::FastSymlink | Kind::Symlink => {
            let target = fs::read_link(path).unwrap();
            assert_eq!(
                target.as_os_str().as_bytes(),
                contents.link_target(id).unwrap()
            );
        }
        Kind::Fifo => assert!(kind.is_fifo()),
        Kind::Socket => assert!(kind.is_socket()),
        Kind::CharacterDevice | Kind::BlockDevice => {
            assert_eq!(kind.is_block_device(), object.kind == Kind::BlockDevice);
            let (major, minor) = contents.population().device_number(id);
            assert_eq!(about.rdev(), rustix::fs::makedev(major, minor));
        }
        Kind::Directory | Kind::Value | Kind::Free => panic!("{:?} has a name", object.kind),
    }
    attributes(contents, id, path);
    about.ino()
}

fn attributes(contents: &Contents, id: ObjectId, path: &Path) {
    for (name, value) in contents.attributes(id) {
        let mut found = vec![0; 70_000];
        let len = rustix::fs::lgetxattr(path, name.as_str(), &mut found[..])
            .unwrap_or_else(|error| panic!("{} {name}: {error}", path.display()));
        assert!(found[..len] == value, "{} {name}", path.display());
    }
}

/// Makes, fills, renames and removes things everywhere.
fn write_to(contents: &Contents, root: &Path) {
    let mut path = root.to_owned();
    for directory in [1, contents.directories() - 1] {
        let mut way = Vec::new();
        let mut at = directory;
        while at != 0 {
            let parent = contents.population().parent(at);
            let listed = contents.population().list(parent);
            let named = listed
                .into_iter()
                .find(|named| named.what == Listed::Directory(at))
                .unwrap();
            way.push(named.name);
            at = parent;
        }
        root.clone_into(&mut path);
        path.extend(way.iter().rev().map(|name| OsStr::from_bytes(name)));
        for nth in 0..300 {
            let mut new = fs::File::create(path.join(format!("new file {nth}"))).unwrap();
            new.write_all(&vec![nth as u8; 5000]).unwrap();
        }
        for nth in (0..300).step_by(3) {
            fs::rename(
                path.join(format!("new file {nth}")),
                path.join(format!("moved {nth}")),
            )
            .unwrap();
        }
    }
    fs::create_dir_all(path.join("a/b/c")).unwrap();
    for named in contents.population().list(1).into_iter().step_by(2) {
        if let Listed::File(id) = named.what
            && id.directory == 1
        {
            let listed = contents.population().list(0);
            let home = listed
                .into_iter()
                .find(|one| one.what == Listed::Directory(1))
                .unwrap();
            let path = root
                .join(OsStr::from_bytes(&home.name))
                .join(OsStr::from_bytes(&named.name));
            fs::remove_file(&path).unwrap();
        }
    }
}

fn round(size: &str, fs_type: FsType, block_size: u32, features: &str, text: &str) {
    let what = format!("{fs_type:?}, {block_size}, {features:?}");
    let forged = forge(&options(size, fs_type, block_size, features), profile(text))
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    println!("{what}");
    mount_and_compare(&forged);
}

fn mount_and_compare(forged: &Forged) {
    let mounted = Mounted::new(&forged.image, "ro");
    read_back(&forged.contents, mounted.path());
    mounted.unmount();
    let mounted = Mounted::new(&forged.image, "rw");
    write_to(&forged.contents, mounted.path());
    mounted.unmount();
    assert_clean(&forged.image);
}

#[test]
fn the_kernel_reads_everything_back_and_writes_on_needs_root() {
    if !testkit::root!() {
        return;
    }
    for block_size in [1024, 4096] {
        for fs_type in [Ext2, Ext3, Ext4] {
            round("600M", fs_type, block_size, "", RICH);
        }
    }
    for features in [
        "^metadata_csum,uninit_bg",
        "^64bit",
        "^extent,^64bit",
        "^has_journal",
        "bigalloc",
        "large_dir",
    ] {
        round("600M", Ext4, 4096, features, RICH);
    }
}

#[test]
fn the_kernel_reads_attributes_needs_root() {
    if !testkit::root!() {
        return;
    }
    let text = r#"
        files = 1500
        per_directory = 300
        file_size = "0-9k"
        [kinds]
        symlinks = 0.1
        special = 0.1
        [attributes]
        inode = 0.4
        block = 0.3
    "#;
    round("300M", Ext4, 4096, "", text);
    let values = format!("{text}\nvalue = 0.2\nvalue_size = 9000\nvalue_sharing = 3");
    round("300M", Ext4, 4096, "ea_inode", &values);
    round("300M", Ext4, 1024, "ea_inode,^metadata_csum", &values);
    for block_size in [1024, 4096] {
        let shared = format!("{text}\nblock_sharing = 5");
        round("300M", Ext4, block_size, "", &shared);
    }
}

#[test]
fn the_kernel_reads_what_is_in_inodes_and_writes_on_needs_root() {
    if !testkit::root!() {
        return;
    }
    for block_size in [1024, 4096] {
        round("300M", Ext4, block_size, "inline_data", SMALL);
    }
    round("600M", Ext4, 4096, "inline_data,bigalloc", RICH);
    round("300M", Ext4, 1024, "inline_data,^metadata_csum", RICH);
    round("300M", Ext4, 4096, "inline_data", SMALL_AND_NOTED);
    let values = format!("{SMALL_AND_NOTED}\nvalue = 0.4\nvalue_size = 9000");
    round("300M", Ext4, 4096, "inline_data,ea_inode", &values);
}

#[test]
fn the_kernel_keeps_quotas_guards_and_fast_commits_needs_root() {
    if !testkit::root!() {
        return;
    }
    for features in ["mmp", "fast_commit"] {
        round("600M", Ext4, 4096, features, RICH);
    }
    if !mounts_quotas() {
        testkit::skip!(
            "quotas need a kernel with CONFIG_QFMT_V2, and this one mounts none of mke2fs's either"
        );
        return;
    }
    for features in ["quota,project", "quota,orphan_file"] {
        round("600M", Ext4, 4096, features, RICH);
    }
    let values = format!("{RICH}\n[attributes]\nvalue = 0.3\nvalue_size = 9000\nvalue_sharing = 3");
    round("600M", Ext4, 4096, "quota,ea_inode", &values);
}

/// Whether this kernel mounts a filesystem with quota files, of mke2fs's making, to write to it.
fn mounts_quotas() -> bool {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    let run = |program: &str, arguments: &[&OsStr]| {
        let output = Command::new(program).args(arguments).output();
        output.expect(program).status.success()
    };
    let words = ["-q", "-F", "-t", "ext4", "-O", "quota"].map(OsStr::new);
    assert!(run("mke2fs", &[&words[..], &[image.as_os_str()]].concat()));
    let point = dir.path().join("mnt");
    fs::create_dir(&point).unwrap();
    let (from, to) = (image.as_os_str(), point.as_os_str());
    let mounted = run("mount", &["-o".as_ref(), "loop,rw".as_ref(), from, to]);
    if mounted {
        common::unmount::unmount(&point).unwrap();
    }
    mounted
}

/// Whether this kernel knows a feature.
fn known(feature: &str) -> bool {
    Path::new("/sys/fs/ext4/features").join(feature).exists()
}

#[test]
fn the_kernel_finds_names_of_any_case_needs_root() {
    if !is_root() || !known("casefold") {
        testkit::skip!("needs root, and a kernel that folds names");
        return;
    }
    let text = "files = 9000\nper_directory = 3000\nfile_size = 0\n[names]\ncasefold = true";
    let forged = forge(&options("300M", Ext4, 1024, "casefold"), profile(text)).unwrap();
    let mounted = Mounted::new(&forged.image, "ro");
    let folder = mounted.path().join(OsStr::from_bytes(
        &forged
            .contents
            .population()
            .list(0)
            .iter()
            .find(|named| named.what == Listed::Directory(1))
            .unwrap()
            .name,
    ));
    for named in forged.contents.population().list(1) {
        let shouted = named.name.to_ascii_uppercase();
        assert!(
            folder.join(OsStr::from_bytes(&shouted)).exists(),
            "{named:?}"
        );
    }
    mounted.unmount();
    mount_and_compare(&forged);
}

/// The bytes of a name as shown without the key: base64url without padding.
fn decoded(shown: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = Vec::new();
    let (mut word, mut bits) = (0_u32, 0);
    for byte in shown {
        let digit = DIGITS.iter().position(|digit| digit == byte);
        word = word << 6 | digit.expect("base64url") as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    bytes
}

/// Everything of a directory as a kernel without the key shows it: the hash in two words and the name, or as much of it as fits. Targets come
/// likewise, under a hash of 0. Gives a path of every third file.
fn read_encoded(contents: &Contents, directory: u32, folder: &Path) -> Vec<PathBuf> {
    /// Bytes after the hash that are shown as they are; of more follows a digest.
    const SHOWN: usize = 149;
    let mut expected: BTreeMap<Vec<u8>, Listed> = BTreeMap::new();
    for named in contents.population().list(directory) {
        assert!(named.name.len() <= SHOWN);
        expected.insert(named.name, named.what);
    }
    let mut some = Vec::new();
    for (nth, entry) in fs::read_dir(folder).unwrap().enumerate() {
        let entry = entry.unwrap();
        let name = decoded(entry.file_name().as_bytes()).split_off(8);
        let path = entry.path();
        let Some(Listed::File(id)) = expected.remove(&name) else {
            panic!("{}", path.display());
        };
        let about = fs::symlink_metadata(&path).unwrap();
        let object = contents.object(id);
        assert_eq!(about.nlink(), u64::from(object.links));
        let stored = contents.link_target(id);
        assert_eq!(about.file_type().is_symlink(), stored.is_some());
        if let Some(stored) = stored {
            let target = decoded(fs::read_link(&path).unwrap().as_os_str().as_bytes());
            let (len, ciphertext) = stored.split_at(2);
            assert_eq!(
                usize::from(len[0]) | usize::from(len[1]) << 8,
                ciphertext.len()
            );
            let shown = &ciphertext[..ciphertext.len().min(SHOWN)];
            assert_eq!(target[..8], [0; 8], "{}", path.display());
            assert_eq!(target[8..8 + shown.len()], *shown, "{}", path.display());
            let digest = if ciphertext.len() > SHOWN { 32 } else { 0 };
            assert_eq!(target.len(), 8 + shown.len() + digest);
        } else if about.is_file() {
            assert!(fs::File::open(&path).is_err(), "{}", path.display());
        }
        if nth % 3 == 0 {
            some.push(path);
        }
    }
    assert!(expected.is_empty(), "{} are not there", expected.len());
    some
}

/// Without the key names and targets are shown encoded; they can be read and removed, but not made.
#[test]
fn the_kernel_lists_and_removes_encrypted_names_needs_root() {
    if !is_root() || !known("encryption") {
        testkit::skip!("needs root, and a kernel that encrypts");
        return;
    }
    let text = r#"
        files = 4000
        per_directory = 1000
        file_size = 5000
        [names]
        length = "16-100"
        alphabet = "bytes"
        encrypted = true
        [kinds]
        symlinks = 0.3
        target_length = [["1-50", 1], ["51-1000", 1]]
        special = 0.1
        hard_links = 0.1
        [attributes]
        block = 0.1
    "#;
    let folded = text.replace("[names]", "[names]\ncasefold = true");
    let mut rounds = vec![("encrypt", text), ("encrypt,^dir_index", text)];
    if known("casefold") {
        rounds.push(("encrypt,casefold", &folded));
    } else {
        println!("without casefold, which this kernel does not know");
    }
    for (features, text) in rounds {
        for block_size in [1024, 4096] {
            println!("{features}, {block_size}");
            let options = options("300M", Ext4, block_size, features);
            let forged = forge(&options, profile(text)).unwrap();
            let mounted = Mounted::new(&forged.image, "rw");
            let mut some = Vec::new();
            for named in forged.contents.population().list(0) {
                let Listed::Directory(directory) = named.what else {
                    continue;
                };
                let folder = mounted.path().join(OsStr::from_bytes(&named.name));
                some.extend(read_encoded(&forged.contents, directory, &folder));
                assert!(fs::write(folder.join("made"), "x").is_err());
            }
            // Names of one file are counted in other directories, too, so nothing goes before all is read.
            for path in some {
                fs::remove_file(path).unwrap();
            }
            mounted.unmount();
            assert_clean(&forged.image);
        }
    }
}

#[test]
fn the_kernel_looks_names_up_in_deep_indexes_needs_root() {
    if !testkit::root!() {
        return;
    }
    let text = "files = 30000\nper_directory = 30000\nfile_size = 0\n[names]\nlength = \"200-255\"";
    round("600M", Ext4, 1024, "large_dir", text);
    round("600M", Ext4, 4096, "", text);
}

#[test]
fn the_kernel_finds_names_by_every_hash_needs_root() {
    use forge::ext4::HashVersion::{
        HalfMd4, HalfMd4Unsigned, Legacy, LegacyUnsigned, Tea, TeaUnsigned,
    };
    if !testkit::root!() {
        return;
    }
    for hash in [
        Legacy,
        LegacyUnsigned,
        HalfMd4,
        HalfMd4Unsigned,
        Tea,
        TeaUnsigned,
    ] {
        let mut options = options("300M", Ext4, 1024, "");
        options.hash = hash;
        println!("{hash:?}");
        mount_and_compare(&forge(&options, profile(RICH)).unwrap());
    }
}
