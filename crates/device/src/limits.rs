//! What a device can do at most, by its model: the table that shows at a glance whether a model is sane.

mod expected;

pub use expected::{Expected, expected};

use crate::model::{Model, Request};
use crate::random::Random;

/// Sequential requests, bytes.
const STREAM: u64 = 1 << 20;
/// Writes in order, bytes.
const ORDERED: u64 = 256 << 10;
/// Random requests, bytes.
const BLOCK: u64 = 4096;
/// Random requests of a figure.
const REQUESTS: u64 = 10_000;
/// Sequential requests of a figure; the first of them are not timed.
const STREAMED: u64 = 128;
/// Requests in flight of a sequential reader or writer.
const STREAM_DEPTH: u64 = 8;

/// Modelled limits of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Sequential reads of 1 MiB, 8 in flight, bytes a second: at the start of the device, in its middle, and at its
    /// end.
    pub sequential: [f64; 3],
    /// Sequential writes of 1 MiB, 8 in flight, at the start of the device, bytes a second.
    pub sequential_writes: f64,
    /// A random read of 4 KiB alone, ms.
    pub random_read_ms: f64,
    /// Random reads of 4 KiB a second, 32 in flight.
    pub random_reads: f64,
    /// A random write of 4 KiB alone, ms; a write cache may answer it.
    pub random_write_ms: f64,
    /// Writes of 256 KiB in order at the start of the device, one at a time and to the medium (FUA), bytes a second.
    pub ordered_writes: f64,
}

/// Finds the limits. `model` gives a fresh model for each figure.
pub fn limits<E>(model: impl Fn() -> Result<Box<dyn Model>, E>) -> Result<Limits, E> {
    let capacity = model()?.capacity();
    let last = capacity.saturating_sub((STREAMED + STREAM_DEPTH) * STREAM);
    let stream = |request: fn(u64, u64, u64) -> Request, start: u64| -> Result<f64, E> {
        let start = start / STREAM * STREAM;
        let blocks = (capacity / STREAM).max(1);
        let mut next = |tag| request(tag, start + tag % blocks * STREAM, STREAM.min(capacity));
        let (begin, end) = run(&mut *model()?, STREAM_DEPTH, STREAMED, &mut next);
        Ok(((STREAMED - STREAMED / 4) * STREAM) as f64 * 1e9 / (end - begin).max(1) as f64)
    };
    let random = |request: fn(u64, u64, u64) -> Request, depth: u64| -> Result<f64, E> {
        Ok(random_ns(&mut *model()?, request, BLOCK, depth))
    };
    let mut ordered = |tag| Request {
        fua: true,
        ..Request::write(tag, tag * ORDERED % (capacity / 2).max(1), ORDERED)
    };
    let (begin, end) = run(&mut *model()?, 1, STREAMED, &mut ordered);
    let ordered_writes =
        ((STREAMED - STREAMED / 4) * ORDERED) as f64 * 1e9 / (end - begin).max(1) as f64;
    Ok(Limits {
        ordered_writes,
        sequential: [
            stream(Request::read, 0)?,
            stream(Request::read, last / 2)?,
            stream(Request::read, last)?,
        ],
        sequential_writes: stream(Request::write, 0)?,
        random_read_ms: random(Request::read, 1)? / 1e6,
        random_reads: 1e9 / random(Request::read, 32)?,
        random_write_ms: random(Request::write, 1)? / 1e6,
    })
}

/// How long a random read of `len` bytes takes that is alone, ms.
pub fn random_read_ms(model: &mut dyn Model, len: u64) -> f64 {
    random_ns(model, Request::read, len.max(1), 1) / 1e6
}

/// Time for each of many random requests of `len` bytes, `depth` of them in flight, ns.
fn random_ns(
    model: &mut dyn Model,
    request: fn(u64, u64, u64) -> Request,
    len: u64,
    depth: u64,
) -> f64 {
    let mut random = Random::new(1);
    let blocks = (model.capacity() / len).max(1);
    let mut next = |tag| request(tag, random.bits() % blocks * len, len);
    let (begin, end) = run(model, depth, REQUESTS, &mut next);
    (end - begin) as f64 / (REQUESTS - REQUESTS / 4) as f64
}

/// Keeps `depth` requests in flight; returns when a quarter of them and all of them were done.
fn run(
    model: &mut dyn Model,
    depth: u64,
    count: u64,
    next: &mut dyn FnMut(u64) -> Request,
) -> (u64, u64) {
    let (mut sent, mut finished, mut now, mut begin) = (0, 0, 0, 0);
    let mut done = Vec::new();
    while finished < count {
        // The depth is kept to the end: what is sent last is not waited for.
        while sent - finished < depth {
            model.submit(now, next(sent));
            sent += 1;
        }
        let Some(at) = model.next_event() else {
            break;
        };
        now = now.max(at);
        model.advance(now, &mut done);
        for completion in done.drain(..) {
            finished += 1;
            if finished == count / 4 {
                begin = completion.at;
            }
            now = now.max(completion.at);
        }
    }
    (begin, now)
}

#[cfg(test)]
mod tests {
    use crate::{Catalogue, Variation};

    #[test]
    fn limits_of_a_drive_are_what_its_figures_say() {
        let catalogue = Catalogue::shipped().unwrap();
        let limits =
            super::limits(|| catalogue.model("cheetah-15k.5", Variation::Nominal)).unwrap();
        for (found, expected) in limits.sequential.iter().zip([125e6, 103e6, 73e6]) {
            assert!((found / expected - 1.0).abs() < 0.01, "{limits:?}");
        }
        assert!((limits.random_read_ms - 5.6).abs() < 0.2, "{limits:?}");
        assert!((2.2..2.7).contains(&(limits.random_reads * limits.random_read_ms / 1e3)));
    }

    /// The lines of the specification's table, for each shipped disk. The prototype had 124.8 of 125 MB/s, 5.60 of 5.60 and
    /// 12.75 of 12.76 ms, and gains of 2.18 to 2.70.
    #[test]
    fn each_shipped_disk_does_what_follows_from_its_figures() {
        let catalogue = Catalogue::shipped().unwrap();
        let disks = catalogue.devices().filter(|d| d.kind_name() == "disk");
        let disks: Vec<&str> = disks.map(|d| d.name.as_str()).collect();
        assert!(disks.len() >= 9);
        for name in disks {
            let found = super::limits(|| catalogue.model(name, Variation::Nominal)).unwrap();
            let known = super::expected(&catalogue, name).unwrap();
            for (rate, expected) in found.sequential.iter().zip(known.sequential.unwrap()) {
                assert!(
                    (rate / expected - 1.0).abs() < 0.005,
                    "{name}: {found:?} {known:?}"
                );
            }
            let random = found.random_read_ms / known.random_read_ms.unwrap();
            assert!((random - 1.0).abs() < 0.01, "{name}: {found:?} {known:?}");
            let ordered = found.ordered_writes / known.ordered_writes.unwrap();
            assert!((ordered - 1.0).abs() < 0.02, "{name}: {found:?} {known:?}");
            let gain = found.random_reads * found.random_read_ms / 1e3;
            let [least, most] = known.gain.unwrap();
            assert!((least..most).contains(&gain), "{name}: {gain}");
        }
    }

    #[test]
    fn a_random_read_of_flash_takes_what_follows_from_its_figures() {
        let catalogue = Catalogue::shipped().unwrap();
        let found = super::limits(|| catalogue.model("nvme-2018", Variation::Nominal)).unwrap();
        let known = super::expected(&catalogue, "nvme-2018").unwrap();
        let ratio = found.random_read_ms / known.random_read_ms.unwrap();
        assert!((ratio - 1.0).abs() < 0.01, "{found:?} {known:?}");
    }

    #[test]
    fn eleven_disks_stream_more_than_one() {
        let catalogue = Catalogue::shipped().unwrap();
        let rate = |name| {
            let limits = super::limits(|| catalogue.model(name, Variation::Nominal)).unwrap();
            limits.sequential[0]
        };
        let ratio = rate("piszcz-raid0") / rate("7k500");
        assert!((9.0..11.1).contains(&ratio), "{ratio}");
    }
}
