//! Reading on after a read, as long as the buffer has room and nothing else is asked for.

use super::Geometry;
use crate::model::Request;

/// A head that reads on.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// First byte in the buffer.
    begin: u64,
    /// The head stops here: the buffer is full or the disk ends.
    limit: u64,
    /// A byte and the time in ns at which the head passes it. Where that is over, earlier bytes are in the buffer.
    passing: (f64, f64),
    /// Bytes before this one are in the buffer also while the head is on its way back to where it goes on.
    held: u64,
}

impl Stream {
    /// After a read whose last byte passed the head at `at`.
    pub(crate) fn after(geometry: &Geometry, read: &Request, at: f64, ahead: u64) -> Stream {
        Stream {
            begin: read.offset,
            limit: read.end().saturating_add(ahead).min(geometry.capacity()),
            passing: (geometry.radius(read.end()), at),
            held: read.offset,
        }
    }

    /// When the head passes a byte, if nothing stops it before.
    fn passes(&self, geometry: &Geometry, byte: u64) -> f64 {
        self.passing.1 + geometry.reading(self.passing.0, geometry.radius(byte))
    }

    /// Radius of the head.
    pub(crate) fn head(&self, geometry: &Geometry, now: f64) -> f64 {
        let moved = ((now - self.passing.1) / geometry.sweep()).max(0.0);
        (self.passing.0 + moved).min(geometry.radius(self.limit))
    }

    /// Whether a read that begins at `offset` waits for this stream, and not for a seek.
    #[inline]
    pub(crate) fn serves(&self, geometry: &Geometry, offset: u64, now: f64) -> bool {
        (self.begin..=self.limit).contains(&offset)
            && self.passes(geometry, offset) - now <= 1.5 * geometry.turn()
    }

    /// When the last byte of a read has passed the head, and the stream after that.
    ///
    /// A head that has stopped at a full buffer is positioned again before it goes on.
    pub(crate) fn extended(
        &self,
        geometry: &Geometry,
        read: &Request,
        now: f64,
        ahead: u64,
    ) -> (f64, Stream) {
        let end = geometry.radius(self.limit);
        let (passing, held) = if self.passes(geometry, self.limit) < now {
            let back = now + geometry.rotation(geometry.angle(end), now);
            ((end, back), self.limit)
        } else {
            (self.passing, self.held)
        };
        let limit = read.end().saturating_add(ahead).min(geometry.capacity());
        let stream = Stream {
            begin: read.offset,
            limit: limit.max(self.limit),
            passing,
            held,
        };
        let has_passed = read.end() <= self.limit && self.passes(geometry, read.end()) <= now;
        let buffered = read.end() <= held || has_passed;
        let passed = if buffered {
            now
        } else {
            stream.passes(geometry, read.end())
        };
        (passed, stream)
    }
}
