//! The empty filesystem: every option reaches mke2fs, e2fsck finds the result clean, and nothing of the host changes it.

use std::path::Path;
use std::process::Command;

use forge::Error;
use forge::ext4::{FsType, Layout, Options, write};
use testkit::mke2fs::FEATURES;

use crate::layout::population::Tree;
use crate::layout::{assert_clean, run, text};

const MIB: u64 = 1 << 20;

/// A change to good options.
type Edit = fn(&mut Options);

/// Forges the empty filesystem and has it checked. `false` when mke2fs refuses the options.
fn clean(options: &Options) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    match Layout::new(options, &image, &forge::Silent) {
        Ok(layout) => {
            let tree = Tree::empty(layout.superblock());
            let written = write(layout, &tree, &forge::Silent).unwrap_or_else(|error| {
                panic!("{options:?}: {error}");
            });
            assert_eq!((written.inodes, written.directories), (0, 2), "{options:?}");
            assert!(written.maker.starts_with("mke2fs 1."), "{}", written.maker);
            assert_clean(&image, &format!("{options:?}"));
            true
        }
        Err(Error::Option(why)) => {
            assert!(why.len() > 20 && !why.contains('\n'), "{options:?}: {why}");
            assert!(!image.exists(), "{options:?}: {why}");
            false
        }
        Err(error) => panic!("{options:?}: {error}"),
    }
}

fn options(mib: u64, fs_type: FsType, features: &str) -> Options {
    let mut options = Options::new(mib * MIB, fs_type);
    let names = features.split(',').filter(|name| !name.is_empty());
    options.features.names = names.map(str::to_owned).collect();
    options
}

#[test]
fn every_size_type_and_block_size_is_clean() {
    for mib in [1, 3, 8, 127, 128, 257, 511, 512, 2048] {
        assert!(clean(&options(mib, FsType::Ext4, "")));
    }
    for fs_type in [FsType::Ext2, FsType::Ext3] {
        for mib in [4, 40, 600] {
            assert!(clean(&options(mib, fs_type, "")));
        }
    }
    // Odd sizes: a last group that is cut off, one that is kept. The largest is made without a copy in memory.
    for (kib, ratio) in [
        (8193 * 5 + 3, None),
        (8192 * 7 + 300, None),
        (600 * 1024 + 4, None),
        (1100 << 20, Some(1 << 20)),
    ] {
        let mut options = Options::new(kib * 1024, FsType::Ext4);
        options.inode_ratio = ratio;
        assert!(clean(&options));
    }
    for block_size in [1024, 2048, 8192, 16384, 32768, 65536] {
        for fs_type in [FsType::Ext4, FsType::Ext2] {
            let mut options = options(400, fs_type, "");
            options.block_size = Some(block_size);
            assert!(clean(&options));
        }
    }
}

#[test]
fn every_feature_is_clean_and_set() {
    for features in [
        "^has_journal",
        "^flex_bg",
        "^resize_inode",
        "^resize_inode,meta_bg,^flex_bg",
        "^resize_inode,^sparse_super",
        "^resize_inode,sparse_super2",
        "^metadata_csum,uninit_bg",
        "^metadata_csum,^64bit",
        "^extent,^64bit",
        "metadata_csum_seed",
        "orphan_file",
        "large_dir,ea_inode,encrypt,verity,stable_inodes",
        "casefold",
        "fast_commit",
        "mmp",
        "mmp,^metadata_csum",
        "inline_data",
        "quota",
        "quota,project,orphan_file,mmp,fast_commit",
        "quota,^extent,^64bit",
        "bigalloc",
        "bigalloc,quota,project",
        "^filetype",
        "^dir_index,^large_file,^huge_file,^dir_nlink,^extra_isize,^ext_attr",
    ] {
        for mib in [50, 900] {
            let options = options(mib, FsType::Ext4, features);
            let dir = tempfile::tempdir().unwrap();
            let image = dir.path().join("image");
            let layout = Layout::new(&options, &image, &forge::Silent)
                .unwrap_or_else(|error| panic!("{features}: {error}"));
            let sb = *layout.superblock();
            let names: Vec<&str> = sb
                .compat()
                .names()
                .chain(sb.incompat().names())
                .chain(sb.ro_compat().names())
                .collect();
            for edit in features.split(',') {
                match edit.strip_prefix('^') {
                    // mke2fs sets it again for the resize inode, which is larger than 2 GiB.
                    Some("large_file") => {}
                    Some(name) => assert!(!names.contains(&name), "{features}: {names:?}"),
                    None => assert!(names.contains(&edit), "{features}: {names:?}"),
                }
            }
            let tree = Tree::empty(&sb);
            write(layout, &tree, &forge::Silent).unwrap();
            assert_clean(&image, features);
        }
    }
}

#[test]
fn numbers_reach_mke2fs() {
    let base = || options(500, FsType::Ext4, "");
    let mut wanted = base();
    wanted.inodes = Some(100_000);
    wanted.inode_size = Some(512);
    wanted.journal_mib = Some(10);
    wanted.flex_groups = Some(4);
    wanted.reserved_percent = 1.5;
    wanted.label = "sixteen bytes ok".to_owned();
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    let layout = Layout::new(&wanted, &image, &forge::Silent).unwrap();
    let sb = layout.superblock();
    assert_eq!(sb.volume_name(), b"sixteen bytes ok");
    assert_eq!(sb.inode_size(), 512);
    assert!((99_000..101_000).contains(&sb.s_inodes_count.get()));
    assert_eq!(sb.s_log_groups_per_flex, 2);
    assert_eq!(sb.r_blocks_count(), 500 * 1024 * 15 / 1000);
    assert_eq!((sb.mkfs_time(), sb.wtime()), (1_300_000_000, 1_300_000_000));
    drop(layout);
    assert!(!image.exists(), "what is not filled goes");

    for (inodes, ratio, inode_size, journal, flex) in [
        (Some(17), None, None, None, None),
        (None, Some(1024), Some(128), None, None),
        (None, Some(65536), Some(1024), Some(100), Some(1)),
        (None, Some(4096), None, None, Some(64)),
    ] {
        let mut options = base();
        options.inodes = inodes;
        options.inode_ratio = ratio;
        options.inode_size = inode_size;
        options.journal_mib = journal;
        options.flex_groups = flex;
        assert!(clean(&options));
    }
}

#[test]
fn what_is_absurd_is_refused_with_a_reason() {
    let base = || options(1024, FsType::Ext4, "");

    let edits: [(&str, Edit); 15] = [
        ("64-bit", |options| {
            options.features.names = vec!["^extent".to_owned()];
        }),
        ("no_such", |options| {
            options.features.names = vec!["no_such".to_owned()];
        }),
        ("journal_dev", |options| {
            options.features.names = vec!["journal_dev".to_owned()];
        }),
        ("shared_blocks", |options| {
            options.features.names = vec!["shared_blocks".to_owned()];
        }),
        ("meta_bg", |options| {
            options.features.names = vec!["meta_bg".to_owned()];
        }),
        ("block size 3000", |options| options.block_size = Some(3000)),
        ("inode size", |options| options.inode_size = Some(8192)),
        ("ratio", |options| options.inode_ratio = Some(1)),
        ("inodes", |options| options.inodes = Some(1 << 33)),
        ("inode", |options| options.inodes = Some(1 << 25)),
        ("bigalloc", |options| options.cluster_size = Some(65536)),
        ("51", |options| options.reserved_percent = 51.0),
        ("journal", |options| options.journal_mib = Some(100_000)),
        ("journal", |options| {
            options.size = MIB;
            options.journal_mib = Some(1);
        }),
        ("power of two", |options| options.flex_groups = Some(3)),
    ];
    for (says, edit) in edits {
        let mut options = base();
        edit(&mut options);
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        let error = Layout::new(&options, &image, &forge::Silent).expect_err(says);
        assert!(matches!(error, Error::Option(_)), "{says}: {error:?}");
        let text = error.to_string();
        println!("{text}");
        assert!(
            text.contains(says) && !text.contains('\n'),
            "{says}: {text}"
        );
        assert!(!text.contains("/proc/"), "{says}: {text}");
        assert!(!image.exists(), "{says}");
    }
}

/// Numbers that look random and are the same each time (xorshift64*, Vigna 2016).
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % most
    }

    fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(3) == 0).then(|| value(self))
    }

    fn options(&mut self) -> Options {
        let fs_type = [FsType::Ext2, FsType::Ext3, FsType::Ext4][self.below(3) as usize];
        let bits = 17 + self.below(15);
        let features: Vec<String> = FEATURES
            .iter()
            .filter(|_| self.below(7) == 0)
            .map(ToString::to_string)
            .collect();
        let mut options = Options::new((1 << bits) + self.below(1 << bits), fs_type);
        options.features.names = features;
        options.block_size = self.maybe(|draw| 1024 << draw.below(7));
        options.inodes = self.maybe(|draw| {
            let bits = 4 + draw.below(14);
            1 + draw.below(1 << bits)
        });
        options.inode_size = self.maybe(|draw| 128 << draw.below(4));
        options.journal_mib = self.maybe(|draw| 1 + draw.below(40) as u32);
        options
    }
}

/// 60 cases; `FORGE_CASES` and `FORGE_SEED` ask for more, and for others.
#[test]
fn random_options_are_clean_or_refused() {
    let cases: usize = std::env::var("FORGE_CASES").map_or(60, |cases| cases.parse().unwrap());
    let mut draw = Draw(std::env::var("FORGE_SEED").map_or(0x5eed, |seed| seed.parse().unwrap()));
    let made = (0..cases).filter(|_| clean(&draw.options())).count();
    assert!(made * 4 > cases, "only {made} of {cases} could be made");
}

/// What dumpe2fs prints of two images, without what identifies them.
fn dump(image: &Path) -> Vec<String> {
    let output = run(Command::new("dumpe2fs").arg(image));
    let lines = text(&output);
    let own = [
        "Filesystem UUID",
        "Directory Hash Seed",
        "Filesystem created",
        "Last write time",
        "Last checked",
        "Lifetime writes",
        "Checksum",
        "Journal checksum",
    ];
    lines
        .lines()
        .filter(|line| !own.iter().any(|own| line.starts_with(own)) && !line.contains("csum 0x"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn it_is_the_filesystem_of_mke2fs() {
    for (mib, type_name, fs_type) in [
        (300, "ext4", FsType::Ext4),
        (5000, "ext4", FsType::Ext4),
        (600, "ext3", FsType::Ext3),
        (40, "ext2", FsType::Ext2),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["ours", "theirs"].map(|name| dir.path().join(name));
        let layout = Layout::new(&options(mib, fs_type, ""), &ours, &forge::Silent).unwrap();
        let tree = Tree::empty(layout.superblock());
        write(layout, &tree, &forge::Silent).unwrap();
        std::fs::File::create(&theirs)
            .unwrap()
            .set_len(mib * MIB)
            .unwrap();
        let features = match fs_type {
            FsType::Ext4 => {
                "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum"
            }
            FsType::Ext3 => {
                "none,has_journal,ext_attr,resize_inode,dir_index,filetype,sparse_super,large_file"
            }
            FsType::Ext2 => "none,ext_attr,resize_inode,dir_index,filetype,sparse_super,large_file",
        };
        let made = run(Command::new("mke2fs")
            .args(["-q", "-F", "-t", type_name, "-O", features])
            .arg(&theirs));
        assert!(made.status.success(), "{}", text(&made));
        assert_eq!(dump(&ours), dump(&theirs), "{type_name} of {mib} MiB");
    }
}
