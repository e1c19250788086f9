//! Sound images, and where things lie in them.

use std::fmt::Write as _;

use ondisk::ext4::directory::entries;
use ondisk::ext4::inode::flag;
use ondisk::ext4::xattr;

use crate::common::{Image, names, raised};

/// In the order of their numbers, from 12 on.
pub(crate) const TREE: &str = "mkdir d\ncd d\nwrite @small file\nwrite @large gile\nmkdir sub\nsymlink link target\n\
                    mknod pipe p\nmkdir sub/deep\ncd sub/deep\nwrite @small last\ncd ../..\n\
                    mknod char c 1 3\nmknod block b 1 3\n";
pub(crate) const D: u32 = 12;
pub(crate) const FILE: u32 = 13;
pub(crate) const GILE: u32 = 14;
pub(crate) const SUB: u32 = 15;
pub(crate) const LINK: u32 = 16;
pub(crate) const PIPE: u32 = 17;
pub(crate) const DEEP: u32 = 18;
pub(crate) const LAST: u32 = 19;
pub(crate) const CHAR: u32 = 20;
pub(crate) const BLOCK: u32 = 21;
pub(crate) const ROOT: u32 = 2;

/// Block maps, so that a directory's blocks stand in its inode.
pub(crate) fn base(features: &str, commands: &str) -> Image {
    let features = format!("^has_journal,^extent,^64bit,^metadata_csum,^resize_inode,{features}");
    let options = [
        "-t", "ext4", "-b", "1024", "-I", "256", "-N", "128", "-O", &features,
    ];
    sound(Image::make(&options, "4M", commands))
}

pub(crate) fn sound(image: Image) -> Image {
    let (code, codes) = image.oracle();
    assert_eq!((code, names(&codes)), (0, vec![]));
    let report = image.judge();
    assert_eq!(names(&raised(&report)), [""; 0]);
    image
}

pub(crate) fn dir_block(image: &mut Image, dir: u32, logical: usize) -> u64 {
    let block = image.field(dir, |inode| inode.block_words()[logical]);
    assert_ne!(block, 0);
    block.into()
}

/// Where the entry of that name lies: block of the device, offset.
pub(crate) fn entry(image: &mut Image, dir: u32, name: &str) -> (u64, usize) {
    for logical in 0..12 {
        let block = dir_block(image, dir, logical);
        let size = image.geometry.block_size;
        let found = entries(image.block(block), size)
            .map_while(Result::ok)
            .find(|entry| entry.inode != 0 && entry.name == name.as_bytes())
            .map(|entry| entry.offset);
        if let Some(offset) = found {
            return (block, offset);
        }
    }
    panic!("no {name} in {dir}");
}

/// Changes bytes of an entry, counted from its beginning: 0 inode, 4 rec_len, 6 name_len, 7 type, 8 name.
pub(crate) fn poke(image: &mut Image, dir: u32, name: &str, at: usize, bytes: &[u8]) {
    let (block, offset) = entry(image, dir, name);
    image.block(block)[offset + at..][..bytes.len()].copy_from_slice(bytes);
}

/// The first block of a file of extents.
pub(crate) fn ext_block(image: &mut Image, ino: u32) -> u64 {
    image.field(ino, |inode| {
        let node = ondisk::ext4::extent::Node::read(&inode.raw().i_block).unwrap();
        node.extents().next().unwrap().start
    })
}

pub(crate) fn offset_in(image: &mut Image, block: u64, name: &str) -> usize {
    let size = image.geometry.block_size;
    let mut all = entries(image.block(block), size).map_while(Result::ok);
    all.find(|entry| entry.name == name.as_bytes())
        .unwrap()
        .offset
}

/// A directory of some ten leaves.
pub(crate) fn indexed(features: &str) -> Image {
    let mut commands = String::from("mkdir d\ncd d\n");
    for nth in 0..250 {
        writeln!(commands, "write @small a-name-that-takes-room-{nth:04}").unwrap();
    }
    let features = format!("^has_journal,^extent,^64bit,^resize_inode,{features}");
    let options = [
        "-t", "ext4", "-b", "1024", "-I", "256", "-N", "512", "-O", &features,
    ];
    sound(Image::make(&options, "4M", &commands))
}

pub(crate) fn seed_of(image: &mut Image, ino: u32) -> ondisk::ext4::Seed {
    let seed = image.seed().unwrap();
    image.field(ino, |inode| inode.seed(seed, ino))
}

/// A directory whose index has nodes below its root.
pub(crate) fn deep() -> Image {
    let mut commands = String::from("mkdir d\ncd d\n");
    for nth in 0..1500 {
        writeln!(commands, "write @small {nth:04}-{}", "name".repeat(20)).unwrap();
    }
    let features = "^has_journal,^extent,^64bit,^metadata_csum,^resize_inode";
    let options = [
        "-t", "ext4", "-b", "1024", "-I", "256", "-N", "2048", "-O", features,
    ];
    let mut image = sound(Image::make(&options, "8M", &commands));
    let root = dir_block(&mut image, D, 0);
    assert_eq!(image.block(root)[30], 1, "levels");
    image
}

/// Names that are folded, with large leaves.
pub(crate) fn folded(block_size: &str, size: &str) -> Image {
    let options = [
        "-t",
        "ext4",
        "-b",
        block_size,
        "-I",
        "256",
        "-N",
        "1024",
        "-E",
        "encoding=utf8",
        "-O",
        "casefold,^has_journal,^extent,^64bit,^metadata_csum,^resize_inode",
    ];
    let mut commands = String::from("mkdir d\nset_inode_field d flags 0x40000000\ncd d\n");
    for nth in 0..900 {
        writeln!(commands, "write @small A-Name-That-Takes-ROOM-{nth:04}").unwrap();
    }
    sound(Image::make(&options, size, &commands))
}

/// Directories and files with an encryption context; `gile` has another policy, which is no fault yet.
pub(crate) fn encrypted() -> Image {
    let names: Vec<String> = (0..6)
        .map(|nth| format!("name-of-16-bytes-or-more-{nth}"))
        .collect();
    let mut commands = String::from("mkdir d\ncd d\n");
    for name in &names[..4] {
        writeln!(commands, "write @small {name}").unwrap();
    }
    writeln!(commands, "mkdir {}\nmknod {} p", names[4], names[5]).unwrap();
    let mut image = base("encrypt,^dir_index", &commands);
    for ino in 12..=17 {
        encrypt(&mut image, ino, 1);
    }
    sound(image)
}

pub(crate) fn encrypt(image: &mut Image, ino: u32, key: u8) {
    let mut value = vec![1, 1, 4, 0];
    value.extend([key; 8]);
    value.extend([ino as u8; 16]);
    let context = xattr::NewEntry {
        index: 9,
        name: b"c".to_vec(),
        value: xattr::NewValue::Here(value),
    };
    image.inode(ino, |inode| {
        let flags = inode.raw().unwrap().i_flags.get();
        inode.raw().unwrap().i_flags = (flags | flag::ENCRYPT).into();
        let start = 128 + usize::from(inode.inode().unwrap().extra_isize());
        xattr::write_inode(&mut inode.bytes()[start..], &[context]).unwrap();
    });
}
