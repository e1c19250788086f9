//! A population kept in memory, for filesystems of a few files.

use forge::Error;
use forge::ext4::plan::{Blocks, Home, Kind, Object, ObjectId, Objects, Piece};
use ondisk::ext4::directory::{BlockWriter, needed};
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::{InodeMut, number};
use ondisk::ext4::xattr::{NewEntry, NewValue};
use ondisk::ext4::{FileType, Superblock, xattr};

/// One slot.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) object: Object,
    pub(crate) pieces: Vec<Piece>,
    /// A target, if it is a symbolic link.
    pub(crate) target: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    pub(crate) name: String,
    pub(crate) parent: u32,
    /// From slot 1 on.
    pub(crate) files: Vec<File>,
}

#[derive(Debug, Clone)]
pub(crate) struct Tree {
    directories: Vec<Directory>,
    /// Blocks of each.
    blocks: Vec<u64>,
    block_size: u32,
    tail: bool,
}

pub(crate) fn file(name: impl Into<String>, size: u64) -> File {
    File {
        name: name.into(),
        object: Object {
            kind: Kind::File,
            size,
            links: 1,
            permissions: 0o644,
            uid: 1000,
            gid: 70_000,
            ..Object::default()
        },
        ..File::default()
    }
}

/// What a byte of a file's content is.
pub(crate) fn byte_at(id: ObjectId, block: u32, within: usize) -> u8 {
    (id.slot.wrapping_mul(31) ^ block.wrapping_mul(7) ^ within as u32) as u8
}

enum Target {
    Inode(u32),
    Object(ObjectId),
}

impl Tree {
    /// The root must come first.
    pub(crate) fn new(sb: &Superblock, directories: Vec<Directory>) -> Self {
        let mut this = Self {
            block_size: 1024 << sb.s_log_block_size.get(),
            tail: sb.metadata_seed().is_some(),
            blocks: Vec::new(),
            directories,
        };
        this.blocks = (0..this.directories.len())
            .map(|directory| this.count_blocks(directory as u32))
            .collect();
        this
    }

    pub(crate) fn empty(sb: &Superblock) -> Self {
        Self::new(sb, vec![Directory::default()])
    }

    fn entries(&self, directory: u32) -> Vec<(String, Target, FileType)> {
        let this = &self.directories[directory as usize];
        let itself = |directory| Target::Object(ObjectId { directory, slot: 0 });
        let mut entries = vec![
            (".".to_owned(), itself(directory), FileType::Directory),
            ("..".to_owned(), itself(this.parent), FileType::Directory),
        ];
        if directory == 0 {
            let lost = Target::Inode(Home::LOST_AND_FOUND);
            entries.push(("lost+found".to_owned(), lost, FileType::Directory));
        }
        for (nth, below) in self.directories.iter().enumerate().skip(1) {
            if below.parent == directory {
                entries.push((below.name.clone(), itself(nth as u32), FileType::Directory));
            }
        }
        for (file, slot) in this.files.iter().zip(1..) {
            if let Some(kind) = file.object.kind.file_type() {
                let id = ObjectId { directory, slot };
                entries.push((file.name.clone(), Target::Object(id), kind));
            }
        }
        entries
    }

    fn count_blocks(&self, directory: u32) -> u64 {
        let room = self.block_size as usize - if self.tail { 12 } else { 0 };
        let (mut blocks, mut left) = (1, room);
        for (name, ..) in self.entries(directory) {
            let need = needed(name.len(), false);
            if need > left {
                blocks += 1;
                left = room;
            }
            left -= need;
        }
        blocks
    }

    fn write_directory(
        &self,
        directory: u32,
        home: &Home<'_>,
        blocks: &mut dyn Blocks,
    ) -> Result<(), Error> {
        let types = home.superblock.has_incompat(Incompat::FILETYPE);
        let entries = self.entries(directory);
        let mut rest = entries.iter().peekable();
        for nth in 0.. {
            let mut bytes = vec![0; self.block_size as usize];
            let mut block = BlockWriter::new(&mut bytes, self.block_size, self.tail)?;
            while let Some((name, target, kind)) =
                rest.next_if(|(name, ..)| needed(name.len(), false) <= block.room())
            {
                let ino = match target {
                    Target::Inode(ino) => *ino,
                    Target::Object(id) => home.inode(*id),
                };
                block.push(ino, types.then_some(*kind), name.as_bytes(), None)?;
            }
            block.finish(home.seed)?;
            blocks.write(nth, &bytes)?;
            if rest.peek().is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl Objects for Tree {
    fn directories(&self) -> u32 {
        self.directories.len() as u32
    }

    fn slots(&self, directory: u32) -> u32 {
        self.directories[directory as usize].files.len() as u32 + 1
    }

    fn object(&self, id: ObjectId) -> Object {
        if id.slot > 0 {
            return self.directories[id.directory as usize].files[id.slot as usize - 1].object;
        }
        let below = self.directories.iter().skip(1);
        let below = below.filter(|below| below.parent == id.directory).count() as u32;
        Object {
            kind: Kind::Directory,
            size: self.blocks[id.directory as usize] * u64::from(self.block_size),
            links: 2 + below + u32::from(id.directory == 0),
            permissions: 0o755,
            ..Object::default()
        }
    }

    fn pieces(&self, id: ObjectId, _: &Object, pieces: &mut Vec<Piece>) {
        pieces.extend(&self.directories[id.directory as usize].files[id.slot as usize - 1].pieces);
    }

    fn finish_inode(
        &self,
        id: ObjectId,
        _: &Home<'_>,
        inode: &mut InodeMut<'_>,
    ) -> Result<(), Error> {
        let target = &self.directories[id.directory as usize].files[id.slot as usize - 1].target;
        inode.raw()?.i_block[..target.len()].copy_from_slice(target.as_bytes());
        Ok(())
    }

    fn xattr_block(
        &self,
        _: ObjectId,
        home: &Home<'_>,
        at: u64,
        block: &mut [u8],
    ) -> Result<(), Error> {
        let entry = NewEntry {
            index: 1,
            name: b"colour".to_vec(),
            value: NewValue::Here(b"blue".to_vec()),
        };
        xattr::write_block(block, &[entry], 1, at, home.superblock.metadata_seed())?;
        Ok(())
    }

    fn content(&self, id: ObjectId, home: &Home<'_>, blocks: &mut dyn Blocks) -> Result<(), Error> {
        assert_ne!(home.ino, number::JOURNAL);
        if id.slot == 0 {
            return self.write_directory(id.directory, home, blocks);
        }
        let file = &self.directories[id.directory as usize].files[id.slot as usize - 1];
        let mut bytes = vec![0; self.block_size as usize];
        if file.object.kind == Kind::Symlink {
            bytes[..file.target.len()].copy_from_slice(file.target.as_bytes());
            return blocks.write(0, &bytes);
        }
        let end = file.object.size.div_ceil(self.block_size.into()) as u32;
        let mut at = 0;
        let whole = [Piece {
            blocks: end,
            ..Piece::default()
        }];
        let pieces = if file.object.fragmented {
            file.pieces.as_slice()
        } else {
            &whole
        };
        for piece in pieces {
            at += piece.hole;
            for block in at..at + piece.blocks {
                for (within, byte) in bytes.iter_mut().enumerate() {
                    *byte = byte_at(id, block, within);
                }
                if !piece.unwritten {
                    blocks.write(block, &bytes)?;
                }
            }
            at += piece.blocks;
        }
        Ok(())
    }
}
