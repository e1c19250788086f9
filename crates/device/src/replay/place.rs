//! Where requests of a record go on a device.

use super::engine::Error;
use super::kept::{Kept, Requests};
use super::linker::Outline;
use crate::model::Request;

/// Where requests go on a device of another size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where they were; what does not fit is refused.
    #[default]
    Keep,
    /// In proportion to the sizes, at multiples of 4 KiB.
    Scale,
    /// Modulo the size of the device.
    Wrap,
}

/// Places the requests of one record on one device.
#[derive(Clone, Copy)]
pub(super) struct Placing {
    place: Place,
    size: u64,
    capacity: u64,
}

impl Placing {
    /// Refuses a record that does not fit before anything of it is replayed.
    pub(super) fn new(
        requests: &mut dyn Requests,
        outline: &Outline,
        capacity: u64,
        place: Place,
    ) -> Result<Placing, Error> {
        let placing = Placing {
            place,
            size: outline.size.max(1),
            capacity,
        };
        if placing.size > capacity {
            for number in 0..outline.count {
                placing.request(&requests.get(number)?, number, 0)?;
            }
        }
        Ok(placing)
    }

    /// The request of this number, with a tag.
    pub(super) fn request(&self, kept: &Kept, number: u32, tag: u64) -> Result<Request, Error> {
        let capacity = self.capacity;
        let scaled = u128::from(kept.offset) * u128::from(capacity) / u128::from(self.size);
        let room = capacity.saturating_sub(kept.len);
        let offset = match self.place {
            Place::Scale if self.size > capacity => (scaled as u64 / 4096 * 4096).min(room),
            Place::Wrap if kept.end() > capacity => (kept.offset % capacity.max(1)).min(room),
            Place::Keep | Place::Scale | Place::Wrap => kept.offset,
        };
        let end = offset.saturating_add(kept.len);
        if end > capacity {
            return Err(Error::DoesNotFit {
                index: number as usize,
                end,
                capacity,
            });
        }
        Ok(Request {
            tag,
            op: kept.op,
            offset,
            len: kept.len,
            fua: kept.fua,
            sync: !kept.is_timed,
        })
    }
}
