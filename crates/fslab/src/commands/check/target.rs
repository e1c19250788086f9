//! The target of `fslab check`: whether it can be read, and what it is if no checker knows its format.

use std::io;
use std::ops::Range;
use std::path::Path;

use ::blockio::{BlockSource, Mode, OpenError, Slice};
use ondisk::signature::{Content, Format, Partition, ReadAt, Signature, Table, identify};
use ondisk::swap;

use crate::out;

/// Why the target is not checked: a name for it, and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Other {
    /// What it is, as in `a Btrfs filesystem`.
    pub(super) content: String,
    /// The whole line.
    pub(super) message: String,
}

/// Opens the target for inspection. Anything but a regular file or a block device is refused
/// without blocking.
pub(super) fn open(path: &Path) -> Result<Box<dyn BlockSource>, OpenError> {
    ::blockio::open(path, Mode::Buffered).map(|opened| opened.source)
}

/// The source from byte `offset` on.
pub(super) fn from_offset(
    source: Box<dyn BlockSource>,
    offset: u64,
) -> Result<Box<dyn BlockSource>, String> {
    if offset == 0 {
        return Ok(source);
    }
    let (name, len) = (source.name().to_string(), source.len());
    match Slice::of(source, offset..len) {
        Some(slice) if offset < len => Ok(Box::new(slice)),
        _ => Err(format!(
            "{name}: --offset {offset} is past its end at byte {len}; give the offset of a partition in bytes"
        )),
    }
}

/// What the source is, if it is certainly no filesystem that is checked. Read errors are left to the checker.
pub(super) fn other(path: &Path, source: &dyn BlockSource) -> Option<Other> {
    let content = identify(&Bytes(source)).ok()?;
    let (content, advice) = match content {
        Content::Unknown
        | Content::Known(Signature {
            format:
                Format::Ext | Format::Ocfs2 | Format::O2image | Format::Xfs | Format::XfsMetadump,
            ..
        }) => return None,
        Content::Empty => (
            "empty".into(),
            "it has 0 bytes: give the image or the device that holds the filesystem".into(),
        ),
        Content::Zeros { whole } => (
            "all zeros".into(),
            if whole {
                "no filesystem was ever written to it, or it was erased".into()
            } else {
                "both ends and all samples between them: no filesystem was ever written to it, or it was erased"
                    .into()
            },
        ),
        Content::Text => (
            "text".into(),
            "give the image or the device that holds the filesystem".into(),
        ),
        Content::Partitioned(table) => (
            format!("a disk with a {} partition table", table.kind.name()),
            partitions(&table),
        ),
        Content::Known(found) => {
            let detail = swap::describe_found(&Bytes(source), &found);
            let detail = detail.map(|detail| format!(" ({detail})"));
            let next = found.next.replace("{}", &shell_word(path));
            (found.kind.into(), next + &detail.unwrap_or_default())
        }
    };
    let message = format!("{}: is {content}; {advice}", out::path(path));
    Some(Other { content, message })
}

/// Where the first Linux partition begins.
fn partitions(table: &Table) -> String {
    if table.partitions.is_empty() {
        return "it has no partitions".into();
    }
    let at = |what: &str, partition: &Partition| {
        format!(
            "{what} begins at {}: check it with --offset {}",
            size(partition.start, " "),
            size(partition.start, "")
        )
    };
    let first = table.partitions.iter().min_by_key(|one| one.start);
    match (table.first_linux(), first) {
        (Some(linux), _) => at("the first Linux partition", linux),
        (None, Some(first)) => at("no partition has a Linux type; the first one", first),
        (None, None) => String::new(),
    }
}

/// `1 MiB`, `1536 KiB`, `32256 bytes`; without a space as `--offset` takes it.
fn size(bytes: u64, space: &str) -> String {
    for (unit, name) in [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{}{space}{name}", bytes / unit);
        }
    }
    match space {
        "" => bytes.to_string(),
        _ => format!("byte {bytes}"),
    }
}

/// A path as a shell takes it.
fn shell_word(path: &Path) -> String {
    let text = out::path(path);
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%=,".contains(c);
    if text.chars().all(plain) && !text.starts_with('-') {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A block source, as `ondisk` reads.
struct Bytes<'a>(&'a dyn BlockSource);

impl ReadAt for Bytes<'_> {
    fn size(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(buffer, offset).map_err(io::Error::other)
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        self.0.next_data(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_words_that_the_option_takes() {
        for (bytes, people, option) in [
            (1 << 20, "1 MiB", "1MiB"),
            (5 << 30, "5 GiB", "5GiB"),
            (32_256, "byte 32256", "32256"),
            (0, "byte 0", "0"),
        ] {
            assert_eq!(
                (size(bytes, " "), size(bytes, "")),
                (people.into(), option.into())
            );
            assert_eq!(option.parse::<study::Bytes>().unwrap().get(), bytes);
        }
    }

    #[test]
    fn odd_names_are_quoted_for_the_shell() {
        assert_eq!(shell_word(Path::new("a b.img")), "'a b.img'");
        assert_eq!(shell_word(Path::new("it's")), r"'it'\''s'");
        assert_eq!(shell_word(Path::new("/dev/sda1")), "/dev/sda1");
    }
}
