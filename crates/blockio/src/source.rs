//! The trait at the bottom: bytes at offsets, where they are, and a queue to read many at once.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use crate::error::{OpenError, ReadError};
use crate::queue::Queue;

/// Sizes that a reader should know. All are powers of two and at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Geometry {
    /// Smallest unit that can fail by itself: a device's logical sector (`BLKSSZGET`), a file's block
    /// (`st_blksize`), bytes.
    pub logical_block: u32,
    /// What the medium reads at once (`BLKPBSZGET`; for a file the same as `logical_block`), bytes.
    pub physical_block: u32,
    /// Multiple at which offset and length of a read need no copy; 1 where all are equal.
    pub offset_align: u32,
    /// The same for addresses in memory.
    pub memory_align: u32,
}

impl Geometry {
    /// Of a source without blocks: memory.
    pub const BYTES: Geometry = Geometry {
        logical_block: 1,
        physical_block: 1,
        offset_align: 1,
        memory_align: 1,
    };
}

/// Something that holds bytes at offsets and is only read: an image, a device, memory, or a
/// layer around one of these.
///
/// Everything is by `&self` and from any thread. Any range can be read into any buffer; reads
/// that keep to [`Geometry`]'s alignment are spared a copy.
pub trait BlockSource: Send + Sync {
    /// What errors call it: the path, mostly.
    fn name(&self) -> &Arc<str>;

    /// Bytes it holds.
    fn len(&self) -> u64;

    /// Whether it holds none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Block sizes and alignments.
    fn geometry(&self) -> Geometry;

    /// Reads exactly `buf.len()` bytes from byte `offset`. A hole reads as zeros.
    ///
    /// # Errors
    /// The range reaches past the end, or not all of it could be read. The contents of `buf`
    /// are then unspecified.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError>;

    /// The first range at or after `offset` that may hold anything but zeros; `None` if only zeros
    /// follow. A source that knows of no holes says `offset..len`.
    ///
    /// This looks at no byte of the data. Two system calls for a file.
    fn next_data(&self, offset: u64) -> Option<Range<u64>>;

    /// Says that this range will be read soon. Sources that cannot read ahead ignore it.
    fn will_need(&self, offset: u64, len: u64);

    /// A queue for reading with up to `depth` requests (at least 1) in flight, for one thread. Each
    /// thread opens its own.
    ///
    /// # Errors
    /// The kernel grants neither a ring nor threads.
    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError>;
}

/// A source around a source: it changes some of the methods and passes the others on.
///
/// Each default calls the source below. [`BlockSource`] is implemented once for all layers, so a
/// layer writes only what it changes, and a stack of layers costs no dynamic call.
pub(crate) trait Layer: Send + Sync {
    /// The source below.
    type Below: BlockSource + ?Sized;

    /// The source below.
    fn below(&self) -> &Self::Below;

    /// See [`BlockSource::read_at`].
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        self.below().read_at(buf, offset)
    }

    /// See [`BlockSource::next_data`].
    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        self.below().next_data(offset)
    }

    /// See [`BlockSource::will_need`].
    fn will_need(&self, offset: u64, len: u64) {
        self.below().will_need(offset, len);
    }

    /// See [`BlockSource::queue`].
    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        self.below().queue(depth)
    }
}

impl<L: Layer> BlockSource for L {
    fn name(&self) -> &Arc<str> {
        self.below().name()
    }

    fn len(&self) -> u64 {
        self.below().len()
    }

    fn geometry(&self) -> Geometry {
        self.below().geometry()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<(), ReadError> {
        Layer::read_at(self, buf, offset)
    }

    fn next_data(&self, offset: u64) -> Option<Range<u64>> {
        Layer::next_data(self, offset)
    }

    fn will_need(&self, offset: u64, len: u64) {
        Layer::will_need(self, offset, len);
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn Queue + '_>, OpenError> {
        Layer::queue(self, depth)
    }
}

/// A pointer to a source is a layer that changes nothing.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<S: BlockSource + ?Sized> Layer for $pointer {
            type Below = S;

            fn below(&self) -> &S {
                self
            }
        }
    )*};
}

pointers!(&S, Box<S>, Arc<S>);
