//! One entry: its name, and the inode it leads to.
//!
//! The order of questions is e2fsck's, and so is what an answer "no" leads to: an entry whose number no inode can have is dropped;
//! every other counts as a name of its inode however wrong it is, or pass 4 would find other inodes unattached than
//! e2fsck does.

use std::borrow::Cow;

use ondisk::ext4::FileType;
use ondisk::ext4::casefold::Folded;
use ondisk::ext4::directory::{Entry, HEAD};
use ondisk::ext4::encryption::SHORTEST_NAME;
use ondisk::ext4::group_descriptor::INODE_UNINIT;
use ondisk::ext4::inode::OLD_SIZE;
use ondisk::ext4::inode::number::ROOT;

use super::bad_inode;
use super::block_view::At;
use super::names::{self, fold};
use super::shared::Dir;
use super::worker::{Second, Worker};
use crate::ext4::e2fsck::problems::{
    P2_1ST_NOT_DOT, P2_2ND_NOT_DOT_DOT, P2_BAD_ENCODED_NAME, P2_BAD_ENCRYPTED_NAME,
    P2_BAD_FILETYPE, P2_BAD_INO, P2_BAD_INODE_DOT, P2_BAD_NAME, P2_BB_INODE, P2_CLEAR_FILETYPE,
    P2_DBLIST_ITERATE, P2_DOT_DOT_NULL_TERM, P2_DOT_NULL_TERM, P2_DUP_DOT, P2_DUP_DOT_DOT,
    P2_EA_INODE_DIR_LINK, P2_INCONSISTENT_ENCRYPTION_POLICY, P2_INOREF_BG_INO_UNINIT,
    P2_INOREF_IN_UNUSED, P2_LINK_DOT, P2_LINK_ROOT, P2_MISSING_DOT, P2_MISSING_DOT_DOT,
    P2_NULL_NAME, P2_REPORT_DUP_DIRENT, P2_SET_FILETYPE, P2_SPLIT_DOT, P2_UNENCRYPTED_FILE,
    P2_UNUSED_INODE,
};
use crate::ext4::inode_set::slot_of;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use std::sync::atomic::Ordering::Relaxed;

/// The shortest record, that of `.`.
const SHORTEST: usize = 12;

impl Worker<'_> {
    /// Judges an entry; whether it counts as a name of something. `twins`: a name was met twice in this block.
    pub(super) fn entry(&mut self, at: At<'_>, nth: u8, twins: &mut bool) -> bool {
        let At { dir, entry, .. } = at;
        let mut wrong = false;
        match nth {
            0 => self.dot(at),
            1 => self.dot_dot(at),
            _ if entry.inode == dir.inode() => {
                self.report(&P2_LINK_DOT, at);
                wrong = true;
            }
            _ => {}
        }
        if entry.inode == 0 {
            return false;
        }
        let shared = self.shared;
        if !shared.is_legal(entry.inode) {
            self.report(&P2_BAD_INO, at);
            return false;
        }
        if let Some(problem) = self.misplaced(entry, nth, wrong) {
            self.report(problem, at);
        }
        if shared.state.bad.contains(entry.inode) {
            self.bad_inode(at);
        }
        let kind = shared.state.file_type(entry.inode);
        // Flags that no feature allows hide nothing from pass 1; the reference reports them all the same.
        if kind.is_none() || !shared.volume.claims.uninit.is_empty() {
            self.unknown(at);
        }
        self.file_type(at, kind);
        self.name(at, nth, kind);
        if nth > 1 && kind == Some(FileType::Directory) {
            self.child(at);
        }
        if !*twins && self.is_twin(at) {
            *twins = true;
            self.report(&P2_REPORT_DUP_DIRENT, at);
            let key = self.key(at);
            self.twins.push((key, dir.at));
        }
        if self.passes_over {
            self.count_unreached(entry.inode);
        }
        self.batch
            .add(&shared.state.name_counts, slot_of(entry.inode));
        true
    }

    /// Judges what must be `.`.
    fn dot(&mut self, at: At<'_>) {
        let At { dir, entry, .. } = at;
        let problem = if entry.inode == 0 {
            Some(&P2_MISSING_DOT)
        } else if entry.name != b"." {
            Some(&P2_1ST_NOT_DOT)
        } else if entry.slack.first() != Some(&0) {
            Some(&P2_DOT_NULL_TERM)
        } else {
            None
        };
        if let Some(problem) = problem {
            self.report(problem, at);
        }
        if entry.inode != dir.inode() {
            let finding = self.of_entry(&P2_BAD_INODE_DOT, at);
            self.log
                .add(finding.found(entry.inode).expected(dir.inode()));
        }
        // Room for another entry of more than no name.
        if entry.rec_len > 2 * SHORTEST {
            let finding = self.of_entry(&P2_SPLIT_DOT, at);
            self.log.add(
                finding
                    .found(entry.rec_len as u64)
                    .expected(SHORTEST as u64),
            );
        }
    }

    /// Judges what must be `..`. Where it leads is pass 3's question.
    fn dot_dot(&mut self, at: At<'_>) {
        let At { dir, entry, .. } = at;
        let problem = if entry.inode == 0 {
            &P2_MISSING_DOT_DOT
        } else if entry.name != b".." {
            &P2_2ND_NOT_DOT_DOT
        } else if entry.slack.first() != Some(&0) {
            &P2_DOT_DOT_NULL_TERM
        } else {
            dir.directory.dotdot.store(entry.inode, Relaxed);
            return;
        };
        self.report(problem, at);
    }

    /// What should not be here, or not lead there. `wrong`: a finding was already made.
    fn misplaced(&self, entry: &Entry<'_>, nth: u8, wrong: bool) -> Option<&'static Problem> {
        let shared = self.shared;
        if shared.state.on_bad_blocks.contains(entry.inode) {
            return Some(&P2_BB_INODE);
        }
        if nth > 1 {
            let special = match entry.name {
                b"." => Some(&P2_DUP_DOT),
                b".." => Some(&P2_DUP_DOT_DOT),
                _ if entry.inode == ROOT => Some(&P2_LINK_ROOT),
                b"" => Some(&P2_NULL_NAME),
                _ => None,
            };
            if special.is_some() {
                return special;
            }
        }
        let refs = shared.value_refs.filter(|_| !wrong)?;
        (refs.get(slot_of(entry.inode)) > 0).then_some(&P2_EA_INODE_DIR_LINK)
    }

    /// What is wrong with the inode itself.
    fn bad_inode(&mut self, at: At<'_>) {
        let entry = at.entry;
        let volume = self.shared.volume;
        let Some(inode) = self.slots.read(entry.inode) else {
            return;
        };
        let found = bad_inode::judge(
            volume,
            &self.shared.state.attributes.values,
            entry.inode,
            &inode,
        );
        if self.shared.state.bad_checksum.contains(entry.inode) {
            self.unreadable(at);
        }
        for fault in found {
            let finding = self.of_entry(fault.problem, at);
            self.log.add(fault.into_finding(finding));
        }
    }

    /// An inode that may be of no known kind: not in use, or in a part of its table that was never written.
    fn unknown(&mut self, at: At<'_>) {
        let entry = at.entry;
        let (volume, state) = (self.shared.volume, self.shared.state);
        let geometry = &volume.geometry;
        if let Some((group, index)) = geometry.index_of_inode(entry.inode)
            && let Some(descriptor) = volume.descriptors.get(group as usize)
        {
            let claimed = volume.claims.flags.get(group as usize).copied();
            let flags = claimed.unwrap_or(descriptor.flags());
            let unused = volume.claims.unused(group);
            let unused = unused.unwrap_or(descriptor.itable_unused());
            // More than a group has make the reference count round to where no inode is.
            let used = geometry.inodes_per_group.checked_sub(unused);
            let round = group == 0 && unused > geometry.inodes_per_group + 1;
            let used = used.unwrap_or(if round { u32::MAX } else { 0 });
            if flags & INODE_UNINIT != 0 {
                let finding = self.of_entry(&P2_INOREF_BG_INO_UNINIT, at);
                self.log.add(finding.group(group));
            } else if index >= used {
                let finding = self.of_entry(&P2_INOREF_IN_UNUSED, at);
                let most = format!("an index below {used}");
                self.log
                    .add(finding.group(group).found(index).expected(most));
            }
        }
        if !state.used.get(u64::from(entry.inode) - 1) {
            self.report(&P2_UNUSED_INODE, at);
        }
    }

    /// Compares the type in the entry with what the inode is.
    fn file_type(&mut self, at: At<'_>, kind: Option<FileType>) {
        let entry = at.entry;
        if !self.shared.with_types {
            if entry.file_type != 0 {
                let finding = self.of_entry(&P2_CLEAR_FILETYPE, at);
                self.log
                    .add(finding.found(u32::from(entry.file_type)).expected(0_u32));
            }
            return;
        }
        let state = self.shared.state;
        let right = match kind {
            Some(kind @ (FileType::Directory | FileType::Regular)) => Some(kind),
            _ if state.bad.contains(entry.inode) => None,
            Some(kind) => {
                if state.bad_checksum.contains(entry.inode) {
                    self.unreadable(at);
                }
                Some(kind)
            }
            None => self.kind_of_unknown(at),
        };
        let right = right.map_or(0, FileType::entry);
        if entry.file_type != right {
            let problem = if entry.file_type == 0 {
                &P2_SET_FILETYPE
            } else {
                &P2_BAD_FILETYPE
            };
            let finding = self.of_entry(problem, at);
            self.log.add(
                finding
                    .found(u32::from(entry.file_type))
                    .expected(u32::from(right)),
            );
        }
    }

    /// The type by the mode of an inode that pass 1 had no reason to look at.
    fn kind_of_unknown(&mut self, at: At<'_>) -> Option<FileType> {
        let (ino, seed) = (at.entry.inode, self.shared.volume.seed);
        let inode = self.slots.read(ino)?;
        let kind = inode.file_type();
        let is_zero = inode.bytes()[..OLD_SIZE].iter().all(|byte| *byte == 0);
        if !is_zero && seed.is_some_and(|seed| !inode.checksum(seed, ino).matches()) {
            self.unreadable(at);
        }
        kind
    }

    /// e2fsck reads the inode here, and ends because its checksum is wrong.
    fn unreadable(&mut self, at: At<'_>) {
        let finding = self.of_entry(&P2_DBLIST_ITERATE, at);
        let note = "e2fsck has to read the inode again, and its checksum is wrong";
        self.log.add(finding.note(note));
    }

    /// Judges the name by what the directory allows.
    fn name(&mut self, at: At<'_>, nth: u8, kind: Option<FileType>) {
        let At { dir, entry, .. } = at;
        if dir.policy.is_some() {
            if nth > 1 {
                self.encrypted(at, kind);
            }
            return;
        }
        if dir.strict && matches!(fold(entry.name), Folded::Invalid(_)) {
            self.report(&P2_BAD_ENCODED_NAME, at);
        }
        if entry.name.iter().any(|byte| matches!(byte, b'/' | 0)) {
            self.report(&P2_BAD_NAME, at);
        }
    }

    fn encrypted(&mut self, at: At<'_>, kind: Option<FileType>) {
        let At { dir, entry, .. } = at;
        if entry.name.len() < SHORTEST_NAME {
            self.report(&P2_BAD_ENCRYPTED_NAME, at);
        }
        let policy = self.shared.state.attributes.policies.of(entry.inode);
        if policy == dir.policy {
            return;
        }
        if policy.is_some() {
            self.report(&P2_INCONSISTENT_ENCRYPTION_POLICY, at);
            return;
        }
        let kind = entry.kind().filter(|_| entry.file_type != 0).or(kind);
        // Only these have content to encrypt.
        if matches!(
            kind,
            Some(FileType::Regular | FileType::Directory | FileType::Symlink)
        ) {
            self.report(&P2_UNENCRYPTED_FILE, at);
        }
    }

    /// A directory has one name: the first that e2fsck meets.
    pub(super) fn child(&mut self, at: At<'_>) {
        let At { dir, entry, .. } = at;
        let Some(child) = self.shared.state.directories.position(entry.inode) else {
            return;
        };
        let key = self.key(at);
        if !Dir::claim(self.shared, child, dir.inode(), key) {
            self.seconds.push(Second {
                child,
                key,
                parent: dir.inode(),
                name: entry.name.to_vec(),
            });
        }
    }

    /// Whether the same name was met before in this block.
    fn is_twin(&mut self, at: At<'_>) -> bool {
        let At { dir, part, entry } = at;
        // Those of an inline directory lie in no block.
        if entry.offset < part.start {
            return false;
        }
        let folds = dir.strict;
        let hash = names::hash(&folded(entry.name, folds));
        let (bytes, own) = (part.bytes, entry.name);
        self.names
            .insert(hash as u32, entry.offset as u32, |other| {
                let at = other as usize;
                let name = &bytes[at + HEAD..][..usize::from(bytes[at + 6])];
                name == own || (folds && folded(name, true) == folded(own, true))
            })
    }

    fn key(&self, at: At<'_>) -> u64 {
        let At { dir, part, entry } = at;
        let order = self.shared.order;
        order.of(dir.inode(), part.physical, part.logical, entry.offset)
    }

    fn report(&mut self, problem: &'static Problem, at: At<'_>) {
        let finding = self.of_entry(problem, at);
        self.log.add(finding);
    }

    /// A finding about an entry and the inode it leads to.
    fn of_entry(&self, problem: &'static Problem, at: At<'_>) -> Finding {
        let At { dir, part, entry } = at;
        let finding = self
            .of_block(problem, dir, part, entry.offset)
            .directory(dir.inode())
            .name(entry.name);
        let (order, _) = finding.position_in_pass();
        finding.inode(entry.inode).order(order)
    }
}

/// The name as it is compared.
fn folded(name: &[u8], folds: bool) -> Cow<'_, [u8]> {
    if folds && let Folded::Name(folded) = fold(name) {
        return folded;
    }
    Cow::Borrowed(name)
}
