//! Extended attributes.

use super::super::case::Value::{Add, Or, Set};
use super::super::case::{At, Case, edit, row, silent};
use super::super::find::Find;

pub(super) static CASES: &[Case] = &[
    row(
        "xfs-attr-sf-count",
        "XFS-ATTR-SF-COUNT",
        "attributes in an inode are counted wrong",
        "attribute entry count",
        &[edit(At::AttributeFork(Find::LocalAttributes), 2, 1, Add(1))],
    ),
    row(
        "xfs-attr-sf-totsize",
        "XFS-ATTR-SF-TOTSIZE",
        "the size of attributes in an inode is wrong",
        "attribute totsize",
        &[edit(At::AttributeFork(Find::LocalAttributes), 0, 2, Add(4))],
    ),
    row(
        "xfs-attr-sf-name0",
        "XFS-ATTR-SF-NAME0",
        "an attribute in an inode has no name",
        "attr",
        &[edit(At::AttributeFork(Find::LocalAttributes), 4, 1, Set(0))],
    ),
    row(
        "xfs-attr-sf-length",
        "XFS-ATTR-SF-LENGTH",
        "an attribute in an inode ends after the fork",
        "attr",
        &[edit(
            At::AttributeFork(Find::LocalAttributes),
            5,
            1,
            Set(255),
        )],
    ),
    row(
        "xfs-attr-sf-incomplete",
        "XFS-ATTR-SF-INCOMPLETE",
        "an attribute in an inode is incomplete",
        "attr",
        &[edit(
            At::AttributeFork(Find::LocalAttributes),
            6,
            1,
            Or(0x80),
        )],
    ),
    row(
        "xfs-attr-sf-name",
        "XFS-ATTR-SF-NAME",
        "there is a NUL in the name of an attribute",
        "attr",
        &[edit(At::AttributeFork(Find::LocalAttributes), 8, 1, Set(0))],
    ),
    row(
        "xfs-attr-leaf-count",
        "XFS-ATTR-ROOT-BAD",
        "a leaf of attributes counts too many",
        "corrupt block 0 of inode",
        &[edit(At::AttributeLeaf, 56, 2, Set(2000))],
    ),
    row(
        "xfs-attr-leaf-used",
        "XFS-ATTR-LEAF-USED",
        "a leaf of attributes counts the wrong number of bytes",
        "would reset usedbytes",
        &[edit(At::AttributeLeaf, 58, 2, Add(4))],
    ),
    row(
        "xfs-attr-leaf-first",
        "XFS-ATTR-LEAF-FIRST",
        "a leaf of attributes has a wrong first byte",
        "would reset first used",
        &[edit(At::AttributeLeaf, 60, 2, Add(0xfffc))],
    ),
    row(
        "xfs-attr-hash",
        "XFS-ATTR-HASH",
        "the hash of an attribute is not that of its name",
        "bad hashvalue for attribute entry",
        &[edit(At::AttributeEntry(0), 0, 4, Add(1))],
    ),
    row(
        "xfs-attr-leaf-index",
        "XFS-ATTR-ROOT-BAD",
        "an attribute is after the end of its leaf",
        "corrupt block 0 of inode",
        &[edit(At::AttributeEntry(0), 4, 2, Set(0xfff0))],
    ),
    row(
        "xfs-attr-leaf-incomplete",
        "XFS-ATTR-LEAF-INCOMPLETE",
        "an attribute of a leaf is incomplete",
        "INCOMPLETE",
        &[edit(At::AttributeEntry(0), 6, 1, Or(0x80))],
    ),
    row(
        "xfs-attr-owner",
        "XFS-ATTR-OWNER",
        "a leaf of attributes is another inode's",
        "expected owner inode",
        &[edit(At::AttributeLeaf, 48, 8, Add(1))],
    ),
    row(
        "xfs-attr-blkno",
        "XFS-ATTR-ROOT-BAD",
        "a leaf of attributes has another block's number",
        "corrupt block 0 of inode",
        &[edit(At::AttributeLeaf, 16, 8, Add(8))],
    ),
    row(
        "xfs-attr-uuid",
        "XFS-ATTR-ROOT-BAD",
        "a leaf of attributes is another filesystem's",
        "corrupt block 0 of inode",
        &[edit(At::AttributeLeaf, 32, 8, Add(1))],
    ),
    row(
        "xfs-attr-root-links",
        "XFS-ATTR-ROOT-LINKS",
        "a single leaf of attributes has a neighbour",
        "forw/back pointers",
        &[edit(At::AttributeLeaf, 0, 4, Set(3))],
    ),
    row(
        "xfs-attr-root-magic",
        "XFS-ATTR-ROOT-MAGIC",
        "the magic number of a leaf of attributes is wrong",
        "attr",
        &[edit(At::AttributeLeaf, 8, 2, Set(7))],
    ),
    row(
        "xfs-attr-rmt-block",
        "XFS-ATTR-RMT-BLOCK",
        "the block of a value is another inode's",
        "remote",
        &[edit(At::RemoteValue, 16, 8, Add(1))],
    ),
    silent(
        "xfs-attr-leaf-crc",
        "XFS-ATTR-LEAF-CRC",
        "the checksum of a leaf of attributes is wrong",
        &[edit(At::AttributeLeaf, 2000, 4, Set(9))],
    )
    .stale(),
    silent(
        "xfs-attr-flags",
        "XFS-ATTR-FLAGS",
        "an attribute has several namespaces",
        &[edit(At::AttributeEntry(0), 6, 1, Or(6))],
    ),
];
