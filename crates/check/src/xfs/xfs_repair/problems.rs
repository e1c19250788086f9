//! The codes of `xfs_repair -n`.
//!
//! `xfs_repair` has no codes: these are ours. They are stable and never reused. There is one for each warning of xfsprogs 6.1 that
//! is about the filesystem and has a cause of its own. Where one line of `xfs_repair` has several causes (a verifier that refuses a
//! block, "would rebuild directory"), there is a code for each.

mod attributes;
mod blocks;
mod connectivity;
mod directories;
mod forks;
mod free_space;
mod headers;
mod inode_trees;
mod inodes;
mod links;
mod log;
mod mappings;
mod own;
mod superblock;

use crate::frame::problem::Problem;

pub use attributes::*;
pub use blocks::*;
pub use connectivity::*;
pub use directories::*;
pub use forks::*;
pub use free_space::*;
pub use headers::*;
pub use inode_trees::*;
pub use inodes::*;
pub use links::*;
pub use log::*;
pub use mappings::*;
pub use own::*;
pub use superblock::*;

macro_rules! problems {
    ($list:ident: $($constant:ident = $code:literal $pass:literal $name:literal $class:ident $severity:ident $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub static $constant: Problem = Problem {
                code: $code,
                name: $name,
                class: Class::$class,
                severity: Severity::$severity,
                meaning: $meaning,
                pass: &PASSES[$pass],
                rank: $pass,
            };
        )*
        /// These problems, by code.
        pub static $list: &[&Problem] = &[$(&$constant),*];
    };
}
use problems;

/// The first code of what `xfs_repair -n` does not look for.
const FIRST_OWN: u32 = 0x0800;

/// Every problem, by code.
pub fn all() -> impl Iterator<Item = &'static Problem> {
    [
        SUPERBLOCK,
        LOG,
        HEADERS,
        FREE_SPACE,
        MAPPINGS,
        INODE_TREES,
        INODES,
        FORKS,
        ATTRIBUTES,
        DIRECTORIES,
        BLOCKS,
        CONNECTIVITY,
        LINKS,
        OWN,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Whether `xfs_repair -n` does not look for it.
pub(crate) fn is_own(problem: &Problem) -> bool {
    problem.code >= FIRST_OWN
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_ascend_and_names_are_unique() {
        assert!(all().is_sorted_by(|one, next| one.code < next.code));
        let names: BTreeSet<&str> = all().map(|problem| problem.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(all().all(|problem| problem.name.starts_with("XFS-")));
    }
}
