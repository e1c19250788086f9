//! Roots of indexes that pass 2 reads anyway.
//!
//! A root is the first block of its directory, and pass 2 reads all blocks of all directories. Reading it in pass 1 as well cost one more
//! request for each directory: on a disk that does 200 requests a second that was a quarter of the time of a check of a
//! million files. So pass 1's findings about a root are made when pass 2 holds the block; findings are put into
//! order by their pass, whenever they are made. Only roots that pass 2 will not come by are read ahead of it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use blockio::{Content, Piece};
use ondisk::ext4::feature::Incompat;

use super::index;
use super::pending::Root;
use crate::ext4::directories::Run;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::order::stage;
use crate::ext4::e2fsck::problems::{P1_HTREE_BADROOT, P2_FEATURE_LARGE_DIRS};
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;

/// Those that wait for pass 2.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    /// Ascending by inode, one each.
    list: Vec<Root>,
    /// Whether a directory needs the feature `large_dir`.
    large: AtomicBool,
}

impl Roots {
    /// Takes those of `roots` whose block begins one of the runs; gives back the others.
    pub(super) fn take(&mut self, roots: Vec<Root>, runs: &[Run]) -> Vec<Root> {
        let begins = |run: &&Run| run.logical == 0 && run.physical != 0;
        let firsts = runs.iter().filter(begins);
        let mut firsts: Vec<_> = firsts.map(|run| (run.physical, run.inode)).collect();
        firsts.sort_unstable();
        let (waiting, others) = roots.into_iter().partition(|root| is_read(root, &firsts));
        self.list = waiting;
        self.list.sort_unstable_by_key(|root| root.ino);
        others
    }

    /// Looks at a part of a run that pass 2 has read: if it holds a root that waits, that is judged.
    pub(crate) fn look(&self, volume: &Volume<'_>, run: &Run, piece: &Piece<'_>, log: &mut Log) {
        let size = volume.block_size();
        let begins = run.logical == 0 && piece.offset / size as u64 == run.physical;
        if !begins {
            return;
        }
        let Ok(at) = self.list.binary_search_by_key(&run.inode, |root| root.ino) else {
            return;
        };
        let root = &self.list[at];
        if root.block != run.physical {
            return;
        }
        log.stage(stage::INDEX);
        match &piece.content {
            Content::Data(bytes) if bytes.len() >= size => {
                self.judge(volume, root, Some(&bytes[..size]), log);
            }
            Content::Hole(len) if *len >= size as u64 => {
                self.judge(volume, root, Some(&vec![0; size]), log);
            }
            _ => self.judge(volume, root, None, log),
        }
        log.stage(stage::FIELDS);
    }

    /// Judges a root, if it could be read.
    pub(super) fn judge(
        &self,
        volume: &Volume<'_>,
        root: &Root,
        block: Option<&[u8]>,
        log: &mut Log,
    ) {
        match block {
            Some(block) => {
                let large = index::judge(volume, root, block, log);
                self.large.fetch_or(large, Relaxed);
            }
            None => log.add(
                Finding::new(&P1_HTREE_BADROOT)
                    .inode(root.ino)
                    .block(root.block)
                    .logical(0)
                    .note("the block cannot be read"),
            ),
        }
    }

    /// After all were seen: what they show about the superblock.
    pub(crate) fn finish(&self, volume: &Volume<'_>, log: &mut Log) {
        if self.large.load(Relaxed) && !volume.sb.has_incompat(Incompat::LARGEDIR) {
            log.add(Finding::new(&P2_FEATURE_LARGE_DIRS));
        }
    }
}

/// Whether that root's block is exactly once the first of its directory; `firsts` are all such blocks and their directories, ascending.
fn is_read(root: &Root, firsts: &[(u64, u32)]) -> bool {
    let own = (root.block, root.ino);
    let before = firsts.partition_point(|first| *first < own);
    let after = firsts.partition_point(|first| *first <= own);
    after - before == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(block: u64, ino: u32) -> Root {
        Root {
            block,
            size: 8192,
            ino,
            sectors: 16,
            hashes_beside_names: false,
        }
    }

    fn run(physical: u64, logical: u32, inode: u32) -> Run {
        Run {
            physical,
            logical,
            len: 2,
            inode,
        }
    }

    /// Each looked through all of them once: 40,000,000,000 steps, some minutes.
    #[test]
    fn a_crowd_on_one_block_is_no_square() {
        let inodes = 11..200_011;
        let runs: Vec<_> = inodes.clone().map(|ino| run(100, 0, ino)).collect();
        let mut roots = Roots::default();
        let begun = std::time::Instant::now();
        let others = roots.take(inodes.rev().map(|ino| root(100, ino)).collect(), &runs);
        assert!(others.is_empty() && roots.list.len() == 200_000);
        assert!(roots.list.is_sorted_by_key(|root| root.ino));
        assert!(begun.elapsed() < testkit::HANGS, "{:?}", begun.elapsed());
    }

    #[test]
    fn only_what_is_read_once_waits() {
        let mut runs = vec![
            run(100, 0, 12),
            run(100, 0, 13),
            run(200, 1, 14),
            run(300, 0, 15),
            run(300, 0, 15),
            run(400, 0, 17),
        ];
        runs.reverse();
        let mut roots = Roots::default();
        let all = [
            (400, 17),
            (100, 13),
            (200, 14),
            (300, 15),
            (100, 12),
            (500, 18),
        ];
        let all = all.into_iter().map(|(block, ino)| root(block, ino));
        let others = roots.take(all.collect(), &runs);
        let inodes = |roots: &[Root]| roots.iter().map(|root| root.ino).collect::<Vec<_>>();
        assert_eq!(inodes(&others), [14, 15, 18]);
        assert_eq!(inodes(&roots.list), [12, 13, 17]);
    }
}
