//! The parameters of a fill, and what is refused before anything is touched.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::names;
use crate::Error;
use crate::error::{bad, within};

/// How often the target directory is made.
///
/// An mkdir that finds its directory there changes nothing; its 1 to 2 microseconds (a lookup
/// under the lock of the parent directory) are most of what fs_mark prints as "App Overhead".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mkdir {
    /// When a process moves to a directory, and again should the directory be gone when a file is
    /// to be made in it: the files are the same as with `EveryFile`, whatever others do meanwhile.
    #[default]
    FirstUse,
    /// Before every file, as fs_mark does. Processes that share a base then meet in its lock once
    /// more for each file, which is load of a kind of its own.
    EveryFile,
}

/// Parameters of a fill. Sizes are bytes; letters in brackets are fs_mark's.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // fs_mark's flags are what they are
pub struct Options {
    /// Base directories (-d, repeated), 1..=64; made when missing. Process j uses number
    /// j modulo their count.
    pub bases: Vec<PathBuf>,
    /// Files of each process and iteration (-n). No limit but the names': fs_mark has 1,000,000.
    pub files: u64,
    /// Processes (-t), 1..=1024. Fewer than bases: one for each base; else a multiple of them.
    pub processes: u32,
    /// Bytes of each file (-s).
    pub size: u64,
    /// Bytes of a write (-w), 1..=64 MiB.
    pub write_size: u64,
    /// Subdirectories of a base (-D): 0 for none, else 2..=16,777,216.
    pub directories: u32,
    /// Files of a process in a subdirectory before it moves on to the next (-N); 0: it moves on
    /// after 180 s.
    pub per_directory: u64,
    /// Sync method (-S), 0..=6; see [`super::SyncMethod`].
    pub sync_method: u8,
    /// Iterations (-L), at least 1. With more than one, fs_mark keeps all files: set `keep`.
    pub iterations: u32,
    /// Go on until the filesystem is full, which is the end then and no error (-F); keeps files.
    pub until_full: bool,
    /// Keep the files (-k). Else each iteration unlinks its own, outside the rate, and the
    /// directories that the run has made go at its end.
    pub keep: bool,
    /// Characters of a file's name (-p), 1..=128.
    pub name_length: u32,
    /// Random characters at the end of a name (-r), 1..=`name_length`.
    pub random_length: u32,
    /// Names, their time stamps and the first subdirectory follow from it (fs_mark: the clock).
    pub seed: u64,
    /// How often the target directory is made.
    pub mkdir: Mkdir,
    /// The sync of methods 2, 4 and 6 is `syncfs` of the base instead of `sync`, which waits for
    /// every filesystem of the machine.
    pub sync_target_only: bool,
    /// After each iteration (and before its unlinks) wait for `syncfs` of the bases: clock (c).
    /// Off: as fs_mark goes on, without it; there is no clock (c) then.
    pub settle: bool,
}

/// Most subdirectories of a base: 16 Mi. One bit of memory for each.
const MOST_DIRECTORIES: u64 = 1 << 24;

impl Options {
    /// fs_mark's defaults: 1000 files of 51,200 bytes by one process, fsync before each close.
    pub fn new(base: impl Into<PathBuf>) -> Options {
        Options {
            bases: vec![base.into()],
            files: 1000,
            processes: 1,
            size: 51_200,
            write_size: 16 << 10,
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
        }
    }

    /// Processes that will run: at least one for each base.
    pub fn effective_processes(&self) -> u32 {
        self.processes.max(self.bases.len() as u32)
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

    /// Refuses values that no filesystem could serve. Touches nothing.
    ///
    /// # Errors
    /// [`Error::BadOption`] with the option's name in a study file and what it may be.
    pub fn validate(&self) -> Result<(), Error> {
        if self.bases.is_empty() || self.bases.len() > 64 {
            return Err(bad("bases", self.bases.len(), "name 1..=64 directories"));
        }
        some("files", self.files)?;
        within("processes", u64::from(self.processes), 1, 1024)?;
        let (processes, bases) = (self.effective_processes(), self.bases.len() as u32);
        if !processes.is_multiple_of(bases) {
            return Err(bad(
                "processes",
                processes,
                format!("must be at most {bases}, the number of bases, or a multiple of it"),
            ));
        }
        within("write_size", self.write_size, 1, 64 << 20)?;
        if self.directories != 0 {
            let directories = u64::from(self.directories);
            within("directories", directories, 2, MOST_DIRECTORIES)?;
        } else if self.per_directory > 0 {
            return Err(bad(
                "per_directory",
                self.per_directory,
                "has no meaning without directories; set directories to 2 or more",
            ));
        }
        within("sync_method", u64::from(self.sync_method), 0, 6)?;
        some("iterations", u64::from(self.iterations))?;
        within("name_length", u64::from(self.name_length), 1, 128)?;
        let most = u64::from(self.name_length);
        within("random_length", u64::from(self.random_length), 1, most)?;
        self.validate_totals()
    }

    /// Totals that must fit into their counters, and names that must not repeat.
    fn validate_totals(&self) -> Result<(), Error> {
        let processes = u64::from(self.effective_processes());
        let files = processes
            .checked_mul(self.files)
            .and_then(|n| n.checked_mul(u64::from(self.iterations)));
        let bytes = files.and_then(|n| n.checked_mul(self.size));
        let (Some(files), Some(_)) = (files, bytes) else {
            return Err(bad(
                "files",
                self.files,
                "all files together exceed 2^64 bytes or files",
            ));
        };
        if files > names::capacity(self.random_length) {
            return Err(bad(
                "random_length",
                self.random_length,
                format!(
                    "{files} names would repeat; take {} or more",
                    names::length_for(files)
                ),
            ));
        }
        Ok(())
    }
}

/// Refuses a count of nothing.
pub(crate) fn some(option: &'static str, value: u64) -> Result<(), Error> {
    match value {
        0 => Err(bad(option, value, "must be at least 1")),
        _ => Ok(()),
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
    fn defaults_are_fs_marks_and_valid() {
        let options = Options::new("/nowhere");
        options.validate().unwrap();
        assert_eq!(
            (options.files, options.size, options.write_size),
            (1000, 51_200, 16_384)
        );
        assert_eq!((options.name_length, options.random_length), (40, 24));
    }

    #[test]
    fn bad_values_are_refused_with_the_option_and_what_is_allowed() {
        assert_eq!(message(|o| o.files = 0), "files = 0: must be at least 1");
        assert_eq!(
            message(|o| o.processes = 1025),
            "processes = 1025: must be 1..=1024"
        );
        assert!(message(|o| o.bases.clear()).contains("1..=64"));
        assert!(message(|o| o.write_size = 65 << 20).contains("1..=67108864"));
        assert!(message(|o| o.directories = 1).contains("2..=16777216"));
        assert!(message(|o| o.per_directory = 5).contains("without directories"));
        assert_eq!(
            message(|o| o.sync_method = 7),
            "sync_method = 7: must be 0..=6"
        );
        assert!(message(|o| o.iterations = 0).contains("at least 1"));
        assert!(message(|o| o.name_length = 129).contains("1..=128"));
        assert!(message(|o| o.random_length = 41).contains("1..=40"));
        assert!(message(|o| o.random_length = 0).contains("1..=40"));
        assert!(message(|o| (o.files, o.size) = (1 << 40, 1 << 40)).contains("2^64"));
        assert_eq!(
            message(|o| (o.files, o.random_length) = (1297, 2)),
            "random_length = 2: 1297 names would repeat; take 3 or more"
        );
    }

    #[test]
    fn processes_are_one_for_each_base_or_a_multiple() {
        let mut options = Options::new("/a");
        options.bases = vec!["/a".into(), "/b".into(), "/c".into()];
        options.processes = 2;
        assert_eq!(options.effective_processes(), 3);
        options.validate().unwrap();
        options.processes = 6;
        options.validate().unwrap();
        options.processes = 7;
        let error = options.validate().unwrap_err().to_string();
        assert!(error.contains("a multiple"), "{error}");
    }
}
