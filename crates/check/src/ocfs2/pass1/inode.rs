//! One inode: its fields.

use ondisk::ocfs2::dinode::{self, BODY, dynamic, flag};
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::{Dinode, check, directory, feature};

use super::sink::Sink;
use super::{blocks, logs, refcount_tree, xattr};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::coverage::Coverage;
use crate::ocfs2::fsck_ocfs2::Exit;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    CLUSTER_RANGE, INLINE_DATA_FLAG_INVALID, INODE_ALLOC_REPAIR, INODE_BLKNO, INODE_NO_GROUP,
    INODE_NZ_DTIME, INODE_SUBALLOC, INODE_SUBALLOC_BIT, LINKS_HI, META_CRC, REFCOUNT_FLAG_INVALID,
    REFCOUNT_LOC_INVALID, ROOT_NOTDIR,
};
use crate::ocfs2::own::orphans::{Kind, Orphan};
use crate::ocfs2::pass5;
use crate::ocfs2::state::{Counts, Parent};
use crate::ocfs2::usage::Owners;
use crate::ocfs2::volume::{Volume, from, head, signed, value};

/// Judges the block of an inode group.
pub(super) fn check(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    coverage: &Coverage,
    number: u64,
    bytes: &[u8],
) {
    let mut valid = false;
    let mut inode = Dinode {
        i_suballoc_slot: dinode::GLOBAL_SLOT.into(),
        ..head(&[])
    };
    if signed(bytes, dinode::SIGNATURE) {
        inode = head(bytes);
        if inode.i_fs_generation.get() == volume.generation() && inode.has_flag(flag::VALID) {
            valid = fields(volume, state, log, number, &inode);
            if valid {
                body(volume, state, log, number, &inode, bytes);
            }
        }
    }
    allocation(state, log, coverage, number, &inode, valid);
}

/// Whether a block is an inode in use that claims to be another one.
pub(super) fn claims_another_number(volume: &Volume<'_>, number: u64, bytes: &[u8]) -> bool {
    let inode = head(bytes);
    signed(bytes, dinode::SIGNATURE)
        && inode.i_fs_generation.get() == volume.generation()
        && inode.has_flag(flag::VALID)
        && inode.i_blkno.get() != number
}

/// The fields of an inode in use; `false` where its type means nothing, so that it counts as unused.
fn fields(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    number: u64,
    inode: &Dinode,
) -> bool {
    let at = |problem: &'static Problem| Finding::new(problem).inode(number);
    let own = inode.i_blkno.get();
    if own != number {
        log.add(at(&INODE_BLKNO).found(own).expected(number));
    }
    let kind = directory::type_of_mode(inode.i_mode.get());
    let is_directory = kind == 2;
    if own == volume.sb.s_root_blkno.get() && !is_directory {
        log.add(at(&ROOT_NOTDIR).found(format!("{:#o}", inode.i_mode.get())));
    }
    if inode.i_dtime.get() != 0 {
        log.add(at(&INODE_NZ_DTIME).found(inode.i_dtime.get()));
    }
    let inline = inode.has_dynamic(dynamic::INLINE_DATA);
    if inline && !volume.sb.has_incompat(feature::INLINE_DATA) {
        log.add(at(&INLINE_DATA_FLAG_INVALID));
    }
    let refcounted = inode.has_dynamic(dynamic::HAS_REFCOUNT);
    let knows_refcount = volume.sb.has_incompat(feature::REFCOUNT);
    if refcounted && !knows_refcount {
        log.add(at(&REFCOUNT_FLAG_INVALID));
    }
    if !refcounted && knows_refcount && inode.i_refcount_loc.get() != 0 {
        log.add(at(&REFCOUNT_LOC_INVALID).found(inode.i_refcount_loc.get()));
    }
    count(state.counts(), kind, inode, inline);
    remember(volume, state, number, inode);
    if kind != 0 {
        state.set_kind(number, kind);
    }
    if is_directory {
        let parent = Parent {
            orphan: inode.has_flag(flag::ORPHANED),
            ..Parent::default()
        };
        state.directory(number, parent);
    } else if kind == 0 {
        links(volume, state, log, own, 0);
        return false;
    }
    if inode.i_links_count_hi.get() != 0 && !is_directory {
        log.own(
            at(&LINKS_HI)
                .found(inode.i_links_count_hi.get())
                .expected(0_u32),
        );
    }
    let low = inode.i_links_count.get();
    if low > 0 {
        links(volume, state, log, own, low);
        state.counts().links += u64::from(low > 1);
    } else if inode.has_flag(flag::ORPHANED) {
        links(volume, state, log, own, 1);
    }
    true
}

/// Remembers what is compared after pass 5: orphans, and what counts for quota.
fn remember(volume: &Volume<'_>, state: &mut dyn Sink, number: u64, inode: &Dinode) {
    let slots = [
        (flag::ORPHANED, inode.i_orphaned_slot, Kind::Removed),
        (flag::DIO_ORPHANED, inode.i_dio_orphaned_slot, Kind::Direct),
    ];
    for (flag, slot, kind) in slots {
        if inode.has_flag(flag) {
            let slot = slot.get();
            state.orphan(Orphan {
                inode: number,
                slot,
                kind,
            });
        }
    }
    if pass5::applies(volume)
        && (!inode.has_flag(flag::SYSTEM) || number == volume.sb.s_root_blkno.get())
    {
        let owners = Owners {
            user: inode.i_uid.get(),
            group: inode.i_gid.get(),
        };
        state.owned(owners, inode.i_clusters.get());
    }
}

/// Remembers the link count under the number that the inode has of itself, which is outside the bitmap at worst.
fn links(volume: &Volume<'_>, state: &mut dyn Sink, log: &mut Log, own: u64, links: u16) {
    if own >= volume.layout.blocks() {
        log.end(
            Exit::ABORTING,
            Finding::new(&CLUSTER_RANGE).inode(own).note("i_blkno"),
        );
        return;
    }
    state.set_links(own, links);
}

fn count(counts: &mut Counts, kind: u8, inode: &Dinode, inline: bool) {
    counts.files.inodes += u64::from(kind != 0);
    let files = &mut counts.files;
    match kind {
        1 => files.regular += 1,
        2 => files.directories += 1,
        3 => files.char_devices += 1,
        4 => files.block_devices += 1,
        5 => files.fifos += 1,
        6 => files.sockets += 1,
        7 => files.symlinks += 1,
        _ => {}
    }
    counts.inline_files += u64::from(kind == 1 && inline);
    counts.inline_directories += u64::from(kind == 2 && inline);
    counts.fast_symlinks += u64::from(kind == 7 && inode.i_clusters.get() == 0);
    if inode.has_dynamic(dynamic::HAS_REFCOUNT) && kind != 0 {
        counts.reflinks += 1;
    }
}

/// What the inode leads to.
fn body(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    number: u64,
    inode: &Dinode,
    bytes: &[u8],
) {
    let unlisted = flag::LOCAL_ALLOC | flag::CHAIN | flag::DEALLOC;
    let fast = blocks::is_fast_link(inode);
    if !fast && !inode.has_dynamic(dynamic::INLINE_DATA) && inode.i_flags.get() & unlisted == 0 {
        let list: ExtentHead = value(ExtentHead::read(from(bytes, BODY)));
        let depth = usize::from(list.l_tree_depth.get()).min(5);
        state.counts().depths[depth] += 1;
    }
    if inode.has_flag(flag::LOCAL_ALLOC) {
        logs::window(volume, log, inode, bytes);
    } else if inode.has_flag(flag::DEALLOC) {
        logs::truncate(volume, log, inode, bytes);
    }
    checksum(volume, state, log, number, inode, bytes);
    refcount_tree::check(volume, state, log, inode);
    if let Err(end) = blocks::check(volume, state, log, inode, bytes) {
        log.end(end.exit, *end.finding);
        return;
    }
    if let Err(end) = xattr::check(volume, state, log, inode, bytes) {
        log.end(end.exit, *end.finding);
    }
}

/// fsck.ocfs2 compares the checksum of a directory's inode alone; but for the type of what is no regular file either it reads the inode
/// again in pass 2, which a wrong checksum forbids.
fn checksum(
    volume: &Volume<'_>,
    state: &mut dyn Sink,
    log: &mut Log,
    number: u64,
    inode: &Dinode,
    bytes: &[u8],
) {
    let kind = directory::type_of_mode(inode.i_mode.get());
    if !volume.has_checksums() || kind == 2 {
        return;
    }
    let judged = check::validate(&mut bytes.to_vec(), dinode::CHECK);
    let note = match judged {
        Ok(check::Judged::Sound) | Err(_) => return,
        Ok(check::Judged::Corrected) => "one bit is wrong and can be corrected",
        Ok(check::Judged::Bad(_)) => {
            if kind != 1 {
                // No name is right about its type: directories are left to pass 2.
                state.set_kind(number, 0);
            }
            "inode"
        }
    };
    log.own(Finding::new(&META_CRC).inode(number).note(note));
}

/// The inode's bit, and the slot that it names. Nothing is asked after the first wrong bit.
fn allocation(
    state: &mut dyn Sink,
    log: &mut Log,
    coverage: &Coverage,
    number: u64,
    inode: &Dinode,
    valid: bool,
) {
    let Some(place) = coverage.place(number) else {
        if !*state.asked_repair() {
            log.add(Finding::new(&INODE_NO_GROUP).inode(number));
        }
        return;
    };
    let bit = place.in_use;
    if bit != valid {
        let words = |in_use| if in_use { "in use" } else { "free" };
        let finding = Finding::new(&INODE_ALLOC_REPAIR).inode(number);
        let finding = finding.found(words(bit)).expected(words(valid));
        if *state.asked_repair() {
            log.own(finding);
        } else {
            log.add(finding);
        }
        *state.asked_repair() = true;
        return;
    }
    if valid {
        let (own, from) = (inode.i_suballoc_bit.get(), inode.i_suballoc_loc.get());
        if usize::from(own) != place.at || (from != 0 && from != place.group) {
            let finding = Finding::new(&INODE_SUBALLOC_BIT).inode(number);
            log.own(finding.found(own).expected(place.at as u64));
        }
    }
    let slot = place.allocator.wrapping_sub(1);
    if valid && slot != inode.i_suballoc_slot.get() {
        let finding = Finding::new(&INODE_SUBALLOC).inode(number);
        let finding = finding.found(inode.i_suballoc_slot.get()).expected(slot);
        if *state.asked_repair() {
            log.own(finding);
        } else {
            log.add(finding);
        }
    }
}
