//! Symbolic links: targets in the inode, and in blocks.

use ondisk::xfs::dinode::Format;
use ondisk::xfs::remote::{self, MOST_TARGET, RemoteHead};
use ondisk::xfs::{Extent, Geometry, checksum, extent};

use super::core::Subject;
use crate::frame::finding::Finding;
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::xfs_repair::problems::{
    LINK_BLOCK, LINK_CRC, LINK_EMPTY, LINK_EXTENT_COUNT, LINK_EXTENT_OFFSET, LINK_EXTENTS,
    LINK_FORMAT_SIZE, LINK_HEADER, LINK_LONG, LINK_NUL,
};

/// The smallest block of a filesystem with checksums holds this much of a target: no target has more extents than that gives.
const LEAST_PAYLOAD: u64 = 512 - RemoteHead::SIZE as u64;

/// The size against the format, and the shape of the extents. False where xfs_repair would clear the inode.
pub(crate) fn sizes(it: &Subject<'_>, sink: &mut impl Sink) -> bool {
    let inode = &it.inode;
    let fork = inode.data_fork();
    let local = inode.format() == Format::Local as u8;
    let fits = inode.size() <= fork.len() as u64;
    if inode.size() >= MOST_TARGET {
        sink.find(it.about(&LINK_LONG).found(inode.size()));
        return false;
    }
    if fits != local {
        let finding = it.about(&LINK_FORMAT_SIZE).found(inode.size());
        sink.find(finding.note(format!("format {}", inode.format())));
        return false;
    }
    if local {
        return true;
    }
    let most = MOST_TARGET.div_ceil(LEAST_PAYLOAD);
    if inode.nextents() > most {
        sink.find(it.about(&LINK_EXTENTS).found(inode.nextents()));
        return false;
    }
    let (mut expected, mut left) = (0, most);
    for extent in extent::list(fork, inode.nextents() as usize) {
        if extent.offset != expected {
            sink.find(it.about(&LINK_EXTENT_OFFSET).found(extent.offset));
            return false;
        }
        if extent.count == 0 || extent.count > left {
            sink.find(it.about(&LINK_EXTENT_COUNT).found(extent.count));
            return false;
        }
        left -= extent.count;
        expected += extent.count;
    }
    true
}

/// The characters of a target in the inode. False where xfs_repair would clear the inode.
pub(crate) fn judge(it: &Subject<'_>, sink: &mut impl Sink) -> bool {
    let size = it.inode.size();
    if size == 0 {
        sink.find(it.about(&LINK_EMPTY));
        return false;
    }
    if it.inode.format() != Format::Local as u8 {
        return true;
    }
    let target = &it.inode.data_fork()[..size as usize];
    if target.contains(&0) {
        sink.find(it.about(&LINK_NUL));
        return false;
    }
    true
}

/// A contiguous part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// First block of the filesystem.
    pub(crate) block: u64,
    /// Blocks.
    pub(crate) count: u64,
    /// First byte of the target in it.
    pub(crate) offset: u64,
    /// Bytes of the target in it.
    pub(crate) bytes: u64,
}

/// The parts of a target of `size` bytes; none where a block of it is not mapped.
pub(crate) fn parts(geometry: &Geometry, extents: &[Extent], size: u64) -> Option<Vec<Part>> {
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for extent in extents {
        match joined.last_mut() {
            Some((block, count)) if *block + *count == extent.block => *count += extent.count,
            _ => joined.push((extent.block, extent.count)),
        }
    }
    let head = remote::header(geometry.v5) as u64;
    let (mut parts, mut offset) = (Vec::new(), 0);
    for (block, count) in joined {
        if offset >= size {
            break;
        }
        // Each contiguous run has one head.
        let bytes = ((count << geometry.block_log) - head).min(size - offset);
        parts.push(Part {
            block,
            count,
            offset,
            bytes,
        });
        offset += bytes;
    }
    (offset >= size).then_some(parts)
}

/// Judges a part of the target of `ino`. `bytes` are all of its blocks.
pub(crate) fn part(rules: &Rules, ino: u64, part: &Part, bytes: &[u8], sink: &mut impl Sink) {
    let about = |problem| Finding::new(problem).inode(ino).block(part.block);
    let v5 = rules.geometry.v5;
    if v5 {
        if !checksum::is_right(bytes, checksum::REMOTE) {
            sink.find(about(&LINK_CRC));
            return;
        }
        let Ok(head) = RemoteHead::read(bytes) else {
            return;
        };
        if head.magic.get() != remote::SYMLINK_MAGIC
            || head.uuid != rules.geometry.uuid
            || head.blkno.get() != rules.geometry.daddr(part.block)
            || u64::from(head.offset.get()) + u64::from(head.bytes.get()) >= MOST_TARGET
        {
            sink.find(about(&LINK_BLOCK));
            return;
        }
        sink.lsn(head.lsn.get());
        if u64::from(head.offset.get()) != part.offset
            || u64::from(head.bytes.get()) != part.bytes
            || head.owner.get() != ino
        {
            let found = format!(
                "offset {}, {} bytes, inode {}",
                head.offset.get(),
                head.bytes.get(),
                head.owner.get()
            );
            sink.find(about(&LINK_HEADER).found(found));
            return;
        }
    }
    let from = remote::header(v5);
    let target = bytes.get(from..from + part.bytes as usize);
    if target.is_some_and(|target| target.contains(&0)) {
        sink.find(about(&LINK_NUL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_runs_of_blocks_with_one_head_each() {
        let geometry = crate::xfs::fixture::geometry();
        let extent = |offset, block, count| Extent {
            offset,
            block,
            count,
            unwritten: false,
        };
        let one = parts(&geometry, &[extent(0, 40, 1)], 900).unwrap();
        assert_eq!((one.len(), one[0].bytes), (1, 900));
        let two = parts(&geometry, &[extent(0, 40, 1), extent(1, 41, 1)], 5000).unwrap();
        assert_eq!((two.len(), two[0].count, two[0].bytes), (1, 2, 5000));
        let apart = parts(&geometry, &[extent(0, 40, 1), extent(1, 50, 1)], 5000).unwrap();
        assert_eq!((apart.len(), apart[1].offset), (2, 4040));
        assert_eq!(parts(&geometry, &[extent(0, 40, 1)], 5000), None);
    }
}
