//! What the threads of pass 2 share, and a directory as they see it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::hash::HashVersion;
use ondisk::ext4::inode::{flag, number};
use ondisk::ext4::{Seed, casefold};

use crate::ext4::directories::Directory;
use crate::ext4::e2fsck::order::Order;
use crate::ext4::inode_set::slot_of;
use crate::ext4::options::Reference;
use crate::ext4::pass1::attributes::PolicyId;
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::maps::LinkCounts;

/// What does not change while directories are read, or only by atomic operations.
#[allow(
    clippy::struct_excessive_bools,
    reason = "what the filesystem has or not, each by itself"
)]
pub(in crate::ext4) struct Shared<'a> {
    pub(in crate::ext4) volume: &'a Volume<'a>,
    pub(in crate::ext4) state: &'a State,
    pub(in crate::ext4) order: Order,
    /// Entries carry the type of what they name.
    pub(in crate::ext4) with_types: bool,
    /// Whether holes in directories are no fault: they are not filled in there.
    pub(in crate::ext4) holes_allowed: bool,
    /// The hash of the index, until its root names another.
    pub(in crate::ext4) hash: Option<HashVersion>,
    pub(in crate::ext4) hash_seed: [u32; 4],
    /// Users of value inodes, where e2fsck looks for names of such.
    pub(in crate::ext4) value_refs: Option<&'a LinkCounts>,
    /// When each directory was first named: the key of that entry. By place in the list of directories.
    pub(in crate::ext4) named_at: Vec<AtomicU64>,
    /// Whether blocks without a fault may be taken as such ([`super::plain`]).
    pub(in crate::ext4) with_short_path: bool,
    /// Whether there are inodes to which names lead with consequences beyond the map of kinds.
    has_suspects: bool,
    first_ino: u32,
    inodes: u32,
    /// Hidden files: quotas and orphans.
    hidden: [u32; 4],
    strict_names: bool,
}

impl<'a> Shared<'a> {
    pub(in crate::ext4) fn new(volume: &'a Volume<'a>, state: &'a State) -> Shared<'a> {
        let sb = &volume.sb;
        let newest = volume.ext4.reference == Reference::E2fsck1474;
        let mut named_at = Vec::new();
        named_at.resize_with(state.directories.list.len(), AtomicU64::default);
        // The root is its own parent, whatever else names it.
        if let Some(root) = state.directories.get(number::ROOT) {
            root.parent.store(number::ROOT, Relaxed);
        }
        // Mostly nothing has a value elsewhere; then the map of zeros is left alone.
        let value_refs = state.attributes.value_refs.as_ref();
        let value_refs = value_refs.filter(|refs| newest && !refs.is_untouched());
        Shared {
            volume,
            state,
            order: Order {
                roots_first: sb.has_compat(Compat::DIR_INDEX),
            },
            with_types: sb.has_incompat(Incompat::FILETYPE),
            holes_allowed: sb.has_incompat(Incompat::LARGEDIR)
                && !sb.has_incompat(Incompat::INLINE_DATA),
            hash: sb.default_hash_version(),
            hash_seed: sb.hash_seed(),
            value_refs,
            named_at,
            with_short_path: true,
            has_suspects: value_refs.is_some()
                || ![&state.bad, &state.on_bad_blocks, &state.bad_checksum]
                    .iter()
                    .all(|inodes| inodes.is_empty()),
            first_ino: sb.first_ino(),
            inodes: sb.s_inodes_count.get(),
            hidden: [
                sb.s_usr_quota_inum.get(),
                sb.s_grp_quota_inum.get(),
                sb.s_prj_quota_inum.get(),
                sb.s_orphan_file_inum.get(),
            ],
            strict_names: sb.s_encoding_flags.get() & casefold::STRICT != 0,
        }
    }

    /// Whether a name may lead to that inode at all.
    pub(in crate::ext4) fn is_legal(&self, inode: u32) -> bool {
        (inode == number::ROOT || inode >= self.first_ino)
            && inode <= self.inodes
            && !self.hidden.contains(&inode)
    }

    /// Whether a name of an inode of known kind may have consequences all the same.
    pub(in crate::ext4) fn is_suspect(&self, inode: u32) -> bool {
        let state = self.state;
        self.has_suspects
            && (state.bad.contains(inode)
                || state.on_bad_blocks.contains(inode)
                || state.bad_checksum.contains(inode)
                || self
                    .value_refs
                    .is_some_and(|refs| refs.get(slot_of(inode)) > 0))
    }

    /// Whether the filesystem keeps small directories within their inodes.
    pub(in crate::ext4) fn has_inline(&self) -> bool {
        self.volume.sb.has_incompat(Incompat::INLINE_DATA)
    }

    /// Whether e2fsck skips the blocks of a directory: with inline content about, it reads the inode again for each, and goes on with the
    /// next one where it cannot because of the checksum. None of its names counts then.
    pub(in crate::ext4) fn passes_over(&self, inode: u32) -> bool {
        self.has_inline() && self.state.bad_checksum.contains(inode)
    }

    /// The directory at that place of the list.
    pub(in crate::ext4) fn directory(&self, at: usize) -> Option<Dir<'a>> {
        let volume = self.volume;
        let directory = self.state.directories.list.get(at)?;
        let has = |flags| directory.flags & flags != 0;
        let policy = self.state.attributes.policies.of(directory.inode);
        let folds = has(flag::CASEFOLD) && volume.sb.has_incompat(Incompat::CASEFOLD);
        Some(Dir {
            directory,
            at,
            seed: volume
                .seed
                .map(|seed| seed.of_inode(directory.inode, directory.generation)),
            policy,
            folds,
            stores_hashes: has(flag::CASEFOLD) && policy.is_some(),
            strict: folds && self.strict_names,
            indexed: has(flag::INDEX),
            bad_checksum: self.state.bad_checksum.contains(directory.inode),
        })
    }

    /// The hash that the leaves of a directory are taken to be ordered by before its root is known.
    pub(in crate::ext4) fn expected_hash(&self, dir: &Dir<'_>) -> Option<HashVersion> {
        if dir.stores_hashes {
            Some(HashVersion::SipHash)
        } else {
            self.hash
        }
    }

    /// The hash that a root's number stands for.
    pub(in crate::ext4) fn hash_of(&self, number: u8) -> Option<HashVersion> {
        HashVersion::from_disk(number, self.volume.sb.unsigned_hash())
    }
}

/// A directory while its blocks are looked at.
#[derive(Clone, Copy)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "flags of an inode, each by itself"
)]
pub(in crate::ext4) struct Dir<'a> {
    pub(in crate::ext4) directory: &'a Directory,
    /// Its place in the list.
    pub(in crate::ext4) at: usize,
    /// What the checksums of its blocks start from.
    pub(in crate::ext4) seed: Option<Seed>,
    /// What it is encrypted with.
    pub(in crate::ext4) policy: Option<PolicyId>,
    /// Names are folded before they are hashed.
    pub(in crate::ext4) folds: bool,
    /// Hashes are stored after the names, because they cannot be computed without the key.
    pub(in crate::ext4) stores_hashes: bool,
    /// Names must be UTF-8.
    pub(in crate::ext4) strict: bool,
    /// It has, or should have, an index.
    pub(in crate::ext4) indexed: bool,
    /// Its own checksum is wrong.
    pub(in crate::ext4) bad_checksum: bool,
}

impl Dir<'_> {
    /// Its number.
    pub(in crate::ext4) fn inode(&self) -> u32 {
        self.directory.inode
    }

    /// Makes `parent` the parent if there is none yet; whether it was. A name that comes earlier in e2fsck's order may replace it later.
    pub(in crate::ext4) fn claim(shared: &Shared<'_>, child: usize, parent: u32, key: u64) -> bool {
        let directory = &shared.state.directories.list[child];
        let taken = directory
            .parent
            .compare_exchange(0, parent, Relaxed, Relaxed);
        if taken.is_ok() {
            shared.named_at[child].store(key, Relaxed);
        }
        taken.is_ok()
    }
}
