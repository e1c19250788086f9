//! What mkfs.xfs writes is what the structures of `ondisk::xfs` read, and what they write again.

use std::process::Command;

use ondisk::xfs::btree::{ShortBlock, Tree};
use ondisk::xfs::dinode::{Inode, mode};
use ondisk::xfs::log::RecordHead;
use ondisk::xfs::record::{InobtRecord, owner};
use ondisk::xfs::shortform::Directory;
use ondisk::xfs::{Agf, Agfl, Agi, Geometry, Superblock, ag, checksum, dinode, log};
use zerocopy::IntoBytes;

/// A new filesystem of 300 MiB; none without the program, which is reported.
fn made(options: &[&str]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(300 << 20).unwrap();
    let output = Command::new("mkfs.xfs")
        .args(["-q", "-L", "label"])
        .args(options)
        .arg(&path)
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output();
    let Ok(output) = output else {
        testkit::skip!("mkfs.xfs is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    Some(std::fs::read(&path).unwrap())
}

/// The bytes of a structure, sealed again after its checksum was cleared, are the bytes on disk.
fn same(bytes: &[u8], sum: usize, v5: bool) {
    if !v5 {
        return;
    }
    assert!(checksum::is_right(bytes, sum), "checksum at {sum}");
    let mut copy = bytes.to_vec();
    copy[sum..sum + 4].fill(0);
    checksum::seal(&mut copy, sum);
    assert_eq!(copy, bytes);
}

fn headers(image: &[u8], geometry: &Geometry, group: u32) -> (Agf, Agi) {
    let sector = |number| {
        let at = geometry.header_offset(group, number) as usize;
        &image[at..at + geometry.sector_size as usize]
    };
    same(sector(0), checksum::SUPERBLOCK, geometry.v5);
    same(sector(1), checksum::AGF, geometry.v5);
    same(sector(2), checksum::AGI, geometry.v5);
    same(sector(3), checksum::AGFL, geometry.v5);
    let (agf, agi) = (
        *Agf::read(sector(1)).unwrap(),
        *Agi::read(sector(2)).unwrap(),
    );
    assert_eq!(agf.agf_magicnum.get(), ag::AGF_MAGIC);
    assert_eq!(agi.agi_magicnum.get(), ag::AGI_MAGIC);
    assert_eq!(agf.as_bytes(), &sector(1)[..Agf::SIZE]);
    assert_eq!(agi.as_bytes(), &sector(2)[..Agi::SIZE]);
    assert_eq!((agf.agf_seqno.get(), agi.agi_seqno.get()), (group, group));
    assert_eq!(agf.agf_length.get(), geometry.ag_length(group));
    if geometry.v5 {
        let list = Agfl::read(sector(3)).unwrap();
        assert_eq!(list.agfl_magicnum.get(), ag::AGFL_MAGIC);
        assert_eq!(agf.agf_uuid, geometry.uuid);
    }
    let (first, last) = (agf.agf_flfirst.get(), agf.agf_fllast.get());
    assert_eq!(agf.agf_flcount.get(), last + 1 - first);
    for index in first..=last {
        let block = ag::free_list_entry(geometry, sector(3), index);
        assert!(geometry.is_agblock(group, block), "free list: {block}");
    }
    (agf, agi)
}

fn root<'a>(image: &'a [u8], geometry: &Geometry, group: u32, tree: Tree, block: u32) -> &'a [u8] {
    let at = geometry.offset(group, block) as usize;
    let bytes = &image[at..at + geometry.block_size as usize];
    let head = ShortBlock::read(bytes).unwrap();
    assert_eq!(head.bb_magic.get(), tree.magic(geometry.v5), "{tree:?}");
    assert_eq!(head.bb_level.get(), 0);
    if geometry.v5 {
        same(bytes, checksum::SHORT_BTREE, true);
        let block = geometry.fsblock(group, block);
        assert_eq!(head.bb_blkno.get(), geometry.daddr(block));
        assert_eq!(head.bb_owner.get(), group);
    }
    bytes
}

fn trees(image: &[u8], geometry: &Geometry, group: u32, agf: &Agf, agi: &Agi) {
    let bno = root(image, geometry, group, Tree::Bno, agf.agf_bno_root.get());
    let cnt = root(image, geometry, group, Tree::Cnt, agf.agf_cnt_root.get());
    let extents = |block: &[u8], tree: Tree| {
        let records = ShortBlock::read(block).unwrap().bb_numrecs.get();
        let mut list: Vec<(u32, u32)> = (0..records.into())
            .map(|index| {
                let at = tree.record_at(geometry, index);
                let record = ondisk::xfs::record::AllocRecord::read(&block[at..]).unwrap();
                (record.ar_startblock.get(), record.ar_blockcount.get())
            })
            .collect();
        list.sort_unstable();
        list
    };
    let free = extents(bno, Tree::Bno);
    assert_eq!(free, extents(cnt, Tree::Cnt));
    let total: u32 = free.iter().map(|extent| extent.1).sum();
    assert_eq!(total, agf.agf_freeblks.get());
    root(image, geometry, group, Tree::Ino, agi.agi_root.get());
    if geometry.finobt {
        root(image, geometry, group, Tree::Fino, agi.agi_free_root.get());
    }
    if geometry.reflink {
        let block = agf.agf_refcount_root.get();
        root(image, geometry, group, Tree::Refcount, block);
    }
    if geometry.rmapbt {
        let block = root(image, geometry, group, Tree::Rmap, agf.agf_rmap_root.get());
        let at = Tree::Rmap.record_at(geometry, 0);
        let first = ondisk::xfs::record::RmapRecord::read(&block[at..]).unwrap();
        assert_eq!(first.rm_owner.get(), owner::FS);
        assert_eq!(first.rm_blockcount.get(), geometry.header_blocks());
    }
}

fn root_directory(image: &[u8], geometry: &Geometry, sb: &Superblock) {
    let ino = sb.sb_rootino.get();
    let at = geometry.ino_offset(ino) as usize;
    let bytes = &image[at..at + geometry.inode_size as usize];
    let inode = Inode::new(geometry, bytes);
    assert_eq!(
        (inode.magic(), inode.file_type()),
        (dinode::MAGIC, mode::DIRECTORY)
    );
    assert_eq!((inode.nlink(), inode.format(), inode.size()), (2, 1, 6));
    let directory = Directory::new(geometry.ftype, inode.data_fork());
    assert_eq!((directory.count(), directory.parent()), (0, ino));
    if geometry.v5 {
        same(bytes, checksum::INODE, true);
        assert_eq!(inode.ino(), ino);
        assert_eq!(inode.uuid(), geometry.uuid);
        assert_eq!(inode.has_bigtime(), geometry.bigtime);
    }
}

fn image_is_read(options: &[&str]) {
    let Some(image) = made(options) else { return };
    let sb = *Superblock::read(&image).unwrap();
    assert_eq!(
        sb.as_bytes(),
        &image[..Superblock::read(&image).unwrap().as_bytes().len()]
    );
    let geometry = Geometry::new(&sb).unwrap();
    let mut inodes = 0;
    for group in 0..geometry.ag_count {
        let (agf, agi) = headers(&image, &geometry, group);
        trees(&image, &geometry, group, &agf, &agi);
        inodes += u64::from(agi.agi_count.get());
        if group == 0 {
            let at = geometry.offset(0, agi.agi_root.get()) as usize;
            let at = at + Tree::Ino.record_at(&geometry, 0);
            let record = *InobtRecord::read(&image[at..]).unwrap();
            let free = record.ir_free.get();
            let sparse = geometry.sparse_inodes;
            assert_eq!(record.free_count(sparse), free.count_ones());
            assert_eq!(
                record,
                InobtRecord::whole(record.ir_startino.get(), free, sparse)
            );
            let first = geometry.ino(0, record.ir_startino.get());
            assert_eq!(first, sb.sb_rootino.get());
        }
    }
    assert_eq!(inodes, sb.sb_icount.get());
    root_directory(&image, &geometry, &sb);
    let at = geometry.block_offset(sb.sb_logstart.get()) as usize;
    let head = RecordHead::read(&image[at..]).unwrap();
    assert_eq!((head.h_magicno.get(), head.h_cycle.get()), (log::MAGIC, 1));
    assert_eq!(head.h_fs_uuid, sb.sb_uuid);
    assert_eq!(log::block_cycle(&image[at + log::BLOCK..]), 1);
}

#[test]
fn version_5_is_read() {
    image_is_read(&[]);
    image_is_read(&["-m", "rmapbt=1,reflink=1", "-i", "nrext64=1,size=1024"]);
    image_is_read(&["-b", "size=1024", "-m", "finobt=0"]);
    image_is_read(&["-s", "size=4096"]);
}

#[test]
fn version_4_is_read() {
    image_is_read(&["-m", "crc=0"]);
    image_is_read(&[
        "-m",
        "crc=0",
        "-n",
        "ftype=0",
        "-i",
        "size=256",
        "-l",
        "version=1",
    ]);
}
