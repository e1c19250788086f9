//! A request read on the spot, and the room that its buffer needs.

use crate::buffer::Buffer;
use crate::error::{Fault, ReadError};
use crate::queue::{Completion, Request};
use crate::source::BlockSource;

impl Request {
    /// Reads it now.
    pub(crate) fn read<S: BlockSource + ?Sized>(mut self, source: &S) -> Completion {
        let result = self
            .make_room(source, self.len, 0)
            .and_then(|()| source.read_at(self.buffer.as_mut_slice(), self.offset));
        self.finish(result)
    }

    /// Gives the buffer room for `span` bytes, of which the request's own begin at `start`.
    pub(crate) fn make_room<S: BlockSource + ?Sized>(
        &mut self,
        source: &S,
        span: usize,
        start: usize,
    ) -> Result<(), ReadError> {
        let fail = |fault| ReadError {
            name: source.name().clone(),
            offset: self.offset,
            len: self.len as u64,
            fault,
        };
        crate::error::within(source.name(), source.len(), self.offset, self.len as u64)?;
        if self.buffer.capacity() < span {
            let align = source.geometry().memory_align as usize;
            self.buffer = Buffer::new(span, align)
                .map_err(|e| fail(Fault::Os(e.raw_os_error().unwrap_or(libc::ENOMEM))))?;
        }
        self.buffer.set_window(start, self.len);
        Ok(())
    }
}
