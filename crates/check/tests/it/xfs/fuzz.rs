//! Any damage: a check ends, within its memory, reads a bounded number of bytes, and does not panic. The harness of the fuzzer, with
//! programs that are random bytes.
//!
//! `FSLAB_RAW_IMAGES` asks for another number of programs for each filesystem, `FSLAB_RAW_SEED` for other ones.

use blockio::layer::Faulty;

use super::bounds::hold;
use super::program::{BASES, Base, STEP};
use super::volume::tools;
use crate::common::alone;

#[test]
fn programs_of_damage_are_checked_to_the_end_within_bounds() {
    if !tools() {
        return;
    }
    let _alone = alone();
    let number = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |number| number.parse().unwrap())
    };
    let (programs, seed) = (number("FSLAB_RAW_IMAGES", 60), number("FSLAB_RAW_SEED", 1));
    let mut state = 0x0139_408d_cbbf_7a44_u64 ^ (seed << 17);
    let mut next = move || {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut kinds = 0;
    for features in BASES {
        let mut base = Base::new(features);
        let sound = hold(&base.ram, 1, "sound");
        for number in 0..programs {
            let length = STEP * (1 + next() as usize % 12);
            let program: Vec<u8> = (0..length).map(|_| (next() >> 32) as u8).collect();
            let changed = base.damage(&program);
            let name = format!("{features} {program:x?}");
            kinds += hold(&base.ram, 1 + (number % 2) as usize, &name);
            if number % 16 == 15 {
                // Some blocks cannot be read.
                let at = next() % 70_000 * 4096;
                let failing = Faulty::new(&base.ram, std::iter::once(at..at + 8192), 5);
                hold(&failing, 1, &name);
            }
            base.mend(&changed);
        }
        assert_eq!(hold(&base.ram, 1, "mended"), sound);
    }
    assert!(kinds as u64 > programs * 3, "{kinds}");
}

/// What the fuzzer has found: the features of the filesystem, threads, and the program.
const FOUND: [(&str, usize, &[u8]); 2] = [
    // 65,540 groups in 300 MiB.
    (
        "nocrc",
        2,
        &[0, 0, 0x59, 0x58, 0x58, 0x58, 0x58, 0x58, 0x58, 0x54],
    ),
    // The superblock of another group, whose root directory is inode 2^64 - 1.
    ("", 1, &[0, 0, 0, 0xf7, 0xf5, 1, 0, 0x23, 0, 0xc0]),
];

#[test]
fn what_the_fuzzer_found_is_checked_within_bounds() {
    if !tools() {
        return;
    }
    let _alone = alone();
    for (features, threads, program) in FOUND {
        let mut base = Base::new(features);
        base.damage(program);
        assert!(hold(&base.ram, threads, "found") > 0, "{program:x?}");
    }
}
