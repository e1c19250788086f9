//! Records, keys and pointers of the btrees of allocation groups.

use super::super::case::Value::{Add, Or, Set};
use super::super::case::{At, Base, Case, edit, row, silent};
use ondisk::xfs::btree::Tree;

pub(super) static CASES: &[Case] = &[
    row(
        "xfs-bno-start",
        "XFS-FSBT-START",
        "a free extent begins after the end of the group",
        "invalid start block",
        &[edit(At::Record(Tree::Bno, 2), 0, 4, Set(0xfff0))],
    ),
    row(
        "xfs-bno-length",
        "XFS-FSBT-LENGTH",
        "a free extent has no blocks",
        "invalid length",
        &[edit(At::Record(Tree::Bno, 2), 4, 4, Set(0))],
    ),
    row(
        "xfs-bno-order",
        "XFS-BNO-ORDER",
        "free extents of a leaf are not ascending",
        "out-of-order bno btree record",
        &[edit(At::Record(Tree::Bno, 2), 0, 4, Set(10))],
    ),
    row(
        "xfs-bno-multiple",
        "XFS-FSBT-MULTIPLE",
        "a free extent covers the free list",
        "multiply claimed by bno space tree",
        &[edit(At::Record(Tree::Bno, 2), 0, 4, Set(9))],
    ),
    row(
        "xfs-bno-covers-file",
        "XFS-EXT-FREE",
        "a free extent covers a block of a file",
        "claims free block",
        &[edit(At::Record(Tree::Bno, 2), 4, 4, Add(1))],
    ),
    row(
        "xfs-cnt-start",
        "XFS-FSBT-START",
        "a free extent of the tree by size begins after the end of the group",
        "invalid start block",
        &[edit(At::Record(Tree::Cnt, 2), 0, 4, Set(0xfff0))],
    ),
    row(
        "xfs-cnt-length",
        "XFS-FSBT-LENGTH",
        "a free extent of the tree by size has no blocks",
        "invalid length",
        &[edit(At::Record(Tree::Cnt, 2), 4, 4, Set(0))],
    ),
    row(
        "xfs-cnt-order",
        "XFS-CNT-ORDER",
        "lengths of the tree by size are not ascending",
        "out-of-order cnt btree record",
        &[edit(At::Record(Tree::Cnt, 2), 4, 4, Set(100))],
    ),
    row(
        "xfs-bno-pointer",
        "XFS-FSBT-POINTER",
        "a pointer of the tree by block is outside the group",
        "bad btree pointer",
        &[edit(At::Pointer(Tree::Bno, 0), 0, 4, Set(0xffff_fff0))],
    ),
    row(
        "xfs-cnt-pointer",
        "XFS-FSBT-POINTER",
        "a pointer of the tree by size is outside the group",
        "bad btree pointer",
        &[edit(At::Pointer(Tree::Cnt, 0), 0, 4, Set(0xffff_fff0))],
    ),
    silent(
        "xfs-agbt-key",
        "XFS-AGBT-KEY",
        "a key of the tree by block is not that of its child",
        &[edit(At::Root(Tree::Bno), 64, 4, Add(1))],
    ),
    silent(
        "xfs-agbt-sibling",
        "XFS-AGBT-SIBLING",
        "a leaf does not know its right neighbour",
        &[edit(At::Leaf(Tree::Bno), 12, 4, Set(0xffff_ffff))],
    ),
    row(
        "xfs-inobt-align",
        "XFS-INOBT-ALIGN",
        "a chunk begins inside a block",
        "badly aligned inobt rec",
        &[edit(At::Record(Tree::Ino, 1), 0, 4, Add(3))],
    ),
    row(
        "xfs-inobt-start",
        "XFS-INOBT-START",
        "a chunk begins outside the group",
        "inode",
        &[edit(At::Record(Tree::Ino, 1), 0, 4, Set(0xffff_ff00))],
    ),
    row(
        "xfs-inobt-freecount",
        "XFS-INOBT-FREECOUNT",
        "the number of free inodes of a chunk is wrong",
        "ir_freecount/free mismatch",
        &[edit(At::Record(Tree::Ino, 1), 7, 1, Add(1))],
    ),
    row(
        "xfs-inobt-count",
        "XFS-INOBT-COUNT",
        "the number of inodes of a chunk is wrong",
        "invalid inode count",
        &[edit(At::Record(Tree::Ino, 1), 6, 1, Set(32))],
    ),
    row(
        "xfs-inobt-order",
        "XFS-INOBT-ORDER",
        "chunks of a leaf are not ascending",
        "out-of-order ino btree record",
        &[edit(At::Record(Tree::Ino, 2), 0, 4, Set(0x40))],
    ),
    row(
        "xfs-inobt-chunk-claimed",
        "XFS-INOBT-CHUNK-CLAIMED",
        "a chunk has the blocks of another",
        "ino",
        &[edit(At::Record(Tree::Ino, 2), 0, 4, Add(0xffff_ffc0))],
    ),
    row(
        "xfs-inobt-mask",
        "XFS-IMAP-USED-FREE",
        "an inode in use is free in its chunk",
        "imap claims",
        &[edit(At::Record(Tree::Ino, 1), 8, 8, Or(1))],
    ),
    row(
        "xfs-finobt-freecount",
        "XFS-FINOBT-FREECOUNT",
        "the number of free inodes of a chunk with free ones is wrong",
        "finobt ir_freecount/free mismatch",
        &[edit(At::Record(Tree::Fino, 0), 7, 1, Add(1))],
    ),
    row(
        "xfs-finobt-align",
        "XFS-INOBT-ALIGN",
        "a chunk with free inodes begins inside a chunk",
        "badly aligned finobt rec",
        &[edit(At::Record(Tree::Fino, 0), 0, 4, Add(8))],
    ),
    row(
        "xfs-finobt-full",
        "XFS-FINOBT-FULL",
        "a chunk with free inodes has none",
        "finobt record with no free inodes",
        &[
            edit(At::Record(Tree::Fino, 0), 7, 1, Set(0)),
            edit(At::Record(Tree::Fino, 0), 8, 8, Set(0)),
        ],
    ),
    row(
        "xfs-rmap-start",
        "XFS-RMAP-START",
        "a reverse mapping begins outside the group",
        "invalid start block",
        &[edit(At::Record(Tree::Rmap, 40), 0, 4, Set(0xffff_fff0))],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-length",
        "XFS-RMAP-LENGTH",
        "a reverse mapping has no blocks",
        "invalid length",
        &[edit(At::Record(Tree::Rmap, 40), 4, 4, Set(0))],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-rec-owner",
        "XFS-RMAP-OWNER",
        "a reverse mapping has an impossible owner",
        "invalid owner in rmap btree record",
        &[edit(
            At::Record(Tree::Rmap, 40),
            8,
            8,
            Set(0xffff_ffff_ffff_fff0),
        )],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-flags",
        "XFS-RMAP-FLAGS",
        "a reverse mapping has unknown flags",
        "invalid flags in record",
        &[edit(
            At::Record(Tree::Rmap, 40),
            16,
            8,
            Or(0x0400_0000_0000_0000),
        )],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-order",
        "XFS-RMAP-ORDER",
        "reverse mappings of a leaf are not ascending",
        "out-of-order rmap btree record",
        &[edit(At::Record(Tree::Rmap, 40), 0, 4, Set(2))],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-meta-offset",
        "XFS-RMAP-META-OFFSET",
        "a block of the log has an offset in a file",
        "cannot have non-inode owner with offset",
        &[edit(
            At::Record(Tree::Rmap, 40),
            8,
            8,
            Set(0xffff_ffff_ffff_fffc),
        )],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-missing",
        "XFS-RMAP-MISSING",
        "a reverse mapping has the inode of another",
        "reverse-mapping",
        &[edit(At::Record(Tree::Rmap, 40), 8, 8, Add(1))],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-high-key",
        "XFS-RMAP-HIGH-KEY",
        "a high key is below the end of its subtree",
        "greater than high key of block",
        &[edit(At::Root(Tree::Rmap), 76, 4, Set(5))],
    )
    .on(Base::Mapped),
    row(
        "xfs-rmap-pointer",
        "XFS-RMAP-POINTER",
        "a pointer of the reverse mappings is outside the group",
        "bad btree pointer",
        &[edit(At::Pointer(Tree::Rmap, 0), 0, 4, Set(0xffff_fff0))],
    )
    .on(Base::Mapped),
    silent(
        "xfs-refc-extra",
        "XFS-REFC-EXTRA",
        "blocks that nothing shares are counted",
        &[
            edit(At::Leaf(Tree::Refcount), 6, 2, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 0, 4, Set(5000)),
            edit(At::Record(Tree::Refcount, 0), 4, 4, Set(2)),
            edit(At::Record(Tree::Refcount, 0), 8, 4, Set(2)),
        ],
    ),
    row(
        "xfs-refc-one",
        "XFS-REFC-ONE",
        "blocks with one owner are counted",
        "leftover CoW extent has invalid startblock",
        &[
            edit(At::Leaf(Tree::Refcount), 6, 2, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 0, 4, Set(5000)),
            edit(At::Record(Tree::Refcount, 0), 4, 4, Set(2)),
            edit(At::Record(Tree::Refcount, 0), 8, 4, Set(1)),
        ],
    ),
    row(
        "xfs-refc-count",
        "XFS-REFC-COUNT",
        "blocks with no owner are counted",
        "invalid reference count",
        &[
            edit(At::Leaf(Tree::Refcount), 6, 2, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 0, 4, Set(5000)),
            edit(At::Record(Tree::Refcount, 0), 4, 4, Set(2)),
            edit(At::Record(Tree::Refcount, 0), 8, 4, Set(0)),
        ],
    ),
    row(
        "xfs-refc-start",
        "XFS-REFC-START",
        "shared blocks begin outside the group",
        "invalid start block",
        &[
            edit(At::Leaf(Tree::Refcount), 6, 2, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 0, 4, Set(0x7fff_fff0)),
            edit(At::Record(Tree::Refcount, 0), 4, 4, Set(2)),
            edit(At::Record(Tree::Refcount, 0), 8, 4, Set(2)),
        ],
    ),
    row(
        "xfs-refc-length",
        "XFS-REFC-LENGTH",
        "shared blocks have no length",
        "invalid length",
        &[
            edit(At::Leaf(Tree::Refcount), 6, 2, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 0, 4, Set(5000)),
            edit(At::Record(Tree::Refcount, 0), 4, 4, Set(0)),
            edit(At::Record(Tree::Refcount, 0), 8, 4, Set(2)),
        ],
    ),
    row(
        "xfs-refc-cow-claimed",
        "XFS-REFC-COW-CLAIMED",
        "a staging extent has blocks that are free",
        "claimed, state is",
        &[
            edit(At::Leaf(Tree::Refcount), 6, 2, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 0, 4, Set(0x8000_61a8)),
            edit(At::Record(Tree::Refcount, 0), 4, 4, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 8, 4, Set(1)),
        ],
    ),
    row(
        "xfs-refc-cow-count",
        "XFS-REFC-COW-COUNT",
        "a staging extent has two owners",
        "leftover CoW extent has incorrect refcount",
        &[
            edit(At::Leaf(Tree::Refcount), 6, 2, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 0, 4, Set(0x8000_1388)),
            edit(At::Record(Tree::Refcount, 0), 4, 4, Set(1)),
            edit(At::Record(Tree::Refcount, 0), 8, 4, Set(2)),
        ],
    ),
];
