//! Random reads, one at a time: what a seek costs.
//!
//! Places come from SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
//! OOPSLA 2014) with a fixed seed, so that every measurement of a device reads the same places.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::{Device, Measured};
use crate::Result;
use progress::Progress;

/// Bytes of one read.
const BLOCK: u64 = 4096;
const SEED: u64 = 0x5eed_0f5e_ed50_f5ee;

/// SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn seeded(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, uniform (Lemire 2019, without its correction: the bias is below 2^-32 here).
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Reads until `least` is over and writes rate and latencies into `measured`.
pub(super) fn measure(
    device: &Device,
    direct: &File,
    least: Duration,
    progress: &dyn Progress,
    measured: &mut Measured,
) -> Result<()> {
    let block = BLOCK.max(device.sector.into());
    if block != BLOCK {
        measured.notes.push(format!(
            "random reads have {block} bytes, the device's sector, instead of {BLOCK}"
        ));
    }
    let mut buffer = device.buffer(block as usize)?;
    let buffer = buffer.as_mut_slice();
    device.drop_caches()?;
    let blocks = device.size / block;
    let mut random = Random::seeded(SEED);
    let mut latencies = histogram().map_err(|error| {
        let error = std::io::Error::other(error.to_string());
        device.io("no histogram for its latencies", error)
    })?;
    let begun = Instant::now();
    let elapsed = loop {
        let offset = random.below(blocks) * block;
        let started = Instant::now();
        direct
            .read_exact_at(buffer, offset)
            .map_err(|error| device.io(&format!("cannot read it at byte {offset}"), error))?;
        latencies.saturating_record(started.elapsed().as_nanos() as u64);
        let elapsed = begun.elapsed();
        if elapsed >= least {
            break elapsed;
        }
        device.stop(progress)?;
    };
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    measured.random_reads_per_s = latencies.len() as f64 / elapsed.as_secs_f64();
    measured.random_us = [
        us(latencies.value_at_quantile(0.5)),
        us(latencies.value_at_quantile(0.99)),
        us(latencies.max()),
    ];
    Ok(())
}

/// Nanoseconds to a minute, three digits.
fn histogram() -> std::result::Result<Histogram<u64>, hdrhistogram::CreationError> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_splitmix64() {
        // The reference implementation's first values for the seed 1234567.
        let mut random = Random::seeded(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn places_cover_the_device_and_stay_on_it() {
        let mut random = Random::seeded(SEED);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[random.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (800..1200).contains(n)), "{seen:?}");
    }
}
