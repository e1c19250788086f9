//! The compressions that kernels, modules and packages come in.
//!
//! All four decoders are pure Rust: the build needs no system library, and the inputs, though
//! signed, are parsed by code that cannot be made to write past a buffer. Measured against the C
//! tools they take two to three times as long, which is a second or two once per kernel.

use std::io::{self, BufReader, Read};

/// Most memory of the decoder of xz, in KiB. Kernels are built with a dictionary of up to 128 MiB (scripts/xz_wrap.sh); a file may
/// ask for 4 GiB.
const XZ_MEMORY: u32 = 160 << 10;

/// How a stream is compressed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// As it is.
    None,
    /// RFC 1952.
    Gzip,
    /// The .xz container.
    Xz,
    /// RFC 8878.
    Zstd,
    /// LZ4's frame, or the legacy frame that kernels use.
    Lz4,
}

impl Compression {
    /// By the magic numbers that each format begins with.
    pub(crate) fn of(head: &[u8]) -> Self {
        const MAGIC: [(&[u8], Compression); 5] = [
            (&[0x1f, 0x8b], Compression::Gzip),
            (&[0xfd, b'7', b'z', b'X', b'Z', 0], Compression::Xz),
            (&[0x28, 0xb5, 0x2f, 0xfd], Compression::Zstd),
            (&[0x04, 0x22, 0x4d, 0x18], Compression::Lz4),
            (&[0x02, 0x21, 0x4c, 0x18], Compression::Lz4),
        ];
        MAGIC
            .iter()
            .find(|(magic, _)| head.starts_with(magic))
            .map_or(Self::None, |(_, kind)| *kind)
    }

    /// By the end of a file's name.
    pub(crate) fn of_name(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, end)| end) {
            Some("gz") => Self::Gzip,
            Some("xz") => Self::Xz,
            Some("zst") => Self::Zstd,
            Some("lz4") => Self::Lz4,
            _ => Self::None,
        }
    }

    /// Reads what was compressed.
    pub(crate) fn reader<'a, R: Read + 'a>(self, inner: R) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::None => Box::new(inner),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(inner)),
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(
                BufReader::new(inner),
                true,
                XZ_MEMORY,
            )),
            Self::Zstd => Box::new(
                ruzstd::decoding::StreamingDecoder::new(BufReader::new(inner)).map_err(
                    |error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
                )?,
            ),
            Self::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(inner)),
        })
    }

    /// The whole of it, of no more than `limit` bytes.
    pub(crate) fn decompress(self, bytes: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        self.reader(bytes)?
            .take(limit + 1)
            .read_to_end(&mut whole)?;
        if whole.len() as u64 > limit {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("more than {limit} bytes come out of it"),
            ));
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(data: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        writer.write_all(data).unwrap();
        writer.finish().unwrap()
    }

    fn zstd(data: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn lz4(data: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// The header of a block says how much memory its decoder takes.
    #[test]
    fn a_dictionary_larger_than_any_kernels_is_refused() {
        let mut packed = xz(b"text");
        // The size of the header in words, flags, the filter LZMA2 (0x21) with one byte: its dictionary.
        let header = 12..12 + (usize::from(packed[12]) + 1) * 4;
        let at = header.start
            + packed[header.clone()]
                .iter()
                .position(|b| *b == 0x21)
                .unwrap()
            + 2;
        for (dictionary, is_read) in [(30, true), (40, false)] {
            packed[at] = dictionary;
            let mut crc = flate2::Crc::new();
            crc.update(&packed[header.start..header.end - 4]);
            packed[header.end - 4..header.end].copy_from_slice(&crc.sum().to_le_bytes());
            let whole = Compression::Xz.decompress(&packed, 100);
            assert_eq!(whole.is_ok(), is_read, "{dictionary}: {whole:?}");
        }
    }

    #[test]
    fn each_is_known_by_its_first_bytes_and_read_back() {
        let data: Vec<u8> = (0..200_000_u32)
            .flat_map(|n| (n / 7).to_le_bytes())
            .collect();
        for (kind, packed) in [
            (Compression::Gzip, gzip(&data)),
            (Compression::Xz, xz(&data)),
            (Compression::Zstd, zstd(&data)),
            (Compression::Lz4, lz4(&data)),
            (Compression::None, data.clone()),
        ] {
            assert_eq!(Compression::of(&packed), kind);
            assert_eq!(kind.decompress(&packed, 1 << 20).unwrap(), data, "{kind:?}");
            let error = kind.decompress(&packed, 1000).unwrap_err().to_string();
            assert!(error.contains("more than 1000 bytes"), "{kind:?}: {error}");
            if kind != Compression::None {
                let cut = &packed[..packed.len() / 2];
                let short = kind.decompress(cut, 1 << 20).map_or(0, |whole| whole.len());
                assert!(short < data.len(), "{kind:?} made the whole out of a half");
            }
        }
    }
}
