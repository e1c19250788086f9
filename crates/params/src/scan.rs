//! Parameters of the metadata scan of 2011.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fill::MOST_DIRECTORIES;
use crate::{Bytes, FillSpec, Footprint, Invalid, Load, Parameters};

/// What reads the metadata. Only the model has the switches of 2011.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// The model with the switches of 2011.
    #[default]
    Model,
    /// `fslab check`, all its passes, without the page cache.
    Check,
    /// The filesystem's own checker, as run by hand: e2fsck, or fsck.ocfs2 with a cache of at most `cache`.
    Fsck,
}

/// What files there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Population {
    /// Files of one size, as many in each directory, as fs_mark makes them.
    #[default]
    Plain,
    /// The volumes of 2011 (`fslab forge ocfs2 --preset paper-2011`), scaled to `files`: 46 % of the files are in their inodes, 16 are in a
    /// directory, 650 of 96,706 directories are large. `per_directory` and `size` do not apply.
    #[serde(rename = "paper-2011")]
    Paper2011,
}

impl Population {
    /// `plain`, `paper-2011`.
    pub const fn name(self) -> &'static str {
        match self {
            Population::Plain => "plain",
            Population::Paper2011 => "paper-2011",
        }
    }

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_plain(&self) -> bool {
        *self == Population::Plain
    }
}

/// Parameters of `scan`: the experiments of Mushran (2011) with how a checker reads, on ext filesystems and on
/// OCFS2. The filesystem is filled through the kernel as `fill` does it and unmounted, or forged; all its metadata are read
/// once without the page cache by a reader with a cache of its own: block bitmaps or cluster groups (pass 0a), inode bitmaps or inode groups
/// (0b), on OCFS2 extent block groups (0c), inodes (1), directory blocks (2). That reader is a model; the same volume can be read by a whole checker
/// instead, which reads in one way only and has none of the switches. His words for them are in brackets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScanSpec {
    /// The filesystem's mount point.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Seed of the names.
    #[serde(skip)]
    pub seed: u64,
    /// Files in the filesystem.
    #[schemars(title = "number of files", range(min = 1))]
    pub files: u64,
    /// Files in a directory.
    #[schemars(title = "files per directory", range(min = 1))]
    pub per_directory: u64,
    /// What files these are; all but `plain` need `volume = "forged"`.
    #[serde(skip_serializing_if = "Population::is_plain")]
    #[schemars(title = "population")]
    pub population: Population,
    /// What reads the metadata.
    pub reader: Reader,
    /// Bytes of a file.
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 1_u64 << 50))]
    pub size: Bytes,
    /// Read the inode tables already in pass 0b, so that pass 1 finds them in the cache (precache).
    pub precache: bool,
    /// Request the descriptors of all chains at once, not one after the other (prefill).
    pub prefill: bool,
    /// Bytes of inode table that pass 1 reads at once (the buffer of `open_inode_scan`).
    #[schemars(title = "buffer size", extend("minimum" = 1024, "maximum" = 64 << 20))]
    pub scan_buffer: Bytes,
    /// Directory blocks that pass 2 requests together, in ascending order; 1: one by one (readahead).
    #[schemars(title = "number of blocks", range(min = 1, max = 65_536))]
    pub batch: u32,
    /// Size of the reader's cache as a share of all the metadata: below 1 it cannot hold them.
    #[schemars(title = "share of the metadata", range(max = 1000.0), extend("exclusiveMinimum" = 0))]
    pub cache: f64,
    /// Chains of descriptors over which the groups are distributed; the original had 243, of 67 links. With as many chains as groups
    /// prefill has nothing to bring forward. OCFS2 has chains of its own.
    #[schemars(title = "number of chains", range(min = 1, max = 1_048_576))]
    pub chains: u32,
}

impl Default for ScanSpec {
    fn default() -> Self {
        ScanSpec {
            dir: PathBuf::new(),
            seed: 1,
            files: 10_000,
            per_directory: 100,
            population: Population::Plain,
            reader: Reader::Model,
            size: Bytes(0),
            precache: true,
            prefill: false,
            scan_buffer: Bytes(32 * Bytes::KIB),
            batch: 1,
            cache: 0.25,
            chains: 243,
        }
    }
}

impl ScanSpec {
    /// Directories of the population: as many as hold the files, at least 2 (fs_mark's -D).
    pub fn directories(&self) -> u64 {
        self.files.div_ceil(self.per_directory.max(1)).max(2)
    }

    /// What fills the filesystem: one process, so that the layout on disk depends on no race.
    pub fn population(&self) -> FillSpec {
        let mut fill = FillSpec {
            files: self.files,
            processes: 1,
            size: self.size,
            directories: u32::try_from(self.directories()).unwrap_or(u32::MAX),
            per_directory: self.per_directory,
            sync_method: 0,
            keep: true,
            ..FillSpec::default()
        };
        fill.place(&self.dir, self.seed);
        fill
    }
}

impl Parameters for ScanSpec {
    /// Everything that a population of this kind breaks; the reader's own parameters have plain
    /// ranges.
    fn validate(&self) -> Result<(), Invalid> {
        let directories = self.directories();
        if directories > MOST_DIRECTORIES.into() {
            let reason = format!(
                "makes {directories} directories, more than {MOST_DIRECTORIES}; use more files in \
                 each"
            );
            return Err(Invalid::new("per_directory", self.per_directory, reason));
        }
        self.population().validate()
    }

    fn place(&mut self, dir: &Path, seed: u64) {
        dir.clone_into(&mut self.dir);
        self.seed = seed;
    }

    /// That of its population. What the reader reads depends on the filesystem as well.
    fn footprint(&self) -> Footprint {
        self.population().footprint()
    }

    fn load(&self) -> Load {
        Load {
            parameter: "files",
            amount: format!("{} files of {}", self.files, self.size),
            smaller: "fewer files",
        }
    }

    fn largest_file(&self) -> Option<(&'static str, u64)> {
        Some(("size", self.size.get()))
    }

    fn inodes(&self) -> Option<u64> {
        // The base directory that they are in is one more.
        Some(self.files.saturating_add(self.directories() + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_population_holds_the_files_in_their_directories() {
        let spec = ScanSpec {
            files: 1001,
            per_directory: 100,
            ..ScanSpec::default()
        };
        let fill = spec.population();
        assert_eq!(
            (fill.files, fill.directories, fill.per_directory),
            (1001, 11, 100)
        );
        assert!(fill.keep && fill.processes == 1);
        let few = ScanSpec { files: 3, ..spec };
        assert_eq!(few.population().directories, 2);
    }
}
