//! Files of every shape: e2fsck finds nothing, debugfs and the kernel read what was meant.

use std::path::Path;

use forge::Written;
use forge::ext4::plan::{Kind, Object, ObjectId, Piece};
use forge::ext4::{FsType, Layout, Options, write};

use crate::common::mounted::Mounted;
use crate::layout::assert_clean;
use crate::layout::population::{Directory, File, Tree, byte_at, file};

fn options(mib: u64, fs_type: FsType, block_size: u32, features: &str) -> Options {
    let mut options = Options::new(mib << 20, fs_type);
    options.block_size = Some(block_size);
    let names = features.split(',').filter(|name| !name.is_empty());
    options.features.names = names.map(str::to_owned).collect();
    options
}

fn with_content(mut file: File) -> File {
    file.object.content = true;
    file
}

fn pieces(name: &str, block_size: u32, pieces: Vec<Piece>) -> File {
    let blocks: u64 = pieces
        .iter()
        .map(|piece| u64::from(piece.hole + piece.blocks))
        .sum();
    File {
        pieces,
        object: Object {
            fragmented: true,
            content: true,
            ..file("", blocks * u64::from(block_size)).object
        },
        ..file(name, 0)
    }
}

fn special(name: &str, kind: Kind) -> File {
    File {
        object: Object {
            kind,
            size: 0,
            ..file("", 0).object
        },
        ..file(name, 0)
    }
}

fn superblock(image: &Path) -> ondisk::ext4::Superblock {
    let mut bytes = [0; 1024];
    let file = std::fs::File::open(image).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 1024).unwrap();
    *ondisk::ext4::Superblock::read(&bytes).unwrap()
}

fn clusters(sb: &ondisk::ext4::Superblock) -> u32 {
    1 << (sb.s_log_cluster_size.get() - sb.s_log_block_size.get())
}

/// Files whose maps have every depth and whose pieces have every kind of hole, in directories of several blocks.
fn rich(layout: &Layout) -> Tree {
    let sb = layout.superblock();
    let block_size = 1024_u32 << sb.s_log_block_size.get();
    // Pieces are whole clusters.
    let cluster = clusters(sb);
    let piece = |hole, blocks, gap| Piece {
        hole: hole * cluster,
        blocks: blocks * cluster,
        gap,
        unwritten: false,
    };
    let target = "a/target/that/is/longer/than/the/sixty/bytes/of/an/inode/and/needs/a/block";
    let link = |name: &str, target: &str, kind| File {
        target: target.to_owned(),
        object: Object {
            kind,
            size: target.len() as u64,
            finish: kind == Kind::FastSymlink,
            ..file("", 0).object
        },
        ..file(name, 0)
    };
    let extents = sb.has_incompat(ondisk::ext4::feature::Incompat::EXTENTS);
    let mut files = vec![
        with_content(file("small", 700)),
        file("empty", 0),
        with_content(file("thirteen", 13 * u64::from(block_size))),
        with_content(file("thousand", 1000 * u64::from(block_size))),
        with_content(pieces(
            "holes",
            block_size,
            vec![piece(3, 2, 0), piece(700, 1, 0)],
        )),
        with_content(pieces("scattered", block_size, vec![piece(0, 1, 1); 400])),
        special("fifo", Kind::Fifo),
        special("socket", Kind::Socket),
        link("fast", "small", Kind::FastSymlink),
        link("slow", target, Kind::Symlink),
        File {
            object: Object {
                xattr_block: true,
                gap: 7,
                ..file("", 5000).object
            },
            ..file("attributes", 0)
        },
        File::default(),
        with_content(file("after a free one", 1)),
    ];
    if extents {
        let unwritten = Piece {
            unwritten: true,
            ..piece(2, 5, 3)
        };
        files.push(pieces(
            "unwritten",
            block_size,
            vec![piece(0, 2, 0), unwritten],
        ));
    }
    let many = (0..300).map(|nth| file(format!("a name of some length, number {nth}"), nth * 500));
    let directory = |name: &str, parent, files| Directory {
        name: name.to_owned(),
        parent,
        files,
    };
    Tree::new(
        sb,
        vec![
            directory("", 0, vec![file("in the root", 10)]),
            directory("rich", 0, files),
            directory("many", 0, many.collect()),
            directory("deep", 1, vec![]),
            directory("deeper", 3, vec![file("bottom", 1 << 20)]),
        ],
    )
}

fn forge(options: &Options, image: &Path) -> Written {
    let layout = Layout::new(options, image, &forge::Silent).unwrap();
    let population = rich(&layout);
    write(layout, &population, &forge::Silent)
        .unwrap_or_else(|error| panic!("{options:?}: {error}"))
}

#[test]
fn e2fsck_finds_every_shape_clean() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    let mut cases = vec![
        (FsType::Ext4, 4096, "^extent,^64bit"),
        (FsType::Ext4, 1024, "^flex_bg"),
        (FsType::Ext4, 1024, "bigalloc"),
        (FsType::Ext4, 4096, "bigalloc"),
        (FsType::Ext4, 2048, "^resize_inode,meta_bg"),
        (FsType::Ext4, 1024, "^metadata_csum,uninit_bg"),
        (FsType::Ext4, 1024, "orphan_file,metadata_csum_seed"),
        (FsType::Ext3, 1024, "uninit_bg"),
        (
            FsType::Ext4,
            1024,
            "inline_data,casefold,large_dir,ea_inode",
        ),
        (FsType::Ext4, 1024, "^filetype,^resize_inode,sparse_super2"),
    ];
    for block_size in [1024, 2048, 4096, 8192, 16384, 32768, 65536] {
        for fs_type in [FsType::Ext2, FsType::Ext3, FsType::Ext4] {
            cases.push((fs_type, block_size, ""));
        }
    }
    for (fs_type, block_size, features) in cases {
        // Packed and odd inodes once for each type are enough: they meet no other code.
        let all = [(true, 256), (true, 128), (false, 1024)];
        let ways = if block_size == 1024 && features.is_empty() {
            &all[..]
        } else {
            &all[..1]
        };
        for &(spread, inode_size) in ways {
            let mut options = options(300, fs_type, block_size, features);
            options.spread = spread;
            options.inode_size = Some(inode_size);
            if block_size == 65536 {
                options.size = 2 << 30;
            }
            let written = forge(&options, &image);
            let what = format!("{fs_type:?} {block_size} {features} {spread} {inode_size}");
            assert_clean(&image, &what);
            assert_eq!(written.directories, 6, "{what}");
            std::fs::remove_file(&image).unwrap();
        }
    }
}

#[test]
fn a_file_of_many_groups_and_a_million_pieces_is_clean() {
    let dir = tempfile::tempdir().unwrap();
    for (fs_type, features) in [
        (FsType::Ext4, ""),
        (FsType::Ext4, "^flex_bg"),
        (FsType::Ext3, ""),
    ] {
        let image = dir.path().join("image");
        let layout = Layout::new(
            &options(6000, fs_type, 4096, features),
            &image,
            &forge::Silent,
        )
        .unwrap();
        let mut scattered = pieces(
            "scattered",
            4096,
            vec![
                Piece {
                    blocks: 1,
                    gap: 1,
                    ..Piece::default()
                };
                300_000
            ],
        );
        scattered.object.content = false;
        let root = Directory {
            files: vec![
                file("before", 4096),
                file("large", 3 << 30),
                scattered,
                file("after", 4096),
            ],
            ..Directory::default()
        };
        let tree = Tree::new(layout.superblock(), vec![root]);
        write(layout, &tree, &forge::Silent).unwrap();
        assert_clean(&image, &format!("{fs_type:?} {features}"));
        std::fs::remove_file(&image).unwrap();
    }
}

#[test]
fn a_device_can_be_filled_to_the_last_block() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    for spread in [true, false] {
        let mut options = options(200, FsType::Ext4, 1024, "");
        options.spread = spread;
        let layout = Layout::new(&options, &image, &forge::Silent).unwrap();
        let sb = *layout.superblock();
        let empty = write(layout, &Tree::empty(&sb), &forge::Silent).unwrap();
        std::fs::remove_file(&image).unwrap();
        // Each file of 100 blocks is one extent or two; the last one takes what is left.
        let mut files: Vec<File> = (0..empty.free_blocks / 100 - 1)
            .map(|nth| file(format!("{nth}"), 100 << 10))
            .collect();
        let root = |files: &[File]| {
            Tree::new(
                &sb,
                vec![
                    Directory::default(),
                    Directory {
                        name: "files".to_owned(),
                        parent: 0,
                        files: files.to_vec(),
                    },
                ],
            )
        };
        let made = |files: &[File]| {
            let layout = Layout::new(&options, &image, &forge::Silent).unwrap();
            write(layout, &root(files), &forge::Silent)
        };
        let most = made(&files).unwrap();
        std::fs::remove_file(&image).unwrap();
        // Room for the directory's own growth is left out of the count.
        files.extend(
            (0..most.free_blocks.saturating_sub(1)).map(|nth| file(format!("{nth}x"), 1 << 10)),
        );
        let full = loop {
            match made(&files) {
                Ok(full) => break full,
                Err(_) => files.truncate(files.len() - 1),
            }
        };
        assert_eq!(full.free_blocks, 0, "spread {spread}");
        assert_clean(&image, "full");
        std::fs::remove_file(&image).unwrap();
    }
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let images = ["one", "other"].map(|name| dir.path().join(name));
    for image in &images {
        forge(&options(100, FsType::Ext4, 1024, ""), image);
    }
    let [one, other] = images.map(|image| std::fs::read(image).unwrap());
    assert!(one == other);
}

fn read_back(at: &Path, fs_type: FsType, block_size: usize, cluster: usize) {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let rich = at.join("rich");
    let id = |slot| ObjectId { directory: 1, slot };
    let small = std::fs::read(rich.join("small")).unwrap();
    let expected: Vec<u8> = (0..700).map(|within| byte_at(id(1), 0, within)).collect();
    assert_eq!(small, expected);
    for (name, slot, blocks) in [
        ("thirteen", 3, 13),
        ("thousand", 4, 1000),
        ("scattered", 6, 400 * cluster),
    ] {
        let bytes = std::fs::read(rich.join(name)).unwrap();
        assert_eq!(bytes.len(), blocks * block_size);
        for (at, byte) in bytes.iter().enumerate() {
            let (block, within) = ((at / block_size) as u32, at % block_size);
            assert_eq!(*byte, byte_at(id(slot), block, within), "{name} {at}");
        }
    }
    let holes = std::fs::read(rich.join("holes")).unwrap();
    assert_eq!(holes.len(), 706 * cluster * block_size);
    assert!(
        holes[..3 * cluster * block_size]
            .iter()
            .all(|byte| *byte == 0)
    );
    let last = 706 * cluster - 1;
    assert_eq!(holes[last * block_size + 9], byte_at(id(5), last as u32, 9));
    assert_eq!(
        std::fs::read_link(rich.join("fast")).unwrap(),
        Path::new("small")
    );
    assert!(
        std::fs::read_link(rich.join("slow"))
            .unwrap()
            .ends_with("needs/a/block")
    );
    assert!(
        std::fs::metadata(rich.join("fifo"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
    let many = std::fs::read_dir(at.join("many")).unwrap().count();
    assert_eq!(many, 300);
    let bottom = std::fs::metadata(at.join("rich/deep/deeper/bottom")).unwrap();
    assert_eq!(
        (bottom.len(), bottom.uid(), bottom.gid(), bottom.nlink()),
        (1 << 20, 1000, 70_000, 1)
    );
    assert!(bottom.mtime() == 1_300_000_000, "{fs_type:?}");
    let mut value = [0; 16];
    let len = rustix::fs::getxattr(rich.join("attributes"), "user.colour", &mut value).unwrap();
    assert_eq!(&value[..len], b"blue");
}

#[test]
fn the_kernel_reads_writes_and_leaves_it_clean_needs_root() {
    if !testkit::root!() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    for (fs_type, block_size, features) in [
        (FsType::Ext4, 4096, ""),
        (FsType::Ext4, 1024, ""),
        (FsType::Ext4, 4096, "bigalloc"),
        (FsType::Ext4, 2048, "orphan_file,^flex_bg"),
        (FsType::Ext4, 4096, "^resize_inode,meta_bg"),
        (FsType::Ext3, 4096, ""),
        (FsType::Ext2, 1024, ""),
    ] {
        let options = options(300, fs_type, block_size, features);
        forge(&options, &image);
        let cluster = clusters(&superblock(&image)) as usize;
        let mounted = Mounted::new(&image, "rw");
        read_back(mounted.path(), fs_type, block_size as usize, cluster);
        let fresh = mounted.path().join("deep in many");
        std::fs::create_dir(&fresh).unwrap();
        for nth in 0..500 {
            std::fs::write(fresh.join(nth.to_string()), vec![1; 3000]).unwrap();
        }
        let many = mounted.path().join("many");
        for nth in 0..300 {
            let name = format!("a name of some length, number {nth}");
            std::fs::remove_file(many.join(name)).unwrap();
        }
        mounted.unmount();
        assert_clean(
            &image,
            &format!("{fs_type:?} {block_size} {features} written to"),
        );
        std::fs::remove_file(&image).unwrap();
    }
}
