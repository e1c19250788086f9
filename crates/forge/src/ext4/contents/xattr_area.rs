//! The area after an inode's fields, which holds attributes.

use ondisk::ext4::Superblock;
use ondisk::ext4::inode::InodeMut;
use ondisk::ext4::xattr::{NewEntry, write_inode};

use crate::Error;

/// Bytes of the area, as inodes of this filesystem are made; the magic of the attributes included.
pub(super) fn room(sb: &Superblock) -> usize {
    let extra = usize::from(sb.s_want_extra_isize.get().max(32));
    usize::from(sb.inode_size()).saturating_sub(128 + extra)
}

/// Writes attributes into it.
pub(super) fn write(inode: &mut InodeMut<'_>, entries: &[NewEntry]) -> Result<(), Error> {
    let start = 128 + usize::from(inode.inode()?.extra_isize());
    let body = inode.bytes().get_mut(start..).unwrap_or(&mut []);
    Ok(write_inode(body, entries)?)
}
