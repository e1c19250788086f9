//! Images that mke2fs and debugfs make, changed by hand, judged by e2fsck and by us.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod random;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use blockio::Ram;
use check::ext4::{self, Reference};
use check::{Options, Report, Silent};
#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use fixtures::problem_codes::{self as codes, counts, names};
use ondisk::ext4::group_descriptor::GroupDescriptor;
use ondisk::ext4::inode::InodeMut;
use ondisk::ext4::{Geometry, Seed, Superblock, superblock};

/// Runs a program that may end with one of these codes; what it printed.
pub(crate) fn run(program: &str, args: &[&str], input: &str, codes: &[i32]) -> String {
    let mut child = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    // In a thread of its own: a program may print before it has read all.
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_owned());
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let code = output.status.code();
    assert!(
        code.is_some_and(|code| codes.contains(&code)),
        "{program} {args:?}: {code:?}: {printed}"
    );
    printed
}

/// A filesystem in memory, and where its inodes lie.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) sb: Superblock,
    pub(crate) geometry: Geometry,
    descriptors: Vec<GroupDescriptor>,
}

impl Image {
    /// mke2fs with these options and this size, then debugfs with these commands, in which `@small` and `@large` are files of 10
    /// and 5,000 bytes.
    pub(crate) fn make(options: &[&str], size: &str, commands: &str) -> Image {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let path = path.to_str().unwrap();
        let (small, large) = (dir.path().join("small"), dir.path().join("large"));
        fs::write(&small, b"0123456789").unwrap();
        fs::write(&large, vec![b'x'; 5000]).unwrap();
        let commands = commands
            .replace("@small", small.to_str().unwrap())
            .replace("@large", large.to_str().unwrap());
        let mut args = vec!["-q", "-F", "-U", "00112233-4455-6677-8899-aabbccddeeff"];
        args.extend(options);
        args.extend([path, size]);
        run("mke2fs", &args, "", &[0]);
        if !commands.is_empty() {
            run("debugfs", &["-w", "-f", "-", path], &commands, &[0]);
        }
        // Indexes large directories, and leaves no trace of debugfs's habits.
        run("e2fsck", &["-fyD", path], "", &[0, 1]);
        Image::read(fs::read(path).unwrap())
    }

    pub(crate) fn read(bytes: Vec<u8>) -> Image {
        let sb = *Superblock::read(&bytes[superblock::OFFSET as usize..]).unwrap();
        let geometry = Geometry::new(&sb).unwrap();
        let descriptor = |group| {
            let (block, offset) = geometry.desc_position(group).unwrap();
            let at = block as usize * geometry.block_size as usize + offset as usize;
            GroupDescriptor::read(&bytes[at..], geometry.desc_size).unwrap()
        };
        let descriptors = (0..geometry.groups).map(descriptor).collect();
        Image {
            bytes,
            sb,
            geometry,
            descriptors,
        }
    }

    pub(crate) fn seed(&self) -> Option<Seed> {
        self.sb.metadata_seed()
    }

    /// Changes an inode, and its checksum with it.
    pub(crate) fn inode(&mut self, ino: u32, change: impl FnOnce(&mut InodeMut<'_>)) {
        let seed = self.seed();
        let (group, _) = self.geometry.index_of_inode(ino).unwrap();
        let descriptor = &self.descriptors[group as usize];
        let (block, offset) = self.geometry.inode_position(ino, descriptor).unwrap();
        let at = block as usize * self.geometry.block_size as usize + offset as usize;
        let size = self.geometry.inode_size;
        let slot = &mut self.bytes[at..at + usize::from(size)];
        let mut inode = InodeMut::new(slot, size).unwrap();
        change(&mut inode);
        if let Some(seed) = seed {
            inode.seal(seed, ino).unwrap();
        }
    }

    /// What the inode says now.
    pub(crate) fn field<T>(
        &mut self,
        ino: u32,
        get: impl FnOnce(ondisk::ext4::Inode<'_>) -> T,
    ) -> T {
        let mut got = None;
        self.inode(ino, |inode| got = Some(get(inode.inode().unwrap())));
        got.unwrap()
    }

    /// A block's bytes.
    pub(crate) fn block(&mut self, block: u64) -> &mut [u8] {
        let size = self.geometry.block_size as usize;
        let at = block as usize * size;
        &mut self.bytes[at..at + size]
    }

    /// e2fsck's exit code, and the codes it raises, sorted. A code that aborts is not among them.
    pub(crate) fn oracle(&self) -> (i32, Vec<u32>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let log = dir.path().join("log");
        fs::write(&path, &self.bytes).unwrap();
        let option = format!("problem_log={}", log.display());
        let run = testkit::reference::e2fsck(&path, &["-E", &option]);
        let code = run.code.unwrap_or(-1);
        (code, logged(&log))
    }

    /// Our report, by 1.47.0's judgement, which is what is installed.
    pub(crate) fn judge(&self) -> Report {
        let source = Ram::new(&self.bytes);
        let options = Options {
            threads: 2,
            ..Options::default()
        };
        check::ext4::check(&source, &options, &debian(), &Silent).unwrap()
    }
}

/// The verdict of the e2fsck that is installed with Debian 12.
pub(crate) fn debian() -> ext4::Options {
    ext4::Options {
        reference: Reference::E2fsck1470,
        ..ext4::Options::default()
    }
}

/// The codes in a problem log that count, sorted.
fn logged(log: &Path) -> Vec<u32> {
    let mut codes = codes::logged(log).unwrap_or_default();
    codes.retain(|code| counts(*code));
    codes.sort_unstable();
    codes
}

/// The codes of a report that the reference would raise as well, sorted.
pub(crate) fn raised(report: &Report) -> Vec<u32> {
    let mut codes = codes::raised(report);
    codes.sort_unstable();
    codes
}

/// Held by the test that counts what the process allocates, and by tests that allocate a lot.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static MEMORY: Mutex<()> = Mutex::new(());
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}
