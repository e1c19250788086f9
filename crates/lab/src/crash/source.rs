//! The source of a log or a disk: a file or device, or a part of one.
//!
//! A guest's disk may have been cut into slices, of which one holds the data and another their log; on the host
//! both are one file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use blockio::{BlockSource, Mode, Slice};

use crate::error::Error;

/// A file or device, or some bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file or device.
    pub path: PathBuf,
    /// These bytes of it; none: all.
    pub range: Option<Range<u64>>,
}

impl From<PathBuf> for Part {
    fn from(path: PathBuf) -> Part {
        Part { path, range: None }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

pub(super) type Source = Box<dyn BlockSource>;

impl Part {
    pub(super) fn open(&self) -> Result<Source, Error> {
        let whole = open(&self.path)?;
        let Some(range) = &self.range else {
            return Ok(whole);
        };
        let size = whole.len();
        let window = Slice::of(whole, range.clone()).ok_or_else(|| {
            Error::Preflight(format!(
                "{self}: has {size} bytes, and bytes {} to {} of it are asked for; is it the disk that the log was \
                 written on?",
                range.start, range.end
            ))
        })?;
        Ok(Box::new(window))
    }
}

pub(super) fn open(path: &Path) -> Result<Source, Error> {
    blockio::open(path, Mode::Buffered)
        .map(|opened| opened.source)
        .map_err(|error| Error::Preflight(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_begins_at_its_own_byte_0() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [[1; 512], [2; 512], [3; 512]].concat()).unwrap();
        let part = |range| Part {
            path: file.path().to_owned(),
            range,
        };
        assert_eq!(part(None).open().unwrap().len(), 1536);
        let middle = part(Some(512..1024)).open().unwrap();
        let mut bytes = [0; 512];
        middle.read_at(&mut bytes, 0).unwrap();
        assert_eq!((middle.len(), bytes), (512, [2; 512]));
        let message = part(Some(512..2048)).open().err().unwrap().to_string();
        assert!(message.contains("has 1536 bytes"), "{message}");
    }
}
