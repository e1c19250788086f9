//! Each group descriptor for itself.

use ondisk::ext4::Checksum;
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P0_BB_NOT_GROUP, P0_BB_UNINIT_LAST, P0_GDT_CSUM, P0_GDT_CSUM_LATCH, P0_GDT_ITABLE_UNUSED,
    P0_GDT_UNINIT, P0_IB_NOT_GROUP, P0_ITABLE_NOT_GROUP, P0_RELOCATE_HINT,
};
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Places, checksums, flags, in the order of groups.
pub(super) fn check(volume: &Volume<'_>, log: &mut Log) {
    let mut walk = Walk {
        volume,
        log,
        hinted: volume.backup.is_some(),
        asked: false,
    };
    let way = DescriptorChecksum::of(&volume.sb);
    let mut checksums = volume.claims.checksums.iter().peekable();
    let mut uninit = volume.claims.uninit.iter().peekable();
    for group in 0..volume.geometry.groups {
        walk.places(group);
        if let Some((_, sum)) = checksums.next_if(|(at, _)| *at == group) {
            walk.checksum(group, *sum);
        }
        if uninit.next_if_eq(&&group).is_some() {
            walk.log.add(
                Finding::new(&P0_GDT_UNINIT)
                    .group(group)
                    .found(format!("bg_flags {:#x}", walk.flags(group))),
            );
        }
        walk.last(group);
        if way.allows_uninit() {
            walk.unused(group);
        }
    }
}

struct Walk<'a> {
    volume: &'a Volume<'a>,
    log: &'a mut Log,
    /// The advice about moving tables was given, or is of no use.
    hinted: bool,
    asked: bool,
}

impl Walk<'_> {
    fn flags(&self, group: u32) -> u16 {
        let flags = self.volume.claims.flags.get(group as usize);
        flags.copied().unwrap_or_default()
    }

    fn places(&mut self, group: u32) {
        let volume = self.volume;
        let Some(descriptor) = volume.descriptors.get(group as usize) else {
            return;
        };
        let flex_bg = volume.sb.has_incompat(Incompat::FLEX_BG);
        let range = volume.geometry.metadata_range(group, flex_bg);
        let table = u64::from(volume.geometry.inode_table_blocks());
        let pieces: [(&'static Problem, u64, u64); 3] = [
            (&P0_BB_NOT_GROUP, descriptor.block_bitmap(), 1),
            (&P0_IB_NOT_GROUP, descriptor.inode_bitmap(), 1),
            (&P0_ITABLE_NOT_GROUP, descriptor.inode_table(), table),
        ];
        for (problem, start, len) in pieces {
            if start >= range.start && start.saturating_add(len) <= range.end {
                continue;
            }
            if !std::mem::replace(&mut self.hinted, true) {
                self.log.add(Finding::new(&P0_RELOCATE_HINT));
            }
            let last = range.end.saturating_sub(len);
            self.log.add(
                Finding::new(problem)
                    .group(group)
                    .found(start)
                    .expected(format!("{}-{last}", range.start)),
            );
        }
    }

    fn checksum(&mut self, group: u32, sum: Checksum) {
        if !std::mem::replace(&mut self.asked, true) {
            self.log.add(Finding::new(&P0_GDT_CSUM_LATCH));
        }
        self.log.add(
            Finding::new(&P0_GDT_CSUM)
                .group(group)
                .found(format!("{:#06x}", sum.stored))
                .expected(format!("{:#06x}", sum.computed)),
        );
    }

    /// The last group's bitmap has padding that must be set, so it must have been written.
    fn last(&mut self, group: u32) {
        let last = group + 1 == self.volume.geometry.groups;
        if last && self.flags(group) & BLOCK_UNINIT != 0 {
            self.log.add(Finding::new(&P0_BB_UNINIT_LAST).group(group));
        }
    }

    fn unused(&mut self, group: u32) {
        let volume = self.volume;
        let Some(descriptor) = volume.descriptors.get(group as usize) else {
            return;
        };
        let (unused, free) = (descriptor.itable_unused(), descriptor.free_inodes());
        let most = free.min(volume.geometry.inodes_per_group);
        if unused > most {
            self.log.add(
                Finding::new(&P0_GDT_ITABLE_UNUSED)
                    .group(group)
                    .found(unused)
                    .expected(format!("up to {most}")),
            );
        }
    }
}
