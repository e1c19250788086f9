//! Extended attributes.

use super::super::case::Value::{Add, Set};
use super::super::case::{At, Case, edit, fields};
use super::super::find::Find;

/// The header in a block of attributes, and its first entry.
const HEADER: usize = 0x30;
const ENTRY: usize = HEADER + 16;
/// The same at the end of an inode of 4 KiB with 256 bytes of attributes.
const INODE_ENTRY: usize = 4096 - 256 + 16;

pub(super) static CASES: &[Case] = &[
    fields(
        "xattr-count-invalid",
        "XATTR_COUNT_INVALID",
        "a block has fewer attributes than its header says",
        &[edit(At::AttributeBlock, HEADER, 2, Add(5))],
    ),
    fields(
        "xattr-name-offset-invalid",
        "XATTR_NAME_OFFSET_INVALID",
        "an attribute's name is outside the block",
        &[edit(At::AttributeBlock, ENTRY + 4, 2, Set(9000))],
    ),
    fields(
        "xattr-entry-invalid",
        "XATTR_ENTRY_INVALID",
        "the name of an attribute is over the next attribute's entry",
        &[edit(At::AttributeBlock, ENTRY + 4, 2, Set(32))],
    )
    .also(&["XATTR_HASH_INVALID"]),
    fields(
        "xattr-location-invalid",
        "XATTR_LOCATION_INVALID",
        "the entry of a short value leads to clusters",
        &[edit(At::AttributeBlock, ENTRY + 7, 1, Set(4))],
    ),
    fields(
        "xattr-location-invalid-long",
        "XATTR_LOCATION_INVALID",
        "a value beside its name is longer than it may be",
        &[edit(At::AttributeBlock, ENTRY + 8, 8, Set(81))],
    ),
    fields(
        "xattr-value-invalid",
        "XATTR_VALUE_INVALID",
        "a value leaves the block",
        &[edit(At::AttributeBlock, ENTRY + 8, 8, Set(80))],
    ),
    fields(
        "xattr-hash-invalid",
        "XATTR_HASH_INVALID",
        "an attribute has another name's hash",
        &[edit(At::AttributeBlock, ENTRY, 4, Add(1))],
    ),
    fields(
        "xattr-hash-invalid-inode",
        "XATTR_HASH_INVALID",
        "an attribute in an inode has another name's hash",
        &[edit(At::Inode(Find::Note), INODE_ENTRY, 4, Add(1))],
    ),
];
