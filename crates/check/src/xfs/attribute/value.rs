//! Values of attributes: what `xfs_repair` looks into, and blocks of values that are not in the leaf.

use ondisk::bytes::{be16, be32};
use ondisk::xfs::checksum;
use ondisk::xfs::remote::{self, RemoteHead};

use crate::Problem;
use crate::xfs::rules::Rules;
use crate::xfs::xfs_repair::problems::{
    ATTR_ACL, ATTR_ACL_COUNT, ATTR_CAP, ATTR_LEAF_OWNER, ATTR_RMT_BLOCK,
};

/// ACLs of files and of directories' defaults, in the namespace of root.
const ACLS: [&[u8]; 2] = [b"SGI_ACL_FILE", b"SGI_ACL_DEFAULT"];
/// A set of capabilities as IRIX has it.
const CAPABILITIES: &[u8] = b"SGI_CAP_FILE";
/// Bytes of such a set.
const CAPABILITIES_SIZE: usize = 24;
/// Entries of an ACL at most, in version 4.
const FEW_ENTRIES: usize = 25;
/// The same in version 5: as many as fit the largest value.
const MANY_ENTRIES: usize = (65536 - 4) / 12;

/// What is wrong with the value of an attribute of root's namespace. MAC labels, which Linux never wrote, are not looked into.
pub(crate) fn fault(rules: &Rules, name: &[u8], value: &[u8]) -> Option<&'static Problem> {
    if ACLS.contains(&name) {
        return acl(rules, value);
    }
    (name.starts_with(CAPABILITIES) && value.len() != CAPABILITIES_SIZE).then_some(&ATTR_CAP)
}

/// Tags of an ACL's entries.
mod tag {
    pub(super) const USER_OBJ: u32 = 0x01;
    pub(super) const USER: u32 = 0x02;
    pub(super) const GROUP_OBJ: u32 = 0x04;
    pub(super) const GROUP: u32 = 0x08;
    pub(super) const MASK: u32 = 0x10;
    pub(super) const OTHER: u32 = 0x20;
}

fn acl(rules: &Rules, value: &[u8]) -> Option<&'static Problem> {
    let count = be32(value, 0) as usize;
    let most = if rules.geometry.v5 {
        MANY_ENTRIES
    } else {
        FEW_ENTRIES
    };
    if count > most {
        return Some(&ATTR_ACL_COUNT);
    }
    let entries = value.get(4..).unwrap_or_default();
    let entries = entries.chunks_exact(12).take(count);
    let list: Vec<(u32, u32, u16)> = entries
        .map(|entry| (be32(entry, 0), be32(entry, 4), be16(entry, 8)))
        .collect();
    let of = |wanted: u32| list.iter().filter(|entry| entry.0 == wanted).count();
    let named = of(tag::USER) + of(tag::GROUP);
    let mut ids: Vec<(u32, u32)> = list
        .iter()
        .filter(|entry| matches!(entry.0, tag::USER | tag::GROUP))
        .map(|entry| (entry.0, entry.1))
        .collect();
    ids.sort_unstable();
    let twice = ids.windows(2).any(|pair| pair[0] == pair[1]);
    let sound = list.len() == count
        && list.iter().all(|entry| entry.2 & !7 == 0)
        && of(tag::USER_OBJ) == 1
        && of(tag::GROUP_OBJ) == 1
        && of(tag::OTHER) == 1
        && of(tag::MASK) <= 1
        && (named == 0 || of(tag::MASK) == 1)
        && named + of(tag::MASK) + 3 == count
        && !twice;
    (!sound).then_some(&ATTR_ACL)
}

/// Why a block of a value is refused: its checksum, or its head. In version 4 it has neither. That it is another inode's has a
/// code of its own, because xfs_repair does not look at it.
pub(crate) fn refused(
    rules: &Rules,
    ino: u64,
    fsblock: u64,
    block: &[u8],
) -> Option<(&'static Problem, &'static str)> {
    let head_refused = head_refused(rules, fsblock, block);
    if let Some(why) = head_refused {
        return Some((&ATTR_RMT_BLOCK, why));
    }
    let head = RemoteHead::read(block).ok().filter(|_| rules.geometry.v5)?;
    (head.owner.get() != ino).then_some((&ATTR_LEAF_OWNER, "owner of a value's block"))
}

fn head_refused(rules: &Rules, fsblock: u64, block: &[u8]) -> Option<&'static str> {
    if !rules.geometry.v5 {
        return None;
    }
    if !checksum::is_right(block, checksum::REMOTE) {
        return Some("checksum");
    }
    let Ok(head) = RemoteHead::read(block) else {
        return Some("too short");
    };
    let bytes = u64::from(head.bytes.get());
    if head.magic.get() != remote::ATTR_MAGIC {
        return Some("magic number");
    }
    if head.uuid != rules.geometry.uuid {
        return Some("UUID");
    }
    if head.blkno.get() != rules.geometry.daddr(fsblock) {
        return Some("block number");
    }
    if head.owner.get() == 0 || bytes == 0 || bytes > remote::payload(&rules.geometry) as u64 {
        return Some("length");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xfs::fixture::rules;

    fn acl_of(entries: &[(u32, u32, u16)]) -> Vec<u8> {
        let mut bytes = (entries.len() as u32).to_be_bytes().to_vec();
        for (tag, id, perm) in entries {
            bytes.extend(tag.to_be_bytes());
            bytes.extend(id.to_be_bytes());
            bytes.extend(perm.to_be_bytes());
            bytes.extend([0, 0]);
        }
        bytes
    }

    #[test]
    fn an_acl_has_its_three_entries_and_a_mask_for_named_ones() {
        let rules = rules();
        let fault = |entries: &[(u32, u32, u16)]| {
            fault(&rules, b"SGI_ACL_FILE", &acl_of(entries)).map(|problem| problem.name)
        };
        assert_eq!(fault(&[(1, 0, 6), (4, 0, 4), (0x20, 0, 4)]), None);
        assert_eq!(fault(&[(1, 0, 6), (4, 0, 4)]), Some("XFS-ATTR-ACL"));
        let named = [(1, 0, 6), (2, 1000, 6), (4, 0, 4), (0x20, 0, 4)];
        assert_eq!(fault(&named), Some("XFS-ATTR-ACL"));
        let masked = [
            (1, 0, 6),
            (2, 1000, 6),
            (4, 0, 4),
            (0x10, 0, 6),
            (0x20, 0, 4),
        ];
        assert_eq!(fault(&masked), None);
        assert_eq!(
            fault(&[(1, 0, 9), (4, 0, 4), (0x20, 0, 4)]),
            Some("XFS-ATTR-ACL")
        );
    }
}
