//! Any change of any directory.

use ondisk::ext4::directory::{self, entries};
use ondisk::ext4::htree;
use ondisk::ext4::inode::flag;

use crate::common::Image;
use crate::common::random::Random;
use crate::names::cases::Cases;
use crate::names::images::{ROOT, TREE, base, deep, encrypted, folded, indexed, seed_of};

/// The blocks of all directories with a block map, those of the first indirect block included.
fn dir_blocks(image: &mut Image) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    for ino in std::iter::once(ROOT).chain(11..60) {
        let words = image.field(ino, |inode| {
            let is_dir = inode.file_type() == Some(ondisk::ext4::FileType::Directory);
            let mapped = is_dir && !inode.has_flags(flag::INLINE_DATA | flag::EXTENTS);
            mapped.then(|| inode.block_words())
        });
        let Some(words) = words else { continue };
        let mut blocks = words[..12].to_vec();
        if words[12] != 0 {
            let (below, _) = image.block(words[12].into()).as_chunks::<4>();
            blocks.extend(below.iter().map(|word| u32::from_le_bytes(*word)));
        }
        let most = image.geometry.blocks_count;
        let blocks = blocks.into_iter().map(u64::from);
        found.extend(
            blocks
                .filter(|block| (1..most).contains(block))
                .map(|block| (ino, block)),
        );
    }
    found
}

/// Changes one to three things in directories. `sealed`: and makes the checksums right again.
fn damage(image: &mut Image, random: &mut Random, sealed: bool) {
    let blocks = dir_blocks(image);
    for _ in 0..=random.below(3) {
        let (ino, block) = random.one_of(&blocks);
        let (_, other) = random.one_of(&blocks);
        let count = image.sb.s_inodes_count.get();
        let copy = image.block(other).to_vec();
        let bytes = image.block(block);
        let size = bytes.len();
        let starts: Vec<usize> = entries(bytes, size as u32)
            .map_while(Result::ok)
            .map(|entry| entry.offset)
            .collect();
        let at = if starts.is_empty() {
            0
        } else {
            random.one_of(&starts)
        };
        let short = random.below(32) * 4;
        match random.below(16) {
            0 => bytes[at..at + 4]
                .copy_from_slice(&(random.below(count as usize + 9) as u32).to_le_bytes()),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at..at + 4].fill(0),
            3 => bytes[at + 4] = short as u8,
            4 => bytes[at + 4] ^= 1 << random.below(8),
            5 => bytes[at + 5] ^= 1 << random.below(8),
            6 => bytes[at + 6] = random.below(40) as u8,
            7 => bytes[at + 7] = random.below(9) as u8,
            8 => bytes[(at + 8 + random.below(12)).min(size - 1)] = random.one_of(b".\\0/abc\\xff"),
            9 => bytes[random.below(size)] ^= 1 << random.below(8),
            10 => bytes[24 + random.below(40)] = random.one_of(&[0, 1, 2, 3, 6, 9, 127, 255]),
            11 => bytes.copy_from_slice(&copy),
            12 => bytes[size - 12 + random.below(12)] ^= 1 << random.below(8),
            13 => {
                let value = random.below(70) as u16;
                image.inode(ino, |inode| {
                    inode.raw().unwrap().i_links_count = value.into();
                });
            }
            14 => {
                let bit =
                    random.one_of(&[flag::INDEX, flag::ENCRYPT, flag::CASEFOLD, flag::IMMUTABLE]);
                image.inode(ino, |inode| {
                    let flags = inode.raw().unwrap().i_flags.get();
                    inode.raw().unwrap().i_flags = (flags ^ bit).into();
                });
            }
            _ => {
                let victim = 11 + random.below(50) as u32;
                let value = random.below(65536) as u16;
                image.inode(victim, |inode| inode.raw().unwrap().i_mode = value.into());
            }
        }
        if sealed && image.seed().is_some() {
            let seed = seed_of(image, ino);
            let bytes = image.block(block);
            let _ = directory::seal(bytes, seed)
                || htree::seal(bytes, true, seed).is_ok()
                || htree::seal(bytes, false, seed).is_ok();
        }
    }
}

#[test]
fn random_damage_is_judged_alike() {
    let rounds: u64 = std::env::var("ROUNDS").map_or(8, |rounds| rounds.parse().unwrap());
    let begin: u64 = std::env::var("BEGIN").map_or(1, |begin| begin.parse().unwrap());
    let bases = [
        base("^dir_index", TREE),
        base("dir_index,^filetype", TREE),
        indexed("^metadata_csum"),
        indexed("metadata_csum"),
        base("inline_data", TREE),
        deep(),
        folded("1024", "8M"),
        folded("16384", "6M"),
        encrypted(),
    ];
    let mut cases = Cases::default();
    for seed in begin..begin + rounds {
        for (nth, image) in bases.iter().enumerate() {
            let mut random = Random(seed * 0x9e37_79b9 + nth as u64 + 1);
            let name = format!("seed {seed} of base {nth}");
            cases.case(&name, image, |image| {
                damage(image, &mut random, seed % 2 == 0);
            });
        }
    }
    cases.finish(&[]);
}
