//! One inode: what is checked of it before its blocks are, in e2fsck's order.

use ondisk::ext4::extent::Index;
use ondisk::ext4::inode::{flag, number};
use ondisk::ext4::{FileType, Inode};

use super::walk::{Head, Item, has_blocks};
use super::worker::{Deep, Worker};
use crate::ext4::directories::Directory;
use crate::ext4::e2fsck::deferred;
use crate::ext4::e2fsck::order::stage;
use crate::ext4::e2fsck::problems::{
    P1_EXTENT_FEATURE, P1_EXTENTS_SET, P1_INODE_IS_GARBAGE, P1_INODE_ONLY_CSUM_INVALID,
    P1_JOURNAL_BAD_MODE, P1_JOURNAL_INODE_NOT_CLEAR, P1_LOW_DTIME, P1_ORPHAN_FILE_BAD_MODE,
    P1_ORPHAN_FILE_NOT_CLEAR, P1_QUOTA_BAD_MODE, P1_QUOTA_INODE_NOT_CLEAR, P1_RESERVED_BAD_MODE,
    P1_ROOT_DTIME, P1_ROOT_NO_DIR, P1_SET_DTIME, P1_SET_IMAGIC, P1_UNSET_EXTENT_FL, P1_ZERO_DTIME,
};
use crate::ext4::inode_set::slot_of;
use crate::ext4::pass1::attributes::charge::Charge;
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Most inodes of a block: 64 KiB of 128 bytes each.
const MOST: usize = 512;

/// A set of places within a block.
#[derive(Default)]
pub(super) struct Places([u64; MOST / 64]);

impl Places {
    fn add(&mut self, nth: usize) {
        self.0[nth / 64] |= 1 << (nth % 64);
    }

    fn has(&self, nth: usize) -> bool {
        self.0[nth / 64] >> (nth % 64) & 1 == 1
    }

    fn join(&mut self, other: &Places) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// 64 at a time, those that hold any, with the place of the first.
    pub(super) fn words(&self) -> impl Iterator<Item = (usize, u64)> {
        let words = self.0.into_iter().enumerate();
        let any = words.filter(|(_, word)| *word != 0);
        any.map(|(nth, word)| (nth * 64, word))
    }
}

/// Whether to go on with an inode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// As with any other.
    Ordinary,
    /// It has been dealt with.
    Done,
}

impl Worker<'_> {
    /// Checks the inodes in one block of a table, or those of them that count; `first` is the first one's number.
    pub(super) fn check_table_block(&mut self, first: u32, count: usize, bytes: &[u8]) {
        let size = self.maps.volume.geometry.inode_size;
        let (mut live, mut wrong) = (Places::default(), Places::default());
        let mut plain = Places::default();
        let slots = || bytes.chunks_exact(size.into()).take(count.min(MOST));
        let mut odd = 0;
        for (nth, slot) in slots().enumerate() {
            let ino = first + nth as u32;
            if self.maps.plain.is(ino, slot) {
                plain.add(nth);
                continue;
            }
            if is_zero(slot) {
                continue;
            }
            live.add(nth);
            let Ok(inode) = Inode::read(slot, size) else {
                continue;
            };
            if self.maps.plain.has_bad_checksum(ino, &inode) {
                wrong.add(nth);
                odd += 1;
            } else if self.looks_odd(&inode) {
                odd += 1;
            }
        }
        let of_block = self.maps.volume.block_size() / usize::from(size);
        let garbage = of_block >= 2 && odd > of_block / 2;
        if garbage {
            live.join(&std::mem::take(&mut plain));
        }
        self.take_plain(first, &plain, bytes);
        if plain.count() == count {
            return;
        }
        for (nth, slot) in slots().enumerate() {
            let ino = first + nth as u32;
            let live = live.has(nth) || self.is_special(ino);
            if !live || plain.has(nth) || ino == number::BAD {
                continue;
            }
            // What these inodes map may touch every page of the maps. The sweep asks again, and ends.
            if self.maps.volume.guard.is_full() {
                return;
            }
            if let Ok(inode) = Inode::read(slot, size) {
                self.check_inode(ino, inode, wrong.has(nth), garbage);
            }
        }
    }

    /// Whether these bytes are hardly an inode. Where more than half of a block look so, the reference takes all of them for garbage.
    pub(super) fn looks_odd(&self, inode: &Inode<'_>) -> bool {
        if inode.has_flags(flag::EXTENTS) {
            return Head::of(&inode.raw().i_block).is_none();
        }
        let mapped = match inode.file_type() {
            Some(FileType::Regular | FileType::Directory) => true,
            Some(FileType::Symlink) => inode.size() > 60,
            _ => false,
        };
        if !mapped || inode.has_flags(flag::INLINE_DATA) || inode.raw().i_links_count.get() == 0 {
            return false;
        }
        let words = inode.block_words();
        let outside = |word: &&u32| **word != 0 && !self.maps.is_legal(u64::from(**word));
        words.iter().filter(outside).count() > words.len() / 2
    }

    /// Inodes that are looked at even if they are all zeros.
    pub(super) fn is_special(&self, ino: u32) -> bool {
        ino < self.maps.volume.sb.first_ino() || self.is_quota(ino)
    }

    /// Whether this is the number of a quota file.
    fn is_quota(&self, ino: u32) -> bool {
        let project = self.maps.volume.sb.s_prj_quota_inum.get();
        ino == number::USR_QUOTA || ino == number::GRP_QUOTA || ino == project && ino != 0
    }

    /// Whether the superblock names it as one.
    fn is_quota_of_super(&self, ino: u32) -> bool {
        let sb = &self.maps.volume.sb;
        [
            sb.s_usr_quota_inum,
            sb.s_grp_quota_inum,
            sb.s_prj_quota_inum,
        ]
        .iter()
        .any(|number| number.get() == ino)
    }

    /// Checks an inode that may be in use.
    pub(super) fn check_inode(&mut self, ino: u32, inode: Inode<'_>, wrong: bool, garbage: bool) {
        let item = Item::new(ino, inode, wrong);
        let raw = inode.raw();
        let links = raw.i_links_count.get();
        let dtime = raw.i_dtime.get();
        let sb = &self.maps.volume.sb;
        self.log.stage(stage::FIELDS);
        if wrong {
            self.bad_checksum.push(ino);
        }
        if garbage && links > 0 {
            self.add(&item, Finding::new(&P1_INODE_IS_GARBAGE));
        }
        if dtime != 0 && self.maps.low_dtime && dtime < sb.s_inodes_count.get() {
            self.refugee = self.refugee.min(ino);
            self.add(&item, Finding::new(&P1_LOW_DTIME).found(dtime));
        }
        if links != 0 {
            self.maps.link_counts.set(slot_of(ino), links.into());
        } else if !self.is_special(ino) {
            if dtime == 0 && raw.i_mode.get() != 0 {
                self.add(&item, Finding::new(&P1_ZERO_DTIME).found(octal(&inode)));
            }
            self.judge_checksum(&item, wrong);
            return;
        }
        self.attributes
            .check_flags(ino, &inode, !wrong, &mut self.log);
        self.check_extent_flag(&item);
        if self.check_special(&item, wrong) == Next::Done {
            return;
        }
        if links == 0 {
            self.judge_checksum(&item, wrong);
            return;
        }
        self.check_ordinary(&item, wrong);
    }

    /// The flag for extents in `i_block`.
    fn check_extent_flag(&mut self, item: &Item<'_>) {
        let extents = self.maps.features.extents;
        let named = [number::BAD, number::ROOT, number::JOURNAL].contains(&item.ino);
        if item.inode.raw().i_links_count.get() == 0 && !named {
            return;
        }
        let flagged = item.inode.has_flags(flag::EXTENTS);
        if flagged == extents {
            return;
        }
        let is_tree = Head::of(&item.inode.raw().i_block).is_some();
        if flagged {
            if is_tree {
                self.add(item, Finding::new(&P1_EXTENT_FEATURE));
            }
            self.add(item, Finding::new(&P1_EXTENTS_SET));
        } else if is_tree && (item.is_reg || item.is_dir) {
            self.add(item, Finding::new(&P1_UNSET_EXTENT_FL));
        }
    }

    /// Inodes with a purpose of their own.
    fn check_special(&mut self, item: &Item<'_>, wrong: bool) -> Next {
        let sb = &self.maps.volume.sb;
        let features = self.maps.features;
        let raw = item.inode.raw();
        let must_be_file: &'static Problem;
        let must_be_clear: &'static Problem;
        let in_use = match item.ino {
            number::BAD => {
                self.check_list(item, wrong);
                return Next::Done;
            }
            number::ROOT => {
                self.check_root(item);
                return Next::Ordinary;
            }
            number::JOURNAL => {
                must_be_file = &P1_JOURNAL_BAD_MODE;
                must_be_clear = &P1_JOURNAL_INODE_NOT_CLEAR;
                sb.s_journal_inum.get() == number::JOURNAL
            }
            ino if self.is_quota(ino) => {
                must_be_file = &P1_QUOTA_BAD_MODE;
                must_be_clear = &P1_QUOTA_INODE_NOT_CLEAR;
                features.quota && self.is_quota_of_super(ino)
            }
            ino if ino == sb.s_orphan_file_inum.get() => {
                must_be_file = &P1_ORPHAN_FILE_BAD_MODE;
                must_be_clear = &P1_ORPHAN_FILE_NOT_CLEAR;
                features.orphan_file
            }
            ino if ino < sb.first_ino() => {
                self.check_reserved(item, wrong);
                return Next::Done;
            }
            _ => return Next::Ordinary,
        };
        self.mark_used(item.ino);
        if in_use {
            if !item.is_reg {
                self.add(item, Finding::new(must_be_file).found(octal(&item.inode)));
            }
            self.finish_special(item, wrong);
            return Next::Done;
        }
        let clear = raw.i_links_count.get() == 0
            && raw.i_blocks_lo.get() == 0
            && item.inode.block_words()[0] == 0;
        if !clear {
            self.add(item, Finding::new(must_be_clear));
        }
        Next::Ordinary
    }

    fn check_root(&mut self, item: &Item<'_>) {
        let raw = item.inode.raw();
        if !item.is_dir {
            let finding = Finding::new(&P1_ROOT_NO_DIR).found(octal(&item.inode));
            self.add(item, finding);
        }
        let dtime = raw.i_dtime.get();
        if dtime != 0 && raw.i_links_count.get() != 0 {
            self.add(
                item,
                Finding::new(&P1_ROOT_DTIME).found(dtime).expected(0_u32),
            );
        }
    }

    /// Boot loader, undelete directory, resize inode, and the unassigned reserved inodes.
    fn check_reserved(&mut self, item: &Item<'_>, wrong: bool) {
        self.mark_used(item.ino);
        let mode = item.inode.raw().i_mode.get();
        let bad = match item.ino {
            number::BOOT_LOADER => item.is_dir,
            number::RESIZE => mode != 0 && !item.is_reg,
            _ => mode != 0,
        };
        if bad {
            let finding = Finding::new(&P1_RESERVED_BAD_MODE).found(octal(&item.inode));
            self.add(item, finding);
        }
        self.finish_special(item, wrong);
    }

    fn finish_special(&mut self, item: &Item<'_>, wrong: bool) {
        if let Some(kind) = item.kind
            && kind != FileType::Directory
        {
            self.maps.file_types.set(slot_of(item.ino), kind.entry());
        }
        self.blocks_soon(item, Charge::default(), wrong);
    }

    /// An inode with names.
    fn check_ordinary(&mut self, item: &Item<'_>, wrong: bool) {
        let dtime = item.inode.raw().i_dtime.get();
        if dtime != 0 {
            self.add(
                item,
                Finding::new(&P1_SET_DTIME).found(dtime).expected(0_u32),
            );
        }
        self.mark_used(item.ino);
        let mut bad = self.has_forbidden_fields(item);
        if item.inode.has_flags(flag::IMAGIC) {
            if self.maps.features.imagic {
                self.imagic.push(item.ino);
            } else {
                self.add(item, Finding::new(&P1_SET_IMAGIC));
            }
        }
        let charge = self
            .attributes
            .check_body(item.ino, &item.inode, &mut self.log);
        let kind = self
            .attributes
            .check_kind(item.ino, &item.inode, !wrong, &mut self.log);
        bad |= kind.bad;
        if bad {
            self.bad.push(item.ino);
        }
        if let Some(file_type) = kind.file_type {
            self.maps
                .file_types
                .set(slot_of(item.ino), file_type.entry());
            self.statistics.count(file_type);
            let fast = file_type == FileType::Symlink && !has_blocks(&item.inode, item.kind);
            self.statistics.fast_symlinks += u64::from(fast);
        }
        if item.is_dir {
            self.directories.push(Directory {
                inode: item.ino,
                flags: item.inode.flags(),
                generation: item.inode.raw().i_generation.get(),
                size: item.inode.size(),
                dotdot: 0.into(),
                parent: 0.into(),
            });
        }
        if kind.done {
            self.judge_checksum(item, wrong);
        } else {
            self.blocks_soon(item, charge, wrong);
        }
    }

    /// Fields that must be 0; pass 2 reports which.
    fn has_forbidden_fields(&self, item: &Item<'_>) -> bool {
        let features = self.maps.features;
        let raw = item.inode.raw();
        // The Hurd keeps fragment number and size where Linux has the high half of i_blocks.
        let hurd = features.hurd && raw.l_i_blocks_high.get() != 0;
        raw.i_obso_faddr.get() != 0
            || hurd
            || !features.large_dir && item.is_dir && raw.i_size_high.get() != 0
            || !features.hurd && !features.wide && raw.l_i_file_acl_high.get() != 0
            || !features.hurd && !features.huge_file && raw.l_i_blocks_high.get() != 0
    }

    pub(super) fn mark_used(&mut self, ino: u32) {
        self.maps.used.set(u64::from(ino) - 1);
        self.statistics.files.inodes += 1;
    }

    /// Counts the blocks now, or with others when that needs reading.
    fn blocks_soon(&mut self, item: &Item<'_>, charge: Charge, wrong: bool) {
        let early = wrong && deferred::is_deferred(&self.maps.volume.sb, item.ino, &item.inode);
        if early {
            self.judge_checksum(item, wrong);
        }
        let wrong = wrong && !early;
        if !self.leads_deeper(item) {
            self.walk(item, charge, wrong);
            return;
        }
        self.deep.push(Deep {
            ino: item.ino,
            charge,
            wrong,
        });
        self.deep_bytes.extend_from_slice(item.inode.bytes());
        self.deep_nodes += below_root(&item.inode).count();
        if self.deep_nodes >= self.nodes.capacity() {
            self.walk_deep();
        }
    }

    fn walk(&mut self, item: &Item<'_>, charge: Charge, wrong: bool) {
        let volume = self.maps.volume;
        self.log
            .defer(deferred::provisional(volume, item.ino, &item.inode));
        self.check_blocks(item, charge);
        self.judge_checksum(item, wrong);
        self.log.defer(None);
    }

    /// Walks the inodes of a batch, their nodes read beforehand.
    pub(super) fn walk_deep(&mut self) {
        let deep = std::mem::take(&mut self.deep);
        let bytes = std::mem::take(&mut self.deep_bytes);
        let size = self.maps.volume.geometry.inode_size;
        let slots = || bytes.chunks_exact(size.into());
        let inodes = || slots().filter_map(|slot| Inode::read(slot, size).ok());
        let wanted = inodes().flat_map(|inode| below_root(&inode)).collect();
        self.deep_nodes = 0;
        self.nodes.fetch(0, wanted);
        for (deep, inode) in deep.iter().zip(inodes()) {
            let item = Item::new(deep.ino, inode, deep.wrong);
            self.walk(&item, deep.charge, deep.wrong);
        }
        (self.deep, self.deep_bytes) = (deep, bytes);
        self.deep.clear();
        self.deep_bytes.clear();
    }

    /// Reports a wrong checksum, after everything else was checked.
    pub(super) fn judge_checksum(&mut self, item: &Item<'_>, wrong: bool) {
        let Some(seed) = self.maps.volume.seed.filter(|_| wrong) else {
            return;
        };
        let sum = item.inode.checksum(seed, item.ino);
        let finding = Finding::new(&P1_INODE_ONLY_CSUM_INVALID)
            .found(format!("{:#010x}", sum.stored))
            .expected(format!("{:#010x}", sum.computed));
        self.add(item, finding);
    }
}

/// The nodes that an inode's root names.
pub(super) fn below_root<'i>(inode: &Inode<'i>) -> impl Iterator<Item = u64> + use<'i> {
    let root = &inode.raw().i_block;
    let by_extents = inode.has_flags(flag::EXTENTS);
    let head = Head::of(root).filter(|_| by_extents);
    let entries = head.map_or(0, |head| usize::from(head.entries));
    let nodes = (0..entries)
        .filter_map(|nth| super::walk::entry(root, nth))
        .map(|bytes| Index::of_entry(bytes).leaf);
    let words = inode.block_words().into_iter().skip(12);
    let pointers = words.filter(move |word| !by_extents && *word != 0);
    nodes.chain(pointers.map(u64::from))
}

/// Whether all bytes are zero, eight at a time.
pub(super) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let all = words
        .iter()
        .fold(0, |all, word| all | u64::from_ne_bytes(*word));
    all == 0 && rest.iter().all(|byte| *byte == 0)
}

/// The mode as people read it.
fn octal(inode: &Inode<'_>) -> String {
    format!("mode {:#o}", inode.raw().i_mode.get())
}
