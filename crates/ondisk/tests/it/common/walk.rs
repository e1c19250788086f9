//! A walk over everything in an image: each structure is read, each checksum compared. On a clean
//! filesystem it must find nothing; on any other it must end.

use std::collections::{BTreeMap, BTreeSet};

use ondisk::ext4::bitmap::{self, Bitmap};
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::group_descriptor::{BLOCK_UNINIT, DescriptorChecksum, INODE_UNINIT};
use ondisk::ext4::inode::{flag, number};
use ondisk::ext4::journal::superblock::JournalSuperblock;
use ondisk::ext4::mmp::Mmp;
use ondisk::ext4::orphan::OrphanBlock;
use ondisk::ext4::xattr::{self, List, Sign};
use ondisk::ext4::{
    Checksum, Error, FileType, Geometry, GroupDescriptor, Inode, Seed, Superblock, encryption,
    quota, symlink,
};

use super::{Image, files};

/// What a walk found.
#[derive(Default)]
pub(crate) struct Report {
    /// Structures whose checksum (or other proof) was compared and held, by name.
    pub(crate) good: BTreeMap<&'static str, u32>,
    /// Whatever did not hold.
    pub(crate) problems: Vec<String>,
}

impl Report {
    pub(crate) fn good(&mut self, what: &'static str) {
        *self.good.entry(what).or_default() += 1;
    }

    pub(crate) fn sum(&mut self, what: &'static str, place: u64, sum: Option<Checksum>) {
        match sum {
            Some(sum) if sum.matches() => self.good(what),
            Some(sum) => self.problems.push(format!("{what} {place}: {sum:x?}")),
            None => self
                .problems
                .push(format!("{what} {place}: no room for a checksum")),
        }
    }

    pub(crate) fn hold(&mut self, what: &'static str, holds: bool, place: impl std::fmt::Display) {
        if holds {
            self.good(what);
        } else {
            self.problems.push(format!("{what}: {place}"));
        }
    }

    pub(crate) fn error(&mut self, place: impl std::fmt::Display, error: &Error) {
        self.problems.push(format!("{place}: {error}"));
    }
}

/// Walks over an image.
pub(crate) fn walk(image: &Image) -> Report {
    let mut report = Report::default();
    let sb = match image.bytes.get(1024..).map(Superblock::read) {
        Some(Ok(sb)) => *sb,
        Some(Err(error)) => {
            report.error("superblock", &error);
            return report;
        }
        None => return report,
    };
    let geometry = match Geometry::new(&sb) {
        Ok(geometry) => geometry,
        Err(error) => {
            report.error("geometry", &error);
            return report;
        }
    };
    if let Some(sum) = sb.checksum() {
        report.sum("superblock", 0, Some(sum));
    }
    let mut walker = Walker {
        image,
        sb: &sb,
        geometry: &geometry,
        seed: sb.metadata_seed(),
        report,
    };
    walker.groups();
    walker.special();
    walker.report
}

pub(crate) struct Walker<'a> {
    pub(crate) image: &'a Image,
    pub(crate) sb: &'a Superblock,
    pub(crate) geometry: &'a Geometry,
    seed: Option<Seed>,
    pub(crate) report: Report,
}

impl Walker<'_> {
    fn groups(&mut self) {
        let way = DescriptorChecksum::of(self.sb);
        for group in 0..self.geometry.groups {
            let Some(bytes) = self.image.descriptor(self.geometry, group) else {
                self.report
                    .problems
                    .push(format!("descriptor {group} outside"));
                return;
            };
            if way != DescriptorChecksum::None {
                self.report
                    .sum("descriptor", group.into(), way.verify(group, bytes));
            }
            let Ok(desc) = GroupDescriptor::read(bytes, self.geometry.desc_size) else {
                continue;
            };
            self.bitmaps(group, &desc, way.allows_uninit());
            self.backup(group);
        }
    }

    fn backup(&mut self, group: u32) {
        let layout = self.geometry.group_layout(group);
        let Some(block) = layout.superblock.filter(|_| group > 0) else {
            return;
        };
        let Some(bytes) = self.image.block(self.geometry, block) else {
            return;
        };
        match Superblock::read(bytes) {
            Ok(copy) => {
                let same = copy.s_uuid == self.sb.s_uuid
                    && u32::from(copy.s_block_group_nr.get()) == group & 0xffff;
                self.report.hold("backup superblock", same, group);
                if let Some(sum) = copy.checksum() {
                    self.report
                        .sum("backup superblock", group.into(), Some(sum));
                }
            }
            Err(error) => self
                .report
                .error(format_args!("backup superblock {group}"), &error),
        }
    }

    fn bitmaps(&mut self, group: u32, desc: &GroupDescriptor, uninit: bool) {
        let geometry = self.geometry;
        let image = self.image;
        let clusters = geometry.group_clusters(group);
        let block_uninit = uninit && desc.has_flags(BLOCK_UNINIT);
        if let Some(bytes) = image
            .block(geometry, desc.block_bitmap())
            .filter(|_| !block_uninit)
        {
            if let Some(seed) = self.seed {
                let sum = bitmap::block_checksum(seed, geometry, desc, bytes).ok();
                self.report.sum("block bitmap", group.into(), sum);
            }
            if let Ok(map) = Bitmap::new(bytes, clusters) {
                let holds = map.zeros() == desc.free_blocks() && map.padding_is_set();
                self.report.hold("free clusters", holds, group);
            }
        }
        if uninit && desc.has_flags(INODE_UNINIT) {
            return;
        }
        let Some(bytes) = image.block(geometry, desc.inode_bitmap()) else {
            return;
        };
        if let Some(seed) = self.seed {
            let sum = bitmap::inode_checksum(seed, geometry, desc, bytes).ok();
            self.report.sum("inode bitmap", group.into(), sum);
        }
        let Ok(map) = Bitmap::new(bytes, geometry.inodes_per_group) else {
            return;
        };
        self.report
            .hold("free inodes", map.zeros() == desc.free_inodes(), group);
        for index in 0..geometry.inodes_per_group {
            let Some(ino) = geometry.inode_number(group, index) else {
                continue;
            };
            let Some(inode) = image.inode(geometry, ino) else {
                continue;
            };
            if map.get(index) && !inode.is_zero() {
                self.inode(ino, &inode);
            }
        }
    }

    fn inode(&mut self, ino: u32, inode: &Inode<'_>) {
        if let Some(seed) = self.seed {
            self.report
                .sum("inode", ino.into(), Some(inode.checksum(seed, ino)));
        }
        let _ = (
            inode.atime(),
            inode.crtime(),
            inode.projid(),
            inode.uid(),
            inode.version(),
        );
        self.report
            .hold("i_extra_isize", inode.extra_is_legal(), ino);
        let own = self.seed.map(|seed| inode.seed(seed, ino));
        let mapped = files::map(self.image, self.geometry, inode, own);
        *self.report.good.entry("extent node").or_default() += mapped.checksums;
        for problem in &mapped.problems {
            self.report.problems.push(format!("inode {ino}: {problem}"));
        }
        self.attributes(ino, inode);
        self.space(ino, inode, &mapped);
        if inode.file_type() == Some(FileType::Directory) {
            self.directory(ino, inode, &mapped, own);
        }
        match symlink::target(inode) {
            Ok(symlink::Target::Here(first, second)) => {
                let len = (first.len() + second.len()) as u64;
                self.report
                    .hold("symlink in the inode", len == inode.size(), ino);
            }
            Ok(_) => {}
            Err(error) => self.report.error(format_args!("symlink {ino}"), &error),
        }
        if ino == number::RESIZE && self.sb.has_compat(Compat::RESIZE_INODE) {
            self.resize_inode(inode);
        }
    }

    /// `i_blocks` against the blocks found.
    fn space(&mut self, ino: u32, inode: &Inode<'_>, mapped: &files::Mapped) {
        let geometry = self.geometry;
        let cluster = u64::from(geometry.cluster_blocks);
        let all = mapped.data.iter().map(|(_, place, _)| *place);
        let all = all.chain(mapped.metadata.iter().copied());
        let clusters: BTreeSet<u64> = all.map(|block| block / cluster).collect();
        let xattr = u64::from(inode.file_acl() != 0);
        let blocks = (clusters.len() as u64 + xattr) * cluster;
        let huge = self.sb.has_ro_compat(RoCompat::HUGE_FILE);
        let sectors = inode.sectors(huge, geometry.block_size);
        // Values in inodes of their own are counted to their owner; the resize inode counts a whole cluster
        // for each of its blocks, and the list of bad blocks counts nothing.
        let simple = !self.sb.has_incompat(Incompat::EA_INODE)
            && (ino != number::RESIZE || cluster == 1)
            && ino != number::BAD;
        if simple {
            let expected = blocks * u64::from(geometry.block_size / 512);
            self.report.hold(
                "i_blocks",
                sectors == expected,
                format_args!("{ino}: {sectors} not {expected}"),
            );
        }
    }

    fn attributes(&mut self, ino: u32, inode: &Inode<'_>) {
        if let Some(list) = List::of_inode(inode.body()) {
            self.list(ino, list, false);
        }
        let block = inode.file_acl();
        let Some(bytes) = self
            .image
            .block(self.geometry, block)
            .filter(|_| block != 0)
        else {
            return;
        };
        match List::of_block(bytes) {
            Ok(list) => {
                self.list(ino, list, true);
                if let Some(seed) = self.seed {
                    self.report.sum(
                        "xattr block",
                        block,
                        xattr::checksum(bytes, block, seed).ok(),
                    );
                }
                let stored = xattr::Header::read(bytes).map_or(0, |header| header.h_hash.get());
                let hashes = list.entries().flatten().map(|entry| entry.e_hash);
                let holds = stored == 0 || stored == xattr::block_hash(hashes);
                self.report.hold("xattr block hash", holds, ino);
            }
            Err(error) => self
                .report
                .error(format_args!("xattr block {block}"), &error),
        }
    }

    fn list(&mut self, ino: u32, list: List<'_>, in_block: bool) {
        for entry in list.entries() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.report.error(format_args!("inode {ino}"), &error),
            };
            let value = match list.value(&entry) {
                Ok(value) => value,
                Err(error) => {
                    self.report.error(format_args!("inode {ino}"), &error);
                    continue;
                }
            };
            if entry.e_value_inum != 0 {
                self.value_inode(ino, entry.e_value_inum, &entry);
            } else if in_block {
                let any = [Sign::Unsigned, Sign::Signed]
                    .into_iter()
                    .any(|sign| xattr::entry_hash(entry.name, value, sign) == entry.e_hash);
                self.report.hold("xattr entry hash", any, ino);
            }
            if entry.e_name_index == 9 && entry.name == encryption::XATTR_NAME {
                let later = value
                    .first()
                    .is_some_and(|version| *version > encryption::NEWEST_VERSION);
                let holds = later || encryption::Context::read(value).is_some();
                self.report.hold("encryption context", holds, ino);
            }
        }
    }

    fn value_inode(&mut self, owner: u32, ino: u32, entry: &xattr::Entry<'_>) {
        let Some(inode) = self.image.inode(self.geometry, ino) else {
            return self
                .report
                .problems
                .push(format!("value inode {ino} outside"));
        };
        if !inode.has_flags(flag::EA_INODE) || inode.size() > 1 << 20 {
            return self
                .report
                .problems
                .push(format!("value inode {ino} is none"));
        }
        let value = files::content(self.image, self.geometry, &inode);
        let hash = xattr::value_hash(self.sb.seed(), &value);
        if hash != inode.ea_hash() && inode.ea_lustre_owner() == owner {
            // Neither inode nor entry of this kind carries a hash of this value.
            return self.report.good("value inode of Lustre");
        }
        self.report
            .hold("value inode hash", hash == inode.ea_hash(), ino);
        let any = [Sign::Unsigned, Sign::Signed]
            .into_iter()
            .any(|sign| xattr::entry_hash_of_inode(entry.name, hash, sign) == entry.e_hash);
        self.report.hold("xattr entry hash of inode", any, ino);
    }

    fn resize_inode(&mut self, inode: &Inode<'_>) {
        let dind = inode.block_words()[13];
        let Some(bytes) = self
            .image
            .block(self.geometry, dind.into())
            .filter(|_| dind != 0)
        else {
            return;
        };
        let listed: Vec<u32> = ondisk::ext4::block_map::pointers(bytes).collect();
        for reserved in self.geometry.reserved_gdt_map() {
            let there = listed.get(reserved.index as usize).copied().map(u64::from);
            let backups: Vec<u64> = self
                .image
                .block(self.geometry, reserved.block)
                .map(|bytes| {
                    ondisk::ext4::block_map::pointers(bytes)
                        .map(u64::from)
                        .filter(|block| *block != 0)
                        .collect()
                })
                .unwrap_or_default();
            let holds = there == Some(reserved.block) && backups == reserved.backups;
            self.report
                .hold("reserved descriptor block", holds, reserved.block);
        }
    }

    /// Journal, quota files, orphan file, multiple mount protection.
    fn special(&mut self) {
        let geometry = self.geometry;
        let image = self.image;
        if self.sb.has_compat(Compat::HAS_JOURNAL)
            && let Some(inode) = image.inode(geometry, self.sb.s_journal_inum.get())
            && let Some((_, place, _)) = files::map(image, geometry, &inode, None).data.first()
            && let Some(bytes) = image.block(geometry, *place)
        {
            match JournalSuperblock::read(bytes) {
                Ok(journal) => {
                    self.report.hold("journal", journal.log().is_ok(), "log");
                    if let Some(sum) = journal.checksum() {
                        self.report.sum("journal superblock", 0, Some(sum));
                    }
                }
                Err(error) => self.report.error("journal", &error),
            }
        }
        if self.sb.has_ro_compat(RoCompat::QUOTA) {
            for (ino, kind) in [
                (self.sb.s_usr_quota_inum, quota::Kind::User),
                (self.sb.s_grp_quota_inum, quota::Kind::Group),
                (self.sb.s_prj_quota_inum, quota::Kind::Project),
            ] {
                if let Some(inode) = image.inode(geometry, ino.get())
                    && inode.size() < 1 << 20
                {
                    let content = files::content(image, geometry, &inode);
                    match quota::read(&content, kind) {
                        Ok(entries) => {
                            self.report.hold("quota file", !entries.is_empty(), ino);
                        }
                        Err(error) => self.report.error(format_args!("quota file {ino}"), &error),
                    }
                }
            }
        }
        if self.sb.has_compat(Compat::ORPHAN_FILE) {
            self.orphan_file();
        }
        if self.sb.has_incompat(Incompat::MMP)
            && let Some(bytes) = image.block(geometry, self.sb.s_mmp_block.get())
        {
            match (Mmp::read(bytes), self.seed) {
                (Ok(mmp), Some(seed)) => self.report.sum("MMP block", 0, Some(mmp.checksum(seed))),
                (Ok(_), None) => self.report.good("MMP block"),
                (Err(error), _) => self.report.error("MMP block", &error),
            }
        }
    }

    fn orphan_file(&mut self) {
        let ino = self.sb.s_orphan_file_inum.get();
        let Some(inode) = self.image.inode(self.geometry, ino) else {
            return self
                .report
                .problems
                .push(format!("orphan file {ino} outside"));
        };
        for (_, place, _) in files::map(self.image, self.geometry, &inode, None).data {
            let Some(bytes) = self.image.block(self.geometry, place) else {
                continue;
            };
            match OrphanBlock::read(bytes) {
                Ok(block) => {
                    let _ = block.inodes().count();
                    if let Some(seed) = self.seed {
                        let sum = block.checksum(inode.seed(seed, ino), place);
                        self.report.sum("orphan block", place, Some(sum));
                    }
                }
                Err(error) => self
                    .report
                    .error(format_args!("orphan block {place}"), &error),
            }
        }
    }
}
