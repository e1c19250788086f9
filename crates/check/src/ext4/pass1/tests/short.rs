//! Plain files take a fast path: whatever is changed in one, it must give the result of the general way.

use crate::ext4::inode_set::slot_of;
use blockio::{BlockSource, Buffered};
use ondisk::ext4::inode::InodeMut;

use super::{Image, plain};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::pass1::maps::Maps;
use crate::ext4::pass1::{Worker, attributes};

/// Everything that one block of a table leaves.
fn judge(maps: &mut Maps<'_>, first: u32, table: &[u8], short: bool) -> String {
    *maps = Maps::new(maps.volume).unwrap();
    if !short {
        maps.plain.switch_off();
    }
    let shared = attributes::Shared::new(maps.volume).unwrap();
    let mut worker = Worker::new(maps, &shared, &[], Log::new(100));
    let size = usize::from(maps.volume.geometry.inode_size);
    worker.check_table_block(first, table.len() / size, table);
    worker.walk_deep();
    let inodes = first..first + (table.len() / size) as u32;
    let kinds = inodes.clone().map(|ino| {
        (
            maps.file_types.get(slot_of(ino)),
            maps.link_counts.get(slot_of(ino)),
        )
    });
    let log = std::mem::replace(&mut worker.log, Log::new(1));
    let left = format!(
        "{:?} {:?} {:?} {:?}",
        worker.directories, worker.on_bad_blocks, worker.imagic, worker.owners,
    );
    let values: Vec<u32> = inodes.clone().map(|ino| shared.value_refs(ino)).collect();
    let Worker {
        attributes,
        bad,
        bad_checksum,
        runs,
        refugee,
        statistics,
        ..
    } = worker;
    attributes.hand_in();
    format!(
        "{left}\n{values:?} {}\n{:?}\n{:?}\n{:?}\n{:?} {:?} {:?}\n{:?} {:?}\n{:?}\n{:?}",
        shared.collected(),
        kinds.collect::<Vec<_>>(),
        maps.used.ones().collect::<Vec<_>>(),
        maps.blocks.ones().collect::<Vec<_>>(),
        maps.shared.ones().collect::<Vec<_>>(),
        bad,
        bad_checksum,
        runs,
        refugee,
        statistics,
        log.finish().list,
    )
}

/// The block of the first table that holds the most plain files, and its first inode.
fn full_block(source: &dyn BlockSource, maps: &Maps<'_>) -> (u32, Vec<u8>) {
    let geometry = &maps.volume.geometry;
    let block_size = u64::from(geometry.block_size);
    let size = usize::from(geometry.inode_size);
    let table = maps.volume.descriptors[0].inode_table();
    let each = (block_size as usize / size) as u32;
    let blocks = (0..geometry.inode_table_blocks()).map(|nth| {
        let mut bytes = vec![0; block_size as usize];
        source
            .read_at(&mut bytes, (table + u64::from(nth)) * block_size)
            .unwrap();
        (nth * each + 1, bytes)
    });
    let plain = |(first, bytes): &(u32, Vec<u8>)| {
        let slots = (*first..).zip(bytes.chunks_exact(size));
        slots
            .filter(|(ino, slot)| maps.plain.is(*ino, slot))
            .count()
    };
    let found = blocks.max_by_key(plain).unwrap();
    assert_eq!(plain(&found), each as usize, "all of them are plain");
    found
}

#[test]
fn the_short_way_says_what_the_general_way_says() {
    for options in [
        &["-t", "ext4", "-b", "4096"][..],
        &[
            "-t",
            "ext4",
            "-b",
            "1024",
            "-O",
            "^metadata_csum,^64bit,^huge_file",
        ],
        &["-t", "ext4", "-b", "4096", "-I", "512", "-O", "ea_inode"],
    ] {
        let image = Image::make(options, 16);
        let source = Buffered::open(&image.path).unwrap();
        let volume = plain(&source, 1);
        let mut maps = Maps::new(&volume).unwrap();
        let (first, table) = full_block(&source, &maps);
        assert_eq!(
            judge(&mut maps, first, &table, true),
            judge(&mut maps, first, &table, false),
            "{options:?}: as it is"
        );
        let size = volume.geometry.inode_size;
        // 256 bytes and some values of each; with a new checksum, so that the checksum does not distinguish them.
        for at in 0..usize::from(size) {
            for flip in [1_u8, 2, 8, 0x10, 0x40, 0x80, 0xff] {
                let mut changed = table.clone();
                let slot = &mut changed[usize::from(size)..2 * usize::from(size)];
                slot[at] ^= flip;
                for sealed in [false, true] {
                    let slot = &mut changed[usize::from(size)..2 * usize::from(size)];
                    if let Some(seed) = volume.seed.filter(|_| sealed) {
                        InodeMut::new(slot, size)
                            .unwrap()
                            .seal(seed, first + 1)
                            .unwrap();
                    }
                    assert_eq!(
                        judge(&mut maps, first, &changed, true),
                        judge(&mut maps, first, &changed, false),
                        "{options:?}: byte {at} changed by {flip:#x}, sealed: {sealed}"
                    );
                }
            }
        }
    }
}

#[test]
fn blocks_that_two_plain_files_claim_are_shared() {
    let image = Image::make(&["-t", "ext4", "-b", "4096"], 16);
    let source = Buffered::open(&image.path).unwrap();
    let volume = plain(&source, 1);
    let mut maps = Maps::new(&volume).unwrap();
    let (first, mut table) = full_block(&source, &maps);
    let size = usize::from(volume.geometry.inode_size);
    let root = table[0x28..0x28 + 60].to_vec();
    let other = &mut table[3 * size..4 * size];
    other[0x28..0x28 + 60].copy_from_slice(&root);
    if let Some(seed) = volume.seed {
        let mut slot = InodeMut::new(other, size as u16).unwrap();
        slot.seal(seed, first + 3).unwrap();
    }
    let short = judge(&mut maps, first, &table, true);
    assert_eq!(maps.shared.ones().count(), 1);
    assert_eq!(short, judge(&mut maps, first, &table, false));
}

#[test]
fn half_of_a_block_of_garbage_makes_plain_files_garbage() {
    let image = Image::make(&["-t", "ext4", "-b", "4096"], 16);
    let source = Buffered::open(&image.path).unwrap();
    let volume = plain(&source, 1);
    let mut maps = Maps::new(&volume).unwrap();
    let (first, mut table) = full_block(&source, &maps);
    let size = usize::from(volume.geometry.inode_size);
    for slot in table.chunks_exact_mut(size).take(9) {
        slot[0x7c] ^= 1;
    }
    let short = judge(&mut maps, first, &table, true);
    assert!(short.contains("1_INODE_IS_GARBAGE"), "{short}");
    assert_eq!(short, judge(&mut maps, first, &table, false));
}
