//! Forged volumes, and what fsck.ocfs2 prints of them.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use forge::ocfs2::{Ocfs2, Options};
use forge::population::{FileKind, Listed, Population, Profile};
use forge::{Image as _, Written};
use ondisk::ocfs2::Superblock;
use testkit::fsck_ocfs2::{self, Limits};

/// A forged volume in a folder of its own.
pub(crate) struct Forged {
    pub(crate) population: Population,
    pub(crate) written: Written,
    pub(crate) image: PathBuf,
    pub(crate) dir: tempfile::TempDir,
}

/// Whether a program of ocfs2-tools is installed; otherwise the skip is reported.
pub(crate) fn tools() -> bool {
    let found = Command::new("mkfs.ocfs2").arg("-V").output().is_ok();
    if !found {
        testkit::skip!("needs ocfs2-tools");
    }
    found
}

/// Options for a size.
pub(crate) fn options(size: &str) -> Options {
    let mut options = Options::new(forge::amount::bytes(size).unwrap());
    options.seed = 11;
    options
}

/// A folder in memory where there is one: mkfs.ocfs2 waits for the disk.
pub(crate) fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
    }
}

pub(crate) fn forge(options: &Options, text: &str) -> Result<Forged, forge::Error> {
    let profile = Profile::parse("profile", text).unwrap();
    let dir = scratch();
    let image = dir.path().join("image");
    let written = Ocfs2::new(options.clone(), profile.clone())?.write(&image, &forge::Silent)?;
    Ok(Forged {
        population: Population::new(profile)?,
        written,
        image,
        dir,
    })
}

/// What fsck.ocfs2 prints.
#[derive(Debug)]
pub(crate) struct Fsck {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

pub(crate) fn fsck(image: &Path) -> Fsck {
    let mut command = fsck_ocfs2::command(image, "-fn -tt", Limits::default());
    let output = command.output().expect("fsck.ocfs2 starts");
    let text = [&output.stdout, &output.stderr].map(|part| String::from_utf8_lossy(part));
    Fsck {
        code: output.status.code(),
        text: text.concat(),
    }
}

impl Fsck {
    /// The lines with a problem. mkfs.ocfs2 gives a system directory with blocks no index, which is none of ours.
    pub(crate) fn problems(&self, system: u64) -> Vec<&str> {
        let own = format!("[DX_TREE_MISSING] Directory {system} ");
        let lines = self.text.lines();
        lines
            .filter(|line| line.starts_with('[') && !line.starts_with(&own))
            .collect()
    }

    /// A number of the inventory: `regular files (712550 inlines, 0 reflinks)` by `regular file`, and `inline` of that line.
    pub(crate) fn count(&self, what: &str) -> u64 {
        let line = self
            .text
            .lines()
            .find(|line| {
                line.trim_start()
                    .trim_start_matches(char::is_numeric)
                    .trim_start()
                    .starts_with(what)
            })
            .unwrap_or_else(|| panic!("no {what}: {}", self.text));
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
}

/// Asserts that fsck.ocfs2 finds nothing and counts what the population has.
pub(crate) fn assert_clean(forged: &Forged, what: &str) {
    let fsck = fsck(&forged.image);
    assert!(
        forged.written.maker.starts_with("mkfs.ocfs2 1."),
        "{what}: {}",
        forged.written.maker
    );
    assert_eq!(fsck.code, Some(0), "{what}: {}", fsck.text);
    let problems = fsck.problems(forged.system_directory());
    let short = &problems[..problems.len().min(20)];
    assert!(problems.is_empty(), "{what}: {short:#?}");
    assert!(
        fsck.text.contains("All passes succeeded."),
        "{what}: {}",
        fsck.text
    );
    let system = system(forged);
    let own = |name| system.get(name).copied().unwrap_or(0);
    let expected = census(&forged.population);
    for (name, number) in &expected {
        assert_eq!(
            fsck.count(name),
            number + own(name),
            "{what}: {name}: {}",
            fsck.text
        );
    }
    let inodes: u64 = [
        "regular file",
        "director",
        "character",
        "block device",
        "fifo",
        "symbolic link",
        "socket",
    ]
    .into_iter()
    .map(|name| expected.get(name).copied().unwrap_or(0))
    .sum();
    // The root is no inode of the population.
    assert_eq!(forged.written.inodes, inodes - 1, "{what}");
}

/// Files and directories of the system, and lost+found.
fn system(forged: &Forged) -> BTreeMap<&'static str, u64> {
    let slots = u64::from(forged.slots());
    // bad_blocks, global_inode_alloc, slot_map, heartbeat and global_bitmap; in each slot two allocators, a journal, a window and a log.
    let files = 5 + 5 * slots;
    // The system directory, lost+found, and an orphan directory in each slot.
    [("regular file", files), ("director", 2 + slots)].into()
}

impl Forged {
    /// The superblock's block.
    fn superblock(&self) -> (u64, Vec<u8>) {
        use ondisk::ocfs2::superblock::{BLOCK, BLOCK_SIZES};
        let file = std::fs::File::open(&self.image).unwrap();
        for size in BLOCK_SIZES {
            let mut block = vec![0; 4096];
            file.read_exact_at(&mut block, BLOCK * size).unwrap();
            if Superblock::read(&block).is_ok_and(|sb| sb.block_size() == Some(size)) {
                return (size, block);
            }
        }
        panic!("no superblock");
    }

    /// The block of the system directory's inode.
    pub(crate) fn system_directory(&self) -> u64 {
        let block = self.superblock().1;
        Superblock::read(&block).unwrap().s_system_dir_blkno.get()
    }

    pub(crate) fn slots(&self) -> u16 {
        Superblock::read(&self.superblock().1)
            .unwrap()
            .s_max_slots
            .get()
    }
}

/// Inodes of a population by kind, the root included.
fn census(population: &Population) -> BTreeMap<&'static str, u64> {
    let mut found: BTreeMap<&'static str, u64> = [
        ("regular file", 0),
        ("director", population.directories().into()),
    ]
    .into();
    let mut seen = std::collections::BTreeSet::new();
    let mut linked = std::collections::BTreeSet::new();
    for directory in 0..population.directories() {
        for named in population.list(directory) {
            let Listed::File(id) = named.what else {
                continue;
            };
            if !seen.insert(id) {
                linked.insert(id);
                continue;
            }
            let name = match population.file_kind(id) {
                FileKind::Regular(_) => "regular file",
                FileKind::Symlink(_) => "symbolic link",
                FileKind::CharacterDevice => "character",
                FileKind::BlockDevice => "block device",
                FileKind::Fifo => "fifo",
                FileKind::Socket => "socket",
            };
            *found.entry(name).or_default() += 1;
        }
    }
    found.insert("link", linked.len() as u64);
    found
}
