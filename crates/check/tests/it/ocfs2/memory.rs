//! Volumes whose inodes claim the same clusters, held to memory and time.

use blockio::Ram;
use check::{Options, ocfs2};
use ondisk::ocfs2::ExtentRecord;
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::extent::ExtentHead;

use super::population::list;
use super::volume::{Image, Made};
use crate::bounds::{self, Bounds};
use crate::common::alone;

const INODES: u64 = 1500;
const CLUSTERS: u16 = 12_000;

/// 18 million claims of 12,000 clusters: 13 billion comparisons where each claim is compared with those before it.
#[test]
fn a_crowd_of_owners_of_one_run_is_counted_and_not_listed() {
    let made = Made {
        block: 4096,
        cluster: 4096,
        options: &[],
    };
    let Some(mut image) = Image::made(made) else {
        return;
    };
    let _alone = alone();
    let room = (image.layout.block_size() - BODY - ExtentHead::SIZE) / ExtentRecord::SIZE;
    let first = image.layout.first_group + 1;
    for nth in 0..INODES {
        let allocator = image.files["inode_alloc:0000"];
        if nth % 900 == 800 {
            image.add_group(allocator);
        }
        let inode = image.new_inode(0o100_644, 1);
        image.change(inode, |inode| {
            inode.i_clusters = u32::from(CLUSTERS).into();
            inode.i_size = (u64::from(CLUSTERS) * 4096).into();
        });
        let record = ExtentRecord::leaf(0, CLUSTERS, 0, first);
        list(&mut image, (inode, dinode::CHECK, BODY), room, 0, &[record]);
    }
    image.store_checks();
    let ram = Ram::new(&image.bytes);
    let options = Options {
        sweep: bounds::sweep(),
        keep: 64,
        ..Options::default()
    };
    let bounds = Bounds {
        memory: 80 << 20,
        reads: 1 << 30,
    };
    let took = bounds::check(&ram, "a crowd", &ocfs2::Checker, options, bounds);
    println!("{} KiB, {:?}", took.memory >> 10, took.time);
    let report = took.report.expect("it fits");
    let count = |name: &str| {
        let tallies = report.findings.tallies.iter();
        let of = tallies.filter(|tally| tally.problem.name == name);
        of.map(|tally| tally.count).sum::<u64>()
    };
    let shared = u64::from(CLUSTERS);
    assert_eq!(count("CLUSTERS_SHARED"), shared);
    assert_eq!(count("DUP_CLUSTERS_CLONE"), shared * INODES);
    assert_eq!(count("DUP_CLUSTERS_DELETE"), shared * INODES);
    let one = report
        .findings
        .list
        .iter()
        .find(|one| one.problem.name == "CLUSTERS_SHARED");
    let found = format!("{:?}", one.unwrap().found);
    // The first of these clusters may be one of the global inode allocator's.
    let more = |owners: u64| found.contains(&format!("and {} more", owners - 32));
    assert!(more(INODES) || more(INODES + 1), "{found}");
}
