//! Pass 4: does each inode have as many names as its link count?
//!
//! Nearly all are, so the maps are compared from one end to the other, 64 inodes at a time, and inodes are read only where they differ.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::inode::number::{BAD, ROOT};
use ondisk::ext4::inode::{OLD_SIZE, flag};
use ondisk::ext4::xattr::List;
use ondisk::ext4::{FileType, Inode};

use super::pass2::bad_inode;
use super::slots::Slots;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{
    P4_BAD_REF_COUNT, P4_DIR_NLINK_FEATURE, P4_DIR_OVERFLOW_REF_COUNT, P4_EA_INODE_REF_COUNT,
    P4_EA_INODE_SPURIOUS_FLAG, P4_INCONSISTENT_COUNT, P4_UNATTACHED_INODE, P4_ZERO_LEN_INODE,
};
use crate::ext4::options::Reference;
use crate::ext4::state::State;
use crate::ext4::volume::Volume;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;

/// Links that a directory may have before its count is 1 instead.
const MOST_LINKS: u32 = 65_000;
/// What e2fsck's tables hold; more is taken for this.
const MOST_COUNTED: u32 = 65_500;

/// Judges link counts, and inodes without a name.
///
/// # Errors
/// The check was stopped.
pub(crate) fn run(volume: &Volume<'_>, state: &State, log: &mut Log) -> Result<(), Failure> {
    let unreached = state.unreached_names.lock();
    let unreached = unreached.unwrap_or_else(PoisonError::into_inner);
    let mut pass = Pass {
        volume,
        state,
        unreached: &unreached,
        slots: Slots::new(volume),
        log,
    };
    let sb = &volume.sb;
    let hidden = [sb.s_prj_quota_inum.get(), sb.s_orphan_file_inum.get(), BAD];
    let first = sb.first_ino();
    let plain = state.attributes.has_no_values();
    for index in 0..state.used.len().div_ceil(64) {
        if index.is_multiple_of(1 << 14) && volume.progress.cancelled() {
            return Err(Failure::Stopped);
        }
        let mut used = state.used.word(index);
        // Nearly always: a name and a link for each of them.
        if plain
            && state.name_counts.exactly_once(index) == used
            && state.link_counts.are(index, used)
        {
            continue;
        }
        while used != 0 {
            let bit = index * 64 + u64::from(used.trailing_zeros());
            used &= used - 1;
            let Ok(ino) = u32::try_from(bit + 1) else {
                continue;
            };
            let reserved = ino > ROOT && ino < first;
            if !reserved && !hidden.contains(&ino) {
                pass.inode(ino);
            }
        }
    }
    for ino in unreached.keys() {
        pass.by_names_reached(*ino);
    }
    Ok(())
}

struct Pass<'a> {
    volume: &'a Volume<'a>,
    state: &'a State,
    /// Names that e2fsck does not reach, of inodes whose checksum is wrong.
    unreached: &'a BTreeMap<u32, u32>,
    slots: Slots<'a>,
    log: &'a mut Log,
}

impl Pass<'_> {
    fn inode(&mut self, ino: u32) {
        let state = self.state;
        let links = state.links(ino).min(MOST_COUNTED);
        let mut named = state.names(ino).min(MOST_COUNTED);
        let refs = state.attributes.value_refs(ino);
        // Sound inodes end here.
        let plain = refs == 0 && state.attributes.value_inodes.is_empty();
        if plain && named == links && named > 0 && named <= MOST_LINKS {
            return;
        }
        if state.imagic.contains(ino) || state.on_bad_blocks.contains(ino) {
            return;
        }
        if !plain && self.holds_value(ino, refs, named) {
            named = 1;
        }
        if named == 0 {
            self.unattached(ino);
            return;
        }
        let directory = state.directories.get(ino);
        if directory.is_some() && named > MOST_LINKS {
            if !self.volume.sb.has_ro_compat(RoCompat::DIR_NLINK) {
                let finding = Finding::new(&P4_DIR_NLINK_FEATURE).inode(ino);
                let most = format!("at most {MOST_LINKS}");
                self.log.add(finding.found(state.names(ino)).expected(most));
            }
            named = 1;
        }
        if named == links {
            return;
        }
        self.read_again(ino);
        let indexed = directory.is_some_and(|dir| dir.flags & flag::INDEX != 0);
        let finding_of = |problem| {
            let finding = Finding::new(problem).inode(ino);
            finding.found(state.links(ino)).expected(named)
        };
        // It has had more subdirectories than can be counted, and has lost some since.
        if indexed && named > 1 && links == 1 {
            let finding = finding_of(&P4_DIR_OVERFLOW_REF_COUNT);
            self.log.add(finding.beyond_reference());
        } else {
            self.log.add(finding_of(&P4_BAD_REF_COUNT));
        }
    }

    /// Whether an inode holds the value of an attribute, which counts as a name. Raises what is wrong with it as such.
    fn holds_value(&mut self, ino: u32, refs: u32, named: u32) -> bool {
        let flagged = self
            .state
            .attributes
            .value_inodes
            .binary_search(&ino)
            .is_ok();
        let newest = self.volume.ext4.reference == Reference::E2fsck1474;
        if refs == 0 {
            if flagged && newest {
                self.read_again(ino);
            }
            if flagged {
                let finding = Finding::new(&P4_EA_INODE_SPURIOUS_FLAG).inode(ino);
                self.log.add(if newest {
                    finding
                } else {
                    finding.beyond_reference()
                });
            }
            return false;
        }
        // 1.47.0 looks at those only that nothing names and that have the flag.
        if !newest && (named > 0 || !flagged) {
            return false;
        }
        self.read_again(ino);
        if let Some(inode) = self.slots.read(ino) {
            let stored = inode.ea_refcount();
            let raw = inode.raw();
            // Lustre's have no count, but two equal times.
            if stored != u64::from(refs) && raw.i_ctime.get() != raw.i_atime.get() {
                let finding = Finding::new(&P4_EA_INODE_REF_COUNT).inode(ino);
                self.log.add(finding.found(stored).expected(refs));
            }
        }
        true
    }

    /// e2fsck reads the inode here, and stops if its checksum is wrong. Where it has not reached all names, it decides by those it has.
    fn read_again(&mut self, ino: u32) {
        if self.state.bad_checksum.contains(ino) && !self.unreached.contains_key(&ino) {
            self.ends_at(ino);
        }
    }

    /// Whether e2fsck reads an inode again of which it has not reached all names: `.` of a directory that it has skipped.
    fn by_names_reached(&mut self, ino: u32) {
        let state = self.state;
        let unreached = self.unreached.get(&ino).copied().unwrap_or(0);
        let reached = state.names(ino).saturating_sub(unreached);
        let links = state.links(ino).min(MOST_COUNTED);
        let left_out = state.imagic.contains(ino) || state.on_bad_blocks.contains(ino);
        if (reached == 0 || reached.min(MOST_COUNTED) != links) && !left_out {
            self.ends_at(ino);
        }
    }

    fn ends_at(&mut self, ino: u32) {
        let finding = Finding::new(&P4_INCONSISTENT_COUNT).inode(ino);
        let note = "e2fsck reads the inode again, and its checksum is wrong";
        self.log.add(finding.note(note));
    }

    /// An inode in use that nothing names.
    fn unattached(&mut self, ino: u32) {
        self.read_again(ino);
        if let Some(inode) = self.slots.read(ino) {
            for fault in bad_inode::judge(self.volume, &self.state.attributes.values, ino, &inode) {
                // e2fsck raises these in pass 4, with the numbers of pass 2.
                let finding = Finding::new(fault.problem).inode(ino);
                let finding = fault.into_finding(finding);
                self.log.add(finding.raised_with(&P4_UNATTACHED_INODE));
            }
            if is_empty(&inode) {
                self.log.add(Finding::new(&P4_ZERO_LEN_INODE).inode(ino));
            }
        }
        self.log.add(Finding::new(&P4_UNATTACHED_INODE).inode(ino));
    }
}

/// Whether a file or directory has neither blocks nor attributes of its own.
fn is_empty(inode: &Inode<'_>) -> bool {
    let kind = inode.file_type();
    let body = OLD_SIZE + usize::from(inode.extra_isize());
    let body = inode.bytes().get(body..).unwrap_or(&[]);
    matches!(kind, Some(FileType::Regular | FileType::Directory))
        && inode.raw().i_blocks_lo.get() == 0
        && List::of_inode(body).is_none()
}
