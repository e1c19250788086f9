//! Flags, devices, links, encryption, inline content, indexes.

use ondisk::ext4::directory::BlockWriter;
use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::inode::{InodeMut, flag};
use ondisk::ext4::xattr::{self, NewEntry, NewValue};
use ondisk::ext4::{FileType, htree};

use super::fixture::{BLOCK, Fixture};
use crate::ext4::options::Reference;

const FILE: u16 = 0o100_644;
const DIRECTORY: u16 = 0o040_755;
const LINK: u16 = 0o120_777;
const CHAR: u16 = 0o020_600;
const FIFO: u16 = 0o010_600;
const NONE: [&str; 0] = [];

/// One inode; the names of what is found, and whether it is bad and done.
fn one(
    mut fixture: Fixture,
    mode: u16,
    fill: impl FnOnce(&mut InodeMut<'_>),
) -> (Vec<&'static str>, bool, bool) {
    fixture.inode(12, mode, fill);
    let judged = fixture.judge(&[12], None);
    let kind = judged.inodes[0].1;
    let bad = kind.bad || judged.attributes.bad == [12];
    (judged.names(), bad, kind.done)
}

fn flags(inode: &mut InodeMut<'_>, flags: u32) {
    inode.raw().unwrap().i_flags = flags.into();
}

fn put_attribute(inode: &mut InodeMut<'_>, index: u8, name: &[u8], value: &[u8]) {
    let entry = NewEntry {
        index,
        name: name.to_vec(),
        value: NewValue::Here(value.to_vec()),
    };
    xattr::write_inode(&mut inode.bytes()[160..], &[entry]).unwrap();
}

#[test]
fn flags_that_need_a_feature_or_a_kind() {
    let casefold = one(Fixture::new(), FILE, |inode| flags(inode, flag::CASEFOLD)).0;
    assert_eq!(casefold, ["1_CASEFOLD_NONDIR", "1_CASEFOLD_FEATURE"]);
    let folding = || Fixture::new().incompat(Incompat::CASEFOLD);
    let casefold = one(folding(), DIRECTORY, |inode| flags(inode, flag::CASEFOLD)).0;
    assert_eq!(casefold, NONE);
    let value = one(Fixture::new(), DIRECTORY, |inode| {
        flags(inode, flag::EA_INODE);
    })
    .0;
    assert_eq!(value, ["1_EA_INODE_NONREG"]);
}

#[test]
fn inline_content_and_its_attribute() {
    let inline = || Fixture::new().incompat(Incompat::INLINE_DATA);
    let sound = |inode: &mut InodeMut<'_>| {
        flags(inode, flag::INLINE_DATA);
        put_attribute(inode, 7, b"data", b"");
    };
    assert_eq!(one(inline(), FILE, sound).0, NONE);
    let alone = |inode: &mut InodeMut<'_>| flags(inode, flag::INLINE_DATA);
    assert_eq!(one(inline(), FILE, alone).0, ["1_INLINE_DATA_NO_ATTR"]);
    // Without the feature: once more if the content is there.
    assert_eq!(one(Fixture::new(), FILE, alone).0, ["1_INLINE_DATA_SET"]);
    let (names, ..) = one(Fixture::new(), FILE, sound);
    assert_eq!(names, ["1_INLINE_DATA_FEATURE", "1_INLINE_DATA_SET"]);
    let crooked = one(inline(), FILE, |inode| {
        sound(inode);
        inode.extra().unwrap().i_extra_isize = 33.into();
    });
    assert_eq!(crooked.0, ["1_ISCAN_ERROR", "1_EXTRA_ISIZE"]);
}

#[test]
fn content_both_inline_and_by_extents() {
    let both = flag::INLINE_DATA | flag::EXTENTS;
    let fixture = || Fixture::new().incompat(Incompat::INLINE_DATA);
    let tree = one(fixture(), FILE, |inode| {
        flags(inode, both);
        put_attribute(inode, 7, b"data", b"");
        ondisk::ext4::extent::write_leaf(&mut inode.raw().unwrap().i_block, &[]).unwrap();
        inode.set_size(5000).unwrap();
    });
    assert_eq!(
        tree.0,
        [
            "1_CLEAR_INLINE_DATA_FOR_EXTENT",
            "1_CLEAR_EXTENT_INLINE_DATA_INODE"
        ]
    );
    let map = one(fixture(), FILE, |inode| {
        flags(inode, both);
        put_attribute(inode, 7, b"data", b"");
    });
    assert_eq!(
        map.0,
        [
            "1_CLEAR_EXTENT_FOR_INLINE_DATA",
            "1_CLEAR_EXTENT_INLINE_DATA_FLAGS",
            "1_CLEAR_EXTENT_INLINE_DATA_INODE"
        ]
    );
    let device = one(fixture(), CHAR, |inode| {
        flags(inode, both);
        put_attribute(inode, 7, b"data", b"");
    });
    assert_eq!(device.0, ["1_SPECIAL_EXTENTS_IDATA"]);
    assert!(device.1, "a device by extents is none");
}

#[test]
fn devices_and_pipes() {
    assert_eq!(
        one(Fixture::new(), CHAR, |_| {}),
        (NONE.to_vec(), false, false)
    );
    let immutable = one(Fixture::new(), FIFO, |inode| flags(inode, flag::IMMUTABLE));
    assert_eq!(immutable, (vec!["1_SET_IMMUTABLE"], false, false));
    let odd = one(Fixture::new(), FIFO, |inode| {
        flags(inode, flag::APPEND);
        inode.raw().unwrap().i_block[59] = 1;
    });
    assert_eq!(odd, (NONE.to_vec(), true, false));
    let long = one(Fixture::new(), CHAR, |inode| inode.set_size(1).unwrap());
    assert_eq!(long, (vec!["1_SET_NONZSIZE"], false, false));
    let indexed = one(Fixture::new(), CHAR, |inode| {
        flags(inode, flag::INDEX);
    });
    assert!(indexed.1);
    assert_eq!(
        one(Fixture::new(), 0o644, |_| {}),
        (NONE.to_vec(), true, false)
    );
}

#[test]
fn short_links() {
    let short = |size: u64, bytes: &'static [u8]| {
        one(Fixture::new(), LINK, move |inode| {
            inode.raw().unwrap().i_block[..bytes.len()].copy_from_slice(bytes);
            inode.set_size(size).unwrap();
        })
        .1
    };
    assert!(!short(6, b"target"));
    assert!(short(7, b"target"), "shorter than the size");
    assert!(short(5, b"target"), "longer than the size");
    assert!(short(0, b""), "no target");
    assert!(short(1 << 32 | 6, b"target"));
    let tree = one(Fixture::new(), LINK, |inode| {
        flags(inode, flag::EXTENTS);
        inode.raw().unwrap().i_block[..6].copy_from_slice(b"target");
        inode.set_size(6).unwrap();
    });
    assert_eq!(tree, (vec!["1_FAST_SYMLINK_EXTENT_FL"], true, false));
    let secret = one(Fixture::new(), LINK, |inode| {
        flags(inode, flag::ENCRYPT | flag::APPEND);
        inode.raw().unwrap().i_block[..4].copy_from_slice(&[16, 0, 9, 0]);
        inode.set_size(18).unwrap();
    });
    let names = vec!["1_MISSING_ENCRYPTION_XATTR", "1_SET_IMMUTABLE"];
    assert_eq!(secret, (names, false, false));
}

#[test]
fn links_with_a_block() {
    let long = |target: usize, block: u32, size: u64| {
        let mut fixture = Fixture::new();
        fixture.block(200, &vec![b'x'; target]);
        one(fixture, LINK, |inode| {
            let raw = inode.raw().unwrap();
            raw.i_block[..4].copy_from_slice(&block.to_le_bytes());
            raw.i_blocks_lo = 2.into();
            flags(inode, flag::IMMUTABLE);
            inode.set_size(size).unwrap();
        })
    };
    assert_eq!(long(100, 200, 100), (vec!["1_SET_IMMUTABLE"], false, false));
    assert_eq!(long(100, 200, 99), (NONE.to_vec(), true, false));
    assert!(long(100, 0, 100).1 && long(100, 4096, 100).1);
    assert!(!long(BLOCK - 1, 200, BLOCK as u64 - 1).1);
    assert!(long(BLOCK, 200, BLOCK as u64).1, "no zero after it");
    assert!(long(0, 201, 100).1, "a hole");
}

#[test]
fn inline_links_have_no_blocks() {
    let fixture = Fixture::new().incompat(Incompat::INLINE_DATA);
    let inline = one(fixture, LINK, |inode| {
        flags(inode, flag::INLINE_DATA);
        put_attribute(inode, 7, b"data", b"tail");
        inode.set_size(64).unwrap();
    });
    assert_eq!(inline, (NONE.to_vec(), false, true));
    let fixture = Fixture::new().incompat(Incompat::INLINE_DATA);
    let inline = one(fixture, LINK, |inode| {
        flags(inode, flag::INLINE_DATA);
        put_attribute(inode, 7, b"data", b"tail");
        inode.set_size(63).unwrap();
    });
    assert_eq!(inline, (NONE.to_vec(), true, false));
}

#[test]
fn a_short_link_whose_only_block_is_of_a_value() {
    let judge = |reference| {
        let mut fixture = Fixture::new();
        fixture.reference = reference;
        one(fixture, LINK, |inode| {
            flags(inode, flag::EXTENTS);
            let raw = inode.raw().unwrap();
            raw.i_blocks_lo = 2.into();
            raw.i_block[..6].copy_from_slice(b"target");
            inode.set_size(6).unwrap();
        })
        .0
    };
    assert_eq!(judge(Reference::E2fsck1474), ["1_FAST_SYMLINK_EXTENT_FL"]);
    assert_eq!(judge(Reference::E2fsck1470), NONE);
}

#[test]
fn encryption_contexts() {
    let context = |value: &'static [u8]| {
        one(Fixture::new(), DIRECTORY, move |inode| {
            flags(inode, flag::ENCRYPT);
            put_attribute(inode, 9, b"c", value);
        })
        .0
    };
    assert_eq!(context(&[1; 28]), NONE);
    assert_eq!(context(&[2; 40]), NONE);
    assert_eq!(context(&[3]), NONE, "a later version");
    for bad in [&[0_u8; 28][..], &[1; 27], &[2; 28], &[]] {
        assert_eq!(context(bad), ["1_CORRUPT_ENCRYPTION_XATTR"]);
    }
    let mut fixture = Fixture::new();
    for ino in 12..16 {
        fixture.inode(ino, FILE, |inode| {
            flags(inode, flag::ENCRYPT);
            let mut value = [1; 28];
            value[5] = (ino / 14) as u8;
            value[20] = ino as u8;
            put_attribute(inode, 9, b"c", &value);
        });
    }
    let policies = fixture.judge(&[12, 13, 14, 15], None).attributes.policies;
    assert!(policies.of(12).is_some() && policies.of(12) == policies.of(13));
    assert_ne!(policies.of(12), policies.of(14));
    assert_eq!((policies.of(14), policies.of(16)), (policies.of(15), None));
}

#[test]
fn a_context_in_a_block_is_found() {
    let mut fixture = Fixture::new();
    let mut block = vec![0; BLOCK];
    let entry = NewEntry {
        index: 9,
        name: b"c".to_vec(),
        value: NewValue::Here(vec![1; 28]),
    };
    xattr::write_block(&mut block, &[entry], 1, 100, None).unwrap();
    fixture.block(100, &block);
    let found = one(fixture, FILE, |inode| {
        flags(inode, flag::ENCRYPT);
        inode.raw().unwrap().i_file_acl_lo = 100.into();
    });
    assert_eq!(found.0, NONE);
}

#[test]
fn a_directory_with_the_mode_of_a_pipe() {
    let mut fixture = Fixture::new();
    let mut block = vec![0; BLOCK];
    let mut writer = BlockWriter::new(&mut block, BLOCK as u32, false).unwrap();
    for (ino, name) in [(12, &b"."[..]), (2, b"..")] {
        writer
            .push(ino, Some(FileType::Directory), name, None)
            .unwrap();
    }
    writer.finish(None).unwrap();
    fixture.block(300, &block);
    let at_300 = |inode: &mut InodeMut<'_>| {
        inode.raw().unwrap().i_block[..4].copy_from_slice(&300_u32.to_le_bytes());
    };
    fixture.inode(12, FIFO, at_300);
    fixture.inode(13, FIFO, at_300);
    // A device number may look like a block.
    fixture.inode(14, CHAR, at_300);
    let judged = fixture.judge(&[12, 13, 14], None);
    assert_eq!(judged.names(), ["1_TREAT_AS_DIRECTORY"]);
    assert_eq!(
        judged.findings.list[0].place.inode,
        Some(12),
        "`.` names 12"
    );
}

/// An indexed directory whose root is changed by `damage`.
fn root(large: bool, size: u64, damage: impl FnOnce(&mut [u8])) -> Vec<&'static str> {
    let mut fixture = Fixture::new();
    if large {
        fixture = fixture.incompat(Incompat::LARGEDIR);
    }
    let mut block = vec![0; BLOCK];
    let new = htree::NewRoot {
        dot: 12,
        dot_dot: 2,
        hash: ondisk::ext4::hash::HashVersion::from_disk(1, false).unwrap(),
        indirect_levels: 0,
        file_types: true,
    };
    let only = htree::IndexEntry { hash: 0, block: 1 };
    htree::write_root(&mut block, new, &[only], None).unwrap();
    damage(&mut block);
    fixture.block(400, &block);
    fixture.inode(12, DIRECTORY, |inode| {
        flags(inode, flag::INDEX);
        inode.set_size(size).unwrap();
        inode.raw().unwrap().i_blocks_lo = 4.into();
    });
    fixture.judge(&[12], Some(400)).names()
}

#[test]
fn roots_of_indexes() {
    let judge = |at: usize, value: u8| root(false, 2048, move |block| block[at] = value);
    assert_eq!(root(false, 2048, |_| {}), NONE);
    assert_eq!(judge(24, 1), ["1_HTREE_BADROOT"]);
    assert_eq!(judge(29, 7), ["1_HTREE_BADROOT"]);
    assert_eq!(judge(28, 5), ["1_HTREE_HASHV"]);
    assert_eq!(judge(28, 6), ["1_HTREE_CANNOT_SIPHASH"]);
    assert_eq!(judge(31, 1), ["1_HTREE_INCOMPAT"]);
    assert_eq!(judge(30, 2), NONE);
    assert_eq!(judge(30, 3), ["1_HTREE_DEPTH", "2_FEATURE_LARGE_DIRS"]);
    assert_eq!(judge(30, 4).len(), 3, "too deep for any, and for this one");
    assert_eq!(root(true, 2048, |block| block[30] = 3), NONE);
    assert_eq!(root(false, 1 << 31, |_| {}), ["2_FEATURE_LARGE_DIRS"]);
}

#[test]
fn indexes_where_none_can_be() {
    let mut fixture = Fixture::new();
    fixture.sb.s_feature_compat = Compat::EXT_ATTR.0.into();
    fixture.inode(12, FILE, |inode| flags(inode, flag::INDEX));
    let names = fixture.judge(&[12], None).names();
    assert_eq!(names, ["1_HTREE_NODIR", "1_HTREE_SET", "1_HTREE_BADROOT"]);
    let mut fixture = Fixture::new();
    fixture.inode(12, DIRECTORY, |inode| flags(inode, flag::INDEX));
    assert_eq!(
        fixture.judge(&[12], Some(4096)).names(),
        ["1_HTREE_BADROOT"]
    );
    fixture.fails = Some(400);
    assert_eq!(fixture.judge(&[12], Some(400)).names(), ["1_HTREE_BADROOT"]);
    // Both folded and encrypted: hashes are keyed.
    let mut fixture = Fixture::new().incompat(Incompat::CASEFOLD);
    fixture.inode(12, DIRECTORY, |inode| {
        flags(inode, flag::INDEX | flag::CASEFOLD | flag::ENCRYPT);
        put_attribute(inode, 9, b"c", &[1; 28]);
    });
    let mut block = vec![0; BLOCK];
    block[28] = 1;
    block[29] = 8;
    fixture.block(400, &block);
    assert_eq!(
        fixture.judge(&[12], Some(400)).names(),
        ["1_HTREE_NEEDS_SIPHASH"]
    );
}
