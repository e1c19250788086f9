//! Swap space: the first page of the area (include/linux/swap.h, `union swap_header`).
//!
//! The page has the size and the byte order of the machine that made it. The magic number is in its
//! last 10 bytes, so a reader tries the page sizes that exist.

use zerocopy::{
    BigEndian, ByteOrder, FromBytes, Immutable, KnownLayout, LittleEndian, U32, Unaligned,
};

use crate::Error;
use crate::bytes::{le32, text, uuid, view};
use crate::signature::{Format, ReadAt, Signature};

/// The page sizes, bytes (util-linux's libblkid, `superblocks/swap.c`).
pub const PAGE_SIZES: [u64; 5] = [4096, 8192, 16384, 32768, 65536];

/// Bytes of the magic number.
pub const MAGIC_SIZE: usize = 10;

/// `magic` of an area that swapon(2) accepts since Linux 2.1.117.
pub const MAGIC: &[u8; MAGIC_SIZE] = b"SWAPSPACE2";

/// `magic` of the older format: its page is a bitmap of usable pages, without other fields.
pub const MAGIC_OLD: &[u8; MAGIC_SIZE] = b"SWAP-SPACE";

/// Magic numbers that replace [`MAGIC`] while a hibernation image is in the area: the kernel's
/// (kernel/power/swap.c), two of uswsusp and TuxOnIce's.
pub const MAGICS_HIBERNATION: [&[u8; MAGIC_SIZE]; 4] = [
    b"S1SUSPEND\0",
    b"S2SUSPEND\0",
    b"ULSUSPEND\0",
    b"LINHIB0001",
];

/// Every magic number.
pub const MAGICS: [&[u8; MAGIC_SIZE]; 6] = [
    MAGIC,
    MAGIC_OLD,
    MAGICS_HIBERNATION[0],
    MAGICS_HIBERNATION[1],
    MAGICS_HIBERNATION[2],
    MAGICS_HIBERNATION[3],
];

/// Bytes of the fields before the list of bad pages.
pub const SIZE: usize = 1536;

/// The version that the kernel accepts.
pub const VERSION: u32 = 1;

/// `info` of `union swap_header` up to the bad pages.
#[derive(Debug, Clone, Copy, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Info<O: ByteOrder> {
    /// Left for a boot loader.
    bootbits: [u8; 1024],
    version: U32<O>,
    last_page: U32<O>,
    nr_badpages: U32<O>,
    sws_uuid: [u8; 16],
    sws_volume: [u8; 16],
    padding: [U32<O>; 117],
}

const _: () = assert!(size_of::<Info<LittleEndian>>() == SIZE);

/// What an area is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Swap space.
    Swap,
    /// Swap space of the format before Linux 2.1.117. All other fields are zero or empty.
    OldSwap,
    /// Swap space that holds a hibernation image.
    Hibernation,
}

/// The first page of a swap area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock<'a> {
    /// By the magic number.
    pub usage: Use,
    /// Bytes of a page.
    pub page_size: u64,
    /// Made on a big-endian machine.
    pub big_endian: bool,
    /// 1.
    pub version: u32,
    /// Number of the last page; page 0 is the header.
    pub last_page: u32,
    /// Bad pages, as the header counts them.
    pub nr_badpages: u32,
    /// UUID; all zeros where mkswap was older than UUIDs.
    pub sws_uuid: [u8; 16],
    /// Label, zero-padded.
    pub sws_volume: [u8; 16],
    /// The list of bad pages, as far as it fits in the page.
    bad_pages: &'a [u8],
}

impl<'a> Superblock<'a> {
    /// The header at the start of `page`, whose length is the page size.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] for a length that no page has, [`Error::Magic`] for another format.
    pub fn read(page: &'a [u8]) -> Result<Self, Error> {
        let page_size = page.len() as u64;
        if !PAGE_SIZES.contains(&page_size) {
            return Err(Error::Value {
                what: "size of a page of swap space",
                found: page_size,
                problem: "is no page size (4096 to 65536, a power of two)",
            });
        }
        let end = page.len() - MAGIC_SIZE;
        let usage = match &page[end..] {
            magic if magic == MAGIC => Use::Swap,
            magic if magic == MAGIC_OLD => Use::OldSwap,
            magic if MAGICS_HIBERNATION.iter().any(|known| magic == *known) => Use::Hibernation,
            magic => {
                return Err(Error::Magic {
                    what: "swap space",
                    found: le32(magic, 0),
                    expected: le32(MAGIC, 0),
                });
            }
        };
        let none = Superblock {
            usage,
            page_size,
            big_endian: false,
            version: 0,
            last_page: 0,
            nr_badpages: 0,
            sws_uuid: [0; 16],
            sws_volume: [0; 16],
            bad_pages: &[],
        };
        if usage == Use::OldSwap {
            return Ok(none);
        }
        // As the kernel does it: a version that is 1 with its bytes swapped.
        let big_endian = le32(page, 1024) == VERSION.swap_bytes();
        let fields = if big_endian {
            none.with(view::<Info<BigEndian>>("swap space", page)?)
        } else {
            none.with(view::<Info<LittleEndian>>("swap space", page)?)
        };
        let room = &page[SIZE..end];
        let listed = (fields.nr_badpages as usize).saturating_mul(4);
        Ok(Superblock {
            big_endian,
            bad_pages: &room[..listed.min(room.len() / 4 * 4)],
            ..fields
        })
    }

    fn with<O: ByteOrder>(self, info: &Info<O>) -> Self {
        Superblock {
            version: info.version.get(),
            last_page: info.last_page.get(),
            nr_badpages: info.nr_badpages.get(),
            sws_uuid: info.sws_uuid,
            sws_volume: info.sws_volume,
            ..self
        }
    }

    /// Numbers of the bad pages. There are fewer than `nr_badpages` where that is more than fit in the page.
    pub fn bad_pages(&self) -> impl Iterator<Item = u32> + '_ {
        self.bad_pages.chunks_exact(4).map(|bytes| {
            let page = le32(bytes, 0);
            if self.big_endian {
                page.swap_bytes()
            } else {
                page
            }
        })
    }

    /// Bytes of the area with its header; `None` where the header does not have its size.
    pub fn bytes(&self) -> Option<u64> {
        (self.last_page > 0).then(|| (u64::from(self.last_page) + 1).saturating_mul(self.page_size))
    }

    /// UUID in its usual form; `None` without one.
    pub fn uuid(&self) -> Option<String> {
        (self.sws_uuid != [0; 16]).then(|| uuid(&self.sws_uuid, 0))
    }

    /// Label; may be empty.
    pub fn label(&self) -> String {
        text(&self.sws_volume, 0, self.sws_volume.len())
    }

    /// The fields that tell an area from others, for messages:
    /// `a hibernation image, 1 GiB, label "scratch", UUID 8b1e...`.
    pub fn describe(&self) -> String {
        let usage = match self.usage {
            Use::Swap => None,
            Use::OldSwap => Some("the format before Linux 2.1.117".to_owned()),
            Use::Hibernation => Some("a hibernation image".to_owned()),
        };
        let size = self.bytes().map(words::bytes);
        let label = Some(self.label()).filter(|label| !label.is_empty());
        let label = label.map(|label| format!("label {}", words::quoted(&label)));
        let uuid = self.uuid().map(|uuid| format!("UUID {uuid}"));
        let parts: Vec<String> = [usage, size, label, uuid].into_iter().flatten().collect();
        parts.join(", ")
    }
}

/// [`Superblock::describe`] of the swap space whose magic number was found in `source`; `None` for another
/// format, or where the page cannot be read.
pub fn describe_found<R: ReadAt + ?Sized>(source: &R, found: &Signature) -> Option<String> {
    if found.format != Format::Swap {
        return None;
    }
    let mut page = vec![0; usize::try_from(found.offset).ok()? + found.length];
    source.read_at(0, &mut page).ok()?;
    let described = Superblock::read(&page).ok()?.describe();
    (!described.is_empty()).then_some(described)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "01234567-89ab-cdef-0123-456789abcdef";

    /// The first `page_size` bytes of an area of 40 MiB that mkswap made.
    fn made(page_size: usize) -> Option<Vec<u8>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(40 << 20).unwrap();
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let output = Command::new("mkswap")
            .env("PATH", path)
            .args(["-L", "spare space", "-U", UUID, "-p"])
            .arg(page_size.to_string())
            .arg(file.path())
            .output()
            .expect("mkswap (install util-linux)");
        if !output.status.success() {
            testkit::skip!(
                "mkswap -p {page_size}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            return None;
        }
        let mut bytes = fs::read(file.path()).unwrap();
        bytes.truncate(page_size);
        Some(bytes)
    }

    #[test]
    fn an_area_of_mkswap_is_read_for_each_page_size() {
        for page_size in PAGE_SIZES {
            let Some(page) = made(page_size as usize) else {
                continue;
            };
            let swap = Superblock::read(&page).unwrap();
            assert_eq!(swap.usage, Use::Swap);
            assert_eq!((swap.page_size, swap.version), (page_size, VERSION));
            assert_eq!(swap.bytes(), Some(40 << 20), "{page_size}");
            assert_eq!(swap.uuid().as_deref(), Some(UUID));
            assert_eq!(swap.label(), "spare space");
            assert_eq!((swap.nr_badpages, swap.bad_pages().count()), (0, 0));
            assert!(!swap.big_endian);
        }
    }

    #[test]
    fn an_area_of_a_big_endian_machine_is_read() {
        let Some(mut page) = made(4096) else {
            return;
        };
        page[1024..1036]
            .chunks_exact_mut(4)
            .for_each(<[u8]>::reverse);
        page[1032..1036].copy_from_slice(&1_u32.to_be_bytes());
        page[1536..1540].copy_from_slice(&77_u32.to_be_bytes());
        let swap = Superblock::read(&page).unwrap();
        assert!(swap.big_endian);
        assert_eq!((swap.version, swap.bytes()), (VERSION, Some(40 << 20)));
        assert_eq!(swap.bad_pages().collect::<Vec<_>>(), [77]);
        assert_eq!(swap.label(), "spare space");
    }

    /// A header as the kernel defines it.
    fn page(size: usize, magic: &[u8], words: &[(usize, u32)]) -> Vec<u8> {
        let mut page = vec![0; size];
        page[size - MAGIC_SIZE..].copy_from_slice(magic);
        for &(at, word) in words {
            page[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        page
    }

    #[test]
    fn bad_pages_end_with_the_page() {
        let header = [
            (1024, 1),
            (1028, 999),
            (1032, 3),
            (1536, 7),
            (1540, 8),
            (1544, 900),
        ];
        let two = page(4096, MAGIC, &header);
        let two = Superblock::read(&two).unwrap();
        assert_eq!(two.bad_pages().collect::<Vec<_>>(), [7, 8, 900]);
        // MAX_SWAP_BADPAGES of a page of 4 KiB.
        let many = page(4096, MAGIC, &[(1024, 1), (1032, u32::MAX)]);
        assert_eq!(Superblock::read(&many).unwrap().bad_pages().count(), 637);
    }

    #[test]
    fn an_area_is_described_by_what_its_header_has() {
        let old = page(4096, MAGIC_OLD, &[(1024, 1), (1028, 999)]);
        let old = Superblock::read(&old).unwrap();
        assert_eq!(old.describe(), "the format before Linux 2.1.117");
        let image = page(8192, MAGICS_HIBERNATION[0], &[(1024, 1), (1028, 1023)]);
        let image = Superblock::read(&image).unwrap();
        assert_eq!(image.describe(), "a hibernation image, 8 MiB");
        let mut named = page(4096, MAGIC, &[(1024, 1), (1028, 2559)]);
        named[1052..1057].copy_from_slice(b"a\x1b[1m");
        let named = Superblock::read(&named).unwrap().describe();
        assert!(named.starts_with("10 MiB, label "), "{named}");
        assert!(!named.contains('\x1b'), "{named:?}");
    }

    #[test]
    fn foreign_bytes_are_errors() {
        assert!(matches!(
            Superblock::read(&[0; 4096]),
            Err(Error::Magic { found: 0, .. })
        ));
        assert!(matches!(
            Superblock::read(&[0; 4095]),
            Err(Error::Value { found: 4095, .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_read(mut bytes in proptest::collection::vec(any::<u8>(), 4096), which in 0..6_usize) {
            bytes[4086..].copy_from_slice(MAGICS[which]);
            let swap = Superblock::read(&bytes).unwrap();
            let _ = (swap.bytes(), swap.describe(), swap.bad_pages().count());
        }
    }
}
