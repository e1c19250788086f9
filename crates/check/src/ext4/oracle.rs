//! For tests: filesystems made by mke2fs, damaged by hand, and e2fsck's verdict on them.

use std::path::Path;
use std::process::Command;

use ondisk::ext4::group_descriptor::DescriptorChecksum;
use ondisk::ext4::{Geometry, GroupDescriptor, Superblock};

use crate::ext4::options::{Options as Own, Reference};
use crate::frame::options::Options;

/// Options of the tests: two threads.
pub(crate) fn options() -> Options {
    Options {
        threads: 2,
        ..Options::default()
    }
}

/// Options for ext4: the verdict of the e2fsck that the tests compare with.
pub(crate) fn own() -> Own {
    Own {
        reference: Reference::E2fsck1470,
        ..Own::default()
    }
}

/// A filesystem of `kib` KiB, made by mke2fs with these options.
pub(crate) fn made(options: &[&str], kib: u32) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let size = format!("{kib}k");
    let output = Command::new("mke2fs")
        .args(["-q", "-F"])
        .args(options)
        .arg(&path)
        .arg(&size)
        .output()
        .expect("these tests need e2fsprogs");
    assert!(
        output.status.success(),
        "mke2fs {options:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::read(&path).unwrap()
}

/// The same after these debugfs commands.
pub(crate) fn debugfs(image: &[u8], commands: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (path, script) = (dir.path().join("image"), dir.path().join("commands"));
    std::fs::write(&path, image).unwrap();
    std::fs::write(&script, commands).unwrap();
    let output = Command::new("debugfs")
        .arg("-wf")
        .args([&script, &path])
        .output()
        .expect("these tests need e2fsprogs");
    assert!(output.status.success());
    std::fs::read(&path).unwrap()
}

/// e2fsck's verdict.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Its exit code.
    pub exit: i32,
    /// The codes it logged, banners left out.
    pub codes: Vec<u32>,
}

impl Judged {
    /// The codes of some passes.
    pub(crate) fn of(&self, passes: &[u32]) -> Vec<u32> {
        let wanted = |code: &&u32| passes.contains(&(**code >> 16));
        self.codes.iter().filter(wanted).copied().collect()
    }
}

/// `e2fsck -fn` with its log of problems.
pub(crate) fn e2fsck(image: &[u8]) -> Judged {
    let dir = tempfile::tempdir().unwrap();
    let (path, log) = (dir.path().join("image"), dir.path().join("log"));
    std::fs::write(&path, image).unwrap();
    let option = format!("problem_log={}", log.display());
    let result = testkit::reference::e2fsck(&path, &["-E", &option]);
    Judged {
        exit: result.code.unwrap_or(-1),
        codes: codes(&log),
    }
}

fn codes(log: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines()
        .filter(|line| line.contains("<problem "))
        .filter_map(|line| {
            let (_, rest) = line.split_once("code=\"0x")?;
            u32::from_str_radix(rest.get(..6)?, 16).ok()
        })
        .collect()
}

/// Changes a superblock and makes its checksum right again.
pub(crate) fn superblock(image: &mut [u8], at: usize, change: impl FnOnce(&mut Superblock)) {
    let sb = Superblock::read_mut(&mut image[at..]).unwrap();
    change(sb);
    sb.seal();
}

/// The primary one as it is.
pub(crate) fn primary(image: &[u8]) -> Superblock {
    *Superblock::read(&image[1024..]).unwrap()
}

/// Changes a group's descriptor, in the primary table, and makes its checksum right again.
pub(crate) fn descriptor(image: &mut [u8], group: u32, change: impl FnOnce(&mut GroupDescriptor)) {
    let sb = primary(image);
    let geometry = Geometry::new(&sb).unwrap();
    let (block, offset) = geometry.desc_position(group).unwrap();
    let at = block as usize * geometry.block_size as usize + offset as usize;
    let bytes = &mut image[at..at + usize::from(geometry.desc_size)];
    let mut descriptor = GroupDescriptor::read(bytes, geometry.desc_size).unwrap();
    change(&mut descriptor);
    descriptor.write(bytes).unwrap();
    DescriptorChecksum::of(&sb).seal(group, bytes);
}
