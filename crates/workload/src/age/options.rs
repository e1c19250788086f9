//! The parameters of an ageing, and what is refused before anything is touched.

use std::path::PathBuf;

use crate::Error;
use crate::error::{bad, within};
use crate::fill;
use crate::fill::options::some;

/// Parameters of an ageing. Sizes are bytes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where everything is made; must be missing or empty (`lost+found` does not count), since
    /// exact books begin with nothing.
    pub dir: PathBuf,
    /// Rounds, 1..=100.
    pub rounds: u32,
    /// Files that each process adds in a round.
    pub files: u64,
    /// Processes, 1..=1024 (64 at most when each has its own base).
    pub processes: u32,
    /// Directories that the files of a round are dealt to: of all processes together (`shared`),
    /// or of each.
    pub directories: u32,
    /// Files of a process in a directory, and of each directory that is added inside another.
    pub per_directory: u64,
    /// Directories removed, and added again inside others, in round k: `step` x k.
    pub step: u32,
    /// Processes share the directories (one -d); else each has its own base (one -d each).
    pub shared: bool,
    /// Bytes of a file.
    pub size: u64,
    /// Bytes of a write, 1..=64 MiB.
    pub write_size: u64,
    /// Names and choices follow from it.
    pub seed: u64,
    /// Keep what was made.
    pub keep: bool,
}

impl Options {
    /// The procedure of 2012, one thousandth of its files: 5 rounds of 3 x 7,000 files in 7
    /// directories of 1,000 files for each process.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            dir: dir.into(),
            rounds: 5,
            files: 7000,
            processes: 3,
            directories: 70,
            per_directory: 100,
            step: 7,
            shared: true,
            size: 4096,
            write_size: 16 << 10,
            seed: 1,
            keep: false,
        }
    }

    /// The base of each process, as fs_mark's -d would be given: one for all, or one each.
    pub(super) fn bases(&self) -> Vec<PathBuf> {
        if self.shared {
            return vec![self.dir.clone()];
        }
        (0..self.processes)
            .map(|p| self.dir.join(format!("p{p}")))
            .collect()
    }

    /// The fill of a round.
    pub(super) fn fill(&self) -> fill::Options {
        fill::Options {
            bases: self.bases(),
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
            ..fill::Options::new(&self.dir)
        }
    }

    /// Directories that a round's fill uses in one base.
    fn used(&self) -> u64 {
        let dealt = self.files.div_ceil(self.per_directory.max(1));
        dealt.min(u64::from(self.directories))
    }

    /// Directories that every round's fill leaves there at least.
    pub(super) fn filled_directories(&self) -> u64 {
        self.used() * self.bases().len() as u64
    }

    /// Files that the last fill of all rounds and all additions make together.
    pub(super) fn files_made(&self) -> u64 {
        let filled = u64::from(self.rounds) * u64::from(self.processes);
        let rounds = u64::from(self.rounds);
        let added = u64::from(self.step) * (rounds * (rounds + 1) / 2);
        filled
            .saturating_mul(self.files)
            .saturating_add(added.saturating_mul(self.per_directory))
    }

    /// Refuses values that cannot be carried out. Touches nothing.
    ///
    /// # Errors
    /// [`Error::BadOption`] with the option's name in a study file and what it may be.
    pub fn validate(&self) -> Result<(), Error> {
        within("rounds", u64::from(self.rounds), 1, 100)?;
        some("per_directory", self.per_directory)?;
        within("directories", u64::from(self.directories), 2, 1 << 24)?;
        if !self.shared {
            within("processes", u64::from(self.processes), 1, 64)?;
        }
        self.fill().validate()?;
        let names = fill::Options {
            files: self.files_made(),
            iterations: 1,
            processes: 1,
            bases: vec![self.dir.clone()],
            ..self.fill()
        };
        names.validate()?;
        // Each fill leaves its directories there; the last round removes the most of them, and an
        // `rm -rf` may take directories inside along, so that they must not be used up.
        let most = u64::from(self.step) * u64::from(self.rounds);
        if most * 2 > self.filled_directories() {
            return Err(bad(
                "step",
                self.step,
                format!(
                    "round {} would remove {most} of the {} directories that a fill leaves; \
                     at most half can go: take a smaller step, fewer rounds or more directories",
                    self.rounds,
                    self.filled_directories()
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::new("/nowhere");
        change(&mut options);
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_valid_and_bad_values_are_refused() {
        Options::new("/nowhere").validate().unwrap();
        assert_eq!(message(|o| o.rounds = 0), "rounds = 0: must be 1..=100");
        assert!(message(|o| o.directories = 1).contains("2..=16777216"));
        assert!(message(|o| o.per_directory = 0).contains("at least 1"));
        assert!(message(|o| o.files = 0).contains("files = 0"));
        assert!(message(|o| (o.shared, o.processes) = (false, 65)).contains("1..=64"));
        let step = message(|o| o.step = 8);
        assert!(step.contains("remove 40 of the 70 directories"), "{step}");
    }

    #[test]
    fn the_procedure_of_2012_is_valid_in_both_readings() {
        for shared in [true, false] {
            let options = Options {
                files: 7_000_000,
                directories: 7000,
                per_directory: 1000,
                step: 700,
                shared,
                ..Options::new("/nowhere")
            };
            options.validate().unwrap();
            assert_eq!(options.bases().len(), if shared { 1 } else { 3 });
            assert_eq!(
                options.filled_directories(),
                if shared { 7000 } else { 21_000 }
            );
            assert_eq!(options.files_made(), 105_000_000 + 10_500_000);
        }
    }
}
