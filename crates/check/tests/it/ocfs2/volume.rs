//! A volume in memory: what mkfs.ocfs2 makes, read and changed through the structures of `ondisk`.

use std::collections::BTreeMap;
use std::process::Command;

use ondisk::ocfs2::chain::{self, BITMAP, ChainHead};
use ondisk::ocfs2::dinode::{self, BODY, dynamic};
use ondisk::ocfs2::{
    ChainList, ChainRecord, Dinode, GroupDescriptor, Superblock, Volume, check, directory, feature,
};
use zerocopy::FromZeros as _;

/// What a volume is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) block: usize,
    pub(crate) cluster: usize,
    pub(crate) options: &'static [&'static str],
}

/// A volume in memory.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) layout: Volume,
    pub(crate) sb: Superblock,
    pub(crate) files: BTreeMap<String, u64>,
    /// Where the checksum of each changed block is.
    pub(crate) checks: BTreeMap<u64, usize>,
}

impl Image {
    /// An empty volume of 64 MiB; none without mkfs.ocfs2.
    pub(crate) fn made(made: Made) -> Option<Image> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("volume");
        std::fs::File::create(&path)
            .unwrap()
            .set_len(64 << 20)
            .unwrap();
        let (block, cluster) = (made.block.to_string(), made.cluster.to_string());
        let output = Command::new("mkfs.ocfs2")
            .args([
                "-q", "-F", "-J", "size=4M", "-N", "2", "-b", &block, "-C", &cluster,
            ])
            .args(made.options)
            .arg(&path)
            .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
            .output();
        let Ok(output) = output else {
            testkit::skip!("mkfs.ocfs2 is not installed");
            return None;
        };
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let bytes = std::fs::read(&path).unwrap();
        let sb = *Superblock::read(&bytes[2 * made.block..]).unwrap();
        let mut image = Image {
            bytes,
            layout: Volume::new(&sb).unwrap(),
            sb,
            files: BTreeMap::new(),
            checks: BTreeMap::new(),
        };
        let names = image.names(sb.s_system_dir_blkno.get());
        image.files = names.into_iter().collect();
        Some(image)
    }

    pub(crate) fn block(&self, number: u64) -> &[u8] {
        let size = self.layout.block_size();
        &self.bytes[number as usize * size..][..size]
    }

    pub(crate) fn block_mut(&mut self, number: u64) -> &mut [u8] {
        let size = self.layout.block_size();
        &mut self.bytes[number as usize * size..][..size]
    }

    pub(crate) fn has(&self, incompat: u32) -> bool {
        self.sb.has_incompat(incompat)
    }

    pub(crate) fn inode(&self, number: u64) -> Dinode {
        *Dinode::read(self.block(number)).unwrap()
    }

    /// Changes the head of an inode.
    pub(crate) fn change(&mut self, number: u64, change: impl FnOnce(&mut Dinode)) {
        self.checks.insert(number, dinode::CHECK);
        change(Dinode::read_mut(self.block_mut(number)).unwrap());
    }

    /// Overwrites bytes of a block whose checksum is at `check`.
    pub(crate) fn put(&mut self, number: u64, check: usize, at: usize, bytes: &[u8]) {
        self.checks.insert(number, check);
        self.block_mut(number)[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Computes the checksums of all blocks that were changed.
    pub(crate) fn store_checks(&mut self) {
        if self.has(feature::META_ECC) {
            for (number, offset) in self.checks.clone() {
                check::store(self.block_mut(number), offset).unwrap();
            }
        }
        self.checks.clear();
    }

    /// Entries of an inline directory, or of one with a single extent.
    pub(crate) fn names(&self, directory: u64) -> Vec<(String, u64)> {
        let block = self.block(directory);
        let inode = self.inode(directory);
        let mut parts = Vec::new();
        if inode.has_dynamic(dynamic::INLINE_DATA) {
            parts.push(&block[dinode::INLINE_DATA..][..inode.i_size.get() as usize]);
        } else {
            let list = ondisk::ocfs2::ExtentList::read(&block[BODY..]).unwrap();
            let first = list.get(0).unwrap().e_blkno.get();
            let count = inode.i_size.get() >> self.layout.block_bits;
            parts.extend((first..first + count).map(|block| self.block(block)));
        }
        let entries = parts.into_iter().flat_map(directory::entries);
        entries
            .filter(|(_, entry, name)| entry.inode.get() != 0 && !name.is_empty())
            .map(|(_, entry, name)| {
                (
                    String::from_utf8_lossy(name).into_owned(),
                    entry.inode.get(),
                )
            })
            .collect()
    }

    pub(crate) fn chains(&self, allocator: u64) -> Vec<ChainRecord> {
        let list = ChainList::read(&self.block(allocator)[BODY..]).unwrap();
        list.first(list.head().cl_next_free_rec.get().into())
            .copied()
            .collect()
    }

    /// Takes `count` free bits in a row from the first group of an allocator that has them: the descriptor and the bit.
    pub(crate) fn take(&mut self, allocator: u64, count: usize) -> (u64, usize) {
        for (chain, record) in self.chains(allocator).into_iter().enumerate() {
            let group = record.c_blkno.get();
            let head = *GroupDescriptor::read(self.block(group)).unwrap();
            let bits = usize::from(head.bg_bits.get());
            let bitmap = &self.block(group)[BITMAP..];
            let free = |from: usize| (from..from + count).all(|at| !chain::bit(bitmap, at));
            let Some(first) = (1..bits.saturating_sub(count)).find(|&from| free(from)) else {
                continue;
            };
            self.checks.insert(group, 0x30);
            let block = self.block_mut(group);
            for at in first..first + count {
                chain::set_bit(&mut block[BITMAP..], at, true);
            }
            let head = GroupDescriptor::read_mut(block).unwrap();
            head.bg_free_bits_count
                .set(head.bg_free_bits_count.get() - count as u16);
            let mut record = record;
            record.c_free.set(record.c_free.get() - count as u32);
            self.checks.insert(allocator, dinode::CHECK);
            ChainList::put(&mut self.block_mut(allocator)[BODY..], chain, record).unwrap();
            self.change(allocator, |inode| {
                inode.set_bitmap(inode.used() + count as u32, inode.total());
            });
            return (group, first);
        }
        panic!("no room in the allocator {allocator}");
    }

    /// Clusters for data: their first block.
    pub(crate) fn clusters(&mut self, count: usize) -> u64 {
        let (group, bit) = self.take(self.files["global_bitmap"], count);
        let first = if group == self.layout.first_group {
            0
        } else {
            self.layout.cluster_of(group)
        };
        self.layout.block_of(first + bit as u64)
    }

    /// One more group of an allocator, empty, in a chain of its own.
    pub(crate) fn add_group(&mut self, allocator: u64) {
        let list = *ChainList::read(&self.block(allocator)[BODY..])
            .unwrap()
            .head();
        let per_group = list.cl_cpg.get();
        let bits = per_group * list.cl_bpc.get();
        let chain = list.cl_next_free_rec.get();
        let block = self.clusters(per_group.into());
        let size = self.layout.block_size();
        self.block_mut(block).fill(0);
        let mut group = GroupDescriptor::new_zeroed();
        group.bg_signature = chain::SIGNATURE;
        let room = if self.has(feature::DISCONTIG_BG) {
            chain::DISCONTIG_BITMAP
        } else {
            chain::bitmap_size(size)
        };
        group.bg_size = (room as u16).into();
        group.bg_bits = bits.into();
        group.bg_free_bits_count = (bits - 1).into();
        group.bg_chain = chain.into();
        group.bg_generation = self.sb.i_fs_generation;
        group.bg_parent_dinode = allocator.into();
        group.bg_blkno = block.into();
        self.put_structure(block, 0x30, 0, &group);
        self.put(block, 0x30, BITMAP, &[1]);
        let record = ChainRecord {
            c_free: u32::from(bits - 1).into(),
            c_total: u32::from(bits).into(),
            c_blkno: block.into(),
        };
        let used = ChainHead {
            cl_next_free_rec: (chain + 1).into(),
            ..list
        };
        self.put_structure(allocator, dinode::CHECK, BODY, &used);
        ChainList::put(&mut self.block_mut(allocator)[BODY..], chain.into(), record).unwrap();
        let bytes = u64::from(per_group) * self.layout.cluster_size();
        self.change(allocator, |inode| {
            inode.set_bitmap(inode.used() + 1, inode.total() + u32::from(bits));
            inode.i_clusters = (inode.i_clusters.get() + u32::from(per_group)).into();
            inode.i_size = (inode.i_size.get() + bytes).into();
        });
    }

    /// A block of slot 0's extent allocator, whose first group mkfs.ocfs2 leaves out on a small volume: its number and its bit.
    pub(crate) fn meta_block(&mut self) -> (u64, u16) {
        let allocator = self.files["extent_alloc:0000"];
        if self.chains(allocator).is_empty() {
            self.add_group(allocator);
        }
        let (group, bit) = self.take(self.files["extent_alloc:0000"], 1);
        self.block_mut(group + bit as u64).fill(0);
        (group + bit as u64, bit as u16)
    }

    /// A new inode of slot 0.
    pub(crate) fn new_inode(&mut self, mode: u16, links: u32) -> u64 {
        let (group, bit) = self.take(self.files["inode_alloc:0000"], 1);
        let number = group + bit as u64;
        let generation = self.sb.i_fs_generation;
        self.block_mut(number).fill(0);
        self.change(number, |inode| {
            inode.i_signature = dinode::SIGNATURE;
            inode.i_generation = 77.into();
            inode.i_suballoc_bit = (bit as u16).into();
            inode.i_mode = mode.into();
            inode.set_links(links);
            inode.i_flags = dinode::flag::VALID.into();
            inode.i_blkno = number.into();
            inode.i_fs_generation = generation;
        });
        number
    }

    /// The bytes of a fixed structure into a block.
    pub(crate) fn put_structure<T: zerocopy::IntoBytes + zerocopy::Immutable>(
        &mut self,
        number: u64,
        check: usize,
        at: usize,
        structure: &T,
    ) {
        self.put(number, check, at, structure.as_bytes());
    }
}
