//! Directories are grown, written, and read again.

use ondisk::ext4::directory::{Entries, entries};
use ondisk::ext4::hash::HashVersion;
use ondisk::ext4::htree::{IndexBlock, Kind};
use ondisk::ext4::{FileType, Seed};
use proptest::prelude::*;

use super::{Entry, Event, Events, Full, Growth, Hashing, Identity, Portions, Rules, Shape, Vast};

const OWN: Identity = Identity {
    dot: 12,
    dot_dot: 2,
    seed: Some(Seed(7)),
};

fn rules(block_size: u32, version: Option<HashVersion>, levels: u8) -> Rules {
    Rules {
        block_size,
        checksums: true,
        index: version.map(|version| Hashing {
            version,
            seed: [1, 2, 3, 4],
        }),
        most_levels: levels,
        file_types: true,
        inline: None,
        secret: None,
    }
}

/// The same for an encrypted and case-folded directory.
fn keyed(rules: Rules) -> Rules {
    Rules {
        secret: Some([7, 1 << 60]),
        ..rules
    }
}

fn name(number: u32, len: usize) -> Vec<u8> {
    let mut name = format!("n{number}é").into_bytes();
    name.resize(name.len().max(len), b'x');
    name
}

fn grow(rules: Rules, names: &[Vec<u8>]) -> Growth {
    let mut growth = Growth::new(rules);
    for (nth, name) in names.iter().enumerate() {
        let hash = rules.hash(name);
        assert_eq!(growth.add(name.len() as u8, hash), Ok(nth as u32));
    }
    growth
}

/// Puts an entry's name in its place.
fn placed(names: &[Vec<u8>], id: u32, place: &mut [u8]) -> Entry {
    let name = &names[id as usize];
    place[..name.len()].copy_from_slice(name);
    Entry {
        inode: id + 100,
        kind: FileType::Regular,
        len: name.len() as u8,
    }
}

fn write(shape: &Shape, names: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0xaa; (shape.blocks() * shape.rules.block_size) as usize];
    shape
        .write(0, &mut bytes, OWN, |id, place| placed(names, id, place))
        .unwrap();
    bytes
}

/// Every name of a leaf with its inode; the whole block must be sound.
fn leaf(bytes: &[u8], block_size: u32) -> Vec<(Vec<u8>, u32)> {
    let sum = ondisk::ext4::directory::checksum(bytes, Seed(7)).expect("a tail");
    assert!(sum.matches());
    let all: Entries<'_> = entries(bytes, block_size);
    all.map(Result::unwrap)
        .filter(|entry| entry.inode != 0)
        .map(|entry| (entry.name.to_vec(), entry.inode))
        .collect()
}

/// All names, found by walking the index; each must be where its hash leads.
fn walk(shape: &Shape, bytes: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let size = shape.rules.block_size;
    let block = |nth: u32| &bytes[(nth * size) as usize..((nth + 1) * size) as usize];
    if shape.rules.index.is_none() || shape.levels() == 0 {
        return (0..shape.blocks())
            .flat_map(|nth| leaf(block(nth), size))
            .collect();
    }
    let root = IndexBlock::read_root(block(0)).unwrap();
    let Kind::Root { info, dot, dot_dot } = root.kind() else {
        panic!("no root")
    };
    assert_eq!(
        (dot, dot_dot, info.indirect_levels + 1),
        (12, 2, shape.levels())
    );
    assert!(root.checksum(Seed(7)).unwrap().matches());
    let mut level: Vec<(u32, u32)> = root.entries().map(|one| (one.hash, one.block)).collect();
    let mut seen = 1;
    for _ in 0..info.indirect_levels {
        let mut below = Vec::new();
        for (from, nth) in level {
            let node = IndexBlock::read_node(block(nth), size).unwrap();
            assert!(node.checksum(Seed(7)).unwrap().matches());
            let entries = node.entries().enumerate();
            below.extend(
                entries.map(|(at, one)| (if at == 0 { from } else { one.hash }, one.block)),
            );
            seen += 1;
        }
        level = below;
    }
    assert!(
        level.is_sorted_by(|one, other| one.0 < other.0),
        "hashes ascend"
    );
    let mut found = Vec::new();
    for (nth, (from, leaf_block)) in level.iter().enumerate() {
        let until = level.get(nth + 1).map_or(u32::MAX, |next| next.0);
        for (name, ino) in leaf(block(*leaf_block), size) {
            let hash = shape.rules.hash(&name);
            assert!(
                from & !1 <= hash && hash <= until & !1,
                "{hash:x} in {from:x}..{until:x}"
            );
            found.push((name, ino));
        }
        seen += 1;
    }
    assert_eq!(seen, shape.blocks(), "every block is reached");
    found
}

fn sorted(mut names: Vec<(Vec<u8>, u32)>) -> Vec<(Vec<u8>, u32)> {
    names.retain(|(name, _)| name != b"." && name != b"..");
    names.sort();
    names
}

fn expected(names: &[Vec<u8>], there: impl Fn(u32) -> bool) -> Vec<(Vec<u8>, u32)> {
    let all = names.iter().zip(0..).filter(|(_, id)| there(*id));
    sorted(all.map(|(name, id)| (name.clone(), id + 100)).collect())
}

#[test]
fn a_short_directory_is_one_block() {
    let names: Vec<_> = (0..20).map(|n| name(n, 10)).collect();
    let shape = grow(rules(1024, Some(HashVersion::HalfMd4), 1), &names).finish();
    assert_eq!((shape.blocks(), shape.levels()), (1, 0));
    let bytes = write(&shape, &names);
    assert_eq!(sorted(leaf(&bytes, 1024)), expected(&names, |_| true));
}

#[test]
fn an_index_of_every_hash_and_depth() {
    use HashVersion::{HalfMd4, HalfMd4Unsigned, Legacy, LegacyUnsigned, Tea, TeaUnsigned};
    for version in [
        Legacy,
        LegacyUnsigned,
        HalfMd4,
        HalfMd4Unsigned,
        Tea,
        TeaUnsigned,
    ] {
        for (count, levels) in [(100, 1), (20_000, 2)] {
            let names: Vec<_> = (0..count).map(|n| name(n, 9)).collect();
            let shape = grow(rules(1024, Some(version), 2), &names).finish();
            assert_eq!(shape.levels(), levels, "{version:?}");
            let bytes = write(&shape, &names);
            assert_eq!(sorted(walk(&shape, &bytes)), expected(&names, |_| true));
        }
    }
}

/// The hash after each name is that of the key, and orders the index; the dots have none, but the kernel leaves room after `..`.
#[test]
fn encrypted_and_folded_names_are_followed_by_their_hashes() {
    use ondisk::ext4::hash::NameHash;

    for version in [None, Some(HashVersion::HalfMd4)] {
        for (count, len) in [(1, 16), (9, 40), (4000, 17)] {
            let names: Vec<_> = (0..count).map(|n| name(n, len + n as usize % 5)).collect();
            let rules = keyed(rules(1024, version, 1));
            let mut growth = grow(rules, &names);
            growth.remove(|id| id % 3 == 1);
            let shape = growth.finish();
            let bytes = write(&shape, &names);
            let found = sorted(walk(&shape, &bytes));
            assert_eq!(found, expected(&names, |id| id % 3 != 1), "{version:?}");
            let indexed = shape.levels() > 0;
            assert_eq!(indexed, version.is_some() && count > 9);
            let mut seen = 0;
            for (nth, block) in bytes.chunks_exact(1024).enumerate().skip(indexed.into()) {
                for entry in entries(block, 1024).map(Result::unwrap) {
                    match entry.name {
                        b"." => assert_eq!(entry.rec_len, 12),
                        b".." => assert_eq!((nth, entry.rec_len), (0, 20)),
                        name if entry.inode != 0 => {
                            let hash = NameHash::sip(name, rules.secret.unwrap());
                            assert_eq!(entry.stored_hash(), Some(hash));
                            assert!(entry.needed(true) <= entry.rec_len);
                            seen += 1;
                        }
                        _ => {}
                    }
                }
            }
            assert_eq!(seen, found.len());
            if indexed {
                let root = IndexBlock::read_root(&bytes[..1024]).unwrap();
                let hash = root.hash_version(false);
                assert_eq!(hash, Some(HashVersion::SipHash));
            }
        }
    }
}

#[test]
fn three_levels_need_large_dir() {
    let long: Vec<_> = (0..70_000).map(|n| name(n, 200)).collect();
    let shape = grow(rules(1024, Some(HashVersion::HalfMd4), 2), &long).finish();
    assert_eq!(shape.levels(), 3);
    let bytes = write(&shape, &long);
    assert_eq!(sorted(walk(&shape, &bytes)), expected(&long, |_| true));
    let small_rules = rules(1024, Some(HashVersion::HalfMd4), 1);
    let mut small = Growth::new(small_rules);
    let full = long.iter().find_map(|name| {
        let hash = small_rules.hash(name);
        small.add(name.len() as u8, hash).err()
    });
    let full = full.expect("two levels are not enough");
    assert!((20_000..70_000).contains(&full.names), "{full}");
    assert_eq!(full.levels, 2);
}

#[test]
fn leaves_are_as_full_as_splits_in_halves_leave_them() {
    let names: Vec<_> = (0..30_000).map(|n| name(n, 16)).collect();
    let shape = grow(rules(4096, Some(HashVersion::HalfMd4), 1), &names).finish();
    let (used, room) = shape.fill();
    // Yao 1978: B-trees filled at random are ln 2 full.
    let fill = used as f64 / room as f64;
    assert!((fill - std::f64::consts::LN_2).abs() < 0.03, "{fill}");
}

#[test]
fn names_that_went_leave_room_for_others() {
    let names: Vec<_> = (0..3000).map(|n| name(n, 16)).collect();
    for version in [None, Some(HashVersion::Tea)] {
        let rules = rules(1024, version, 1);
        let mut growth = grow(rules, &names[..2000]);
        let before = growth.clone().finish().blocks() as usize;
        growth.remove(|id| id % 2 == 0);
        for name in &names[2000..] {
            let hash = rules.hash(name);
            growth.add(name.len() as u8, hash).unwrap();
        }
        let shape = growth.finish();
        // Without an index every gap is found; with one, a few leaves overflow nevertheless.
        let more = shape.blocks() as usize - before;
        assert!(
            if version.is_none() {
                more == 0
            } else {
                more < before / 4
            },
            "{more}"
        );
        let bytes = write(&shape, &names);
        let found = sorted(walk(&shape, &bytes));
        assert_eq!(found, expected(&names, |id| id >= 2000 || id % 2 == 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_comes_and_goes_is_found(
        log in 10_u32..=16,
        version in prop_oneof![Just(None), Just(Some(HashVersion::Legacy)), Just(Some(HashVersion::HalfMd4Unsigned))],
        lens in proptest::collection::vec(1_usize..=255, 1..800),
        modulus in 2_u32..7,
    ) {
        let names: Vec<_> = lens.iter().zip(0..).map(|(len, n)| name(n, *len)).collect();
        let rules = rules(1 << log, version, 1);
        let half = names.len() / 2;
        let mut growth = grow(rules, &names[..half]);
        growth.remove(|id| id % modulus == 0);
        for name in &names[half..] {
            let hash = rules.hash(name);
            growth.add(name.len() as u8, hash).unwrap();
        }
        let shape = growth.finish();
        let bytes = write(&shape, &names);
        let found = sorted(walk(&shape, &bytes));
        let all = expected(&names, |id| id >= half as u32 || id % modulus != 0);
        prop_assert_eq!(found, all);
    }
}

/// Names that come, some that go, and others that come then.
struct Life<'a> {
    rules: Rules,
    names: &'a [Vec<u8>],
    /// Names before the removal.
    early: usize,
}

impl Events for Life<'_> {
    fn replay(&self, each: &mut dyn FnMut(Event) -> Result<(), Full>) -> Result<(), Full> {
        for (nth, name) in self.names.iter().enumerate() {
            if nth == self.early {
                each(Event::Removal)?;
            }
            each(Event::Name {
                len: name.len() as u8,
                hash: self.rules.hash(name),
                tag: nth as u32,
            })?;
        }
        Ok(())
    }

    fn gone(&self, tag: u32) -> bool {
        (tag as usize) < self.early && tag.is_multiple_of(3)
    }
}

#[test]
fn what_is_grown_in_parts_is_what_grows_in_one_piece() {
    for (count, len, early, levels, version) in [
        (9_000, 8, 5_000, 1, HashVersion::HalfMd4),
        (12_000, 30, 700, 1, HashVersion::Tea),
        (40_000, 120, 40_000, 2, HashVersion::LegacyUnsigned),
        (9_000, 16, 5_000, 1, HashVersion::SipHash),
    ] {
        let names: Vec<_> = (0..count).map(|n| name(n, len + n as usize % 9)).collect();
        let rules = match version {
            HashVersion::SipHash => keyed(rules(1024, Some(HashVersion::HalfMd4), levels)),
            _ => rules(1024, Some(version), levels),
        };
        let story = Life {
            rules,
            names: &names,
            early,
        };
        let mut growth = grow(rules, &names[..early]);
        if early < names.len() {
            growth.remove(|id| story.gone(id));
        }
        for name in &names[early..] {
            growth.add(name.len() as u8, rules.hash(name)).unwrap();
        }
        let whole = write(&growth.finish(), &names);
        for (first, window) in [(500, 1300), (2000, 1_000_000), (900, 1)] {
            let vast = Vast::grow(rules, &story, Portions { first, window }).unwrap();
            let mut parts = vec![0xaa; whole.len()];
            assert_eq!(vast.blocks() as usize * 1024, whole.len());
            let entry = |tag: u32, place: &mut [u8; 255]| placed(&names, tag, place);
            vast.write(&story, OWN, entry, |block, bytes| {
                parts[block as usize * 1024..][..1024].copy_from_slice(bytes);
                Ok(())
            })
            .unwrap();
            assert!(
                parts == whole,
                "{version:?}, first {first}, window {window}"
            );
        }
    }
}

#[test]
fn too_many_names_are_reported_in_parts_as_in_one_piece() {
    let names: Vec<_> = (0..60_000).map(|n| name(n, 200)).collect();
    let rules = rules(1024, Some(HashVersion::HalfMd4), 1);
    let mut growth = Growth::new(rules);
    let whole = names.iter().find_map(|name| {
        let hash = rules.hash(name);
        growth.add(name.len() as u8, hash).err()
    });
    let story = Life {
        rules,
        names: &names,
        early: names.len(),
    };
    let portions = Portions {
        first: 1000,
        window: 9000,
    };
    let parts = Vast::grow(rules, &story, portions).unwrap_err();
    assert_eq!(Some(parts), whole);
}

/// The names of a directory without blocks, area by area, and its parent.
fn inside(shape: &Shape, names: &[Vec<u8>]) -> (u32, [Vec<Vec<u8>>; 2]) {
    let (head, tail) = shape
        .write_inline(OWN, |id, place| placed(names, id, place))
        .unwrap();
    let data = ondisk::ext4::inline::InlineData {
        head: &head,
        tail: &tail,
    };
    assert_eq!(shape.size() as usize, data.room());
    let areas = data.areas(1024).map(|area| {
        let all = area.map(Result::unwrap);
        all.filter(|entry| entry.inode != 0)
            .map(|entry| entry.name.to_vec())
            .collect()
    });
    (data.parent(), areas)
}

#[test]
fn first_names_are_in_the_inode_and_move_to_a_block_for_good() {
    let rules = Rules {
        inline: Some(68),
        ..rules(1024, Some(HashVersion::HalfMd4), 1)
    };
    // Records of 20, 16, 20 bytes fill the first area to the last byte; 68 are three of 20.
    let names: Vec<Vec<u8>> = [9, 8, 9, 9, 9, 9, 9]
        .iter()
        .map(|len| vec![b'x'; *len])
        .collect();
    let empty = grow(rules, &[]).finish();
    assert_eq!((empty.blocks(), empty.size()), (0, 60));
    assert_eq!(inside(&empty, &[]), (2, [vec![], vec![]]));
    for count in 1..=3 {
        let shape = grow(rules, &names[..count]).finish();
        assert_eq!(shape.size(), 60);
        assert_eq!(inside(&shape, &names).1[0], names[..count]);
    }
    for count in 4..=6 {
        let shape = grow(rules, &names[..count]).finish();
        assert_eq!((shape.blocks(), shape.size()), (0, 128));
        assert_eq!(
            inside(&shape, &names).1,
            [names[..3].to_vec(), names[3..count].to_vec()]
        );
    }
    // A gap in the first area is filled before the second one is.
    let mut growth = grow(rules, &names[..4]);
    growth.remove(|id| id == 1);
    growth.add(8, 0).unwrap();
    let mut with_more = names[..4].to_vec();
    with_more.push(vec![b'y'; 8]);
    let (_, [first, second]) = inside(&growth.finish(), &with_more);
    assert_eq!(
        first,
        [&with_more[0], &with_more[4], &with_more[2]].map(Vec::clone)
    );
    assert_eq!(second, [names[3].clone()]);
    // One too many: all move to a block, in their order, and stay there.
    let mut growth = grow(rules, &names);
    assert!(growth.leaves().is_empty());
    growth.remove(|id| id > 1);
    let shape = growth.finish();
    assert_eq!((shape.blocks(), shape.size(), shape.levels()), (1, 1024, 0));
    let bytes = write(&shape, &names);
    let found: Vec<Vec<u8>> = leaf(&bytes, 1024)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        found,
        [
            b".".to_vec(),
            b"..".to_vec(),
            names[0].clone(),
            names[1].clone()
        ]
    );
    // And from a block it goes on to an index.
    let many: Vec<Vec<u8>> = (0..100).map(|nth| name(nth, 30)).collect();
    let shape = grow(rules, &many).finish();
    assert!(shape.levels() > 0);
    let mut found: Vec<Vec<u8>> = walk(&shape, &write(&shape, &many))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    found.sort();
    let mut sorted = many.clone();
    sorted.sort();
    assert_eq!(found, sorted);
}
