//! Files of each directory.

use super::profile::Profile;
use super::random::{Key, Purpose};
use crate::ext4::Error;

/// Files of each directory.
#[derive(Debug)]
pub(super) enum Counts {
    Even { files: u64, per_directory: u32 },
    Drawn(Vec<u32>),
}

impl Counts {
    /// Files of a directory.
    pub(super) fn of(&self, directory: u32) -> u32 {
        match self {
            Self::Drawn(counts) => counts.get(directory as usize).copied().unwrap_or(0),
            Self::Even {
                files,
                per_directory,
            } => {
                let Some(nth) = directory.checked_sub(1) else {
                    return 0;
                };
                let before = u64::from(nth) * u64::from(*per_directory);
                files.saturating_sub(before).min((*per_directory).into()) as u32
            }
        }
    }

    /// A directory with as many files as any.
    pub(super) fn largest(&self) -> u32 {
        match self {
            Self::Even { files, .. } => u32::from(*files > 0),
            Self::Drawn(counts) => {
                let largest = counts.iter().enumerate().max_by_key(|(_, count)| **count);
                largest.map_or(0, |(nth, _)| nth as u32)
            }
        }
    }
}

/// Files of each directory, and how many directories that makes.
pub(super) fn counts(profile: &Profile) -> Result<(Counts, u32), Error> {
    /// More directories than inodes of the largest filesystem would be pointless; four bytes for each are kept.
    const MOST: u64 = 1 << 27;
    let too_many = || {
        Error::Option(format!(
            "{} files with so few in each directory make more than {MOST} directories; put more into each",
            profile.files
        ))
    };
    let files = profile.files;
    if let Some(per_directory) = profile.per_directory.only() {
        let directories = files.div_ceil(per_directory.max(1));
        if directories > MOST {
            return Err(too_many());
        }
        let per_directory = per_directory as u32;
        return Ok((
            Counts::Even {
                files,
                per_directory,
            },
            1 + directories as u32,
        ));
    }
    let key = Key::new(profile.seed, Purpose::FileCount);
    let mut counts = vec![0];
    let mut left = files;
    while left > 0 {
        if counts.len() as u64 > MOST {
            return Err(too_many());
        }
        let count = profile
            .per_directory
            .draw(key.of(counts.len() as u64, 0))
            .min(left);
        counts.push(count as u32);
        left -= count;
    }
    let directories = counts.len() as u32;
    Ok((Counts::Drawn(counts), directories))
}

/// Names that a directory can have here, by the bits of a number. No ext4 holds as many.
pub(super) const MOST_NAMES: u64 = 1 << 28;

/// The largest number that a name of a file, or of something removed, can have.
pub(super) fn most_names(profile: &Profile, counts: &Counts) -> u64 {
    let files = match counts {
        Counts::Even {
            files,
            per_directory,
        } => (*files).min((*per_directory).into()),
        Counts::Drawn(counts) => counts.iter().copied().max().unwrap_or(0).into(),
    };
    let ageing = &profile.ageing;
    let times = (1.0 + ageing.freed)
        .max(ageing.removed_names)
        .max(profile.kinds.hard_links);
    (files as f64 * times) as u64 + 1
}
