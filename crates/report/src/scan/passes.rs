//! The passes that readers have, and what each reader reads in them.
//!
//! A pass has one name for all of them, so that rows can be compared: 1 is the pass over the inodes, 2 that over the
//! directories, for every reader. The other passes differ: bitmaps are fsck.ocfs2's 0a and 0b, and pass 5 of the others.

use serde::Serialize;
use study::{Cell, FilesystemKind, Reader};

use super::spec;

/// The program, or the model, that read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum By {
    /// The model with the switches of 2011.
    #[serde(rename = "model")]
    Model,
    /// fsck.ocfs2, on OCFS2.
    #[serde(rename = "fsck.ocfs2")]
    Ocfs2,
    /// `fslab check`.
    #[serde(rename = "fslab check")]
    Check,
    /// e2fsck.
    #[serde(rename = "e2fsck")]
    E2fsck,
}

impl By {
    /// Who read a cell. In runs of earlier versions fsck.ocfs2 was the reader of every cell on OCFS2: `has_links` is whether the trials
    /// have its pass over link counts, which the model has not.
    pub(super) fn of(cell: &Cell, has_links: bool) -> By {
        let ocfs2 = is_ocfs2(cell);
        match spec(cell).map(|spec| spec.reader) {
            Some(Reader::Check) => By::Check,
            Some(Reader::Fsck) if ocfs2 => By::Ocfs2,
            Some(Reader::Fsck) => By::E2fsck,
            _ if ocfs2 && has_links => By::Ocfs2,
            _ => By::Model,
        }
    }

    /// As a set among sets: short, because tables of a mail are 78 columns wide; the model's sets have names of their own.
    pub(super) const fn set(self) -> Option<&'static str> {
        match self {
            By::Model => None,
            By::Check => Some("fslab"),
            By::Ocfs2 => Some("fsck.ocfs2"),
            By::E2fsck => Some("e2fsck"),
        }
    }

    /// How it reads; the model as its switches say.
    pub(super) const fn how(self) -> Option<&'static str> {
        match self {
            By::Model => None,
            By::Ocfs2 => Some(
                "the program itself, with -fn -tt: its own strategy and cache, and its own figures (MB rounded up); requests \
                 are the device's",
            ),
            By::Check => Some(
                "`fslab check`, all its passes: past the page cache, ascending, many requests in flight, no cache",
            ),
            By::E2fsck => Some(
                "the program itself, with -fn -tt: through the page cache and the kernel's readahead; MB and requests are the \
                 device's",
            ),
        }
    }

    /// Whether it read as a program of 2011 did.
    pub(super) const fn repeats(self) -> bool {
        matches!(self, By::Model | By::Ocfs2)
    }
}

/// Whether a cell is on OCFS2, where every reader has fsck.ocfs2's passes.
pub(super) fn is_ocfs2(cell: &Cell) -> bool {
    cell.filesystem.kind == FilesystemKind::Ocfs2
}

/// A pass.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) phase: &'static str,
    /// What fsck.ocfs2 prints before its own, or e2fsck where that has none.
    pub(super) title: &'static str,
    /// What the model, fsck.ocfs2, `fslab check` and e2fsck read in it.
    what: [Option<&'static str>; 4],
}

impl Known {
    /// What it reads of the filesystem when this reader runs it; none if that reader has no such pass.
    pub(super) fn what(&self, by: By, on_ocfs2: bool) -> Option<&'static str> {
        let [model, ocfs2, check, e2fsck] = self.what;
        match by {
            By::Model | By::Check if on_ocfs2 => ocfs2,
            By::Model => model,
            By::Ocfs2 => ocfs2,
            By::Check => check,
            By::E2fsck => e2fsck,
        }
    }
}

const fn known(
    name: &'static str,
    phase: &'static str,
    title: &'static str,
    what: [Option<&'static str>; 4],
) -> Known {
    Known {
        name,
        phase,
        title,
        what,
    }
}

/// All of them, in the order in which tables have them; the whole last. fsck.ocfs2's pass 5 (quota) is in versions that were not run yet.
pub(super) static PASSES: [Known; 15] = [
    known(
        "start",
        "scan_pass_start",
        "Before pass 0a: superblock and journals",
        [None, Some("superblock and journals"), None, None],
    ),
    known(
        "0",
        "scan_pass_0",
        "Pass 0: Checking superblock, descriptors and journal",
        [None, None, Some("superblock, descriptors, journal"), None],
    ),
    known(
        "0a",
        "scan_pass_0a",
        "Pass 0a: Checking cluster allocation chains",
        [Some("block bitmaps"), Some("cluster groups"), None, None],
    ),
    known(
        "0b",
        "scan_pass_0b",
        "Pass 0b: Checking inode allocation chains",
        [
            Some("inode bitmaps, with precache inode tables too"),
            Some("inode groups"),
            None,
            None,
        ],
    ),
    known(
        "0c",
        "scan_pass_0c",
        "Pass 0c: Checking extent block allocation chains",
        [None, Some("extent block groups"), None, None],
    ),
    known(
        "1",
        "scan_pass_1",
        "Pass 1: Checking inodes and blocks",
        [
            Some("inode tables"),
            Some("inodes"),
            Some("inode tables"),
            Some("inode tables"),
        ],
    ),
    known(
        "2",
        "scan_pass_2",
        "Pass 2: Checking directory entries",
        [Some("directory blocks"); 4],
    ),
    known(
        "3",
        "scan_pass_3",
        "Pass 3: Checking directory connectivity",
        [
            None,
            Some("parents of directories"),
            Some("parents of directories"),
            Some("parents of directories"),
        ],
    ),
    known(
        "4",
        "scan_pass_4",
        "Pass 4: Checking reference counts",
        [None, None, Some("link counts"), Some("link counts")],
    ),
    known(
        "4a",
        "scan_pass_4a",
        "Pass 4a: Checking for orphaned inodes",
        [None, Some("orphan directories"), None, None],
    ),
    known(
        "4b",
        "scan_pass_4b",
        "Pass 4b: Checking inodes link counts",
        [None, Some("inodes whose links differ"), None, None],
    ),
    known(
        "5",
        "scan_pass_5",
        "Pass 5: Checking group summary information",
        [
            None,
            None,
            Some("block and inode bitmaps"),
            Some("block and inode bitmaps"),
        ],
    ),
    known(
        "end",
        "scan_pass_after",
        "At the end: Checking quota and orphan file",
        [None, None, Some("quota and orphan file"), None],
    ),
    known(
        "own",
        "scan_pass_own",
        "After pass 5: what fsck.ocfs2 does not look for",
        [None, Some("what fsck.ocfs2 does not look for"), None, None],
    ),
    known("all", "scan", "Overall", [Some("all passes"); 4]),
];
