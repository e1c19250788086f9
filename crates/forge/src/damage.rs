//! Filesystems broken on purpose.
//!
//! A checker is only as good as the damage it has been tried on. What happens to disks in the field is rare and
//! cannot be repeated, so damage is made here, in two ways. A *case* ([`case`], [`all`]) makes one described fault, and
//! is named after the code by which e2fsck knows it; each has been compared with the real e2fsck. *Random* damage
//! ([`random`]) picks a structure, a field and a value from a seed, and makes damage that no case describes.
//!
//! Both give structures the checksum that fits their new bytes unless asked otherwise ([`Seal`]). Flipping bits
//! without that would test the checksum alone: of a filesystem with `metadata_csum` nothing else would ever be reached.
//!
//! Everything is a function of the filesystem and the seed, so that a difference found once can be made again.

mod case;
mod cases;
mod error;
mod field;
mod files;
mod filesystem;
mod medium;
pub mod ocfs2;
mod random;
pub mod xfs;

pub use case::{Case, Reference};
pub use cases::{UNREACHABLE, all};
pub use error::Error;
pub use files::{Blocks, Name, Run};
pub use filesystem::{Filesystem, Map, Seal};
pub use medium::{ImageFile, Medium};
pub use random::{Change, Random, random};

/// The case of a name.
///
/// # Errors
/// There is none; the error names one that is close.
pub fn case(name: &str) -> Result<&'static Case, Error> {
    named(name, all(), |case| case.name)
}

/// The case of a name among `cases`.
fn named<T>(
    name: &str,
    cases: impl Iterator<Item = &'static T>,
    own: impl Fn(&T) -> &'static str,
) -> Result<&'static T, Error> {
    let mut nearest: Option<(usize, &str)> = None;
    for case in cases {
        if own(case) == name {
            return Ok(case);
        }
        let found = (distance(name, own(case)), own(case));
        nearest = Some(nearest.map_or(found, |before| before.min(found)));
    }
    let near = nearest
        .filter(|(steps, _)| *steps <= name.len() / 2)
        .map_or(String::new(), |(_, near)| format!("; did you mean {near}?"));
    Err(Error::NoCase {
        name: name.to_owned(),
        near,
    })
}

/// How many letters to change, add or take away (Levenshtein 1966).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (nth, letter) in one.bytes().enumerate() {
        let mut before = row[0];
        row[0] = nth + 1;
        for (at, with) in other.bytes().enumerate() {
            let replaced = before + usize::from(letter != with);
            before = row[at + 1];
            row[at + 1] = replaced.min(before + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_tell_the_pass() {
        let mut seen = HashSet::new();
        for case in all() {
            assert!(seen.insert(case.name), "{} twice", case.name);
            let pass = case.name.split('-').next().unwrap();
            let code = format!("{:x}", case.code >> 16);
            let letter = match (case.code >> 12) & 0xf {
                0 => "",
                1 => "b",
                2 => "c",
                3 => "d",
                _ => "e",
            };
            assert_eq!(pass, format!("{code}{letter}"), "{}", case.name);
            assert!(UNREACHABLE.iter().all(|(code, _)| *code != case.code));
            assert!(case.about.len() <= 90, "{}", case.name);
        }
    }

    #[test]
    fn a_misspelt_name_gives_a_hint() {
        let error = case("1-zero-dtyme").unwrap_err().to_string();
        assert!(error.contains("did you mean 1-zero-dtime?"), "{error}");
        let error = case("q").unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }

    #[test]
    fn what_is_no_filesystem_is_left_alone() {
        let mut noise = vec![0x5a; 9000];
        let before = noise.clone();
        assert!(matches!(
            Filesystem::open(&mut noise),
            Err(Error::Unsound(_))
        ));
        assert!(random(&mut noise, &Random::default()).is_err());
        assert_eq!(noise, before);
    }
}
