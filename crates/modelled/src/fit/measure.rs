//! What reads of a real device take.

use std::time::{Duration, Instant};

use blockio::{BlockSource, Buffer, Direct, Request};

use super::Load;
use crate::error::Error;

/// How long a load runs, at least.
const LEAST: Duration = Duration::from_millis(1500);
/// Reads of a load, at least.
const FEWEST: u64 = 200;
/// How long a load runs at most, however few reads it had.
const MOST: Duration = Duration::from_secs(20);

/// Where the n-th read of a load goes: all over the device, at multiples of its length.
pub(super) fn place(number: u64, size: u64, len: u64) -> u64 {
    let blocks = (size / len).max(1);
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) % blocks * len
}

/// Seconds a read: of all of them, by their number.
pub(super) fn seconds_each(source: &Direct, load: Load) -> Result<f64, Error> {
    let failed = |error: String| Error::Measured(error);
    let queue = source.queue(load.depth as usize);
    let mut queue = queue.map_err(|error| failed(error.to_string()))?;
    let mut spare: Vec<Buffer> = Vec::new();
    let (mut sent, mut finished) = (0, 0);
    let begun = Instant::now();
    loop {
        let is_over = match begun.elapsed() {
            elapsed if elapsed >= MOST => true,
            elapsed => elapsed >= LEAST && sent >= FEWEST,
        };
        while !is_over && queue.in_flight() < load.depth as usize {
            let request = Request {
                tag: sent,
                offset: place(sent, source.len(), load.len),
                len: load.len as usize,
                buffer: spare.pop().unwrap_or_default(),
            };
            sent += 1;
            if queue.submit(request).is_err() {
                break;
            }
        }
        queue.flush();
        let Some(done) = queue.wait() else { break };
        done.result.map_err(|error| failed(error.to_string()))?;
        finished += 1;
        spare.push(done.buffer);
    }
    Ok(begun.elapsed().as_secs_f64()
        / f64::from(u32::try_from(finished.max(1)).unwrap_or(u32::MAX)))
}
