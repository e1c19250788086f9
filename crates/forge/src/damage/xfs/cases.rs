//! The cases, by the structure they break.

mod attributes;
mod directories;
mod extents;
mod headers;
mod inodes;
mod records;
mod superblock;
mod trees;

use super::case::Case;

/// All cases in the order of the structures.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [
        superblock::CASES,
        headers::CASES,
        trees::CASES,
        records::CASES,
        inodes::CASES,
        extents::CASES,
        attributes::CASES,
        directories::CASES,
    ]
    .into_iter()
    .flatten()
}
