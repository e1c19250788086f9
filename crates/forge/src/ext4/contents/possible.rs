//! Whether a filesystem has what a profile needs, before anything is written.

use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use super::directory_cache::VAST;
use super::{Contents, Full, attributes, encrypted};
use crate::Error;
use crate::population::{Distribution, Profile};

impl Contents {
    /// Whether the filesystem has what the profile needs.
    pub(super) fn possible(&self, sb: &Superblock) -> Result<(), Error> {
        let missing = self
            .missing_feature(sb)
            .or_else(|| self.no_room_for_attributes())
            .or_else(|| self.target_too_long());
        match missing {
            Some((what, needs)) => Err(Error::Option(format!(
                "{what}: not possible in this filesystem: {needs}"
            ))),
            None => self.grow_largest(),
        }
    }

    /// The first key of the profile that needs a missing feature, and which.
    fn missing_feature(&self, sb: &Superblock) -> Option<(&'static str, String)> {
        let Profile {
            attributes,
            ageing,
            names,
            ..
        } = self.population.profile();
        let incompat = |feature| sb.has_incompat(feature);
        let keys = [
            (
                names.casefold && !incompat(Incompat::CASEFOLD),
                "names.casefold",
                "casefold",
            ),
            (
                names.encrypted && !incompat(Incompat::ENCRYPT),
                "names.encrypted",
                "encrypt",
            ),
            (
                names.encrypted && !sb.has_compat(Compat::EXT_ATTR),
                "names.encrypted",
                "ext_attr",
            ),
            (
                attributes.value > 0.0 && !incompat(Incompat::EA_INODE),
                "attributes.value",
                "ea_inode",
            ),
            (
                attributes.block + attributes.inode + attributes.value > 0.0
                    && !sb.has_compat(Compat::EXT_ATTR),
                "[attributes]",
                "ext_attr",
            ),
            (
                self.population.profile().projects > 0 && !sb.has_ro_compat(RoCompat::PROJECT),
                "projects",
                "project",
            ),
            (
                ageing.unwritten > 0.0 && !self.format.extents,
                "ageing.unwritten",
                "extent",
            ),
        ];
        let missing = keys.into_iter().find(|(missing, ..)| *missing);
        missing.map(|(_, what, feature)| {
            (
                what,
                format!("it needs the feature {feature} (--features {feature})"),
            )
        })
    }

    /// What is stored after an inode's fields and does not fit there.
    fn no_room_for_attributes(&self) -> Option<(&'static str, String)> {
        let Profile {
            attributes, names, ..
        } = self.population.profile();
        if names.encrypted && self.format.inode_room < encrypted::CONTEXT {
            return Some(("names.encrypted", "it needs inodes of 256 bytes".to_owned()));
        }
        let (context, needs) = if names.encrypted {
            let needs = "beside the context of an encrypted inode they need inodes of 512 bytes";
            (encrypted::ENTRY, needs)
        } else {
            (0, "they need inodes of 256 bytes")
        };
        let wanted = attributes.inode + attributes.value > 0.0;
        (wanted && self.format.inode_room < attributes::NEEDED + context).then(|| {
            let what = "attributes.inode and attributes.value";
            (what, needs.to_owned())
        })
    }

    fn target_too_long(&self) -> Option<(&'static str, String)> {
        let kinds = &self.population.profile().kinds;
        let longest = kinds
            .target_length
            .as_ref()
            .map_or(0, Distribution::greatest);
        // A NUL, and the other bytes around the ciphertext.
        let around = if self.population.profile().names.encrypted {
            encrypted::AROUND_TARGET
        } else {
            1
        };
        let room = u64::from(self.format.blocks.size) - around;
        (kinds.symlinks > 0.0 && longest > room).then(|| {
            let needs = format!(
                "a block of {} bytes takes targets of {room} bytes",
                self.format.blocks.size
            );
            ("kinds.target_length", needs)
        })
    }

    /// One of the largest directories is grown now, so that a size that can never fit is refused at once.
    fn grow_largest(&self) -> Result<(), Error> {
        let rules = self.cache.rules;
        let largest = self.population.largest_directory();
        let names = self.population.files(largest);
        let shortest = self.population.profile().names.length.least().clamp(1, 255) as u8;
        if rules.surely_full(names.into(), shortest) {
            let full = Full {
                names,
                block_size: self.format.blocks.size,
                levels: rules.most_levels + 1,
            };
            return Err(Error::Option(full.to_string()));
        }
        for directory in [0, largest] {
            let slots = self.population.slots(directory);
            let names = self.grown(directory, &slots).history.names();
            if names > VAST && rules.index.is_none() {
                return Err(Error::Option(format!(
                    "a directory with {names} names, those that were removed counted, is too slow without an index: {VAST} are possible; set the feature dir_index, or put fewer into each"
                )));
            }
            self.template(directory)
                .map_err(|full| Error::Option(full.to_string()))?;
        }
        Ok(())
    }
}
