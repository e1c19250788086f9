//! What tests of the judges share: the rules of a small filesystem.

use ondisk::xfs::Geometry;

use super::inode::plain::Plain;
use super::rules::Rules;

const NOW: i64 = 1_800_000_000;

/// The geometry of 1 GiB as `mkfs.xfs` makes it.
pub(crate) fn geometry() -> Geometry {
    Geometry {
        v5: true,
        block_size: 4096,
        block_log: 12,
        sector_size: 512,
        inode_size: 512,
        inode_log: 9,
        inopb_log: 3,
        ag_blocks: 65536,
        ag_count: 4,
        agblk_log: 16,
        blocks: 262_144,
        dirblk_log: 0,
        inode_align: 8,
        uuid: [7; 16],
        ftype: true,
        finobt: true,
        rmapbt: false,
        reflink: true,
        inobtcount: true,
        sparse_inodes: true,
        bigtime: true,
        nrext64: false,
        lazy_count: true,
        ascii_ci: false,
    }
}

/// Its rules.
pub(crate) fn rules() -> Rules {
    let geometry = geometry();
    Rules {
        geometry,
        root: 128,
        rbm: 129,
        rsum: 130,
        quota: [0; 3],
        rt_blocks: 0,
        rt_extent: 1,
        rbm_size: 0,
        rsum_size: 0,
        dir_blocks: 1,
        leaf: 1 << 23,
        free: 1 << 24,
        most_offset: i64::MAX as u64 >> 12,
        now: NOW,
        parents: false,
        plain: Plain::new(&geometry, NOW, [128, 129, 130, 0, 0, 0]),
        cut_at: None,
    }
}
