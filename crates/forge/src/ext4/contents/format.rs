//! What objects must know of a filesystem before anything has a place in it.

use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use super::{inline, xattr_area};
use crate::Error;
use crate::ext4::directory::{Hashing, Rules};
use crate::population::Blocks;

/// Sizes and features of a filesystem that decide how its objects are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// Blocks, and clusters with `bigalloc`.
    pub(super) blocks: Blocks,
    /// Whether `i_blocks` has 48 bits.
    pub(super) huge_file: bool,
    /// Bytes after an inode's fields, the magic of the attributes included.
    pub(super) inode_room: usize,
    /// Whether files have extents, so that blocks may be unwritten.
    pub(super) extents: bool,
    /// Bytes that `system.data` can have beside no other attribute, where inodes hold content (`inline_data`).
    pub(super) inline: Option<u32>,
}

impl Format {
    pub(super) fn of(sb: &Superblock) -> Self {
        Self {
            blocks: Blocks {
                size: sb.block_size(),
                cluster: cluster(sb),
            },
            huge_file: sb.has_ro_compat(RoCompat::HUGE_FILE),
            inode_room: xattr_area::room(sb),
            extents: sb.has_incompat(Incompat::EXTENTS),
            inline: inline::room(sb),
        }
    }

    /// Bytes of the longest value of an attribute in a block of attributes.
    pub(super) fn longest_attribute(&self) -> u64 {
        u64::from(self.blocks.size / 4).min(500)
    }
}

/// Blocks of a cluster.
fn cluster(sb: &Superblock) -> u32 {
    let [block, cluster] = [&sb.s_log_block_size, &sb.s_log_cluster_size].map(|log| log.get());
    match cluster.checked_sub(block) {
        Some(log @ 1..=16) if sb.has_ro_compat(RoCompat::BIGALLOC) => 1 << log,
        _ => 1,
    }
}

/// The rules by which directories of a filesystem grow.
///
/// # Errors
///
/// [`Error::Option`] for a hash that needs a key.
pub fn rules(sb: &Superblock) -> Result<Rules, Error> {
    let index = match sb.default_hash_version() {
        _ if !sb.has_compat(Compat::DIR_INDEX) => None,
        Some(version) if version.to_disk() < 6 => Some(Hashing {
            version,
            seed: sb.hash_seed(),
        }),
        _ => {
            return Err(Error::Option(
                "names cannot be hashed by SipHash, whose key only an encrypted directory has; take half_md4, tea or legacy"
                    .to_owned(),
            ));
        }
    };
    Ok(Rules {
        block_size: sb.block_size(),
        checksums: sb.has_ro_compat(RoCompat::METADATA_CSUM),
        index,
        most_levels: if sb.has_incompat(Incompat::LARGEDIR) {
            2
        } else {
            1
        },
        file_types: sb.has_incompat(Incompat::FILETYPE),
        inline: inline::room(sb),
        secret: None,
    })
}
