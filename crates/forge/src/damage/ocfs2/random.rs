//! Random structured damage: a block of metadata in use, one of its fields, a wrong value; or noise.
//!
//! The blocks are found once for a sound volume ([`Survey`]), because thousands of copies of one volume are damaged. A kind of block is
//! drawn first and then a block of that kind: a volume has a thousand inodes for each root of an index.

use ondisk::bytes::le16;
use ondisk::ocfs2::chain::{self, BITMAP, GroupDescriptor};
use ondisk::ocfs2::dinode::{self, Dinode, INLINE_DATA, dynamic};
use ondisk::ocfs2::directory::Trailer;
use ondisk::ocfs2::index::{self, DxRoot, ROOT_LIST};
use ondisk::ocfs2::{ExtentList, extent, refcount, superblock, system, xattr};

use super::volume::Volume;
use crate::damage::random::draw::{Draw, Limits};
use crate::damage::{Change, Error, Medium, Random, Seal};

/// Offset and width of fields, bytes.
type Fields = &'static [(usize, usize)];

const SUPERBLOCK: Fields = &[
    (0x08, 4),
    (0x14, 4),
    (0x2c, 4),
    (0x60, 4),
    (0xc0 + 0x08, 2),
    (0xc0 + 0x1c, 4),
    (0xc0 + 0x20, 4),
    (0xc0 + 0x24, 4),
    (0xc0 + 0x28, 8),
    (0xc0 + 0x30, 8),
    (0xc0 + 0x40, 2),
    (0xc0 + 0x44, 4),
    (0xc0 + 0x48, 8),
    (0xc0 + 0xbc, 4),
];
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
    (0x98, 8),
    (0xb8, 4),
    (0xbc, 4),
    (0xc0, 2),
    (0xc2, 2),
    (0xc4, 2),
    (0xc6, 2),
    (0xc8, 8),
    (0xd0, 4),
    (0xd4, 2),
    (0xd7, 1),
    (0xd8, 8),
    (0xe0, 4),
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
    (0x34, 4),
    (0x38, 8),
    (0x44, 4),
    (0x58, 8),
];
const ENTRIES: Fields = &[
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
const TRAILER: Fields = &[(0, 8), (8, 2), (10, 1), (16, 4), (40, 8), (48, 8)];
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

/// A structure that can be damaged.
#[derive(Clone, Copy, Debug)]
struct Target {
    block: u64,
    /// Where its fields count from.
    base: usize,
    /// Where the block's checksum is, if it has one.
    check: Option<usize>,
}

/// Structures of one kind.
#[derive(Clone, Debug)]
struct Kind {
    name: &'static str,
    fields: Fields,
    targets: Vec<Target>,
}

/// The metadata of a sound volume.
#[derive(Clone, Debug)]
pub struct Survey {
    kinds: Vec<Kind>,
    blocks: u64,
    block_size: usize,
}

impl Survey {
    /// Finds the metadata of a volume.
    ///
    /// # Errors
    /// The medium has no OCFS2 volume, or it is not sound enough to find anything in.
    pub fn of(medium: &mut dyn Medium) -> Result<Survey, Error> {
        let volume = Volume::open(medium)?;
        let mut survey = Survey {
            kinds: Vec::new(),
            blocks: u64::from(volume.clusters) * volume.cluster_blocks,
            block_size: volume.block_size,
        };
        let whole = |block, check| Target {
            block,
            base: 0,
            check: Some(check),
        };
        survey.add(
            "superblock",
            SUPERBLOCK,
            whole(superblock::BLOCK, dinode::CHECK),
        );
        let mut allocators = vec!["global_bitmap".to_owned(), "global_inode_alloc".to_owned()];
        for slot in 0.. {
            let name = system::slot_file("inode_alloc", slot);
            if volume.file(&name).is_err() {
                break;
            }
            allocators.extend([name, system::slot_file("extent_alloc", slot)]);
        }
        for name in allocators {
            survey.allocator(&volume, &name)?;
        }
        Ok(survey)
    }

    /// Size of a block, bytes.
    pub fn block_size(&self) -> usize {
        self.block_size
    }

    fn add(&mut self, name: &'static str, fields: Fields, target: Target) {
        match self.kinds.iter_mut().find(|kind| kind.name == name) {
            Some(kind) => kind.targets.push(target),
            None => self.kinds.push(Kind {
                name,
                fields,
                targets: vec![target],
            }),
        }
    }

    /// The groups of an allocator, and the blocks in use of them.
    fn allocator(&mut self, volume: &Volume<'_>, name: &str) -> Result<(), Error> {
        for group in volume.groups(name)? {
            let target = Target {
                block: group,
                base: 0,
                check: Some(0x30),
            };
            self.add("group descriptor", GROUP, target);
            if name == "global_bitmap" {
                continue;
            }
            let bytes = volume.block(group)?;
            let bits = u64::from(GroupDescriptor::read(&bytes)?.bg_bits.get());
            for bit in (1..bits).filter(|&bit| chain::bit(&bytes[BITMAP..], bit as usize)) {
                self.block(volume, group + bit)?;
            }
        }
        Ok(())
    }

    /// A block, by its signature.
    fn block(&mut self, volume: &Volume<'_>, number: u64) -> Result<(), Error> {
        let bytes = volume.block(number)?;
        let whole = |check| Target {
            block: number,
            base: 0,
            check: Some(check),
        };
        let signature: [u8; 8] = bytes.first_chunk().copied().unwrap_or_default();
        match signature {
            dinode::SIGNATURE => self.inode(volume, number, &bytes)?,
            extent::SIGNATURE => self.add("extent block", EXTENT_BLOCK, whole(0x08)),
            xattr::SIGNATURE => self.add("attribute block", ATTRIBUTES, whole(0x18)),
            refcount::SIGNATURE => self.add("refcount block", COUNTS, whole(0x20)),
            index::ROOT_SIGNATURE => {
                self.add("index root", INDEX_ROOT, whole(0x08));
                if DxRoot::read(&bytes)?.dr_flags & index::INLINE == 0 {
                    for record in ExtentList::read(&bytes[ROOT_LIST..])?.used() {
                        let leaf = Target {
                            block: record.e_blkno.get(),
                            ..whole(0x08)
                        };
                        self.add("index leaf", INDEX_LEAF, leaf);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn inode(&mut self, volume: &Volume<'_>, number: u64, bytes: &[u8]) -> Result<(), Error> {
        let head = Dinode::read(bytes)?;
        let inode = Target {
            block: number,
            base: 0,
            check: Some(dinode::CHECK),
        };
        let name = if head.has_flag(dinode::flag::SYSTEM) {
            "system inode"
        } else {
            "inode"
        };
        self.add(name, INODE, inode);
        if head.i_mode.get() & 0xf000 != 0x4000 {
            return Ok(());
        }
        if head.has_dynamic(dynamic::INLINE_DATA) {
            let entries = Target {
                base: INLINE_DATA,
                ..inode
            };
            self.add("inline entries", ENTRIES, entries);
            return Ok(());
        }
        for (block, _, end) in volume.areas(number)? {
            let tail = Trailer::offset(volume.block_size);
            let check = (end == tail).then_some(tail + 0x38);
            let entries = Target {
                block,
                base: 0,
                check,
            };
            self.add("directory block", ENTRIES, entries);
            if check.is_some() {
                let trailer = Target {
                    base: tail,
                    ..entries
                };
                self.add("directory trailer", TRAILER, trailer);
            }
        }
        Ok(())
    }
}

/// Damages a volume at random.
///
/// # Errors
/// The volume cannot be read or written.
pub fn random(
    medium: &mut dyn Medium,
    survey: &Survey,
    what: &Random,
) -> Result<Vec<Change>, Error> {
    let mut volume = Volume::open(medium)?;
    let mut draw = Draw::new(what.seed);
    let mut changes = Vec::new();
    for _ in 0..what.count {
        let seal = what.seal.unwrap_or(if draw.below(4) == 0 {
            Seal::Keep
        } else {
            Seal::Again
        });
        volume.seal = seal == Seal::Again;
        let text = change(&mut volume, survey, &mut draw)?;
        let kept = if volume.seal { "" } else { ", checksum kept" };
        changes.push(Change(text + kept));
    }
    Ok(changes)
}

fn change(volume: &mut Volume<'_>, survey: &Survey, draw: &mut Draw) -> Result<String, Error> {
    let kind = draw.of(&survey.kinds, "metadata")?;
    let target = draw.of(&kind.targets, kind.name)?;
    let mut block = volume.block(target.block)?;
    let text = match draw.below(12) {
        0 => noise(&mut block, draw),
        1 => {
            let other = draw.of(&survey.kinds, "metadata")?;
            let other = draw.of(&other.targets, other.name)?.block;
            block = volume.block(other)?;
            format!("block {other} in its place")
        }
        2 => {
            block.fill(0);
            "zeros".to_owned()
        }
        _ => field(&mut block, survey, kind, target, draw),
    };
    volume.put(target.block, &mut block, target.check)?;
    Ok(format!("{} {} {text}", kind.name, target.block))
}

fn noise(block: &mut [u8], draw: &mut Draw) -> String {
    let at = draw.below(0x180.min(block.len()) as u64) as usize;
    let end = (at + 1 + draw.below(4) as usize).min(block.len());
    for byte in &mut block[at..end] {
        *byte = draw.below(256) as u8;
    }
    format!("{at:#x}-{:#x}: noise", end - 1)
}

fn field(
    block: &mut [u8],
    survey: &Survey,
    kind: &Kind,
    target: &Target,
    draw: &mut Draw,
) -> String {
    let (offset, width) = kind.fields[draw.below(kind.fields.len() as u64) as usize];
    let from = (target.base + offset).min(block.len() - width);
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(&block[from..from + width]);
    let old = u64::from_le_bytes(wide);
    let limits = Limits {
        blocks: survey.blocks,
        inodes: survey.blocks,
        block_size: survey.block_size as u64,
    };
    let new = draw.new_value(old, width, &limits);
    block[from..from + width].copy_from_slice(&new.to_le_bytes()[..width]);
    format!("{from:#x}: {old:#x} -> {new:#x}")
}

/// Whether a damaged block makes fsck.ocfs2 1.8.7 read outside its memory, so that what it finds is by chance.
pub fn leaves_memory(block: &[u8]) -> bool {
    let used = |at, most: usize| usize::from(le16(block, at)) > most;
    match block.first_chunk() {
        Some(b"INOD") => {
            let Ok(inode) = Dinode::read(block) else {
                return false;
            };
            let wanted = dynamic::HAS_XATTR | dynamic::INLINE_XATTR;
            let attributes = usize::from(inode.i_xattr_inline_size.get());
            let astray = !(64..=block.len() / 2).contains(&attributes);
            used(0xc4, extent::inode_room(block.len(), 0)) || inode.has_dynamic(wanted) && astray
        }
        Some(b"GROU") => {
            let bits = usize::from(le16(block, 0x0a));
            // A group of clusters has no list of extents: its bitmap goes on there.
            let has_list = bits <= chain::DISCONTIG_BITMAP * 8;
            let records = has_list && used(0x144, chain::extent_room(block.len()));
            records || bits == 1 || bits > chain::bitmap_size(block.len()) * 8
        }
        Some(b"DXDI") => {
            used(0xc6, index::root_room(block.len())) || used(0xc4, index::root_room(block.len()))
        }
        Some(b"DXLE") => used(0x2e, index::leaf_room(block.len())),
        _ => false,
    }
}
