//! Contents of every kind, written into an empty volume.

use ondisk::ocfs2::dinode::{self, BODY, INLINE_DATA, InlineHead, dynamic};
use ondisk::ocfs2::directory::{Entry, Trailer, record_length};
use ondisk::ocfs2::extent::{self, BLOCK_LIST, ExtentHead};
use ondisk::ocfs2::hash::{self, Sign};
use ondisk::ocfs2::index::{self, DxHead, LEAF_LIST, ROOT_LIST};
use ondisk::ocfs2::refcount::{self, RefcountHead, RefcountRecord};
use ondisk::ocfs2::xattr::{self, BLOCK_HEADER, VALUE_LIST, ValueRoot, XattrHead};
use ondisk::ocfs2::{
    DxEntry, DxLeaf, DxRoot, ExtentBlock, ExtentList, ExtentRecord, RefcountBlock, XattrBlock,
    XattrEntry, feature,
};
use zerocopy::{FromZeros as _, IntoBytes as _};

use super::volume::{Image, Made};

const FILE: u16 = 0o100_644;
const DIRECTORY: u16 = 0o040_755;
const SYMLINK: u16 = 0o120_777;

/// A volume with contents of every kind that its features allow; none without mkfs.ocfs2.
pub(crate) fn populated(made: Made) -> Option<Image> {
    let mut image = Image::made(made)?;
    let root = image.sb.s_root_blkno.get();
    plain(&mut image, root);
    trees(&mut image, root);
    links(&mut image, root);
    if image.has(feature::INDEXED_DIRS) {
        directories(&mut image, root);
    }
    if image.has(feature::XATTR) {
        attributes(&mut image, root);
    }
    if image.has(feature::REFCOUNT) {
        shared(&mut image, root);
    }
    image.store_checks();
    Some(image)
}

fn name(image: &mut Image, directory: u64, name: &str, inode: u64, kind: u8) {
    image.files.insert(name.to_owned(), inode);
    enter(image, directory, name, inode, kind);
}

/// Adds an entry to an inline directory, or to the only block of another.
fn enter(image: &mut Image, directory: u64, name: &str, inode: u64, kind: u8) {
    let dinode = image.inode(directory);
    let inline = dinode.has_dynamic(dynamic::INLINE_DATA);
    let (block, from, to, check) = if inline {
        let end = INLINE_DATA + dinode.i_size.get() as usize;
        (directory, INLINE_DATA, end, dinode::CHECK)
    } else {
        let list = ExtentList::read(&image.block(directory)[BODY..]).unwrap();
        let trailer = image.has(feature::META_ECC) || dinode.has_dynamic(dynamic::INDEXED_DIR);
        let size = image.layout.block_size();
        let end = if trailer { Trailer::offset(size) } else { size };
        (
            list.get(0).unwrap().e_blkno.get(),
            0,
            end,
            Trailer::check_offset(size),
        )
    };
    image.checks.insert(block, check);
    let area = &mut image.block_mut(block)[from..to];
    let mut last = 0;
    loop {
        let entry = *Entry::read(&area[last..]).unwrap();
        let next = last + usize::from(entry.rec_len.get());
        if next == area.len() {
            let used = record_length(entry.name_len.into());
            Entry::read_mut(&mut area[last..]).unwrap().rec_len = (used as u16).into();
            let at = last + used;
            let room = area.len() - at;
            Entry::put(area, at, inode, room, kind, name.as_bytes()).unwrap();
            return;
        }
        last = next;
    }
}

/// An extent list in an inode.
fn extents(image: &mut Image, inode: u64, depth: u16, records: &[ExtentRecord]) {
    let room = extent::inode_room(image.layout.block_size(), image.inode(inode).xattr_tail());
    list(image, (inode, dinode::CHECK, BODY), room, depth, records);
}

/// An extent list in a block: its number, and where its checksum and the list are.
pub(crate) fn list(
    image: &mut Image,
    (block, check, at): (u64, usize, usize),
    room: usize,
    depth: u16,
    records: &[ExtentRecord],
) {
    let head = ExtentHead {
        l_tree_depth: depth.into(),
        l_count: (room as u16).into(),
        l_next_free_rec: (records.len() as u16).into(),
        ..ExtentHead::new_zeroed()
    };
    image.put_structure(block, check, at, &head);
    for (number, record) in records.iter().enumerate() {
        ExtentList::put(&mut image.block_mut(block)[at..], number, *record).unwrap();
    }
}

/// A file with these extents.
fn file(image: &mut Image, directory: u64, called: &str, records: &[ExtentRecord]) -> u64 {
    let inode = image.new_inode(FILE, 1);
    extents(image, inode, 0, records);
    let clusters: u32 = records
        .iter()
        .map(|record| u32::from(record.leaf_clusters()))
        .sum();
    let end = records.last().map_or(0, |record| {
        record.e_cpos.get() + u32::from(record.leaf_clusters())
    });
    let size = u64::from(end) * image.layout.cluster_size();
    image.change(inode, |inode| {
        inode.i_clusters = clusters.into();
        inode.i_size = size.saturating_sub(7).into();
    });
    name(image, directory, called, inode, 1);
    inode
}

fn inline_file(image: &mut Image, directory: u64, called: &str, links: u32) -> u64 {
    let inode = image.new_inode(FILE, links);
    if image.has(feature::INLINE_DATA) {
        let room = dinode::inline_room(image.layout.block_size(), 0) as u16;
        let head = InlineHead {
            id_count: room.into(),
            ..InlineHead::new_zeroed()
        };
        image.put_structure(inode, dinode::CHECK, BODY, &head);
        image.change(inode, |inode| {
            inode.i_dyn_features = dynamic::INLINE_DATA.into();
            inode.i_size = 5.into();
        });
    } else {
        extents(image, inode, 0, &[]);
    }
    name(image, directory, called, inode, 1);
    inode
}

fn plain(image: &mut Image, root: u64) {
    for number in 0..4 {
        inline_file(image, root, &format!("small{number}"), 1);
    }
    let linked = inline_file(image, root, "linked", 2);
    enter(image, root, "hard", linked, 1);
    let first = image.clusters(3);
    let second = image.clusters(2);
    let second_at = if image.has(feature::SPARSE) { 5 } else { 3 };
    let records = [
        ExtentRecord::leaf(0, 3, 0, first),
        ExtentRecord::leaf(second_at, 2, 0, second),
    ];
    file(image, root, "data", &records);
    file(image, root, "empty", &[]);
    for (called, mode, kind) in [
        ("fifo", 0o010_644, 5),
        ("null", 0o020_644, 3),
        ("disk", 0o060_644, 4),
        ("sock", 0o140_644, 6),
    ] {
        let inode = image.new_inode(mode, 1);
        extents(image, inode, 0, &[]);
        name(image, root, called, inode, kind);
    }
    if image.has(feature::INLINE_DATA) {
        let directory = image.new_inode(DIRECTORY, 2);
        let room = dinode::inline_room(image.layout.block_size(), 0);
        let head = InlineHead {
            id_count: (room as u16).into(),
            ..InlineHead::new_zeroed()
        };
        image.put_structure(directory, dinode::CHECK, BODY, &head);
        image.change(directory, |inode| {
            inode.i_dyn_features = dynamic::INLINE_DATA.into();
            inode.i_size = (room as u64).into();
        });
        let area = &mut image.block_mut(directory)[INLINE_DATA..][..room];
        Entry::put(area, 0, directory, 16, 2, b".").unwrap();
        Entry::put(area, 16, root, room - 16, 2, b"..").unwrap();
        name(image, root, "inner", directory, 2);
        image.change(root, |inode| inode.set_links(inode.links() + 1));
        for number in 0..3 {
            inline_file(image, directory, &format!("deep{number}"), 1);
        }
    }
}

/// An extent block without a list.
pub(crate) fn extent_block(image: &mut Image) -> u64 {
    let (block, bit) = image.meta_block();
    let mut head = ExtentBlock::new_zeroed();
    head.h_signature = extent::SIGNATURE;
    head.h_suballoc_bit = bit.into();
    head.h_fs_generation = image.sb.i_fs_generation;
    head.h_blkno = block.into();
    image.put_structure(block, 8, 0, &head);
    block
}

/// A file whose extents are in a block of their own.
fn trees(image: &mut Image, root: u64) {
    let inode = image.new_inode(FILE, 1);
    let block = extent_block(image);
    let step = if image.has(feature::SPARSE) { 3 } else { 1 };
    let records: Vec<ExtentRecord> = (0..4)
        .map(|number| ExtentRecord::leaf(number * step, 1, 0, image.clusters(1)))
        .collect();
    let room = extent::block_room(image.layout.block_size());
    list(image, (block, 8, BLOCK_LIST), room, 0, &records);
    extents(
        image,
        inode,
        1,
        &[ExtentRecord::index(0, 3 * step + 1, block)],
    );
    let size = u64::from(3 * step + 1) * image.layout.cluster_size();
    image.change(inode, |inode| {
        inode.i_clusters = 4.into();
        inode.i_size = size.into();
        inode.i_last_eb_blk = block.into();
    });
    name(image, root, "tree", inode, 1);
    image.files.insert("tree block".into(), block);
}

fn links(image: &mut Image, root: u64) {
    let fast = image.new_inode(SYMLINK, 1);
    image.put(fast, dinode::CHECK, BODY, b"data");
    image.change(fast, |inode| inode.i_size = 4.into());
    name(image, root, "fast", fast, 7);
    let slow = image.new_inode(SYMLINK, 1);
    let block = image.clusters(1);
    image.block_mut(block).fill(0);
    image.block_mut(block)[..300].fill(b'x');
    extents(image, slow, 0, &[ExtentRecord::leaf(0, 1, 0, block)]);
    image.change(slow, |inode| {
        inode.i_size = 300.into();
        inode.i_clusters = 1.into();
    });
    name(image, root, "slow", slow, 7);
    image.files.insert("slow block".into(), block);
}

/// Directories with blocks: one with the index in its root, one with a leaf.
fn directories(image: &mut Image, root: u64) {
    for (called, inline) in [("indexed", true), ("leaved", false)] {
        let directory = image.new_inode(DIRECTORY, 2);
        let (index, bit) = image.meta_block();
        let block = image.clusters(1);
        let size = image.layout.block_size();
        let (per_cluster, generation) =
            (image.layout.blocks_per_cluster(), image.sb.i_fs_generation);
        for at in 0..per_cluster {
            image.block_mut(block + at).fill(0);
        }
        extents(image, directory, 0, &[ExtentRecord::leaf(0, 1, 0, block)]);
        image.change(directory, |inode| {
            inode.i_dyn_features = dynamic::INDEXED_DIR.into();
            inode.i_size = (size as u64).into();
            inode.i_clusters = 1.into();
            inode.i_dx_root = index.into();
        });
        let check = Trailer::check_offset(size);
        let area = &mut image.block_mut(block)[..Trailer::offset(size)];
        let room = area.len();
        Entry::put(area, 0, directory, 16, 2, b".").unwrap();
        Entry::put(area, 16, root, room - 16, 2, b"..").unwrap();
        let trailer = Trailer::new(block, directory);
        image.put_structure(block, check, Trailer::offset(size), &trailer);
        let mut names = vec![".".to_owned(), "..".to_owned()];
        for number in 0..12 {
            let child = format!("{called}-{number}");
            inline_file(image, directory, &child, 1);
            names.push(child);
        }
        let mut head = DxRoot::new_zeroed();
        head.dr_signature = index::ROOT_SIGNATURE;
        head.dr_suballoc_bit = bit.into();
        head.dr_fs_generation = generation;
        head.dr_blkno = index.into();
        head.dr_flags = u8::from(inline) * index::INLINE;
        head.dr_dir_blkno = directory.into();
        head.dr_num_entries = (names.len() as u32).into();
        head.dr_clusters = u32::from(!inline).into();
        image.put_structure(index, 8, 0, &head);
        let seed = image.sb.s_dx_seed.map(zerocopy::little_endian::U32::get);
        let entries: Vec<DxEntry> = names
            .iter()
            .map(|name| {
                let hash = hash::name_hash(seed, name.as_bytes(), Sign::Signed);
                DxEntry {
                    dx_major_hash: hash.major.into(),
                    dx_minor_hash: hash.minor.into(),
                    dx_dirent_blk: block.into(),
                }
            })
            .collect();
        if inline {
            entry_list(image, (index, ROOT_LIST), index::root_room(size), &entries);
        } else {
            let leaves = image.clusters(1);
            for at in 0..per_cluster {
                let leaf = leaves + at;
                image.block_mut(leaf).fill(0);
                let mut head = DxLeaf::new_zeroed();
                head.dl_signature = index::LEAF_SIGNATURE;
                head.dl_blkno = leaf.into();
                head.dl_fs_generation = generation;
                image.put_structure(leaf, 8, 0, &head);
                let own: Vec<DxEntry> = entries
                    .iter()
                    .filter(|entry| u64::from(entry.dx_minor_hash.get()) & (per_cluster - 1) == at)
                    .copied()
                    .collect();
                entry_list(image, (leaf, LEAF_LIST), index::leaf_room(size), &own);
            }
            let room = size.saturating_sub(ROOT_LIST + ExtentHead::SIZE) / ExtentRecord::SIZE;
            list(
                image,
                (index, 8, ROOT_LIST),
                room,
                0,
                &[ExtentRecord::leaf(0, 1, 0, leaves)],
            );
            image.files.insert("index leaf".into(), leaves);
        }
        name(image, root, called, directory, 2);
        image.change(root, |inode| inode.set_links(inode.links() + 1));
        image.files.insert(format!("{called} block"), block);
        image.files.insert(format!("{called} root"), index);
    }
}

fn entry_list(image: &mut Image, (block, at): (u64, usize), room: usize, entries: &[DxEntry]) {
    let head = DxHead {
        de_count: (room as u16).into(),
        de_num_used: (entries.len() as u16).into(),
        ..DxHead::new_zeroed()
    };
    image.put_structure(block, 8, at, &head);
    for (number, entry) in entries.iter().enumerate() {
        image.put(
            block,
            8,
            at + DxHead::SIZE + number * DxEntry::SIZE,
            entry.as_bytes(),
        );
    }
}

/// An empty file in the root that is to get attributes.
pub(crate) fn attributed_file(image: &mut Image, called: &str) -> u64 {
    let root = image.sb.s_root_blkno.get();
    let inode = image.new_inode(FILE, 1);
    extents(image, inode, 0, &[]);
    name(image, root, called, inode, 1);
    inode
}

/// Attributes: at the end of an inode, and in a block with a long value.
fn attributes(image: &mut Image, root: u64) {
    let size = image.layout.block_size();
    let inode = image.new_inode(FILE, 1);
    image.change(inode, |inode| {
        inode.i_xattr_inline_size = 256.into();
        inode.i_dyn_features = (dynamic::HAS_XATTR | dynamic::INLINE_XATTR).into();
    });
    extents(image, inode, 0, &[]);
    area(
        image,
        (inode, dinode::CHECK, size - 256, 256),
        &[("one", 20), ("two", 8)],
        None,
    );
    name(image, root, "attributed", inode, 1);
    let inode = image.new_inode(FILE, 1);
    extents(image, inode, 0, &[]);
    let (block, bit) = image.meta_block();
    image.change(inode, |inode| {
        inode.i_dyn_features = dynamic::HAS_XATTR.into();
        inode.i_xattr_loc = block.into();
    });
    let mut head = XattrBlock::new_zeroed();
    head.xb_signature = xattr::SIGNATURE;
    head.xb_suballoc_bit = bit.into();
    head.xb_fs_generation = image.sb.i_fs_generation;
    head.xb_blkno = block.into();
    image.put_structure(block, 0x18, 0, &head);
    let value = image.clusters(1);
    let place = (block, 0x18, BLOCK_HEADER, size - BLOCK_HEADER);
    area(image, place, &[("short", 30), ("long", 3000)], Some(value));
    name(image, root, "blocked", inode, 1);
    image.files.insert("attribute block".into(), block);
}

/// Entries with names and values in an area: block, place of its checksum, offset, bytes.
fn area(
    image: &mut Image,
    (block, check, at, size): (u64, usize, usize, usize),
    attributes: &[(&str, u64)],
    long: Option<u64>,
) {
    let head = XattrHead {
        xh_count: (attributes.len() as u16).into(),
        ..XattrHead::new_zeroed()
    };
    image.put_structure(block, check, at, &head);
    let mut end = size;
    for (number, &(name, bytes)) in attributes.iter().enumerate() {
        let local = bytes <= xattr::LOCAL_VALUE;
        let mut entry = XattrEntry::new_zeroed();
        let start = image.sb.s_uuid_hash.get();
        entry.xe_name_hash = hash::xattr_hash(start, name.as_bytes(), Sign::Signed).into();
        entry.xe_name_len = name.len() as u8;
        entry.xe_type = 1 | if local { xattr::LOCAL } else { 0 };
        entry.xe_value_size = bytes.into();
        end -= entry.storage() as usize;
        entry.xe_name_offset = (end as u16).into();
        image.put_structure(
            block,
            check,
            at + XattrHead::SIZE + number * XattrEntry::SIZE,
            &entry,
        );
        image.put(block, check, at + end, name.as_bytes());
        if !local {
            let mut root = ValueRoot::new_zeroed();
            root.xr_clusters = 1.into();
            root.xr_list.l_count = 1.into();
            root.xr_list.l_next_free_rec = 1.into();
            root.xr_record = ExtentRecord::leaf(0, 1, 0, long.unwrap());
            assert_eq!(VALUE_LIST + 32, ValueRoot::SIZE);
            image.put_structure(
                block,
                check,
                at + end + name.len().next_multiple_of(4),
                &root,
            );
        }
    }
}

/// Two files that share clusters.
fn shared(image: &mut Image, root: u64) {
    let (block, bit) = image.meta_block();
    let data = image.clusters(2);
    let mut head = RefcountBlock::new_zeroed();
    head.rf_signature = refcount::SIGNATURE;
    head.rf_suballoc_bit = bit.into();
    head.rf_fs_generation = image.sb.i_fs_generation;
    head.rf_blkno = block.into();
    head.rf_count = 2.into();
    image.put_structure(block, 0x20, 0, &head);
    let list = RefcountHead {
        rl_count: (refcount::room(image.layout.block_size()) as u16).into(),
        rl_used: 1.into(),
        ..RefcountHead::new_zeroed()
    };
    image.put_structure(block, 0x20, refcount::LIST, &list);
    let record = RefcountRecord {
        r_cpos: image.layout.cluster_of(data).into(),
        r_clusters: 2.into(),
        r_refcount: 2.into(),
    };
    image.put_structure(block, 0x20, refcount::LIST + RefcountHead::SIZE, &record);
    for called in ["shared", "sharing"] {
        let inode = file(
            image,
            root,
            called,
            &[ExtentRecord::leaf(0, 2, extent::REFCOUNTED, data)],
        );
        image.change(inode, |inode| {
            inode.i_dyn_features = dynamic::HAS_REFCOUNT.into();
            inode.i_refcount_loc = block.into();
        });
    }
    image.files.insert("counts".into(), block);
}
