//! Names of files, from a seed.
//!
//! fs_mark draws names with random(3), seeded with the clock's microseconds, and must keep every
//! name in memory for the fsyncs and unlinks that come later: 208 bytes a file in its older
//! builds, 2,128 in newer ones. With 105 million files that was 20 GiB of a 24 GiB machine. Here a
//! name is a function of (seed, process, iteration, index), so none is kept: it is made again when
//! it is needed, forwards or backwards.
//!
//! The layout is fs_mark's: hex digits of a time in seconds, cut to their last digits or padded
//! with `~` to `name_length - random_length` characters, then random characters of `[0-9A-Z]`. The
//! seconds come from the seed too, for the clock's would not be there again when a name is remade.
//!
//! No name occurs twice in a run, which fs_mark only hopes for (a second file of the same name
//! truncates the first, and its count is silently wrong): the last characters, at most ten,
//! are the file's number in the run under a permutation keyed by the seed (a Feistel network of four
//! rounds with cycle walking: Black and Rogaway, Ciphers with Arbitrary Finite Domains, CT-RSA
//! 2002, section 4); the characters before them are a hash of the number. Rejected: a plain hash for
//! all of it, which is as good for 24 characters and collides for 6.

use params::FillSpec;
use params::fill::{DISTINCT_CHARACTERS, distinct_names};

const BASE: u64 = 36;
/// 36^2, digits being written two at a time.
const PAIR: u64 = BASE * BASE;

/// Two characters for each number below 1296.
static PAIRS: [[u8; 2]; PAIR as usize] = pairs();

const fn pairs() -> [[u8; 2]; PAIR as usize] {
    const DIGITS: [u8; BASE as usize] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut table = [[0; 2]; PAIR as usize];
    let mut n = 0;
    while n < table.len() {
        table[n] = [DIGITS[n / BASE as usize], DIGITS[n % BASE as usize]];
        n += 1;
    }
    table
}

/// splitmix64's finaliser (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014): a bijection of 64 bits in which every bit depends on all.
pub(crate) const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The second that a run of this seed takes for its time stamps and its first subdirectory.
pub(crate) const fn seconds(seed: u64, iteration: u32) -> u64 {
    // Eight hex digits, as the clock has had since 1978 and has until 2106.
    0x6000_0000 + (mix(seed) & 0x0fff_ffff) + iteration as u64
}

/// A permutation of the numbers below `size`.
#[derive(Clone, Copy, Debug)]
struct Permutation {
    size: u64,
    half: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(size: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - (size - 1).leading_zeros();
        let key = |n| mix(seed ^ mix(n));
        Permutation {
            size,
            half: bits.div_ceil(2).max(1),
            keys: [key(1), key(2), key(3), key(4)],
        }
    }

    #[inline]
    fn of(&self, mut n: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        loop {
            let (mut left, mut right) = (n >> self.half, n & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right ^ key) & mask));
            }
            n = left << self.half | right;
            if n < self.size {
                return n;
            }
        }
    }
}

/// The names of one process in one iteration.
#[derive(Clone, Debug)]
pub struct Names {
    stamp: Vec<u8>,
    random: usize,
    unique: Permutation,
    key: u64,
    /// The run's number of this process's first file.
    first: u64,
}

impl Names {
    /// Of a process (from 0) in an iteration (from 0) of a run with valid options.
    pub fn new(options: &FillSpec, process: u32, iteration: u32) -> Names {
        let before = u64::from(iteration) * u64::from(options.effective_processes());
        let first = (before + u64::from(process)).saturating_mul(options.files);
        let lengths = (options.name_length, options.random_length);
        Names::from(options.seed, lengths, iteration, first)
    }

    /// Names of `(all, random)` characters for the files of a run from number `first` on.
    pub(crate) fn from(seed: u64, lengths: (u32, u32), iteration: u32, first: u64) -> Names {
        let (length, random) = lengths;
        let wanted = length.saturating_sub(random) as usize;
        let hex = format!("{:x}", seconds(seed, iteration));
        let mut stamp = hex.as_bytes()[hex.len().saturating_sub(wanted)..].to_vec();
        stamp.resize(wanted, b'~');
        Names {
            stamp,
            random: random as usize,
            unique: Permutation::new(distinct_names(random), seed),
            key: mix(seed ^ 0x6e61_6d65),
            first,
        }
    }

    /// Characters of each name.
    pub const fn len(&self) -> usize {
        self.stamp.len() + self.random
    }

    /// Never: a name has at least one character.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part that all names share.
    pub(crate) fn stamp(&self) -> &[u8] {
        &self.stamp
    }

    /// Writes the random characters of file `index`: the last of `name`, whose first must be the
    /// [stamp](Names::stamp).
    #[inline]
    pub(crate) fn write_random(&self, index: u64, name: &mut [u8]) {
        let number = self.first.wrapping_add(index);
        let at = name.len() - self.random;
        let random = &mut name[at..];
        let unique = random.len().min(DISTINCT_CHARACTERS as usize);
        let (hashed, counted) = random.split_at_mut(random.len() - unique);
        write_number(self.unique.of(number), counted);
        let mut state = mix(number ^ self.key);
        for chunk in hashed.chunks_mut(DISTINCT_CHARACTERS as usize) {
            write_fraction(state, chunk);
            state = mix(state);
        }
    }

    /// The name of file `index` of this process, in this iteration.
    pub fn name(&self, index: u64) -> Vec<u8> {
        let mut name = self.stamp.clone();
        name.resize(self.len(), 0);
        self.write_random(index, &mut name);
        name
    }
}

/// Digits of a number below 36^length, all of them.
#[inline]
fn write_number(mut n: u64, out: &mut [u8]) {
    let mut chunks = out.rchunks_exact_mut(2);
    for pair in &mut chunks {
        pair.copy_from_slice(&PAIRS[(n % PAIR) as usize]);
        n /= PAIR;
    }
    if let [digit] = chunks.into_remainder() {
        *digit = PAIRS[(n % BASE) as usize][1];
    }
}

/// Digits of `fraction` / 2^64, at most ten: the rest of its 64 bits keeps them even to 2^-12.
#[inline]
fn write_fraction(mut fraction: u64, out: &mut [u8]) {
    for pair in out.chunks_mut(2) {
        let wide = u128::from(fraction) * u128::from(PAIR);
        let digits = PAIRS[(wide >> 64) as usize];
        pair.copy_from_slice(&digits[..pair.len()]);
        fraction = wide as u64;
    }
}

#[cfg(test)]
mod tests {
    use params::Parameters;
    use params::fill::random_length_for;
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn options(length: u32, random: u32, seed: u64) -> FillSpec {
        FillSpec {
            name_length: length,
            random_length: random,
            seed,
            ..FillSpec::new("/nowhere")
        }
    }

    #[test]
    fn the_layout_is_fs_marks() {
        let name = String::from_utf8(Names::new(&options(40, 24, 7), 0, 0).name(5)).unwrap();
        assert_eq!(name.len(), 40);
        assert_eq!(&name[8..16], "~~~~~~~~");
        assert!(u64::from_str_radix(&name[..8], 16).unwrap() >= 0x6000_0000);
        let is_drawn = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
        assert!(name[16..].chars().all(is_drawn), "{name}");
        // Cut: the least significant digits of the time stay.
        let whole = format!("{:x}", seconds(7, 0));
        let short = String::from_utf8(Names::new(&options(10, 4, 7), 0, 0).name(5)).unwrap();
        assert_eq!(short[..6], whole[2..]);
    }

    #[test]
    fn all_names_of_a_length_occur_and_no_more_are_promised() {
        let names = Names::new(&options(2, 2, 3), 0, 0);
        let all: HashSet<Vec<u8>> = (0..PAIR).map(|i| names.name(i)).collect();
        assert_eq!(all.len() as u64, PAIR);
        assert_eq!(distinct_names(2), PAIR);
        assert_eq!(
            (
                random_length_for(1),
                random_length_for(36),
                random_length_for(37)
            ),
            (1, 1, 2)
        );
        assert_eq!(random_length_for(u64::MAX), DISTINCT_CHARACTERS);
    }

    #[test]
    fn characters_are_drawn_evenly() {
        let names = Names::new(&options(24, 24, 11), 0, 0);
        let mut seen = vec![[0_u32; 256]; 24];
        let files = 36_000;
        for i in 0..files {
            for (at, c) in names.name(i).into_iter().enumerate() {
                seen[at][c as usize] += 1;
            }
        }
        // Each of 36 characters is expected 1000 times at each place, standard deviation 31.
        for place in &seen {
            let used: Vec<u32> = place.iter().copied().filter(|&n| n > 0).collect();
            assert_eq!(used.len(), 36);
            assert!(used.iter().all(|n| (800..1200).contains(n)), "{used:?}");
        }
    }

    proptest! {
        #[test]
        fn names_are_unique_over_processes_and_iterations_and_come_again(
            seed in any::<u64>(),
            length in 4_u32..=40,
            random in 4_u32..=40,
            processes in 1_u32..5,
            iterations in 1_u32..4,
            files in 1_u64..300,
        ) {
            let random = random.min(length);
            let options = FillSpec { files, processes, iterations, ..options(length, random, seed) };
            prop_assert!(options.validate().is_ok());
            let mut seen = HashSet::new();
            for (p, it) in (0..processes).flat_map(|p| (0..iterations).map(move |i| (p, i))) {
                let names = Names::new(&options, p, it);
                for i in 0..files {
                    let name = names.name(i);
                    prop_assert_eq!(name.len(), length as usize);
                    // The stamps of iterations differ; uniqueness must not need them.
                    prop_assert!(seen.insert(name[(length - random) as usize..].to_vec()));
                }
            }
            let again = Names::new(&options, processes - 1, iterations - 1);
            for i in (0..files).rev() {
                prop_assert!(seen.remove(&again.name(i)[(length - random) as usize..]));
            }
        }

        #[test]
        fn the_permutation_stays_below_its_size(size in 1_u64..1 << 52, n in any::<u64>(), seed in any::<u64>()) {
            let n = n % size;
            prop_assert!(Permutation::new(size, seed).of(n) < size);
        }
    }
}
