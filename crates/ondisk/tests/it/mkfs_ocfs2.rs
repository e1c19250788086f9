//! What mkfs.ocfs2 writes is what the structures of `ondisk::ocfs2` read, and what they write again.

use std::path::Path;
use std::process::Command;

use ondisk::ext4::journal::JournalSuperblock;
use ondisk::ocfs2::check::Judged;
use ondisk::ocfs2::dinode::{self, flag};
use ondisk::ocfs2::{
    ChainList, Dinode, Entry, ExtentList, ExtentRecord, GroupDescriptor, Superblock, Trailer,
    Volume, chain, check, directory, extent, feature, hash, logs, system,
};

/// A new volume: block size, cluster size, MiB and further options. None without the program, which is reported.
fn made(block: usize, cluster: usize, mib: u64, options: &[&str]) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("volume");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(mib << 20)
        .unwrap();
    run(&path, block, cluster, options).then(|| std::fs::read(&path).unwrap())
}

fn run(path: &Path, block: usize, cluster: usize, options: &[&str]) -> bool {
    let (block, cluster) = (block.to_string(), cluster.to_string());
    let output = Command::new("mkfs.ocfs2")
        .args([
            "-q", "-F", "-b", &block, "-C", &cluster, "-L", "label", "-J", "size=4M",
        ])
        .args(options)
        .arg(path)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output();
    let Ok(output) = output else {
        testkit::skip!("mkfs.ocfs2 is not installed");
        return false;
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    true
}

struct Image {
    bytes: Vec<u8>,
    volume: Volume,
    sb: Superblock,
}

impl Image {
    fn new(bytes: Vec<u8>) -> Image {
        let at = [512, 1024, 2048, 4096]
            .map(|size| 2 * size)
            .into_iter()
            .find(|&at| bytes[at..].starts_with(b"OCFSV2"))
            .unwrap();
        let sb = *Superblock::read(&bytes[at..]).unwrap();
        let volume = Volume::new(&sb).unwrap();
        assert_eq!(2 * volume.block_size(), at);
        Image { bytes, volume, sb }
    }

    fn block(&self, number: u64) -> &[u8] {
        let size = self.volume.block_size();
        &self.bytes[number as usize * size..][..size]
    }

    fn inode(&self, number: u64) -> &Dinode {
        let inode = Dinode::read(self.block(number)).unwrap();
        assert_eq!(
            (inode.i_signature, inode.i_blkno.get()),
            (dinode::SIGNATURE, number)
        );
        inode
    }

    /// The blocks of a directory, or its inline contents.
    fn names(&self, directory: u64) -> Vec<(String, u64, u8)> {
        let block = self.block(directory);
        let parts: Vec<&[u8]> = if self
            .inode(directory)
            .has_dynamic(dinode::dynamic::INLINE_DATA)
        {
            let room = dinode::inline_room(block.len(), self.inode(directory).xattr_tail());
            assert_eq!(self.inode(directory).i_size.get(), room as u64);
            vec![&block[dinode::INLINE_DATA..][..room]]
        } else {
            let list = ExtentList::read(&block[dinode::BODY..]).unwrap();
            let size = self.inode(directory).i_size.get() >> self.volume.block_bits;
            let first = list.get(0).unwrap().e_blkno.get();
            (first..first + size)
                .map(|block| self.block(block))
                .collect()
        };
        let with_trailer = self.sb.has_incompat(feature::META_ECC) && parts[0].len() == block.len();
        let mut found = Vec::new();
        for part in parts {
            let end = if with_trailer {
                Trailer::offset(part.len())
            } else {
                part.len()
            };
            for (_, entry, name) in
                directory::entries(&part[..end]).filter(|(_, entry, _)| entry.inode.get() != 0)
            {
                found.push((
                    String::from_utf8(name.to_vec()).unwrap(),
                    entry.inode.get(),
                    entry.file_type,
                ));
            }
        }
        found
    }
}

#[test]
fn every_system_file_is_read() {
    for (block, cluster, slots, options) in [
        (4096, 4096, 2_u16, &["-N", "2"][..]),
        (512, 4096, 1, &["-N", "1", "--fs-feature-level=max-compat"]),
        (
            1024,
            4096,
            2,
            &[
                "-N",
                "2",
                "--fs-feature-level=max-features",
                "--cluster-stack=o2cb",
                "--cluster-name=x",
            ],
        ),
        (2048, 65536, 1, &["-N", "1", "-M", "local"]),
    ] {
        let Some(bytes) = made(block, cluster, 96, options) else {
            return;
        };
        let image = Image::new(bytes);
        let (sb, volume) = (&image.sb, &image.volume);
        assert_eq!(sb.label(), "label");
        let expected = if sb.has_incompat(feature::XATTR) {
            hash::uuid_hash(&sb.s_uuid)
        } else {
            0
        };
        assert_eq!(sb.s_uuid_hash.get(), expected);
        assert_eq!(sb.bytes(), volume.blocks() * block as u64);
        let files = image.names(sb.s_system_dir_blkno.get());
        let find = |name: &str| files.iter().find(|file| file.0 == name).map(|file| file.1);
        for name in &system::GLOBAL[..5] {
            assert!(
                image
                    .inode(find(name).unwrap())
                    .has_flag(flag::VALID | flag::SYSTEM),
                "{name}"
            );
        }
        for slot in 0..slots {
            for name in &system::PER_SLOT[..6] {
                assert!(
                    find(&system::slot_file(name, slot)).is_some(),
                    "{name} {slot}"
                );
            }
        }
        bitmap(&image, find("global_bitmap").unwrap());
        allocator(&image, find("inode_alloc:0000").unwrap());
        logs_and_journal(&image, &find);
    }
}

/// Every group is at its computed place and every count is what the groups come to.
fn bitmap(image: &Image, number: u64) {
    let inode = image.inode(number);
    let block = image.block(number);
    let list = ChainList::read(&block[dinode::BODY..]).unwrap();
    assert_eq!(list.room(), chain::room(block.len()));
    assert_eq!(usize::from(list.head().cl_count.get()), list.room());
    let per_group = u32::from(list.head().cl_cpg.get());
    let places: Vec<u64> = (0..image.volume.groups(per_group).unwrap())
        .map(|group| image.volume.group_block(group.into(), per_group))
        .collect();
    let mut seen = Vec::new();
    let (mut free, mut total) = (0, 0);
    for record in list.first(list.head().cl_next_free_rec.get().into()) {
        let mut next = record.c_blkno.get();
        while next != 0 {
            let group = GroupDescriptor::read(image.block(next)).unwrap();
            assert_eq!(
                (group.bg_signature, group.bg_blkno.get()),
                (chain::SIGNATURE, next)
            );
            assert_eq!(group.bg_parent_dinode.get(), number);
            let bits = &image.block(next)[chain::BITMAP..];
            let zeros = chain::zeros(bits, group.bg_bits.get().into());
            assert_eq!(zeros, usize::from(group.bg_free_bits_count.get()));
            (free, total) = (free + zeros as u32, total + u32::from(group.bg_bits.get()));
            seen.push(next);
            next = group.bg_next_group.get();
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, places);
    assert_eq!((inode.total(), inode.used()), (total, total - free));
    assert_eq!(inode.i_clusters.get(), image.volume.clusters);
}

/// The group of lost+found.
fn allocator(image: &Image, number: u64) {
    let list = ChainList::read(&image.block(number)[dinode::BODY..]).unwrap();
    let first = list.get(0).unwrap();
    let group = GroupDescriptor::read(image.block(first.c_blkno.get())).unwrap();
    assert_eq!(u32::from(group.bg_bits.get()), first.c_total.get());
    let discontig = image.sb.has_incompat(feature::DISCONTIG_BG);
    let size = if discontig {
        chain::DISCONTIG_BITMAP
    } else {
        chain::bitmap_size(image.volume.block_size())
    };
    assert_eq!(usize::from(group.bg_size.get()), size);
    let root = image.names(image.sb.s_root_blkno.get());
    assert_eq!(
        root.iter().map(|name| name.0.as_str()).collect::<Vec<_>>(),
        [".", "..", "lost+found"]
    );
    assert!(
        root.iter()
            .all(|name| name.2 == directory::type_of_mode(0x4000))
    );
    let lost = image.inode(root[2].1);
    assert_eq!(
        lost.i_blkno.get(),
        first.c_blkno.get() + u64::from(lost.i_suballoc_bit.get())
    );
    assert_eq!(lost.links(), 2);
}

fn logs_and_journal(image: &Image, find: &dyn Fn(&str) -> Option<u64>) {
    let size = image.volume.block_size();
    let log = find("truncate_log:0000").unwrap();
    let head = logs::TruncateHead::read(&image.block(log)[dinode::BODY..]).unwrap();
    assert_eq!(usize::from(head.tl_count.get()), logs::truncate_room(size));
    let local = find("local_alloc:0000").unwrap();
    let head = logs::LocalAlloc::read(&image.block(local)[dinode::BODY..]).unwrap();
    assert_eq!(
        usize::from(head.la_size.get()),
        logs::local_alloc_room(size)
    );
    let journal = find("journal:0000").unwrap();
    let list = ExtentList::read(&image.block(journal)[dinode::BODY..]).unwrap();
    assert_eq!(
        usize::from(list.head().l_count.get()),
        extent::inode_room(size, 0)
    );
    // It is larger than the smallest block.
    let first = list.get(0).unwrap().e_blkno.get() as usize * size;
    let first = &image.bytes[first..][..1024];
    let journal = JournalSuperblock::read(first).unwrap();
    assert_eq!(journal.s_blocksize.get() as usize, size);
}

#[test]
fn checksums_are_those_of_mkfs() {
    let options = ["-N", "1", "--fs-features=metaecc"];
    let Some(bytes) = made(4096, 4096, 64, &options) else {
        return;
    };
    let image = Image::new(bytes);
    let root = image.sb.s_root_blkno.get();
    for (number, offset) in [
        (2, dinode::CHECK),
        (root, dinode::CHECK),
        (image.volume.first_group, 0x30),
    ] {
        let mut block = image.block(number).to_vec();
        assert_eq!(
            check::validate(&mut block, offset).unwrap(),
            Judged::Sound,
            "block {number}"
        );
        let stored = block.clone();
        block[offset..offset + 8].fill(0);
        check::store(&mut block, offset).unwrap();
        assert_eq!(block, stored);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut block = vec![0; 4096];
    Entry::put(&mut block, 0, 5, 16, 2, b".").unwrap();
    Entry::put(&mut block, 16, 6, 4096 - 64 - 16, 2, b"..").unwrap();
    Trailer::read_mut(&mut block[4032..])
        .unwrap()
        .clone_from(&Trailer::new(77, 5));
    let names: Vec<_> = directory::entries(&block[..4032])
        .map(|(at, entry, name)| (at, entry.inode.get(), name))
        .collect();
    assert_eq!(names, [(0, 5, &b"."[..]), (16, 6, &b".."[..])]);
    assert!(Entry::put(&mut block, 4090, 5, 16, 2, b".").is_err());
    assert!(Entry::put(&mut block, 0, 5, 12, 2, b"x").is_err());
    assert_eq!(Trailer::of_block(&block).unwrap().db_blkno.get(), 77);
    let record = ExtentRecord::leaf(9, 40_000, extent::UNWRITTEN, 1 << 40);
    ExtentList::put(&mut block, 3, record).unwrap();
    let list = ExtentList::read(&block).unwrap();
    let read = list.get(3).unwrap();
    assert_eq!(
        (read.leaf_clusters(), read.flags(), read.e_blkno.get()),
        (40_000, 1, 1 << 40)
    );
    assert!(list.get(usize::MAX).is_none());
    assert_eq!(list.first(usize::MAX).count(), 255);
    assert!(ExtentList::put(&mut block, 255, record).is_err());
}

#[test]
fn rooms_are_those_of_the_format() {
    use ondisk::ocfs2::{index, refcount, xattr};
    assert_eq!(
        [
            chain::room(4096),
            extent::inode_room(4096, 0),
            extent::inode_room(4096, 256)
        ],
        [243, 243, 227]
    );
    assert_eq!(
        [
            extent::block_room(4096),
            chain::extent_room(4096),
            index::root_room(4096)
        ],
        [252, 235, 243]
    );
    assert_eq!(
        [
            index::leaf_room(4096),
            xattr::tree_room(4096),
            refcount::room(4096)
        ],
        [253, 251, 247]
    );
    assert_eq!(
        [logs::truncate_room(4096), logs::local_alloc_room(4096)],
        [487, 3888]
    );
    assert_eq!(
        [dinode::inline_room(4096, 0), dinode::inline_room(4096, 256)],
        [3896, 3640]
    );
    assert_eq!(chain::bitmap_size(4096) * 8, 32_256);
}
