//! Attribute lists, blocks, value inodes.

use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::{InodeMut, flag};
use ondisk::ext4::xattr::{self, NewEntry, NewValue};

use super::fixture::{BLOCK, Fixture};
use crate::ext4::options::Reference;
use crate::ext4::pass1::attributes::charge::Charge;

const FILE: u16 = 0o100_644;
/// Where the attributes of an inode begin, and its first entry.
const BODY: usize = 160;
const FIRST: usize = BODY + 4;

fn entry(name: &str, value: &[u8]) -> NewEntry {
    NewEntry {
        index: 1,
        name: name.into(),
        value: NewValue::Here(value.to_vec()),
    }
}

/// One inode with two attributes in it, changed by `damage`; the names of what is found.
fn in_inode(damage: impl FnOnce(&mut [u8])) -> Vec<&'static str> {
    let mut fixture = Fixture::new();
    fixture.inode(12, FILE, |inode| {
        let bytes = inode.bytes();
        let entries = [entry("one", b"1234"), entry("two", b"12")];
        xattr::write_inode(&mut bytes[BODY..], &entries).unwrap();
        damage(bytes);
    });
    fixture.judge(&[12], None).names()
}

#[test]
fn lists_in_inodes() {
    let none: [&str; 0] = [];
    assert_eq!(in_inode(|_| {}), none);
    // The second value where the first one is.
    let overlap = in_inode(|bytes| bytes.copy_within(FIRST + 2..FIRST + 4, FIRST + 22));
    assert_eq!(overlap, ["1_INODE_EA_ALLOC_COLLISION"]);
    // A name that runs out of the inode.
    assert_eq!(
        in_inode(|bytes| bytes[FIRST] = 255),
        ["1_INODE_EA_ALLOC_COLLISION"]
    );
    // A value as long as all that is left, and one more byte.
    let left = 92 - 16 - 4;
    assert_eq!(
        in_inode(|bytes| bytes[FIRST + 8] = left + 1),
        ["1_ATTR_VALUE_SIZE"]
    );
    assert_eq!(
        in_inode(|bytes| bytes[FIRST + 8] = left),
        ["1_INODE_EA_ALLOC_COLLISION"]
    );
    // A hash, where 0 means none.
    assert_eq!(in_inode(|bytes| bytes[FIRST + 12] = 9), ["1_ATTR_HASH"]);
    // No terminator: values and names meet.
    let full = in_inode(|bytes| {
        let entries = [entry("a", &[7; 50])];
        xattr::write_inode(&mut bytes[BODY..], &entries).unwrap();
        bytes[FIRST + 2] -= 28;
        bytes[FIRST + 8] = 68;
        bytes[FIRST + 2] = 20;
    });
    assert_eq!(full, ["1_INODE_EA_ALLOC_COLLISION"]);
}

#[test]
fn extra_fields_of_inodes() {
    let extra = |size: u16| in_inode(|bytes| bytes[128..130].copy_from_slice(&size.to_le_bytes()));
    for size in [2, 33, 129, 132, 65532] {
        assert_eq!(extra(size), ["1_EXTRA_ISIZE"], "{size}");
    }
    for size in [0, 4, 124, 128] {
        assert!(extra(size).is_empty(), "{size}");
    }
    let time = in_inode(|bytes| {
        bytes[0x0c..0x10].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes[0x84] = 3;
    });
    assert_eq!(time, ["1_EA_TIME_OUT_OF_RANGE"]);
}

/// Two inodes with one attribute block, changed by `damage`.
fn shared_block(
    seal: bool,
    users: u32,
    damage: impl FnOnce(&mut Fixture, &mut Vec<u8>),
) -> Vec<&'static str> {
    let mut fixture = Fixture::new();
    fixture.checksums = seal;
    let mut block = vec![0; BLOCK];
    let entries = [entry("one", b"1234567"), entry("two", &[200; 30])];
    xattr::write_block(&mut block, &entries, users, 100, fixture.seed()).unwrap();
    damage(&mut fixture, &mut block);
    fixture.block(100, &block);
    for ino in [20, 13] {
        fixture.inode(ino, FILE, |inode| {
            inode.raw().unwrap().i_file_acl_lo = 100.into();
        });
    }
    let judged = fixture.judge(&[20, 13], None);
    assert_eq!(judged.claimed, [(100, 13)]);
    let charge = Charge {
        clusters: 1,
        inodes: 0,
    };
    assert!(judged.inodes.iter().all(|inode| inode.2 == Some(charge)));
    judged.names()
}

#[test]
fn blocks_and_their_counts() {
    let none: [&str; 0] = [];
    assert_eq!(shared_block(true, 2, |_, _| {}), none);
    assert_eq!(shared_block(false, 3, |_, _| {}), ["1_EXTATTR_REFCOUNT"]);
    assert_eq!(shared_block(true, 1, |_, _| {}), ["1_EXTATTR_REFCOUNT"]);
    assert_eq!(shared_block(false, 0, |_, _| {}), ["1_EXTATTR_REFCOUNT"]);
    let sum = shared_block(true, 2, |_, block| block[12] ^= 1);
    assert_eq!(sum, ["1_EA_BLOCK_ONLY_CSUM_INVALID"]);
    // What cannot be read again for its count ends the reference.
    let sum = shared_block(true, 3, |_, block| block[12] ^= 1);
    assert_eq!(
        sum,
        ["1_EA_BLOCK_ONLY_CSUM_INVALID", "1_EXTATTR_READ_ABORT"]
    );
    assert_eq!(
        shared_block(false, 2, |_, block| block[0] = 1),
        ["1_BAD_EA_BLOCK"]
    );
    assert_eq!(
        shared_block(false, 2, |_, block| block[8] = 2),
        ["1_EA_MULTI_BLOCK"]
    );
    let gone = shared_block(false, 2, |_, block| block.fill(0));
    assert_eq!(
        gone,
        ["1_BAD_EA_BLOCK", "1_EA_MULTI_BLOCK", "1_EXTATTR_READ_ABORT"]
    );
    let unread = shared_block(false, 2, |fixture, _| fixture.fails = Some(100));
    // The reference takes what it could not read for zeros, and so its count for a wrong one.
    assert_eq!(unread, ["1_READ_EA_BLOCK", "1_EXTATTR_READ_ABORT"]);
}

#[test]
fn lists_in_blocks() {
    let judge = |at: usize, value: u8| shared_block(false, 2, move |_, block| block[at] = value);
    assert_eq!(judge(33, 0), ["1_EA_BAD_NAME", "1_EA_ALLOC_COLLISION"]);
    assert_eq!(judge(35, 4), ["1_EA_BAD_VALUE", "1_EA_ALLOC_COLLISION"]);
    assert_eq!(
        judge(44, 0),
        ["1_ATTR_HASH"],
        "every entry in a block has a hash"
    );
    assert_eq!(
        judge(BLOCK - 1, 1),
        ["1_ATTR_HASH"],
        "what pads a value is part of it"
    );
    let overlap = shared_block(false, 2, |_, block| {
        block[34..36].copy_from_slice(&((BLOCK - 40) as u16).to_le_bytes());
    });
    assert_eq!(overlap, ["1_ATTR_HASH", "1_EA_ALLOC_COLLISION"]);
}

#[test]
fn a_hash_of_signed_characters_is_as_good() {
    let mut entry = entry("", b"abc");
    entry.name = vec![0xe4, 0x62];
    let mut fixture = Fixture::new();
    let mut block = vec![0; BLOCK];
    xattr::write_block(&mut block, &[entry], 1, 100, None).unwrap();
    let signed = xattr::entry_hash(&[0xe4, 0x62], b"abc", xattr::Sign::Signed);
    assert_ne!(block[44..48], signed.to_le_bytes());
    block[44..48].copy_from_slice(&signed.to_le_bytes());
    fixture.block(100, &block);
    fixture.inode(12, FILE, |inode| {
        inode.raw().unwrap().i_file_acl_lo = 100.into();
    });
    assert!(fixture.judge(&[12], None).names().is_empty());
}

#[test]
fn blocks_that_are_none() {
    let mut fixture = Fixture::new();
    for (ino, block) in [(12, 4096), (13, 1 << 31)] {
        fixture.inode(ino, FILE, |inode| {
            inode.raw().unwrap().i_file_acl_lo = block.into();
        });
    }
    // The high half counts with 64-bit block numbers only.
    fixture.inode(14, FILE, |inode| {
        inode.raw().unwrap().l_i_file_acl_high = 1.into();
    });
    let judged = fixture.judge(&[12, 13, 14], None);
    let charges: Vec<_> = judged.inodes.iter().map(|inode| inode.2).collect();
    assert_eq!(charges, [None, None, Some(Charge::default())]);
    assert!(judged.claimed.is_empty() && judged.names().is_empty());
    fixture.sb.s_feature_compat = 0.into();
    fixture.inode(12, FILE, |inode| {
        inode.raw().unwrap().i_file_acl_lo = 100.into();
    });
    assert_eq!(fixture.judge(&[12], None).inodes[0].2, None, "no feature");
}

/// An inode whose attribute names inode 15 as the holder of its value, both changed; the names of what is found, and what
/// the attribute is charged.
fn with_value(
    fixture: Fixture,
    size: u32,
    value: impl FnOnce(&mut InodeMut<'_>),
    damage: impl FnOnce(&mut [u8]),
) -> (Vec<&'static str>, Charge) {
    let mut fixture = fixture;
    fixture.inode(15, FILE, |inode| {
        let raw = inode.raw().unwrap();
        raw.i_flags = flag::EA_INODE.into();
        raw.i_atime = 0x1234_5678.into();
        raw.i_size_lo = 3000.into();
        value(inode);
    });
    fixture.inode(12, FILE, |inode| {
        let entry = NewEntry {
            index: 1,
            name: b"big".to_vec(),
            value: NewValue::Inode {
                ino: 15,
                size,
                hash: 0x1234_5678,
            },
        };
        xattr::write_inode(&mut inode.bytes()[BODY..], &[entry]).unwrap();
        inode.raw().unwrap().i_generation = 5.into();
        damage(inode.bytes());
    });
    let judged = fixture.judge(&[12, 15], None);
    (judged.names(), judged.inodes[0].0)
}

#[test]
fn values_in_inodes() {
    let fixture = || Fixture::new().incompat(Incompat::EA_INODE);
    let none: [&str; 0] = [];
    let three = Charge {
        clusters: 3,
        inodes: 1,
    };
    let free = Charge {
        clusters: 0,
        inodes: 1,
    };
    assert_eq!(
        with_value(fixture(), 3000, |_| {}, |_| {}),
        (none.to_vec(), three)
    );
    // No feature in the superblock, which 1.47.0 did not mind.
    let (names, charge) = with_value(Fixture::new(), 3000, |_| {}, |_| {});
    assert_eq!((names, charge), (vec!["1_EA_INODE_FEATURE"], three));
    let number = |ino: u8| with_value(fixture(), 3000, |_| {}, |bytes| bytes[FIRST + 4] = ino).0;
    assert_eq!(number(10), ["1_ATTR_VALUE_EA_INODE"]);
    assert_eq!(number(65), ["1_ATTR_VALUE_EA_INODE"]);
    assert_eq!(number(30), ["1_ATTR_VALUE_SIZE"], "an inode of zeros");
    let size = with_value(fixture(), 2999, |_| {}, |_| {}).0;
    assert_eq!(size, ["1_ATTR_VALUE_SIZE"]);
    let hash = with_value(fixture(), 3000, |_| {}, |bytes| bytes[FIRST + 12] ^= 1).0;
    assert_eq!(hash, ["1_ATTR_HASH"]);
    let unflagged = |inode: &mut InodeMut<'_>| inode.raw().unwrap().i_flags = 0.into();
    let flag = with_value(fixture(), 3000, unflagged, |_| {}).0;
    assert_eq!(flag, ["1_ATTR_SET_EA_INODE_FL", "1_ATTR_NO_EA_INODE_FL"]);
    let neither = with_value(fixture(), 3000, unflagged, |bytes| bytes[FIRST + 12] ^= 1).0;
    assert_eq!(neither, ["1_ATTR_VALUE_EA_INODE"]);
    // Lustre's: no hash, but a way back.
    let lustre = |inode: &mut InodeMut<'_>| {
        inode.raw().unwrap().i_mtime = 12.into();
        inode.raw().unwrap().i_generation = 5.into();
    };
    let old = with_value(fixture(), 3000, lustre, |bytes| bytes[FIRST + 12] ^= 1);
    assert_eq!(old, (none.to_vec(), free));
}

#[test]
fn older_verdicts_look_less_closely_at_values() {
    let mut fixture = Fixture::new();
    fixture.reference = Reference::E2fsck1470;
    fixture.inode(15, FILE, |inode| {
        inode.raw().unwrap().i_flags = flag::EA_INODE.into();
    });
    fixture.inode(12, FILE, |inode| {
        let entry = NewEntry {
            index: 1,
            name: b"big".to_vec(),
            value: NewValue::Inode {
                ino: 15,
                size: 0,
                hash: 0,
            },
        };
        xattr::write_inode(&mut inode.bytes()[BODY..], &[entry]).unwrap();
    });
    let judged = fixture.judge(&[12, 15], None);
    assert_eq!(judged.names(), ["1_EA_INODE_FEATURE", "1_ATTR_VALUE_SIZE"]);
    assert!(
        judged
            .findings
            .list
            .iter()
            .all(|finding| finding.beyond_reference)
    );
}

#[test]
fn a_block_that_names_value_inodes_is_charged_with_them() {
    let mut fixture = Fixture::new().incompat(Incompat::EA_INODE);
    fixture.inode(15, FILE, |inode| {
        let raw = inode.raw().unwrap();
        raw.i_flags = flag::EA_INODE.into();
        raw.i_atime = 99.into();
        raw.i_size_lo = 1025.into();
    });
    let mut block = vec![0; BLOCK];
    let value = NewEntry {
        index: 1,
        name: b"big".to_vec(),
        value: NewValue::Inode {
            ino: 15,
            size: 1025,
            hash: 99,
        },
    };
    xattr::write_block(&mut block, &[value], 2, 100, None).unwrap();
    fixture.block(100, &block);
    for ino in [12, 13] {
        fixture.inode(ino, FILE, |inode| {
            inode.raw().unwrap().i_file_acl_lo = 100.into();
        });
    }
    let judged = fixture.judge(&[12, 13, 15], None);
    assert!(judged.names().is_empty());
    let charge = Some(Charge {
        clusters: 3,
        inodes: 1,
    });
    assert_eq!((judged.inodes[0].2, judged.inodes[1].2), (charge, charge));
    assert_eq!(judged.attributes.value_refs(15), 1, "a block counts once");
    assert_eq!(judged.attributes.value_inodes, [15]);
}

#[test]
fn blocks_that_many_inodes_name_in_turn_are_looked_into_once() {
    let reads = |inodes: u32| {
        let mut fixture = Fixture::new().incompat(Incompat::EA_INODE);
        let users: Vec<u32> = (20..20 + inodes).collect();
        for block in [100, 101] {
            let mut bytes = vec![0; BLOCK];
            let named = ["a", "b", "c"].map(|name| NewEntry {
                index: 1,
                name: name.into(),
                value: NewValue::Inode {
                    ino: 15,
                    size: 1025,
                    hash: 99,
                },
            });
            xattr::write_block(&mut bytes, &named, inodes / 2, block, None).unwrap();
            fixture.block(block, &bytes);
        }
        for (nth, ino) in users.iter().enumerate() {
            // One after the other for each of the two workers.
            let block = 100 + nth as u32 / 2 % 2;
            fixture.inode(*ino, FILE, |inode| {
                inode.raw().unwrap().i_file_acl_lo = block.into();
            });
        }
        fixture.judge(&users, None).reads
    };
    assert_eq!(reads(40), reads(4));
}

/// A search for one attribute reads the values of all before it, as in e2fsprogs, but not again for each inode.
#[test]
fn values_that_many_encrypted_inodes_share_are_read_once() {
    let reads = |inodes: u32| {
        let mut fixture = Fixture::new().incompat(Incompat::EA_INODE);
        fixture.inode(15, FILE, |inode| {
            let raw = inode.raw().unwrap();
            raw.i_size_lo = 1025.into();
            raw.i_flags = flag::EA_INODE.into();
            raw.i_links_count = 1.into();
            raw.i_block[..8].copy_from_slice(&[200_u32, 201].map(u32::to_le_bytes).concat());
        });
        let mut bytes = vec![0; BLOCK];
        let named = ["a", "b", "d", "e", "f", "g"].map(|name| NewEntry {
            index: 1,
            name: name.into(),
            value: NewValue::Inode {
                ino: 15,
                size: 1025,
                hash: 0,
            },
        });
        xattr::write_block(&mut bytes, &named, inodes, 100, None).unwrap();
        fixture.block(100, &bytes);
        let users: Vec<u32> = (20..20 + inodes).collect();
        for ino in &users {
            fixture.inode(*ino, FILE, |inode| {
                let raw = inode.raw().unwrap();
                raw.i_flags = flag::ENCRYPT.into();
                raw.i_file_acl_lo = 100.into();
            });
        }
        fixture.judge(&users, None).reads
    };
    let more = reads(40) - reads(20);
    assert!(more <= 2 * 20, "{more} requests for 20 inodes more");
}

#[test]
fn a_value_inode_with_a_wrong_checksum_ends_the_reference() {
    let mut fixture = Fixture::new().incompat(Incompat::EA_INODE);
    fixture.checksums = true;
    fixture.inode(15, FILE, |inode| {
        inode.raw().unwrap().i_flags = flag::EA_INODE.into();
    });
    fixture.ram.put(10 * BLOCK as u64 + 14 * 256, &[1]);
    fixture.inode(12, FILE, |inode| {
        let entry = NewEntry {
            index: 1,
            name: b"big".to_vec(),
            value: NewValue::Inode {
                ino: 15,
                size: 10,
                hash: 0,
            },
        };
        xattr::write_inode(&mut inode.bytes()[BODY..], &[entry]).unwrap();
    });
    let judged = fixture.judge(&[12], None);
    assert_eq!(judged.names(), ["1_ISCAN_ERROR"]);
    assert!(judged.findings.list[0].reference_stops);
}
