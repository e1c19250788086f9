//! Directories in the inode.

use ondisk::xfs::directory::{data_header, entry_size};
use ondisk::xfs::shortform::{Directory, Entry};

use super::{hash_of, is_name};
use crate::xfs::inode::core::Subject;
use crate::xfs::rules::Rules;
use crate::xfs::sink::{Name, Sink};
use crate::xfs::xfs_repair::problems::*;

/// Bytes of a hash entry, and of the numbers at the end of a directory of one block.
const HASH_ENTRY: usize = 8;

/// Judges a directory whose size fits the fork, and gives its names to the sink.
pub(crate) fn judge(rules: &Rules, it: &Subject<'_>, sink: &mut impl Sink) {
    let fork = it.inode.data_fork();
    let directory = Directory::new(rules.geometry.ftype, fork);
    let size = (it.inode.size() as usize).min(fork.len());
    let mut walk = Walk {
        rules,
        it,
        wide: usize::from(directory.parent() > u32::MAX.into()),
        offset: first_offset(rules),
        out_of_order: false,
        hashes: Vec::new(),
        names: Vec::new(),
    };
    let stored = usize::from(directory.count());
    let fits = stored > 0 && stored * directory.entry_size(1) + 6 <= fork.len();
    let most = if fits { stored } else { 255 };
    let (mut at, mut count) = (directory.header(), 0);
    while count < most && at < size {
        let length = directory.name_length(at).unwrap_or(0);
        let entry = directory.entry(at).filter(|entry| at + entry.length <= size);
        let Some(entry) = entry.filter(|_| length > 0) else {
            let why = if length == 0 { "no name" } else { "past the end" };
            sink.find(it.about(&DIR_SF_LENGTH).offset(at).note(why));
            break;
        };
        walk.entry(&entry, sink);
        at += entry.length;
        count += 1;
    }
    if stored != count {
        let finding = it.about(&DIR_SF_COUNT).found(stored as u64);
        sink.find(finding.expected(count as u64));
    }
    if usize::from(directory.i8count()) != walk.wide {
        let finding = it.about(&DIR_SF_I8COUNT);
        let finding = finding.found(u64::from(directory.i8count()));
        sink.find(finding.expected(walk.wide as u64));
    }
    if at as u64 != it.inode.size() {
        let finding = it.about(&DIR_SF_SIZE).found(it.inode.size());
        sink.find(finding.expected(at as u64));
    }
    let end = walk.offset + (stored + 3) * HASH_ENTRY;
    if walk.out_of_order {
        sink.find(it.about(&DIR_SF_OFFSET_ORDER));
    }
    if end > rules.geometry.directory_block() {
        sink.find(it.about(&DIR_SF_OFFSETS).found(end as u64));
    }
    parent(rules, it, directory.parent(), sink);
}

/// The place of the first entry after `.` and `..` in a block.
fn first_offset(rules: &Rules) -> usize {
    let size = |name| entry_size(rules.geometry.ftype, name);
    data_header(rules.geometry.v5) + size(1) + size(2)
}

struct Walk<'a> {
    rules: &'a Rules,
    it: &'a Subject<'a>,
    /// Inode numbers above 32 bits.
    wide: usize,
    /// Where the next entry would be in a block.
    offset: usize,
    out_of_order: bool,
    hashes: Vec<u32>,
    names: Vec<&'a [u8]>,
}

impl<'a> Walk<'a> {
    fn entry(&mut self, entry: &Entry<'a>, sink: &mut impl Sink) {
        let (rules, ino) = (self.rules, self.it.ino);
        let name = Name {
            directory: ino,
            ino: entry.inumber,
            kind: entry.ftype,
            name: entry.name,
            place: None,
        };
        let mut sound = true;
        if let Some(why) = misled(rules, ino, entry.inumber) {
            sink.find(name.about(&DIR_SF_INO).note(why));
            sound = false;
        } else if entry.inumber > u32::MAX.into() {
            self.wide += 1;
        }
        if !is_name(entry.name) {
            sink.find(name.about(&DIR_SF_NAME));
            sound = false;
        }
        if usize::from(entry.offset) < self.offset {
            self.out_of_order = true;
        }
        self.offset = usize::from(entry.offset) + entry_size(rules.geometry.ftype, entry.name.len());
        let hash = hash_of(rules, entry.name);
        let before = self.hashes.iter().zip(&self.names);
        if before.into_iter().any(|(other, before)| *other == hash && *before == entry.name) {
            sink.find(name.about(&DIR_SF_DUP));
            return;
        }
        self.hashes.push(hash);
        self.names.push(entry.name);
        if sound {
            sink.name(&name);
        }
    }
}

/// Why a name of a directory may not lead to this inode.
pub(super) fn misled(rules: &Rules, directory: u64, ino: u64) -> Option<&'static str> {
    if ino == directory {
        Some("the directory itself")
    } else if !rules.geometry.is_inode(ino) {
        Some("no possible inode")
    } else if rules.is_internal(ino) {
        Some("a realtime or quota file")
    } else {
        None
    }
}

fn parent(rules: &Rules, it: &Subject<'_>, parent: u64, sink: &mut impl Sink) {
    let about = |problem| it.about(problem).found(parent);
    if !rules.geometry.is_inode(parent) {
        sink.find(about(&DIR_SF_PARENT));
    } else if it.ino == rules.root && parent != it.ino {
        sink.find(about(&DIR_SF_PARENT_ROOT).expected(it.ino));
    } else if it.ino != rules.root && parent == it.ino {
        sink.find(about(&DIR_SF_PARENT_SELF));
    }
}
