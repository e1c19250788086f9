//! Parameters of fs_mark.

use std::path::{Path, PathBuf};

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::footprint::small_files;
use crate::ranks::MOST_RANKS;
use crate::{Bytes, Footprint, Invalid, Load, Parameters};

/// Most subdirectories of a base directory. The walk over them needs one bit of memory for each.
pub const MOST_DIRECTORIES: u32 = 1 << 24;
/// Most base directories (fs_mark -d).
pub const MOST_BASES: u32 = 64;

/// Parameters of `fill` (fs_mark). Letters in brackets are fs_mark's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "fs_mark's switches, one each"
)]
pub struct FillSpec {
    /// Base directories, created when missing. Process j uses number j modulo their count.
    #[serde(skip)]
    #[arg(
        short = 'd',
        long = "dir",
        value_name = "DIR",
        required = true,
        help = "Base directory (fs_mark -d), repeatable, at most 64"
    )]
    pub dirs: Vec<PathBuf>,
    /// Files of each process and iteration (fs_mark -n).
    #[schemars(title = "number of files", range(min = 1))]
    #[arg(short = 'n', long, default_value_t = 1000, value_name = "N")]
    pub files: u64,
    /// Instead of `files`: the files of all processes and iterations together. `files` is then this
    /// number divided by both, which must leave no remainder.
    #[schemars(title = "number of files", range(min = 1))]
    #[arg(skip)]
    pub total_files: Option<u64>,
    /// Processes (fs_mark -t), 1..=1024: at most the number of base directories, or a multiple of
    /// it.
    #[schemars(title = "process count", range(min = 1, max = 1024))]
    #[arg(
        short = 't',
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Processes (fs_mark -t)"
    )]
    pub processes: u32,
    /// Bytes of a file (fs_mark -s).
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 1_u64 << 50))]
    #[arg(short = 's', long, default_value = "51200")]
    pub size: Bytes,
    /// Instead of `size`: the share of the device that the bytes of all files fill together, so that
    /// files times size stays constant on a device of one size, 0 < share < 1. `size` is then
    /// derived from the device.
    #[schemars(title = "share", extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    #[arg(skip)]
    pub fill_share: Option<f64>,
    /// Bytes of one write (fs_mark -w).
    #[schemars(title = "write size", extend("minimum" = 1, "maximum" = 64 << 20))]
    #[arg(short = 'w', long, default_value = "16k")]
    pub write_size: Bytes,
    /// Base directories (fs_mark -d, repeated), 1..=64; process j uses number j modulo this.
    #[schemars(title = "number of base directories", range(min = 1, max = 64))]
    #[arg(skip = 1_u32)]
    pub bases: u32,
    /// Subdirectories of each base directory (fs_mark -D): 0 for none, else at least 2. With 0 and
    /// `per_directory`, as many as hold a process's files (`files` / `per_directory`, at least 2).
    #[schemars(title = "number of subdirectories")]
    #[arg(
        short = 'D',
        long,
        default_value_t = 0,
        value_name = "N",
        help = "Subdirectories of each base directory (fs_mark -D)"
    )]
    pub directories: u32,
    /// Files of a process in a subdirectory before it moves on (fs_mark -N); 0: 180 s in each.
    #[schemars(title = "files per subdirectory")]
    #[arg(
        short = 'N',
        long,
        default_value_t = 0,
        value_name = "N",
        help = "Files of a process in a subdirectory before it moves on (fs_mark -N)"
    )]
    pub per_directory: u64,
    /// Sync method (fs_mark -S), 0..=6.
    #[schemars(title = "sync method", range(min = 0, max = 6))]
    #[arg(
        short = 'S',
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Sync method (fs_mark -S), 0 to 6"
    )]
    pub sync_method: u8,
    /// Iterations (fs_mark -L).
    #[schemars(title = "number of iterations", range(min = 1))]
    #[arg(
        short = 'L',
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Iterations (fs_mark -L); more than one keeps the files"
    )]
    pub iterations: u32,
    /// Continue until the filesystem is full, which then is the end and no error (fs_mark -F).
    #[arg(short = 'F', long)]
    pub until_full: bool,
    /// Keep the files (fs_mark -k); else each iteration unlinks its own, outside the rate.
    #[arg(short = 'k', long, help = "Keep the files (fs_mark -k)")]
    pub keep: bool,
    /// Characters of a file's name (fs_mark -p), 1..=128.
    #[schemars(title = "name length", range(min = 1, max = 128))]
    #[arg(
        short = 'p',
        long,
        default_value_t = 40,
        value_name = "N",
        help = "Characters of a file's name (fs_mark -p)"
    )]
    pub name_length: u32,
    /// Random characters at the end of a name (fs_mark -r), at most `name_length`.
    #[schemars(title = "random characters", range(min = 1, max = 128))]
    #[arg(
        short = 'r',
        long,
        default_value_t = 24,
        value_name = "N",
        help = "Random characters at the end of a name (fs_mark -r)"
    )]
    pub random_length: u32,
    /// Seed of the names, their time stamps and the first subdirectory (fs_mark: the clock).
    #[serde(skip)]
    #[arg(
        long,
        default_value_t = 2012,
        value_name = "N",
        help = "Seed of the names"
    )]
    pub seed: u64,
    /// How often mkdir is called for the target directory.
    #[serde(skip)]
    #[arg(skip)]
    pub mkdir: Mkdir,
    /// The sync of methods 2, 4 and 6 is `syncfs` of the base directory instead of `sync`, which
    /// waits for every filesystem of the machine.
    #[serde(skip)]
    #[arg(skip)]
    pub sync_target_only: bool,
    /// After each iteration (and before its unlinks) wait for `syncfs` of the base directories:
    /// clock (c). Without it there is no clock (c), as in fs_mark.
    #[serde(skip)]
    #[arg(skip = true)]
    pub settle: bool,
    /// Processes of MPI that run it at the same time (`--executor mpi`), each in a folder of its own.
    #[serde(skip_serializing_if = "crate::ranks::is_one")]
    #[schemars(title = "number of ranks", range(min = 1, max = MOST_RANKS))]
    #[arg(skip = 1_u32)]
    pub ranks: u32,
}

/// How often mkdir is called for the target directory.
///
/// An mkdir of an existing directory changes nothing; its 1 to 2 microseconds (a lookup under the
/// lock of the parent directory) are most of what fs_mark prints as "App Overhead".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mkdir {
    /// When a process moves to a directory, and again if the directory is missing when a file is
    /// created: the files are the same as with `EveryFile`, even if other programs remove them.
    #[default]
    FirstUse,
    /// Before every file, as fs_mark does. Processes that share a base directory then contend for
    /// its lock once more for each file, which is a load of its own.
    EveryFile,
}

/// fs_mark's own defaults: 1000 files of 51,200 bytes by one process, fsync before each close.
impl Default for FillSpec {
    fn default() -> Self {
        FillSpec {
            dirs: Vec::new(),
            files: 1000,
            total_files: None,
            processes: 1,
            size: Bytes(51_200),
            fill_share: None,
            write_size: Bytes(16 * Bytes::KIB),
            bases: 1,
            directories: 0,
            per_directory: 0,
            sync_method: 1,
            iterations: 1,
            until_full: false,
            keep: false,
            name_length: 40,
            random_length: 24,
            seed: 1,
            mkdir: Mkdir::FirstUse,
            sync_target_only: false,
            settle: true,
            ranks: 1,
        }
    }
}

impl FillSpec {
    /// The defaults, with one base directory.
    pub fn new(base: impl Into<PathBuf>) -> FillSpec {
        FillSpec {
            dirs: vec![base.into()],
            ..FillSpec::default()
        }
    }

    /// Base directories: those named, or how many a trial will have.
    fn base_count(&self) -> u32 {
        match self.dirs.len() {
            0 => self.bases,
            named => u32::try_from(named).unwrap_or(u32::MAX),
        }
    }

    /// Processes that will run: at least one for each base directory.
    pub fn effective_processes(&self) -> u32 {
        self.processes.max(self.base_count())
    }

    /// Whether files stay after their iteration.
    pub const fn keeps(&self) -> bool {
        self.keep || self.until_full
    }

    /// Files of all processes in one iteration.
    pub fn files_of_iteration(&self) -> u64 {
        self.files
            .saturating_mul(u64::from(self.effective_processes()))
    }

    /// Files at their most.
    fn files_at_most(&self) -> u64 {
        let kept = if self.keep { self.iterations } else { 1 };
        let each = self.files.saturating_mul(self.processes.into());
        each.saturating_mul(kept.into())
    }

    fn validate_directories(&self) -> Result<(), Invalid> {
        match (self.directories, self.per_directory) {
            (0, 0) => Ok(()),
            (0, files) => {
                let reason = "has no meaning without directories; set directories to 2 or more";
                Err(Invalid::new("per_directory", files, reason))
            }
            (1, _) => {
                let reason = "one subdirectory is not a walk; use 0 for none, or at least 2";
                Err(Invalid::new("directories", 1, reason))
            }
            (count, _) => Invalid::unless_within("directories", count, 2, MOST_DIRECTORIES),
        }
    }

    /// Totals must fit into their counters, and names must not repeat.
    fn validate_totals(&self) -> Result<(), Invalid> {
        let processes = u64::from(self.effective_processes());
        let files = processes
            .checked_mul(self.files)
            .and_then(|n| n.checked_mul(u64::from(self.iterations)));
        let bytes = files.and_then(|n| n.checked_mul(self.size.get()));
        let (Some(files), Some(_)) = (files, bytes) else {
            let reason = "all files together exceed 2^64 bytes or files";
            return Err(Invalid::new("files", self.files, reason));
        };
        if files > distinct_names(self.random_length) {
            let reason = format!(
                "{files} names would repeat; use {} or more",
                random_length_for(files)
            );
            return Err(Invalid::new("random_length", self.random_length, reason));
        }
        Ok(())
    }
}

/// Digits of the random characters: `[0-9A-Z]`.
const NAME_DIGITS: u64 = 36;
/// Random characters that are used to make names distinct, at most: 36^10 names.
pub const DISTINCT_CHARACTERS: u32 = 10;

/// Number of distinct names that `random_length` characters give, at most 36^10.
pub const fn distinct_names(random_length: u32) -> u64 {
    let digits = if random_length < DISTINCT_CHARACTERS {
        random_length
    } else {
        DISTINCT_CHARACTERS
    };
    NAME_DIGITS.pow(digits)
}

/// Random characters that this number of distinct names needs.
pub fn random_length_for(files: u64) -> u32 {
    (1..DISTINCT_CHARACTERS)
        .find(|&length| distinct_names(length) >= files)
        .unwrap_or(DISTINCT_CHARACTERS)
}

impl Parameters for FillSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("ranks", self.ranks, 1, MOST_RANKS)?;
        let bases = self.base_count();
        Invalid::unless_within("bases", bases, 1, MOST_BASES)?;
        Invalid::if_zero("files", self.files)?;
        Invalid::unless_within("processes", self.processes, 1, 1024)?;
        let processes = self.effective_processes();
        if !processes.is_multiple_of(bases) {
            let reason =
                format!("must be at most {bases}, the number of bases, or a multiple of it");
            return Err(Invalid::new("processes", processes, reason));
        }
        let (least, most) = (Bytes(1), Bytes(64 * Bytes::MIB));
        Invalid::unless_within("write_size", self.write_size, least, most)?;
        self.validate_directories()?;
        Invalid::unless_within("sync_method", self.sync_method, 0, 6)?;
        Invalid::if_zero("iterations", self.iterations.into())?;
        Invalid::unless_within("name_length", self.name_length, 1, 128)?;
        if !(1..=self.name_length).contains(&self.random_length) {
            let reason = format!("must be 1..={}, the name_length", self.name_length);
            return Err(Invalid::new("random_length", self.random_length, reason));
        }
        self.validate_totals()
    }

    /// Its base directories are folders of their own, so that nothing else (lost+found) is in them.
    fn place(&mut self, dir: &Path, seed: u64) {
        self.dirs = (0..self.bases)
            .map(|number| dir.join(format!("base-{number}")))
            .collect();
        self.seed = seed;
    }

    fn footprint(&self) -> Footprint {
        let each = self.files as f64 * f64::from(self.processes);
        let files = each * f64::from(self.iterations);
        // fs_mark keeps what an iteration wrote when more follow.
        let keeps = self.keep || self.iterations > 1 || self.until_full;
        let left = if keeps { files } else { each };
        Footprint {
            // With -F the disk sets the end.
            peak: if self.until_full {
                0.0
            } else {
                small_files(left, self.size)
            },
            written: files * self.size.get() as f64,
            files,
            kept: if keeps { files } else { 0.0 },
            syncs: if self.sync_method == 0 { 1.0 } else { files },
            ..Footprint::default()
        }
        .of_ranks(self.ranks)
    }

    fn load(&self) -> Load {
        Load {
            parameter: match self.total_files {
                Some(_) => "total_files",
                None => "files",
            },
            amount: format!("{} files of {}", self.files_at_most(), self.size),
            smaller: "fewer files",
        }
    }

    fn largest_file(&self) -> Option<(&'static str, u64)> {
        Some(("size", self.size.get()))
    }

    fn inodes(&self) -> Option<u64> {
        if self.until_full {
            return None;
        }
        let directories = u64::from(self.bases) * (u64::from(self.directories) + 1);
        let each = self.files_at_most().saturating_add(directories);
        Some(each.saturating_mul(self.ranks.into()))
    }

    fn keeps_files(&self) -> bool {
        self.keeps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut FillSpec)) -> String {
        let mut spec = FillSpec::new("/nowhere");
        change(&mut spec);
        spec.validate().unwrap_err().to_string()
    }

    #[test]
    fn bad_values_are_refused_with_the_option_and_what_is_allowed() {
        assert_eq!(message(|o| o.files = 0), "files = 0: must be at least 1");
        assert_eq!(
            message(|o| o.processes = 1025),
            "processes = 1025: must be 1..=1024"
        );
        assert!(message(|o| o.dirs = vec!["/a".into(); 65]).contains("1..=64"));
        assert!(message(|o| o.write_size = Bytes(65 << 20)).contains("1..=64m"));
        assert!(message(|o| o.directories = 1).contains("at least 2"));
        assert!(message(|o| o.directories = 1 << 25).contains("2..=16777216"));
        assert!(message(|o| o.per_directory = 5).contains("without directories"));
        assert_eq!(
            message(|o| o.sync_method = 7),
            "sync_method = 7: must be 0..=6"
        );
        assert!(message(|o| o.iterations = 0).contains("at least 1"));
        assert!(message(|o| o.name_length = 129).contains("1..=128"));
        assert!(message(|o| o.random_length = 41).contains("1..=40"));
        assert!(message(|o| o.random_length = 0).contains("1..=40"));
        assert!(message(|o| (o.files, o.size) = (1 << 40, Bytes(1 << 40))).contains("2^64"));
        assert_eq!(
            message(|o| (o.files, o.random_length) = (1297, 2)),
            "random_length = 2: 1297 names would repeat; use 3 or more"
        );
    }

    #[test]
    fn processes_are_one_for_each_base_or_a_multiple() {
        let mut spec = FillSpec {
            dirs: vec!["/a".into(), "/b".into(), "/c".into()],
            processes: 2,
            ..FillSpec::default()
        };
        assert_eq!(spec.effective_processes(), 3);
        spec.validate().unwrap();
        spec.processes = 6;
        spec.validate().unwrap();
        spec.processes = 7;
        let error = spec.validate().unwrap_err().to_string();
        assert!(error.contains("a multiple"), "{error}");
        // A study gives their number.
        (spec.dirs, spec.bases) = (Vec::new(), 3);
        assert_eq!(spec.validate().unwrap_err().to_string(), error);
    }

    #[test]
    fn directories_are_inodes_too() {
        let spec = FillSpec {
            files: 1000,
            processes: 3,
            directories: 10,
            keep: true,
            iterations: 2,
            ..FillSpec::default()
        };
        assert_eq!(spec.inodes(), Some(6011));
        let aged = crate::AgeSpec::default();
        assert_eq!(aged.inodes(), Some(105_017_500));
    }
}
