//! One directory entry.

use ondisk::ocfs2::Dinode;
use ondisk::ocfs2::dinode::INLINE_DATA;
use ondisk::ocfs2::directory::{self, Entry, record_length};
use ondisk::ocfs2::hash::{self, Sign};
use zerocopy::little_endian::U32;

use super::{NAMES, Pass, Place};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::problems::{
    DIR_NO_PARENT_RECORD, DIR_PARENT_DUP, DIRENT_DOT_EXCESS, DIRENT_DOT_INODE, DIRENT_DOTTY_DUP,
    DIRENT_DUPLICATE, DIRENT_DUPLICATE_FAR, DIRENT_INODE_FREE, DIRENT_INODE_RANGE,
    DIRENT_INODE_UNCOVERED, DIRENT_NAME_CHARS, DIRENT_NAME_INNER, DIRENT_NOT_DOTTY, DIRENT_TYPE,
    DIRENT_TYPE_UNKNOWN, DIRENT_ZERO, DX_LOOKUP_FAILED, DX_LOOKUP_FAILED_SIGN, DX_TREE_CORRUPT,
};
use crate::ocfs2::lookup;
use crate::ocfs2::refused::Refused;
use crate::ocfs2::state::{JUDGED, Seen};
use crate::ocfs2::volume::head;

/// Bytes that fsck.ocfs2 needs for a remembered name beside the name.
const NAME_OVERHEAD: usize = 32;

impl Pass<'_, '_> {
    /// Judges an entry with sound lengths; `false` where the rest of the block is left.
    pub(super) fn entry(
        &mut self,
        place: Place,
        inode: &Dinode,
        offset: usize,
        entry: &Entry,
        name: &[u8],
    ) -> bool {
        let at = |problem: &'static Problem| {
            let finding = Finding::new(problem).directory(place.directory).order(0);
            finding.block(place.block).offset(offset).name(name)
        };
        let dots = expected_dots(place, offset);
        self.dots(place, entry, name, dots, &at);
        let target = entry.inode.get();
        if target == 0 {
            return true;
        }
        match name.first() {
            None => self.log.add(at(&DIRENT_ZERO)),
            Some(b'/' | 0) => self.log.add(at(&DIRENT_NAME_CHARS)),
            Some(_) if name.iter().any(|byte| matches!(byte, b'/' | 0)) => {
                self.log.own(at(&DIRENT_NAME_INNER));
            }
            Some(_) => {}
        }
        if self.volume.out_of_range(target) {
            self.log.add(at(&DIRENT_INODE_RANGE).found(target));
        }
        match self.state.coverage.in_use(target) {
            Some(true) => {}
            Some(false) => self.log.add(at(&DIRENT_INODE_FREE).found(target)),
            None => self.log.add(at(&DIRENT_INODE_UNCOVERED).found(target)),
        }
        if !self.kind(entry, &at) {
            return false;
        }
        if dots == 0 && !self.linkage(place, target, &at) {
            return false;
        }
        self.duplicate(place, entry, name, &at);
        if !self.index(place, inode, name, &at) {
            return false;
        }
        self.state.refer(target, 1);
        true
    }

    /// `.` and `..`.
    fn dots(
        &mut self,
        place: Place,
        entry: &Entry,
        name: &[u8],
        expected: usize,
        at: &dyn Fn(&'static Problem) -> Finding,
    ) {
        let is_dots = |count: usize| {
            count > 0 && name.len() == count && name.iter().all(|&byte| byte == b'.')
        };
        let target = entry.inode.get();
        if expected == 0 {
            if target == 0 || !(is_dots(1) || is_dots(2)) {
                return;
            }
            self.log.add(at(&DIRENT_DOTTY_DUP));
        }
        if !is_dots(expected) {
            self.log.add(at(&DIRENT_NOT_DOTTY));
        }
        if expected == 2 {
            match self.state.directories.get_mut(&place.directory) {
                Some(parent) => parent.dotdot = target,
                None => self.log.add(at(&DIR_NO_PARENT_RECORD)),
            }
            return;
        }
        if target != place.directory {
            self.log.add(
                at(&DIRENT_DOT_INODE)
                    .found(target)
                    .expected(place.directory),
            );
        }
        let length = record_length(name.len());
        if usize::from(entry.rec_len.get()) != length {
            let finding = at(&DIRENT_DOT_EXCESS).found(entry.rec_len.get());
            self.log.add(finding.expected(length as u64));
        }
    }

    /// The type of the inode; `false` where it cannot be known.
    fn kind(&mut self, entry: &Entry, at: &dyn Fn(&'static Problem) -> Finding) -> bool {
        let target = entry.inode.get();
        let unknown =
            |refused: Refused| at(&DIRENT_TYPE_UNKNOWN).found(target).note(refused.words());
        if target >= self.volume.layout.blocks() {
            self.log.add(unknown(Refused::Range));
            return false;
        }
        let expected = match self.state.seen(target) {
            Seen::Directory => 2,
            Seen::Regular => 1,
            Seen::Other => match self.volume.inode(target) {
                Ok(bytes) => directory::type_of_mode(head(&bytes).i_mode.get()),
                Err(refused) => {
                    self.log.add(unknown(refused));
                    return false;
                }
            },
        };
        if entry.file_type != expected {
            let finding = at(&DIRENT_TYPE).found(u64::from(entry.file_type));
            self.log.add(finding.expected(u64::from(expected)));
        }
        true
    }

    /// The first entry of a directory makes its parent.
    fn linkage(
        &mut self,
        place: Place,
        target: u64,
        at: &dyn Fn(&'static Problem) -> Finding,
    ) -> bool {
        if self.state.seen(target) != Seen::Directory {
            return true;
        }
        let Some(parent) = self.state.directories.get_mut(&target) else {
            self.log.add(at(&DIR_NO_PARENT_RECORD).found(target));
            return false;
        };
        if parent.entry == 0 {
            parent.entry = place.directory;
            return true;
        }
        let finding = at(&DIR_PARENT_DUP).found(target);
        let finding = finding.expected(parent.entry);
        // An inline directory that pass 1 has judged, whose block comes after this one.
        let other = self.state.directory_blocks.get(&parent.entry);
        if parent.entry > place.block && other == Some(&(parent.entry, JUDGED)) {
            parent.entry = place.directory;
        }
        self.log.add(finding);
        true
    }

    fn duplicate(
        &mut self,
        place: Place,
        entry: &Entry,
        name: &[u8],
        at: &dyn Fn(&'static Problem) -> Finding,
    ) {
        if self.name_bytes > NAMES {
            self.forget_names();
            self.state.twice.forgotten.insert(place.directory);
        }
        if self.names.insert(name.to_vec()) {
            self.name_bytes += name.len() + NAME_OVERHEAD;
            return;
        }
        self.state.twice.reported(place.directory, name);
        // fsck.ocfs2 asks only where it finds another name to give.
        if self.has_replacement(entry, name) {
            self.log.add(at(&DIRENT_DUPLICATE));
        } else {
            self.log.own(at(&DIRENT_DUPLICATE_FAR));
        }
    }

    fn has_replacement(&self, entry: &Entry, name: &[u8]) -> bool {
        let mut candidate = name.to_vec();
        while candidate.len() < usize::from(entry.rec_len.get()) {
            candidate.push(b'_');
            if !self.names.contains(&candidate) {
                return true;
            }
        }
        (0..name.len()).rev().any(|at| {
            candidate[at] = b'_';
            !self.names.contains(&candidate)
        })
    }

    /// The name in the index of the directory; `false` where the index cannot be used.
    fn index(
        &mut self,
        place: Place,
        inode: &Dinode,
        name: &[u8],
        at: &dyn Fn(&'static Problem) -> Finding,
    ) -> bool {
        if !self.volume.has_index(inode) {
            return true;
        }
        let seed = self.volume.sb.s_dx_seed.map(U32::get);
        let hash = hash::name_hash(seed, name, Sign::Signed);
        let root = inode.i_dx_root.get();
        let named = self.state.index_sums.entry(place.directory).or_default();
        named.root = root;
        named.names.add(hash, place.block);
        if !self.sound {
            // libocfs2 refuses to look anything up in it.
            return false;
        }
        if self.as_stored && self.index.leads(self.volume, root, hash, place.block) {
            // All entries of the block before this one have sound lengths: the search comes to this name, or to the same name before it.
            return true;
        }
        let Some(bytes) = self.inode.clone() else {
            return true;
        };
        match lookup::indexed(self.volume, &bytes, name, Sign::Signed) {
            Ok(_) => true,
            Err(Refused::NotFound) => {
                let unsigned = lookup::indexed(self.volume, &bytes, name, Sign::Unsigned);
                let sign = !name.is_ascii() && unsigned.is_ok();
                let problem = if sign {
                    &DX_LOOKUP_FAILED_SIGN
                } else {
                    &DX_LOOKUP_FAILED
                };
                self.log.add(at(problem));
                true
            }
            Err(Refused::Corrupt) => {
                self.log
                    .add(at(&DX_LOOKUP_FAILED).note(Refused::Corrupt.words()));
                false
            }
            Err(Refused::Depth) => {
                let finding = at(&DX_TREE_CORRUPT).note(Refused::Depth.words());
                self.log
                    .end(Refused::Depth.exit(), finding.beyond_reference());
                false
            }
            Err(_) => false,
        }
    }
}

/// How many dots the name at this place must be; 0 elsewhere.
fn expected_dots(place: Place, offset: usize) -> usize {
    if place.logical != 0 {
        return 0;
    }
    let inline = place.directory == place.block;
    let first = record_length(1);
    match offset {
        0 => 1,
        INLINE_DATA if inline => 1,
        _ if offset == first => 2,
        _ if inline && offset == INLINE_DATA + first => 2,
        _ => 0,
    }
}
