//! Directories with more than one name.
//!
//! The first name that e2fsck meets makes the parent, every other is a fault. Here the first that any thread meets makes
//! the parent provisionally, and each further name is recorded; the records are resolved at the end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use ondisk::ext4::directory::{HEAD, LONGEST_NAME};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::order;
use crate::ext4::e2fsck::problems::P2_LINK_DIR;
use crate::ext4::pass2::shared::Shared;
use crate::ext4::pass2::worker::Second;
use crate::frame::finding::Finding;

/// Reports the names after the first, and sets the parents that e2fsck would have.
pub(super) fn settle(shared: &Shared<'_>, seconds: Vec<Second>, log: &mut Log) {
    let mut by_child: BTreeMap<usize, Vec<Second>> = BTreeMap::new();
    for second in seconds {
        by_child.entry(second.child).or_default().push(second);
    }
    for (child, mut names) in by_child {
        let directory = &shared.state.directories.list[child];
        let held = directory.parent.load(Relaxed);
        let held_at = shared.named_at[child].load(Relaxed);
        names.sort_unstable_by_key(|name| (name.key, name.parent));
        let is_late = |name: &Second| (held_at, held) > (name.key, name.parent);
        if let Some(first) = names.first().filter(|first| is_late(first)) {
            directory.parent.store(first.parent, Relaxed);
            shared.named_at[child].store(first.key, Relaxed);
            let displaced = Second {
                child,
                key: held_at,
                parent: held,
                name: name_at(shared, held_at),
            };
            names[0] = displaced;
        }
        let parent = directory.parent.load(Relaxed);
        for name in names {
            let mut finding = Finding::new(&P2_LINK_DIR)
                .inode(directory.inode)
                .directory(name.parent)
                .found(name.parent)
                .expected(parent)
                .note("a directory has one name, and the first is in the other directory")
                .order(name.key)
                .listed(u32::MAX, u32::MAX);
            if !name.name.is_empty() {
                finding = finding.name(&name.name);
            }
            if let Some((block, offset)) = order::place(name.key) {
                finding = finding.block(block).offset(offset);
            }
            log.add(finding);
        }
    }
}

/// The name in the entry of that key, read again; nothing where it is not in a block of its own.
fn name_at(shared: &Shared<'_>, key: u64) -> Vec<u8> {
    let Some((block, offset)) = order::place(key) else {
        return Vec::new();
    };
    let size = shared.volume.block_size();
    let mut record = vec![0; (HEAD + LONGEST_NAME).min(size - offset)];
    let at = block
        .saturating_mul(size as u64)
        .saturating_add(offset as u64);
    if shared.volume.source.read_at(&mut record, at).is_err() || record.len() < HEAD {
        return Vec::new();
    }
    let len = usize::from(record[6]);
    record.drain(..HEAD);
    record.truncate(len);
    record
}
