//! Parts of lines that several formats share.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Judge, Report};
use crate::frame::affected::AffectedFile;
use crate::frame::finding::Finding;

/// `1_BAD_I_BLOCKS (0x01000d)`: what people search for.
pub(super) fn name(finding: &Finding) -> String {
    format!("{} (0x{:06x})", finding.problem.name, finding.problem.code)
}

/// Where it is, in words; empty for a fault of the whole filesystem.
pub(super) fn place(finding: &Finding) -> String {
    let place = &finding.place;
    let mut parts = Vec::new();
    if let Some(group) = place.group {
        parts.push(format!("group {group}"));
    }
    if let Some(inode) = place.inode {
        parts.push(format!("inode {inode}"));
    }
    if let Some(directory) = place.directory {
        parts.push(format!("directory {directory}"));
    }
    if let Some(name) = &place.name {
        parts.push(format!("name \"{}\"", printable(name)));
    }
    if let Some(logical) = place.logical {
        parts.push(format!("file block {logical}"));
    }
    if let Some(block) = place.block {
        parts.push(format!("block {block}"));
    }
    if let Some(offset) = place.offset {
        parts.push(format!("byte {offset}"));
    }
    parts.join(", ")
}

/// `found 8, expected 16`.
pub(super) fn values(finding: &Finding) -> String {
    match (&finding.found, &finding.expected) {
        (Some(found), Some(expected)) => format!("found {found}, expected {expected}"),
        (Some(found), None) => format!("found {found}"),
        (None, Some(expected)) => format!("expected {expected}"),
        (None, None) => String::new(),
    }
}

/// A finding in one line, with its note.
pub(super) fn finding(finding: &Finding) -> String {
    of(finding, finding.note.as_deref())
}

/// A finding in one line, with this note.
pub(super) fn of(finding: &Finding, note: Option<&str>) -> String {
    let mut line = place(finding);
    if let Some(path) = &finding.path {
        let _ = write!(line, " ({})", printable(path));
    }
    for more in [values(finding), note.map_or_else(String::new, printable)] {
        if !more.is_empty() {
            let between = if line.is_empty() { "" } else { ": " };
            let _ = write!(line, "{between}{more}");
        }
    }
    if line.is_empty() {
        line.push_str("the filesystem");
    }
    line
}

/// The first `list` findings of each problem (0: all that were kept), in order.
pub(super) fn first_of_each(report: &Report, list: usize) -> Vec<&Finding> {
    let mut seen = BTreeMap::new();
    let keep = |finding: &&Finding| {
        let count = seen.entry(finding.problem.code).or_insert(0);
        *count += 1;
        list == 0 || *count <= list
    };
    report.shown().filter(keep).collect()
}

/// A name from the image, to be printed in quotes: nothing in it may break a line, end the quotes or
/// control a terminal.
pub(in crate::frame) fn printable(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    words::printable(&text).into_owned()
}

/// Whose verdict it is, with the version.
pub(super) fn judge(report: &Report, judge: Judge) -> String {
    match (judge, report.reference) {
        (Judge::Reference, Some(reference)) => {
            format!("{}-{}", reference.program, reference.version)
        }
        _ => "strict".into(),
    }
}

/// A file and what is wrong with it, in one line.
pub(super) fn affected(file: &AffectedFile) -> String {
    let inode = file.inode.map(|inode| format!("inode {inode}"));
    let mut line = match (&file.path, inode) {
        (Some(path), Some(inode)) => format!("{} ({inode})", printable(path)),
        (Some(path), None) => printable(path),
        (None, inode) => inode.unwrap_or_else(|| "a name".into()),
    };
    let wrong: Vec<&str> = file.wrong.iter().map(|harm| harm.word()).collect();
    let _ = write!(line, ": {}", wrong.join(", "));
    if file.bytes > 0 {
        let _ = write!(line, "; {} in lost or shared blocks", bytes(file.bytes));
    }
    line
}

/// Why nothing is certain.
pub(super) fn unstable(report: &Report) -> &'static str {
    if report.mounted {
        "it was mounted read-write during the check"
    } else {
        "its log has changes that are not in place yet"
    }
}

pub(super) use words::plural;
pub(in crate::frame) use words::{bytes, grouped};

/// MiB, rounded up, as e2fsck and fsck.ocfs2 print them.
pub(crate) fn mebibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::e2fsck::problems::{P1_BAD_I_BLOCKS, P2_BAD_NAME, P5_FREE_BLOCK_COUNT};

    #[test]
    fn a_finding_is_one_line() {
        let mut blocks = Finding::new(&P1_BAD_I_BLOCKS)
            .inode(12_u32)
            .found(8_u32)
            .expected(16_u32);
        blocks.path = Some("/a\nb".into());
        assert_eq!(finding(&blocks), "inode 12 (/a\\nb): found 8, expected 16");
        let name = Finding::new(&P2_BAD_NAME)
            .directory(2_u32)
            .name(b"a/b\x1b[31m")
            .logical(0)
            .offset(24)
            .note("a slash");
        assert_eq!(
            finding(&name),
            "directory 2, name \"a/b\\u{1b}[31m\", file block 0, byte 24: a slash"
        );
        let free = Finding::new(&P5_FREE_BLOCK_COUNT).found(1_u32);
        assert_eq!(finding(&free), "found 1");
        assert_eq!(
            finding(&Finding::new(&P5_FREE_BLOCK_COUNT)),
            "the filesystem"
        );
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1 << 20), "1 MiB");
        assert_eq!(bytes(1 << 20 | 1 << 15), "1.03 MiB");
        assert_eq!(bytes(79_164_837_199_872), "72 TiB");
        assert_eq!(bytes(79_164_837_199_873), "72 TiB");
        assert_eq!(plural(1, "finding"), "1 finding");
        assert_eq!(plural(1000, "finding"), "1,000 findings");
        assert_eq!((mebibytes(0), mebibytes(1), mebibytes(1 << 20)), (0, 1, 1));
    }
}
