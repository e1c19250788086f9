//! Hash entries of directories in leaves: the only one, which ends with the table of the largest free areas, or those below nodes.

use ondisk::bytes::be16;
use ondisk::xfs::da::{self, LEAF1, LEAF1_3, LEAFN, LEAFN_3};
use ondisk::xfs::directory::{NULL_ADDRESS, NULL_BEST, leaf_entry, leaf1_bests, leaf1_bests_at};

use super::{Alike, Block, leaf_header, pair};
use crate::Problem;
use crate::xfs::rules::Rules;
use crate::xfs::sink::Sink;
use crate::xfs::xfs_repair::problems::{
    DIR_LEAF1_CRC, DIR_LEAF1_HEADER, DIR_LEAFN_COUNT, DIR_LEAFN_CRC, DIR_LEAFN_MAGIC,
    DIR_LEAFN_ORDER, DIR_LEAFN_STALE,
};

/// What a leaf gives to the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Sum of the pairs of hash and address.
    pub(crate) names: u64,
    /// Sum of the pairs of data block and largest free area: of the only leaf.
    pub(crate) bests: u64,
    /// Data blocks that the table covers: of the only leaf.
    pub(crate) covers: Option<u32>,
    /// First and last hash.
    pub(crate) hashes: (u32, u32),
    /// Entries.
    pub(crate) count: u16,
    /// Hash and address of entries whose names may be equal to others: of the same hash, and below nodes those of the first and the last
    /// hash, which a neighbour may have as well.
    pub(crate) alike: Vec<(u32, u32)>,
}

/// Judges a leaf; `only`: the directory has no other. None where it cannot be relied on.
pub(crate) fn judge(
    rules: &Rules,
    block: &Block<'_>,
    only: bool,
    sink: &mut impl Sink,
) -> Option<Leaf> {
    let (v5, bytes) = (rules.geometry.v5, block.bytes);
    let codes = if only { &ONLY } else { &BELOW_NODES };
    let wanted = match (only, v5) {
        (true, true) => LEAF1_3,
        (true, false) => LEAF1,
        (false, true) => LEAFN_3,
        (false, false) => LEAFN,
    };
    let magic = da::magic(bytes);
    if magic != wanted {
        let finding = block.about(codes.magic).found(format!("0x{magic:04x}"));
        sink.find(finding.expected(format!("0x{wanted:04x}")));
        return None;
    }
    let sound = !v5 || leaf_header(rules, block, codes.crc, sink);
    let (count, stale) = (da::count(v5, bytes), da::level(v5, bytes));
    let room = da::room(v5, bytes.len());
    if usize::from(count) > room || stale > count {
        let finding = block.about(codes.count).found(count);
        sink.find(finding.expected(format!("at most {room}")));
        return None;
    }
    let mut leaf = Leaf {
        count,
        ..Leaf::default()
    };
    entries(rules, block, codes, (stale, only), &mut leaf, sink);
    if only {
        if da::forw(bytes) != 0 || da::back(bytes) != 0 {
            sink.find(block.about(&DIR_LEAF1_HEADER).note("neighbours"));
        }
        bests(rules, block, &mut leaf, sink)?;
    }
    sound.then_some(leaf)
}

/// The codes of one kind of leaf.
struct Codes {
    magic: &'static Problem,
    crc: &'static Problem,
    count: &'static Problem,
    order: &'static Problem,
    stale: &'static Problem,
}

// The verifier refuses these of an only leaf, and xfs_repair has one message for all.
static ONLY: Codes = Codes {
    magic: &DIR_LEAF1_CRC,
    crc: &DIR_LEAF1_CRC,
    count: &DIR_LEAF1_CRC,
    order: &DIR_LEAF1_CRC,
    stale: &DIR_LEAF1_CRC,
};
static BELOW_NODES: Codes = Codes {
    magic: &DIR_LEAFN_MAGIC,
    crc: &DIR_LEAFN_CRC,
    count: &DIR_LEAFN_COUNT,
    order: &DIR_LEAFN_ORDER,
    stale: &DIR_LEAFN_STALE,
};

fn entries(
    rules: &Rules,
    block: &Block<'_>,
    codes: &Codes,
    (stale, only): (u16, bool),
    leaf: &mut Leaf,
    sink: &mut impl Sink,
) {
    let (mut found, mut last, mut ordered) = (0_u16, 0_u32, true);
    let mut alike = Alike::default();
    for nth in 0..usize::from(leaf.count) {
        let (hash, address) = leaf_entry(rules.geometry.v5, block.bytes, nth);
        ordered &= hash >= last;
        if nth == 0 {
            leaf.hashes.0 = hash;
        }
        leaf.hashes.1 = hash;
        if address == NULL_ADDRESS {
            found += 1;
        } else {
            leaf.names = leaf.names.wrapping_add(pair(hash, address));
            alike.add(hash, address, !only && hash == leaf.hashes.0);
        }
        last = hash;
    }
    leaf.alike = alike.finish(!only);
    if !ordered {
        sink.find(block.about(codes.order).note("hashes are not ascending"));
    }
    if found != stale {
        let finding = block.about(codes.stale).found(stale).expected(found);
        sink.find(finding.note("stale entries"));
    }
}

/// The table of the largest free areas at the end of the only leaf.
fn bests(rules: &Rules, block: &Block<'_>, leaf: &mut Leaf, sink: &mut impl Sink) -> Option<()> {
    let count = leaf1_bests(block.bytes);
    let entries = da::header(rules.geometry.v5) + 8 * usize::from(leaf.count);
    let Some(at) = leaf1_bests_at(block.bytes, count).filter(|at| *at >= entries) else {
        sink.find(block.about(&DIR_LEAF1_CRC).found(count).note("free areas"));
        return None;
    };
    for number in 0..count {
        let best = be16(block.bytes, at + 2 * number as usize);
        if best != NULL_BEST {
            leaf.bests = leaf.bests.wrapping_add(pair(number, best.into()));
        }
    }
    leaf.covers = Some(count);
    Some(())
}
