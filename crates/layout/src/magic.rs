//! `f_type` of statfs(2), and the names of filesystems by it.

use fskind::{Family, Kind};

/// ext2, ext3 and ext4.
pub(crate) const EXT: u64 = Kind::Ext4.properties().statfs_magic;

/// Magic numbers of statfs(2) of filesystems that have no entry in `fskind`.
const OTHERS: [(u64, &str); 6] = [
    (0x0102_1994, "tmpfs"),
    (0x9FA0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x794C_7630, "overlay"),
    (0x4D44, "vfat"),
    (0x6969, "nfs"),
];

/// The usual name of a filesystem's magic number; the number where it has none here.
pub(crate) fn name_of(magic: u64) -> String {
    if let Some(family) = Family::of_statfs(magic) {
        return family.name().to_owned();
    }
    let known = OTHERS.iter().find(|(number, _)| *number == magic);
    known.map_or_else(
        || format!("type {magic:#x}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// Whether it is ext2, ext3 or ext4.
pub(crate) fn is_ext(magic: u64) -> bool {
    Family::of_statfs(magic) == Some(Family::Ext)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_or_numbers() {
        assert_eq!(name_of(EXT), "ext");
        assert_eq!(name_of(0x5846_5342), "xfs");
        assert_eq!(name_of(0x0102_1994), "tmpfs");
        assert_eq!(name_of(0x1234), "type 0x1234");
        assert!(is_ext(0xEF53) && !is_ext(0x5846_5342));
    }
}
