//! Files of `xfs_metadump`, read as the device that they were made of.
//!
//! Version 1 repeats an index block and the blocks that it lists, 512 bytes each: magic, number of blocks (u16), log of their size (9), flags, and
//! the addresses in units of 512 bytes. An index that is not full is the last. Version 2 (xfsprogs 6.6) has a header of 24 bytes, then runs: an
//! address and a length in units of 512 bytes, and the data.
//!
//! Contents of files are not in a dump, and names are changed unless it was made with `-o`, to others of the same length and hash. What a
//! dump has is what the check reads; where damage leads to a block that is not in the dump, the block reads as zeros, and a finding about it says
//! that it is not in the dump.

use blockio::{BlockSource, Run, Scattered};
use ondisk::bytes::{be16, be32, be64};
use ondisk::xfs::superblock::SIZE;
use ondisk::xfs::{Geometry, Superblock};

use crate::frame::report::Report;

/// `XFSM`.
const MAGIC_V1: u32 = 0x5846_534d;
/// `XMD2`.
const MAGIC_V2: u32 = 0x584d_4432;
/// Bytes of a block of version 1.
const BLOCK: u64 = 512;
/// Addresses of an index block.
const ADDRESSES: usize = 63;
/// Header of version 2.
const HEADER_V2: u64 = 24;
/// Bits of an address in version 2; those above name a device.
const ADDRESS_V2: u64 = (1 << 54) - 1;

/// The version of a dump; none for anything else.
pub(crate) fn version(source: &dyn BlockSource) -> Option<u8> {
    let mut magic = [0; 4];
    source.read_at(&mut magic, 0).ok()?;
    match be32(&magic, 0) {
        MAGIC_V1 => Some(1),
        MAGIC_V2 => Some(2),
        _ => None,
    }
}

/// What a dump leaves out and changes, for people.
pub(crate) fn description(source: &dyn BlockSource) -> String {
    const KNOWN_V1: u8 = 1;
    const OBFUSCATED_V1: u8 = 2;
    const OBFUSCATED_V2: u32 = 1;
    let mut head = [0; HEADER_V2 as usize];
    let read = source.read_at(&mut head, 0).is_ok();
    let names = match version(source).filter(|_| read) {
        Some(2) if be32(&head, 8) & OBFUSCATED_V2 == 0 => "names are those of the filesystem",
        Some(1) if head[7] & (KNOWN_V1 | OBFUSCATED_V1) == KNOWN_V1 => {
            "names are those of the filesystem"
        }
        Some(1) if head[7] & KNOWN_V1 == 0 => "names may be changed",
        _ => {
            "names and values of attributes are changed: names of 5 bytes and more, access control lists and targets of links \
             are not those of the filesystem"
        }
    };
    format!("a file of xfs_metadump: contents of files are not in it; {names}")
}

/// Says of findings about blocks and inodes that the dump does not have that it does not.
pub(crate) fn mark(device: &dyn BlockSource, report: &mut Report) {
    let mut bytes = [0; SIZE];
    if device.read_at(&mut bytes, 0).is_err() {
        return;
    }
    let Some(geo) = Superblock::read(&bytes)
        .ok()
        .and_then(|sb| Geometry::new(sb).ok())
    else {
        return;
    };
    let is_absent = |at: u64, len: u32| {
        let end = at.saturating_add(len.into());
        device.next_data(at).is_none_or(|data| data.start >= end)
    };
    for finding in &mut report.findings.list {
        let place = &finding.place;
        let block = place.block.filter(|block| geo.is_block(*block));
        let inode = place.inode.filter(|ino| geo.is_inode(*ino));
        let absent = match (block, inode) {
            (Some(block), _) => is_absent(geo.block_offset(block), geo.block_size),
            (None, Some(ino)) => is_absent(geo.ino_offset(ino), geo.inode_size),
            (None, None) => false,
        };
        if absent {
            let note = finding.note.take();
            let before = note.map_or_else(String::new, |note| format!("{note}; "));
            finding.note = Some(format!("{before}not in the dump"));
        }
    }
}

/// The device of a dump.
///
/// # Errors
/// Why the dump cannot be used.
pub(crate) fn open(source: &dyn BlockSource) -> Result<Scattered<&dyn BlockSource>, String> {
    let runs = match version(source) {
        Some(1) => first(source),
        Some(2) => second(source),
        _ => None,
    };
    let runs = runs.ok_or("the xfs_metadump file ends in the middle; make it again")?;
    let mut bytes = [0; SIZE];
    let head = runs
        .iter()
        .find(|run| run.at == 0 && run.len >= SIZE as u64);
    let sb = head
        .and_then(|run| source.read_at(&mut bytes, run.from).ok())
        .and_then(|()| Superblock::read(&bytes).ok())
        .ok_or("the xfs_metadump file has no superblock")?;
    let end = runs.iter().map(|run| run.at.saturating_add(run.len)).max();
    let len = sb.bytes().max(end.unwrap_or(0));
    Scattered::new(source, len, runs)
        .ok_or_else(|| "the xfs_metadump file ends in the middle; make it again".into())
}

fn first(source: &dyn BlockSource) -> Option<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    loop {
        let mut index = [0; BLOCK as usize];
        source.read_at(&mut index, at).ok()?;
        if be32(&index, 0) != MAGIC_V1 || index[6] != 9 {
            return None;
        }
        let count = usize::from(be16(&index, 4)).min(ADDRESSES);
        at += BLOCK;
        for number in 0..count {
            let address = be64(&index, 8 + 8 * number).checked_mul(BLOCK)?;
            add(&mut runs, address, at, BLOCK);
            at += BLOCK;
        }
        if count < ADDRESSES {
            return (at <= source.len()).then_some(runs);
        }
    }
}

fn second(source: &dyn BlockSource) -> Option<Vec<Run>> {
    let mut runs = Vec::new();
    let mut at = HEADER_V2;
    while at < source.len() {
        let mut head = [0; 12];
        source.read_at(&mut head, at).ok()?;
        let address = be64(&head, 0);
        let len = u64::from(be32(&head, 8)) * BLOCK;
        at += head.len() as u64;
        // Those of a log or realtime device are passed over.
        if address >> 54 == 0 {
            add(
                &mut runs,
                (address & ADDRESS_V2).checked_mul(BLOCK)?,
                at,
                len,
            );
        }
        at = at.checked_add(len)?;
    }
    (at == source.len()).then_some(runs)
}

/// Adds a run, which continues the last one if it can.
fn add(runs: &mut Vec<Run>, at: u64, from: u64, len: u64) {
    match runs.last_mut() {
        Some(last) if last.at.checked_add(last.len) == Some(at) && last.from + last.len == from => {
            last.len += len;
        }
        _ => runs.push(Run { at, from, len }),
    }
}
