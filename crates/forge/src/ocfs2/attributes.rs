//! Extended attributes: at the end of an inode, and in a block.

use ondisk::ocfs2::hash::xattr_hash;
use ondisk::ocfs2::xattr::{LOCAL, LOCAL_VALUE, XattrHead};
use ondisk::ocfs2::{XattrEntry, XattrHeader};

use super::options::Sign;
use crate::Error;
use crate::population::Namespace;

/// The longest value of a block of attributes, bytes: it is beside its name.
pub(super) const LONGEST_VALUE: u64 = LOCAL_VALUE;

/// The number of a namespace in `xe_type`.
fn number(namespace: Namespace) -> u8 {
    match namespace {
        Namespace::User => 1,
        Namespace::Trusted => 4,
        Namespace::Security => 5,
    }
}

/// Writes a header, its entries, and their names and values into an area. Names and values go from its end to its front.
///
/// # Errors
///
/// [`Error::Format`] where they do not fit.
pub(super) fn write(
    area: &mut [u8],
    entries: &[(Namespace, &str, Vec<u8>)],
    start: u32,
    sign: Sign,
) -> Result<(), Error> {
    let head = XattrHead::read_mut(area)?;
    head.xh_count = (entries.len() as u16).into();
    let mut end = area.len();
    for (nth, (namespace, name, value)) in entries.iter().enumerate() {
        let (name_room, value_room) = (
            name.len().next_multiple_of(4),
            value.len().next_multiple_of(4),
        );
        let first = XattrHead::SIZE + entries.len() * XattrEntry::SIZE;
        let full = Error::Format(ondisk::Error::Full {
            what: "OCFS2 attributes",
            need: name_room + value_room,
            room: end.saturating_sub(first),
        });
        let at = end
            .checked_sub(name_room + value_room)
            .filter(|&at| at >= first)
            .ok_or(full)?;
        area[at..at + name.len()].copy_from_slice(name.as_bytes());
        area[at + name_room..at + name_room + value.len()].copy_from_slice(value);
        end = at;
        let entry = XattrEntry {
            xe_name_hash: xattr_hash(start, name.as_bytes(), sign).into(),
            xe_name_offset: (at as u16).into(),
            xe_name_len: name.len() as u8,
            xe_type: number(*namespace) | LOCAL,
            xe_value_size: (value.len() as u64).into(),
        };
        XattrHeader::put(area, nth, entry)?;
    }
    Ok(())
}
