//! Orphan files and quota files that were changed by hand, with e2fsck as the judge.

use blockio::Ram;
use ondisk::ext4::feature::{Compat, RoCompat};
use ondisk::ext4::quota::{BLOCK, Kind};
use ondisk::ext4::{Inode, orphan};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::P6_ORPHAN_FILE_CORRUPTED;
use crate::ext4::oracle::{debugfs, e2fsck, made, options, own, primary, superblock};
use crate::ext4::post::run;
use crate::ext4::volume::Volume;
use crate::ext4::{pass0, pass1};
use crate::frame::log::Findings;

fn ours(image: &[u8]) -> Findings {
    let ram = Ram::new(image);
    let volume = pass0::open(&ram, &options(), &own(), &mut Log::new(1)).unwrap();
    let state = pass1::run(&volume, &mut Log::new(1)).unwrap();
    let mut log = Log::new(100);
    run(&volume, &state, &mut log).unwrap();
    log.finish()
}

fn same(name: &str, image: &[u8]) -> Vec<u32> {
    let reference = e2fsck(image);
    let findings = ours(image);
    let codes: Vec<u32> = findings
        .list
        .iter()
        .map(|finding| finding.problem.code)
        .collect();
    assert_eq!(
        codes,
        reference.of(&[6]),
        "{name}: {reference:x?}\n{findings:#?}"
    );
    codes
}

/// Places of the blocks of a file, in bytes, and the seed of its checksums.
fn blocks(image: &[u8], ino: u32) -> Vec<usize> {
    let ram = Ram::new(image);
    let volume: Volume<'_> = pass0::open(&ram, &options(), &own(), &mut Log::new(1)).unwrap();
    let slot = volume.read_slot(ino).unwrap();
    let inode = Inode::read(&slot, volume.geometry.inode_size).unwrap();
    let map = volume.map(&inode);
    (0..map.without_hole())
        .map(|logical| map.block(logical).unwrap() as usize * volume.block_size())
        .collect()
}

#[test]
fn orphan_files() {
    for features in ["orphan_file", "orphan_file,^metadata_csum"] {
        let base = made(&["-t", "ext4", "-b", "1024", "-O", features], 20_000);
        let ino = primary(&base).s_orphan_file_inum.get();
        assert!(same("clean", &base).is_empty());
        let places = blocks(&base, ino);
        let mut image = base.clone();
        superblock(&mut image, 1024, |sb| {
            sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::ORPHAN_PRESENT).0.into();
        });
        assert_eq!(same("present and empty", &image), [0x06_000d]);
        for (name, at, value) in [("entry", 0, 12), ("magic", 1016, 1), ("checksum", 1020, 1)] {
            let mut image = base.clone();
            image[places[1] + at] ^= value;
            assert_eq!(same(name, &image), [0x06_000c, 0x06_0009], "{features}");
        }
        // The entry and its checksum are right, but the file should have none.
        let mut image = base.clone();
        let seed = primary(&image).metadata_seed();
        let slot = Ram::new(&base);
        let volume = pass0::open(&slot, &options(), &own(), &mut Log::new(1)).unwrap();
        let bytes = volume.read_slot(ino).unwrap();
        let inode = Inode::read(&bytes, volume.geometry.inode_size).unwrap();
        let seed = seed.map(|seed| inode.seed(seed, ino));
        let block = (places[0] / 1024) as u64;
        orphan::write(
            &mut image[places[0]..places[0] + 1024],
            &[12, 13],
            block,
            seed,
        )
        .unwrap();
        assert_eq!(same("entries", &image), [0x06_000c, 0x06_0009]);
        let mut image = base.clone();
        superblock(&mut image, 1024, |sb| {
            sb.s_feature_compat = sb.compat().without(Compat::HAS_JOURNAL).0.into();
        });
        assert_eq!(same("no journal", &image), [0x06_0007]);
        let image = debugfs(&base, &format!("sif <{ino}> size 33000"));
        assert_eq!(same("size", &image), [0x06_000f, 0x06_0009]);
        let image = debugfs(&base, &format!("punch <{ino}> 2 3"));
        // The reference walks over holes between extents.
        let findings = ours(&image);
        let beyond = &findings.list.last().unwrap();
        assert!(beyond.beyond_reference && beyond.problem == &P6_ORPHAN_FILE_CORRUPTED);
    }
    let mut image = made(&["-t", "ext4", "-b", "1024"], 8000);
    superblock(&mut image, 1024, |sb| {
        sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::ORPHAN_PRESENT).0.into();
    });
    assert_eq!(same("present without file", &image), [0x06_000e]);
}

#[test]
fn quota_files() {
    let features = "quota,project";
    let base = made(
        &["-t", "ext4", "-b", "1024", "-I", "256", "-O", features],
        20_000,
    );
    assert!(same("clean", &base).is_empty());
    let sb = primary(&base);
    let kinds = [
        (Kind::User, sb.s_usr_quota_inum.get()),
        (Kind::Group, sb.s_grp_quota_inum.get()),
        (Kind::Project, sb.s_prj_quota_inum.get()),
    ];
    for (kind, ino) in kinds {
        let places = blocks(&base, ino);
        assert_eq!(
            places.len(),
            6,
            "two headers, four levels, a leaf: {kind:?}"
        );
        // Usage of space and of inodes, the version, the tree.
        for (block, offset) in [(5, 16 + 48), (5, 16 + 24), (0, 4), (2, 0), (3, 8)] {
            let mut image = base.clone();
            image[places[block] + offset] ^= 7;
            assert_eq!(
                same(&format!("{kind:?} {block} {offset}"), &image),
                [0x06_0002]
            );
        }
        assert_eq!(BLOCK, 1024);
        // The header's fields about the file: blocks, the first free one, the first with a free entry.
        for (offset, value) in [(20, 7_u32), (24, 6), (28, 796)] {
            let mut image = base.clone();
            image[places[0] + offset..][..4].copy_from_slice(&value.to_le_bytes());
            assert_eq!(
                same(&format!("{kind:?} header {offset}"), &image),
                [0x06_0002]
            );
        }
        let long = debugfs(&base, &format!("sif <{ino}> size 4294967295\n"));
        assert_eq!(same("size", &long), [0x06_0002]);
        // A memory limit is no fault of the filesystem.
        let mut image = base.clone();
        image[places[5] + 16 + 8] = 100;
        assert!(same("limit", &image).is_empty());
    }
    pointers_that_lead_back(&base, sb.s_usr_quota_inum.get());
    let used = debugfs(&base, "write /etc/hostname name\nsif name uid 1000\n");
    assert_eq!(same("an owner more", &used), [0x06_0002; 3]);
}

/// The reference goes by depth alone: it reads a block again, as a node of the next level, and at the last as entries.
fn pointers_that_lead_back(base: &[u8], ino: u32) {
    let places = blocks(base, ino);
    // A pointer at `offset` in one block of the tree leads to another one.
    for (from, offset, to, wrong) in [
        // As a leaf the root has its pointer where no entry is.
        (4, 36, 1, false),
        (1, 8, 1, false),
        (2, 12, 1, false),
        (3, 8, 2, false),
        // Here the pointer itself is read as an entry.
        (1, 36, 1, true),
        (4, 0, 4, true),
    ] {
        let name = format!("{from} at {offset} leads to {to}");
        let mut image = base.to_vec();
        image[places[from] + offset..][..4].copy_from_slice(&(to as u32).to_le_bytes());
        let reference = e2fsck(&image).of(&[6]);
        assert_eq!(reference.is_empty(), !wrong, "{name}: {reference:x?}");
        let findings = ours(&image);
        let found: Vec<_> = findings.list.iter().collect();
        assert_eq!(found.len(), 1, "{name}: {findings:#?}");
        assert_eq!(found[0].problem.code, 0x06_0002);
        assert_eq!(found[0].beyond_reference, !wrong, "{name}: {findings:#?}");
    }
}
