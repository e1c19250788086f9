//! The keys and shares that decide each object, computed once.

use super::profile::Profile;
use super::random::{Key, Purpose, threshold};

/// Keys, and shares as bounds of [`chance`](super::random::chance).
#[derive(Debug)]
pub(super) struct Keys {
    /// Bytes of every file, where all are regular files of one size and nothing else distinguishes them: most of a large population.
    pub(super) plain_size: Option<u64>,
    pub(super) name_set: Key,
    pub(super) kind: Key,
    pub(super) special_kind: Key,
    pub(super) symlinks: u64,
    pub(super) symlinks_and_special: u64,
    pub(super) size: Key,
    pub(super) target: Key,
    pub(super) target_length: Key,
    pub(super) freed: Key,
    pub(super) reused: (Key, u64),
    pub(super) owner: Key,
    pub(super) project: Key,
    pub(super) inode_attribute: (Key, u64),
    pub(super) block_attribute: (Key, u64),
    pub(super) attribute_value: Key,
    pub(super) fragmented: (Key, u64),
    pub(super) gap: (Key, u64),
    pub(super) piece: Key,
    pub(super) free: Key,
    pub(super) hole: (Key, u64),
    pub(super) unwritten: (Key, u64),
    pub(super) content: Key,
}

impl Keys {
    pub(super) fn new(profile: &Profile) -> Self {
        let key = |purpose| Key::new(profile.seed, purpose);
        let Profile {
            kinds,
            attributes,
            ageing,
            ..
        } = profile;
        let rare = kinds.symlinks
            + kinds.special
            + attributes.inode
            + attributes.block
            + attributes.value
            + ageing.fragmented
            + ageing.gaps
            + kinds.hard_links
            + f64::from(profile.owners)
            + f64::from(profile.projects)
            + f64::from(u8::from(profile.names.encrypted));
        let plain_size = profile.file_size.only().filter(|_| rare <= 0.0);
        Self {
            plain_size,
            name_set: key(Purpose::NameSet),
            kind: key(Purpose::Kind),
            special_kind: key(Purpose::SpecialKind),
            symlinks: threshold(kinds.symlinks),
            symlinks_and_special: threshold(kinds.symlinks + kinds.special),
            size: key(Purpose::Size),
            target: key(Purpose::Target),
            target_length: key(Purpose::TargetLength),
            freed: key(Purpose::FreedPlace),
            reused: (key(Purpose::Reused), threshold(ageing.reused)),
            owner: key(Purpose::Owner),
            project: key(Purpose::Project),
            inode_attribute: (key(Purpose::InodeAttribute), threshold(attributes.inode)),
            block_attribute: (key(Purpose::BlockAttribute), threshold(attributes.block)),
            attribute_value: key(Purpose::AttributeValue),
            fragmented: (key(Purpose::Fragmented), threshold(ageing.fragmented)),
            gap: (key(Purpose::Gap), threshold(ageing.gaps)),
            piece: key(Purpose::Extent),
            free: key(Purpose::Free),
            hole: (key(Purpose::Hole), threshold(ageing.holes)),
            unwritten: (key(Purpose::Unwritten), threshold(ageing.unwritten)),
            content: key(Purpose::Content),
        }
    }
}
