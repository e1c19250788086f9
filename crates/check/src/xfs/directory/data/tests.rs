//! Directories of one block, built and then damaged.

use ondisk::xfs::directory::{BlockHeader, put_entry, put_free, set_best_free};
use ondisk::xfs::{checksum, hash};

use super::*;
use crate::xfs::fixture::rules;
use crate::xfs::sink::tests::Lists;

const INO: u64 = 200;
const FSBLOCK: u64 = 40;

/// A directory with `.`, `..` and these names, each a file with the inode after the last.
fn built(names: &[&str]) -> Vec<u8> {
    let rules = rules();
    let mut bytes = vec![0; 4096];
    let mut entries: Vec<(&str, u64, u8)> = vec![(".", INO, 2), ("..", 128, 2)];
    entries.extend((300..).zip(names).map(|(ino, name)| (*name, ino, 1)));
    let mut at = 64;
    let mut table = Vec::new();
    for (name, ino, kind) in entries {
        assert!(put_entry(true, &mut bytes, at, ino, name.as_bytes(), kind));
        table.push((hash::name(name.as_bytes()), (at / 8) as u32));
        at += layout::entry_size(true, name.len());
    }
    table.sort_unstable();
    let end = 4096 - 8 - 8 * table.len();
    assert!(put_free(&mut bytes, at, end - at));
    set_best_free(
        true,
        &mut bytes,
        [(at as u16, (end - at) as u16), (0, 0), (0, 0)],
    );
    for (nth, (hash, address)) in table.iter().enumerate() {
        bytes[end + 8 * nth..][..4].copy_from_slice(&hash.to_be_bytes());
        bytes[end + 8 * nth + 4..][..4].copy_from_slice(&address.to_be_bytes());
    }
    bytes[4088..4092].copy_from_slice(&(table.len() as u32).to_be_bytes());
    let head = BlockHeader::read_mut(&mut bytes).unwrap();
    head.magic = BLOCK3.into();
    head.blkno = rules.geometry.daddr(FSBLOCK).into();
    head.owner = INO.into();
    head.uuid = rules.geometry.uuid;
    checksum::seal(&mut bytes, checksum::DIRECTORY);
    bytes
}

/// The codes of a directory after a change, with a right checksum.
fn codes(names: &[&str], change: impl FnOnce(&mut Vec<u8>)) -> (Vec<&'static str>, Lists) {
    let mut bytes = built(names);
    change(&mut bytes);
    checksum::seal(&mut bytes, checksum::DIRECTORY);
    let block = Block {
        ino: INO,
        offset: 0,
        fsblock: FSBLOCK,
        bytes: &bytes,
    };
    let mut lists = Lists::default();
    judge(&rules(), &block, true, &mut lists);
    (lists.codes.clone(), lists)
}

#[test]
fn a_sound_directory_gives_its_names() {
    let (codes, lists) = codes(&["one", "two", "three"], |_| {});
    assert!(codes.is_empty(), "{codes:?}");
    assert_eq!(lists.names, [(INO, 300, 1), (INO, 301, 1), (INO, 302, 1)]);
}

#[test]
fn each_fault_has_its_code() {
    let found = |change: fn(&mut Vec<u8>)| codes(&["one", "two"], change).0;
    // The entry of the first name is at 96: `.` and `..` take 16 bytes each.
    assert_eq!(found(|b| b[96 + 9] = b'0'), ["XFS-DIR-HASH-TABLE"]);
    assert_eq!(found(|b| b[50] += 1), ["XFS-DIR-BESTFREE"]);
    assert_eq!(
        found(|b| b[96..104].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 3])),
        ["XFS-DIR-ENT-INO"]
    );
    assert_eq!(
        found(|b| b[96..104].copy_from_slice(&INO.to_be_bytes())),
        ["XFS-DIR-ENT-SELF"]
    );
    assert_eq!(found(|b| b[64 + 7] = 201), ["XFS-DIR-DOT-INO"]);
    assert_eq!(found(|b| b[64 + 10] = 1), ["XFS-DIR-FTYPE"]);
    assert_eq!(found(|b| b[47] += 1), ["XFS-DIR-OWNER"]);
    assert_eq!(found(|b| b[15] += 1), ["XFS-DIR-BLKNO"]);
    assert_eq!(found(|b| b[24] += 1), ["XFS-DIR-UUID"]);
    assert_eq!(found(|b| b[0] = 0), ["XFS-DIR-BLOCK-MAGIC"]);
    let walk = ["XFS-DIR-BLOCK-BAD", "XFS-DIR-BLOCK-WALK"];
    assert_eq!(found(|b| b[96 + 15] += 1), walk);
    assert_eq!(found(|b| b[4095] += 1), ["XFS-DIR-BLOCK-BAD"]);
}

#[test]
fn two_entries_with_one_name_are_found_by_their_hash() {
    let (codes, _) = codes(&["same", "other", "same"], |_| {});
    assert_eq!(codes, ["XFS-DIR-ENT-DUP"]);
}

#[test]
fn a_wrong_checksum_alone_is_told() {
    let mut bytes = built(&["one"]);
    bytes[4] ^= 1;
    let block = Block {
        ino: INO,
        offset: 0,
        fsblock: FSBLOCK,
        bytes: &bytes,
    };
    let mut lists = Lists::default();
    assert!(judge(&rules(), &block, true, &mut lists).is_some());
    assert_eq!(lists.codes, ["XFS-DIR-DATA-CRC"]);
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 4096), whole: bool) {
        let block = Block { ino: INO, offset: 0, fsblock: FSBLOCK, bytes: &bytes };
        judge(&rules(), &block, whole, &mut Lists::default());
    }

    #[test]
    fn no_change_makes_it_panic(at in 0_usize..4096, value: u8) {
        codes(&["one", "two", "three"], |bytes| bytes[at] = value);
    }
}
