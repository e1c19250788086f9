//! Bytes as damage: which filesystem, and what is written into it. Any bytes are a program.
//!
//! The coverage fuzzer of `crates/check/fuzz` makes them; a test runs a few.

#![allow(dead_code, reason = "the fuzz target and the test each use a part")]

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use blockio::{BlockSource as _, Ram};
use ondisk::bytes::{be16, be32};
use ondisk::xfs::{Geometry, Superblock, checksum, dinode};

use super::volume::forged;

/// Bytes of the header: the filesystem, and how it is checked.
pub(crate) const HEADER: usize = 2;
/// Bytes of a step.
pub(crate) const STEP: usize = 10;
/// Steps that are taken; more would only take time.
const STEPS: usize = 32;
/// Where most fields are, bytes from the start of an object.
const HEAD: usize = 0x180;
/// Features of the filesystems.
pub(crate) const BASES: [&str; 3] = ["", "rmapbt,nrext64", "nocrc"];

/// Every form of directory, fork and attribute.
const PROFILE: &str = r#"
    files = 1500
    per_directory = [["3-9", 20], ["20-60", 10], ["200-300", 2], ["600-700", 1]]
    file_size = [["0", 1], ["1-9k", 9], ["40k-90k", 1]]
    [directories]
    fan_out = 6
    [names]
    length = "9-60"
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["400-900", 1]]
    special = 0.02
    [attributes]
    inode = 0.05
    block = 0.05
    [ageing]
    freed = 0.02
    fragmented = 0.5
    pieces = "1-20"
    gaps = 0.9
    free = "1-3"
"#;

/// An object of metadata: where it is, its size, and where its checksum is.
#[derive(Clone, Copy)]
struct Object {
    at: u64,
    size: usize,
    sum: Option<usize>,
}

/// A sound filesystem that is damaged and mended again and again.
pub(crate) struct Base {
    /// The filesystem, as the checker sees it.
    pub(crate) ram: Ram,
    sealed: bool,
    sound: BTreeMap<u64, Vec<u8>>,
    objects: Vec<Object>,
    blocks: u64,
    agblocks: u64,
}

impl Base {
    /// A filesystem with these features.
    pub(crate) fn new(features: &str) -> Base {
        let made = forged("300M", features, PROFILE);
        let source = blockio::open(&made.image, blockio::Mode::Buffered).unwrap();
        let file = File::open(&made.image).unwrap();
        let mut ram = Ram::sparse(source.source.len());
        let mut at = 0;
        while let Some(data) = source.source.next_data(at) {
            at = data.end;
            for start in (data.start..data.end).step_by(1 << 20) {
                let mut bytes = vec![0; (1_u64 << 20).min(data.end - start) as usize];
                file.read_exact_at(&mut bytes, start).unwrap();
                // What is all zeros stays a hole.
                for (nth, block) in bytes.chunks(4096).enumerate() {
                    if block.iter().any(|byte| *byte != 0) {
                        ram.put(start + nth as u64 * 4096, block);
                    }
                }
            }
        }
        let mut sector = [0; 512];
        ram.read_at(&mut sector, 0).unwrap();
        let sb = *Superblock::read(&sector).unwrap();
        let geo = Geometry::new(&sb).unwrap();
        let objects = objects(&geo, &ram);
        let sound = objects.iter().map(|object| {
            let mut bytes = vec![0; object.size];
            ram.read_at(&mut bytes, object.at).unwrap();
            (object.at, bytes)
        });
        Base {
            sealed: geo.v5,
            sound: sound.collect(),
            objects,
            blocks: geo.blocks,
            agblocks: geo.ag_blocks.into(),
            ram,
        }
    }

    /// Damages the filesystem by the steps of a program; the objects that were changed.
    pub(crate) fn damage(&mut self, program: &[u8]) -> Vec<u64> {
        let mut changed = BTreeMap::new();
        for step in program.chunks_exact(STEP).take(STEPS) {
            self.step(step, &mut changed);
        }
        for (at, bytes) in &changed {
            self.ram.put(*at, bytes);
        }
        changed.into_keys().collect()
    }

    /// Undoes the damage.
    pub(crate) fn mend(&mut self, changed: &[u64]) {
        for at in changed {
            self.ram.put(*at, &self.sound[at]);
        }
    }

    fn step(&self, step: &[u8], changed: &mut BTreeMap<u64, Vec<u8>>) {
        let word = |at: usize| usize::from(u16::from_le_bytes([step[at], step[at + 1]]));
        let value = u32::from_le_bytes([step[6], step[7], step[8], step[9]]);
        let object = self.objects[word(0) % self.objects.len()];
        let other = self.objects[value as usize % self.objects.len()];
        let bytes = changed
            .entry(object.at)
            .or_insert_with(|| self.sound[&object.at].clone());
        let (how, choice) = (step[4], step[5]);
        if how & 0xf0 == 0xf0 {
            let source = &self.sound[&other.at];
            let used = source.len().min(bytes.len());
            bytes[..used].copy_from_slice(&source[..used]);
        } else {
            let reach = if how & 0x10 == 0 {
                HEAD.min(object.size)
            } else {
                object.size
            };
            let width = [1, 2, 4, 8][usize::from(how & 3)];
            let at = word(2) % reach / width * width;
            let field = &mut bytes[at..at + width];
            let mut old = [0; 8];
            old[8 - width..].copy_from_slice(field);
            let new = self.value(
                u64::from_be_bytes(old),
                value,
                choice,
                width,
                other.at / 4096,
            );
            field.copy_from_slice(&new.to_be_bytes()[8 - width..]);
        }
        if let Some(sum) = object.sum.filter(|_| self.sealed && how & 0x0c != 0x0c) {
            checksum::seal(bytes, sum);
        }
    }

    fn value(&self, old: u64, value: u32, choice: u8, width: usize, other: u64) -> u64 {
        match choice % 14 {
            0 => 0,
            1 => u64::MAX,
            2 => old.wrapping_add(1),
            3 => old.wrapping_sub(1),
            4 => old ^ 1 << (value % (width as u32 * 8)),
            5 => other,
            6 => other % self.agblocks,
            7 => (other % self.agblocks) << 3 | u64::from(value & 7),
            8 => u64::from(value) % self.blocks,
            9 => self
                .agblocks
                .wrapping_add(u64::from(value % 3))
                .wrapping_sub(1),
            10 => u64::from(value % 64),
            11 => 1 << (value % 63),
            12 => old.rotate_left(8),
            _ => u64::from(value),
        }
    }
}

/// The headers, blocks and inodes that a filesystem has, and the start of its log.
fn objects(geo: &Geometry, ram: &Ram) -> Vec<Object> {
    let mut objects = Vec::new();
    let sums = [
        checksum::SUPERBLOCK,
        checksum::AGF,
        checksum::AGI,
        checksum::AGFL,
    ];
    for ag in 0..geo.ag_count {
        for (sector, sum) in (0..).zip(sums) {
            objects.push(Object {
                at: geo.header_offset(ag, sector),
                size: geo.sector_size as usize,
                sum: Some(sum),
            });
        }
    }
    let mut bytes = vec![0; geo.block_size as usize];
    for ag in 0..geo.ag_count {
        for agbno in geo.header_blocks()..geo.ag_length(ag) {
            let at = geo.offset(ag, agbno);
            let is_hole = ram.next_data(at).is_none_or(|data| data.start >= at + 4096);
            if is_hole || ram.read_at(&mut bytes, at).is_err() {
                continue;
            }
            if be16(&bytes, 0) == dinode::MAGIC {
                let size = geo.inode_size as usize;
                // Most inodes are alike: of the others all, of those some.
                objects.extend((0..bytes.len() / size).filter_map(|nth| {
                    let inode = dinode::Inode::new(geo, &bytes[nth * size..(nth + 1) * size]);
                    let plain = inode.file_type() == dinode::mode::REGULAR && inode.forkoff() == 0;
                    (!plain || nth % 4 == 0).then_some(Object {
                        at: at + (nth * size) as u64,
                        size,
                        sum: Some(checksum::INODE),
                    })
                }));
            } else {
                let sum = sum_of(&bytes);
                // A record of the log has a checksum of another kind, which is not made right.
                if sum.is_some() || bytes.starts_with(&[0xfe, 0xed, 0xba, 0xbe]) {
                    objects.push(Object {
                        at,
                        size: bytes.len(),
                        sum,
                    });
                }
            }
        }
    }
    objects
}

/// Where the checksum of a block of metadata is; none for other blocks.
fn sum_of(bytes: &[u8]) -> Option<usize> {
    match &be32(bytes, 0).to_be_bytes() {
        b"AB3B" | b"AB3C" | b"IAB3" | b"FIB3" | b"RMB3" | b"R3FC" | b"ABTB" | b"ABTC" | b"IABT"
        | b"FIBT" => return Some(checksum::SHORT_BTREE),
        b"BMA3" | b"BMAP" => return Some(checksum::LONG_BTREE),
        b"XDD3" | b"XDB3" | b"XDF3" | b"XD2D" | b"XD2B" | b"XD2F" => {
            return Some(checksum::DIRECTORY);
        }
        b"XARM" | b"XSLM" => return Some(checksum::REMOTE),
        _ => {}
    }
    let hashed = [
        0x3ebe, 0x3df1, 0x3dff, 0x3bee, 0xfebe, 0xd2f1, 0xd2ff, 0xfbee,
    ];
    hashed.contains(&be16(bytes, 8)).then_some(checksum::DA)
}
