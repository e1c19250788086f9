//! What XFS has no place for.

use super::directory;
use super::volume::Empty;
use crate::Error;
use crate::population::{Distribution, Population, Profile};

/// The longest target of a symbolic link, bytes.
const LONGEST_TARGET: u64 = 1023;

/// Whether any XFS can have what the profile asks for.
pub(super) fn profile(population: &Population) -> Result<(), Error> {
    let Profile {
        attributes,
        names,
        kinds,
        projects,
        ..
    } = population.profile();
    let keys = [
        (
            *projects > 0,
            "projects",
            "quotas of projects are not written",
        ),
        (
            names.casefold,
            "names.casefold",
            "XFS does not fold case in single directories",
        ),
        (names.encrypted, "names.encrypted", "XFS does not encrypt"),
        (
            attributes.value > 0.0,
            "attributes.value",
            "XFS has no values in inodes of their own",
        ),
        (
            attributes.block_sharing > 1,
            "attributes.block_sharing",
            "XFS does not share blocks of attributes",
        ),
    ];
    if let Some((_, key, why)) = keys.into_iter().find(|(wrong, ..)| *wrong) {
        return Err(Error::Option(format!(
            "{key}: not possible in this filesystem: {why}"
        )));
    }
    let longest = kinds
        .target_length
        .as_ref()
        .map_or(0, Distribution::greatest);
    if kinds.symlinks > 0.0 && longest > LONGEST_TARGET {
        return Err(Error::Option(format!(
            "kinds.target_length: not possible in this filesystem: targets have {LONGEST_TARGET} bytes at most"
        )));
    }
    for directory in [0, population.largest_directory()] {
        let slots = population.slots(directory);
        let names = population.history(directory, &slots).names();
        if names > directory::MOST_NAMES {
            return Err(directory::too_many(names));
        }
    }
    Ok(())
}

/// Whether this filesystem has room for as many inodes.
pub(super) fn inodes(empty: &Empty, need: u64) -> Result<(), Error> {
    let have = empty.most_inodes();
    if need <= have {
        return Ok(());
    }
    Err(Error::Room {
        what: "inodes",
        need,
        have,
        advice: "ask for a larger image or fewer files, or let inodes take a larger share of the space (--inode-percent)",
    })
}
