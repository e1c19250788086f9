//! Sound filesystems: nothing is found, and what is used matches the bitmaps.

use blockio::{BlockSource, Buffered};
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, INODE_UNINIT};

use super::{Image, plain};
use crate::ext4::state::State;

/// Compares the maps of pass 1 with the bitmaps on disk.
fn compare(image: &Image, state: &State, what: &str) {
    let source = Buffered::open(&image.path).unwrap();
    let volume = plain(&source, 1);
    let geometry = &volume.geometry;
    let mut bitmap = vec![0; volume.block_size()];
    let size = u64::from(geometry.block_size);
    let (mut inodes, mut clusters) = (0, 0);
    for (group, descriptor) in (0..).zip(&volume.descriptors) {
        if !descriptor.has_flags(INODE_UNINIT) {
            source
                .read_at(&mut bitmap, descriptor.inode_bitmap() * size)
                .unwrap();
            for nth in 0..geometry.inodes_per_group {
                let stored = bitmap[nth as usize / 8] >> (nth % 8) & 1 == 1;
                let ino = u64::from(group * geometry.inodes_per_group + nth);
                assert_eq!(state.used.get(ino), stored, "{what}: inode {}", ino + 1);
                inodes += u64::from(stored);
            }
        }
        if !descriptor.has_flags(BLOCK_UNINIT) {
            source
                .read_at(&mut bitmap, descriptor.block_bitmap() * size)
                .unwrap();
            for nth in 0..geometry.group_clusters(group) {
                let stored = bitmap[nth as usize / 8] >> (nth % 8) & 1 == 1;
                let cluster = u64::from(group) * u64::from(geometry.clusters_per_group);
                let cluster = cluster + u64::from(nth);
                let found = state.blocks.get(cluster);
                assert_eq!(found, stored, "{what}: cluster {cluster}");
                clusters += u64::from(stored);
            }
        }
    }
    assert_eq!(state.used.count(0..state.used.len()), inodes, "{what}");
    assert!(
        state.blocks.count(0..state.blocks.len()) >= clusters,
        "{what}"
    );
}

const MADE: &[(&[&str], u32)] = &[
    (&["-t", "ext4"], 32),
    (&["-t", "ext4", "-b", "4096"], 64),
    (&["-t", "ext4", "-b", "2048", "-I", "512"], 64),
    (&["-t", "ext4", "-b", "16384"], 64),
    (&["-t", "ext4", "-b", "65536"], 64),
    (&["-t", "ext2"], 32),
    (&["-t", "ext2", "-b", "4096", "-I", "128"], 32),
    (&["-t", "ext2", "-r", "0"], 16),
    (&["-t", "ext3"], 64),
    (&["-t", "ext3", "-b", "4096", "-O", "^resize_inode"], 64),
    (&["-t", "ext4", "-O", "^metadata_csum,uninit_bg,^64bit"], 32),
    (
        &[
            "-t",
            "ext4",
            "-O",
            "meta_bg,^resize_inode",
            "-b",
            "1024",
            "-g",
            "1024",
        ],
        64,
    ),
    (
        &["-t", "ext4", "-O", "bigalloc", "-C", "16384", "-b", "1024"],
        64,
    ),
    (
        &["-t", "ext4", "-O", "bigalloc", "-C", "65536", "-b", "4096"],
        128,
    ),
    (&["-t", "ext4", "-O", "inline_data", "-I", "256"], 32),
    (
        &[
            "-t",
            "ext4",
            "-O",
            "quota",
            "-E",
            "quotatype=usrquota:grpquota:prjquota",
        ],
        32,
    ),
    (&["-t", "ext4", "-O", "mmp"], 32),
    (&["-t", "ext4", "-O", "orphan_file"], 64),
    (&["-t", "ext4", "-O", "sparse_super2"], 64),
    (
        &["-t", "ext4", "-O", "^flex_bg", "-g", "2048", "-b", "1024"],
        32,
    ),
    (
        &[
            "-t",
            "ext4",
            "-O",
            "ea_inode,large_dir,encrypt,casefold,verity,project",
        ],
        32,
    ),
];

#[test]
fn sound_filesystems_use_what_their_bitmaps_say() {
    for (options, mib) in MADE {
        let image = Image::make(options, *mib);
        let what = options.join(" ");
        let (findings, state) = image.check(2);
        let counted: Vec<_> = findings
            .list
            .iter()
            .map(|f| (f.problem.name, f.place.clone()))
            .collect();
        assert!(counted.is_empty(), "{what}: {counted:#?}");
        assert!(image.reference().is_empty(), "{what}");
        compare(&image, &state, &what);
        assert_eq!(state.statistics.files.directories, 4, "{what}");
        assert_eq!(state.statistics.files.symlinks, 2, "{what}");
        let listed: Vec<u32> = state.directories.list.iter().map(|dir| dir.inode).collect();
        assert!(listed.is_sorted() && listed.contains(&2), "{what}");
    }
}

#[test]
fn threads_change_nothing() {
    let image = Image::make(&["-t", "ext3", "-b", "1024", "-N", "8192"], 64);
    image.debugfs("sif f blocks 7\nsif long block[3] 99999999\nsif g block[1] 9\n");
    let render = |threads| {
        let (findings, state) = image.check(threads);
        let list: Vec<_> = findings
            .list
            .iter()
            .map(|finding| serde_json::to_string(finding).unwrap())
            .collect();
        let blocks: Vec<u64> = state.blocks.ones().collect();
        (list, blocks, state.directories.runs)
    };
    let alone = render(1);
    assert!(!alone.0.is_empty());
    for threads in [2, 3, 8] {
        assert_eq!(render(threads), alone);
    }
}
