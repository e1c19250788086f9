//! Targets of symbolic links inside the inode.
//!
//! Below 60 bytes a target is in `i_block` and takes no block. The kernel once decided by `i_blocks`, which
//! went wrong with attribute blocks and inodes; today it decides by the size, and so does this.

use super::inline::InlineData;
use super::inode::Content;
use super::{Error, Inode};

/// Where a link's target is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target<'a> {
    /// Within the inode, in up to two pieces. Encrypted links hold ciphertext here.
    Here(&'a [u8], &'a [u8]),
    /// In the first block that the inode maps.
    Block,
    /// The inode is no symbolic link, or its inline data is missing.
    None,
}

/// The target of a link.
///
/// # Errors
///
/// As [`InlineData::read`].
pub fn target<'a>(inode: &Inode<'a>) -> Result<Target<'a>, Error> {
    if inode.file_type() != Some(super::FileType::Symlink) {
        return Ok(Target::None);
    }
    Ok(match inode.content() {
        Content::FastSymlink => {
            let len = usize::try_from(inode.size()).unwrap_or(0);
            Target::Here(inode.raw().i_block.get(..len).unwrap_or(&[]), &[])
        }
        Content::Inline => match InlineData::read(inode)? {
            Some(data) => {
                let (first, second) = data.pieces(inode.size());
                Target::Here(first, second)
            }
            None => Target::None,
        },
        _ => Target::Block,
    })
}

#[cfg(test)]
mod tests {
    use super::super::inode::{InodeMut, flag};
    use super::super::xattr::{NewEntry, NewValue, write_inode};
    use super::*;

    #[test]
    fn short_longer_and_inline() {
        let mut bytes = [0; 256];
        let mut slot = InodeMut::new(&mut bytes, 256).unwrap();
        slot.raw().unwrap().i_mode = 0o120_777.into();
        slot.raw().unwrap().i_block.fill(b'a');
        slot.extra().unwrap().i_extra_isize = 32.into();
        slot.set_size(5).unwrap();
        assert_eq!(
            target(&slot.inode().unwrap()),
            Ok(Target::Here(b"aaaaa", b""))
        );
        slot.set_size(60).unwrap();
        assert_eq!(target(&slot.inode().unwrap()), Ok(Target::Block));
        slot.raw().unwrap().i_flags = flag::INLINE_DATA.into();
        assert_eq!(
            target(&slot.inode().unwrap()),
            Ok(Target::None),
            "the attribute is missing"
        );
        let data = NewEntry {
            index: 7,
            name: b"data".to_vec(),
            value: NewValue::Here(b"bcd".to_vec()),
        };
        write_inode(&mut slot.bytes()[160..], &[data]).unwrap();
        slot.set_size(62).unwrap();
        assert_eq!(
            target(&slot.inode().unwrap()),
            Ok(Target::Here(&[b'a'; 60], b"bc"))
        );
    }
}
