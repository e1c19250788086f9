//! Directories in which a name is used twice.
//!
//! e2fsck notices twins within a block, and then reads the whole directory in order to build it anew (pass 3A), under `-n` as
//! well; only there it reports the names. A directory whose duplicates are all in different blocks is sound to it.
//!
//! The names of a large directory do not fit into memory, so it is read twice: first only for the hashes of its names, and then
//! for the names of those hashes that came more than once. Both readings ask who watches, and whether there is room, every
//! few blocks: what they list has no bound but the directory.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use ondisk::ext4::casefold::Folded;
use ondisk::ext4::directory::{Entry, TAIL};
use ondisk::ext4::feature::Compat;
use ondisk::ext4::inode::flag;

use crate::ext4::directories::Run;
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::order::LAST;
use crate::ext4::e2fsck::problems::{
    P2_DUPLICATE_DIRENT, P2_NON_UNIQUE_FILE, P2_NON_UNIQUE_FILE_NO_RENAME,
};
use crate::ext4::pass2::block::entry_at;
use crate::ext4::pass2::names;
use crate::ext4::pass2::names::fold;
use crate::ext4::pass2::shared::{Dir, Shared};
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;

/// What e2fsck takes a record to have at least when it builds a directory anew: a head, and hashes.
const HEAD: usize = 8;
const HASHES: usize = 8;
/// Bytes of the records of `.` or `..`.
const DOTS: usize = 12;

/// One of several entries of a name.
#[derive(Clone)]
struct Twin {
    inode: u32,
    block: u64,
    offset: usize,
    name: Vec<u8>,
}

/// Blocks between two looks at who watches and at memory.
const LOOK: u64 = 64;

/// Finds the names that a directory has twice. `runs`: where its blocks lie, in its own order.
///
/// # Errors
/// The check was stopped, or has all the memory it may.
pub(super) fn check(
    shared: &Shared<'_>,
    dir: &Dir<'_>,
    runs: &[Run],
    log: &mut Log,
) -> Result<(), Failure> {
    if dir.directory.flags & flag::INLINE_DATA != 0 {
        return Ok(());
    }
    let mut reader = Reader {
        shared,
        dir,
        runs,
        with_dots: is_plain(shared, dir),
    };
    let mut survey = reader.survey()?;
    let least = shared.volume.block_size() - 2 * DOTS;
    if !reader.with_dots && survey.as_ref().is_some_and(|survey| survey.bytes < least) {
        reader.with_dots = true;
        survey = reader.survey()?;
    }
    // Where a chain is broken, e2fsck cannot rebuild it and reports nothing about its names.
    let Some(survey) = survey else { return Ok(()) };
    for (first, second) in &survey.odd {
        report(dir, first, second, log);
    }
    for mut twins in reader.twins(&survey.again)?.into_values() {
        // The sort is stable, so that of equal ones the first stays.
        twins.sort_by_key(|twin| std::cmp::Reverse(twin.inode));
        for pair in twins.windows(2) {
            report(dir, &pair[0], &pair[1], log);
        }
    }
    shared.volume.guard.hold()
}

/// Whether e2fsck would build it without an index; then `.` and `..` are names like others.
fn is_plain(shared: &Shared<'_>, dir: &Dir<'_>) -> bool {
    let size = shared.volume.block_size() as u64;
    !shared.volume.sb.has_compat(Compat::DIR_INDEX) || dir.directory.size / size < 2
}

fn report(dir: &Dir<'_>, first: &Twin, second: &Twin, log: &mut Log) {
    let mut add = |problem| {
        let finding = Finding::new(problem)
            .inode(second.inode)
            .directory(dir.inode())
            .block(second.block)
            .offset(second.offset)
            .name(&second.name)
            .order(LAST | u64::from(dir.inode()));
        log.add(finding.found(format!("inodes {} and {}", first.inode, second.inode)));
    };
    if first.inode == second.inode {
        add(&P2_DUPLICATE_DIRENT);
    }
    // A name cannot be changed without the key.
    if dir.directory.flags & flag::ENCRYPT != 0 {
        add(&P2_NON_UNIQUE_FILE_NO_RENAME);
    }
    add(&P2_NON_UNIQUE_FILE);
}

struct Reader<'r, 'a> {
    shared: &'r Shared<'a>,
    dir: &'r Dir<'a>,
    runs: &'r [Run],
    /// Built without an index: then `.` and `..` are names like others.
    with_dots: bool,
}

/// The result of a first reading.
#[derive(Default)]
struct Survey {
    /// Hashes that came more than once.
    again: HashSet<u64>,
    /// Bytes that all entries need.
    bytes: usize,
    /// Duplicates among the first two entries and the one sorted after them. Without an index the first two stay where they are, so
    /// that they are compared with their neighbours alone.
    odd: Vec<(Twin, Twin)>,
}

impl Reader<'_, '_> {
    fn folded<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        match fold(name) {
            Folded::Name(name) if self.dir.folds => name,
            _ => Cow::Borrowed(name),
        }
    }

    fn hash(&self, name: &[u8]) -> u64 {
        names::hash(&self.folded(name))
    }

    /// Reads it for the hashes of its names; none if a chain is broken.
    fn survey(&self) -> Result<Option<Survey>, Failure> {
        let mut survey = Survey::default();
        let mut hashes = Vec::new();
        let (mut heads, mut least): (Vec<Twin>, Option<Twin>) = (Vec::new(), None);
        let key = |twin: &Twin| (self.folded(&twin.name).into_owned(), !twin.inode);
        let broken = self.each(|entry, block| {
            survey.bytes += entry.needed(self.dir.stores_hashes);
            if self.with_dots {
                if heads.len() < 2 {
                    heads.push(twin(entry, block));
                    return;
                }
                let twin = twin(entry, block);
                if least.as_ref().is_none_or(|least| key(&twin) < key(least)) {
                    least = Some(twin);
                }
            }
            hashes.push(self.hash(entry.name));
        })?;
        if broken {
            return Ok(None);
        }
        heads.extend(least);
        let same = |pair: &&[Twin]| self.folded(&pair[0].name) == self.folded(&pair[1].name);
        let odd = heads.windows(2).filter(same);
        survey.odd = odd.map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        hashes.sort_unstable();
        let pairs = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
        survey.again = pairs.map(|pair| pair[0]).collect();
        self.shared.volume.guard.hold()?;
        Ok(Some(survey))
    }

    /// Reads it again for the names of some hashes.
    fn twins(&self, again: &HashSet<u64>) -> Result<BTreeMap<Vec<u8>, Vec<Twin>>, Failure> {
        let mut twins: BTreeMap<Vec<u8>, Vec<Twin>> = BTreeMap::new();
        if again.is_empty() {
            return Ok(twins);
        }
        let mut first = if self.with_dots { 2 } else { 0 };
        self.each(|entry, block| {
            if first > 0 {
                first -= 1;
            } else if again.contains(&self.hash(entry.name)) {
                let name = self.folded(entry.name).into_owned();
                twins.entry(name).or_default().push(twin(entry, block));
            }
        })?;
        Ok(twins)
    }

    /// Shows each entry in use; whether a chain is broken by the measure of one who builds it anew.
    fn each(&self, mut show: impl FnMut(&Entry<'_>, u64)) -> Result<bool, Failure> {
        let volume = self.shared.volume;
        let size = volume.block_size();
        let blocks = self.runs.iter().map(|run| u64::from(run.len));
        let blocks: u64 = blocks.sum();
        volume.progress.expect(blocks.saturating_mul(size as u64));
        let mut bytes = vec![0; size];
        let mut read = 0;
        let mut broken = false;
        for (physical, logical) in self.runs.iter().flat_map(blocks_of) {
            if read % LOOK == 0 {
                if volume.progress.cancelled() {
                    return Err(Failure::Stopped);
                }
                volume.guard.hold()?;
            }
            read += 1;
            volume.progress.advance(size as u64);
            let at = physical.saturating_mul(size as u64);
            broken = volume.source.read_at(&mut bytes, at).is_err()
                || self.is_broken(&bytes, physical, logical, &mut show);
            if broken {
                break;
            }
        }
        volume
            .progress
            .advance((blocks - read).saturating_mul(size as u64));
        Ok(broken)
    }

    /// The same of one block.
    fn is_broken(
        &self,
        bytes: &[u8],
        physical: u64,
        logical: u32,
        show: &mut impl FnMut(&Entry<'_>, u64),
    ) -> bool {
        let size = bytes.len();
        let block_size = self.shared.volume.geometry.block_size;
        let mut offset = 0;
        while offset < size {
            let dots = logical == 0 && offset <= 12;
            let tail = self.dir.seed.is_some() && offset == size - TAIL;
            let with_hash = self.dir.stores_hashes && !dots && !tail;
            let least = HEAD + if with_hash { HASHES } else { 0 };
            let Some(entry) = loose(bytes, offset, least, block_size) else {
                return true;
            };
            offset += entry.rec_len;
            if entry.inode == 0 {
                continue;
            }
            if entry.name.is_empty() {
                return true;
            }
            if self.with_dots || !matches!(entry.name, b"." | b"..") {
                show(&entry, physical);
            }
        }
        false
    }
}

/// The blocks of a run: on the device, and in the directory.
fn blocks_of(run: &Run) -> impl Iterator<Item = (u64, u32)> + use<> {
    let Run {
        physical, logical, ..
    } = *run;
    (0..run.len).map(move |nth| (physical + u64::from(nth), logical.saturating_add(nth)))
}

fn twin(entry: &Entry<'_>, block: u64) -> Twin {
    Twin {
        inode: entry.inode,
        block,
        offset: entry.offset,
        name: entry.name.to_vec(),
    }
}

/// An entry by a looser measure than [`entry_at`]: a record may be as short as its name.
fn loose(bytes: &[u8], at: usize, least: usize, block_size: u32) -> Option<Entry<'_>> {
    if let Ok(entry) = entry_at(bytes, at, bytes.len(), false, block_size) {
        return (entry.name.len() + least <= entry.rec_len).then_some(entry);
    }
    let head = bytes.get(at..)?.first_chunk::<8>()?;
    let raw = u16::from_le_bytes([head[4], head[5]]);
    let rec_len = ondisk::ext4::directory::rec_len_from_disk(raw, block_size);
    let name_len = usize::from(head[6]);
    if rec_len < least || !rec_len.is_multiple_of(4) || name_len + least > rec_len {
        return None;
    }
    let record = bytes.get(at..at + rec_len)?;
    let (name, slack) = record[HEAD..].split_at(name_len);
    Some(Entry {
        offset: at,
        inode: u32::from_le_bytes([head[0], head[1], head[2], head[3]]),
        rec_len,
        file_type: head[7],
        name,
        slack,
    })
}
