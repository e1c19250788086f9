//! The forecast of a check's memory and reads, from the descriptors.

use std::ops::Range;

use blockio::{Geometry, Sweep};
use ondisk::ext4::GroupDescriptor;
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};

use super::directories::{Directory, Run};
use super::pass1::{metadata, plan};
use super::volume::Volume;
use crate::frame::memory::{Estimate, Footprint, program_and_findings};
use crate::frame::options::Options;
use crate::frame::prefetch;

/// Bytes of the maps for each inode in use: six bits for type and links, five for names and whether it is used; a byte each where
/// links and names are more than three; and what attributes and quotas need for some. With few links it is no more than two.
const PER_INODE: u64 = 4;
/// Clusters that a page of a map has a bit for: what is touched of maps is touched by the page.
const PAGE_CLUSTERS: u64 = 8 * 4096;

impl Footprint for Volume<'_> {
    fn options(&mut self) -> &mut Options {
        &mut self.options
    }

    fn block_size(&self) -> usize {
        self.geometry.block_size as usize
    }

    fn sweep(&self) -> Sweep {
        Volume::sweep(self)
    }

    fn source_geometry(&self) -> Geometry {
        self.source.geometry()
    }

    fn bytes_to_read(&self) -> u64 {
        bytes_to_read(self)
    }

    fn estimate(&self) -> Estimate {
        let geometry = &self.geometry;
        let uninit = DescriptorChecksum::of(&self.sb).allows_uninit();
        let per_group = u64::from(geometry.inodes_per_group);
        let (mut inodes, mut directories) = (0, 0_u64);
        for descriptor in &self.descriptors {
            let unused = if !uninit {
                0
            } else if descriptor.has_flags(INODE_UNINIT) {
                per_group
            } else {
                u64::from(descriptor.itable_unused()).min(per_group)
            };
            inodes += per_group - unused;
            directories += u64::from(descriptor.used_dirs()).min(per_group);
        }
        let each = size_of::<Directory>() + size_of::<Run>();
        // The descriptor, its flags, ranges of metadata, and what passes 1 and 5 plan to read.
        let descriptor = size_of::<GroupDescriptor>() + 2 + 2 * size_of::<Range<u64>>();
        let group = descriptor + 3 * size_of::<blockio::Span>();
        Estimate::new(vec![
            ("inodes", inodes * PER_INODE),
            ("blocks", map_pages(self, uninit) * 4096),
            ("directories", directories * each as u64),
            ("descriptors", self.descriptors.len() as u64 * group as u64),
            ("buffers", buffers(self) as u64),
            ("rest", program_and_findings(&self.options)),
        ])
    }
}

/// Pages of the maps of clusters that will be touched. A group in use takes two bits for each cluster: whether it is owned, and what later
/// passes keep for a while. A group that was never written has its bitmaps and its table all the same, there or elsewhere: they take the
/// pages that have their bits.
fn map_pages(volume: &Volume<'_>, uninit: bool) -> u64 {
    let geometry = &volume.geometry;
    let (first, ratio) = (
        u64::from(geometry.first_data_block),
        u64::from(geometry.cluster_blocks.max(1)),
    );
    let end = geometry.blocks_count.saturating_sub(first).div_ceil(ratio);
    let pages = usize::try_from(end.div_ceil(PAGE_CLUSTERS)).unwrap_or(0);
    let (mut used, mut touched) = (vec![false; pages], vec![false; pages]);
    let mark = |list: &mut [bool], clusters: Range<u64>| {
        let clusters = clusters.start.min(end)..clusters.end.min(end);
        let pages = clusters.start / PAGE_CLUSTERS..clusters.end.div_ceil(PAGE_CLUSTERS);
        if !clusters.is_empty() {
            list[pages.start as usize..pages.end as usize].fill(true);
        }
    };
    let per_group = u64::from(geometry.clusters_per_group);
    for (layout, descriptor) in geometry.group_layouts().zip(&volume.descriptors) {
        let start = u64::from(layout.group) * per_group;
        if !(uninit && descriptor.has_flags(BLOCK_UNINIT)) {
            mark(&mut used, start..start + per_group);
        }
        for part in metadata::parts(volume, &layout, descriptor) {
            let cluster = |block: u64| block.saturating_sub(first) / ratio;
            let clusters = cluster(part.start)..cluster(part.end.saturating_sub(1)) + 1;
            if !part.is_empty() {
                mark(&mut touched, clusters);
            }
        }
    }
    let pages = used.into_iter().zip(touched);
    pages
        .map(|(used, touched)| 2 * u64::from(used) + u64::from(touched && !used))
        .sum()
}

/// Bytes of the sweep's buffers, and of nodes that are prefetched.
fn buffers(volume: &Volume<'_>) -> usize {
    let source = volume.source.geometry();
    let (first, below) = prefetch::sizes(&volume.options, volume.block_size());
    // Inodes that wait for their nodes take no more than the first level. Walks before and after the sweep of pass 1 have
    // buffers as well, when those of the sweep are gone.
    let reading = prefetch::sweep(&volume.sweep()).memory(source);
    let nodes = 2 * first + prefetch::LEVELS_BELOW * below + reading;
    volume.sweep().memory(source) + volume.options.threads.max(1) * nodes
}

/// Bytes that all passes will cover, as known before pass 1: the inode tables as planned, a block for each directory that the
/// descriptors count, and bitmaps.
pub(crate) fn bytes_to_read(volume: &Volume<'_>) -> u64 {
    let per_group = u64::from(volume.geometry.inodes_per_group);
    let counts = volume.descriptors.iter();
    let directories: u64 = counts
        .map(|descriptor| u64::from(descriptor.used_dirs()).min(per_group))
        .sum();
    plan::bytes_to_read(volume)
        + directories * u64::from(volume.geometry.block_size)
        + bytes_after_pass1(volume, 0)
}

/// Bytes that the passes after pass 1 will cover, when it has found this many blocks of directories: these, and the bitmaps that
/// were ever written.
pub(crate) fn bytes_after_pass1(volume: &Volume<'_>, directory_blocks: u64) -> u64 {
    let written = |descriptor: &GroupDescriptor| {
        let is = |flag| u64::from(!descriptor.has_flags(flag));
        is(INODE_UNINIT) + is(BLOCK_UNINIT)
    };
    let bitmaps: u64 = volume.descriptors.iter().map(written).sum();
    let blocks = directory_blocks.saturating_add(bitmaps);
    blocks.saturating_mul(volume.geometry.block_size.into())
}
