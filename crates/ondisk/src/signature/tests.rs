//! Identification: by the real programs' files, and on any bytes.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

fn format(path: &Path) -> Option<Format> {
    match content(path) {
        Content::Known(signature) => Some(signature.format),
        _ => None,
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

#[test]
fn filesystems_made_by_mkfs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cases: &[(&str, &[&str], Format)] = &[
        ("mkfs.ext4", &["-qF", "x"], Format::Ext),
        ("mkfs.ext4", &["-qF", "-b", "1024", "x"], Format::Ext),
        ("mkfs.xfs", &["-qf", "x"], Format::Xfs),
        ("mkfs.btrfs", &["-qf", "x"], Format::Btrfs),
        ("mkfs.f2fs", &["-qf", "x"], Format::F2fs),
        (
            "mkfs.ocfs2",
            &["-qx", "-M", "local", "--fs-features=local", "-F", "x"],
            Format::Ocfs2,
        ),
        ("mkswap", &["x"], Format::Swap),
        ("mkfs.vfat", &["x"], Format::Fat),
        ("mkfs.exfat", &["x"], Format::ExFat),
        ("mkfs.ntfs", &["-QqF", "x"], Format::Ntfs),
    ];
    for (name, arguments, expected) in cases {
        let path = sparse(folder, "x", 400 << 20);
        if ran(name, arguments, folder, None) {
            assert_eq!(format(&path), Some(*expected), "{name}");
        }
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
        assert_eq!(format(&path), Some(Format::Ext), "{block}");
        // A new filesystem of another kind counts more than what is left of the old one.
        file.write_all_at(b"XFSB", 0).unwrap();
        assert_eq!(format(&path), Some(Format::Xfs), "{block}");
    }
}

#[test]
fn compressed_files_and_metadata_images_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("text"), vec![b'x'; 100_000]).unwrap();
    let cases: &[(&str, &[&str], Format)] = &[
        ("gzip", &["-c", "text"], Format::Gzip),
        ("xz", &["-c", "text"], Format::Xz),
        ("zstd", &["-qc", "text"], Format::Zstd),
        ("bzip2", &["-c", "text"], Format::Bzip2),
        ("lz4", &["-qc", "text"], Format::Lz4),
        ("tar", &["-c", "text"], Format::Tar),
        ("zip", &["-q", "-", "text"], Format::Zip),
    ];
    for (name, arguments, expected) in cases {
        if ran(name, arguments, folder, Some("out")) {
            assert_eq!(format(&folder.join("out")), Some(*expected), "{name}");
        }
    }
    sparse(folder, "ext", 64 << 20);
    if ran("mkfs.ext4", &["-qF", "ext"], folder, None) {
        let cases: [(&[&str], _); 3] = [
            (&["ext", "image"], Format::E2image),
            (&["-Q", "ext", "image"], Format::Qcow2),
            (&["-r", "ext", "image"], Format::Ext),
        ];
        for (arguments, expected) in cases {
            let _ = fs::remove_file(folder.join("image"));
            if ran("e2image", arguments, folder, None) {
                let found = format(&folder.join("image"));
                assert_eq!(found, Some(expected), "e2image {arguments:?}");
            }
        }
    }
    sparse(folder, "xfs", 400 << 20);
    if ran("mkfs.xfs", &["-qf", "xfs"], folder, None)
        && ran("xfs_metadump", &["xfs", "dump"], folder, None)
    {
        assert_eq!(format(&folder.join("dump")), Some(Format::XfsMetadump));
    }
    sparse(folder, "ocfs2", 400 << 20);
    let local = ["-qx", "-M", "local", "--fs-features=local", "-F", "ocfs2"];
    if ran("mkfs.ocfs2", &local, folder, None) && ran("o2image", &["ocfs2", "o2"], folder, None) {
        assert_eq!(format(&folder.join("o2")), Some(Format::O2image));
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
fn formats_without_a_program_here_are_known_by_their_bytes() {
    let cases: &[(Format, usize, &[u8])] = &[
        (Format::Luks, 0, b"LUKS\xBA\xBE\0\x02"),
        (Format::Lvm, 512, b"LABELONE"),
        (Format::Md, 4096, &0xA92B_4EFC_u32.to_le_bytes()),
        (Format::Squashfs, 0, b"hsqs"),
        (Format::Iso9660, 0x8001, b"CD001"),
        (Format::Vmdk, 0, b"KDMV"),
        (Format::Vdi, 0x40, &0xBEDA_107F_u32.to_le_bytes()),
        (Format::Vhdx, 0, b"vhdxfile"),
        (Format::Zfs, 128 << 10, &0x00BA_B10C_u64.to_le_bytes()),
        (Format::Ntfs, 3, b"NTFS    "),
        (Format::ExFat, 3, b"EXFAT   "),
        (Format::Fat, 0x52, b"FAT32   "),
    ];
    for (expected, offset, magic) in cases {
        let mut bytes = vec![0; 2 << 20];
        bytes[*offset..*offset + magic.len()].copy_from_slice(magic);
        match identify(&bytes[..]).unwrap() {
            Content::Known(found) => assert_eq!(found.format, *expected),
            other => panic!("{expected:?}: {other:?}"),
        }
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
