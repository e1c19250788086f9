//! What no version of fsck.ocfs2 looks for: each code has a volume with that fault, of which fsck.ocfs2 prints nothing.

mod backups;
mod no_faults;
mod system_files;
mod trees;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use blockio::{BlockSource, Ram};
use check::frame::problem::{Class, Severity};
use check::ocfs2::fsck_ocfs2::problems;
use check::report::{Judge, Report};
use check::{Checker as _, Options, Silent, ocfs2};
use forge::damage::ocfs2 as damage;
use ondisk::ocfs2::chain::{self, BITMAP};
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::index::{LEAF_LIST, ROOT_LIST};
use ondisk::ocfs2::quota::{QuotaLeaf, TRAILER};
use ondisk::ocfs2::{ChainList, ExtentList, GroupDescriptor, Superblock};
use testkit::fsck_ocfs2::{self, Ended};

use super::buckets;
use super::population::populated;
use super::volume::{Image, Made};
use crate::common::alone;

/// A volume that a fault is made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Base {
    Usual,
    /// Four blocks to a cluster, and checksums.
    Checksums,
    /// As mkfs.ocfs2 makes it, with quotas.
    Quota,
    /// As mkfs.ocfs2 makes it.
    Empty,
    /// With the fewest features: no file is sparse.
    Old,
}

impl Base {
    fn image(self) -> Option<Image> {
        let made = |block, options| Made {
            block,
            cluster: 4096,
            options,
        };
        match self {
            Base::Usual => {
                let mut image = populated(made(4096, &[]))?;
                buckets::add(&mut image);
                Some(image)
            }
            Base::Checksums => {
                let mut image = populated(made(1024, &["--fs-features=metaecc"]))?;
                buckets::add(&mut image);
                Some(image)
            }
            Base::Quota => Image::made(made(4096, &["--fs-features=usrquota,grpquota,metaecc"])),
            Base::Empty => Image::made(made(4096, &[])),
            Base::Old => populated(made(4096, &["--fs-feature-level=max-compat"])),
        }
    }
}

/// A fault, and the code that it must have.
struct Fault {
    code: &'static str,
    about: &'static str,
    base: Base,
    make: fn(&mut Image),
}

const fn fault(code: &'static str, about: &'static str, base: Base, make: fn(&mut Image)) -> Fault {
    Fault {
        code,
        about,
        base,
        make,
    }
}

static FAULTS: &[Fault] = &[
    fault(
        "META_CRC",
        "a bit of a regular file's inode",
        Base::Checksums,
        |image| {
            let inode = image.files["small0"];
            image.block_mut(inode)[0x1a] ^= 4;
        },
    ),
    fault(
        "SB_BLOCK_SIZE",
        "a bit of the block size that no size has",
        Base::Empty,
        |image| image.put(2, dinode::CHECK, BODY + 0x3a, &[1]),
    ),
    fault("SB_HASH", "the hash of the UUID", Base::Empty, |image| {
        let block = image.block_mut(2);
        let sb = Superblock::read(block).unwrap();
        let hash = sb.s_uuid_hash.get() ^ 1;
        image.put(2, dinode::CHECK, BODY + 0x44, &hash.to_le_bytes());
    }),
    fault(
        "GROUP_GEOMETRY",
        "bg_bits of a group of extent blocks, with all sums",
        Base::Usual,
        |image| {
            let allocator = image.files["extent_alloc:0000"];
            change_group(image, allocator, |head| {
                head.bg_bits = (head.bg_bits.get() - 8).into();
                head.bg_free_bits_count = (head.bg_free_bits_count.get() - 8).into();
            });
            let mut record = image.chains(allocator)[0];
            record.c_total = (record.c_total.get() - 8).into();
            record.c_free = (record.c_free.get() - 8).into();
            put_chain(image, allocator, record);
            let bits = image.layout.blocks_per_cluster() as u32;
            let size = u64::from(8 / bits) * image.layout.cluster_size();
            image.change(allocator, |inode| {
                inode.set_bitmap(inode.used(), inode.total() - 8);
                inode.i_clusters = (inode.i_clusters.get() - 8 / bits).into();
                inode.i_size = (inode.i_size.get() - size).into();
            });
        },
    ),
    fault(
        "GROUP_FREE_BITS_LOW",
        "a group with more free bits than it counts, with all sums",
        Base::Usual,
        |image| {
            let allocator = image.files["extent_alloc:0000"];
            change_group(image, allocator, |head| {
                head.bg_free_bits_count = (head.bg_free_bits_count.get() - 1).into();
            });
            let mut record = image.chains(allocator)[0];
            record.c_free = (record.c_free.get() - 1).into();
            put_chain(image, allocator, record);
            image.change(allocator, |inode| {
                inode.set_bitmap(inode.used() + 1, inode.total());
            });
        },
    ),
    fault(
        "INODE_SUBALLOC_BIT",
        "a file with another bit",
        Base::Usual,
        |image| {
            image.change(image.files["data"], |inode| {
                inode.i_suballoc_bit = (inode.i_suballoc_bit.get() + 1).into();
            });
        },
    ),
    fault(
        "EXTENT_ORDER",
        "an extent that begins within the one before it, where holes hide it",
        Base::Usual,
        |image| {
            let inode = image.files["data"];
            image.put(inode, dinode::CHECK, BODY + 16, &4_u32.to_le_bytes());
        },
    ),
    fault(
        "LINK_FAST_SIZE",
        "the size of a target in the inode",
        Base::Usual,
        |image| image.change(image.files["fast"], |inode| inode.i_size = 9.into()),
    ),
    fault(
        "LINK_FAST_NULLTERM",
        "a target that fills the inode",
        Base::Usual,
        |image| {
            let room = image.layout.block_size() - BODY;
            let inode = image.files["fast"];
            image.put(inode, dinode::CHECK, BODY, &vec![b'x'; room]);
        },
    ),
    fault(
        "DIR_SIZE",
        "a directory's size that is no multiple of the block size",
        Base::Usual,
        |image| image.change(image.files["indexed"], |inode| inode.i_size = 4000.into()),
    ),
    fault(
        "DIRENT_NAME_INNER",
        "a name with a slash in it",
        Base::Usual,
        |image| {
            let root = image.sb.s_root_blkno.get();
            let at = find(image.block(root), b"small0");
            image.put(root, dinode::CHECK, at + 2, b"/");
        },
    ),
    fault(
        "DX_ROOT_FIELDS",
        "the root of an index names another directory",
        Base::Usual,
        |image| {
            let (root, other) = (image.files["indexed root"], image.files["leaved"]);
            image.put(root, 8, 0x30, &other.to_le_bytes());
        },
    ),
    fault(
        "DX_ROOT_FIELDS",
        "the root of an index counts one entry more",
        Base::Usual,
        |image| {
            let root = image.files["leaved root"];
            let count = image.block(root)[0x38] + 1;
            image.put(root, 8, 0x38, &[count]);
        },
    ),
    fault(
        "DX_PLACE",
        "a copy of an index entry in another leaf",
        Base::Checksums,
        |image| {
            let leaves = image.files["index leaf"];
            let used = |image: &Image, leaf| usize::from(image.block(leaf)[LEAF_LIST + 6]);
            let from = (leaves..leaves + 4).find(|&leaf| used(image, leaf) > 0);
            let from = from.unwrap();
            let to = if from == leaves { leaves + 1 } else { leaves };
            let entry = image.block(from)[LEAF_LIST + 8..][..16].to_vec();
            let count = used(image, to);
            image.put(to, 8, LEAF_LIST + 8 + 16 * count, &entry);
            image.put(to, 8, LEAF_LIST + 6, &[count as u8 + 1]);
            let root = image.files["leaved root"];
            let entries = image.block(root)[0x38] + 1;
            image.put(root, 8, 0x38, &[entries]);
        },
    ),
    fault(
        "DX_EXTRA",
        "an index entry of a name that is not there",
        Base::Usual,
        |image| {
            let root = image.files["indexed root"];
            let block = image.block(root);
            let count = usize::from(block[ROOT_LIST + 6]);
            let mut entry = block[ROOT_LIST + 8..][..16].to_vec();
            entry[..8].copy_from_slice(&0x1234_5678_9abc_def0_u64.to_le_bytes());
            image.put(root, 8, ROOT_LIST + 8 + 16 * count, &entry);
            image.put(root, 8, ROOT_LIST + 6, &[count as u8 + 1]);
            image.put(root, 8, 0x38, &[count as u8 + 1]);
        },
    ),
    fault(
        "DX_LEAF_FIELDS",
        "a leaf of an index with another number",
        Base::Usual,
        |image| {
            let leaf = image.files["index leaf"];
            image.put(leaf, 8, 0x10, &(leaf + 1).to_le_bytes());
        },
    ),
    fault(
        "LINKS_HI",
        "the high half of a file's links",
        Base::Usual,
        |image| {
            image.change(image.files["small1"], |inode| {
                inode.i_links_count_hi = 1.into();
            });
        },
    ),
    fault(
        "EXTENT_ALLOC_BIT",
        "a block of an extent allocator that is not free and of no use",
        Base::Usual,
        |image| {
            image.meta_block();
        },
    ),
    fault(
        "EXTENT_ALLOC_BIT",
        "an extent block that is free",
        Base::Usual,
        |image| {
            let allocator = image.files["extent_alloc:0000"];
            let block = image.files["tree block"];
            let group = image.chains(allocator)[0].c_blkno.get();
            change_group(image, allocator, |head| {
                head.bg_free_bits_count = (head.bg_free_bits_count.get() + 1).into();
            });
            let bitmap = &mut image.block_mut(group)[BITMAP..];
            chain::set_bit(bitmap, (block - group) as usize, false);
            let mut record = image.chains(allocator)[0];
            record.c_free = (record.c_free.get() + 1).into();
            put_chain(image, allocator, record);
            image.change(allocator, |inode| {
                inode.set_bitmap(inode.used() - 1, inode.total());
            });
        },
    ),
    fault(
        "QUOTA_USAGE",
        "five inodes more for a user",
        Base::Quota,
        |image| {
            let inode = image.files["aquota.user"];
            let list = ExtentList::read(&image.block(inode)[BODY..]).unwrap();
            let last = list.used().last().unwrap();
            let leaf = last.e_blkno.get() + u64::from(last.leaf_clusters()) - 1;
            let at = QuotaLeaf::SIZE + 24;
            let count = image.block(leaf)[at];
            assert!(count > 0, "the entry of the first user");
            let check = image.layout.block_size() - TRAILER;
            image.put(leaf, check, at, &[count + 5]);
        },
    ),
    fault(
        "SLOT_MAP",
        "a slot map that ends before its slots",
        Base::Usual,
        |image| image.change(image.files["slot_map"], |inode| inode.i_size = 1.into()),
    ),
    fault(
        "ORPHAN_STATE",
        "a file with a name that is marked as an orphan",
        Base::Usual,
        |image| {
            image.change(image.files["small2"], |inode| {
                inode.i_flags = (inode.i_flags.get() | dinode::flag::ORPHANED).into();
            });
        },
    ),
    fault(
        "XATTR_ORDER",
        "a bucket with the hashes of the one after it",
        Base::Checksums,
        |image| {
            let (first, second) = (image.files["bucket"], image.files["bucket 2"]);
            buckets::swap_hashes(image, first, second);
        },
    ),
    fault(
        "XATTR_ORDER",
        "the same on a volume without checksums",
        Base::Usual,
        |image| {
            let (first, second) = (image.files["bucket"], image.files["bucket 2"]);
            buckets::swap_hashes(image, first, second);
        },
    ),
];

/// All faults.
fn every_fault() -> impl Iterator<Item = &'static Fault> {
    let lists = [FAULTS, system_files::FAULTS, trees::FAULTS];
    lists.into_iter().flatten()
}

/// Codes whose volumes are elsewhere: those of backups need 1 GiB, a wrong last extent block ends fsck.ocfs2 (the damage case
/// `last-eb`), and what an image cuts off is in `cut`.
const ELSEWHERE: [&str; 5] = [
    "SB_BACKUP",
    "BACKUP_CLUSTER_CLAIMED",
    "INODE_LAST_EB",
    "FILE_CUT",
    "VOLUME_CUT",
];

fn change_group(image: &mut Image, allocator: u64, change: impl FnOnce(&mut GroupDescriptor)) {
    let group = image.chains(allocator)[0].c_blkno.get();
    image.checks.insert(group, 0x30);
    change(GroupDescriptor::read_mut(image.block_mut(group)).unwrap());
}

fn put_chain(image: &mut Image, allocator: u64, record: ondisk::ocfs2::ChainRecord) {
    image.checks.insert(allocator, dinode::CHECK);
    ChainList::put(&mut image.block_mut(allocator)[BODY..], 0, record).unwrap();
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    let mut windows = bytes.windows(what.len());
    windows.position(|window| window == what).unwrap()
}

fn report(source: &dyn BlockSource) -> Report {
    let checker = ocfs2::Checker;
    checker.check(source, &Options::default(), &Silent).unwrap()
}

/// Codes of findings that are faults.
fn faults(report: &Report) -> BTreeSet<&'static str> {
    report
        .faults()
        .map(|finding| finding.problem.name)
        .collect()
}

#[test]
fn every_code_of_our_own_has_a_volume() {
    let listed: BTreeSet<&str> = every_fault().map(|fault| fault.code).collect();
    let own = problems::all().filter(|problem| problem.code >= 0x300);
    let missing: Vec<&str> = own
        .filter(|problem| problem.class != Class::Notice)
        .map(|problem| problem.name)
        .filter(|name| !listed.contains(name) && !ELSEWHERE.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_the_reference_does_not_look_for_is_found() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    for base in [
        Base::Usual,
        Base::Checksums,
        Base::Quota,
        Base::Empty,
        Base::Old,
    ] {
        let Some(sound) = base.image() else { return };
        let found = report(&Ram::new(&sound.bytes));
        assert_eq!(
            faults(&found),
            BTreeSet::new(),
            "{base:?}: {:#?}",
            found.findings.list
        );
        // Of blocks of 1 KiB fsck.ocfs2 raises a false alarm.
        fs::write(&path, &sound.bytes).unwrap();
        let alarms = fsck_ocfs2::run(&path).unwrap().codes;
        for fault in every_fault().filter(|fault| fault.base == base) {
            let mut image = sound.clone();
            (fault.make)(&mut image);
            image.store_checks();
            let report = report(&Ram::new(&image.bytes));
            let what = format!("{base:?}: {}: {:#?}", fault.about, report.findings.list);
            assert_eq!(faults(&report), BTreeSet::from([fault.code]), "{what}");
            // What is cosmetic is listed, and counts for no verdict.
            let counts = report
                .faults()
                .any(|finding| finding.problem.severity != Severity::Cosmetic);
            let exit = report.verdict(Judge::Strict).exit_code;
            assert_eq!(exit, if counts { 4 } else { 0 }, "{what}");
            let codes = report.reference_run.as_ref().unwrap().codes.iter();
            let codes = codes.map(|(name, count)| ((*name).to_owned(), *count));
            assert_eq!(codes.collect::<BTreeMap<_, _>>(), alarms, "{what}");
            fs::write(&path, &image.bytes).unwrap();
            let reference = fsck_ocfs2::run(&path).unwrap();
            assert_eq!(reference.ended, Ended::Code(0), "{what}");
            assert_eq!(reference.codes, alarms, "{what}");
        }
    }
}

/// The cases of `fslab forge damage` that fsck.ocfs2 does not look for; crates/forge/tests/it/ocfs2/damage.rs holds them against it.
#[test]
fn cases_without_a_code_of_the_reference_are_found() {
    let _alone = alone();
    let mut images = BTreeMap::new();
    for case in damage::all().filter(|case| !case.strict.is_empty()) {
        let base = match case.base {
            damage::Base::Checksums => Base::Checksums,
            damage::Base::Old => Base::Old,
            damage::Base::Quota => Base::Quota,
            _ => Base::Usual,
        };
        if let Entry::Vacant(place) = images.entry(base) {
            let Some(image) = base.image() else { return };
            place.insert(image);
        }
        let mut bytes = images[&base].bytes.clone();
        let mut volume = damage::Volume::open(&mut bytes).unwrap();
        case.apply(&mut volume).unwrap();
        let report = report(&Ram::new(&bytes));
        let what = format!("{}: {:#?}", case.name, report.findings.list);
        assert_eq!(faults(&report), BTreeSet::from([case.strict]), "{what}");
    }
}
