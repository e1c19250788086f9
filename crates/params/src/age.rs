//! Parameters of the ageing of Layton and Newman.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fill::{MOST_BASES, MOST_DIRECTORIES};
use crate::footprint::small_files;
use crate::{Bytes, FillSpec, Footprint, Invalid, Load, Parameters};

/// Parameters of `age`: the five-round procedure of Layton and Newman (2012). In round k of
/// `rounds`: add `files` files by each process; remove `step` x k directories chosen at random,
/// with their files; add as many directories of `per_directory` files, each inside a directory
/// chosen at random. Paper: 5 rounds, 3 x 7,000,000 files, 7,000 directories, step 700.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct AgeSpec {
    /// Where everything is created; must be missing or empty (`lost+found` does not count), since
    /// the exact accounting starts from zero.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "DIR",
        help = "Directory on the filesystem under test; the files stay in it"
    )]
    pub dir: PathBuf,
    /// Rounds, 1..=100.
    #[schemars(title = "number of rounds", range(min = 1, max = 100))]
    #[arg(long, default_value_t = 5, value_name = "N", help = "Rounds")]
    pub rounds: u32,
    /// Files that each process adds in a round.
    #[schemars(title = "number of files", range(min = 1))]
    #[arg(short = 'n', long, default_value_t = 7000, value_name = "N")]
    pub files: u64,
    /// Processes, 1..=1024 (at most 64 without `shared`).
    #[schemars(title = "process count", range(min = 1, max = 1024))]
    #[arg(
        short = 't',
        long,
        default_value_t = 3,
        value_name = "N",
        help = "Processes"
    )]
    pub processes: u32,
    /// Directories over which the files of a round are distributed: of each process, or of all
    /// together with `shared`.
    #[schemars(title = "number of directories", range(min = 2))]
    #[arg(
        short = 'D',
        long,
        default_value_t = 70,
        value_name = "N",
        help = "Directories over which the files of a round are distributed"
    )]
    pub directories: u32,
    /// Files of a process in a directory.
    #[schemars(title = "files per directory", range(min = 1))]
    #[arg(short = 'N', long, default_value_t = 100, value_name = "N")]
    pub per_directory: u64,
    /// Directories removed, and added again inside others, in round k: `step` x k.
    #[schemars(title = "number of directories")]
    #[arg(
        long,
        default_value_t = 7,
        value_name = "N",
        help = "Directories removed, and added inside others, in round k: this times k"
    )]
    pub step: u32,
    /// Processes share the directories (one fs_mark -d); else each has a base directory of its own.
    #[arg(
        long = "own-bases",
        action = ArgAction::SetFalse,
        help = "Each process has a base directory of its own"
    )]
    pub shared: bool,
    /// Bytes of a file.
    #[schemars(title = "file size", extend("minimum" = 0, "maximum" = 1_u64 << 50))]
    #[arg(short = 's', long, default_value = "4k")]
    pub size: Bytes,
    /// Bytes of one write.
    #[schemars(title = "write size", extend("minimum" = 1, "maximum" = 64 << 20))]
    #[arg(short = 'w', long, default_value = "16k")]
    pub write_size: Bytes,
    /// Seed of the names and of all choices.
    #[serde(skip)]
    #[arg(
        long,
        default_value_t = 2012,
        value_name = "N",
        help = "Seed of the names and choices"
    )]
    pub seed: u64,
    /// Keep what was created.
    #[serde(skip)]
    #[arg(skip = true)]
    pub keep: bool,
}

/// The paper's procedure, whole.
impl Default for AgeSpec {
    fn default() -> Self {
        AgeSpec {
            dir: PathBuf::new(),
            rounds: 5,
            files: 7_000_000,
            processes: 3,
            directories: 7000,
            per_directory: 1000,
            step: 700,
            shared: true,
            size: Bytes(400_000),
            write_size: Bytes(16 * Bytes::KIB),
            seed: 1,
            keep: false,
        }
    }
}

impl AgeSpec {
    /// The procedure with one thousandth of the paper's files, in this directory: 5 rounds of
    /// 3 x 7,000 files of 4 KiB. `fslab bench age` has these defaults.
    pub fn reduced(dir: impl Into<PathBuf>) -> AgeSpec {
        AgeSpec {
            dir: dir.into(),
            files: 7000,
            directories: 70,
            per_directory: 100,
            step: 7,
            size: Bytes(4 * Bytes::KIB),
            ..AgeSpec::default()
        }
    }

    /// The base directory of each process: one for all, or one each.
    pub fn bases(&self) -> Vec<PathBuf> {
        if self.shared {
            return vec![self.dir.clone()];
        }
        (0..self.processes)
            .map(|p| self.dir.join(format!("p{p}")))
            .collect()
    }

    const fn base_count(&self) -> u32 {
        if self.shared { 1 } else { self.processes }
    }

    /// The fill of all rounds.
    pub fn fill(&self) -> FillSpec {
        FillSpec {
            bases: self.base_count(),
            dirs: self.bases(),
            files: self.files,
            processes: self.processes,
            size: self.size,
            write_size: self.write_size,
            directories: self.directories,
            per_directory: self.per_directory,
            sync_method: 0,
            iterations: self.rounds,
            keep: true,
            seed: self.seed,
            ..FillSpec::default()
        }
    }

    /// Directories that the fill of a round uses in one base.
    fn used(&self) -> u64 {
        let used = self.files.div_ceil(self.per_directory.max(1));
        used.min(u64::from(self.directories))
    }

    /// Directories that the fill of every round leaves at least.
    pub fn filled_directories(&self) -> u64 {
        self.used() * u64::from(self.base_count())
    }

    /// Files that the fills of all rounds create.
    fn files_filled(&self) -> u64 {
        let fills = u64::from(self.rounds) * u64::from(self.processes);
        fills.saturating_mul(self.files)
    }

    /// Directories that all rounds remove and add again.
    fn directories_added(&self) -> u64 {
        let rounds = u64::from(self.rounds);
        u64::from(self.step) * (rounds * (rounds + 1) / 2)
    }

    /// Files that all rounds create, by filling and by adding again.
    pub fn files_made(&self) -> u64 {
        let added = self.directories_added().saturating_mul(self.per_directory);
        self.files_filled().saturating_add(added)
    }
}

impl Parameters for AgeSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("rounds", self.rounds, 1, 100)?;
        Invalid::if_zero("per_directory", self.per_directory)?;
        Invalid::unless_within("directories", self.directories, 2, MOST_DIRECTORIES)?;
        if !self.shared && !(1..=MOST_BASES).contains(&self.processes) {
            let reason =
                format!("must be 1..={MOST_BASES} with a base directory each, or set shared");
            return Err(Invalid::new("processes", self.processes, reason));
        }
        self.fill().validate()?;
        let names = FillSpec {
            files: self.files_made(),
            iterations: 1,
            processes: 1,
            bases: 1,
            ..self.fill()
        };
        names.validate()?;
        // Each fill leaves its directories; the last round removes the most of them, and removing
        // one takes those inside it along, so that they must not be used up.
        let most = u64::from(self.step) * u64::from(self.rounds);
        if most.saturating_mul(2) > self.filled_directories() {
            let reason = format!(
                "round {} would remove {most} of the {} directories that a fill leaves, and at \
                 most half can go; use a smaller step, fewer rounds or more directories",
                self.rounds,
                self.filled_directories()
            );
            return Err(Invalid::new("step", self.step, reason));
        }
        Ok(())
    }

    /// What it leaves stays for the check after it.
    fn place(&mut self, dir: &Path, seed: u64) {
        self.dir = dir.join("aged");
        self.seed = seed;
        self.keep = true;
    }

    fn footprint(&self) -> Footprint {
        let rounds = f64::from(self.rounds);
        let added = rounds * self.files as f64 * f64::from(self.processes);
        let again =
            f64::from(self.step) * rounds * (rounds + 1.0) / 2.0 * self.per_directory as f64;
        Footprint {
            peak: small_files(added, self.size),
            written: (added + again) * self.size.get() as f64,
            // What is added again was removed first.
            files: added + 2.0 * again,
            kept: added,
            syncs: 3.0 * rounds,
            ..Footprint::default()
        }
    }

    fn load(&self) -> Load {
        Load {
            parameter: "files",
            amount: format!("{} files of {}", self.files_filled(), self.size),
            smaller: "fewer files",
        }
    }

    fn largest_file(&self) -> Option<(&'static str, u64)> {
        Some(("size", self.size.get()))
    }

    fn inodes(&self) -> Option<u64> {
        let directories = u64::from(self.directories) * u64::from(self.base_count());
        let directories = directories.saturating_add(self.directories_added());
        Some(self.files_filled().saturating_add(directories))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut AgeSpec)) -> String {
        let mut spec = AgeSpec::reduced("/nowhere");
        change(&mut spec);
        spec.validate().unwrap_err().to_string()
    }

    #[test]
    fn the_reduced_procedure_is_valid_and_bad_values_are_refused() {
        AgeSpec::reduced("/nowhere").validate().unwrap();
        assert_eq!(message(|o| o.rounds = 0), "rounds = 0: must be 1..=100");
        assert!(message(|o| o.directories = 1).contains("2..=16777216"));
        assert!(message(|o| o.per_directory = 0).contains("at least 1"));
        assert!(message(|o| o.files = 0).contains("files = 0"));
        assert!(message(|o| (o.shared, o.processes) = (false, 65)).contains("1..=64"));
        let step = message(|o| o.step = 8);
        assert!(step.contains("remove 40 of the 70 directories"), "{step}");
    }

    #[test]
    fn the_paper_is_valid_in_both_readings() {
        for shared in [true, false] {
            let spec = AgeSpec {
                dir: "/nowhere".into(),
                shared,
                ..AgeSpec::default()
            };
            spec.validate().unwrap();
            assert_eq!(spec.bases().len(), if shared { 1 } else { 3 });
            assert_eq!(
                spec.filled_directories(),
                if shared { 7000 } else { 21_000 }
            );
            assert_eq!(spec.files_made(), 105_000_000 + 10_500_000);
        }
    }
}
