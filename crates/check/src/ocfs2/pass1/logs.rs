//! Windows of the local allocators and truncate logs.

use ondisk::ocfs2::chain::bit;
use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::logs::{TruncateHead, local_alloc_room, truncate_room};
use ondisk::ocfs2::{Dinode, LocalAlloc, TruncateLog, system};

use crate::frame::finding::Finding;
use crate::frame::problem::Problem;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::{
    DEALLOC_COUNT, DEALLOC_USED, LALLOC_BM_OVERRUN, LALLOC_BM_SIZE, LALLOC_BM_STRADDLE,
    LALLOC_CLEAR, LALLOC_NZ_BM, LALLOC_NZ_USED, LALLOC_SIZE, LALLOC_USED_OVERRUN,
    TRUNCATE_REC_RANGE, TRUNCATE_REC_START_RANGE, TRUNCATE_REC_WRAP,
};
use crate::ocfs2::lookup;
use crate::ocfs2::state::State;
use crate::ocfs2::volume::{Volume, from, head, value};

/// Judges the window of a local allocator.
pub(super) fn window(volume: &Volume<'_>, log: &mut Log, inode: &Dinode, bytes: &[u8]) {
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    let window: LocalAlloc = value(LocalAlloc::read(from(bytes, BODY)));
    let room = local_alloc_room(volume.block_size()) as u64;
    let (used, total) = (inode.used(), inode.total());
    let (first, size) = (window.la_bm_off.get(), window.la_size.get());
    let mut broken = false;
    if u64::from(size) > room {
        broken = true;
        log.add(at(&LALLOC_SIZE).found(size).expected(room));
    }
    if total == 0 {
        if used != 0 {
            log.add(at(&LALLOC_NZ_USED).found(used).expected(0_u32));
        }
        if first != 0 {
            log.add(at(&LALLOC_NZ_BM).found(first).expected(0_u32));
        }
    } else {
        broken |= bounds(volume, log, &at, [first, size.into(), used, total]);
    }
    if broken {
        log.add(at(&LALLOC_CLEAR));
    }
}

fn bounds(
    volume: &Volume<'_>,
    log: &mut Log,
    at: &dyn Fn(&'static Problem) -> Finding,
    [first, size, used, total]: [u32; 4],
) -> bool {
    let mut broken = false;
    if first >= volume.clusters() {
        broken = true;
        log.add(at(&LALLOC_BM_OVERRUN).found(first));
    }
    if total > size * 8 {
        broken = true;
        log.add(at(&LALLOC_BM_SIZE).found(total).expected(size * 8));
    }
    if first.wrapping_add(total) > volume.clusters() {
        log.add(at(&LALLOC_BM_STRADDLE).found(first.wrapping_add(total)));
        return true;
    }
    if used > total {
        broken = true;
        log.add(at(&LALLOC_USED_OVERRUN).found(used).expected(total));
    }
    broken
}

/// Judges a truncate log.
pub(super) fn truncate(volume: &Volume<'_>, log: &mut Log, inode: &Dinode, bytes: &[u8]) {
    let at = |problem: &'static Problem| Finding::new(problem).inode(inode.i_blkno.get());
    let Ok(records) = TruncateLog::read(from(bytes, BODY)) else {
        return;
    };
    let listed: TruncateHead = *records.head();
    let room = truncate_room(volume.block_size());
    if usize::from(listed.tl_count.get()) > room {
        log.add(
            at(&DEALLOC_COUNT)
                .found(listed.tl_count.get())
                .expected(room as u64),
        );
    }
    if listed.tl_used.get() > listed.tl_count.get() {
        log.add(
            at(&DEALLOC_USED)
                .found(listed.tl_used.get())
                .expected(listed.tl_count.get()),
        );
    }
    let clusters = volume.clusters();
    for record in records.first(room.min(listed.tl_used.get().into())) {
        let (first, count) = (record.t_start.get(), record.t_clusters.get());
        if first == 0 {
            continue;
        }
        let end = first.wrapping_add(count);
        if first >= clusters {
            log.add(at(&TRUNCATE_REC_START_RANGE).found(first));
        }
        if end < first {
            log.add(at(&TRUNCATE_REC_WRAP).found(count));
        }
        if end > clusters {
            log.add(at(&TRUNCATE_REC_RANGE).found(end).expected(clusters));
        }
    }
}

/// A window of a local allocator.
pub(super) struct Window {
    /// The allocator.
    pub(super) inode: u64,
    /// The first cluster.
    pub(super) first: u32,
    /// Clusters.
    pub(super) total: u32,
}

/// Marks the free bits of all windows: their clusters are set in the global bitmap. Gives the windows that can be used.
pub(super) fn mark_windows(volume: &Volume<'_>, state: &mut State, log: &mut Log) -> Vec<Window> {
    let mut windows = Vec::new();
    for slot in 0..volume.slots() {
        let Some(bytes) = slot_file(volume, "local_alloc", slot) else {
            return windows;
        };
        let inode = head(&bytes);
        let window: LocalAlloc = value(LocalAlloc::read(from(&bytes, BODY)));
        let (first, size) = (window.la_bm_off.get(), u32::from(window.la_size.get()));
        let (used, total) = (inode.used(), inode.total());
        let room = local_alloc_room(volume.block_size()) as u32;
        if total == 0 || size > room || used > total || total > size * 8 {
            continue;
        }
        let end = u64::from(first.wrapping_add(total));
        if first >= volume.clusters() || end < first.into() || end > volume.clusters().into() {
            continue;
        }
        for at in 0..total {
            if !bit(from(&bytes, BODY + LocalAlloc::SIZE), at as usize) {
                state.mark(volume, log, first + at, 1);
            }
        }
        windows.push(Window {
            inode: inode.i_blkno.get(),
            first,
            total,
        });
    }
    windows
}

/// Marks the clusters of all truncate logs: they are free once the log is replayed, and not before.
pub(super) fn mark_truncated(volume: &Volume<'_>, state: &mut State, log: &mut Log) {
    let room = truncate_room(volume.block_size());
    for slot in 0..volume.slots() {
        let Some(bytes) = slot_file(volume, "truncate_log", slot) else {
            return;
        };
        let Ok(records) = TruncateLog::read(from(&bytes, BODY)) else {
            continue;
        };
        let used = room.min(records.head().tl_used.get().into());
        for record in records
            .first(used)
            .filter(|record| record.t_start.get() != 0)
        {
            state.mark(volume, log, record.t_start.get(), record.t_clusters.get());
        }
    }
}

fn slot_file(volume: &Volume<'_>, name: &str, slot: u16) -> Option<crate::ocfs2::blocks::Block> {
    let number = lookup::system(volume, &system::slot_file(name, slot)).ok()?;
    volume.inode(number).ok()
}
