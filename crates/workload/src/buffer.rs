//! A child's transfer buffer, placed as iozone places it.

/// The processor cache iozone assumes (1 MiB): its buffers are aligned to it.
pub const CACHE_SIZE: usize = 1 << 20;

/// Bytes at a chosen alignment that never move.
///
/// iozone gives each child one buffer of 16 MiB, aligned to the assumed cache size; with a record
/// below 1 MiB child `i` uses the part at `(i mod (1 MiB / record)) * record`, so that the
/// children's records do not all compete for the same cache sets. The bytes never change.
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

/// What the buffers hold: not zeros, which a compressing or thin device would not store.
pub const PATTERN: u8 = 0xa5;

impl Buffer {
    /// `len` bytes of [`PATTERN`] for `child`, whose records have `record` bytes. The address is
    /// a multiple of `align`, a power of two.
    pub fn for_child(child: u32, record: usize, len: usize, align: usize) -> Buffer {
        let shift = iozone_offset(child, record) & !(align - 1);
        let align = align.max(CACHE_SIZE);
        // The vector is filled, hence every page of it is touched before any clock runs.
        let bytes = vec![PATTERN; len + shift + align];
        debug_assert!(align > CACHE_SIZE || bytes.len() <= Buffer::footprint(child, record, len));
        let start = (bytes.as_ptr() as usize).next_multiple_of(align) - bytes.as_ptr() as usize;
        Buffer {
            bytes,
            start: start + shift,
            len,
        }
    }

    /// Bytes of memory that such a buffer takes at most: its place and its alignment (here as
    /// everywhere at most 1 MiB) come on top of its own.
    pub fn footprint(child: u32, record: usize, len: usize) -> usize {
        len + iozone_offset(child, record) + CACHE_SIZE
    }

    /// The bytes.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// iozone's place of a child's record inside its buffer.
fn iozone_offset(child: u32, record: usize) -> usize {
    match CACHE_SIZE / record.max(1) {
        0 | 1 => 0,
        places => child as usize % places * record,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_use_iozones_places() {
        let k = 1024;
        assert_eq!(iozone_offset(0, 256 * k), 0);
        assert_eq!(iozone_offset(3, 256 * k), 3 * 256 * k);
        assert_eq!(iozone_offset(4, 256 * k), 0);
        assert_eq!(iozone_offset(7, 1024 * k), 0);
        assert_eq!(iozone_offset(7, 16 * 1024 * k), 0);
        assert_eq!(iozone_offset(300, 4 * k), 300 % 256 * 4 * k);
    }

    proptest::proptest! {
        #[test]
        fn always_aligned_whole_and_patterned(
            child in 0_u32..1024, record in 1024_usize..200_000, depth in 1_usize..4, bits in 9_u32..14
        ) {
            let align = 1 << bits;
            let mut buffer = Buffer::for_child(child, record, record * depth, align);
            let slice = buffer.as_mut_slice();
            proptest::prop_assert_eq!(slice.as_ptr() as usize % align, 0);
            proptest::prop_assert_eq!(slice.len(), record * depth);
            proptest::prop_assert!(slice.iter().all(|b| *b == PATTERN));
        }
    }
}
