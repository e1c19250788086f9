//! Damage: for any bytes in an image, the walk over everything in it ends without a panic, and where checksums
//! guard the bytes it finds what was changed.
use crate::common;

use std::fs;

use common::{Image, make, walk};
use ondisk::ext4::{Geometry, GroupDescriptor};

/// Xorshift (Marsaglia 2003): enough for places and values.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn small(block_size: usize, blocks: u64, names: usize, options: &[&str]) -> Image {
    let dir = tempfile::tempdir().unwrap();
    let (source, path) = (dir.path().join("tree"), dir.path().join("image"));
    fs::create_dir_all(source.join("names")).unwrap();
    for nth in 0..names {
        fs::write(
            source.join(format!("names/a-name-of-some-length-{nth}")),
            b"x",
        )
        .unwrap();
    }
    let mut holes = vec![0; block_size * 21];
    for piece in holes.chunks_mut(block_size).step_by(2) {
        piece.fill(1);
    }
    fs::write(source.join("whole"), &holes).unwrap();
    std::os::unix::fs::symlink("whole", source.join("link")).unwrap();
    let (size, count) = (block_size.to_string(), blocks.to_string());
    let mut args = vec![
        "-q",
        "-F",
        "-b",
        &size,
        "-N",
        "256",
        "-d",
        source.to_str().unwrap(),
    ];
    args.extend(options);
    args.extend([path.to_str().unwrap(), &count]);
    make::run("mke2fs", &args, &[0]);
    make::debugfs(
        &path,
        true,
        "ea_set /whole user.a 0123456789\nea_set /link user.b c\n",
    );
    make::run("e2fsck", &["-fyD", path.to_str().unwrap()], &[0, 1]);
    Image {
        bytes: fs::read(&path).unwrap(),
    }
}

/// The blocks that are not zero: where damage can matter.
fn used(image: &Image, block_size: usize) -> Vec<usize> {
    let blocks = image.bytes.chunks(block_size).enumerate();
    blocks
        .filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0))
        .map(|(nth, _)| nth * block_size)
        .collect()
}

fn damaged_walks(image: Image, block_size: usize, rounds: usize, seed: u64) {
    assert_eq!(
        walk::walk(&image).problems,
        Vec::<String>::new(),
        "clean to begin with"
    );
    let places = used(&image, block_size);
    let mut random = Random(seed);
    let mut image = image;
    let clean = image.bytes.clone();
    let mut found = 0;
    for _ in 0..rounds {
        for _ in 0..=random.below(4) {
            let at = (places[random.below(places.len())] + random.below(block_size)) & !3;
            match random.below(4) {
                0 => image.bytes[at] ^= 1 << random.below(8),
                1 => image.bytes[at..at + 4].fill(0),
                2 => image.bytes[at..at + 4].fill(0xff),
                _ => {
                    let from = random.below(clean.len() - 64);
                    let len = 4 + random.below(60).min(clean.len() - at - 4);
                    image.bytes[at..at + len].copy_from_slice(&clean[from..from + len]);
                }
            }
        }
        found += usize::from(!walk::walk(&image).problems.is_empty());
        if random.below(3) == 0 {
            image.bytes.copy_from_slice(&clean);
        }
    }
    assert!(
        found > rounds / 4,
        "{found} of {rounds}: the damage must be seen now and then"
    );
}

#[test]
fn ext2_survives_damage() {
    damaged_walks(small(1024, 2048, 150, &["-t", "ext2"]), 1024, 600, 1);
}

#[test]
fn ext4_survives_damage() {
    damaged_walks(
        small(1024, 8192, 150, &["-t", "ext4", "-O", "^has_journal,quota"]),
        1024,
        600,
        2,
    );
}

#[test]
fn inline_data_and_wide_inodes_survive_damage() {
    let options = [
        "-t",
        "ext4",
        "-O",
        "^has_journal,inline_data,ea_inode,casefold",
        "-I",
        "512",
    ];
    damaged_walks(small(2048, 4096, 150, &options), 2048, 600, 3);
}

#[test]
fn bigalloc_and_meta_bg_survive_damage() {
    let options = [
        "-t",
        "ext4",
        "-O",
        "bigalloc,meta_bg,^resize_inode,orphan_file,mmp",
        "-C",
        "4096",
    ];
    damaged_walks(small(1024, 32768, 150, &options), 1024, 400, 4);
}

/// Each single bit of the guarded structures is noticed: superblock, descriptors, the bytes of the bitmaps, used
/// inodes.
#[test]
fn no_bit_of_guarded_metadata_turns_unseen() {
    let image = small(
        1024,
        1024,
        9,
        &["-t", "ext4", "-O", "^has_journal,^flex_bg,^resize_inode"],
    );
    let geometry = Geometry::new(image.superblock().unwrap()).unwrap();
    let desc = image.descriptor(&geometry, 0).unwrap();
    let desc = GroupDescriptor::read(desc, geometry.desc_size).unwrap();
    let block = |number: u64| number as usize * 1024;
    let table = block(desc.inode_table());
    let regions = [
        // Whose s_log_block_size or features change reads another filesystem, or none.
        (1024, 1024),
        (block(2), usize::from(geometry.desc_size)),
        (
            block(desc.block_bitmap()),
            geometry.clusters_per_group as usize / 8,
        ),
        (
            block(desc.inode_bitmap()),
            geometry.inodes_per_group as usize / 8,
        ),
        (table + 256, 256),
        (table + 11 * 256, 256),
    ];
    let mut image = image;
    for (start, len) in regions {
        for step in 0..len {
            let (at, bit) = (start + step, 1 << (step % 8));
            image.bytes[at] ^= bit;
            let seen = !walk::walk(&image).problems.is_empty();
            assert!(
                seen || own_switch(at - 1024),
                "bit {bit} of byte {at} (region {start})"
            );
            image.bytes[at] ^= bit;
        }
    }
}

/// The bit of a superblock that says whether there are checksums at all.
fn own_switch(offset: usize) -> bool {
    offset == 0x65
}
