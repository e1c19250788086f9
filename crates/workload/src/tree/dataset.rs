//! The four working sets: what is created, patched, compiled and cleaned.
//!
//! The originals are listings of Linux 2.6.20 and 2.6.21. They are not part of fslab: give them
//! with `sources`, or take generated sets whose counts and sums are the originals' and whose sizes,
//! directories, depths and names follow the originals' published percentiles. Rates of the two are
//! comparable, not equal; every report names those used.

mod curve;
mod deal;
mod fileset;
mod generate;
mod layout;
mod shapes;
mod sources;

use std::path::Path;

pub use fileset::FileSet;
pub(crate) use fileset::TOP;

use super::random::Random;
use super::sequence::{SEED, STANDARD_SHUFFLE};
use crate::Error;

/// The working sets in path order, the compile set in the order before its shuffle.
#[derive(Clone, Debug)]
struct Sets {
    unpatched: FileSet,
    patch: FileSet,
    compile: FileSet,
    compile_patched: FileSet,
}

/// The working sets, in the order in which a run touches them, except that U, P and C have still to
/// be put into the target's own directory order.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// U: a fresh tree.
    pub unpatched: FileSet,
    /// P: what a patch writes.
    pub patch: FileSet,
    /// UC: what compiling a fresh tree writes. Shuffled.
    pub compile: FileSet,
    /// C: what compiling a patched tree writes, and what a patch writes into a compiled tree.
    pub compile_patched: FileSet,
    /// Draws that the shuffle takes from the run's generator.
    pub shuffle: usize,
    /// One line for reports: where the sets come from.
    pub origin: String,
}

impl Dataset {
    /// Generates the sets from the published shapes. `scale` is the share of files and bytes to
    /// keep, 0 < scale <= 1.
    pub fn generated(scale: f64, seed: u64) -> Dataset {
        let shapes = shapes::published();
        let sets = generate::generate(&shapes, scale, seed);
        let origin = format!(
            "generated from the published shapes of compilebench 0.6 (seed {seed}, scale {scale})"
        );
        Dataset::shuffled(sets, STANDARD_SHUFFLE, origin)
    }

    /// Reads the original four files from `folder`.
    ///
    /// # Errors
    /// A file that is missing or cannot be read, and a line that is not `relative/path size`.
    pub fn read(folder: &Path, scale: f64) -> Result<Dataset, Error> {
        let sets = sources::read(folder, scale)?;
        let shuffle = if scale < 1.0 {
            STANDARD_SHUFFLE
        } else {
            sets.compile.len().saturating_sub(1)
        };
        let origin = format!("read from {} (scale {scale})", folder.display());
        Ok(Dataset::shuffled(sets, shuffle, origin))
    }

    fn shuffled(mut sets: Sets, shuffle: usize, origin: String) -> Dataset {
        let mut order: Vec<u32> = (0..sets.compile.len() as u32).collect();
        Random::new(SEED).shuffle(&mut order);
        sets.compile.reorder(&order);
        Dataset {
            unpatched: sets.unpatched,
            patch: sets.patch,
            compile: sets.compile,
            compile_patched: sets.compile_patched,
            shuffle,
            origin,
        }
    }
}

#[cfg(test)]
mod tests;
