//! Attempts at blocks: folders `parts/block-0003.1`, each a run of its own.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// One attempt at a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt {
    /// The block, from 0.
    pub block: u32,
    /// Its number, from 1.
    pub number: u32,
    /// Its folder.
    pub dir: PathBuf,
}

impl Attempt {
    /// As events name it: `3.1`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.block, self.number)
    }

    /// The folder in the fleet's: `parts/block-0003.1`.
    pub fn relative(&self) -> String {
        format!("parts/block-{:04}.{}", self.block, self.number)
    }

    /// Takes the next number: makes the folder, which only one can.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn take(run: &Path, block: u32) -> Result<Attempt, Error> {
        for number in 1.. {
            let mut attempt = Attempt {
                block,
                number,
                dir: PathBuf::new(),
            };
            attempt.dir = run.join(attempt.relative());
            match fs::create_dir(&attempt.dir) {
                Ok(()) => return Ok(attempt),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make the folder", attempt.dir)(error)),
            }
        }
        Err(Error::Refused(format!(
            "block {block} has too many attempts"
        )))
    }

    /// All that are there, by block and number.
    ///
    /// # Errors
    /// The folder of parts cannot be read.
    pub fn all(run: &Path) -> Result<Vec<Attempt>, Error> {
        let parts = run.join("parts");
        let mut all = Vec::new();
        let entries = fs::read_dir(&parts).map_err(Error::io("read", parts.clone()))?;
        for entry in entries {
            let entry = entry.map_err(Error::io("read", parts.clone()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let numbers = name
                .strip_prefix("block-")
                .and_then(|name| name.split_once('.'));
            let numbers = numbers
                .and_then(|(block, number)| Some((block.parse().ok()?, number.parse().ok()?)));
            if let Some((block, number)) = numbers {
                let dir = entry.path();
                all.push(Attempt { block, number, dir });
            }
        }
        all.sort_unstable();
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_take_a_block_at_once_never_share_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("parts")).unwrap();
        let taken: Vec<Attempt> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| Attempt::take(dir.path(), 3).unwrap()))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut numbers: Vec<u32> = taken.iter().map(|attempt| attempt.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
        let all = Attempt::all(dir.path()).unwrap();
        assert_eq!((all.len(), all[0].name()), (8, "3.1".to_owned()));
        assert!(all[0].dir.ends_with("parts/block-0003.1"));
    }
}
