//! Every source under every stack of layers gives the bytes of a plain vector, and fails exactly
//! where it was configured to.
use std::io::{Seek, SeekFrom, Write};
use std::ops::{ControlFlow, Range};

use crate::models::{FLASH, model};
use blockio::layer::{Cache, Counting, Faulty, OnModel, Throttle, ThrottleLimits};
use blockio::{
    BlockSource, Buffer, Buffered, Content, Direct, Fault, Mapped, Queue, Ram, Request, Span, Sweep,
};
use proptest::prelude::*;

/// Where the data of an image are; the rest is a hole.
type Pieces = Vec<(u64, Vec<u8>)>;

#[derive(Clone, Debug)]
struct Image {
    len: u64,
    pieces: Pieces,
}

fn image() -> impl Strategy<Value = Image> {
    let piece = (0_u64..600_000, 1_usize..70_000, 1_u8..255).prop_map(|(at, len, seed)| {
        let bytes = (0..len).map(|i| (i as u8).wrapping_mul(seed) | 1).collect();
        (at, bytes)
    });
    (0_u64..700_000, prop::collection::vec(piece, 0..5))
        .prop_map(|(len, pieces)| Image { len, pieces })
}

impl Image {
    fn model(&self) -> Vec<u8> {
        let mut model = vec![0; self.len as usize];
        for (at, bytes) in &self.pieces {
            let start = (*at).min(self.len) as usize;
            let end = (*at + bytes.len() as u64).min(self.len) as usize;
            model[start..end].copy_from_slice(&bytes[..end - start]);
        }
        model
    }

    /// A sparse file of it.
    fn file(&self) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for (at, bytes) in &self.pieces {
            file.seek(SeekFrom::Start(*at)).unwrap();
            file.write_all(bytes).unwrap();
        }
        file.as_file().set_len(self.len).unwrap();
        file
    }

    fn ram(&self) -> Ram {
        let mut ram = Ram::sparse(self.len);
        for (at, bytes) in &self.pieces {
            ram.put(*at, bytes);
        }
        ram
    }

    fn source(&self, bottom: Bottom, file: &tempfile::NamedTempFile) -> Box<dyn BlockSource> {
        match bottom {
            Bottom::Ram => Box::new(self.ram()),
            Bottom::Buffered => Box::new(Buffered::open(file.path()).unwrap()),
            Bottom::Direct => Box::new(Direct::open(file.path()).unwrap()),
            Bottom::Mapped => Box::new(Mapped::open(file.path()).unwrap()),
            Bottom::Threads => Box::new(ByThreads(Direct::open(file.path()).unwrap())),
        }
    }
}

/// A direct source whose queues are threads, as where `io_uring` is forbidden.
struct ByThreads(Direct);

impl BlockSource for ByThreads {
    fn name(&self) -> &std::sync::Arc<str> {
        self.0.name()
    }
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn geometry(&self) -> blockio::Geometry {
        self.0.geometry()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), blockio::ReadError> {
        self.0.read_at(buf, offset)
    }
    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        self.0.next_data(offset)
    }
    fn will_need(&self, offset: u64, len: u64) {
        self.0.will_need(offset, len);
    }
    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, blockio::OpenError> {
        self.0.queue_of_threads(depth)
    }
}

#[derive(Clone, Copy, Debug)]
enum Bottom {
    Ram,
    Buffered,
    Direct,
    Mapped,
    Threads,
}

#[derive(Clone, Debug)]
enum Layer {
    Counting,
    Cache { bytes: u64, block: u32 },
    Throttle,
    OnModel,
}

fn bottom() -> impl Strategy<Value = Bottom> {
    use Bottom::{Buffered, Direct, Mapped, Ram, Threads};
    prop::sample::select(vec![Ram, Buffered, Direct, Mapped, Threads])
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let block = prop::sample::select(vec![1_u32, 512, 1000, 4096, 65_536]);
    let layer = prop_oneof![
        Just(Layer::Counting),
        (0_u64..300_000, block).prop_map(|(bytes, block)| Layer::Cache { bytes, block }),
        Just(Layer::Throttle),
        Just(Layer::OnModel),
    ];
    prop::collection::vec(layer, 0..4)
}

fn stack(mut source: Box<dyn BlockSource>, layers: &[Layer]) -> Box<dyn BlockSource> {
    for layer in layers {
        source = match layer {
            Layer::Counting => Box::new(Counting::new(source)),
            Layer::Cache { bytes, block } => Box::new(Cache::new(source, *bytes, *block)),
            Layer::Throttle => Box::new(Throttle::new(
                source,
                ThrottleLimits {
                    bytes_per_second: Some(1e12),
                    requests_per_second: Some(1e7),
                },
            )),
            Layer::OnModel => Box::new(OnModel::new(source, model(&[FLASH], "flash"))),
        };
    }
    source
}

/// Reads anywhere, also past the end.
fn reads() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let at = prop_oneof![0_u64..720_000, (0_u64..170).prop_map(|block| block * 4096)];
    let len = prop_oneof![
        0_usize..9000,
        0_usize..300_000,
        (0_usize..20).prop_map(|n| n * 4096)
    ];
    prop::collection::vec((at, len), 1..12)
}

fn faults() -> impl Strategy<Value = Vec<Range<u64>>> {
    let range = (0_u64..700_000, 1_u64..5000).prop_map(|(at, len)| at..at + len);
    prop::collection::vec(range, 0..3)
}

/// What a read must give: the bytes, or its first bad byte.
fn expected<'m>(
    model: &'m [u8],
    faults: &[Range<u64>],
    offset: u64,
    len: usize,
) -> Result<&'m [u8], (u64, Fault)> {
    let (size, end) = (model.len() as u64, offset + len as u64);
    if end > size {
        return Err((offset.max(size), Fault::PastEnd(size)));
    }
    let touched = faults
        .iter()
        .filter(|bad| bad.start < end && offset < bad.end);
    match touched.map(|bad| bad.start.max(offset)).min() {
        Some(first) if len > 0 => Err((first, Fault::Os(libc_eio()))),
        _ => Ok(&model[offset as usize..end as usize]),
    }
}

fn libc_eio() -> i32 {
    rustix::io::Errno::IO.raw_os_error()
}

/// A piece: tag, range, and its bytes unless it failed.
type Shown = (u64, Range<u64>, Option<Vec<u8>>);

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn single_reads_of_any_stack_are_the_models(
        image in image(), bottom in bottom(), layers in layers(), faults in faults(), reads in reads()
    ) {
        let (model, file) = (image.model(), image.file());
        let faulty = Faulty::new(image.source(bottom, &file), faults.clone(), libc_eio());
        let source = stack(Box::new(faulty), &layers);
        prop_assert_eq!(source.len(), image.len);
        for (offset, len) in reads {
            let mut buf = vec![0xaa; len];
            let result = source.read_at(&mut buf, offset);
            match expected(&model, &faults, offset, len) {
                Ok(bytes) => {
                    prop_assert_eq!(&result, &Ok(()));
                    prop_assert!(buf == bytes, "bytes at {}", offset);
                }
                Err((first, fault)) => {
                    let error = result.unwrap_err();
                    prop_assert_eq!(error.fault, fault);
                    prop_assert_eq!(error.offset + error.len, offset + len as u64);
                    // A cache reports its own first failing run, never a byte that is good.
                    prop_assert_eq!(error.offset, first);
                }
            }
        }
    }

    #[test]
    fn queued_reads_of_any_stack_are_the_models(
        image in image(), bottom in bottom(), layers in layers(), faults in faults(),
        depth in 1_usize..6, reads in reads()
    ) {
        let (model, file) = (image.model(), image.file());
        let faulty = Faulty::new(image.source(bottom, &file), faults.clone(), libc_eio());
        let source = stack(Box::new(faulty), &layers);
        let mut queue = source.queue(depth).unwrap();
        let mut seen = vec![false; reads.len()];
        let mut buffers = Vec::new();
        let mut todo = reads.iter().enumerate();
        loop {
            while queue.has_room() {
                let Some((i, (offset, len))) = todo.next() else { break };
                let buffer = buffers.pop().unwrap_or_else(Buffer::empty);
                let request = Request { tag: i as u64, offset: *offset, len: *len, buffer };
                prop_assert!(queue.submit(request).is_ok());
                prop_assert!(queue.in_flight() <= queue.depth());
            }
            let Some(done) = queue.wait() else { break };
            let (offset, len) = reads[done.tag as usize];
            prop_assert!(!std::mem::replace(&mut seen[done.tag as usize], true));
            prop_assert_eq!(done.offset, offset);
            match expected(&model, &faults, offset, len) {
                Ok(bytes) => prop_assert!(done.bytes().unwrap() == bytes, "bytes at {}", offset),
                Err((_, fault)) => prop_assert_eq!(done.bytes().unwrap_err().fault, fault),
            }
            buffers.push(done.buffer);
        }
        prop_assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn a_sweep_shows_every_byte_once_and_fails_exactly_the_bad_blocks(
        image in image(), bottom in bottom(), layers in layers(), faults in faults(),
        request in 1_usize..200_000, depth in 1_usize..5, threads in 1_usize..4,
        bits in 9_u32..17, gap in 0_u64..100_000, ranges in reads()
    ) {
        let (model, file) = (image.model(), image.file());
        let faulty = Faulty::new(image.source(bottom, &file), faults.clone(), libc_eio());
        let source = stack(Box::new(faulty), &layers);
        let mut spans: Vec<Range<u64>> = ranges.iter().map(|(at, n)| *at..*at + *n as u64).collect();
        spans.sort_by_key(|range| range.start);
        let sweep = Sweep { request, depth, threads, block: 1 << bits, gap, patience: u32::MAX };
        let tagged = spans.iter().enumerate().map(|(i, range)| Span { tag: i as u64, range: range.clone() });
        let take = |pieces: &mut Vec<Shown>, piece: blockio::Piece<'_>| {
            let range = piece.range();
            let content = match piece.content {
                Content::Data(bytes) => Some(bytes.to_vec()),
                Content::Hole(len) => Some(vec![0; len as usize]),
                Content::Failed(error) => {
                    assert_eq!(error.offset, piece.offset);
                    None
                }
            };
            pieces.push((piece.tag, range, content));
            ControlFlow::Continue(())
        };
        let swept = sweep.run(source.as_ref(), tagged, |_| Vec::new(), take).unwrap();
        prop_assert_eq!(swept.states.len(), threads);
        let mut pieces: Vec<Shown> = swept.states.into_iter().flatten().collect();
        pieces.sort_by_key(|(tag, range, _)| (*tag, range.start));
        let mut pieces = pieces.into_iter().peekable();
        for (tag, span) in (0_u64..).zip(&spans) {
            let mut at = span.start;
            while let Some((_, range, content)) = pieces.next_if(|(t, _, _)| *t == tag) {
                // One after the other: nothing twice, nothing left out.
                prop_assert_eq!(range.start, at);
                at = range.end;
                let bad = |r: &&Range<u64>| r.start < range.end && range.start < r.end;
                let Some(bytes) = content else {
                    // Nothing fails that has no bad byte in its block, or is past the end.
                    for block in range.start >> bits..range.end.div_ceil(1 << bits) {
                        let block = block << bits..(block + 1) << bits;
                        let bad = faults.iter().any(|r| r.start < block.end && block.start < r.end);
                        prop_assert!(bad || range.start >= image.len);
                    }
                    continue;
                };
                prop_assert_eq!(faults.iter().find(bad), None);
                prop_assert!(bytes == model[range.start as usize..range.end as usize]);
            }
            prop_assert_eq!(at, span.end);
        }
        let shown: u64 = spans.iter().map(|span| span.end - span.start).sum();
        prop_assert_eq!(swept.counts.data + swept.counts.holes + swept.counts.failed, shown);
    }

    #[test]
    fn a_cache_never_exceeds_its_size_whatever_is_read(
        bytes in 0_u64..100_000, block in 1_u32..5000, reads in reads()
    ) {
        let ram = Ram::new(&vec![1; 700_000]);
        let cache = Cache::new(ram, bytes, block);
        let mut queue = cache.queue(2).unwrap();
        for (i, (offset, len)) in reads.into_iter().enumerate() {
            if i % 2 == 0 {
                let _ = cache.read_at(&mut vec![0; len], offset);
            } else {
                let buffer = Buffer::empty();
                queue.submit(Request { tag: 0, offset, len, buffer }).unwrap();
                queue.wait();
            }
            prop_assert!(cache.held() <= bytes);
            prop_assert!(cache.allocated() <= bytes);
        }
    }

    #[test]
    fn what_is_not_data_is_zeros(image in image(), bottom in bottom()) {
        let (model, file) = (image.model(), image.file());
        let source = image.source(bottom, &file);
        let mut at = 0;
        while let Some(data) = source.next_data(at) {
            prop_assert!(at <= data.start && data.start < data.end && data.end <= image.len);
            prop_assert!(model[at as usize..data.start as usize].iter().all(|b| *b == 0));
            at = data.end;
        }
        prop_assert!(model[at.min(image.len) as usize..].iter().all(|b| *b == 0));
    }
}

/// One stack, many readers, single and queued: each gets its own bytes, and nothing is lost from the
/// counts or the bound of the cache.
#[test]
fn a_stack_is_shared_by_threads() {
    let image = Image {
        len: 1_000_000,
        pieces: vec![(0, (0..1_000_000).map(|i| (i / 13 % 251) as u8).collect())],
    };
    let (model, file) = (image.model(), image.file());
    for bottom in [Bottom::Direct, Bottom::Buffered, Bottom::Mapped] {
        let below = Counting::new(image.source(bottom, &file));
        let source = Counting::new(Cache::new(below, 200_000, 4096));
        let threads = 4_u64;
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (source, model) = (&source, &model);
                scope.spawn(move || {
                    let mut queue = source.queue(3).unwrap();
                    let mut state = thread + 1;
                    for _ in 0..200 {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        let (at, len) =
                            ((state >> 33) % 990_000, 1 + (state >> 20) as usize % 9999);
                        let mut buf = vec![0; len];
                        source.read_at(&mut buf, at).unwrap();
                        assert!(buf == model[at as usize..][..len]);
                        let buffer = Buffer::empty();
                        queue
                            .submit(Request {
                                tag: at,
                                offset: at,
                                len,
                                buffer,
                            })
                            .unwrap();
                        if !queue.has_room() {
                            let done = queue.wait().unwrap();
                            let bytes = done.bytes().unwrap();
                            assert!(bytes == &model[done.tag as usize..][..bytes.len()]);
                        }
                    }
                    while queue.wait().is_some() {}
                });
            }
        });
        assert_eq!(source.counts().requests, threads * 400);
        assert_eq!(source.counts().errors, 0);
        let cache = source.inner();
        assert!(cache.held() <= 200_000);
        let counts = cache.counts();
        assert!(
            counts.hits > 0 && counts.misses > 0 && counts.evictions > 0,
            "{counts:?}"
        );
        assert!(cache.inner().counts().bytes > 0);
    }
}
