//! The parameters of a stream, and what is refused before anything is touched.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::buffer::Buffer;
use crate::direct::{self, Alignment};
use crate::engine::{Direction, Kind};
use crate::error::{bad, within};
use crate::memory::total_ram;

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Zero bytes, as `/dev/zero` gives dd.
    #[default]
    Zero,
    /// One byte again and again ([`crate::buffer::PATTERN`]).
    Pattern,
    /// Bytes that neither compress nor repeat within a mebibyte.
    Random,
}

/// Which phases run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Write, make cold, read (aiod -W, remount, aiod -R).
    #[default]
    WriteRead,
    /// Write alone (aiod -W, dd of=).
    Write,
    /// Make cold and read a file that is there (aiod -R, dd if=).
    Read,
}

impl Test {
    /// Its phases, in running order.
    pub const fn phases(self) -> &'static [Direction] {
        match self {
            Test::WriteRead => &[Direction::Write, Direction::Read],
            Test::Write => &[Direction::Write],
            Test::Read => &[Direction::Read],
        }
    }

    /// Whether it writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Test::Read)
    }

    /// Whether it reads.
    pub const fn reads(self) -> bool {
        !matches!(self, Test::Write)
    }
}

/// What the writer flushes inside clock (a), before it closes (dd's conv=).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flush {
    /// Nothing.
    #[default]
    None,
    /// fsync (conv=fsync).
    Fsync,
    /// fdatasync (conv=fdatasync).
    Fdatasync,
}

/// Whether each write waits for the device (dd's oflag=).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteThrough {
    /// No.
    #[default]
    None,
    /// O_DSYNC (oflag=dsync): the data.
    Dsync,
    /// O_SYNC (oflag=sync): data and metadata.
    Sync,
}

/// How the cache is emptied before the read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// A real unmount and mount; where that cannot be done, `drop`, and it is said.
    #[default]
    Remount,
    /// sync, drop the caches, prove it.
    Drop,
    /// Nothing: the read finds what is there.
    Warm,
}

/// Parameters of a stream. Sizes are bytes; letters in brackets are aiod's, words dd's.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // the originals' flags are what they are
pub struct Options {
    /// The directory of the file.
    pub dir: PathBuf,
    /// The file's name in it, without a path.
    pub file: String,
    /// Bytes of a request (-b, bs=), 512..=1 GiB.
    pub block: u64,
    /// Requests (-w, count=).
    pub count: u64,
    /// Blocks skipped at the begin of the file when writing (seek=). Without `reuse` the file is
    /// truncated to this length, as dd does: what was there before stays, else there is a hole.
    pub seek: u64,
    /// Blocks skipped at the begin of the file when reading (skip=).
    pub skip: u64,
    /// O_DIRECT on every open (aiod's default; off is -B).
    pub direct: bool,
    /// The engine (`Kind::Sync` is -S).
    pub engine: Kind,
    /// Requests in flight.
    pub queue_depth: u32,
    /// What is written.
    pub content: Content,
    /// Write block number and checksum into each 4 KiB; check them when reading. Needs a `block`
    /// that is a multiple of 4 KiB.
    pub verify: bool,
    /// Which phases.
    pub test: Test,
    /// What is flushed inside clock (a) of the write.
    pub flush: Flush,
    /// Whether each write waits for the device.
    pub write_through: WriteThrough,
    /// Write into the file as it is (conv=notrunc); off: O_TRUNC.
    pub reuse: bool,
    /// How the cache is emptied before the read.
    pub between: Between,
    /// Keep the file that was written.
    pub keep: bool,
}

/// The unit of verification: each 4 KiB of the file vouches for itself.
pub const UNIT: u64 = 4096;

/// The smallest sector there is: no device takes direct I/O below it.
const SECTOR: u64 = 512;

impl Options {
    /// aiod -S -B: 256 requests of 4 MiB of zeros, buffered, written, made cold and read.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            dir: dir.into(),
            file: "stream.DUMMY".into(),
            block: 4 << 20,
            count: 256,
            seek: 0,
            skip: 0,
            direct: false,
            engine: Kind::Sync,
            queue_depth: 1,
            content: Content::Zero,
            verify: false,
            test: Test::WriteRead,
            flush: Flush::None,
            write_through: WriteThrough::None,
            reuse: false,
            between: Between::Remount,
            keep: false,
        }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.dir.join(&self.file)
    }

    /// Bytes that each phase moves.
    pub const fn bytes(&self) -> u64 {
        self.block.saturating_mul(self.count)
    }

    /// The first block of a phase.
    pub const fn first(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.skip,
            Direction::Write => self.seek,
        }
    }

    /// Bytes that the file has at least after the write, or must have for the read.
    pub const fn end(&self, direction: Direction) -> u64 {
        self.block
            .saturating_mul(self.first(direction).saturating_add(self.count))
    }

    /// Refuses values that no filesystem could serve. Touches nothing.
    ///
    /// # Errors
    /// [`Error::BadOption`] with the option, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Error> {
        self.validate_file()?;
        within("block", self.block, 512, 1 << 30)?;
        within("count", self.count, 1, i64::MAX as u64 / self.block)?;
        for (option, blocks, direction) in [
            ("seek", self.seek, Direction::Write),
            ("skip", self.skip, Direction::Read),
        ] {
            if self.end(direction) > i64::MAX as u64 {
                return Err(bad(
                    option,
                    blocks,
                    "the file would exceed 2^63 bytes; skip fewer blocks",
                ));
            }
        }
        self.validate_queue()?;
        if self.direct && self.engine.capabilities().direct && !self.block.is_multiple_of(SECTOR) {
            return Err(bad(
                "block",
                self.block,
                format!("O_DIRECT needs a multiple of {SECTOR} bytes at least"),
            ));
        }
        self.validate_verification()
    }

    fn validate_file(&self) -> Result<(), Error> {
        let plain = Path::new(&self.file).file_name() == Some(self.file.as_ref());
        if plain && !self.file.contains('\0') {
            return Ok(());
        }
        Err(bad(
            "file",
            format!("{:?}", self.file),
            "must be the name of a file in dir, without a path",
        ))
    }

    fn validate_queue(&self) -> Result<(), Error> {
        let depth = self.engine.capabilities().max_queue_depth;
        if self.queue_depth > 1 && depth == 1 {
            return Err(bad(
                "queue_depth",
                self.queue_depth,
                format!(
                    "engine {} has one request in flight; take 1, or engine aio or io_uring",
                    self.engine.name()
                ),
            ));
        }
        within(
            "queue_depth",
            u64::from(self.queue_depth),
            1,
            u64::from(depth),
        )?;
        let (needed, half) = (self.memory(), total_ram() / 2);
        if needed > half {
            return Err(bad(
                "queue_depth",
                self.queue_depth,
                format!(
                    "queue_depth * block needs buffers of {needed} bytes, more than half of the \
                     memory ({half}); take less of one of them"
                ),
            ));
        }
        Ok(())
    }

    fn validate_verification(&self) -> Result<(), Error> {
        if !self.verify {
            return Ok(());
        }
        let refuse = |reason: String| Err(bad("verify", true, reason));
        if !self.block.is_multiple_of(UNIT) {
            return refuse(format!(
                "block {} is not a multiple of {UNIT} bytes; take one that is",
                self.block
            ));
        }
        if !self.engine.capabilities().transfers {
            return refuse("engine null moves no data that could be checked; take another".into());
        }
        if self.test == Test::WriteRead && self.seek != self.skip {
            return refuse(format!(
                "it would read from block {} on what was written from block {} on; make skip and \
                 seek equal, or read in a run of its own",
                self.skip, self.seek
            ));
        }
        Ok(())
    }

    /// Bytes of the buffers.
    pub(super) fn memory(&self) -> u64 {
        if !self.engine.capabilities().transfers {
            return 0;
        }
        let len = self.block.saturating_mul(u64::from(self.queue_depth));
        usize::try_from(len)
            .ok()
            .filter(|len| *len < usize::MAX / 4)
            .map_or(u64::MAX, |len| {
                Buffer::footprint(0, self.block as usize, len) as u64
            })
    }

    /// Refuses a target that is no directory, or whose direct I/O the block does not suit. Leaves
    /// nothing behind. The alignment is that of O_DIRECT; none without it.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::Unsupported`] where there is no direct I/O, [`Error::Io`].
    pub fn validate_target(&self) -> Result<Option<Alignment>, Error> {
        let dir = self.dir.as_path();
        let meta = std::fs::metadata(dir).map_err(Error::io("examine", dir))?;
        if !meta.is_dir() {
            return Err(bad("dir", dir.display(), "it is not a directory; name one"));
        }
        if !self.direct || !self.engine.capabilities().direct {
            return Ok(None);
        }
        let alignment = direct::alignment(dir)?;
        if self.block.is_multiple_of(u64::from(alignment.offset)) {
            return Ok(Some(alignment));
        }
        Err(bad(
            "block",
            self.block,
            format!(
                "O_DIRECT on {} needs a multiple of {} bytes (said by {})",
                dir.display(),
                alignment.offset,
                alignment.source
            ),
        ))
    }
}

/// The phase's name.
pub(super) const fn phase_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::new("/nowhere");
        change(&mut options);
        options.validate().unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_valid_and_are_aiods() {
        let options = Options::new("/nowhere");
        options.validate().unwrap();
        assert_eq!((options.block, options.bytes()), (4_194_304, 1 << 30));
        assert_eq!(options.path(), Path::new("/nowhere/stream.DUMMY"));
    }

    #[test]
    fn bad_values_are_refused_with_the_option_and_what_is_allowed() {
        assert_eq!(
            message(|o| o.block = 100),
            "block = 100: must be 512..=1073741824"
        );
        assert!(message(|o| o.count = 0).starts_with("count = 0: must be 1..="));
        assert!(message(|o| o.count = 1 << 50).starts_with("count = "));
        assert!(message(|o| o.skip = 1 << 50).contains("2^63"));
        assert!(message(|o| o.seek = u64::MAX).contains("2^63"));
        assert_eq!(
            message(|o| o.queue_depth = 2),
            "queue_depth = 2: engine sync has one request in flight; take 1, or engine aio or io_uring"
        );
        for kind in [Kind::Aio, Kind::IoUring] {
            assert!(message(|o| (o.engine, o.queue_depth) = (kind, 0)).contains("1..=4096"));
            assert!(message(|o| (o.engine, o.queue_depth) = (kind, 4097)).contains("1..=4096"));
        }
        let huge = message(|o| {
            (o.engine, o.queue_depth, o.block) = (Kind::Aio, 4096, 1 << 30);
        });
        assert!(huge.contains("half of the memory"), "{huge}");
        assert_eq!(
            message(|o| (o.direct, o.block) = (true, 4097)),
            "block = 4097: O_DIRECT needs a multiple of 512 bytes at least"
        );
        for name in ["", ".", "..", "a/b", "/a", "a/", "a\0b"] {
            assert!(
                message(|o| o.file = name.into()).contains("without a path"),
                "{name}"
            );
        }
    }

    #[test]
    fn verification_needs_whole_units_data_and_the_same_place() {
        assert!(message(|o| (o.verify, o.block) = (true, 5120)).contains("multiple of 4096"));
        assert!(message(|o| (o.verify, o.engine) = (true, Kind::Null)).contains("no data"));
        assert!(message(|o| (o.verify, o.seek) = (true, 3)).contains("from block 3 on"));
        let mut options = Options::new("/nowhere");
        (options.verify, options.seek, options.skip) = (true, 3, 3);
        options.validate().unwrap();
        (options.test, options.skip) = (Test::Read, 0);
        options.validate().unwrap();
    }

    #[test]
    fn a_target_that_is_no_directory_or_too_coarse_for_the_block_is_refused() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mut options = Options::new(dir.path());
        (options.direct, options.block) = (true, 1 << 20);
        let found = options.validate_target().unwrap().unwrap();
        options.block = u64::from(found.offset) + 256;
        let error = options.validate_target().unwrap_err().to_string();
        assert!(
            error.contains("needs a multiple of") && error.contains(found.source),
            "{error}"
        );
        options.direct = false;
        assert_eq!(options.validate_target().unwrap(), None);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::fs::write(dir.path().join("file"), "x").unwrap();
        options.dir = dir.path().join("file");
        let error = options.validate_target().unwrap_err().to_string();
        assert!(error.contains("it is not a directory"), "{error}");
    }
}
