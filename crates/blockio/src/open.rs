//! Which source for a path.

use std::path::Path;

use crate::buffered::Buffered;
use crate::direct::Direct;
use crate::error::OpenError;
use crate::mapped::Mapped;
use crate::source::BlockSource;

/// How to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Direct where it can be had, else buffered.
    #[default]
    Auto,
    /// Through the page cache ([`Buffered`]).
    Buffered,
    /// Past it ([`Direct`]).
    Direct,
    /// Through a mapping ([`Mapped`]).
    Mapped,
}

/// A source of any kind, and which it is.
pub struct Opened {
    /// The source.
    pub source: Box<dyn BlockSource>,
    /// How it reads; never `Auto`.
    pub mode: Mode,
    /// Why it is not direct although `Auto` would have been.
    pub not_direct: Option<OpenError>,
}

/// Opens an image or a block device, for reading only.
///
/// # Errors
/// It cannot be opened that way.
pub fn open(path: impl AsRef<Path>, mode: Mode) -> Result<Opened, OpenError> {
    let path = path.as_ref();
    let (source, mode, not_direct): (Box<dyn BlockSource>, _, _) = match mode {
        Mode::Buffered => (Box::new(Buffered::open(path)?), mode, None),
        Mode::Direct => (Box::new(Direct::open(path)?), mode, None),
        Mode::Mapped => (Box::new(Mapped::open(path)?), mode, None),
        Mode::Auto => match Direct::open(path) {
            Ok(direct) => (Box::new(direct), Mode::Direct, None),
            Err(why @ OpenError::NoDirect { .. }) => {
                (Box::new(Buffered::open(path)?), Mode::Buffered, Some(why))
            }
            Err(e) => return Err(e),
        },
    };
    Ok(Opened {
        source,
        mode,
        not_direct,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_reads_the_same_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..100_001_u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        for mode in [Mode::Auto, Mode::Buffered, Mode::Direct, Mode::Mapped] {
            let opened = open(file.path(), mode).unwrap();
            assert!(mode == Mode::Auto || opened.mode == mode);
            assert_eq!(opened.source.len(), bytes.len() as u64);
            let mut buf = vec![0; 70_000];
            opened.source.read_at(&mut buf, 30_001).unwrap();
            assert_eq!(buf, bytes[30_001..]);
        }
    }

    #[test]
    fn auto_falls_back_where_direct_is_refused_and_says_why() {
        // A file of procfs: regular, but without direct I/O (and of length 0).
        let opened = open("/proc/version", Mode::Auto).unwrap();
        assert_eq!(opened.mode, Mode::Buffered);
        let why = opened.not_direct.unwrap().to_string();
        assert!(why.ends_with("; read it buffered"), "{why}");
        assert!(open("/proc/version", Mode::Direct).is_err());
    }
}
