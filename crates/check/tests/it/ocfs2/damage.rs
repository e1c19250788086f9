//! Damage: every field of every kind of block with every value that matters, and random bytes.

use ondisk::ocfs2::Trailer;
use ondisk::ocfs2::chain::BITMAP;

use super::volume::Image;

/// Bytes that overwrite a field.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    pub(crate) name: String,
    block: u64,
    check: usize,
    at: usize,
    bytes: Vec<u8>,
}

impl Patch {
    /// The damaged volume, with right checksums.
    pub(crate) fn applied(&self, image: &Image) -> Image {
        let mut image = image.clone();
        image.put(self.block, self.check, self.at, &self.bytes);
        image.store_checks();
        image
    }
}

impl Patch {
    /// Whether the damaged block makes fsck.ocfs2 read outside its memory, where what it finds is by chance.
    pub(crate) fn leaves_memory(&self, damaged: &Image) -> bool {
        forge::damage::ocfs2::leaves_memory(damaged.block(self.block))
    }
}

/// Offset and width of fields.
type Fields = &'static [(usize, usize)];

const INODE: Fields = &[
    (0x00, 4),
    (0x0c, 2),
    (0x0e, 2),
    (0x10, 2),
    (0x12, 2),
    (0x14, 4),
    (0x20, 8),
    (0x28, 2),
    (0x2a, 2),
    (0x2c, 4),
    (0x48, 8),
    (0x50, 8),
    (0x58, 8),
    (0x60, 4),
    (0x76, 2),
    (0x78, 8),
    (0x88, 8),
    (0x90, 8),
    (0xb8, 4),
    (0xbc, 4),
    (0xc0, 2),
    (0xc2, 2),
    (0xc4, 2),
    (0xc6, 2),
    (0xc8, 8),
    (0xd0, 2),
    (0xd2, 1),
    (0xd4, 2),
    (0xd7, 1),
    (0xd8, 8),
    (0xe8, 8),
];
const GROUP: Fields = &[
    (0x00, 4),
    (0x08, 2),
    (0x0a, 2),
    (0x0c, 2),
    (0x0e, 2),
    (0x10, 4),
    (0x18, 8),
    (0x20, 8),
    (0x28, 8),
    (BITMAP, 1),
    (BITMAP + 2, 1),
    (BITMAP + 9, 1),
    (0x144, 2),
];
const EXTENT_BLOCK: Fields = &[
    (0x00, 4),
    (0x14, 4),
    (0x18, 8),
    (0x28, 8),
    (0x30, 2),
    (0x32, 2),
    (0x34, 2),
    (0x40, 4),
    (0x44, 2),
    (0x47, 1),
    (0x48, 8),
    (0x50, 4),
    (0x54, 2),
    (0x58, 8),
];
const INDEX_ROOT: Fields = &[
    (0x00, 4),
    (0x18, 8),
    (0x20, 8),
    (0x28, 4),
    (0x2c, 1),
    (0x30, 8),
    (0x38, 4),
    (0xc0, 2),
    (0xc2, 2),
    (0xc4, 2),
    (0xc6, 2),
    (0xd0, 4),
    (0xd4, 2),
    (0xd8, 8),
    (0xe8, 4),
];
const INDEX_LEAF: Fields = &[
    (0x00, 4),
    (0x10, 8),
    (0x2c, 2),
    (0x2e, 2),
    (0x30, 4),
    (0x44, 4),
    (0x58, 8),
];
const DIRECTORY: Fields = &[
    (0, 8),
    (8, 2),
    (10, 1),
    (11, 1),
    (12, 1),
    (16, 8),
    (24, 2),
    (26, 1),
    (28, 1),
    (32, 8),
    (40, 2),
    (42, 1),
    (43, 1),
    (44, 1),
];
const ATTRIBUTES: Fields = &[
    (0x00, 4),
    (0x10, 8),
    (0x20, 2),
    (0x30, 2),
    (0x32, 2),
    (0x36, 2),
    (0x40, 4),
    (0x44, 2),
    (0x46, 1),
    (0x47, 1),
    (0x48, 8),
    (0x50, 4),
    (0x54, 2),
];
const COUNTS: Fields = &[
    (0x00, 4),
    (0x0c, 4),
    (0x10, 8),
    (0x18, 8),
    (0x30, 4),
    (0x34, 4),
    (0x80, 2),
    (0x82, 2),
    (0x90, 8),
    (0x98, 4),
    (0x9c, 4),
];
const TRAILER: Fields = &[(0, 8), (8, 2), (10, 1), (16, 4), (40, 8), (48, 8)];

/// Blocks of the volume with the place of their checksum and their fields.
fn blocks(image: &Image) -> Vec<(String, u64, usize, usize, Fields)> {
    let mut blocks = Vec::new();
    for (name, &number) in &image.files {
        if matches!(name.as_str(), "." | "..") || name.contains("-1") {
            continue;
        }
        let check = Trailer::check_offset(image.layout.block_size());
        let kinds: &[(usize, usize, Fields)] = match name.as_str() {
            "tree block" => &[(8, 0, EXTENT_BLOCK)],
            "indexed root" | "leaved root" => &[(8, 0, INDEX_ROOT)],
            "index leaf" => &[(8, 0, INDEX_LEAF)],
            "attribute block" => &[(0x18, 0, ATTRIBUTES)],
            "counts" => &[(0x20, 0, COUNTS)],
            "indexed block" | "leaved block" => {
                &[(check, 0, DIRECTORY), (check, check - 0x38, TRAILER)]
            }
            "inner" => &[(0x80, 0, INODE), (0x80, 0xc8, DIRECTORY)],
            "slow block" => continue,
            _ => &[(0x80, 0, INODE)],
        };
        for &(check, base, fields) in kinds {
            blocks.push((name.clone(), number, check, base, fields));
        }
    }
    for allocator in [
        "global_bitmap",
        "global_inode_alloc",
        "inode_alloc:0000",
        "extent_alloc:0000",
    ] {
        let chains = image.chains(image.files[allocator]);
        for (chain, record) in chains.iter().enumerate().take(2) {
            blocks.push((
                format!("{allocator} group {chain}"),
                record.c_blkno.get(),
                0x30,
                0,
                GROUP,
            ));
        }
    }
    blocks
}

/// Every field with every value.
pub(crate) fn fields(image: &Image) -> Vec<Patch> {
    let mut patches = Vec::new();
    for (name, block, check, base, fields) in blocks(image) {
        for &(offset, width) in fields {
            let at = base + offset;
            let mut stored = [0; 8];
            stored[..width].copy_from_slice(&image.block(block)[at..at + width]);
            let stored = u64::from_le_bytes(stored);
            let past = image.layout.blocks() + 100;
            for value in [
                0,
                1,
                stored.wrapping_add(1),
                stored.wrapping_sub(1),
                u64::MAX,
                stored ^ 0x10,
                past,
                block,
            ] {
                let bytes = value.to_le_bytes()[..width].to_vec();
                if bytes == image.block(block)[at..at + width] {
                    continue;
                }
                let name = format!("{name} {at:#x}: {value:#x}");
                patches.push(Patch {
                    name,
                    block,
                    check,
                    at,
                    bytes,
                });
            }
        }
    }
    patches
}

/// Random bytes of random blocks.
pub(crate) fn random(image: &Image, seed: u64, count: usize) -> Vec<Patch> {
    let blocks = blocks(image);
    let mut state = seed | 1;
    let mut next = move |below: usize| {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    (0..count)
        .map(|number| {
            let (name, block, check, _, _) = &blocks[next(blocks.len())];
            let at = next(0x180.min(image.layout.block_size()));
            let bytes = vec![next(256) as u8; 1 + next(4).min(image.layout.block_size() - at - 1)];
            let name = format!("random {seed}/{number}: {name} {at:#x}: {bytes:x?}");
            Patch {
                name,
                block: *block,
                check: *check,
                at,
                bytes,
            }
        })
        .collect()
}

/// Some of many, evenly.
pub(crate) fn sample(patches: Vec<Patch>, count: usize, from: usize) -> Vec<Patch> {
    let step = (patches.len() / count.max(1)).max(1);
    patches
        .into_iter()
        .skip(from % step)
        .step_by(step)
        .collect()
}
