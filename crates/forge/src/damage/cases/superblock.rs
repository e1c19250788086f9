//! Damage in the superblock itself.

use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::inode::number::RESIZE;
use ondisk::ext4::superblock::FLAG_TEST_FILESYS;

use super::super::case::{Case, Reference, case};
use super::super::error::missing;
use super::fields;

/// A day and a bit, in seconds, after the end of the year 2037.
const FAR_AWAY: u32 = 2_145_916_800;

pub(super) static CASES: &[Case] = &[
    case(
        "0-fs-size-wrong",
        0x00_0005,
        "ext4-1k",
        "the filesystem is made to end past its device",
        |fs| fs.beyond_the_device().map(drop),
    ),
    case(
        "0-inode-count-wrong",
        0x00_000d,
        "ext2-1k",
        "one inode more than the groups have",
        |fs| {
            let count = fs.geometry().inodes_count() + 1;
            fs.edit_superblocks(|sb| sb.s_inodes_count = count.into())
        },
    ),
    case(
        "0-hurd-clear-filetype",
        0x00_000e,
        "ext2-1k",
        "made by the Hurd, which knows no types in directories",
        |fs| fs.edit_superblock(|sb| sb.s_creator_os = 1.into()),
    )
    .reference(Reference::Silent("it asks this only where it may write")),
    case("0-add-uuid", 0x00_0009, "ext2-1k", "no UUID", |fs| {
        fs.edit_superblock(|sb| sb.s_uuid = [0; 16])
    })
    .reference(Reference::Silent("it asks this only where it may write")),
    case(
        "0-fs-rev-level",
        0x00_001a,
        "ext2-1k",
        "revision 0, which has no features, with features",
        |fs| fs.edit_superblock(|sb| sb.s_rev_level = 0.into()),
    )
    .reference(Reference::Silent("it asks this only where it may write")),
    case(
        "0-nonzero-reserved-gdt-blocks",
        0x00_002e,
        "ext4-1k",
        "blocks reserved for growth without resize_inode",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_compat = sb.compat().without(Compat::RESIZE_INODE).0.into();
            })
        },
    ),
    case(
        "0-clear-resize-inode",
        0x00_002f,
        "ext4-1k",
        "the resize inode in use without resize_inode",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_compat = sb.compat().without(Compat::RESIZE_INODE).0.into();
                sb.s_reserved_gdt_blocks = 0.into();
            })
        },
    ),
    case(
        "0-resize-inode-invalid",
        0x00_0030,
        "ext4-1k",
        "the resize inode is no regular file",
        |fs| fields(fs, RESIZE, |raw| raw.i_mode = 0o040_600.into()),
    ),
    case(
        "0-resize-inode-invalid-links",
        0x00_0030,
        "ext2-1k",
        "the resize inode has no link",
        |fs| fields(fs, RESIZE, |raw| raw.i_links_count = 0.into()),
    ),
    case(
        "0-resize-inode-invalid-map",
        0x00_0030,
        "ext2-1k",
        "the resize inode's double indirect block lists another block",
        |fs| {
            let bytes = fs.inode(RESIZE)?;
            let map = fs.view(&bytes)?.block_words()[13];
            let free = fs.free_block(0)? as u32;
            let index = fs.geometry().desc_blocks() as usize;
            fs.edit_block(map.into(), |words| {
                super::super::case::put32(words, index * 4, free);
            })
        },
    ),
    case(
        "0-clear-testfs-flag",
        0x00_003b,
        "ext4-1k",
        "marked as a test filesystem of ext4's first years",
        |fs| fs.edit_superblock(|sb| sb.s_flags = (sb.s_flags.get() | FLAG_TEST_FILESYS).into()),
    )
    .reference(Reference::Silent("it asks this only where it may write")),
    case(
        "0-dirhash-hint",
        0x00_0034,
        "ext4-1k",
        "nothing says whether names are hashed signed or unsigned",
        |fs| fs.edit_superblock(|sb| sb.s_flags = (sb.s_flags.get() & !3).into()),
    )
    .reference(Reference::Silent("it asks this only where it may write")),
    case(
        "0-future-sb-last-mount",
        0x00_0031,
        "ext4-1k",
        "mounted in the future",
        |fs| fs.edit_superblock(|sb| sb.s_mtime = FAR_AWAY.into()),
    ),
    case(
        "0-future-sb-last-write",
        0x00_0032,
        "ext4-1k",
        "written in the future",
        |fs| fs.edit_superblock(|sb| sb.s_wtime = FAR_AWAY.into()),
    ),
    case(
        "0-meta-and-gdt-csum-set",
        0x00_0046,
        "ext4-1k",
        "uninit_bg beside metadata_csum",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_ro_compat = sb.ro_compat().with(RoCompat::GDT_CSUM).0.into();
            })
        },
    ),
    case(
        "0-64bit-without-extents",
        0x00_0048,
        "ext4-1k",
        "64bit without extents",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().without(Incompat::EXTENTS).0.into();
            })
        },
    ),
    case(
        "0-csum-seed-without-meta-csum",
        0x00_004b,
        "ext2-1k",
        "a stored seed without metadata_csum",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().with(Incompat::CSUM_SEED).0.into();
            })
        },
    ),
    case(
        "0-first-meta-bg-too-big",
        0x00_0049,
        "meta-bg-1k",
        "meta_bg begins after the descriptors",
        |fs| {
            let blocks = fs.geometry().desc_blocks();
            fs.edit_superblocks(|sb| sb.s_first_meta_bg = (blocks + 1).into())
        },
    ),
    case(
        "0-disable-resize-inode",
        0x00_0051,
        "ext4-1k",
        "meta_bg and resize_inode at once",
        |fs| {
            let blocks = fs.geometry().desc_blocks();
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().with(Incompat::META_BG).0.into();
                sb.s_first_meta_bg = blocks.into();
            })
        },
    ),
    case(
        "0-bad-min-extra-isize",
        0x00_004d,
        "ext4-1k",
        "new inodes promise a field that is cut in half",
        |fs| fs.edit_superblock(|sb| sb.s_min_extra_isize = 29.into()),
    ),
    case(
        "0-bad-want-extra-isize",
        0x00_004e,
        "ext4-1k",
        "new inodes want more fields than an inode holds",
        |fs| fs.edit_superblock(|sb| sb.s_want_extra_isize = 300.into()),
    ),
    case(
        "0-invalid-quota-ino",
        0x00_004f,
        "rich-1k",
        "the user quota's inode is the root",
        |fs| fs.edit_superblock(|sb| sb.s_usr_quota_inum = 2.into()),
    ),
    case(
        "0-mmp-invalid-blk",
        0x00_0042,
        "mmp-1k",
        "the MMP block is past the end of the filesystem",
        |fs| {
            let blocks = fs.geometry().blocks_count;
            fs.edit_superblock(|sb| sb.s_mmp_block = (blocks + 9).into())
        },
    ),
    case(
        "0-mmp-invalid-magic",
        0x00_0043,
        "mmp-1k",
        "the MMP block has no magic number",
        |fs| {
            let block = mmp_block(fs)?;
            fs.edit_block(block, |bytes| bytes[0] ^= 1)
        },
    ),
    case(
        "0-mmp-csum-invalid",
        0x00_0047,
        "mmp-1k",
        "the MMP block's checksum is wrong",
        |fs| {
            let block = mmp_block(fs)?;
            fs.edit_block(block, |bytes| bytes[1020] ^= 1)
        },
    ),
    case(
        "0-sb-corrupt",
        0x00_0004,
        "ext2-1k",
        "no superblock has its magic number",
        |fs| fs.edit_superblocks(|sb| sb.s_magic = 0.into()),
    ),
    case(
        "0-misc-corrupt-super",
        0x00_000b,
        "ext2-1k",
        "more blocks reserved for root than there are",
        |fs| {
            let blocks = fs.geometry().blocks_count;
            fs.edit_superblocks(|sb| sb.set_r_blocks_count(blocks + 1))
        },
    ),
    case(
        "0-misc-corrupt-super-inode-size",
        0x00_000b,
        "ext4-1k",
        "reserved inodes end at 5",
        |fs| fs.edit_superblocks(|sb| sb.s_first_ino = 5.into()),
    ),
];

fn mmp_block(fs: &super::Filesystem<'_>) -> Result<u64, super::Error> {
    match fs.superblock().s_mmp_block.get() {
        0 => missing("multiple mount protection"),
        block => Ok(block),
    }
}
