//! What a streamed file holds, and how each 4 KiB of it is verified on its own.
//!
//! A stamped unit is 4064 bytes of content and a trailer of 32, little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 4064..4071 | `fslabST`, and at 4071 the kind of content |
//! | 4072..4080 | number of the unit: its byte offset in the file / 4096 |
//! | 4080..4088 | number of the run that wrote it, random |
//! | 4088..4092 | which body of the run's pool the content is |
//! | 4092..4096 | CRC-32C (Castagnoli) of the bytes before |
//!
//! The number shows a block that went to the wrong place, the run one that an earlier run
//! wrote at the right place (a write that was lost), and kind, run and body are enough to make the
//! whole unit again and say which byte is wrong.
//!
//! Writing costs next to nothing, because the trailer is last and bodies repeat: the checksum of a
//! body is known in advance and is only carried on over 28 bytes. Random bodies come from a pool of
//! at least 1 MiB, made before the clock starts; blocks of 1 MiB and more keep their bodies in the
//! engine's buffers for good and get new trailers, smaller ones are copied from the pool. Making
//! new random bytes for each block was rejected: at 20 GB/s it would take a tenth of the time of a
//! buffered write. So random content repeats after 1 to 4 MiB, further away than filesystems that
//! compress look (btrfs 128 KiB, bcachefs 64 KiB), and no two units are equal, thanks to trailers.

use std::hash::{BuildHasher, Hasher};
use std::io;

use crc_fast::{CrcAlgorithm, Digest};

use crate::buffer::PATTERN;
use crate::engine::Payload;
use params::StreamSpec;
use params::stream::{Content, UNIT};

pub(super) const BYTES: usize = UNIT as usize;
const TRAILER: usize = 32;
pub(super) const BODY: usize = BYTES - TRAILER;
/// Where the checksum is; it covers what is before.
pub(super) const SUMMED: usize = BYTES - 4;
const MAGIC: [u8; 7] = *b"fslabST";
const ALGORITHM: CrcAlgorithm = CrcAlgorithm::Crc32Iscsi;

/// Blocks at least this large need no copy of their content.
const LARGE: u64 = 1 << 20;
/// Most units of a pool: 4 MiB.
const MOST_BODIES: u64 = 1024;

/// What a trailer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub(super) content: Content,
    pub(super) unit: u64,
    pub(super) run: u64,
    pub(super) body: u32,
}

impl Trailer {
    pub(super) fn bytes(&self) -> [u8; TRAILER - 4] {
        let mut bytes = [0; TRAILER - 4];
        bytes[..7].copy_from_slice(&MAGIC);
        bytes[7] = kind(self.content);
        bytes[8..16].copy_from_slice(&self.unit.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.run.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.body.to_le_bytes());
        bytes
    }

    /// Of a whole unit; none where there is no trailer.
    pub(super) fn of(unit: &[u8]) -> Option<Trailer> {
        let trailer: &[u8; TRAILER] = unit.get(BODY..BYTES)?.try_into().ok()?;
        if trailer[..7] != MAGIC {
            return None;
        }
        Some(Trailer {
            content: [Content::Zero, Content::Pattern, Content::Random]
                .into_iter()
                .find(|c| kind(*c) == trailer[7])?,
            unit: number(trailer, 8),
            run: number(trailer, 16),
            body: number(trailer, 24) as u32,
        })
    }

    /// The unit that this trailer belongs to, made again.
    pub(super) fn whole(&self) -> Vec<u8> {
        let mut unit = vec![0; BYTES];
        write_body(self.content, self.run, self.body, &mut unit[..BODY]);
        unit[BODY..SUMMED].copy_from_slice(&self.bytes());
        let sum = checksum(&unit[..SUMMED]);
        unit[SUMMED..].copy_from_slice(&sum.to_le_bytes());
        unit
    }
}

/// 8 bytes from `at` on, little endian.
fn number(trailer: &[u8; TRAILER], at: usize) -> u64 {
    (0..8)
        .rev()
        .fold(0, |n, i| n << 8 | u64::from(trailer[at + i]))
}

/// CRC-32C.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The checksum that a unit carries.
pub(super) fn stored(unit: &[u8]) -> u32 {
    let at = |i| unit.get(SUMMED + i).copied().unwrap_or_default();
    u32::from_le_bytes([at(0), at(1), at(2), at(3)])
}

const fn kind(content: Content) -> u8 {
    match content {
        Content::Zero => b'z',
        Content::Pattern => b'p',
        Content::Random => b'r',
    }
}

/// A number that no other run has.
pub(super) fn new_run() -> u64 {
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u64(crate::clock::now_ns());
    hasher.finish().max(1)
}

fn write_body(content: Content, run: u64, body: u32, bytes: &mut [u8]) {
    match content {
        Content::Zero => bytes.fill(0),
        Content::Pattern => bytes.fill(PATTERN),
        Content::Random => random(run ^ (u64::from(body) << 32), bytes),
    }
}

/// The bytes before a trailer.
pub(super) struct Body {
    bytes: Vec<u8>,
    /// The checksum's state after it.
    state: u64,
}

impl Body {
    pub(super) fn new(content: Content, run: u64, body: u32) -> Body {
        let mut bytes = vec![0; BODY];
        write_body(content, run, body, &mut bytes);
        let mut digest = Digest::new(ALGORITHM);
        digest.update(&bytes);
        Body {
            bytes,
            state: digest.get_state(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The checksum of a unit of this body, as it is at its end, carried on over the rest.
    #[inline]
    pub(super) fn sum(&self, trailer: &[u8]) -> [u8; 4] {
        let mut digest = Digest::new_with_init_state(ALGORITHM, self.state);
        digest.update(trailer);
        (digest.finalize() as u32).to_le_bytes()
    }
}

/// Fills with what depends on `seed` alone: each 8 bytes are the folded product of two multiples
/// of a counter (wyhash's mixer, Wang Yi 2019), which needs one multiplication and passes the
/// usual tests of randomness; nothing here needs to be secret.
fn random(seed: u64, bytes: &mut [u8]) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for chunk in bytes.chunks_mut(8) {
        state = state.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
        let word = (product >> 64) as u64 ^ product as u64;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}

/// Where a block's content comes from.
enum Source {
    /// It stays in the engine's buffers, body after body.
    Buffers,
    /// It is copied from the bodies, by the number of the unit.
    Bodies,
    /// It is copied from a pool by the byte, where blocks are not made of whole units.
    Bytes(Vec<u8>),
}

/// Fills the blocks of a write.
pub(super) struct Writer {
    content: Content,
    run: u64,
    block: u64,
    source: Source,
    bodies: Vec<Body>,
}

/// The content of a write: the buffers' bytes are set once, and what changes from block to block
/// is left to the writer, if there is anything.
pub(super) fn writer(options: &StreamSpec, run: u64, buffer: &mut [u8]) -> Option<Writer> {
    let (content, block) = (options.content, options.block.get());
    let whole_units = block.is_multiple_of(UNIT);
    let random = content == Content::Random;
    let pool = if random { block.max(LARGE) / UNIT } else { 1 }.min(MOST_BODIES) as u32;
    for slot in buffer.chunks_mut(block as usize) {
        for (i, unit) in (0_u32..).zip(slot.chunks_mut(BYTES)) {
            write_body(content, run, i % pool, unit);
        }
    }
    if !(options.verify || random) || !(whole_units || block < LARGE) {
        return None;
    }
    let source = match (random && block < LARGE, whole_units) {
        (false, _) => Source::Buffers,
        (true, true) => Source::Bodies,
        (true, false) => {
            let mut units = vec![0; pool as usize * BYTES];
            for (i, unit) in (0..).zip(units.chunks_exact_mut(BYTES)) {
                write_body(content, run, i, unit);
            }
            // A block may begin anywhere in the first half.
            units.extend_from_within(..);
            Source::Bytes(units)
        }
    };
    Some(Writer {
        content,
        run,
        block,
        source,
        bodies: (0..pool).map(|i| Body::new(content, run, i)).collect(),
    })
}

impl Writer {
    fn stamp(&self, unit: u64, body: u32, bytes: &mut [u8]) {
        let trailer = Trailer {
            content: self.content,
            unit,
            run: self.run,
            body,
        }
        .bytes();
        bytes[BODY..SUMMED].copy_from_slice(&trailer);
        bytes[SUMMED..].copy_from_slice(&self.bodies[body as usize].sum(&trailer));
    }
}

impl Payload for Writer {
    fn fill(&self, record: u64, bytes: &mut [u8]) {
        let offset = record * self.block;
        let pool = self.bodies.len() as u64;
        match &self.source {
            Source::Buffers => {
                for (i, unit) in (0_u64..).zip(bytes.chunks_exact_mut(BYTES)) {
                    self.stamp(offset / UNIT + i, (i % pool) as u32, unit);
                }
            }
            Source::Bodies => {
                for (number, unit) in (offset / UNIT..).zip(bytes.chunks_exact_mut(BYTES)) {
                    let body = (number % pool) as usize;
                    unit[..BODY].copy_from_slice(self.bodies[body].bytes());
                    self.stamp(number, body as u32, unit);
                }
            }
            Source::Bytes(units) => {
                let begin = (offset % (pool * UNIT)) as usize;
                bytes.copy_from_slice(&units[begin..][..bytes.len()]);
            }
        }
    }

    fn check(&self, _record: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::Bytes;

    fn options(content: Content, verify: bool, block: u64) -> StreamSpec {
        StreamSpec {
            block: Bytes(block),
            content,
            verify,
            ..StreamSpec::new("/nowhere")
        }
    }

    /// Three blocks as they would be written through one buffer.
    fn written(options: &StreamSpec) -> Vec<u8> {
        let mut buffer = vec![1; options.block.get() as usize];
        let writer = writer(options, 77, &mut buffer);
        let mut file = Vec::new();
        for record in 0..3 {
            if let Some(writer) = &writer {
                writer.fill(record, &mut buffer);
            }
            file.extend_from_slice(&buffer);
        }
        file
    }

    #[test]
    fn the_checksum_is_castagnolis() {
        // RFC 3720, B.4: 32 bytes of zeros, and 0..31.
        assert_eq!(checksum(&[0; 32]), 0x8a91_36aa);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(checksum(&ascending), 0x46dd_794e);
    }

    #[test]
    fn every_unit_is_stamped_with_its_number_and_can_be_made_again() {
        for content in [Content::Zero, Content::Pattern, Content::Random] {
            for block in [UNIT, 3 * UNIT, LARGE, LARGE + UNIT, 6 * LARGE] {
                let file = written(&options(content, true, block));
                assert_eq!(file.len() as u64, 3 * block);
                for (i, unit) in (0_u64..).zip(file.chunks(BYTES)) {
                    let trailer = Trailer::of(unit).unwrap();
                    assert_eq!((trailer.unit, trailer.run), (i, 77));
                    assert_eq!(trailer.content, content);
                    assert_eq!(
                        stored(unit),
                        checksum(&unit[..SUMMED]),
                        "{content:?} {block}"
                    );
                    assert_eq!(unit, trailer.whole(), "{content:?} {block} {i}");
                }
            }
        }
    }

    #[test]
    fn without_verification_constant_content_is_constant() {
        for (content, byte) in [(Content::Zero, 0), (Content::Pattern, PATTERN)] {
            for block in [512, UNIT, LARGE + 512] {
                let file = written(&options(content, false, block));
                assert!(file.iter().all(|b| *b == byte), "{content:?} {block}");
            }
        }
    }

    #[test]
    fn random_content_does_not_repeat_within_a_mebibyte_nor_compress() {
        for block in [512, 1536, UNIT, 2 * UNIT, LARGE, LARGE + UNIT] {
            let options = options(Content::Random, false, block);
            let mut buffer = vec![0; block as usize];
            let writer = writer(&options, 5, &mut buffer).unwrap();
            let mut seen = std::collections::HashSet::new();
            for record in 0..LARGE / block {
                writer.fill(record, &mut buffer);
                for piece in buffer.chunks(512) {
                    assert!(seen.insert(piece.to_vec()), "{block} {record}");
                }
            }
            let mut counts = [0_u32; 256];
            for byte in &buffer {
                counts[usize::from(*byte)] += 1;
            }
            let bits: f64 = counts
                .iter()
                .filter(|n| **n > 0)
                .map(|n| f64::from(*n) / block as f64)
                .map(|p| -p * p.log2())
                .sum();
            assert!(bits > 7.4 || block < UNIT, "{block}: {bits} bits a byte");
        }
    }

    #[test]
    fn two_runs_differ() {
        assert_ne!(new_run(), new_run());
        let (mut a, mut b) = ([0; 64], [0; 64]);
        write_body(Content::Random, 1, 0, &mut a);
        write_body(Content::Random, 2, 0, &mut b);
        assert_ne!(a, b);
    }
}
