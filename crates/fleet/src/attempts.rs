//! Attempts at blocks: folders `parts/block-0003.1`, each a run of its own.

use rundir::RunDir;

use crate::error::Error;
use crate::plan::PARTS;

/// One attempt at a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt {
    /// The block, from 0.
    pub block: u32,
    /// Its number, from 1.
    pub number: u32,
}

impl Attempt {
    /// As events name it: `3.1`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.block, self.number)
    }

    /// The folder in the fleet's: `parts/block-0003.1`.
    pub fn relative(&self) -> String {
        format!("{PARTS}/block-{:04}.{}", self.block, self.number)
    }

    /// Its folder.
    ///
    /// # Errors
    /// It cannot be opened, or is a link.
    pub fn open(&self, fleet: &RunDir) -> Result<RunDir, Error> {
        Ok(fleet.below(self.relative())?)
    }

    /// Takes the next number: makes the folder, which only one can.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn take(fleet: &RunDir, block: u32) -> Result<Attempt, Error> {
        for number in 1.. {
            let attempt = Attempt { block, number };
            if fleet.make_folder(attempt.relative())? {
                return Ok(attempt);
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
    pub fn all(fleet: &RunDir) -> Result<Vec<Attempt>, Error> {
        let of_name = |name: &str| {
            let (block, number) = name.strip_prefix("block-")?.split_once('.')?;
            let attempt = Attempt {
                block: block.parse().ok()?,
                number: number.parse().ok()?,
            };
            // Not another spelling of an attempt's name.
            (attempt.relative() == format!("{PARTS}/{name}")).then_some(attempt)
        };
        let names = fleet.names(PARTS)?;
        let names = names.iter().filter_map(|name| name.to_str().ok());
        let mut all: Vec<Attempt> = names.filter_map(of_name).collect();
        all.sort_unstable();
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_take_a_block_at_once_never_share_a_folder() {
        let temp = tempfile::tempdir().unwrap();
        let dir = RunDir::open(temp.path()).unwrap();
        let taken: Vec<Attempt> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| Attempt::take(&dir, 3).unwrap()))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut numbers: Vec<u32> = taken.iter().map(|attempt| attempt.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
        let all = Attempt::all(&dir).unwrap();
        assert_eq!((all.len(), all[0].name()), (8, "3.1".to_owned()));
        let folder = all[0].open(&dir).unwrap();
        assert!(folder.path().ends_with("parts/block-0003.1"));
    }
}
