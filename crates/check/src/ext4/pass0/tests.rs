//! Each case is a filesystem that mke2fs made and a change to it. e2fsck and this pass must find the same before pass 1, in the same
//! order.

mod journal;
mod superblocks;

use std::sync::OnceLock;

use blockio::Ram;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};
use ondisk::ext4::mmp::Mmp;
use ondisk::ext4::{GroupDescriptor, Superblock};
use zerocopy::FromBytes;

use super::super::oracle::{debugfs, descriptor, e2fsck, made, options, own, primary, superblock};
use super::{check, open};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{P0_CLEAR_TESTFS_FLAG, P0_HURD_CLEAR_FILETYPE};
use crate::ext4::e2fsck::verdicts;
use crate::ext4::options::Options as Own;
use crate::ext4::options::Reference;
use crate::frame::log::Findings;
use crate::frame::options::Options;

/// Two groups, all features of today.
fn two() -> Vec<u8> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE
        .get_or_init(|| made(&["-t", "ext4", "-b", "1024"], 16 << 10))
        .clone()
}

/// One group, so no backup.
fn one() -> Vec<u8> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE
        .get_or_init(|| made(&["-t", "ext4", "-b", "1024"], 8000))
        .clone()
}

/// No checksum, no flex_bg.
fn old() -> Vec<u8> {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    let features = "^64bit,^metadata_csum,^flex_bg";
    IMAGE
        .get_or_init(|| made(&["-t", "ext4", "-b", "1024", "-O", features], 16 << 10))
        .clone()
}

fn ours(image: &[u8], own: &Own) -> Findings {
    ours_with(image, &options(), own)
}

/// The same with other options.
fn ours_with(image: &[u8], options: &Options, own: &Own) -> Findings {
    let ram = Ram::new(image);
    let mut log = Log::new(100);
    if let Ok(volume) = open(&ram, options, own, &mut log) {
        check(&volume, &mut log);
    }
    log.finish()
}

/// Codes as e2fsck logs them: not those it does not look for, nothing after where it stops, and not the code it ends
/// by when it ends in the middle of the superblock.
fn as_logged(findings: &Findings) -> Vec<u32> {
    let mut codes = Vec::new();
    for finding in findings
        .list
        .iter()
        .filter(|finding| !finding.beyond_reference)
    {
        codes.push(finding.problem.code);
        if finding.reference_stops {
            break;
        }
    }
    without_ends(codes)
}

/// The last code is logged or not by how the program ends.
fn without_ends(mut codes: Vec<u32>) -> Vec<u32> {
    codes.retain(|code| !matches!(code, 0x04 | 0x08 | 0x0b | 0x10 | 0x11));
    codes
}

fn same(name: &str, image: &[u8]) {
    let reference = e2fsck(image);
    let findings = ours(image, &own());
    let codes = as_logged(&findings);
    let expected = without_ends(reference.of(&[0]));
    // A finding after the one that stops it is reported as well, where it explains more.
    let cut = codes.len().min(expected.len());
    assert_eq!(
        codes[..cut],
        expected[..cut],
        "{name}: {reference:x?}\n{findings:#?}"
    );
    let exit = i32::from(
        verdicts(&findings, Reference::E2fsck1470)
            .reference
            .unwrap()
            .exit_code,
    );
    assert_eq!(
        exit >= 8,
        reference.exit >= 8 && reference.of(&[1, 2, 3, 4, 5, 6]).is_empty(),
        "{name}: {reference:x?}\n{findings:#?}"
    );
    if exit >= 8 {
        assert_eq!(
            exit, reference.exit,
            "{name}: {reference:x?}\n{findings:#?}"
        );
    } else {
        assert_eq!(codes, expected, "{name}: {reference:x?}\n{findings:#?}");
    }
}

#[test]
fn sound_filesystems_have_no_findings() {
    let kinds: [(&[&str], u32); 9] = [
        (&["-t", "ext2", "-b", "1024"], 9000),
        (&["-t", "ext3", "-b", "1024"], 20_000),
        (&["-t", "ext4", "-b", "2048"], 70_000),
        (
            &["-t", "ext4", "-b", "4096", "-O", "meta_bg,^resize_inode"],
            200_000,
        ),
        (&["-t", "ext4", "-b", "1024", "-O", "bigalloc"], 60_000),
        (
            &[
                "-t",
                "ext4",
                "-b",
                "1024",
                "-O",
                "bigalloc,^64bit",
                "-C",
                "8192",
            ],
            60_000,
        ),
        (
            &["-t", "ext4", "-b", "4096", "-O", "mmp,quota,project"],
            64_000,
        ),
        (
            &[
                "-t",
                "ext4",
                "-b",
                "1024",
                "-O",
                "sparse_super2,^metadata_csum,uninit_bg",
            ],
            60_000,
        ),
        (&["-t", "ext4", "-b", "65536", "-O", "orphan_file"], 200_000),
    ];
    for (options, kib) in kinds {
        let image = made(options, kib);
        let findings = ours(&image, &own());
        assert!(findings.list.is_empty(), "{options:?}: {findings:#?}");
        same(&format!("{options:?}"), &image);
    }
}

#[test]
fn descriptors() {
    type Edit = fn(&mut GroupDescriptor);
    let cases: &[(&str, u32, Edit)] = &[
        ("block bitmap outside", 1, |d| d.set_block_bitmap(9_999_999)),
        ("block bitmap nowhere", 1, |d| d.set_block_bitmap(0)),
        ("inode bitmap outside", 0, |d| d.set_inode_bitmap(9_999_999)),
        ("inode bitmap twice", 0, |d| {
            d.set_inode_bitmap(d.block_bitmap());
        }),
        ("table at the end", 1, |d| d.set_inode_table(16_300)),
        ("table in the superblock", 1, |d| d.set_inode_table(1)),
        ("unused", 1, |d| d.set_itable_unused(3000)),
        ("unused and few free", 0, |d| d.set_free_inodes(3)),
        ("last never written", 1, |d| {
            d.raw.bg_flags = (BLOCK_UNINIT | INODE_UNINIT).into();
        }),
        ("never written", 0, |d| d.raw.bg_flags = INODE_UNINIT.into()),
        ("block 0", 0, |d| d.set_block_bitmap(0)),
    ];
    for (base, image) in [("two", two()), ("one", one()), ("old", old())] {
        for (name, group, edit) in cases {
            if *group == 1 && base == "one" {
                continue;
            }
            let mut image = image.clone();
            descriptor(&mut image, *group, edit);
            same(&format!("{base}: {name}"), &image);
        }
    }
    let mut image = two();
    image[2 * 1024 + 30] ^= 1;
    same("checksum", &image);
    image[2 * 1024 + 64 + 12] ^= 1;
    same("two checksums", &image);
}

#[test]
fn resize_inodes() {
    for (base, image) in [("two", two()), ("old", old())] {
        for command in [
            "sif <7> block[0] 33",
            "sif <7> block[DIND] 0",
            "sif <7> block[DIND] 999999",
            "sif <7> links_count 0",
            "sif <7> mode 0",
            "clri <7>",
        ] {
            same(&format!("{base}: {command}"), &debugfs(&image, command));
        }
        // The first reserved block and the last, which e2fsck does not come to.
        let ram = Ram::new(&image);
        let mut log = Log::new(1);
        let volume = open(&ram, &options(), &own(), &mut log).unwrap();
        let reserved: Vec<u64> = volume
            .geometry
            .reserved_gdt_map()
            .map(|r| r.block)
            .collect();
        for block in [reserved[0], reserved[5], *reserved.last().unwrap()] {
            let mut image = image.clone();
            image[block as usize * 1024] ^= 1;
            same(&format!("{base}: reserved block {block}"), &image);
            assert_eq!(ours(&image, &own()).list.len(), 1, "all are followed");
        }
    }
}

#[test]
fn multiple_mount_protection() {
    type Edit = fn(&mut Mmp);
    let image = made(&["-t", "ext4", "-b", "1024", "-O", "mmp"], 8000);
    let block = primary(&image).s_mmp_block.get() as usize;
    let cases: &[(&str, Edit)] = &[
        ("magic", |mmp| mmp.mmp_magic = 5.into()),
        ("checksum", |mmp| mmp.mmp_checksum = 5.into()),
        ("fsck", |mmp| mmp.mmp_seq = 0xe24d_4d50.into()),
        ("unknown", |mmp| mmp.mmp_seq = 0xf000_0000.into()),
        ("mounted", |mmp| mmp.mmp_seq = 77.into()),
    ];
    for (name, edit) in cases {
        let mut image = image.clone();
        let seed = primary(&image).metadata_seed().unwrap();
        let (mmp, _) = Mmp::mut_from_prefix(&mut image[block * 1024..]).unwrap();
        edit(mmp);
        if *name != "checksum" {
            mmp.mmp_checksum = mmp.checksum(seed).computed.into();
        }
        same(name, &image);
    }
}

#[test]
fn what_the_reference_only_looks_at_when_it_writes() {
    let mut image = two();
    superblock(&mut image, 1024, |sb| {
        sb.s_flags = (sb.s_flags.get() | 4).into();
        sb.s_creator_os = 1.into();
    });
    let findings = ours(&image, &own());
    let problems: Vec<_> = findings
        .list
        .iter()
        .map(|finding| finding.problem)
        .collect();
    assert_eq!(problems, [&P0_CLEAR_TESTFS_FLAG, &P0_HURD_CLEAR_FILETYPE]);
    assert!(findings.list.iter().all(|finding| finding.beyond_reference));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 400, ..Default::default() })]

    /// Whatever is in the superblock, the descriptors and the journal: the check ends without a panic.
    #[test]
    fn no_bytes_make_it_panic(
        flips in proptest::collection::vec((0_usize..3000, proptest::prelude::any::<u8>()), 1..12),
        sealed: bool,
    ) {
        let mut image = one();
        for (at, value) in flips {
            image[1024 + at] = value;
        }
        if sealed && let Ok(sb) = Superblock::read_mut(&mut image[1024..]) {
            sb.seal();
        }
        let _ = ours(&image, &own());
    }
}
