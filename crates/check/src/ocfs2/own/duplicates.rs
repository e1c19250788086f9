//! Names that occur twice in a directory, however far apart.
//!
//! fsck.ocfs2 goes through the directory blocks of the volume in ascending order, and remembers the names of a directory while its blocks follow
//! each other, for 4 MiB of them at most. Pass 2 here does the same and keeps account of the directories whose names it had to forget: only
//! those are read once more. Their names are compared by hashes of 64 bits, at most 32 MiB of hashes at a time. Names with equal hashes
//! are compared letter by letter.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::names;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::ocfs2::fsck_ocfs2::log::Log;
use crate::ocfs2::fsck_ocfs2::problems::DIRENT_DUPLICATE_FAR;
use crate::ocfs2::volume::Volume;

/// Hashes that are compared together.
const TOGETHER: usize = 4 << 20;
/// Names of a directory, and of all that are known to occur twice, that are kept: no sound volume has one.
const MOST: usize = 1 << 16;

/// What pass 2 knows of names that occur twice.
#[derive(Debug, Default)]
pub(crate) struct Twice {
    /// Directories of which it has not compared all names.
    pub(crate) forgotten: BTreeSet<u64>,
    /// Directory and hash of names that it has reported.
    known: HashSet<(u64, u64)>,
}

impl Twice {
    /// Takes a name that was reported.
    pub(crate) fn reported(&mut self, directory: u64, name: &[u8]) {
        if self.known.len() < MOST {
            self.known.insert((directory, hash(name)));
        }
    }
}

/// Compares the names of the directories whose names pass 2 forgot.
///
/// # Errors
/// The check was cancelled, or outgrew its memory.
pub(super) fn check(volume: &Volume<'_>, twice: &Twice, log: &mut Log) -> Result<(), Failure> {
    for &directory in &twice.forgotten {
        volume.go_on()?;
        let candidates = same_hashes(volume, directory, TOGETHER);
        if !candidates.is_empty() {
            report(volume, directory, &candidates, twice, log);
        }
    }
    Ok(())
}

/// Hashes that several names of a directory have, `together` of them compared at a time: the lowest first, then those above them.
fn same_hashes(volume: &Volume<'_>, directory: u64, together: usize) -> HashSet<u64> {
    let mut found = HashSet::new();
    let mut from = 0;
    loop {
        let mut part = Part::new(from, together);
        let read = names::each(volume, directory, &mut |_, name| {
            part.extend(name.map(hash));
        });
        part.hashes.sort_unstable();
        let same = part.hashes.windows(2).filter(|pair| pair[0] == pair[1]);
        found.extend(same.map(|pair| pair[0]).take(MOST));
        if read.is_err() || part.to == u64::MAX || found.len() >= MOST {
            return found;
        }
        from = part.to + 1;
    }
}

/// As many of the lowest hashes from `from` on as are compared together.
struct Part {
    from: u64,
    /// The highest hash that is kept.
    to: u64,
    together: usize,
    hashes: Vec<u64>,
}

impl Part {
    fn new(from: u64, together: usize) -> Part {
        Part {
            from,
            to: u64::MAX,
            together,
            hashes: Vec::new(),
        }
    }

    /// Leaves the lower half, and of each hash no more than two: they say as much as a million.
    fn shrink(&mut self) {
        self.hashes.sort_unstable();
        let mut last = (0, 0);
        self.hashes.retain(|&hash| {
            last = (hash, if hash == last.0 { last.1 + 1 } else { 1 });
            last.1 <= 2
        });
        if let Some(&middle) = self.hashes.get(self.together / 2) {
            self.to = middle;
            let end = self.hashes.partition_point(|&hash| hash <= middle);
            self.hashes.truncate(end);
        }
    }
}

impl Extend<u64> for Part {
    fn extend<T: IntoIterator<Item = u64>>(&mut self, hashes: T) {
        for hash in hashes {
            if hash < self.from || hash > self.to {
                continue;
            }
            self.hashes.push(hash);
            if self.hashes.len() > self.together {
                self.shrink();
            }
        }
    }
}

/// Reports the names with these hashes that occur twice and are not known.
fn report(
    volume: &Volume<'_>,
    directory: u64,
    candidates: &HashSet<u64>,
    twice: &Twice,
    log: &mut Log,
) {
    let mut seen: HashMap<Vec<u8>, bool> = HashMap::new();
    let _ = names::each(volume, directory, &mut |block, name| {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return;
        };
        let hash = hash(name);
        if !candidates.contains(&hash) || twice.known.contains(&(directory, hash)) {
            return;
        }
        let room = seen.len() < MOST;
        match seen.get_mut(name) {
            Some(true) => {}
            Some(reported) => {
                *reported = true;
                let finding = Finding::new(&DIRENT_DUPLICATE_FAR).directory(directory);
                log.own(finding.block(block).name(name));
            }
            None if room => {
                seen.insert(name.to_vec(), false);
            }
            None => {}
        }
    });
}

/// A hash by which names are sorted into equal and different ones; the same for each run.
fn hash(name: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every part of the hashes is seen once, and in pieces no larger than asked for.
    #[test]
    fn parts_cover_all_hashes() {
        let all: Vec<u64> = (0..1000_u32)
            .map(|number| hash(&number.to_le_bytes()))
            .collect();
        let (mut from, mut seen) = (0, Vec::new());
        loop {
            let mut part = Part::new(from, 64);
            part.extend(all.iter().copied());
            assert!(part.hashes.len() <= 64);
            seen.append(&mut part.hashes);
            if part.to == u64::MAX {
                break;
            }
            from = part.to + 1;
        }
        seen.sort_unstable();
        let mut sorted = all;
        sorted.sort_unstable();
        assert_eq!(seen, sorted);
    }

    #[test]
    fn one_hash_many_times_takes_no_room() {
        let mut part = Part::new(0, 64);
        part.extend(std::iter::repeat_n(7, 10_000));
        assert!(part.hashes.len() <= 64 && part.hashes.len() >= 2);
        assert!(part.hashes.iter().all(|&hash| hash == 7));
        assert_eq!(part.to, u64::MAX);
    }
}
