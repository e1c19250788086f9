//! Fields of inodes.

use ondisk::ocfs2::dinode::BODY;

use super::super::case::Value::{Add, Blocks, Or, Set, Without};
use super::super::case::{At, Base, Case, End, edit, fields};
use super::super::find::Find;

pub(super) static CASES: &[Case] = &[
    fields(
        "inode-suballoc",
        "INODE_SUBALLOC",
        "an inode names the slot of another allocator",
        &[edit(At::Inode(Find::Empty), 0x0c, 2, Set(3))],
    ),
    fields(
        "inode-blkno",
        "INODE_BLKNO",
        "an inode has another block's number",
        &[edit(At::Inode(Find::Empty), 0x50, 8, Set(3))],
    )
    .also(&["INODE_COUNT", "INODE_NOT_CONNECTED"]),
    fields(
        "inode-blkno-range",
        "INODE_BLKNO",
        "an inode's own number is outside the volume",
        &[edit(At::Inode(Find::Empty), 0x50, 8, Blocks(1000))],
    )
    .ends(End::Exit(1)),
    fields(
        "root-notdir",
        "ROOT_NOTDIR",
        "the root is a regular file",
        &[edit(At::Root, 0x28, 2, Set(0x81ed))],
    )
    .also(&["DIRENT_TYPE", "LOSTFOUND_MISSING"])
    .ends(End::Exit(8)),
    fields(
        "inode-nz-dtime",
        "INODE_NZ_DTIME",
        "an inode in use has a time of deletion",
        &[edit(At::Inode(Find::Empty), 0x48, 8, Set(1_300_000_000))],
    ),
    fields(
        "inline-data-flag-invalid",
        "INLINE_DATA_FLAG_INVALID",
        "a file is in its inode, and the volume has no such feature",
        &[edit(At::Inode(Find::Empty), 0x76, 2, Or(1))],
    )
    .also(&["INLINE_DATA_COUNT_INVALID"])
    .on(Base::Old),
    fields(
        "refcount-flag-invalid",
        "REFCOUNT_FLAG_INVALID",
        "a file has shared clusters, and the volume has no such feature",
        &[edit(At::Inode(Find::Empty), 0x76, 2, Or(0x10))],
    )
    .on(Base::Old),
    fields(
        "refcount-loc-invalid",
        "REFCOUNT_LOC_INVALID",
        "a file without shared clusters names a tree of their counts",
        &[edit(At::Inode(Find::Empty), 0x90, 8, Set(100))],
    ),
    fields(
        "inode-size-directory",
        "INODE_SIZE",
        "a directory is larger than its blocks",
        &[edit(At::Inode(Find::Blocks), 0x20, 8, Add(1 << 24))],
    ),
    fields(
        "inode-size",
        "INODE_SIZE",
        "a file is larger than its clusters, on a volume without holes",
        &[edit(At::Inode(Find::File), 0x20, 8, Add(1 << 24))],
    )
    .on(Base::Old),
    fields(
        "inode-clusters",
        "INODE_CLUSTERS",
        "a file counts too many clusters, on a volume without holes",
        &[edit(At::Inode(Find::File), 0x14, 4, Add(1))],
    )
    .on(Base::Old),
    fields(
        "inode-sparse-size",
        "INODE_SPARSE_SIZE",
        "a file ends before its last cluster",
        &[edit(At::Inode(Find::File), 0x20, 8, Set(1))],
    ),
    fields(
        "inode-sparse-clusters",
        "INODE_SPARSE_CLUSTERS",
        "a file counts too many clusters",
        &[edit(At::Inode(Find::File), 0x14, 4, Add(1))],
    ),
    fields(
        "inline-data-count-invalid",
        "INLINE_DATA_COUNT_INVALID",
        "the room of a file in its inode is not the inode's",
        &[edit(At::Inode(Find::Inline), BODY, 2, Add(0xfffc))],
    ),
    fields(
        "inode-inline-size",
        "INODE_INLINE_SIZE",
        "a file in its inode is larger than the room there",
        &[edit(At::Inode(Find::Inline), 0x20, 8, Set(5000))],
    ),
    fields(
        "inode-inline-clusters",
        "INODE_INLINE_CLUSTERS",
        "a file in its inode has clusters",
        &[edit(At::Inode(Find::Inline), 0x14, 4, Set(2))],
    ),
    fields(
        "inode-count",
        "INODE_COUNT",
        "a file has fewer names than links",
        &[edit(At::Inode(Find::Empty), 0x2a, 2, Add(1))],
    ),
    fields(
        "inode-alloc-repair-generation",
        "INODE_ALLOC_REPAIR",
        "an inode in use is another volume's",
        &[edit(At::Inode(Find::Empty), 0x60, 4, Add(1))],
    )
    .also(&["INODE_COUNT"]),
    fields(
        "dir-zero",
        "DIR_ZERO",
        "a directory has no blocks",
        &[
            edit(At::Inode(Find::Blocks), BODY + 4, 2, Set(0)),
            edit(At::Inode(Find::Blocks), 0x14, 4, Set(0)),
        ],
    )
    .also(&[
        "CLUSTER_ALLOC_BIT",
        "DIR_DOTDOT",
        "INODE_COUNT",
        "INODE_NOT_CONNECTED",
    ]),
    fields(
        "dx-tree-missing",
        "DX_TREE_MISSING",
        "a directory with blocks has no index",
        &[
            edit(At::Inode(Find::Indexed), 0x88, 8, Set(0)),
            edit(At::Inode(Find::Indexed), 0x76, 2, Without(8)),
        ],
    ),
    fields(
        "iv-dx-tree",
        "IV_DX_TREE",
        "a directory has an index, and the volume has no such feature",
        &[edit(At::Superblock, 0xe0, 4, Without(0x400))],
    )
    .also(&["CLUSTER_ALLOC_BIT"]),
    fields(
        "dx-tree-corrupt",
        "DX_TREE_CORRUPT",
        "the root of an index is outside the volume",
        &[edit(At::Inode(Find::Indexed), 0x88, 8, Blocks(9))],
    )
    .ends(End::Exit(8)),
];
