//! What makes fsck.ocfs2 -fn hang, crash or abort, as docs/check-ocfs2.md lists it: both are run. Ours comes to the end, names the fault, and says
//! how the other ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use blockio::Ram;
use check::report::{self, Judge};
use check::{Checker as _, Options, Silent, ocfs2};
use ondisk::ocfs2::chain::{BITMAP, ChainHead, DISCONTIG_BITMAP, EXTENTS, extent_room};
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::extent::{BLOCK_LIST, REFCOUNTED, block_room};
use ondisk::ocfs2::index::ROOT_LIST;
use ondisk::ocfs2::xattr::TREE_LIST;
use ondisk::ocfs2::{
    ChainList, ExtentList, ExtentRecord, GroupDescriptor, RefcountBlock, refcount,
};
use testkit::fsck_ocfs2::{self, Ended, Limits};

use super::buckets;
use super::population::{self, populated};
use super::volume::{Image, Made};
use crate::common::alone;

const MADE: Made = Made {
    block: 4096,
    cluster: 4096,
    options: &[],
};
/// A run that is to have no end is given this long, seconds. Those that end take a tenth of a second.
const PATIENCE: u64 = 2;
/// Rows that are tried at the same time.
const WORKERS: usize = 2;

/// Damage, how fsck.ocfs2 ends, and what ours says.
struct Fatal {
    about: &'static str,
    /// The other is by chance.
    ended: &'static [Ended],
    says: &'static str,
    make: fn(&mut Image),
}

const ENDLESS: &[Ended] = &[Ended::Endless];
const ABORT: &[Ended] = &[Ended::Code(134)];
const ABORT_OR_SEGMENT: &[Ended] = &[Ended::Code(134), Ended::Code(139)];
const DIVISION: &[Ended] = &[Ended::Code(136)];
const SEGMENT: &[Ended] = &[Ended::Code(139)];
const ABORTING: &[Ended] = &[Ended::Code(1)];

/// `bg_check` of a group, `bg_bits`, and the checksums of the blocks of trees and of counts.
const GROUP_CHECK: usize = 0x30;
const GROUP_BITS: usize = 0x0a;
const TREE_CHECK: usize = 0x08;
const ATTRIBUTES_CHECK: usize = 0x18;
const COUNTS_CHECK: usize = 0x20;
/// `cl_cpg`, `cl_bpc` and `cl_count` of an allocator.
const CLUSTERS: usize = BODY;
const BITS: usize = BODY + 2;
const COUNT: usize = BODY + 4;
const INODES: &str = "inode_alloc:0000";
const BLOCKS: &str = "extent_alloc:0000";

const fn fatal(
    about: &'static str,
    ended: &'static [Ended],
    says: &'static str,
    make: fn(&mut Image),
) -> Fatal {
    Fatal {
        about,
        ended,
        says,
        make,
    }
}

static DIRECTORIES_AND_GROUPS: &[Fatal] = &[
    fatal(
        "a block belongs to two directories",
        ENDLESS,
        "DIR_BLOCK_SHARED",
        |image| {
            let (other, block) = (image.files["leaved"], image.files["indexed block"]);
            record(image, other, ExtentRecord::leaf(0, 1, 0, block));
        },
    ),
    fatal(
        "bg_bits of an inode group is 0",
        ENDLESS,
        "INODE_SCAN",
        |image| group_bits(image, 0),
    ),
    fatal(
        "bg_bits of an inode group is 1",
        ENDLESS,
        "INODE_SCAN",
        |image| group_bits(image, 1),
    ),
    fatal("cl_cpg is 0", DIVISION, "GROUP_CORRUPT", |image| {
        field(image, INODES, CLUSTERS, 0);
    }),
    fatal("cl_bpc is 0", DIVISION, "GROUP_CORRUPT", |image| {
        field(image, BLOCKS, BITS, 0);
    }),
    fatal("cl_count is 0", DIVISION, "GROUP_CORRUPT", |image| {
        field(image, INODES, COUNT, 0);
    }),
    fatal(
        "cl_count is several times what its block holds",
        ABORT_OR_SEGMENT,
        "GROUP_CORRUPT",
        |image| field(image, BLOCKS, COUNT, 900),
    ),
    fatal(
        "cl_count is the highest number",
        ABORT_OR_SEGMENT,
        "GROUP_CORRUPT",
        |image| field(image, BLOCKS, COUNT, u16::MAX),
    ),
    fatal(
        "groups of an inode allocator do not add up to i_total",
        ABORT,
        "INODE_SCAN",
        |image| {
            let allocator = image.files[INODES];
            image.change(allocator, |inode| {
                inode.set_bitmap(inode.used(), inode.total() + 1);
            });
        },
    ),
    fatal(
        "a chain of several has fewer blocks than c_total",
        ABORT,
        "INODE_SCAN",
        |image| chains(image, |record| record.c_total.set(record.c_total.get() + 1)),
    ),
    fatal(
        "a chain of several has more blocks than c_total",
        ABORT,
        "INODE_SCAN",
        |image| chains(image, |record| record.c_total.set(record.c_total.get() - 1)),
    ),
    fatal(
        "a chain of several has no group",
        ABORT,
        "INODE_SCAN",
        |image| chains(image, |record| record.c_blkno.set(0)),
    ),
    fatal(
        "extents of a discontiguous inode group are shorter than the group",
        ABORT,
        "GROUP_CORRUPT",
        |image| halves(image, |half| half - 1),
    ),
    fatal(
        "extents of a discontiguous inode group are longer than the group",
        ABORT,
        "GROUP_CORRUPT",
        |image| halves(image, |half| half + 1),
    ),
    fatal(
        "an extent of a discontiguous inode group is longer than the group",
        ABORT,
        "GROUP_CORRUPT",
        |image| halves(image, |half| 3 * half),
    ),
];

static TREES_AND_NUMBERS: &[Fatal] = &[
    fatal(
        "an extent block leads to itself",
        SEGMENT,
        "EXTENT_LIST_DEPTH",
        |image| {
            let block = image.files["tree block"];
            leads_to(image, block, block);
        },
    ),
    fatal(
        "an extent block leads to the one above it",
        SEGMENT,
        "EXTENT_LIST_DEPTH",
        |image| {
            let (above, below) = (image.files["tree block"], population::extent_block(image));
            leads_to(image, above, below);
            leads_to(image, below, above);
        },
    ),
    fatal(
        "the index of a directory has five levels",
        ABORT,
        "DX_TREE_CORRUPT",
        |image| image.put(image.files["leaved root"], TREE_CHECK, ROOT_LIST, &[5, 0]),
    ),
    fatal(
        "a tree of attributes has five levels",
        ABORT,
        "XATTR_UNREADABLE",
        |image| {
            let root = buckets::add(image);
            image.put(root, ATTRIBUTES_CHECK, TREE_LIST, &[5, 0]);
        },
    ),
    fatal(
        "a tree of reference counts has five levels",
        ABORT,
        "REFCOUNT_UNREADABLE",
        deep_counts,
    ),
    fatal(
        "an extent is shared, and its file has no tree of reference counts",
        ABORT,
        "EXTENT_MARKED_REFCOUNTED",
        |image| {
            let inode = image.files["data"];
            let list = ExtentList::read(&image.block(inode)[BODY..]).unwrap();
            let first = *list.get(0).unwrap();
            let (clusters, block) = (first.leaf_clusters(), first.e_blkno.get());
            record(
                image,
                inode,
                ExtentRecord::leaf(0, clusters, REFCOUNTED, block),
            );
        },
    ),
    fatal(
        "the tree of reference counts of shared extents cannot be used",
        ABORT,
        "REFCOUNT_UNREADABLE",
        |image| {
            let root = image.files["counts"];
            image.block_mut(root)[..8].fill(0);
        },
    ),
    fatal(
        "an extent is past the end of the volume",
        ABORTING,
        "CLUSTER_RANGE",
        |image| {
            let past = image.layout.blocks() + 100;
            let inode = image.files["data"];
            record(image, inode, ExtentRecord::leaf(0, 3, 0, past));
        },
    ),
    fatal(
        "an inode's own number is past the end of the volume",
        ABORTING,
        "CLUSTER_RANGE",
        |image| {
            let past = image.layout.blocks() + 100;
            image.change(image.files["data"], |inode| inode.i_blkno = past.into());
        },
    ),
];

/// Sets a field of 16 bits of an allocator's inode.
fn field(image: &mut Image, name: &str, at: usize, value: u16) {
    let inode = image.files[name];
    image.put(inode, dinode::CHECK, at, &value.to_le_bytes());
}

/// Sets the first record of an inode's extent list.
fn record(image: &mut Image, inode: u64, record: ExtentRecord) {
    image.checks.insert(inode, dinode::CHECK);
    ExtentList::put(&mut image.block_mut(inode)[BODY..], 0, record).unwrap();
}

/// Sets `bg_bits` of the first group of inodes.
fn group_bits(image: &mut Image, bits: u16) {
    let group = image.chains(image.files[INODES])[0].c_blkno.get();
    image.put(group, GROUP_CHECK, GROUP_BITS, &bits.to_le_bytes());
}

/// Gives the inode allocator a second chain, and changes the record of the first.
fn chains(image: &mut Image, change: fn(&mut ondisk::ocfs2::ChainRecord)) {
    let allocator = image.files[INODES];
    image.add_group(allocator);
    let mut chain = image.chains(allocator)[0];
    change(&mut chain);
    ChainList::put(&mut image.block_mut(allocator)[BODY..], 0, chain).unwrap();
}

/// Describes the first group of inodes as two halves, which would be sound, and the second with the length that `second` makes of a half.
fn halves(image: &mut Image, second: fn(u16) -> u16) {
    let allocator = image.files[INODES];
    let list: ChainHead = *ChainList::read(&image.block(allocator)[BODY..])
        .unwrap()
        .head();
    let half = list.cl_cpg.get() / 2;
    let group = image.chains(allocator)[0].c_blkno.get();
    let middle = group + u64::from(half) * image.layout.blocks_per_cluster();
    let records = [
        ExtentRecord::leaf(0, half, 0, group),
        ExtentRecord::leaf(half.into(), second(half), 0, middle),
    ];
    let room = extent_room(image.layout.block_size());
    population::list(image, (group, GROUP_CHECK, EXTENTS), room, 0, &records);
    let head = GroupDescriptor::read_mut(image.block_mut(group)).unwrap();
    head.bg_size = (DISCONTIG_BITMAP as u16).into();
    assert!(usize::from(head.bg_bits.get()) <= 8 * (EXTENTS - BITMAP));
}

/// Makes an extent block lead to another block of the tree, at a depth of 1.
fn leads_to(image: &mut Image, block: u64, other: u64) {
    let room = block_room(image.layout.block_size());
    let record = ExtentRecord::index(0, 10, other);
    population::list(image, (block, TREE_CHECK, BLOCK_LIST), room, 1, &[record]);
}

/// Moves the reference counts into a leaf, and says that there are five levels between it and the root.
fn deep_counts(image: &mut Image) {
    let root = image.files["counts"];
    let (leaf, bit) = image.meta_block();
    let mut counts = image.block(root).to_vec();
    let head = RefcountBlock::read_mut(&mut counts).unwrap();
    head.rf_suballoc_bit = bit.into();
    head.rf_blkno = leaf.into();
    head.rf_parent = root.into();
    head.rf_flags = refcount::LEAF.into();
    image.put(leaf, COUNTS_CHECK, 0, &counts);
    let room = block_room(image.layout.block_size());
    let record = ExtentRecord::index(0, 1, leaf);
    population::list(
        image,
        (root, COUNTS_CHECK, refcount::LIST),
        room,
        5,
        &[record],
    );
    let head = RefcountBlock::read_mut(image.block_mut(root)).unwrap();
    head.rf_flags = refcount::TREE.into();
    head.rf_clusters = 1.into();
}

/// Tries a row; what is wrong with it.
fn wrong(sound: &Image, fatal: &Fatal) -> Option<String> {
    let mut image = sound.clone();
    (fatal.make)(&mut image);
    image.store_checks();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, &image.bytes).unwrap();
    let endless = fatal.ended == ENDLESS;
    let limits = Limits {
        seconds: if endless {
            PATIENCE
        } else {
            Limits::default().seconds
        },
        ..Limits::default()
    };
    let reference = fsck_ocfs2::run_within(&path, limits);
    let reference = reference.expect("mkfs.ocfs2 is there and fsck.ocfs2 is not");
    let source = Ram::new(&image.bytes);
    drop(image);
    let report = ocfs2::Checker
        .check(&source, &Options::default(), &Silent)
        .unwrap();
    let json = report::json(&report, Judge::Reference).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let exits: Vec<serde_json::Value> = fatal.ended.iter().map(|&ended| exit(ended)).collect();
    let same = fatal.ended.contains(&reference.ended)
        && json["verdict"]["exit_code"] == 8
        && json["verdict"]["stopped_at"] == fatal.says
        && json["reference"]["ends_at"] == fatal.says
        && exits.contains(&json["reference"]["exit"]);
    (!same).then(|| {
        format!(
            "{}: fsck.ocfs2 {:?}, ours {} {}",
            fatal.about, reference.ended, json["verdict"], json["reference"]
        )
    })
}

/// An end as the document writes it.
fn exit(ended: Ended) -> serde_json::Value {
    match ended {
        Ended::Code(code) => code.into(),
        Ended::Endless => "endless".into(),
    }
}

#[test]
fn ours_ends_where_the_reference_does_not() {
    let _alone = alone();
    let Some(sound) = populated(MADE) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, &sound.bytes).unwrap();
    let Some(reference) = fsck_ocfs2::run(&path) else {
        testkit::skip!("fsck.ocfs2 is not installed");
        return;
    };
    assert_eq!(reference.ended, Ended::Code(0), "{}", reference.text);
    let rows: Vec<&Fatal> = DIRECTORIES_AND_GROUPS
        .iter()
        .chain(TREES_AND_NUMBERS)
        .collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(fatal) = rows.get(next.fetch_add(1, Relaxed)) {
                    if let Some(how) = wrong(&sound, fatal) {
                        found.lock().unwrap().push(how);
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
