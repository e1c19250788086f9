//! Checking what was read, and naming what is wrong with it.

mod expected;

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use expected::Expected;

use super::content::{BYTES, SUMMED, Trailer, checksum, stored};
use crate::engine::Payload;
use params::stream::UNIT;

/// A unit that is not what was written there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {found}")]
pub(super) struct Damage {
    /// The first wrong byte, or where the wrong unit begins.
    pub(super) offset: u64,
    /// What was found.
    pub(super) found: String,
}

/// Checks the blocks of a read.
pub(super) struct Checker {
    block: u64,
    /// The run that wrote the file; 0 until it is known, then that of the first good unit.
    run: AtomicU64,
    /// Known once a good unit was seen; none where units have to be summed.
    expected: OnceLock<Option<Expected>>,
}

impl Checker {
    /// For blocks of this many bytes, written by `run`, if that is known.
    pub(super) fn new(block: u64, run: Option<u64>) -> Checker {
        Checker {
            block,
            run: AtomicU64::new(run.unwrap_or_default()),
            expected: OnceLock::new(),
        }
    }

    /// The run whose units were found.
    pub(super) fn run(&self) -> u64 {
        self.run.load(Ordering::Relaxed)
    }

    /// One unit, which should be number `number`.
    #[inline]
    fn unit(&self, number: u64, unit: &[u8]) -> Result<(), Damage> {
        match self.expected.get() {
            Some(Some(expected)) if expected.is(number, unit) => Ok(()),
            _ => self.sum(number, unit),
        }
    }

    /// The same by its checksum.
    fn sum(&self, number: u64, unit: &[u8]) -> Result<(), Damage> {
        let good = checksum(&unit[..SUMMED]) == stored(unit);
        let run = self.run();
        if good
            && let Some(trailer) = Trailer::of(unit)
            && trailer.unit == number
            && (run == 0 || trailer.run == run)
        {
            if run == 0 {
                self.run.store(trailer.run, Ordering::Relaxed);
            }
            self.expected.get_or_init(|| Expected::after(&trailer));
            return Ok(());
        }
        Err(examine(number, run, unit))
    }
}

impl Payload for Checker {
    fn fill(&self, _record: u64, _bytes: &mut [u8]) {}

    fn check(&self, record: u64, bytes: &[u8]) -> io::Result<()> {
        let first = record * self.block / UNIT;
        for (number, unit) in (first..).zip(bytes.chunks_exact(BYTES)) {
            self.unit(number, unit)
                .map_err(|damage| io::Error::new(io::ErrorKind::InvalidData, damage))?;
        }
        Ok(())
    }
}

/// What is wrong with a unit that is not good; `run` 0 is not known.
#[cold]
fn examine(number: u64, run: u64, unit: &[u8]) -> Damage {
    let offset = number * UNIT;
    let damage = |found: String| Damage { offset, found };
    let Some(trailer) = Trailer::of(unit) else {
        return if unit.iter().all(|b| *b == 0) {
            damage("only zeros: the block was never written, or its write was lost".into())
        } else {
            damage(
                "no block number and no checksum; a file can be verified only if it was written \
                 with verify"
                    .into(),
            )
        };
    };
    let whole = checksum(&unit[..SUMMED]) == stored(unit);
    if trailer.unit != number {
        let state = if whole { "whole" } else { "damaged" };
        return damage(format!(
            "block {} of byte {}, {state}, is in the place of block {number}",
            trailer.unit,
            trailer.unit.saturating_mul(UNIT)
        ));
    }
    if whole {
        return damage(format!(
            "block {number} of run {:016x}, where run {run:016x} has written: its write was lost",
            trailer.run
        ));
    }
    let right = trailer.whole();
    let wrong: Vec<usize> = (0..BYTES).filter(|&i| unit[i] != right[i]).collect();
    let Some(&first) = wrong.first() else {
        return damage("the checksum does not match".into());
    };
    Damage {
        offset: offset + first as u64,
        found: format!(
            "{:#04x} instead of {:#04x} in block {number}, {} of whose {BYTES} bytes are wrong",
            unit[first],
            right[first],
            wrong.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::stream::Content;

    fn file(content: Content) -> Vec<u8> {
        (0..8)
            .flat_map(|unit| {
                Trailer {
                    content,
                    unit,
                    run: 9,
                    body: unit as u32 % 3,
                }
                .whole()
            })
            .collect()
    }

    fn check(file: &[u8], run: Option<u64>) -> Result<(), Damage> {
        let checker = Checker::new(2 * UNIT, run);
        for (record, block) in (0..).zip(file.chunks(2 * BYTES)) {
            if let Err(error) = checker.check(record, block) {
                return Err(error.downcast::<Damage>().unwrap());
            }
        }
        assert_eq!(checker.run(), 9);
        Ok(())
    }

    #[test]
    fn a_good_file_passes_and_names_its_run() {
        for content in [Content::Zero, Content::Pattern, Content::Random] {
            check(&file(content), None).unwrap();
            check(&file(content), Some(9)).unwrap();
        }
    }

    #[test]
    fn any_flipped_byte_is_named() {
        for content in [Content::Zero, Content::Random] {
            for at in [0, 100, 4063, 4092, 5 * BYTES + 17, 8 * BYTES - 1] {
                let mut file = file(content);
                file[at] ^= 0x40;
                let damage = check(&file, Some(9)).unwrap_err();
                assert_eq!(damage.offset, at as u64, "{damage}");
                assert!(damage.found.contains("1 of whose 4096"), "{damage}");
            }
        }
    }

    #[test]
    fn a_damaged_trailer_is_found_in_its_block() {
        for at in 4064..4096 {
            let mut file = file(Content::Pattern);
            file[3 * BYTES + at] ^= 1;
            let damage = check(&file, Some(9)).unwrap_err();
            assert_eq!(damage.offset / UNIT, 3, "{damage}");
        }
    }

    #[test]
    fn swapped_stale_empty_and_foreign_blocks_are_distinguished() {
        let mut swapped = file(Content::Zero);
        let (a, b) = swapped.split_at_mut(5 * BYTES);
        a[2 * BYTES..3 * BYTES].swap_with_slice(&mut b[..BYTES]);
        assert_eq!(
            check(&swapped, Some(9)).unwrap_err().to_string(),
            "byte 8192: block 5 of byte 20480, whole, is in the place of block 2"
        );

        assert_eq!(
            check(&file(Content::Zero), Some(8))
                .unwrap_err()
                .to_string(),
            "byte 0: block 0 of run 0000000000000009, where run 0000000000000008 has written: \
             its write was lost"
        );

        let mut lost = file(Content::Zero);
        lost[4 * BYTES..5 * BYTES].fill(0);
        let damage = check(&lost, None).unwrap_err();
        assert_eq!(damage.offset, 4 * UNIT);
        assert!(damage.found.starts_with("only zeros"), "{damage}");

        let mut foreign = file(Content::Zero);
        foreign[6 * BYTES..7 * BYTES].fill(7);
        let damage = check(&foreign, None).unwrap_err();
        assert_eq!(damage.offset, 6 * UNIT);
        assert!(damage.found.starts_with("no block number"), "{damage}");
    }
}
