//! How many inodes mke2fs will make.
//!
//! The ext family makes its inodes at mkfs: one per fixed number of bytes of the device (mke2fs.conf(5):
//! `inode_ratio` of the usage type, which goes by size). All others make them as they go.

use crate::model::FilesystemVariant;
use crate::units::Bytes;

/// Inodes that an ext filesystem of this size is made with; none: not known in advance (a usage
/// type is asked for) or not fixed.
pub(crate) fn made(variant: &FilesystemVariant, size: Bytes) -> Option<u64> {
    if !variant.kind.properties().fixed_inodes {
        return None;
    }
    if value(&variant.mkfs, "-T").is_some() {
        return None;
    }
    if let Some(count) = value(&variant.mkfs, "-N") {
        return count.parse().ok();
    }
    let ratio = match value(&variant.mkfs, "-i") {
        Some(ratio) => ratio.parse::<Bytes>().ok()?.get(),
        None => usual_ratio(size),
    };
    size.get().checked_div(ratio)
}

/// Bytes for each inode as mke2fs.conf comes: `small` below 512 MiB, `big` from 4 TiB, `huge` from
/// 16 TiB.
fn usual_ratio(size: Bytes) -> u64 {
    const TIB: u64 = 1 << 40;
    match size.get() {
        n if n < 512 * Bytes::MIB => 4096,
        n if n < 4 * TIB => 16_384,
        n if n < 16 * TIB => 32_768,
        _ => 65_536,
    }
}

/// The value of an option, written as one word or two; the last wins.
fn value<'a>(words: &'a [String], option: &str) -> Option<&'a str> {
    let mut found = None;
    for (index, word) in words.iter().enumerate() {
        match word.strip_prefix(option) {
            Some("") => found = words.get(index + 1).map(String::as_str),
            Some(rest) => found = Some(rest),
            None => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FilesystemKind;

    fn ext4(words: &[&str]) -> FilesystemVariant {
        FilesystemVariant {
            kind: FilesystemKind::Ext4,
            mkfs: words.iter().map(|&word| word.to_owned()).collect(),
            mount: Vec::new(),
            about: String::new(),
        }
    }

    #[test]
    fn mke2fs_makes_inodes_by_size_or_as_given() {
        let made = |words: &[&str], size: u64| made(&ext4(words), Bytes(size));
        // mke2fs -n -t ext4 of 1.47: 65536 inodes on 1 GiB, 102400 on 400 MiB.
        assert_eq!(made(&[], 1 << 30), Some(65_536));
        assert_eq!(made(&[], 400 << 20), Some(102_400));
        assert_eq!(made(&[], 72 << 40), Some(72 << 24));
        assert_eq!(made(&["-i", "8192"], 1 << 30), Some(131_072));
        assert_eq!(made(&["-i8k"], 1 << 30), Some(131_072));
        assert_eq!(made(&["-N", "1000"], 1 << 30), Some(1000));
        assert_eq!(made(&["-T", "largefile"], 1 << 30), None);
        assert_eq!(made(&["-i", "x"], 1 << 30), None);
        assert_eq!(made(&["-i", "0"], 1 << 30), None);
        let xfs = FilesystemVariant {
            kind: FilesystemKind::Xfs,
            ..ext4(&[])
        };
        assert_eq!(super::made(&xfs, Bytes(1 << 30)), None);
    }
}
