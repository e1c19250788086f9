//! Small filesystems to start from: what the forge makes, with every feature and size of block between them.
//!
//! They are kept as the pieces that are not zeros, so that one of 24 MiB with three groups costs no more to copy than its
//! metadata.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::pedantic,
    reason = "the fuzz target, the test and the example each use a part"
)]

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use blockio::Ram;
use forge::Image as _;
use forge::damage::{Filesystem, Map, Medium};
use forge::ext4::{Ext4, FsType, Options};
use forge::population::Profile;
use ondisk::ext4::FileType;

/// Bytes of a piece.
const PIECE: u64 = 4096;

/// An image of which only what is not zero takes memory.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Bytes.
    pub len: u64,
    pieces: BTreeMap<u64, Arc<[u8]>>,
}

impl Image {
    /// These bytes, zeros left out.
    pub fn new(bytes: &[u8]) -> Image {
        let pieces = (0..).zip(bytes.chunks(PIECE as usize));
        let pieces = pieces.filter(|(_, piece)| piece.iter().any(|byte| *byte != 0));
        let whole = |piece: &[u8]| {
            let mut whole = piece.to_vec();
            whole.resize(PIECE as usize, 0);
            whole.into()
        };
        Image {
            len: bytes.len() as u64,
            pieces: pieces.map(|(at, piece)| (at, whole(piece))).collect(),
        }
    }

    /// Bytes that are no hole.
    pub fn data(&self) -> u64 {
        self.pieces.len() as u64 * PIECE
    }

    /// As a source.
    pub fn source(&self) -> Ram {
        let mut ram = Ram::sparse(self.len);
        for (at, piece) in &self.pieces {
            ram.put(at * PIECE, piece);
        }
        ram
    }

    fn each(
        &self,
        at: u64,
        len: usize,
    ) -> io::Result<impl Iterator<Item = (u64, usize, usize)> + use<>> {
        let end = at.checked_add(len as u64).filter(|end| *end <= self.len);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut at = at;
        Ok(std::iter::from_fn(move || {
            let inside = at % PIECE;
            let n = (PIECE - inside).min(end - at);
            let this = (at / PIECE, inside as usize, n as usize);
            at += n;
            (n > 0).then_some(this)
        }))
    }
}

impl Medium for Image {
    fn size(&self) -> u64 {
        self.len
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut rest = bytes;
        for (piece, from, n) in self.each(at, rest.len())? {
            let (now, later) = rest.split_at_mut(n);
            match self.pieces.get(&piece) {
                Some(piece) => now.copy_from_slice(&piece[from..from + n]),
                None => now.fill(0),
            }
            rest = later;
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        for (piece, from, n) in self.each(at, rest.len())? {
            let (now, later) = rest.split_at(n);
            let piece = self.pieces.entry(piece);
            let piece = piece.or_insert_with(|| vec![0; PIECE as usize].into());
            let mut changed = piece.to_vec();
            changed[from..from + n].copy_from_slice(now);
            *piece = changed.into();
            rest = later;
        }
        Ok(())
    }
}

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A node of an extent tree of this inode.
    Extents(u32),
    /// Pointers.
    Pointers,
    /// A block of this directory.
    Directory(u32),
    /// Extended attributes.
    Attributes,
    /// A bitmap of this group.
    Bitmap(u32, Map),
    /// Of a file that the filesystem keeps for itself, or a part of an inode table.
    Other,
}

/// A filesystem to be damaged, and where it may hurt.
#[derive(Debug)]
pub struct Base {
    /// What it is.
    pub name: &'static str,
    /// Its bytes.
    pub image: Image,
    /// Inodes in use.
    pub inodes: Vec<u32>,
    /// Blocks of metadata.
    pub blocks: Vec<(Use, u64)>,
}

/// Everything that files can be, in few of them.
const RICH: &str = r#"
    files = 90
    per_directory = [["0-2", 2], ["20-60", 3]]
    file_size = [["0", 1], ["1-3k", 6], ["3k-30k", 2]]
    owners = 3
    seed = 5
    [directories]
    fan_out = 2
    [names]
    length = [["3-12", 5], ["13-60", 5], ["200-255", 2]]
    alphabet = "utf8"
    [kinds]
    symlinks = 0.1
    target_length = "1-300"
    special = 0.05
    hard_links = 0.2
    [ageing]
    freed = 0.1
    reused = 0.1
    removed_names = 0.4
    fragmented = 0.5
    pieces = [["1-2", 5]]
    gaps = 0.2
    free = "1-2"
    holes = 0.1
    unwritten = 0.1
"#;

/// A few files.
const POOR: &str = "files = 7\nper_directory = 7\nfile_size = \"1-9k\"";

/// Type, size, block size, features, profile.
type Recipe = (
    &'static str,
    FsType,
    &'static str,
    u32,
    &'static str,
    String,
);

fn recipes() -> Vec<Recipe> {
    use FsType::{Ext2, Ext3, Ext4};
    let with = |more: &str| format!("{RICH}{more}");
    let attributes = "[attributes]\ninode = 0.3\nblock = 0.2\n";
    let values = "[attributes]\ninode = 0.3\nblock = 0.2\nvalue = 0.1\nvalue_size = 3000\nvalue_sharing = 2\n";
    let old = with(attributes).replace("unwritten = 0.1\n", "");
    let many = with("")
        .replace("files = 90", "files = 900")
        .replace("\"20-60\"", "\"300-500\"");
    vec![
        ("ext2-tiny", Ext2, "64k", 1024, "", POOR.into()),
        ("ext2", Ext2, "2M", 1024, "", old.clone()),
        ("ext3", Ext3, "3M", 1024, "", old),
        (
            "ext4-1k",
            Ext4,
            "2M",
            1024,
            "^has_journal,inline_data,ea_inode,project",
            with(values),
        ),
        (
            "ext4-journal",
            Ext4,
            "4M",
            1024,
            "orphan_file",
            with(attributes),
        ),
        (
            "ext4-groups",
            Ext4,
            "24M",
            1024,
            "^has_journal,^resize_inode,large_dir",
            many.clone(),
        ),
        (
            "ext4-2k",
            Ext4,
            "2M",
            2048,
            "^has_journal,encrypt,casefold,verity",
            with(attributes),
        ),
        (
            "ext4-4k",
            Ext4,
            "2M",
            4096,
            "^has_journal,metadata_csum_seed,ea_inode",
            with(values),
        ),
        (
            "meta-bg",
            Ext4,
            "24M",
            1024,
            "^has_journal,^resize_inode,meta_bg,^flex_bg",
            POOR.into(),
        ),
        (
            "gdt-csum",
            Ext4,
            "2M",
            1024,
            "^has_journal,^metadata_csum,uninit_bg,^64bit",
            with(attributes),
        ),
        (
            "no-csum",
            Ext4,
            "20M",
            1024,
            "^has_journal,^metadata_csum,^64bit,^uninit_bg,sparse_super2",
            many,
        ),
        (
            "bigalloc",
            Ext4,
            "8M",
            1024,
            "^has_journal,bigalloc,^resize_inode",
            with(""),
        ),
        (
            "8k",
            Ext4,
            "8M",
            8192,
            "^has_journal,stable_inodes",
            with(attributes),
        ),
        (
            "64k",
            Ext4,
            "8M",
            65536,
            "^has_journal,^resize_inode",
            POOR.into(),
        ),
    ]
}

/// All of them.
pub fn all() -> Vec<Base> {
    let dir = tempfile::tempdir().expect("a folder for images");
    let make = |(name, fs_type, size, block_size, features, profile): Recipe| {
        let mut options = Options::new(forge::amount::bytes(size).expect("a size"), fs_type);
        options.block_size = Some(block_size);
        options.inodes = Some(match options.size {
            0..200_000 => 32,
            200_000..15_000_000 => 240,
            _ => 1500,
        });
        options.features.names = features
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let fail = |error: forge::Error| -> ! { panic!("{name}: {error}") };
        let profile = Profile::parse(name, &profile).unwrap_or_else(|error| fail(error));
        let path = dir.path().join(name);
        let forged = Ext4::new(options, profile).unwrap_or_else(|error| fail(error));
        forged
            .write(&path, &forge::Silent)
            .unwrap_or_else(|error| fail(error));
        let bytes = std::fs::read(&path).expect("the image");
        let _ = std::fs::remove_file(&path);
        Base::of(name, Image::new(&bytes)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    recipes().into_iter().map(make).collect()
}

impl Base {
    fn of(name: &'static str, mut image: Image) -> Result<Base, forge::damage::Error> {
        let fs = Filesystem::open(&mut image)?;
        let mut blocks = Vec::new();
        for group in 0..fs.geometry().groups {
            let desc = fs.descriptor(group)?;
            blocks.push((Use::Bitmap(group, Map::Blocks), desc.block_bitmap()));
            blocks.push((Use::Bitmap(group, Map::Inodes), desc.inode_bitmap()));
            blocks.push((Use::Other, desc.inode_table()));
        }
        let inodes = fs.used_inodes()?;
        for ino in &inodes {
            let bytes = fs.inode(*ino)?;
            let inode = fs.view(&bytes)?;
            if inode.file_acl() != 0 {
                blocks.push((Use::Attributes, inode.file_acl()));
            }
            let extents = inode.has_flags(ondisk::ext4::inode::flag::EXTENTS);
            let own = fs.blocks(*ino)?;
            let node = if extents {
                Use::Extents(*ino)
            } else {
                Use::Pointers
            };
            blocks.extend(own.tree.iter().map(|(block, _)| (node, *block)));
            let content = match inode.file_type() {
                Some(FileType::Directory) => Use::Directory(*ino),
                _ if *ino < fs.superblock().first_ino() => Use::Other,
                _ => continue,
            };
            let runs = own.data.iter().take(40);
            blocks.extend(runs.flat_map(|run| {
                (run.physical..run.physical + run.len.min(40)).map(move |at| (content, at))
            }));
        }
        Ok(Base {
            name,
            image,
            inodes,
            blocks,
        })
    }
}
