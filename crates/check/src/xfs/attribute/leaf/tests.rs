//! Leaves, built and then damaged.

use ondisk::xfs::attribute::{LeafHead, put_name};

use super::*;
use crate::xfs::fixture::rules;
use crate::xfs::sink::tests::Lists;

const INO: u64 = 200;
const FSBLOCK: u64 = 40;

/// A leaf with these names in the namespace of users, each with the value `value`, and one whose value is in block 1.
fn built(names: &[&str]) -> Vec<u8> {
    let rules = rules();
    let mut bytes = vec![0; 4096];
    let mut sorted: Vec<(u32, &str, bool)> = names
        .iter()
        .map(|name| (hash::name(name.as_bytes()), *name, true))
        .collect();
    sorted.push((hash::name(b"far"), "far", false));
    sorted.sort_unstable();
    let (mut at, mut used) = (4096, 0);
    for (nth, (hash, name, local)) in sorted.iter().enumerate() {
        let name = name.as_bytes();
        let entry = if *local {
            Name::Local {
                name,
                value: b"value",
            }
        } else {
            Name::Remote {
                name,
                block: 1,
                length: 3000,
            }
        };
        at -= entry.size();
        used += entry.size();
        assert!(put_name(&mut bytes, at, &entry));
        let place = 80 + 8 * nth;
        bytes[place..place + 4].copy_from_slice(&hash.to_be_bytes());
        bytes[place + 4..place + 6].copy_from_slice(&(at as u16).to_be_bytes());
        bytes[place + 6] = u8::from(*local);
    }
    let entries = 80 + 8 * sorted.len();
    let head = LeafHead::read_mut(&mut bytes[56..]).unwrap();
    head.count = (sorted.len() as u16).into();
    head.usedbytes = (used as u16).into();
    head.firstused = (at as u16).into();
    head.freemap[0] = [(entries as u16).into(), ((at - entries) as u16).into()];
    let info = BlockInfo::read_mut(&mut bytes).unwrap();
    info.magic = da::ATTR_LEAF_3.into();
    info.blkno = rules.geometry.daddr(FSBLOCK).into();
    info.owner = INO.into();
    info.uuid = rules.geometry.uuid;
    checksum::seal(&mut bytes, checksum::DA);
    bytes
}

fn judged(bytes: &[u8], offset: u64) -> (Lists, Option<Leaf>) {
    let block = Block {
        ino: INO,
        offset,
        fsblock: FSBLOCK,
        bytes,
    };
    let mut lists = Lists::default();
    let leaf = judge(&rules(), &block, &mut lists);
    (lists, leaf)
}

fn codes(change: impl FnOnce(&mut Vec<u8>)) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut bytes = built(&["one", "two"]);
    change(&mut bytes);
    checksum::seal(&mut bytes, checksum::DA);
    let (lists, _) = judged(&bytes, 0);
    (lists.codes, lists.strict)
}

#[test]
fn a_sound_leaf_gives_its_values() {
    let (lists, leaf) = judged(&built(&["one", "two"]), 0);
    assert!(
        lists.codes.is_empty() && lists.strict.is_empty(),
        "{lists:?}"
    );
    let remote = Remote {
        block: 1,
        length: 3000,
    };
    let leaf = leaf.unwrap();
    assert_eq!((leaf.remote, leaf.count), (vec![remote], 3));
}

#[test]
fn each_fault_has_its_code() {
    let of = |change: fn(&mut Vec<u8>)| codes(change).0;
    assert_eq!(of(|b| b[57] = 200), ["XFS-ATTR-ROOT-BAD"]);
    assert_eq!(of(|b| b[59] += 4), ["XFS-ATTR-LEAF-USED"]);
    assert_eq!(of(|b| b[61] -= 4), ["XFS-ATTR-LEAF-FIRST"]);
    assert_eq!(of(|b| b[91] -= 1), ["XFS-ATTR-HASH"]);
    assert_eq!(of(|b| b[86] |= 0x80), ["XFS-ATTR-LEAF-INCOMPLETE"]);
    assert_eq!(of(|b| b[55] += 1), ["XFS-ATTR-OWNER"]);
    assert_eq!(of(|b| b[23] += 1), ["XFS-ATTR-ROOT-BAD"]);
    assert_eq!(of(|b| b[3] = 1), ["XFS-ATTR-ROOT-LINKS"]);
    let strict = |change: fn(&mut Vec<u8>)| codes(change);
    assert_eq!(strict(|b| b[86] |= 6), (vec![], vec!["XFS-ATTR-FLAGS"]));
    assert_eq!(strict(|b| b[65] -= 8), (vec![], vec!["XFS-ATTR-FREEMAP"]));
}

#[test]
fn a_wrong_checksum_is_for_the_strict_verdict_alone() {
    let mut bytes = built(&["one"]);
    bytes[2000] = 9;
    let (lists, leaf) = judged(&bytes, 0);
    assert_eq!(
        (lists.codes, lists.strict),
        (vec![], vec!["XFS-ATTR-LEAF-CRC"])
    );
    assert!(leaf.is_some());
}

#[test]
fn the_same_name_twice_is_found() {
    let (lists, _) = judged(&built(&["same", "same"]), 0);
    assert_eq!((lists.codes, lists.strict), (vec![], vec!["XFS-ATTR-DUP"]));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(proptest::num::u8::ANY, 4096), offset in 0_u64..3) {
        judged(&bytes, offset);
        bytes[57] = 3;
        bytes[56] = 0;
        judged(&bytes, offset);
    }

    #[test]
    fn no_change_makes_it_panic(at in 0_usize..4096, value: u8) {
        codes(|bytes| bytes[at] = value);
    }
}
