//! A format whose descriptors name their successors and their groups, as OCFS2's do: only the one before tells where the next is.

use std::ops::Range;

use blockio::Ram;

use super::*;

const BLOCK: u32 = 1024;
/// Blocks of inodes that a descriptor has.
const GROUP: u64 = 4;

/// Heads of chains; everything else is learned while it is read.
struct Chained {
    heads: Vec<u64>,
    descriptors: u64,
    tables: Vec<Table>,
}

/// The words of a descriptor: the next one of its chain (0: none), itself, its first block of inodes.
fn word(bytes: &[u8], nth: usize) -> u64 {
    u64::from_le_bytes(bytes[8 * nth..8 * nth + 8].try_into().unwrap())
}

fn bytes_of(first: u64, blocks: u64) -> Range<u64> {
    first * u64::from(BLOCK)..(first + blocks) * u64::from(BLOCK)
}

impl MetadataMap for Chained {
    type Link = u64;

    fn steps(&self) -> &'static [Step] {
        &[Step::Inodes, Step::Scan]
    }

    fn block_size(&self) -> u32 {
        BLOCK
    }

    fn descriptors(&self, _: Step) -> u64 {
        self.descriptors
    }

    fn heads(&self, _: Step, _: u32) -> Vec<u64> {
        self.heads.clone()
    }

    fn block(&self, _: Step, link: u64) -> u64 {
        link
    }

    fn next(&self, _: Step, _: u64, bytes: Option<&[u8]>) -> Option<u64> {
        Some(word(bytes?, 0)).filter(|next| *next != 0)
    }

    fn verify(&mut self, _: Step, link: u64, bytes: Option<&[u8]>) -> Verified {
        let sound = bytes.is_some_and(|bytes| word(bytes, 1) == link);
        if let Some(bytes) = bytes.filter(|_| sound) {
            self.tables.push(Table {
                bytes: bytes_of(word(bytes, 2), GROUP),
                first: word(bytes, 2),
            });
        }
        Verified {
            verifiable: true,
            sound,
        }
    }

    fn group(&self, _: Step, _: u64) -> Vec<Range<u64>> {
        let last = self.tables.last();
        last.map(|table| table.bytes.clone()).into_iter().collect()
    }

    fn tables(&self) -> Vec<Table> {
        self.tables.clone()
    }

    fn inodes(&self, table: &Table, offset: u64, bytes: &[u8], _: &mut Blocks<'_>) -> InodeCount {
        let first = table.first + offset / u64::from(BLOCK);
        let numbers = first..;
        let inodes = numbers.zip(bytes.chunks_exact(BLOCK as usize));
        InodeCount {
            in_use: inodes
                .filter(|(number, inode)| word(inode, 0) == *number)
                .count() as u64,
            faults: 0,
        }
    }

    fn directory_block(&self, _: u64, _: &[u8]) -> bool {
        unreachable!("the format has no such step")
    }
}

/// A device with this many chains of this many links. The groups of a chain are as far apart as the device allows.
struct Device {
    bytes: Vec<u8>,
    chains: u64,
    links: u64,
}

impl Device {
    fn new(chains: u64, links: u64) -> Device {
        let mut device = Device {
            bytes: vec![0; ((chains * links + 1) * (GROUP + 1) * u64::from(BLOCK)) as usize],
            chains,
            links,
        };
        for chain in 0..chains {
            for link in 0..links {
                let at = device.descriptor(chain, link);
                let last = link + 1 == links;
                let next = if last {
                    0
                } else {
                    device.descriptor(chain, link + 1)
                };
                for (nth, value) in [next, at, at + 1].into_iter().enumerate() {
                    device.set(at, nth, value);
                }
                for inode in at + 1..at + 1 + GROUP {
                    device.set(inode, 0, inode);
                }
            }
        }
        device
    }

    fn descriptor(&self, chain: u64, link: u64) -> u64 {
        (link * self.chains + chain + 1) * (GROUP + 1)
    }

    fn set(&mut self, block: u64, nth: usize, value: u64) {
        let at = block as usize * BLOCK as usize + 8 * nth;
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn read(&self, strategy: Strategy) -> Reading {
        let map = Chained {
            heads: (0..self.chains)
                .map(|chain| self.descriptor(chain, 0))
                .collect(),
            descriptors: self.chains * self.links,
            tables: Vec::new(),
        };
        read(&Ram::new(&self.bytes), map, &strategy).unwrap()
    }
}

fn prefill(prefill: bool) -> Strategy {
    Strategy { prefill, ..small() }
}

/// The places come from the blocks of a level as they arrive, before any of them is verified.
#[test]
fn prefill_follows_the_chains_that_the_descriptors_name() {
    let device = Device::new(4, 8);
    let (without, with) = (device.read(prefill(false)), device.read(prefill(true)));
    for reading in [&without, &with] {
        let figures = of(reading, Step::Inodes);
        assert_eq!((figures.objects, figures.faults, reading.links), (32, 0, 8));
        assert_eq!(figures.disk_bytes, 32 * KIB);
        assert_eq!(of(reading, Step::Scan).objects, 32 * GROUP);
        assert_eq!(reading.metadata_bytes, 32 * (GROUP + 1) * KIB);
    }
    let (a, b) = (of(&without, Step::Inodes), of(&with, Step::Inodes));
    assert_eq!((a.batched, b.batched), (1, 4));
    assert_eq!((a.cache_bytes, b.cache_bytes), (0, 32 * KIB));
    assert!(b.seek_bytes * 3 < a.seek_bytes, "{a:?} {b:?}");
}

/// What a descriptor says of its group is known when the group is read with it.
#[test]
fn precache_reads_the_group_that_the_descriptor_names() {
    let device = Device::new(4, 8);
    let reading = device.read(Strategy {
        precache: true,
        ..small()
    });
    assert_eq!(
        of(&reading, Step::Inodes).disk_bytes,
        32 * (GROUP + 1) * KIB
    );
    assert_eq!(of(&reading, Step::Scan).disk_bytes, 0);
}

/// A chain that leads into itself ends, and so does one whose next descriptor cannot be read.
#[test]
fn damaged_chains_end() {
    let mut device = Device::new(2, 4);
    let (second, last) = (device.descriptor(1, 1), device.descriptor(1, 3));
    device.set(last, 0, second);
    for strategy in [prefill(false), prefill(true)] {
        let reading = device.read(strategy);
        assert_eq!(of(&reading, Step::Inodes).objects, 8);
    }
    let mut device = Device::new(2, 4);
    device.set(second, 0, u64::MAX);
    for strategy in [prefill(false), prefill(true)] {
        let reading = device.read(strategy);
        let figures = of(&reading, Step::Inodes);
        assert_eq!((figures.objects, figures.faults), (7, 1));
    }
}
