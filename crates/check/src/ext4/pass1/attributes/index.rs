//! The root of an index, as far as pass 1 looks at it.

use ondisk::ext4::feature::Incompat;

use super::pending::Root;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P1_HTREE_BADROOT, P1_HTREE_CANNOT_SIPHASH, P1_HTREE_DEPTH, P1_HTREE_HASHV, P1_HTREE_INCOMPAT,
    P1_HTREE_NEEDS_SIPHASH,
};
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Where `struct dx_root_info` begins.
const INFO: usize = 24;
/// `hash_version` of keyed hashes.
const SIPHASH: u8 = 6;
/// Versions that may be on disk.
const VERSIONS: [u8; 4] = [0, 1, 2, SIPHASH];
/// `unused_flags`: an unknown layout.
const INCOMPAT: u8 = 1;
/// Levels that any filesystem may have, and those that `large_dir` allows.
const LEVELS: (u8, u8) = (2, 3);
/// Files of this size need `large_file`, and directories `large_dir`.
const LARGE: u64 = 1 << 31;

/// Judges a root. `true`: the directory needs the feature `large_dir`.
pub(super) fn judge(volume: &Volume<'_>, root: &Root, block: &[u8], log: &mut Log) -> bool {
    let about = |problem: &'static Problem| {
        Finding::new(problem)
            .inode(root.ino)
            .block(root.block)
            .logical(0)
            .offset(INFO)
    };
    let Some([a, b, c, d, version, length, levels, flags]) = block
        .get(INFO..)
        .and_then(|info| info.first_chunk::<8>())
        .copied()
    else {
        return false;
    };
    let reserved = u32::from_le_bytes([a, b, c, d]);
    if reserved != 0 || length < 8 {
        let found = format!("reserved_zero {reserved:#x}, info_length {length}");
        log.add(about(&P1_HTREE_BADROOT).found(found).expected("0, 8"));
    }
    if !VERSIONS.contains(&version) {
        let expected = "0, 1, 2 or 6";
        log.add(
            about(&P1_HTREE_HASHV)
                .found(u32::from(version))
                .expected(expected),
        );
    }
    if root.hashes_beside_names && version != SIPHASH {
        let fault = about(&P1_HTREE_NEEDS_SIPHASH).found(u32::from(version));
        log.add(fault.expected(u32::from(SIPHASH)));
    } else if !root.hashes_beside_names && version == SIPHASH {
        log.add(about(&P1_HTREE_CANNOT_SIPHASH).found(u32::from(version)));
    }
    if flags & INCOMPAT != 0 {
        log.add(about(&P1_HTREE_INCOMPAT).found(format!("{flags:#x}")));
    }
    let (common, most) = LEVELS;
    let too_deep = || about(&P1_HTREE_DEPTH).found(u32::from(levels));
    if levels > most {
        log.add(too_deep().expected(format!("at most {most}")));
    }
    let large = volume.sb.has_incompat(Incompat::LARGEDIR);
    if levels > common && !large && is_small(volume, root) {
        log.add(too_deep().expected(format!("at most {common}")));
    }
    levels > common || root.size >= LARGE
}

/// Whether a directory is too small for three levels. The reference compares with the size of a full index of two levels, and with
/// its sectors, computed in 32 bits; what is left of the products is kept here.
fn is_small(volume: &Volume<'_>, root: &Root) -> bool {
    let bits = volume.sb.s_log_block_size.get().min(6) + 20;
    let entries: u32 = 1 << (bits - 3);
    let blocks = (entries - 1).wrapping_mul(entries - 2);
    root.size < u64::from(blocks << bits) && root.sectors < blocks << (bits - 9)
}
