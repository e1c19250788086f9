//! Extended attributes: in the inode, in leaves, and values in blocks of their own.

pub(crate) mod leaf;
pub(crate) mod local;
pub(crate) mod value;

use ondisk::xfs::attribute::flag;

use super::rules::Rules;

/// Namespaces.
const SPACES: u8 = flag::ROOT | flag::SECURE | flag::PARENT;

/// Whether the flags name at most one namespace, of those that the filesystem knows, and no unknown bit.
fn is_one_space(rules: &Rules, flags: u8) -> bool {
    let space = flags & !(flag::LOCAL | flag::INCOMPLETE);
    let known = if rules.parents {
        SPACES
    } else {
        SPACES & !flag::PARENT
    };
    space & !known == 0 && space.count_ones() <= 1
}

/// Whether a name can be: not empty and without NUL (`xfs_attr_namecheck`).
fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&0)
}
