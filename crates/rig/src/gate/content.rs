//! Whether a disk is empty, where no signature says what it holds.
//!
//! Plain dm-crypt, a raw database, half a copy of another disk: none of them has a magic number. So the
//! first and the last 4 MiB are read whole, and 1,024 blocks spread evenly between them; all have to be zeros, or all
//! ones, as erased flash reads. Data of a 1,024th of the disk in one piece are always hit; less may be
//! missed, and docs/guide.md says so.
//!
//! **This tool's own leftover.** After a trial both ends are wiped, and what the workload wrote stays in
//! between: zeroing it would take hours on a large disk, and discarding would change the disk that
//! is measured. To know it again, a marker in the wiped part lists a digest of each of those blocks as
//! the trial left them. A disk is this tool's leftover when its marker is whole, names this disk, and every block is
//! either empty or still has its digest. Whatever was written since is found as surely as on an empty disk.
//! Rejected: a marker alone, which survives a use of the disk that does not happen to write there.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Advice, fadvise};
use sha2::{Digest as _, Sha256};

use super::refusal::Reason;

/// Bytes read whole at each end.
const END: u64 = 4 << 20;
/// Bytes of one read there.
const CHUNK: u64 = 64 << 10;
/// Blocks read between the ends, and their length in bytes.
const SAMPLES: u64 = 1024;
const BLOCK: u64 = 4096;
/// Rounds in which the samples are read; each covers the whole disk evenly.
const ROUNDS: u64 = 8;
/// After this long only the first round is finished: 128 samples take seconds on the slowest disk.
const PATIENCE: Duration = Duration::from_secs(20);

/// Byte offset and length of the marker: inside the MiB that is wiped before and after a trial.
const MARKER_AT: u64 = 768 << 10;
const MARKER_LENGTH: usize = 16 << 10;
const MAGIC: &[u8; 16] = b"fslab leftover 1";
const NOTE: &[u8] = b"What is on this disk was written by tests of fslab and may be overwritten.";
const DIGESTS_AT: usize = 512;
const SUM_AT: usize = MARKER_LENGTH - 32;

/// A range that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    offset: u64,
    length: u64,
    /// It is read however long it takes.
    always: bool,
}

/// The reason not to take a disk of `size` bytes: data that are neither empty nor this tool's leftover.
pub(super) fn reason(device: &File, size: u64, serial: Option<&str>) -> io::Result<Option<Reason>> {
    let marker = serial.map(|serial| Marker::read(device, size, serial));
    let marker = marker.transpose()?.flatten();
    let mut differs = None;
    walk(device, size, |number, probe, bytes| {
        let bytes = bytes?;
        if marker.is_some() {
            blank_marker(probe, bytes);
        }
        let known = marker.as_ref().map_or(0, |marker| marker.digests[number]);
        let found = digest(bytes);
        if found != 0 && found != known {
            let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(0);
            differs = Some(probe.offset + first as u64);
        }
        Ok(differs.is_none())
    })?;
    Ok(differs.map(|offset| Reason::NotEmpty {
        offset,
        left: marker.map(|marker| marker.written),
    }))
}

/// Leaves the marker on a disk whose ends are wiped, so that [`reason`] knows its content again.
pub(crate) fn leave_marker(device: &File, size: u64, serial: &str) -> io::Result<()> {
    let mut digests = vec![0; plan(size).len()];
    walk(device, size, |number, probe, bytes| {
        // A block that cannot be read, or was not for want of time, must be empty next time.
        if let Ok(bytes) = bytes {
            blank_marker(probe, bytes);
            digests[number] = digest(bytes);
        }
        Ok(true)
    })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let marker = Marker {
        written: now.map_or(0, |since| since.as_secs()),
        digests,
    };
    device.write_all_at(&marker.bytes(size, serial), MARKER_AT)?;
    device.sync_all()
}

/// The probes of a disk of this size, the ends first.
fn plan(size: u64) -> Vec<Probe> {
    let end = END.min(size / 2) / BLOCK * BLOCK;
    let mut probes = Vec::new();
    for start in [0, size - end] {
        for offset in (0..end).step_by(CHUNK as usize) {
            probes.push(Probe {
                offset: start + offset,
                length: CHUNK.min(end - offset),
                always: true,
            });
        }
    }
    let middle = size - 2 * end;
    let count = SAMPLES.min(middle.div_ceil(BLOCK));
    let stratum = middle.checked_div(count).unwrap_or(0);
    for round in 0..ROUNDS {
        for number in (round..count).step_by(ROUNDS as usize) {
            let room = stratum.saturating_sub(BLOCK).max(1);
            let offset = end + number * stratum + scatter(number) % room;
            let offset = offset / BLOCK * BLOCK;
            probes.push(Probe {
                offset,
                length: BLOCK.min(size - offset),
                always: round == 0,
            });
        }
    }
    probes
}

/// A number without a pattern for each number (`splitmix64`, Steele, Lea and Flood 2014): evenly spaced samples would all
/// miss, or all hit, what is itself evenly spaced.
fn scatter(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Reads the probes until `each` says that it has seen enough, or the time is over.
fn walk(
    device: &File,
    size: u64,
    mut each: impl FnMut(usize, Probe, io::Result<&mut [u8]>) -> io::Result<bool>,
) -> io::Result<()> {
    // From the medium, and no more than was asked for.
    let _ = fadvise(device, 0, None, Advice::DontNeed);
    let _ = fadvise(device, 0, NonZeroU64::new(size), Advice::Random);
    let begun = Instant::now();
    let mut buffer = vec![0; CHUNK as usize];
    for (number, probe) in plan(size).into_iter().enumerate() {
        if !probe.always && begun.elapsed() > PATIENCE {
            break;
        }
        let bytes = &mut buffer[..probe.length as usize];
        let read = device.read_exact_at(bytes, probe.offset);
        if !each(number, probe, read.map(|()| bytes))? {
            break;
        }
    }
    let _ = fadvise(device, 0, NonZeroU64::new(size), Advice::Normal);
    Ok(())
}

/// 0 for nothing but zeros or nothing but ones; else 64 bits of a SHA-256, which are never 0.
fn digest(bytes: &[u8]) -> u64 {
    let all = |value: u8| bytes.iter().all(|byte| *byte == value);
    if all(0) || all(0xFF) {
        return 0;
    }
    let sum = Sha256::digest(bytes);
    let word: [u8; 8] = std::array::from_fn(|at| sum[at]);
    u64::from_le_bytes(word).max(1)
}

/// Takes the marker out of what was read of the first MiB.
fn blank_marker(probe: Probe, bytes: &mut [u8]) {
    let end = MARKER_AT + MARKER_LENGTH as u64;
    let from = MARKER_AT.clamp(probe.offset, probe.offset + probe.length);
    let to = end.clamp(probe.offset, probe.offset + probe.length);
    bytes[(from - probe.offset) as usize..(to - probe.offset) as usize].fill(0);
}

/// What a trial left.
#[derive(Debug, PartialEq, Eq)]
struct Marker {
    /// When, in seconds since 1970.
    written: u64,
    /// Digest of each probe.
    digests: Vec<u64>,
}

impl Marker {
    /// The marker on the disk; none where there is none, where it is damaged, or where it is another disk's
    /// (a copy of that disk, for instance).
    fn read(device: &File, size: u64, serial: &str) -> io::Result<Option<Marker>> {
        let mut bytes = vec![0; MARKER_LENGTH];
        if size < MARKER_AT + MARKER_LENGTH as u64 {
            return Ok(None);
        }
        device.read_exact_at(&mut bytes, MARKER_AT)?;
        let count = plan(size).len();
        let digests = bytes[DIGESTS_AT..SUM_AT].chunks_exact(8).take(count);
        let marker = Marker {
            written: word(&bytes[24..32]),
            digests: digests.map(word).collect(),
        };
        let same = bytes.starts_with(MAGIC) && bytes == marker.bytes(size, serial);
        Ok(same.then_some(marker))
    }

    /// As it is written: magic, size, time, digest of the serial, a note for people, the digests, a checksum.
    fn bytes(&self, size: u64, serial: &str) -> Vec<u8> {
        let mut bytes = vec![0; MARKER_LENGTH];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..24].copy_from_slice(&size.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.written.to_le_bytes());
        bytes[32..64].copy_from_slice(&Sha256::digest(serial));
        bytes[128..128 + NOTE.len()].copy_from_slice(NOTE);
        for (index, digest) in self.digests.iter().enumerate() {
            let at = DIGESTS_AT + 8 * index;
            bytes[at..at + 8].copy_from_slice(&digest.to_le_bytes());
        }
        let sum = Sha256::digest(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&sum);
        bytes
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: u64 = 64 << 20;

    fn disk(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file
    }

    fn put(file: &File, offset: u64, bytes: &[u8]) {
        file.write_all_at(bytes, offset).unwrap();
    }

    fn found(file: &File, size: u64) -> Option<Reason> {
        reason(file, size, Some("WD-1")).unwrap()
    }

    #[test]
    fn zeros_and_ones_are_empty_and_anything_else_is_not() {
        let file = disk(SIZE);
        assert_eq!(found(&file, SIZE), None);
        for block in 0..SIZE / (1 << 20) {
            put(&file, block << 20, &vec![0xFF; 1 << 20]);
        }
        assert_eq!(found(&file, SIZE), None, "erased flash");
        put(&file, 5, &[1]);
        let expected = Reason::NotEmpty {
            offset: 0,
            left: None,
        };
        assert_eq!(found(&file, SIZE), Some(expected));
    }

    #[test]
    fn data_in_the_middle_alone_are_found() {
        let size = 1 << 30;
        // A 1,024th of the disk in one piece is always hit, wherever it begins.
        let length = 2 * (size / SAMPLES);
        for start in [END, size / 3 + 12_345, size / 2, size - END - length] {
            let file = disk(size);
            put(&file, start, &vec![7; length as usize]);
            let reason = found(&file, size);
            assert!(
                matches!(reason, Some(Reason::NotEmpty { offset, left: None }) if offset >= start - start % BLOCK),
                "{start}: {reason:?}"
            );
        }
        for at in [END - 1, size - END, size - 1] {
            let file = disk(size);
            put(&file, at, &[1]);
            assert!(found(&file, size).is_some(), "{at}");
        }
    }

    #[test]
    fn what_the_marker_describes_is_a_leftover_until_something_is_written() {
        let file = disk(SIZE);
        for at in (8..56).step_by(2) {
            put(&file, at << 20, &vec![at as u8; 1 << 20]);
        }
        assert!(found(&file, SIZE).is_some());
        leave_marker(&file, SIZE, "WD-1").unwrap();
        assert_eq!(found(&file, SIZE), None);
        assert!(
            reason(&file, SIZE, Some("WD-2")).unwrap().is_some(),
            "the marker is of another disk"
        );
        // Erased since: still nothing that is lost.
        put(&file, 8 << 20, &vec![0; 1 << 20]);
        assert_eq!(found(&file, SIZE), None);
        put(&file, 20 << 20, &vec![3; 1 << 20]);
        let reason = found(&file, SIZE);
        assert!(
            matches!(reason, Some(Reason::NotEmpty { left: Some(_), .. })),
            "{reason:?}"
        );
    }

    #[test]
    fn a_damaged_marker_counts_as_data() {
        let file = disk(SIZE);
        leave_marker(&file, SIZE, "WD-1").unwrap();
        assert_eq!(found(&file, SIZE), None);
        put(&file, MARKER_AT + 600, &[1]);
        let expected = Reason::NotEmpty {
            offset: MARKER_AT,
            left: None,
        };
        assert_eq!(found(&file, SIZE), Some(expected));
    }

    proptest! {
        #[test]
        fn probes_are_inside_the_disk_and_their_digests_fit_the_marker(size in (2_u64 << 20)..(1 << 50)) {
            let probes = plan(size);
            prop_assert!(DIGESTS_AT + 8 * probes.len() <= SUM_AT);
            for probe in &probes {
                prop_assert!(probe.length > 0 && probe.length <= CHUNK);
                prop_assert!(probe.offset + probe.length <= size);
            }
            let always = probes.iter().filter(|probe| probe.always).count();
            prop_assert!(always >= 32.min(probes.len()));
        }
    }
}
