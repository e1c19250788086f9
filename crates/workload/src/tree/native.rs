//! The target's own order of a set: what its directories say when they are read.
//!
//! compilebench writes each set once into a scratch tree, walks it, and deletes it again, so that a
//! tar-like order meets each filesystem: hash-ordered directories (ext3 and ext4 with `dir_index`
//! and their per-filesystem seed, XFS) give every mkfs an order of its own. The scratch tree is
//! written directory by directory; the original's comparison function sorts nearly so (it compares
//! by substrings and is no order, so what Python's sort makes of it is not reproduced).

use std::collections::HashMap;

use super::dataset::FileSet;
use super::worker::{Worker, Writing};
use crate::Error;
use crate::clock::{now_ns, seconds};

/// Puts `set` into the target's order by way of `native-N`. Returns the seconds of writing it, the
/// original's figure.
pub(super) fn order(worker: &mut Worker, set: &mut FileSet, tree: &str) -> Result<f64, Error> {
    worker.begin("native", set.bytes());
    let begin = now_ns();
    worker.write_set(set, tree, Writing::default())?;
    let taken = seconds(begin, now_ns());
    let found = worker.note(tree)?;
    let order = {
        let places: HashMap<&[u8], u32> = set.iter().map(|(path, _)| path).zip(0..).collect();
        let mut order: Vec<u32> = found
            .iter()
            .filter_map(|path| places.get(path.as_slice()).copied())
            .collect();
        // A filesystem that renames (case folding) must not lose files.
        if order.len() != set.len() {
            order = (0..set.len() as u32).collect();
        }
        order
    };
    set.reorder(&order);
    worker.delete(tree)?;
    worker.remove_top(tree)?;
    Ok(taken)
}
