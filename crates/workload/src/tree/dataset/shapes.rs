//! The published shapes of compilebench's data sets: data/compilebench-shapes.json, with their source.
//!
//! The originals are lists of names and sizes of Linux 2.6.20 and 2.6.21. The shapes are what a
//! filesystem feels of them: how many files, how large, how many in a directory, how deep, how
//! long the names, and how the four sets overlap.

use serde::Deserialize;

/// The whole document.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Shapes {
    /// The four working sets.
    pub(super) sets: Sets,
    /// How they overlap.
    pub(super) relations: Relations,
}

/// The working sets, as workloads.md of compilebench 0.6 reduces its data sets.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sets {
    /// U: a fresh tree.
    pub(super) unpatched: Shape,
    /// P: files that the patch changes or adds.
    pub(super) patch: Shape,
    /// UC: what compiling a fresh tree adds.
    pub(super) compile: Shape,
    /// C: what compiling a patched tree adds or changes.
    pub(super) compile_patched: Shape,
}

/// Files in both sets of a pair, and in one of them only.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Relations {
    /// Files of P that are not in U.
    pub(super) patch_new: usize,
    /// Files of P that are in U with another size: all others.
    #[cfg(test)]
    pub(super) patch_changed: usize,
    /// Files of C that are not in UC.
    pub(super) compile_patched_new: usize,
    /// Files of C that are in UC with another size: all others.
    #[cfg(test)]
    pub(super) compile_patched_changed: usize,
}

/// The shape of one set. Percentiles are linearly interpolated.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Shape {
    /// Number of files.
    pub(super) files: usize,
    /// Sum of their sizes.
    pub(super) bytes: u64,
    /// Files of no bytes.
    pub(super) empty: usize,
    /// Size at percentiles 0, 1 .. 100.
    pub(super) quantiles: Vec<u64>,
    /// (percentile, size) above the 99th.
    pub(super) tail: Vec<(f64, u64)>,
    /// The largest sizes, descending.
    pub(super) top: Vec<u64>,
    /// (bits of the size, files, sum of their sizes).
    pub(super) log2: Vec<(u32, usize, u64)>,
    /// Directories that hold files.
    pub(super) directories: usize,
    /// The same with the directories that only lead to others.
    pub(super) directories_and_parents: usize,
    /// (percentile, files in a directory).
    pub(super) files_per_directory: Vec<(f64, u64)>,
    /// Files by number of slashes in their path.
    pub(super) depth: Vec<usize>,
    /// (percentile, bytes of the file's name).
    pub(super) name_length: Vec<(f64, u64)>,
    /// (extension, files, sum of their sizes); the rest has other extensions.
    pub(super) extensions: Vec<(String, usize, u64)>,
}

/// The embedded document.
///
/// # Panics
/// Never: the document is part of the program and read by a test.
pub(super) fn published() -> Shapes {
    serde_json::from_str(include_str!("../../../data/compilebench-shapes.json"))
        .expect("the embedded shapes are valid JSON of this form")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_shapes_agree_with_themselves() {
        let shapes = published();
        let Sets {
            unpatched,
            patch,
            compile,
            compile_patched,
        } = &shapes.sets;
        for shape in [unpatched, patch, compile, compile_patched] {
            assert_eq!(shape.quantiles.len(), 101);
            assert_eq!(shape.depth.iter().sum::<usize>(), shape.files);
            assert_eq!(shape.log2.iter().map(|b| b.1).sum::<usize>(), shape.files);
            assert_eq!(shape.log2.iter().map(|b| b.2).sum::<u64>(), shape.bytes);
            assert_eq!(shape.top[0], shape.quantiles[100]);
        }
        let r = shapes.relations;
        assert_eq!(r.patch_new + r.patch_changed, patch.files);
        assert_eq!(
            r.compile_patched_new + r.compile_patched_changed,
            compile_patched.files
        );
    }
}
