//! mdtest's tree: where its directories are and which items each has.
//!
//! Directories are numbered level by level from 0; the children of number d are d x branch + 1 and the following. Number d is called
//! `mdtest_tree.d`, or `mdtest_tree.R.d` in rank R's own tree, and all are below `test-dir.0-0`.

use std::path::{Path, PathBuf};

use params::MetadataSpec;

use crate::Error;

/// The folder of everything.
pub(super) fn root(spec: &MetadataSpec) -> PathBuf {
    spec.dir.join("test-dir.0-0")
}

/// Refuses a tree that is there before it is made.
pub(super) fn refuse_existing(spec: &MetadataSpec) -> Result<(), Error> {
    let root = root(spec);
    if !spec.steps.contains(&super::Step::Create) || std::fs::symlink_metadata(&root).is_err() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: "a new tree",
        path: root,
        reason: "it is there already; remove it, or name another directory".into(),
    })
}

/// One tree: that of all ranks, or a rank's own.
pub(super) struct Tree<'a> {
    spec: &'a MetadataSpec,
    /// Whose it is.
    owner: Option<u32>,
    /// Directories.
    pub(super) count: u64,
    /// The first directory with items.
    first: u64,
}

impl<'a> Tree<'a> {
    /// The tree in which `rank`'s items are.
    pub(super) fn of(spec: &'a MetadataSpec, rank: u32) -> Tree<'a> {
        let count = spec.tree_directories();
        Tree {
            spec,
            owner: spec.own_directory.then_some(rank),
            count,
            first: count - spec.directories_with_items(),
        }
    }

    fn name(&self, number: u64) -> String {
        match self.owner {
            Some(rank) => format!("mdtest_tree.{rank}.{number}"),
            None => format!("mdtest_tree.{number}"),
        }
    }

    /// The directory of a number.
    pub(super) fn directory(&self, mut number: u64) -> PathBuf {
        let mut names = vec![self.name(number)];
        while number > 0 {
            number = (number - 1) / u64::from(self.spec.branch);
            names.push(self.name(number));
        }
        let mut path = root(self.spec);
        path.extend(names.iter().rev().map(Path::new));
        path
    }

    /// Directories that have items, parents first.
    pub(super) fn with_items(&self) -> impl Iterator<Item = u64> + use<> {
        self.first..self.count
    }

    /// Items of a rank in a directory, by the running number that is in their names.
    pub(super) fn items(&self, directory: u64) -> std::ops::Range<u64> {
        let each = self.spec.each();
        let before = (directory - self.first) * each;
        before..before + each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_and_nested_as_in_mdtest() {
        let spec = MetadataSpec {
            depth: 2,
            branch: 3,
            ..MetadataSpec::new("/d")
        };
        let tree = Tree::of(&spec, 7);
        let path = |number| tree.directory(number).display().to_string();
        assert_eq!(path(0), "/d/test-dir.0-0/mdtest_tree.0");
        assert_eq!(
            path(12),
            "/d/test-dir.0-0/mdtest_tree.0/mdtest_tree.3/mdtest_tree.12"
        );
        assert_eq!((tree.count, tree.items(2)), (13, 152..228));
        let own = MetadataSpec {
            own_directory: true,
            leaf_only: true,
            ..spec
        };
        let tree = Tree::of(&own, 7);
        assert_eq!(
            tree.directory(1).display().to_string(),
            "/d/test-dir.0-0/mdtest_tree.7.0/mdtest_tree.7.1"
        );
        assert_eq!(
            tree.with_items().collect::<Vec<_>>(),
            (4..13).collect::<Vec<_>>()
        );
        assert_eq!(tree.items(4), 0..111);
    }
}
