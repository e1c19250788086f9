//! o2image's packed files: the metadata blocks of a volume one after the other, and a bitmap of the blocks that are there.

use blockio::BlockSource;
use ondisk::bytes::le64;
use ondisk::ocfs2::image::{BITMAP_BLOCK, ImageHeader};

use super::refused::Refused;

/// Words of the bitmap between two counts.
const STRIDE: usize = 64;

/// Where the blocks of a packed file are.
#[derive(Debug)]
pub(crate) struct Packed {
    size: u64,
    bitmap: Vec<u64>,
    /// Set bits before each stride.
    before: Vec<u64>,
}

/// The header of a packed file; none for anything else.
pub(crate) fn header(source: &dyn BlockSource) -> Option<ImageHeader> {
    let mut bytes = [0; ImageHeader::SIZE];
    source.read_at(&mut bytes, 0).ok()?;
    let header = *ImageHeader::read(&bytes).ok()?;
    header.is_image().then_some(header)
}

impl Packed {
    /// Reads the bitmap of a packed file.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub(crate) fn open(source: &dyn BlockSource) -> Result<Option<Packed>, &'static str> {
        let Some(header) = header(source) else {
            return Ok(None);
        };
        let (size, blocks) = (header.hdr_fsblksz.get(), header.hdr_fsblkcnt.get());
        if !matches!(size, 512 | 1024 | 2048 | 4096) {
            return Err("the block size in the header of the o2image file does not exist");
        }
        let bytes = blocks
            .div_ceil(BITMAP_BLOCK * 8)
            .saturating_mul(BITMAP_BLOCK);
        let at = header
            .hdr_imgblkcnt
            .get()
            .saturating_add(1)
            .saturating_mul(size);
        if at.saturating_add(bytes) > source.len() {
            return Err("the o2image file ends before its bitmap; make it again");
        }
        let mut read = vec![0; bytes as usize];
        source
            .read_at(&mut read, at)
            .map_err(|_| "the bitmap of the o2image file cannot be read")?;
        let bitmap: Vec<u64> = (0..read.len() / 8)
            .map(|word| le64(&read, word * 8))
            .collect();
        let mut count = 0;
        let before = bitmap
            .chunks(STRIDE)
            .map(|words| {
                let first = count;
                count += words
                    .iter()
                    .map(|word| u64::from(word.count_ones()))
                    .sum::<u64>();
                first
            })
            .collect();
        Ok(Some(Packed {
            size,
            bitmap,
            before,
        }))
    }

    /// Size of a block, bytes.
    pub(crate) fn block_size(&self) -> u64 {
        self.size
    }

    /// Byte of a block in the file; none where it is not there.
    fn place(&self, block: u64) -> Option<u64> {
        let word = usize::try_from(block / 64).ok()?;
        let own = *self.bitmap.get(word)?;
        let bit = block % 64;
        if own >> bit & 1 == 0 {
            return None;
        }
        let stride = word / STRIDE;
        let words = &self.bitmap[stride * STRIDE..word];
        let ones: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        let below = u64::from((own & ((1 << bit) - 1)).count_ones());
        Some((1 + self.before[stride] + ones + below) * self.size)
    }

    /// Reads blocks in a run. A single block that is not in the file is refused; among several it is zeros, because o2image leaves out the
    /// free blocks of a group.
    pub(crate) fn read(
        &self,
        source: &dyn BlockSource,
        first: u64,
        bytes: &mut [u8],
    ) -> Result<(), Refused> {
        let size = self.size as usize;
        let single = bytes.len() <= size;
        for (at, part) in (0_u64..).zip(bytes.chunks_mut(size)) {
            match self.place(first.saturating_add(at)) {
                Some(at) => source.read_at(part, at).map_err(|_| Refused::Read)?,
                None if single => return Err(Refused::Absent),
                None => part.fill(0),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockio::Ram;
    use ondisk::ocfs2::image::{MAGIC, NAME};

    #[test]
    fn blocks_are_where_the_bitmap_says() {
        let mut file = vec![0_u8; 512 * 4 + 4096];
        file[..4].copy_from_slice(&MAGIC);
        file[8..24].copy_from_slice(&NAME);
        for (at, value) in [
            (0x18, 1_u64),
            (0x20, 700),
            (0x28, 512),
            (0x30, 3),
            (0x38, 4096),
        ] {
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        for (number, block) in [2_usize, 70, 699].into_iter().enumerate() {
            file[512 * (number + 1)..][..512].fill(block as u8);
            file[512 * 4 + block / 8] |= 1 << (block % 8);
        }
        let source = Ram::new(&file);
        let packed = Packed::open(&source).unwrap().unwrap();
        for block in [2_u64, 70, 699] {
            let mut bytes = [0; 512];
            packed.read(&source, block, &mut bytes).unwrap();
            assert_eq!(bytes, [block as u8; 512]);
        }
        let mut two = [1; 1024];
        packed.read(&source, 69, &mut two).unwrap();
        assert_eq!((two[0], two[512]), (0, 70));
        assert_eq!(packed.read(&source, 3, &mut [0; 512]), Err(Refused::Absent));
        assert_eq!(
            packed.read(&source, u64::MAX, &mut [0; 512]),
            Err(Refused::Absent)
        );
        let short = Ram::new(&file[..2048]);
        assert!(Packed::open(&short).is_err());
    }
}
