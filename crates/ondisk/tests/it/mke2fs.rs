//! Filesystems of every feature set that mke2fs makes: all checksums hold, all of dumpe2fs's numbers are found
//! again, and files read back.
use crate::common;

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use common::dumpe2fs::{Dump, dump};
use common::{Image, files, make, walk};
use ondisk::ext4::bitmap::{Bitmap, fill_uninit_block_bitmap};
use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::group_descriptor::{
    BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT, INODE_ZEROED,
};
use ondisk::ext4::{FileType, Geometry, GroupDescriptor, Superblock, directory, inode, symlink};

/// Attributes for the filled filesystems: some in the inode, some in a block.
const ATTRIBUTES: &str = "ea_set /f100 user.one 1\n\
    ea_set /f100 user.two two-two-two\n\
    ea_set /f5k user.long 0123456789012345678901234567890123456789012345678901234567890123456789\
0123456789012345678901234567890123456789012345678901234567890123456789\n\
    ea_set /f5k trusted.t abc\n";

fn check(block_size: usize, blocks: u64, options: &[&str], commands: &str, expect: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let commands = format!("{ATTRIBUTES}{commands}");
    let image = make::filled(dir.path(), block_size, blocks, options, &commands);
    let sb = *image.superblock().unwrap();
    let geometry = Geometry::new(&sb).unwrap();
    assert_eq!(geometry.block_size as usize, block_size);
    let report = walk::walk(&image);
    assert!(
        report.problems.is_empty(),
        "{:#?}",
        &report.problems[..report.problems.len().min(20)]
    );
    for what in expect {
        assert!(
            report.good.contains_key(what),
            "no {what} in {:?}",
            report.good
        );
    }
    compare(&image, &sb, &geometry, &dump(&dir.path().join("image")));
    content(&image, &geometry, &dir.path().join("tree"));
}

fn inclusive(range: std::ops::Range<u64>) -> Option<RangeInclusive<u64>> {
    (!range.is_empty()).then(|| range.start..=range.end - 1)
}

fn compare(image: &Image, sb: &Superblock, geometry: &Geometry, dump: &Dump) {
    header(sb, geometry, dump);
    assert_eq!(dump.groups.len(), geometry.groups as usize);
    for (number, group) in (0..).zip(&dump.groups) {
        let layout = geometry.group_layout(number);
        assert_eq!(
            group.blocks,
            inclusive(layout.blocks.clone()),
            "group {number}"
        );
        assert_eq!(group.superblock, layout.superblock, "group {number}");
        assert_eq!(
            group.descriptors,
            inclusive(layout.descriptors.clone()),
            "group {number}"
        );
        assert_eq!(
            group.reserved,
            inclusive(layout.reserved_gdt.clone()),
            "group {number}"
        );
        let bytes = image.descriptor(geometry, number).unwrap();
        let desc = GroupDescriptor::read(bytes, geometry.desc_size).unwrap();
        let way = DescriptorChecksum::of(sb);
        let sum = way.verify(number, bytes).map(|sum| u64::from(sum.computed));
        assert_eq!(group.checksum, sum, "group {number}");
        assert_eq!(group.block_bitmap, desc.block_bitmap());
        assert_eq!(group.inode_bitmap, desc.inode_bitmap());
        if sb.has_ro_compat(RoCompat::METADATA_CSUM) {
            assert_eq!(
                group.block_bitmap_csum,
                Some(desc.block_bitmap_csum().into())
            );
            assert_eq!(
                group.inode_bitmap_csum,
                Some(desc.inode_bitmap_csum().into())
            );
        }
        let table = desc.inode_table();
        let table = inclusive(table..table + u64::from(geometry.inode_table_blocks()));
        assert_eq!(group.inode_table, table);
        assert_eq!(
            group.free_blocks,
            u64::from(desc.free_blocks()),
            "group {number}"
        );
        assert_eq!(
            group.free_inodes,
            u64::from(desc.free_inodes()),
            "group {number}"
        );
        assert_eq!(
            group.directories,
            u64::from(desc.used_dirs()),
            "group {number}"
        );
        assert_eq!(
            group.unused_inodes,
            u64::from(desc.itable_unused()),
            "group {number}"
        );
        if way.allows_uninit() {
            for (name, flag) in [
                ("INODE_UNINIT", INODE_UNINIT),
                ("BLOCK_UNINIT", BLOCK_UNINIT),
                ("ITABLE_ZEROED", INODE_ZEROED),
            ] {
                let printed = group.flags.iter().any(|flag| flag == name);
                assert_eq!(printed, desc.has_flags(flag), "{name} of group {number}");
            }
        }
        free_lists(image, geometry, number, &desc, group, way.allows_uninit());
        let mut written = bytes.to_vec();
        desc.write(&mut written).unwrap();
        way.seal(number, &mut written);
        assert_eq!(written, bytes, "a descriptor is written as it was read");
    }
}

fn free_lists(
    image: &Image,
    geometry: &Geometry,
    number: u32,
    desc: &GroupDescriptor,
    group: &common::dumpe2fs::Group,
    uninit: bool,
) {
    let mut block = image.block(geometry, desc.block_bitmap()).unwrap().to_vec();
    if uninit && desc.has_flags(BLOCK_UNINIT) {
        fill_uninit_block_bitmap(geometry, number, desc, &mut block);
    }
    let map = Bitmap::new(&block, geometry.group_clusters(number)).unwrap();
    let first = geometry.group_first_block(number);
    let cluster = u64::from(geometry.cluster_blocks);
    let free: Vec<_> = map
        .runs(false)
        .map(|run| {
            first + u64::from(run.start) * cluster..=first + u64::from(run.end - 1) * cluster
        })
        .collect();
    assert_eq!(group.free_block_list, free, "group {number}");
    let mut inodes = image.block(geometry, desc.inode_bitmap()).unwrap().to_vec();
    if uninit && desc.has_flags(INODE_UNINIT) {
        inodes.fill(0);
    }
    let map = Bitmap::new(&inodes, geometry.inodes_per_group).unwrap();
    let free: Vec<_> = map
        .runs(false)
        .map(|run| {
            let number = |index| u64::from(geometry.inode_number(number, index).unwrap());
            number(run.start)..=number(run.end - 1)
        })
        .collect();
    assert_eq!(group.free_inode_list, free, "group {number}");
}

fn header(sb: &Superblock, geometry: &Geometry, dump: &Dump) {
    let text = |key: &str| dump.header.get(key).map(String::as_str);
    let number = |key: &str| text(key).map(|value| value.parse::<u64>().unwrap());
    for (key, value) in [
        ("Inode count", geometry.inodes_count().into()),
        ("Block count", geometry.blocks_count),
        ("Reserved block count", sb.r_blocks_count()),
        ("Free blocks", sb.free_blocks_count()),
        ("Free inodes", sb.s_free_inodes_count.get().into()),
        ("First block", geometry.first_data_block.into()),
        ("Block size", geometry.block_size.into()),
        ("Blocks per group", geometry.blocks_per_group.into()),
        ("Inodes per group", geometry.inodes_per_group.into()),
        (
            "Inode blocks per group",
            geometry.inode_table_blocks().into(),
        ),
        ("First inode", sb.first_ino().into()),
        ("Inode size", geometry.inode_size.into()),
    ] {
        assert_eq!(number(key), Some(value), "{key}");
    }
    for (key, value) in [
        (
            "Reserved GDT blocks",
            u64::from(geometry.reserved_gdt_blocks),
        ),
        ("Flex block group size", geometry.groups_per_flex.into()),
        ("Group descriptor size", geometry.desc_size.into()),
        ("Clusters per group", geometry.clusters_per_group.into()),
        ("First meta block group", geometry.first_meta_bg.into()),
        ("Required extra isize", sb.s_min_extra_isize.get().into()),
    ] {
        if let Some(printed) = number(key) {
            assert_eq!(printed, value, "{key}");
        }
    }
    let names: Vec<&str> = sb
        .compat()
        .names()
        .chain(sb.incompat().names())
        .chain(sb.ro_compat().names())
        .collect();
    let printed: Vec<&str> = text("Filesystem features")
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(names, printed);
    if let Some(sum) = sb.checksum() {
        assert_eq!(
            text("Checksum"),
            Some(format!("{:#010x}", sum.computed).as_str())
        );
    }
    assert_eq!(text("Default directory hash"), Some("half_md4"));
    let hash = sb.default_hash_version().unwrap();
    assert!(
        matches!(hash, ondisk::ext4::hash::HashVersion::HalfMd4),
        "{hash:?}"
    );
}

/// Files, links and devices read back through our maps.
fn content(image: &Image, geometry: &Geometry, source: &Path) {
    let root = image.inode(geometry, inode::number::ROOT).unwrap();
    let find = |name: &str| {
        let entry = names(image, geometry, &root)
            .into_iter()
            .find(|(known, _)| known == name.as_bytes());
        image
            .inode(geometry, entry.unwrap_or_else(|| panic!("no {name}")).1)
            .unwrap()
    };
    for name in ["f0", "f100", "f150", "f5k", "f300k", "fragments"] {
        let read = files::content(image, geometry, &find(name));
        assert!(
            read == fs::read(source.join(name)).unwrap(),
            "{name} differs"
        );
    }
    let target = symlink::target(&find("short"));
    let ends = match &target {
        Ok(symlink::Target::Here(first, second)) => [*first, *second].concat(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ends, b"f100");
    assert_eq!(
        files_link(image, geometry, &find("long")),
        "x/".repeat(45).as_bytes()
    );
    assert_eq!(find("pipe").file_type(), Some(FileType::Fifo));
    let device = find("char").device();
    assert_eq!((device.major, device.minor), (259, 4660));
    let device = find("block").device();
    assert_eq!((device.major, device.minor), (8, 1));
    assert_eq!(
        names(image, geometry, &find("names")).len(),
        make::NAMES + 2
    );
}

fn files_link(image: &Image, geometry: &Geometry, inode: &ondisk::ext4::Inode<'_>) -> Vec<u8> {
    match symlink::target(inode).unwrap() {
        symlink::Target::Here(first, second) => [first, second].concat(),
        symlink::Target::Block => files::content(image, geometry, inode),
        symlink::Target::None => panic!("no link"),
    }
}

/// The names of a directory with their inodes; with inline ones the two dots are counted too.
fn names(
    image: &Image,
    geometry: &Geometry,
    inode: &ondisk::ext4::Inode<'_>,
) -> Vec<(Vec<u8>, u32)> {
    if inode.has_flags(inode::flag::INLINE_DATA) {
        let data = ondisk::ext4::inline::InlineData::read(inode)
            .unwrap()
            .unwrap();
        return data
            .areas(geometry.block_size)
            .into_iter()
            .flatten()
            .map(Result::unwrap)
            .filter(|entry| entry.inode != 0)
            .map(|entry| (entry.name.to_vec(), entry.inode))
            .collect();
    }
    files::map(image, geometry, inode, None)
        .data
        .into_iter()
        .flat_map(|(_, place, _)| {
            let bytes = image.block(geometry, place).unwrap();
            directory::entries(bytes, geometry.block_size)
                .map(Result::unwrap)
                .filter(|entry| entry.inode != 0)
                .map(|entry| (entry.name.to_vec(), entry.inode))
                .collect::<Vec<_>>()
        })
        .collect()
}

const CSUM: &[&str] = &[
    "superblock",
    "backup superblock",
    "descriptor",
    "block bitmap",
    "inode bitmap",
    "inode",
    "extent node",
    "directory leaf",
    "index block",
    "name hash",
    "xattr block",
    "xattr entry hash",
    "journal",
];
const PLAIN: &[&str] = &[
    "free clusters",
    "free inodes",
    "i_blocks",
    "index root",
    "name hash",
    "directory entry",
];
const KIB: u64 = 1024;
/// Twelve groups with 1 KiB blocks, the last of them short.
const BLOCKS_1K: u64 = 96 * KIB + 333;

macro_rules! sets {
    ($($name:ident: $block:expr, $blocks:expr, [$($option:expr),*], $commands:expr, $expect:expr;)+) => {$(
        #[test]
        fn $name() {
            check($block, $blocks, &[$($option),*], $commands, $expect);
        }
    )+};
}

sets! {
    ext2_1k: 1024, BLOCKS_1K, ["-t", "ext2"], "", PLAIN;
    ext2_inodes_of_128_bytes: 1024, BLOCKS_1K, ["-t", "ext2", "-I", "128"], "", PLAIN;
    ext3_2k: 2048, 60 * KIB + 99, ["-t", "ext3"], "", &["journal", "i_blocks", "name hash"];
    every_group_has_a_backup: 1024, BLOCKS_1K, ["-t", "ext3", "-O", "^sparse_super,^resize_inode"], "", PLAIN;
    ext4_1k: 1024, BLOCKS_1K, ["-t", "ext4"], "", CSUM;
    ext4_2k: 2048, 60 * KIB + 99, ["-t", "ext4"], "", CSUM;
    ext4_4k: 4096, 25 * KIB + 7, ["-t", "ext4", "-g", "2048"], "", CSUM;
    ext4_8k: 8192, 16 * KIB + 5, ["-t", "ext4", "-g", "2048"], "", CSUM;
    ext4_16k: 16384, 8 * KIB + 3, ["-t", "ext4", "-g", "1024"], "", CSUM;
    ext4_32k: 32768, 8 * KIB + 1, ["-t", "ext4", "-g", "1024"], "", CSUM;
    ext4_64k: 65536, 4099, ["-t", "ext4", "-g", "1024"], "", CSUM;
    uninit_bg: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "^metadata_csum,uninit_bg"], "", &["descriptor", "name hash"];
    uninit_bg_32bit: 4096, 25 * KIB, ["-t", "ext4", "-g", "2048", "-O", "^metadata_csum,^64bit,uninit_bg"], "",
        &["descriptor"];
    csum_32bit: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "^64bit"], "", CSUM;
    no_flex_bg: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "^flex_bg"], "", CSUM;
    meta_bg: 1024, BLOCKS_1K * 3, ["-t", "ext4", "-O", "meta_bg,^resize_inode"], "", CSUM;
    bigalloc: 4096, 200 * KIB, ["-t", "ext4", "-O", "bigalloc", "-C", "16384"], "",
        &["superblock", "block bitmap", "extent node", "i_blocks"];
    bigalloc_1k: 1024, 128 * KIB, ["-t", "ext4", "-O", "bigalloc,^resize_inode", "-C", "4096"], "",
        &["superblock", "block bitmap", "extent node", "i_blocks"];
    sparse_super2: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "sparse_super2,^resize_inode"], "", CSUM;
    csum_seed: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "metadata_csum_seed"], "", CSUM;
    inline_data: 4096, 25 * KIB, ["-t", "ext4", "-g", "8192", "-O", "inline_data"], "", &["inline entry", "inode"];
    inodes_of_1024_bytes: 4096, 25 * KIB, ["-t", "ext4", "-I", "1024"], "", &["inode", "directory leaf"];
    inodes_of_128_bytes: 4096, 25 * KIB, ["-t", "ext4", "-I", "128"], "", &["inode", "xattr block"];
    quota_and_project: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "quota,project"], "", &["quota file"];
    mmp: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "mmp"], "", &["MMP block"];
    orphan_file: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "orphan_file"], "", &["orphan block"];
    fast_commit: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "fast_commit"], "", CSUM;
    value_inodes: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "ea_inode"], "ea_set -f /usr/sbin/mke2fs /f5k user.bigger\n",
        &["value inode hash", "xattr entry hash of inode"];
    large_dir: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "large_dir"], "", CSUM;
    casefold: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "casefold"], "sif /names flags 0x40080000\n", CSUM;
    encrypt_and_verity: 1024, BLOCKS_1K, ["-t", "ext4", "-O", "encrypt,verity,stable_inodes"], "", CSUM;
}
