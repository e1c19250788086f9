//! Superblocks as the real mke2fs makes them, and damaged ones.

use std::fs::File;

use proptest::prelude::*;

use ondisk::ext4::superblock::MAGIC;

use super::*;
use crate::superblock::tests::made;

/// An image that the real mkfs made.
fn image(size: u64, program: &str, options: &[&str]) -> File {
    made(program, &[&["-q", "-F"], options].concat(), size)
}

#[test]
fn reads_what_mke2fs_was_told() {
    let options = [
        "-b",
        "2048",
        "-I",
        "512",
        "-N",
        "4096",
        "-m",
        "3",
        "-L",
        "laboratory",
        "-U",
        "01234567-89ab-cdef-0123-456789abcdef",
        "-J",
        "size=8",
        "-E",
        "stride=4,stripe_width=16",
    ];
    let image = image(256 << 20, "mkfs.ext4", &options);
    let superblock = Superblock::read(&image).unwrap();
    let fields = superblock.fields(&image).unwrap();
    let expected = [
        ("block_size", "2048"),
        ("blocks", "131072"),
        ("inode_size", "512"),
        ("inodes", "4096"),
        ("reserved_blocks", "3932"),
        ("label", "laboratory"),
        ("uuid", "01234567-89ab-cdef-0123-456789abcdef"),
        ("journal", "internal"),
        ("journal_bytes", "8388608"),
        ("stride_blocks", "4"),
        ("stripe_width_blocks", "16"),
        ("state", "clean"),
    ];
    for (name, value) in expected {
        assert_eq!(fields[name], value, "{name}");
    }
    assert!(
        fields["features_incompat"]
            .split(' ')
            .any(|f| f == "extent")
    );
    assert!(
        fields["features_compat"]
            .split(' ')
            .any(|f| f == "has_journal")
    );
    assert!(fields["created"].starts_with("20"), "{}", fields["created"]);
}

#[test]
fn the_journal_inode_is_read_when_its_copy_is_gone() {
    let image = image(64 << 20, "mkfs.ext4", &["-J", "size=4"]);
    image.write_all_at(&[0], OFFSET + 0xFD).unwrap();
    let fields = Superblock::read(&image).unwrap().fields(&image).unwrap();
    assert_eq!(fields["journal_bytes"], "4194304");
}

#[test]
fn ext2_has_no_journal_and_no_flags() {
    let image = image(64 << 20, "mkfs.ext2", &[]);
    let superblock = Superblock::read(&image).unwrap();
    assert_eq!(superblock.fields(&image).unwrap()["journal"], "none");
    assert_eq!(superblock.groups_not_zeroed(&image).unwrap(), 0);
}

#[test]
fn lazy_tables_are_counted_with_and_without_meta_bg() {
    for layout in ["^meta_bg,resize_inode", "meta_bg,^resize_inode"] {
        let options = |lazy: &str| {
            vec![
                "-O".to_string(),
                layout.into(),
                "-b".into(),
                "1024".into(),
                "-E".into(),
                format!("nodiscard,lazy_itable_init={lazy}"),
            ]
        };
        let count = |lazy: &str| {
            let options = options(lazy);
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let image = image(512 << 20, "mkfs.ext4", &options);
            let superblock = Superblock::read(&image).unwrap();
            (
                superblock.groups(),
                superblock.groups_not_zeroed(&image).unwrap(),
            )
        };
        assert_eq!(count("0"), (64, 0), "{layout}");
        let (groups, left) = count("1");
        assert_eq!(groups, 64);
        assert!(left >= 60, "{layout}: {left} of {groups}");
    }
}

proptest! {
    #[test]
    fn damage_never_panics(
        noise in proptest::collection::vec(any::<u8>(), 2048),
        kept in 0usize..1024,
    ) {
        let mut bytes = noise;
        bytes[1024 + 0x38..1024 + 0x3A].copy_from_slice(&MAGIC.to_le_bytes());
        // A small filesystem, so that a walk over all groups ends.
        bytes[1024 + 0x4..1024 + 0x8].copy_from_slice(&1000u32.to_le_bytes());
        bytes[1024 + 0x60] &= !0x80;
        bytes[1024 + 0x18..1024 + 0x1C].copy_from_slice(&((kept % 7) as u32).to_le_bytes());
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        if let Ok(superblock) = Superblock::read(&file) {
            let _ = (superblock.fields(&file), superblock.facts(&file));
        }
    }
}
