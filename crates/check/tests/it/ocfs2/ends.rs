//! What makes fsck.ocfs2 -fn hang, crash or abort, as docs/check-ocfs2.md lists it: both are run, and ours comes to the end and names the fault.

use blockio::Ram;
use check::frame::verdict::Exit;
use check::report::Judge;
use check::{Checker as _, Options, Silent, ocfs2};
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::extent::{BLOCK_LIST, REFCOUNTED};
use ondisk::ocfs2::index::ROOT_LIST;
use ondisk::ocfs2::{ChainList, ExtentList, ExtentRecord};
use testkit::fsck_ocfs2::{self, Ended, Limits};

use super::population::populated;
use super::volume::{Image, Made};
use crate::common::alone;

const MADE: Made = Made {
    block: 4096,
    cluster: 4096,
    options: &[],
};
/// A run that takes longer has no end. Those that end take a tenth of a second.
const PATIENCE: u64 = 5;

/// Damage, how fsck.ocfs2 ends, and what ours says.
struct Fatal {
    about: &'static str,
    ended: Ended,
    says: &'static str,
    make: fn(&mut Image),
}

const ABORT: Ended = Ended::Code(134);
const DIVISION: Ended = Ended::Code(136);
const SEGMENT: Ended = Ended::Code(139);
const ABORTING: Ended = Ended::Code(1);
/// `cl_cpg`, `cl_bpc` and `cl_count` of an allocator.
const CLUSTERS: usize = BODY;
const BITS: usize = BODY + 2;
const COUNT: usize = BODY + 4;

const fn fatal(
    about: &'static str,
    ended: Ended,
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

static FATAL: &[Fatal] = &[
    fatal(
        "a block belongs to two directories",
        Ended::Endless,
        "DIR_BLOCK_SHARED",
        |image| {
            let (other, block) = (image.files["leaved"], image.files["indexed block"]);
            record(image, other, 0, ExtentRecord::leaf(0, 1, 0, block));
        },
    ),
    fatal(
        "bg_bits of an inode group is 0",
        Ended::Endless,
        "INODE_SCAN",
        |image| {
            let allocator = image.files["inode_alloc:0000"];
            let group = image.chains(allocator)[0].c_blkno.get();
            image.put(group, 0x30, 0x0a, &[0, 0]);
        },
    ),
    fatal("cl_cpg is 0", DIVISION, "GROUP_CORRUPT", |image| {
        field(image, "inode_alloc:0000", CLUSTERS, 0);
    }),
    fatal("cl_bpc is 0", DIVISION, "GROUP_CORRUPT", |image| {
        field(image, "extent_alloc:0000", BITS, 0);
    }),
    fatal("cl_count is 0", DIVISION, "GROUP_CORRUPT", |image| {
        field(image, "inode_alloc:0000", COUNT, 0);
    }),
    fatal(
        "cl_count is several times what its block holds",
        ABORT,
        "GROUP_CORRUPT",
        |image| field(image, "extent_alloc:0000", COUNT, 900),
    ),
    fatal(
        "an extent block leads to itself",
        SEGMENT,
        "EXTENT_LIST_DEPTH",
        |image| {
            let block = image.files["tree block"];
            image.put(block, 8, BLOCK_LIST, &[1, 0]);
            let own = ExtentRecord::index(0, 10, block);
            image.checks.insert(block, 8);
            ExtentList::put(&mut image.block_mut(block)[BLOCK_LIST..], 0, own).unwrap();
        },
    ),
    fatal(
        "the index of a directory has five levels",
        ABORT,
        "DX_TREE_CORRUPT",
        |image| image.put(image.files["leaved root"], 8, ROOT_LIST, &[5, 0]),
    ),
    fatal(
        "groups of an inode allocator do not add up to c_total",
        ABORT,
        "INODE_SCAN",
        |image| {
            let allocator = image.files["inode_alloc:0000"];
            let mut chain = image.chains(allocator)[0];
            chain.c_total = (chain.c_total.get() + 1).into();
            ChainList::put(&mut image.block_mut(allocator)[BODY..], 0, chain).unwrap();
        },
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
                0,
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
            record(image, inode, 0, ExtentRecord::leaf(0, 3, 0, past));
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

/// Sets a record of an inode's extent list.
fn record(image: &mut Image, inode: u64, at: usize, record: ExtentRecord) {
    ExtentList::put(&mut image.block_mut(inode)[BODY..], at, record).unwrap();
}

#[test]
fn ours_ends_where_the_reference_does_not() {
    let _alone = alone();
    let Some(sound) = populated(MADE) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut wrong = Vec::new();
    for fatal in FATAL {
        let mut image = sound.clone();
        (fatal.make)(&mut image);
        let source = Ram::new(&image.bytes);
        let checker = ocfs2::Checker;
        let report = checker
            .check(&source, &Options::default(), &Silent)
            .unwrap();
        let run = report.reference_run.as_ref().unwrap();
        let what = format!("{}: {run:?} {:#?}", fatal.about, report.findings.list);
        assert_eq!(run.ends_at, Some(fatal.says), "{what}");
        let ended = match run.exit {
            Exit::Complete => Ended::Code(0),
            Exit::Code(code) => Ended::Code(code.into()),
            Exit::Endless => Ended::Endless,
        };
        assert_eq!(ended, fatal.ended, "{what}");
        assert_eq!(report.verdict(Judge::Reference).exit_code, 8, "{what}");
        std::fs::write(&path, &image.bytes).unwrap();
        let limits = Limits {
            seconds: PATIENCE,
            ..Limits::default()
        };
        let reference = fsck_ocfs2::run_within(&path, limits).unwrap();
        if reference.ended != fatal.ended {
            wrong.push(format!("{}: {:?}", fatal.about, reference.ended));
        }
    }
    assert!(wrong.is_empty(), "fsck.ocfs2 ends otherwise: {wrong:#?}");
}
