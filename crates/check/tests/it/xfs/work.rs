//! No damage makes a check endless, and a check that is cancelled ends after a bounded amount of work, whichever phase it is in.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use blockio::layer::Counting;
use blockio::{BlockSource, Mode};
use check::report::Judge;
use check::{Checker as _, Failure, Observer, Options, Pass, Progress, Silent, xfs};
use ondisk::xfs::dinode::Inode;
use ondisk::xfs::{Superblock, checksum};

use super::disk::{Disk, MOST};
use super::strict::{put, repair};
use super::volume::{Forged, forged, lines, made, report, tools};

/// Requests that a check of a small filesystem needs at most.
const FEW: u64 = 20_000;

/// A filesystem with a realtime part.
pub(super) fn with_realtime_part(words: &[&str]) -> Forged {
    let made = made("300M", &[]);
    let device = made.image.with_extension("rt");
    File::create(&device).unwrap().set_len(64 << 20).unwrap();
    let part = format!("rtdev={}", device.display());
    let image = made.image.to_str().unwrap();
    let mut command = std::process::Command::new("mkfs.xfs");
    let made_again = command
        .args(["-q", "-f", "-r", &part])
        .args(words)
        .arg(image)
        .output()
        .unwrap();
    let why = String::from_utf8_lossy(&made_again.stderr);
    assert!(made_again.status.success(), "{why}");
    made
}

/// Both say that it is damaged, and ours with few requests.
fn is_damaged(image: &Forged) {
    let found = report(&image.image, 2);
    let lines = lines(&found);
    assert_eq!(found.verdict(Judge::Reference).exit_code, 1, "{lines:#?}");
    assert_eq!(found.verdict(Judge::Strict).exit_code, 4, "{lines:#?}");
    assert!(
        found.total.requests < FEW,
        "{} requests",
        found.total.requests
    );
    if let Some(theirs) = repair(image) {
        assert_eq!(theirs, 1);
    }
}

/// A file of the superblock's whose btree has six levels of nodes with 200 pointers to one block each: 64 * 10^12 ways lead to its leaf.
#[test]
fn a_tree_whose_nodes_lead_to_one_block() {
    if !tools() {
        return;
    }
    let image = with_realtime_part(&[]);
    let disk = Disk::open(&image.image);
    let size = disk.geo.block_size as usize;
    let (levels, pointers) = (6_u16, 200_u16);
    let first = disk.take(0, u32::from(levels) + 1);
    let ino = disk.sb.sb_rbmino.get();
    for nth in 0..=levels {
        let level = levels - nth;
        let at = disk.geo.block_offset(first + u64::from(nth));
        let daddr = disk.geo.daddr(first + u64::from(nth));
        let uuid = disk.geo.uuid;
        disk.change(at, size, checksum::LONG_BTREE, |bytes| {
            bytes.fill(0);
            put(bytes, 0, b"BMA3");
            put(bytes, 4, &level.to_be_bytes());
            put(bytes, 8, &[0xff; 16]);
            put(bytes, 24, &daddr.to_be_bytes());
            put(bytes, 40, &uuid);
            put(bytes, 56, &ino.to_be_bytes());
            if level > 0 {
                put(bytes, 6, &pointers.to_be_bytes());
                let room = (size - 72) / 16;
                for at in 0..usize::from(pointers) {
                    let next = first + u64::from(nth) + 1;
                    put(bytes, 72 + 8 * at, &(at as u64).to_be_bytes());
                    put(bytes, 72 + 8 * (room + at), &next.to_be_bytes());
                }
            }
        });
    }
    let bytes = disk.inode_bytes(ino);
    let fork = Inode::new(&disk.geo, &bytes).data_fork().len();
    let start = disk.geo.inode_size as usize - disk.geo.literal_area();
    disk.inode(ino, |bytes| {
        bytes[5] = 3;
        put(bytes, start, &(levels + 1).to_be_bytes());
        put(bytes, start + 2, &1_u16.to_be_bytes());
        put(bytes, start + 4, &[0; 8]);
        put(
            bytes,
            start + 4 + 8 * ((fork - 4) / 16),
            &first.to_be_bytes(),
        );
    });
    is_damaged(&image);
}

/// More realtime extents than there are blocks, and than there is memory for a bit each.
#[test]
fn realtime_extents_without_number() {
    if !tools() {
        return;
    }
    let image = with_realtime_part(&[]);
    let disk = Disk::open(&image.image);
    for extents in [1_u64 << 34, 1 << 60, u64::MAX] {
        disk.header(0, 0, |bytes| {
            Superblock::read_mut(bytes).unwrap().sb_rextents = extents.into();
        });
        is_damaged(&image);
    }
}

/// All buckets of a group lead to the same list: its inodes are read once.
#[test]
fn a_list_of_unlinked_inodes_in_every_bucket() {
    if !tools() {
        return;
    }
    let image = forged("300M", "", "files = 2000\n");
    let before = report(&image.image, 1).total.requests;
    let disk = Disk::open(&image.image);
    let list: Vec<u64> = disk
        .inodes()
        .iter()
        .filter(|one| one.1)
        .map(|one| one.0)
        .take(500)
        .collect();
    for pair in list.windows(2) {
        let next = disk.geo.agino_of(pair[1]);
        disk.inode(pair[0], |bytes| put(bytes, 96, &next.to_be_bytes()));
    }
    let head = disk.geo.agino_of(list[0]);
    disk.header(0, 2, |bytes| {
        for bucket in 0..64 {
            put(bytes, 40 + 4 * bucket, &head.to_be_bytes());
        }
    });
    let found = report(&image.image, 1);
    let more = found.total.requests - before;
    assert!(more < 600, "{more} requests more for 500 inodes");
    assert_eq!(
        repair(&image).unwrap_or(1),
        found.verdict(Judge::Reference).exit_code
    );
}

/// A directory of 20 million blocks, none of which was ever written: blocks of zeros are counted by the run, not judged one by one.
#[test]
fn a_directory_that_maps_a_hole() {
    if !tools() {
        return;
    }
    let image = forged("4T", "", "files = 20\n");
    let disk = Disk::open(&image.image);
    let ino = disk.files()[0];
    let extents = 10;
    let group = 1 << disk.geo.agblk_log;
    let starts = (0..extents).map(|nth| nth % 4 * group + nth / 4 * MOST + 100_000);
    disk.huge_directory(ino, starts);
    let options = Options {
        keep: 10_000_000,
        ..Options::default()
    };
    let source = blockio::open(&image.image, Mode::Buffered).unwrap().source;
    let found = xfs::Checker::default()
        .check(&source, &options, &Silent)
        .unwrap();
    let counts = found.findings.tallies.iter().map(|tally| tally.count);
    let (count, judged) = (counts.sum::<u64>(), found.findings.list.len() as u64);
    assert!(count > extents * MOST, "{count}");
    assert!(judged < count / 100, "{judged} of {count}");
    assert_eq!(found.verdict(Judge::Reference).exit_code, 1);
}

/// Cancels a check in one of its passes, at one of its questions.
struct Cancelling<'a, S> {
    source: &'a Counting<S>,
    pass: usize,
    passes: AtomicU64,
    patience: u64,
    questions: AtomicU64,
    /// Requests when it first asked to stop, and one more; 0: it has not.
    at: AtomicU64,
}

impl<S: BlockSource> Progress for Cancelling<'_, S> {
    fn cancelled(&self) -> bool {
        if self.passes.load(Relaxed) <= self.pass as u64
            || self.questions.fetch_add(1, Relaxed) < self.patience
        {
            return false;
        }
        let now = self.source.counts().requests + 1;
        let _ = self.at.compare_exchange(0, now, Relaxed, Relaxed);
        true
    }
}

impl<S: BlockSource> Observer for Cancelling<'_, S> {
    fn pass_started(&self, _: &'static Pass) {
        self.passes.fetch_add(1, Relaxed);
    }
}

/// What every phase has something to do with: a realtime part, mappings that disagree, unlinked inodes.
fn busy() -> Forged {
    let image = with_realtime_part(&["-m", "rmapbt=0", "-b", "size=1024"]);
    let disk = Disk::open(&image.image);
    let root = disk.geo.agino_of(disk.sb.sb_rootino.get());
    disk.header(0, 2, |bytes| {
        for bucket in 0..64 {
            put(bytes, 40 + 4 * bucket, &root.to_be_bytes());
        }
    });
    image
}

#[test]
fn each_phase_ends_when_the_check_is_cancelled() {
    if !tools() {
        return;
    }
    let tree = forged("300M", "rmapbt", PROFILE);
    let disk = Disk::open(&tree.image);
    let mut records = disk.records(0, ondisk::xfs::btree::Tree::Rmap);
    records.pop();
    if disk.root(0, ondisk::xfs::btree::Tree::Rmap).1 == 1 {
        disk.set_records(0, ondisk::xfs::btree::Tree::Rmap, &records);
    }
    for image in [busy(), tree] {
        let opened = blockio::open(&image.image, Mode::Buffered).unwrap().source;
        let names = xfs::Checker::default().passes();
        for (pass, name) in names.iter().enumerate().take(7) {
            for patience in [0, 1, 5, 40] {
                let source = Counting::new(&*opened);
                let observer = Cancelling {
                    source: &source,
                    pass,
                    passes: AtomicU64::new(0),
                    patience,
                    questions: AtomicU64::new(0),
                    at: AtomicU64::new(0),
                };
                let mut options = Options::default();
                options.set_threads(2);
                let ended = xfs::Checker::default().check(&source, &options, &observer);
                let asked = observer.at.load(Relaxed);
                if asked == 0 {
                    assert!(ended.is_ok(), "{name:?} {patience}");
                    continue;
                }
                assert!(
                    matches!(ended, Err(Failure::Stopped)),
                    "{name:?} {patience}"
                );
                let more = source.counts().requests + 1 - asked;
                assert!(
                    more <= 64,
                    "{name:?} {patience}: {more} requests after it was asked to stop"
                );
            }
        }
    }
}

/// Directories of every form, attributes and links in blocks.
const PROFILE: &str = r#"
    files = 3000
    per_directory = [["3-9", 20], ["20-60", 10], ["600-700", 1]]
    file_size = [["0", 1], ["1-9k", 9]]
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["400-900", 1]]
    [attributes]
    block = 0.05
"#;
