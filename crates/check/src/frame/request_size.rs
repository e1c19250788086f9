//! Request sizes that fit the lengths of the spans.
//!
//! Memory bounds what is in flight, and a buffer is as large as the longest request, however short the one in it. Inode tables fill
//! their buffers; the directories of a tree of small files are 100 KiB each with other things in between, and of two requests
//! of 512 KiB in flight such a sweep makes two of 100 KiB: it waits for the device's latency, not for its rate. So a sweep whose
//! pieces are short has smaller buffers, and more of them in the same memory. Nothing is cut for that which was one request before, but
//! for a few: where requests are what a device counts, they cost more than latency does.

use blockio::{Geometry, Span, Sweep};

/// The smallest buffers: below, a request costs as much as its bytes.
const LEAST: usize = 64 << 10;
/// Requests in flight that hide the latency; a large filesystem has as many, and more would waste memory.
const ENOUGH: usize = 8;
/// Requests in flight where they are so small that these take half of the memory at most: a virtual disk gave 0.3 GB/s with four of 28 KiB
/// in flight, 0.58 with eight, 0.73 with 32.
const MANY: usize = 32;
/// The number of requests may grow by one part in this many.
const MORE: u64 = 8;
/// Bytes that a further thread is worth: it looks at them in the time that it takes to start one. The levels of a small btree are some
/// blocks each, and there are a dozen of them.
const WORTH_A_THREAD: u64 = 256 << 10;

/// The same sweep for these spans, which ascend, in no more memory than before.
pub(super) fn fitted(sweep: &Sweep, spans: &[Span], source: Geometry) -> Sweep {
    let now = requests(spans, sweep.gap, sweep.request);
    let mut fitted = sweep.clone();
    let bytes = spans.iter().map(|span| span.range.end - span.range.start);
    let worth = 1 + bytes.fold(0, u64::saturating_add) / WORTH_A_THREAD;
    fitted.threads = usize::try_from(worth).map_or(sweep.threads, |worth| sweep.threads.min(worth));
    while fitted.request / 2 >= LEAST.max(sweep.block as usize)
        && requests(spans, sweep.gap, fitted.request / 2) <= now + now / MORE
    {
        fitted.request /= 2;
    }
    let bound = sweep.memory(source);
    loop {
        let deeper = Sweep {
            depth: fitted.depth + fitted.threads.max(1),
            ..fitted.clone()
        };
        let most = if deeper.depth > ENOUGH {
            bound / 2
        } else {
            bound
        };
        if deeper.depth > MANY || deeper.memory(source) > most {
            return fitted;
        }
        fitted = deeper;
    }
}

/// Number of requests of that size for these spans, where spans at most `gap` bytes apart are read as one.
fn requests(spans: &[Span], gap: u64, size: usize) -> u64 {
    let count = |run: u64| run.div_ceil(size as u64);
    let (mut requests, mut last) = (0, 0..0);
    for span in spans {
        let range = &span.range;
        if range.is_empty() {
            continue;
        }
        if range.start >= last.end && range.start - last.end <= gap {
            last.end = range.end;
            continue;
        }
        requests += count(last.end - last.start);
        last = range.clone();
    }
    requests + count(last.end - last.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 1024;
    const SOURCE: Geometry = Geometry {
        offset_align: 512,
        memory_align: 512,
        ..Geometry::BYTES
    };

    fn sweep() -> Sweep {
        Sweep {
            request: 512 << 10,
            depth: 2,
            threads: 2,
            ..Sweep::default()
        }
    }

    /// `count` spans of `len` bytes, `between` bytes apart.
    fn spans(count: u64, len: u64, between: u64) -> Vec<Span> {
        let span = |at: u64| at..at + len;
        (0..count)
            .map(|tag| Span {
                tag,
                range: span(tag * (len + between)),
            })
            .collect()
    }

    #[test]
    fn short_pieces_have_small_buffers_and_more_of_them() {
        let directories = spans(300, 100 * K, 900 * K);
        let fitted = fitted(&sweep(), &directories, SOURCE);
        assert_eq!((fitted.request, fitted.depth), (128 << 10, ENOUGH));
        assert!(fitted.memory(SOURCE) <= sweep().memory(SOURCE));
        // Requests do not shrink below a bound; many small ones take half of the memory.
        let blocks = spans(300, 4 * K, 900 * K);
        let fitted = super::fitted(&sweep(), &blocks, SOURCE);
        assert_eq!((fitted.request, fitted.depth), (64 << 10, 12));
        assert!(fitted.memory(SOURCE) <= sweep().memory(SOURCE) / 2);
        let deep = Sweep {
            depth: 16,
            ..Sweep::default()
        };
        assert_eq!(super::fitted(&deep, &blocks, SOURCE).depth, MANY);
    }

    #[test]
    fn long_pieces_and_neighbours_keep_their_requests() {
        let tables = spans(20, 8192 * K, 1024 * K);
        assert_eq!(fitted(&sweep(), &tables, SOURCE), sweep());
        let neighbours = spans(1000, 16 * K, 16 * K);
        assert_eq!(fitted(&sweep(), &neighbours, SOURCE), sweep());
        assert_eq!(requests(&neighbours, 64 * K, 512 << 10), 63);
        assert_eq!(requests(&neighbours, 8 * K, 512 << 10), 1000);
    }

    #[test]
    fn a_little_is_for_one_thread() {
        let roots = spans(4, 4 * K, 900 * K);
        let fitted = super::fitted(&sweep(), &roots, SOURCE);
        assert_eq!((fitted.threads, fitted.depth), (1, 14));
        assert!(fitted.memory(SOURCE) <= sweep().memory(SOURCE));
        let more = spans(64, 4 * K, 900 * K);
        assert_eq!(super::fitted(&sweep(), &more, SOURCE).threads, 2);
    }

    #[test]
    fn a_few_long_ones_among_many_are_cut() {
        let mut mixed = spans(64, 60 * K, 900 * K);
        let at = 1 << 30;
        mixed.extend((0..8).map(|tag| Span {
            tag,
            range: at + tag * 1024 * K..at + tag * 1024 * K + 120 * K,
        }));
        assert_eq!(fitted(&sweep(), &mixed, SOURCE).request, 64 << 10);
        assert_eq!(requests(&[], 0, 1), 0);
    }
}
