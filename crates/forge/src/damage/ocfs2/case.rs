//! A case: one fault, made on purpose, and the codes by which fsck.ocfs2 knows it.

use ondisk::ocfs2::dinode::{self, Dinode};
use ondisk::ocfs2::{directory, superblock};

use super::find::Find;
use super::volume::Volume;
use crate::damage::Error;

/// The sound volume that a case is tested on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The default features, with every kind of file.
    Rich,
    /// Checksums of metadata.
    Checksums,
    /// Without the features sparse, unwritten, inline-data, refcount and indexed-dirs.
    Old,
    /// Clusters larger than blocks.
    LargeClusters,
    /// A volume of one group of clusters.
    OneGroup,
    /// Quotas and checksums of metadata, and no files: our forge makes no quotas.
    Quota,
}

/// How a run of `fsck.ocfs2 -fn` 1.8.7 on the damage ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All passes are complete: exit code 0.
    Complete,
    /// Earlier, with this exit code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// A named fault.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name: the code in small letters, and what distinguishes it from others of the same code.
    pub name: &'static str,
    /// The code it is made to raise; empty where fsck.ocfs2 prints none.
    pub code: &'static str,
    /// The code of `fslab check` with the verdict `strict`, where fsck.ocfs2 does not look for the fault; else empty.
    pub strict: &'static str,
    /// Further codes that follow from it.
    pub also: &'static [&'static str],
    /// The volume that it is tested on; others with the same features do as well.
    pub base: Base,
    /// The damage, in one line.
    pub about: &'static str,
    /// How the reference's run ends.
    pub end: End,
    make: Make,
}

/// How a fault is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Make {
    /// By changes of fields.
    Fields(&'static [Edit]),
    /// By a function.
    With(fn(&mut Volume<'_>) -> Result<(), Error>),
}

/// A change of a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit {
    pub(super) at: At,
    /// Bytes from the structure's start.
    pub(super) offset: usize,
    /// Bytes of the field.
    pub(super) width: usize,
    pub(super) value: Value,
}

/// The structure with the field.
#[derive(Debug, Clone, Copy)]
pub(super) enum At {
    Superblock,
    /// The root directory's inode.
    Root,
    /// The inode of a system file.
    System(&'static str),
    /// A descriptor of an allocator, counted from 0.
    Group(&'static str, usize),
    Inode(Find),
    /// An entry of a directory, counted from 0 with `.` and `..`.
    Entry(Find, usize),
    /// The trailer of a directory's first block.
    Trailer(Find),
    /// The extent block of a file's tree: the first one.
    ExtentBlock,
    AttributeBlock,
}

/// The new value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Set(u64),
    /// Added, modulo the field's width.
    Add(u64),
    Or(u64),
    Without(u64),
    /// The blocks of the volume and this many more.
    Blocks(u64),
    /// The clusters of the volume and this many more.
    Clusters(u64),
}

/// A fault by fields that the reference reports and then goes on.
pub(super) const fn fields(
    name: &'static str,
    code: &'static str,
    about: &'static str,
    edits: &'static [Edit],
) -> Case {
    Case {
        name,
        code,
        strict: "",
        also: &[],
        base: Base::Rich,
        about,
        end: End::Complete,
        make: Make::Fields(edits),
    }
}

/// A fault by a function that the reference reports and then goes on.
pub(super) const fn with(
    name: &'static str,
    code: &'static str,
    about: &'static str,
    make: fn(&mut Volume<'_>) -> Result<(), Error>,
) -> Case {
    Case {
        name,
        code,
        strict: "",
        also: &[],
        base: Base::Rich,
        about,
        end: End::Complete,
        make: Make::With(make),
    }
}

pub(super) const fn edit(at: At, offset: usize, width: usize, value: Value) -> Edit {
    Edit {
        at,
        offset,
        width,
        value,
    }
}

impl Case {
    pub(super) const fn also(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }

    pub(super) const fn strict(mut self, code: &'static str) -> Self {
        self.strict = code;
        self
    }

    pub(super) const fn on(mut self, base: Base) -> Self {
        self.base = base;
        self
    }

    pub(super) const fn ends(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Makes the fault.
    ///
    /// # Errors
    ///
    /// The volume lacks what the case needs, is already damaged, or cannot be written.
    pub fn apply(&self, volume: &mut Volume<'_>) -> Result<(), Error> {
        match self.make {
            Make::With(make) => make(volume),
            Make::Fields(edits) => edits.iter().try_for_each(|edit| volume.apply(edit)),
        }
    }
}

/// Where a structure is: its block, its first byte there, and the place of the block's checksum.
struct Found {
    block: u64,
    start: usize,
    check: Option<usize>,
}

impl Volume<'_> {
    /// Changes a field.
    pub(super) fn apply(&mut self, edit: &Edit) -> Result<(), Error> {
        let found = self.locate(edit.at)?;
        let mut block = self.block(found.block)?;
        let from = found.start + edit.offset;
        let place = block.get_mut(from..from + edit.width);
        let place = place.ok_or(Error::Missing {
            what: "field at that place",
        })?;
        let mut wide = [0; 8];
        wide[..edit.width].copy_from_slice(place);
        let old = u64::from_le_bytes(wide);
        let new = match edit.value {
            Value::Set(value) => value,
            Value::Add(value) => old.wrapping_add(value),
            Value::Or(bits) => old | bits,
            Value::Without(bits) => old & !bits,
            Value::Blocks(more) => {
                (u64::from(self.clusters) * self.cluster_blocks).wrapping_add(more)
            }
            Value::Clusters(more) => u64::from(self.clusters).wrapping_add(more),
        };
        place.copy_from_slice(&new.to_le_bytes()[..edit.width]);
        self.put(found.block, &mut block, found.check)
    }

    fn locate(&self, at: At) -> Result<Found, Error> {
        let whole = |block, check| Found {
            block,
            start: 0,
            check: Some(check),
        };
        Ok(match at {
            At::Superblock => whole(superblock::BLOCK, dinode::CHECK),
            At::Root => whole(self.root, dinode::CHECK),
            At::System(name) => whole(self.file(name)?, dinode::CHECK),
            At::Inode(what) => whole(self.find(what)?, dinode::CHECK),
            At::Group(allocator, nth) => {
                let group = self.groups(allocator)?.get(nth).copied();
                let group = group.ok_or(Error::Missing {
                    what: "group of that number",
                })?;
                whole(group, 0x30)
            }
            At::Entry(what, nth) => {
                let entry = self.entry(what, nth)?;
                Found {
                    block: entry.block,
                    start: entry.offset,
                    check: self.directory_check(entry.block)?,
                }
            }
            At::Trailer(what) => {
                let (block, start) = self.trailer(what)?;
                Found {
                    block,
                    start,
                    check: Some(start + 0x38),
                }
            }
            At::ExtentBlock => {
                let inode = self.block(self.find(Find::Tree)?)?;
                let list = ondisk::ocfs2::ExtentList::read(&inode[dinode::BODY..])?;
                let first = list.used().next().map(|record| record.e_blkno.get());
                let first = first.ok_or(Error::Missing {
                    what: "extent block",
                })?;
                whole(first, 0x08)
            }
            At::AttributeBlock => {
                let inode = self.block(self.find(Find::Attributes)?)?;
                whole(Dinode::read(&inode)?.i_xattr_loc.get(), 0x18)
            }
        })
    }

    /// The place of the checksum of a block that has entries: an inode's, or a trailer's.
    pub(super) fn directory_check(&self, at: u64) -> Result<Option<usize>, Error> {
        let block = self.block(at)?;
        if block.starts_with(&dinode::SIGNATURE) {
            return Ok(Some(dinode::CHECK));
        }
        let tail = directory::Trailer::offset(self.block_size);
        let trailer = block[tail + 0x10..].starts_with(&directory::SIGNATURE);
        Ok(trailer.then_some(tail + 0x38))
    }
}
