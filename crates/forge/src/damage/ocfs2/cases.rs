//! The cases, by the part of the volume they break.

mod allocators;
mod attributes;
mod directories;
mod discontig;
mod extents;
mod inodes;
mod links;
mod logs;
mod quota;
mod refcounts;
mod strict;

use super::case::Case;

/// All cases in the order of the parts.
pub fn all() -> impl Iterator<Item = &'static Case> {
    [
        allocators::CASES,
        discontig::CASES,
        inodes::CASES,
        logs::CASES,
        extents::CASES,
        attributes::CASES,
        refcounts::CASES,
        directories::CASES,
        links::CASES,
        quota::CASES,
        strict::CASES,
    ]
    .into_iter()
    .flatten()
}
