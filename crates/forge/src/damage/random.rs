//! Random structured damage: a structure, a field, a value.
//!
//! Bytes overwritten at random hit unused space nearly always and checksums else. Here a structure in use is
//! picked first, then one of its fields, then a value that is wrong in a way that happens: zero, all ones, one more, one
//! less, one bit turned, a neighbour's value, a number that would be legal elsewhere. A share of the draws does
//! what devices do: a block overwritten with noise, with zeros, or with another block.

mod blocks;
pub(super) mod draw;
mod known;
mod structures;

use draw::Draw;
use known::Known;

use super::error::{Error, missing};
use super::filesystem::{Filesystem, Seal};
use super::medium::Medium;

/// How much damage, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    /// Changes.
    pub count: u32,
    /// Decides everything: the same seed on the same filesystem gives the same damage.
    pub seed: u64,
    /// Whether checksums fit the damage; none: one change in four leaves them wrong.
    pub seal: Option<Seal>,
}

impl Default for Random {
    fn default() -> Random {
        Random {
            count: 1,
            seed: 0,
            seal: None,
        }
    }
}

/// One thing that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change(pub String);

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Damages a filesystem at random. Structures that the filesystem does not have are drawn anew.
///
/// # Errors
/// It is not sound enough to find anything in, or cannot be written.
pub fn random(medium: &mut dyn Medium, what: &Random) -> Result<Vec<Change>, Error> {
    let mut fs = Filesystem::open(medium)?;
    let mut draw = Draw::new(what.seed);
    let mut changes = Vec::new();
    // Found once: later changes must not be led astray by earlier ones.
    let known = Known::of(&fs)?;
    let mut tries = 0;
    while (changes.len() as u32) < what.count
        && tries < what.count.saturating_mul(50).saturating_add(50)
    {
        tries += 1;
        fs.seal = what.seal.unwrap_or(if draw.below(4) == 0 {
            Seal::Keep
        } else {
            Seal::Again
        });
        match change(&mut fs, &known, &mut draw) {
            Ok(text) => {
                let sums = if fs.seal == Seal::Keep {
                    ", checksum kept"
                } else {
                    ""
                };
                changes.push(Change(text + sums));
            }
            // The drawn structure does not exist, or an earlier change has hidden it: draw again.
            Err(Error::Missing { .. } | Error::Unsound(_) | Error::Read { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if changes.is_empty() && what.count > 0 {
        return missing("structure that can be damaged");
    }
    Ok(changes)
}

type Maker = fn(&mut Filesystem<'_>, &Known, &mut Draw) -> Result<String, Error>;

/// Structures, with how often they are drawn: inodes and directories are where e2fsck has most to say.
static MAKERS: &[(u32, Maker)] = &[
    (5, structures::superblock),
    (7, structures::descriptor),
    (5, structures::bitmap_bits),
    (30, structures::inode_field),
    (8, structures::inode_map),
    (10, structures::tree_node),
    (18, structures::directory_entry),
    (8, structures::index_block),
    (6, structures::attribute_block),
    (6, structures::attribute_in_inode),
    (3, structures::journal),
    (2, structures::mmp),
    (2, structures::special_file),
    (4, blocks::whole_block),
    (3, blocks::misplaced_block),
    (3, blocks::noise),
];

fn change(fs: &mut Filesystem<'_>, known: &Known, draw: &mut Draw) -> Result<String, Error> {
    let all: u32 = MAKERS.iter().map(|(weight, _)| weight).sum();
    let mut at = draw.below(all.into()) as u32;
    for (weight, maker) in MAKERS {
        if at < *weight {
            return maker(fs, known, draw);
        }
        at -= weight;
    }
    missing("structure that can be damaged")
}
