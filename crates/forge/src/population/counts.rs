//! Files of each directory.

use super::distribution::Distribution;
use super::profile::Profile;
use super::random::{Key, Purpose};
use crate::Error;

/// Files of each directory: a pure function of its number, so that nothing is kept for each.
#[derive(Debug)]
pub(super) enum Counts {
    Even { files: u64, per_directory: u32 },
    Drawn(Drawn),
}

/// Numbers drawn from a distribution until all files have a place.
#[derive(Debug)]
pub(super) struct Drawn {
    key: Key,
    of: Distribution,
    /// The last directory, and the remainder for it.
    last: (u32, u32),
    /// A directory with as many files as any, and how many these are.
    largest: (u32, u32),
}

impl Drawn {
    fn draw(&self, directory: u32) -> u32 {
        self.of.draw(self.key.of(directory.into(), 0)) as u32
    }
}

impl Counts {
    /// Files of a directory.
    pub(super) fn of(&self, directory: u32) -> u32 {
        match self {
            Self::Drawn(drawn) => match directory {
                0 => 0,
                _ if directory < drawn.last.0 => drawn.draw(directory),
                _ if directory == drawn.last.0 => drawn.last.1,
                _ => 0,
            },
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
            Self::Drawn(drawn) => drawn.largest.0,
        }
    }
}

/// Files of each directory, and how many directories that makes.
pub(super) fn counts(profile: &Profile) -> Result<(Counts, u32), Error> {
    /// More directories than inodes of the largest filesystem would be pointless; a byte for each is kept.
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
    let mut drawn = Drawn {
        key: Key::new(profile.seed, Purpose::FileCount),
        of: profile.per_directory.clone(),
        last: (0, 0),
        largest: (0, 0),
    };
    let mut left = files;
    while left > 0 {
        let directory = drawn.last.0 + 1;
        if u64::from(directory) > MOST {
            return Err(too_many());
        }
        let count = u64::from(drawn.draw(directory)).min(left) as u32;
        drawn.last = (directory, count);
        if count > drawn.largest.1 {
            drawn.largest = (directory, count);
        }
        left -= u64::from(count);
    }
    let directories = drawn.last.0 + 1;
    Ok((Counts::Drawn(drawn), directories))
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
        Counts::Drawn(drawn) => drawn.largest.1.into(),
    };
    let ageing = &profile.ageing;
    let times = (1.0 + ageing.freed)
        .max(ageing.removed_names)
        .max(profile.kinds.hard_links);
    (files as f64 * times) as u64 + 1
}
