//! Raw images: whatever the bytes, a check ends, within its memory, and does not panic.
//!
//! This is the short form, with a seed, of what crates/check/fuzz does with coverage for as long as one likes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod bases;
mod bounds;
mod damage;

use std::fmt::Write as _;

use bounds::Took;

#[global_allocator]
static ALLOCATOR: crate::allocator::Counting = crate::allocator::Counting;

/// A generator of bytes for tests (Steele, Lea, Flood 2014: SplitMix64).
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A program of damage.
    fn program(&mut self) -> Vec<u8> {
        let steps = (self.next() % 6) as usize;
        let mut bytes = Vec::new();
        while bytes.len() < damage::HEADER + steps * damage::STEP {
            bytes.extend(self.next().to_le_bytes());
        }
        bytes.truncate(damage::HEADER + steps * damage::STEP);
        bytes
    }
}

/// Programs that once broke a check, and how.
const BROKE: [(&str, &str); 2] = [
    (
        "ab70c9c9c9c9c9686172645f6c69ffae00",
        "an inode table past the end of the device was read again for each name",
    ),
    (
        "0569656304ff6f98e6717171717175",
        "an extent of no blocks whose first logical block is not 0",
    ),
];

/// One test: what is allocated is counted for the whole process.
#[test]
fn any_bytes_are_checked_to_the_end_within_bounds() {
    let _alone = crate::common::alone();
    let bases = bases::all();
    let runs = std::env::var("FSLAB_RAW_IMAGES").map_or(1500, |runs| runs.parse().unwrap());
    let seed = std::env::var("FSLAB_RAW_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut most = Took::default();
    for nth in 0..bases.len() {
        let sound = bounds::hold(&damage::decode(&bases, &[nth as u8]));
        assert!(sound.kinds == 0, "{}: {sound:?}", bases[nth].name);
    }
    let mut kinds = 0;
    let old = BROKE.iter().map(|(program, _)| unhex(program));
    let new = (0..runs).map(|run| Bytes((seed << 32) | run).program());
    for program in old.chain(new) {
        let subject = damage::decode(&bases, &program);
        let hex = program.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        // A failure must be printed so that it can be repeated.
        let guard = Guard(&hex);
        let took = bounds::hold(&subject);
        drop(guard);
        kinds += took.kinds;
        most.memory = most.memory.max(took.memory);
        most.time = most.time.max(took.time);
        if took.read > most.read {
            (most.read, most.data) = (took.read, took.data);
        }
    }
    println!("{runs} images, most: {most:?}");
    assert!(
        kinds as u64 > runs * 2,
        "{kinds} kinds of problems: the damage does not arrive"
    );
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes().chunks(2).map(byte).collect()
}

struct Guard<'a>(&'a str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with the program {}", self.0);
        }
    }
}
