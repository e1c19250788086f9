//! Kernel images: the ELF inside a bzImage, and the release and configuration in an image.
//!
//! A guest boots the ELF image: unpacking a bzImage is the guest's work, which under emulation takes
//! 2.5 to 4 s of a 6 s boot (measured with 6.1), and takes the host half a second once. Where the payload
//! lies is written in the header of the boot protocol (Documentation/arch/x86/boot.rst, 2.08 and
//! later), so nothing is searched for.

use super::compression::Compression;
use super::config;

/// Largest file of a kernel, in bytes: a vmlinux with its debugging information has 400 to 900 MB.
pub(super) const LARGEST: u64 = 1 << 30;
/// Largest image in a bzImage, in bytes. It has no debugging information; Debian's have 40 to 60 MB, and one with everything
/// built in 200 MB.
const LARGEST_PAYLOAD: u64 = 256 << 20;

/// The ELF image of a kernel, which `bytes` are or hold. The error is why they are not a kernel.
pub(crate) fn elf(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    if bytes.starts_with(b"\x7fELF") {
        return Ok(bytes);
    }
    let payload = payload(&bytes)?;
    // The last four bytes are the size of what comes out (arch/x86/boot/compressed/Makefile,
    // size_append).
    let (packed, size) = payload
        .split_last_chunk::<4>()
        .ok_or("its payload is empty")?;
    let size = u64::from(u32::from_le_bytes(*size));
    if size > LARGEST_PAYLOAD {
        return Err(format!(
            "its header says that {size} bytes are in its payload, and no kernel has more than {LARGEST_PAYLOAD}"
        ));
    }
    let kind = Compression::of(packed);
    if kind == Compression::None && !packed.starts_with(b"\x7fELF") {
        return Err("its payload is compressed as none of gzip, xz, zstd and lz4".into());
    }
    let mut packed = packed;
    if kind == Compression::Gzip {
        // gzip ends with its own size, and the build adds none.
        packed = payload;
    }
    let image = kind
        .decompress(packed, size)
        .map_err(|error| format!("its payload is damaged: {error}; the header says {size}"))?;
    if image.len() as u64 != size {
        return Err(format!(
            "its payload is damaged: {} bytes came out, the header says {size}",
            image.len()
        ));
    }
    if !image.starts_with(b"\x7fELF") {
        return Err("no ELF image is in its payload".into());
    }
    Ok(image)
}

fn payload(bytes: &[u8]) -> Result<&[u8], String> {
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        return Err("it begins neither as ELF nor as a bzImage".into());
    }
    let Some(&[low, high]) = bytes.get(0x206..0x208) else {
        return Err("its header is cut off".into());
    };
    let version = u16::from_le_bytes([low, high]);
    if version < 0x208 {
        return Err(format!("its boot protocol {version:#x} is older than 2.08"));
    }
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    let (Some(offset), Some(length)) = (word(0x248), word(0x24c)) else {
        return Err("its header is cut off".into());
    };
    // 0 means 4, from the days of the floppy.
    let sectors = match bytes[0x1f1] {
        0 => 4,
        n => usize::from(n),
    };
    let start = (sectors + 1) * 512 + offset;
    bytes
        .get(start..start.saturating_add(length))
        .filter(|payload| payload.len() > 8)
        .ok_or_else(|| {
            format!(
                "it is cut off: {} bytes, its payload ends at {}",
                bytes.len(),
                start.saturating_add(length)
            )
        })
}

/// The release, out of the banner that /proc/version prints: "Linux version 6.1.0-56-amd64 (..".
pub(crate) fn release(elf: &[u8]) -> Option<String> {
    const BANNER: &[u8] = b"Linux version ";
    let mut from = 0;
    while let Some(at) = find(&elf[from..], BANNER) {
        let text = &elf[from + at + BANNER.len()..];
        let end = text.iter().position(|b| !b.is_ascii_graphic())?;
        // The format string "%s" is in the image as well.
        if text[0].is_ascii_digit() && text[end] == b' ' {
            return Some(String::from_utf8_lossy(&text[..end]).into_owned());
        }
        from += at + BANNER.len();
    }
    None
}

/// Whether an ELF image is User-mode Linux, by words that only its own options have.
pub(crate) fn is_uml(elf: &[u8]) -> bool {
    find(elf, b"User Mode Linux").is_some() && find(elf, b"uml_dir=").is_some()
}

/// The configuration inside an image that was built with CONFIG_IKCONFIG (kernel/configs.c).
pub(crate) fn embedded_config(elf: &[u8]) -> Option<String> {
    let start = find(elf, b"IKCFG_ST\x1f\x8b")? + 8;
    let end = start + find(&elf[start..], b"IKCFG_ED")?;
    let text = Compression::Gzip
        .decompress(&elf[start..end], config::LARGEST)
        .ok()?;
    String::from_utf8(text).ok()
}

/// Where `needle` begins: a search that is fast on tens of megabytes.
fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(hay, needle)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    /// A small ELF-like image with a banner.
    pub(crate) fn vmlinux(release: &str) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(5000, 0);
        elf.extend(b"Linux version %s (%s)\0");
        elf.extend(format!("Linux version {release} (me@here) #1 SMP\0").bytes());
        elf.resize(20_000, 0xcc);
        elf
    }

    /// A bzImage around it: `packed` is the payload.
    pub(crate) fn bzimage(packed: &[u8], size: u32) -> Vec<u8> {
        let mut image = vec![0_u8; 5 * 512 + 100];
        image[0x1f1] = 4;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[0x248..0x24c].copy_from_slice(&100_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(packed.len() as u32 + 4).to_le_bytes());
        image.extend(packed);
        image.extend(size.to_le_bytes());
        image.extend([0; 64]);
        image
    }

    pub(crate) fn xz(data: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        writer.write_all(data).unwrap();
        writer.finish().unwrap()
    }

    fn legacy_lz4(data: &[u8]) -> Vec<u8> {
        let mut packed = vec![0x02, 0x21, 0x4c, 0x18];
        let block = lz4_flex::block::compress(data);
        packed.extend((block.len() as u32).to_le_bytes());
        packed.extend(block);
        packed
    }

    #[test]
    fn the_image_comes_out_of_each_compression() {
        let elf_image = vmlinux("6.1.0-56-amd64");
        let size = elf_image.len() as u32;
        let zstd = ruzstd::encoding::compress_to_vec(
            elf_image.as_slice(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&elf_image).unwrap();
        let mut gz = gz.finish().unwrap();
        // gzip's own last four bytes are where the others have theirs.
        gz.truncate(gz.len() - 4);
        for packed in [xz(&elf_image), zstd, legacy_lz4(&elf_image), gz] {
            assert_eq!(elf(bzimage(&packed, size)).unwrap(), elf_image);
        }
        assert_eq!(elf(elf_image.clone()).unwrap(), elf_image);
        assert_eq!(release(&elf_image).as_deref(), Some("6.1.0-56-amd64"));
    }

    #[test]
    fn what_is_no_kernel_says_why() {
        let elf_image = vmlinux("6.1");
        let packed = xz(&elf_image);
        let whole = bzimage(&packed, elf_image.len() as u32);
        for (image, says) in [
            (b"MZ".to_vec(), "neither as ELF nor as a bzImage"),
            (whole[..whole.len() - 80].to_vec(), "cut off"),
            (bzimage(&packed, 5), "the header says 5"),
            (bzimage(b"no such compression", 5), "compressed as none of"),
            (bzimage(&xz(b"no ELF"), 6), "no ELF image"),
        ] {
            let error = elf(image).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    /// 1.5 GB out of some KB: what the header says is looked at before anything comes out.
    #[test]
    fn a_payload_larger_than_any_kernel_is_refused() {
        let error = elf(bzimage(&xz(&vec![0; 1 << 20]), 1_500_000_000)).unwrap_err();
        assert!(
            error.contains("no kernel has more than 268435456"),
            "{error}"
        );
    }

    #[test]
    fn a_config_inside_the_image_is_found() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"CONFIG_EXT4_FS=y\n").unwrap();
        let mut image = vmlinux("6.1");
        assert_eq!(embedded_config(&image), None);
        image.extend(b"IKCFG_ST");
        image.extend(gz.finish().unwrap());
        image.extend(b"IKCFG_ED");
        assert_eq!(
            embedded_config(&image).as_deref(),
            Some("CONFIG_EXT4_FS=y\n")
        );
    }

    #[test]
    fn a_header_that_is_cut_off_is_no_kernel() {
        let whole = bzimage(b"", 0);
        for length in 0x200..0x260 {
            assert!(elf(whole[..length].to_vec()).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..4000), header: bool) {
            // As much of a header as there is room for: one that is cut off is the worst.
            for (at, byte) in (0x202..).zip(*b"HdrS\x0f\x02") {
                if let Some(place) = bytes.get_mut(at).filter(|_| header) {
                    *place = byte;
                }
            }
            let _ = elf(bytes.clone());
            let _ = release(&bytes);
            let _ = embedded_config(&bytes);
        }
    }
}
