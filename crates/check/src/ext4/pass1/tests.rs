//! Whole filesystems: sound ones of mke2fs, whose own bitmaps show which blocks and inodes are used, and damaged ones, of which
//! the e2fsck of this machine finds what is wrong (`-E problem_log`).
//!
//! Tests that need a program print that they were skipped where it is missing.

mod damage;
mod faults;
mod short;
mod sound;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blockio::{BlockSource, Buffered};
use ondisk::ext4::superblock::OFFSET;
use ondisk::ext4::{Geometry, GroupDescriptor, Superblock};

use crate::Silent;
use crate::ext4::e2fsck::deferred;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::state::State;
use crate::ext4::volume::Claims;
use crate::ext4::volume::Volume;
use crate::frame::log::Findings;
use crate::frame::options::Options;

/// Runs a program that ends with one of `codes`.
fn run(program: &str, args: &[&str], codes: &[i32]) -> Output {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; needs e2fsprogs"));
    let text = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout);
    let code = output.status.code().unwrap_or(-1);
    assert!(
        codes.contains(&code),
        "{program} {args:?}: {code}\n{text}\n{out}"
    );
    output
}

/// A filesystem in a folder of its own.
struct Image {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Image {
    /// Made with these options, `mib` MiB, filled from a tree of files.
    fn make(options: &[&str], mib: u32) -> Image {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let tree = folder.path().join("tree");
        fill(&tree);
        fs::File::create(&path)
            .unwrap()
            .set_len(u64::from(mib) << 20)
            .unwrap();
        let mut args = vec!["-q", "-F", "-d", tree.to_str().unwrap()];
        args.extend(options);
        args.push(path.to_str().unwrap());
        run("mke2fs", &args, &[0]);
        Image { folder, path }
    }

    /// The same once more.
    fn twin(&self) -> Image {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::copy(&self.path, &path).unwrap();
        Image { folder, path }
    }

    /// Runs debugfs commands, one a line.
    fn debugfs(&self, commands: &str) {
        let script = self.folder.path().join("commands");
        fs::write(&script, commands).unwrap();
        let (script, image) = (script.to_str().unwrap(), self.path.to_str().unwrap());
        run("debugfs", &["-w", "-f", script, image], &[0]);
    }

    /// Problem codes of passes 1 to 1E that e2fsck -fn finds, in its order.
    fn reference(&self) -> Vec<u32> {
        let log = self.folder.path().join("log");
        let option = format!("problem_log={}", log.display());
        let args = ["-fn", "-E", &option, self.path.to_str().unwrap()];
        run("e2fsck", &args, &[0, 4, 8, 12]);
        let text = fs::read_to_string(log).unwrap();
        let codes = text.split("<problem code=\"0x").skip(1);
        codes
            .map(|rest| u32::from_str_radix(&rest[..6], 16).unwrap())
            .filter(|code| code >> 16 == 1)
            .collect()
    }

    /// What pass 1 here finds and leaves.
    fn check(&self, threads: usize) -> (Findings, State) {
        let source = Buffered::open(&self.path).unwrap();
        check(&source, threads)
    }
}

/// Opens a filesystem by its primary superblock without judging it, and runs pass 1. Findings are in e2fsck's order.
fn check(source: &dyn BlockSource, threads: usize) -> (Findings, State) {
    let volume = plain(source, threads);
    let mut log = Log::new(1000);
    let state = super::run(&volume, &mut log).unwrap();
    deferred::order(&volume, &mut log);
    (log.finish(), state)
}

fn plain(source: &dyn BlockSource, threads: usize) -> Volume<'_> {
    let mut bytes = [0; 1024];
    source.read_at(&mut bytes, OFFSET).unwrap();
    let sb = *Superblock::read(&bytes).unwrap();
    let geometry = Geometry::new(&sb).unwrap();
    let mut descriptors = Vec::new();
    let mut bytes = vec![0; usize::from(geometry.desc_size)];
    for group in 0..geometry.groups {
        let (block, offset) = geometry.desc_position(group).unwrap();
        let at = block * u64::from(geometry.block_size) + u64::from(offset);
        source.read_at(&mut bytes, at).unwrap();
        descriptors.push(GroupDescriptor::read(&bytes, geometry.desc_size).unwrap());
    }
    Volume {
        source,
        seed: sb.metadata_seed(),
        sb,
        geometry,
        descriptors,
        claims: Claims::default(),
        backup: None,
        options: Options {
            threads,
            ..Options::default()
        },
        ext4: crate::ext4::oracle::own(),
        guard: crate::frame::memory::Guard::default(),
        progress: &Silent,
    }
}

/// Files of several sizes, one in pieces, links, a pipe, directories.
fn fill(dir: &Path) {
    fs::create_dir_all(dir.join("d/e")).unwrap();
    let sizes = [
        ("f", 30_000),
        ("g", 30_000),
        ("empty", 0),
        ("short", 40),
        ("long", 400_000),
    ];
    for (name, size) in sizes {
        let bytes: Vec<u8> = (0..size).map(|nth: usize| (nth % 251) as u8 + 1).collect();
        fs::write(dir.join(name), bytes).unwrap();
    }
    pieces(&dir.join("pieces"));
    for nth in 0..300 {
        fs::write(dir.join(format!("d/name-of-a-file-{nth:03}")), b"x").unwrap();
    }
    fs::hard_link(dir.join("f"), dir.join("d/second")).unwrap();
    std::os::unix::fs::symlink("f", dir.join("link")).unwrap();
    std::os::unix::fs::symlink("x/".repeat(45), dir.join("far")).unwrap();
    run("mkfifo", &[dir.join("pipe").to_str().unwrap()], &[0]);
}

/// 400 pieces of 4 KiB, every second one a hole.
fn pieces(path: &Path) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::create(path).unwrap();
    for nth in (0..400).step_by(2) {
        file.write_all_at(&[7; 4096], nth * 4096).unwrap();
    }
}
