//! Identification: by the real programs' files, and on any bytes.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod table;

use fskind::Family;
use proptest::prelude::*;

use super::*;

/// A file, read without its holes.
struct OnDisk(File);

impl ReadAt for OnDisk {
    fn size(&self) -> u64 {
        self.0.metadata().unwrap().len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}

fn content(path: &Path) -> Content {
    identify(&OnDisk(File::open(path).unwrap())).unwrap()
}

/// Its name in words; empty where it is no known format.
fn kind(path: &Path) -> &'static str {
    match content(path) {
        Content::Known(signature) => signature.kind,
        _ => "",
    }
}

/// A program on PATH or in the folders of the system's administrator.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let found = folders.into_iter().map(|folder| folder.join(name));
    { found }.find(|file| file.is_file())
}

/// Runs a program, with its output in `output` where one is given. False where it is not installed.
fn ran(name: &str, arguments: &[&str], folder: &Path, output: Option<&str>) -> bool {
    let Some(program) = program(name) else {
        testkit::skip!("needs {name}");
        return false;
    };
    let stdout = output.map_or_else(Stdio::null, |name| {
        File::create(folder.join(name)).unwrap().into()
    });
    let status = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{name} {arguments:?}: {status}");
    true
}

fn sparse(folder: &Path, name: &str, size: u64) -> PathBuf {
    let path = folder.join(name);
    File::create(&path).unwrap().set_len(size).unwrap();
    path
}

/// `blkid -p` on a file; `None` where it is not installed.
fn by_blkid(path: &Path) -> Option<String> {
    let output = Command::new(program("blkid")?)
        .args(["-p", "-o", "value", "-s", "TYPE"])
        .arg(path)
        .output()
        .unwrap();
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn what_each_mkfs_makes_is_named_as_blkid_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("files")).unwrap();
    fs::write(folder.join("files/name"), vec![b'x'; 10_000]).unwrap();
    let ocfs2 = ["-qx", "-M", "local", "--fs-features=local", "-F", "x"];
    let cases: &[(&str, &[&str], &str)] = &[
        ("mkfs.ext2", &["-qF", "x"], "ext4"),
        ("mkfs.ext3", &["-qF", "x"], "ext4"),
        ("mkfs.ext4", &["-qF", "x"], "ext4"),
        ("mkfs.ext4", &["-qF", "-b", "1024", "x"], "ext4"),
        ("mke2fs", &["-qF", "-O", "journal_dev", "x"], "jbd"),
        (
            "mke2fs",
            &["-qF", "-b", "1024", "-O", "journal_dev", "x"],
            "jbd",
        ),
        ("mkfs.xfs", &["-qf", "x"], "xfs"),
        ("mkfs.btrfs", &["-qf", "x"], "btrfs"),
        ("mkfs.f2fs", &["-qf", "x"], "f2fs"),
        ("mkfs.ocfs2", &ocfs2, "ocfs2"),
        ("mkfs.minix", &["-1", "x"], "minix"),
        ("mkfs.minix", &["-2", "x"], "minix"),
        ("mkfs.minix", &["-3", "x"], "minix"),
        ("mkfs.bfs", &["x"], "bfs"),
        ("mkfs.cramfs", &["files", "x"], "cramfs"),
        ("mkfs.cramfs", &["-N", "big", "files", "x"], "cramfs"),
        (
            "mksquashfs",
            &["files", "x", "-quiet", "-noappend"],
            "squashfs",
        ),
        ("mkfs.erofs", &["x", "files"], "erofs"),
        ("mkfs.jfs", &["-q", "x"], "jfs"),
        ("mkfs.nilfs2", &["-q", "x"], "nilfs2"),
        ("mkfs.reiserfs", &["-qff", "x"], "reiserfs"),
        ("mkfs.udf", &["x"], "udf"),
        ("mkfs.hfsplus", &["x"], "hfsplus"),
        ("mkfs.gfs2", &["-Oq", "-p", "lock_nolock", "x"], "gfs2"),
        ("mkswap", &["x"], "swap"),
        ("mkswap", &["-p", "65536", "x"], "swap"),
        ("mkfs.vfat", &["x"], "vfat"),
        ("mkfs.exfat", &["x"], "exfat"),
        ("mkfs.ntfs", &["-QqF", "x"], "ntfs"),
        (
            "cryptsetup",
            &[
                "luksFormat",
                "-q",
                "--pbkdf-force-iterations=1000",
                "--pbkdf=pbkdf2",
                "x",
                "files/name",
            ],
            "crypto_LUKS",
        ),
    ];
    for (name, arguments, expected) in cases {
        let path = sparse(folder, "x", 400 << 20);
        if !ran(name, arguments, folder, None) {
            continue;
        }
        let Content::Known(found) = content(&path) else {
            panic!("{name} {arguments:?}: {:?}", content(&path));
        };
        assert_eq!(found.blkid, *expected, "{name} {arguments:?}");
        if let Some(theirs) = by_blkid(&path) {
            let theirs = if theirs.starts_with("ext") {
                "ext4"
            } else {
                &theirs
            };
            assert_eq!(found.blkid, theirs, "blkid on {name} {arguments:?}");
        }
    }
}

#[test]
fn a_filesystem_with_the_bit_of_a_journal_is_not_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = sparse(folder.path(), "x", 64 << 20);
    if ran("mkfs.ext4", &["-qF", "x"], folder.path(), None) {
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut bits = [0];
        file.read_exact_at(&mut bits, 0x460).unwrap();
        file.write_all_at(&[bits[0] | 8], 0x460).unwrap();
        assert_eq!(kind(&path), Family::Ext.described());
    }
}

#[test]
fn an_ext_filesystem_without_its_primary_superblock_is_known_by_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    for block in ["1024", "2048", "4096"] {
        let path = sparse(folder.path(), "x", 300 << 20);
        if !ran("mkfs.ext4", &["-qF", "-b", block, "x"], folder.path(), None) {
            return;
        }
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[0; 4096], 0).unwrap();
        assert_eq!(kind(&path), Family::Ext.described(), "{block}");
        // A new filesystem of another kind counts more than what is left of the old one.
        file.write_all_at(b"XFSB", 0).unwrap();
        assert_eq!(kind(&path), Family::Xfs.described(), "{block}");
    }
}

#[test]
fn compressed_files_and_metadata_images_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), vec![b'x'; 100_000]).unwrap();
    let cases: &[(&str, &[&str], &str)] = &[
        ("gzip", &["-c", "text"], "a gzip file"),
        ("xz", &["-c", "text"], "an xz file"),
        ("zstd", &["-qc", "text"], "a Zstandard file"),
        ("bzip2", &["-c", "text"], "a bzip2 file"),
        ("lz4", &["-qc", "text"], "an LZ4 file"),
        ("tar", &["-c", "text"], "a tar archive"),
        ("zip", &["-q", "-", "text"], "a ZIP archive"),
    ];
    for (name, arguments, expected) in cases {
        if ran(name, arguments, folder, Some("out")) {
            assert_eq!(kind(&folder.join("out")), *expected, "{name}");
        }
    }
    sparse(folder, "ext", 64 << 20);
    if ran("mkfs.ext4", &["-qF", "ext"], folder, None) {
        let cases: [(&[&str], _); 3] = [
            (&["ext", "image"], "an e2image metadata image"),
            (&["-Q", "ext", "image"], "a QCOW2 image"),
            (&["-r", "ext", "image"], Family::Ext.described()),
        ];
        for (arguments, expected) in cases {
            let _ = fs::remove_file(folder.join("image"));
            if ran("e2image", arguments, folder, None) {
                assert_eq!(
                    kind(&folder.join("image")),
                    expected,
                    "e2image {arguments:?}"
                );
            }
        }
    }
    sparse(folder, "xfs", 400 << 20);
    if ran("mkfs.xfs", &["-qf", "xfs"], folder, None)
        && ran("xfs_metadump", &["xfs", "dump"], folder, None)
    {
        assert_eq!(kind(&folder.join("dump")), "an xfs_metadump image");
    }
    sparse(folder, "ocfs2", 400 << 20);
    let local = ["-qx", "-M", "local", "--fs-features=local", "-F", "ocfs2"];
    if ran("mkfs.ocfs2", &local, folder, None) && ran("o2image", &["ocfs2", "o2"], folder, None) {
        assert_eq!(kind(&folder.join("o2")), "an o2image metadata image");
    }
}

#[test]
fn partitions_made_by_sfdisk_are_found_with_their_offsets() {
    let Some(sfdisk) = program("sfdisk") else {
        testkit::skip!("needs sfdisk");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = sparse(folder.path(), "x", 256 << 20);
    for (label, kind, script) in [
        (
            "gpt",
            TableKind::Gpt,
            "start=2048,size=65536,type=U\nstart=67584,size=131072,type=L\n",
        ),
        (
            "dos",
            TableKind::Mbr,
            "start=2048,size=65536,type=c\nstart=67584,size=131072,type=83\n",
        ),
        (
            "dos",
            TableKind::Mbr,
            "start=2048,size=32768,type=c\nstart=34816,type=5\nstart=67584,size=131072,type=83\n",
        ),
    ] {
        let mut child = Command::new(&sfdisk)
            .arg("-q")
            .args(["--wipe", "always"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = format!("label: {label}\n{script}");
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        assert!(child.wait().unwrap().success(), "{input}");
        let Content::Partitioned(table) = content(&path) else {
            panic!("{label}: {:?}", content(&path));
        };
        assert_eq!(table.kind, kind);
        let linux = table.first_linux().unwrap();
        assert_eq!(linux.start, 67584 * 512, "{table:?}");
        assert_eq!(linux.length, 131_072 * 512, "{table:?}");
        assert_eq!(table.partitions[0].start, 1 << 20, "{table:?}");
    }
}

#[test]
fn nothing_and_zeros_are_told_from_data() {
    let zeros = |bytes: &[u8]| identify(bytes).unwrap();
    assert_eq!(zeros(&[]), Content::Empty);
    assert_eq!(zeros(&[0]), Content::Zeros { whole: true });
    assert_eq!(zeros(&vec![0; 100_000]), Content::Zeros { whole: true });
    assert_eq!(zeros(&vec![7; 100_000]), Content::Unknown);
    let mut bytes = vec![0; 3 << 20];
    *bytes.last_mut().unwrap() = 1;
    assert_eq!(zeros(&bytes), Content::Unknown);
    // More than is read: what was not read is not claimed.
    let folder = tempfile::tempdir().unwrap();
    let path = sparse(folder.path(), "x", 200 << 20);
    assert_eq!(content(&path), Content::Zeros { whole: false });
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&[1; 512], (200 << 20) - 512).unwrap();
    assert_eq!(content(&path), Content::Unknown);
}

#[test]
fn text_is_told_from_data() {
    assert_eq!(
        identify(&b"label: gpt\nunit: sectors\n"[..]).unwrap(),
        Content::Text
    );
    // A character is cut where the first 4 KiB end.
    let long = format!("{}\n{}", "x".repeat(4092), "\u{e9}\u{e8}".repeat(9));
    assert_eq!(identify(long.as_bytes()).unwrap(), Content::Text);
    for data in [&b"label\0\n"[..], b"label \xFF\n", b"no line"] {
        assert_eq!(identify(data).unwrap(), Content::Unknown);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_something(
        bytes in prop::collection::vec(any::<u8>(), 0..4096),
        magics in prop::collection::vec((0_usize..70_000, 0_usize..8), 0..4),
    ) {
        const MAGICS: [&[u8]; 8] = [
            b"EFI PART", &[0x55, 0xAA], &[0x53, 0xEF], b"XFSB", b"BZh9", b"LABELONE", b"CD001", b"OCFSV2",
        ];
        let mut whole = bytes.clone();
        whole.resize(70_016, 0);
        for (at, which) in magics {
            whole[at..at + MAGICS[which].len()].copy_from_slice(MAGICS[which]);
        }
        let _ = identify(&whole[..]).unwrap();
        let _ = identify(&bytes[..]).unwrap();
    }
}
