//! Any damage: a check ends, within its memory, reads a bounded number of bytes, and does not panic.
//!
//! `FSLAB_RAW_IMAGES` asks for another number of images of each base, `FSLAB_RAW_SEED` for other ones.

use std::collections::BTreeSet;
use std::io;

use blockio::Ram;
use forge::damage::ocfs2::{Survey, random};
use forge::damage::{Medium, Random};

use super::bounds::hold;
use super::buckets;
use super::population::populated;
use super::program::{BASES, Base, STEP};
use crate::common::alone;

const PAGE: usize = 4096;
/// A volume and the pages of it that were written.
struct Written {
    bytes: Vec<u8>,
    pages: BTreeSet<usize>,
}

impl Medium for Written {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.bytes.read(at, bytes)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.bytes.write(at, bytes)?;
        let end = at as usize + bytes.len();
        self.pages.extend(at as usize / PAGE..end.div_ceil(PAGE));
        Ok(())
    }
}

#[test]
fn any_damage_is_checked_to_the_end_within_bounds() {
    let _alone = alone();
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |number| number.parse().unwrap())
    };
    let (images, seed) = (number("FSLAB_RAW_IMAGES", 120), number("FSLAB_RAW_SEED", 1));
    let mut kinds = 0;
    for made in BASES {
        let Some(mut image) = populated(made) else {
            return;
        };
        let survey = Survey::of(&mut image.bytes).unwrap();
        let mut ram = Ram::new(&image.bytes);
        let sound = image.bytes.clone();
        let mut medium = Written {
            bytes: image.bytes,
            pages: BTreeSet::new(),
        };
        for number in 0..images {
            let what = Random {
                count: 1 + (number % 6) as u32,
                seed: seed << 32 | number,
                seal: None,
            };
            let changes = random(&mut medium, &survey, &what);
            for &page in &medium.pages {
                let from = page * PAGE;
                ram.put(from as u64, &medium.bytes[from..from + PAGE]);
            }
            let name = format!("{made:?} {what:?} {changes:?}");
            let threads = 1 + (number % 2) as usize;
            kinds += match number % 16 {
                // Some blocks cannot be read.
                15 => {
                    let at = (number * 7919 % (sound.len() as u64 / 512)) * 512;
                    let failing =
                        Ram::new(&medium.bytes).failing(std::iter::once(at..at + 8192), 5);
                    hold(&failing, threads, &name)
                }
                _ => hold(&ram, threads, &name),
            };
            for page in std::mem::take(&mut medium.pages) {
                let from = page * PAGE;
                let bytes = &sound[from..from + PAGE];
                medium.bytes[from..from + PAGE].copy_from_slice(bytes);
                ram.put(from as u64, bytes);
            }
        }
    }
    assert!(kinds > 100, "{kinds}");
}

/// The harness of the fuzzer, with programs that are random bytes.
#[test]
fn programs_of_damage_are_checked_to_the_end_within_bounds() {
    let _alone = alone();
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move || {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for made in BASES {
        let Some(mut image) = populated(made) else {
            return;
        };
        buckets::add(&mut image);
        let mut base = Base::new(image);
        let sound = hold(&base.ram, 1, "sound");
        for number in 0..60 {
            let length = STEP * (1 + next() as usize % 12);
            let program: Vec<u8> = (0..length).map(|_| (next() >> 32) as u8).collect();
            let changed = base.damage(&program);
            hold(&base.ram, 1 + number % 2, &format!("{made:?} {program:x?}"));
            base.mend(&changed);
        }
        assert_eq!(hold(&base.ram, 1, "mended"), sound);
    }
}
