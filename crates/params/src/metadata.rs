//! Parameters of mdtest: ranks that create, stat, read and remove many small files and directories.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::footprint::small_files;
use crate::ranks::MOST_RANKS;
use crate::{Bytes, Footprint, Invalid, Load, Parameters};

/// Parameters of `metadata` (mdtest). Letters in brackets are mdtest's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct MetadataSpec {
    /// Directory on the filesystem under test: the tree is `test-dir.0-0` in it.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "DIR",
        help = "Directory on the filesystem under test"
    )]
    pub dir: PathBuf,
    /// Ranks: processes of MPI (`--executor mpi`), else threads of this process.
    #[schemars(title = "number of ranks", range(min = 1, max = MOST_RANKS))]
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Ranks: threads, or processes with --launcher"
    )]
    pub ranks: u32,
    /// What is made: files, directories, or both one after the other (mdtest -F, -D).
    #[schemars(title = "kind of items")]
    #[arg(
        long,
        value_enum,
        default_value = "both",
        help = "Files (mdtest -F), directories (-D), or both"
    )]
    pub items: Items,
    /// Items of each rank (mdtest -n), the same number in each directory of the tree, rounded down.
    #[schemars(title = "number of items", range(min = 1))]
    #[arg(
        short = 'n',
        long,
        default_value_t = 1000,
        value_name = "N",
        help = "Items of each rank (mdtest -n), rounded down to the same number in each directory"
    )]
    pub files: u64,
    /// Instead of `files`: items of each rank in each directory of the tree (mdtest -I).
    #[schemars(title = "number of items", range(min = 1))]
    #[arg(
        short = 'I',
        long,
        value_name = "N",
        help = "Items of each rank in each directory (mdtest -I), in place of --files"
    )]
    pub per_directory: Option<u64>,
    /// Levels of directories below the first (mdtest -z), 0..=32.
    #[schemars(title = "depth", range(min = 0, max = 32))]
    #[arg(
        short = 'z',
        long,
        default_value_t = 0,
        value_name = "N",
        help = "Levels of directories below the first (mdtest -z)"
    )]
    pub depth: u32,
    /// Subdirectories of each directory of the tree (mdtest -b).
    #[schemars(title = "number of subdirectories", range(min = 1, max = 65536))]
    #[arg(
        short = 'b',
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Subdirectories of each directory (mdtest -b)"
    )]
    pub branch: u32,
    /// Items in the lowest directories alone (mdtest -L).
    #[arg(
        short = 'L',
        long,
        help = "Items in the lowest directories alone (mdtest -L)"
    )]
    pub leaf_only: bool,
    /// A tree for each rank (mdtest -u).
    #[arg(short = 'u', long, help = "A tree for each rank (mdtest -u)")]
    pub own_directory: bool,
    /// Rank r stats what rank r + shift made, reads what r + 2 shift and removes what r + 3 shift
    /// made (mdtest -N); 0: its own.
    #[schemars(title = "number of ranks", range(min = 0, max = MOST_RANKS))]
    #[arg(
        short = 'N',
        long,
        default_value_t = 0,
        value_name = "N",
        help = "Distance of the rank whose items are statted (mdtest -N); twice for reads, three times for removals"
    )]
    pub shift: u32,
    /// Bytes written into each file when it is made (mdtest -w).
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 64 << 20))]
    #[arg(
        short = 'w',
        long,
        default_value = "0",
        help = "Bytes of a file (mdtest -w)"
    )]
    pub write: Bytes,
    /// Bytes read of each file (mdtest -e), at most `write`.
    #[schemars(title = "bytes read", extend("minimum" = 0, "maximum" = 64 << 20))]
    #[arg(
        short = 'e',
        long,
        default_value = "0",
        help = "Bytes read of a file (mdtest -e)"
    )]
    pub read: Bytes,
    /// fsync of each file after its write (mdtest -y).
    #[arg(
        short = 'y',
        long,
        help = "fsync of each file after its write (mdtest -y)"
    )]
    pub fsync: bool,
    /// What is done with the items, each at most once, in mdtest's order: create (mdtest -C), stat
    /// (-T), read (-E), remove (-r).
    #[serde(skip)]
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "create,stat,read,remove",
        value_name = "WORD[,WORD]",
        help = "What is done with the items (mdtest -C, -T, -E, -r)"
    )]
    pub steps: Vec<Step>,
}

/// What is made.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "MetadataItems")]
pub enum Items {
    /// Files alone.
    Files,
    /// Directories alone.
    Directories,
    /// Directories, which are removed again, then files.
    #[default]
    Both,
}

impl Items {
    /// Whether files are made.
    pub const fn files(self) -> bool {
        matches!(self, Items::Files | Items::Both)
    }

    /// Whether directories are made.
    pub const fn directories(self) -> bool {
        matches!(self, Items::Directories | Items::Both)
    }
}

/// What is done with the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// They are made.
    Create,
    /// They are statted.
    Stat,
    /// Files are read.
    Read,
    /// They are removed.
    Remove,
}

impl Step {
    /// All, in mdtest's order.
    pub const ALL: [Step; 4] = [Step::Create, Step::Stat, Step::Read, Step::Remove];
}

/// Files and directories, 1000 of each rank in one directory.
impl Default for MetadataSpec {
    fn default() -> Self {
        MetadataSpec {
            dir: PathBuf::new(),
            ranks: 1,
            items: Items::Both,
            files: 1000,
            per_directory: None,
            depth: 0,
            branch: 1,
            leaf_only: false,
            own_directory: false,
            shift: 0,
            write: Bytes(0),
            read: Bytes(0),
            fsync: false,
            steps: Step::ALL.to_vec(),
        }
    }
}

impl MetadataSpec {
    /// The defaults, in a directory.
    pub fn new(dir: impl Into<PathBuf>) -> MetadataSpec {
        MetadataSpec {
            dir: dir.into(),
            ..MetadataSpec::default()
        }
    }

    /// Directories on level `depth` of a tree, at most 2^64 - 1.
    const fn level(&self, depth: u32) -> u64 {
        (self.branch as u64).saturating_pow(depth)
    }

    /// Directories of a tree: the sum of branch^i, i = 0..depth.
    pub fn tree_directories(&self) -> u64 {
        (0..=self.depth).fold(0_u64, |sum, depth| sum.saturating_add(self.level(depth)))
    }

    /// Directories of a tree that have items.
    pub fn directories_with_items(&self) -> u64 {
        if self.leaf_only {
            self.level(self.depth)
        } else {
            self.tree_directories()
        }
    }

    /// Items of a rank in each directory that has any.
    pub fn each(&self) -> u64 {
        self.per_directory
            .unwrap_or(self.files / self.directories_with_items().max(1))
    }

    /// Items of a rank, of one kind.
    pub fn rank_items(&self) -> u64 {
        self.each().saturating_mul(self.directories_with_items())
    }

    /// Trees.
    pub const fn trees(&self) -> u64 {
        if self.own_directory {
            self.ranks as u64
        } else {
            1
        }
    }

    /// The steps in mdtest's order, each once.
    pub fn steps_in_order(&self) -> Vec<Step> {
        let asked = |step: &Step| self.steps.contains(step);
        Step::ALL.into_iter().filter(asked).collect()
    }

    fn all_items(&self) -> u64 {
        self.rank_items().saturating_mul(self.ranks.into())
    }
}

impl Parameters for MetadataSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("ranks", self.ranks, 1, MOST_RANKS)?;
        Invalid::if_zero("files", self.files)?;
        Invalid::if_zero("per_directory", self.per_directory.unwrap_or(1))?;
        Invalid::unless_within("depth", self.depth, 0, 32)?;
        Invalid::unless_within("branch", self.branch, 1, 65_536)?;
        let most = 1 << 32;
        if self.tree_directories() > most {
            let reason = format!("the tree has more than {most} directories; use a smaller branch");
            return Err(Invalid::new("depth", self.depth, reason));
        }
        if self.each() == 0 {
            let reason = format!(
                "is less than one in each of {} directories",
                self.directories_with_items()
            );
            return Err(Invalid::new("files", self.files, reason));
        }
        if self.all_items() > 1 << 48 {
            return Err(Invalid::new("files", self.files, "more than 2^48 items"));
        }
        let most = Bytes(64 * Bytes::MIB);
        Invalid::unless_within("write", self.write, Bytes(0), most)?;
        if self.read > self.write {
            let reason = format!("is more than a file has; write is {}", self.write);
            return Err(Invalid::new("read", self.read, reason));
        }
        Invalid::unless_within("shift", self.shift, 0, MOST_RANKS)
    }

    fn place(&mut self, dir: &Path, _seed: u64) {
        dir.clone_into(&mut self.dir);
    }

    fn footprint(&self) -> Footprint {
        let items = self.all_items() as f64;
        let kinds = f64::from(u8::from(self.items.files()) + u8::from(self.items.directories()));
        let files = if self.items.files() { items } else { 0.0 };
        Footprint {
            peak: small_files(items, self.write),
            written: files * self.write.get() as f64,
            read: files * self.read.get() as f64,
            // Each is made, statted, read and removed.
            files: 4.0 * kinds * items,
            syncs: if self.fsync { files } else { 2.0 },
            ..Footprint::default()
        }
    }

    fn load(&self) -> Load {
        Load {
            parameter: "files",
            amount: format!("{} ranks x {} items", self.ranks, self.rank_items()),
            smaller: "fewer items",
        }
    }

    fn inodes(&self) -> Option<u64> {
        let trees = self.trees().saturating_mul(self.tree_directories());
        Some(self.all_items().saturating_add(trees).saturating_add(1))
    }

    fn keeps_files(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As mdtest 4.1 counted them with 4 ranks.
    #[test]
    fn items_and_directories_are_those_of_mdtest() {
        let spec = |change: fn(&mut MetadataSpec)| {
            let mut spec = MetadataSpec {
                ranks: 4,
                files: 10,
                ..MetadataSpec::default()
            };
            change(&mut spec);
            spec.validate().unwrap();
            (spec.all_items(), spec.trees() * spec.tree_directories() + 1)
        };
        assert_eq!(spec(|_| ()), (40, 2));
        assert_eq!(spec(|s| s.own_directory = true), (40, 5));
        assert_eq!(
            spec(|s| (s.depth, s.branch, s.per_directory) = (2, 3, Some(5))),
            (260, 14)
        );
        assert_eq!(
            spec(|s| {
                (s.depth, s.branch, s.per_directory) = (2, 3, Some(5));
                s.own_directory = true;
            }),
            (260, 53)
        );
        assert_eq!(
            spec(|s| {
                (s.depth, s.branch, s.per_directory) = (2, 3, Some(5));
                s.leaf_only = true;
            }),
            (180, 14)
        );
        assert_eq!(spec(|s| (s.depth, s.branch, s.files) = (2, 2, 20)), (56, 8));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        let message = |change: fn(&mut MetadataSpec)| {
            let mut spec = MetadataSpec::new("/d");
            change(&mut spec);
            spec.validate().unwrap_err().to_string()
        };
        assert!(message(|s| s.ranks = 0).contains("ranks = 0"));
        assert!(message(|s| (s.depth, s.branch) = (20, 100)).contains("smaller branch"));
        assert!(message(|s| (s.depth, s.branch, s.files) = (2, 10, 7)).contains("each of 111"));
        assert!(message(|s| s.read = Bytes(1)).contains("more than a file has"));
        assert!(message(|s| s.files = u64::MAX).contains("2^48"));
    }
}
