//! Parameters of reads and writes mixed as fio mixes them.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{self, Direction, Kind};
use crate::ranks::MOST_RANKS;
use crate::{Bytes, Footprint, Invalid, Load, Parameters};

/// Parameters of `mix` (fio). Names in brackets are fio's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "fio's switches, one each")]
pub struct MixSpec {
    /// Directory on the filesystem under test: the files are `mix.N.0`.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "DIR",
        help = "Directory on the filesystem under test"
    )]
    pub dir: PathBuf,
    /// What the requests do, and in which order (fio rw).
    #[schemars(title = "pattern of requests")]
    #[arg(
        long,
        value_enum,
        default_value = "randrw",
        help = "What the requests do, and in which order (fio rw)"
    )]
    pub rw: Rw,
    /// Share of reads in a mixed pattern, percent (fio rwmixread), 0..=100.
    #[schemars(title = "share of reads", range(min = 0, max = 100))]
    #[arg(
        long,
        default_value_t = 50,
        value_name = "PERCENT",
        help = "Share of reads in a mixed pattern (fio rwmixread)"
    )]
    pub rwmixread: u32,
    /// Bytes of a request (fio bs), 512..=16 MiB.
    #[schemars(title = "block size", extend("minimum" = 512, "maximum" = 16 << 20))]
    #[arg(
        short = 'b',
        long,
        alias = "bs",
        default_value = "4k",
        help = "Bytes of a request (fio bs)"
    )]
    pub block: Bytes,
    /// File size of each thread, and the bytes that it transfers without `time_based` (fio size).
    #[schemars(title = "file size", extend("minimum" = 512, "maximum" = 1_u64 << 50))]
    #[arg(
        short = 's',
        long,
        default_value = "64m",
        help = "File size of each thread, and the bytes it transfers without --time-based (fio size)"
    )]
    pub size: Bytes,
    /// Threads, each with a file of its own (fio numjobs), 1..=1024.
    #[schemars(title = "thread count", range(min = 1, max = 1024))]
    #[arg(
        short = 't',
        long,
        alias = "numjobs",
        default_value_t = 1,
        help = "Threads, each with a file of its own (fio numjobs)"
    )]
    pub threads: u32,
    /// O_DIRECT on every open (fio direct).
    #[arg(short = 'I', long, help = "O_DIRECT on every open (fio direct)")]
    pub direct: bool,
    /// I/O engine (fio ioengine).
    #[schemars(title = "I/O engine")]
    #[arg(
        long,
        value_enum,
        default_value = "sync",
        help = "I/O engine (fio ioengine)"
    )]
    pub engine: Kind,
    /// Requests in flight per thread (fio iodepth), 1..=4096; more than 1 needs `aio` or `io_uring`.
    #[schemars(title = "queue depth", range(min = 1, max = 4096))]
    #[arg(
        long,
        alias = "iodepth",
        default_value_t = 1,
        value_name = "N",
        help = "Requests in flight per thread, aio and io-uring only (fio iodepth)"
    )]
    pub queue_depth: u32,
    /// An fsync after this number of writes of a thread; 0: none (fio fsync).
    #[schemars(title = "number of writes")]
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        help = "An fsync after this number of writes of a thread; 0: none (fio fsync)"
    )]
    pub fsync: u32,
    /// Seconds after which no request begins; 0: no limit (fio runtime). Does not include `ramp_time`.
    #[schemars(title = "number of seconds", range(min = 0.0, max = 604_800.0))]
    #[arg(
        long,
        default_value_t = 0.0,
        value_name = "S",
        allow_negative_numbers = true,
        help = "Seconds after which no request begins; 0: no limit (fio runtime)"
    )]
    pub runtime: f64,
    /// Go over the file again until `runtime` is over (fio time_based).
    #[arg(
        long,
        help = "Go over the file again until the runtime is over (fio time_based)"
    )]
    pub time_based: bool,
    /// Seconds at the start that are in no figure (fio ramp_time).
    #[schemars(title = "number of seconds", range(min = 0.0, max = 3600.0))]
    #[arg(
        long,
        default_value_t = 0.0,
        value_name = "S",
        allow_negative_numbers = true,
        help = "Seconds at the start that are in no figure (fio ramp_time)"
    )]
    pub ramp_time: f64,
    /// Most bytes a second that a thread reads; 0: no limit (fio rate).
    #[schemars(title = "rate")]
    #[arg(
        long,
        default_value = "0",
        value_name = "BYTES",
        help = "Most bytes a second that a thread reads; 0: no limit (fio rate)"
    )]
    pub rate_read: Bytes,
    /// Most bytes a second that a thread writes; 0: no limit (fio rate).
    #[schemars(title = "rate")]
    #[arg(
        long,
        default_value = "0",
        value_name = "BYTES",
        help = "Most bytes a second that a thread writes; 0: no limit (fio rate=,N)"
    )]
    pub rate_write: Bytes,
    /// Write the files before the clock starts also where the pattern only writes (fio overwrite).
    #[arg(
        long,
        help = "Write the files before the clock also where the pattern only writes (fio overwrite)"
    )]
    pub overwrite: bool,
    /// How blocks are reserved for files that are not written before (fio fallocate).
    #[schemars(title = "preallocation")]
    #[arg(
        long,
        value_enum,
        default_value = "native",
        help = "How blocks are reserved for files that are not written before (fio fallocate)"
    )]
    pub fallocate: Preallocation,
    /// Drop the files from the page cache before the clock starts (fio invalidate).
    #[arg(
        long = "no-invalidate",
        action = ArgAction::SetFalse,
        help = "Leave the files in the page cache before the clock starts (fio invalidate=0)"
    )]
    pub invalidate: bool,
    /// Seed of the random order and of the mixture.
    #[serde(skip)]
    #[arg(long, default_value_t = 2012, help = "Random seed")]
    pub seed: u64,
    /// First part of the files' names, without a path.
    #[serde(skip)]
    #[arg(skip = NAME)]
    pub name: String,
    /// One file in the directory for all threads (fio filename), without a path; none: one each.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "NAME",
        help = "One file in the directory for all threads (fio filename)"
    )]
    pub file: Option<String>,
    /// Keep the files.
    #[serde(skip)]
    #[arg(long, help = "Keep the files")]
    pub keep: bool,
    /// Use files that exist and are large enough, and write to them.
    #[serde(skip)]
    #[arg(
        long,
        help = "Use files that exist and are large enough, and write to them"
    )]
    pub reuse: bool,
    /// Processes of MPI that run it at the same time (`--executor mpi`), each in a folder of its own.
    #[serde(skip_serializing_if = "crate::ranks::is_one")]
    #[schemars(title = "number of ranks", range(min = 1, max = MOST_RANKS))]
    #[arg(skip = 1_u32)]
    pub ranks: u32,
}

/// The first part of the files' names.
const NAME: &str = "mix";

/// 4 KiB random reads and writes in equal shares of 1 GiB, one thread, buffered.
impl Default for MixSpec {
    fn default() -> Self {
        MixSpec {
            dir: PathBuf::new(),
            rw: Rw::RandRw,
            rwmixread: 50,
            block: Bytes(4 * Bytes::KIB),
            size: Bytes(Bytes::GIB),
            threads: 1,
            direct: false,
            engine: Kind::Sync,
            queue_depth: 1,
            fsync: 0,
            runtime: 0.0,
            time_based: false,
            ramp_time: 0.0,
            rate_read: Bytes(0),
            rate_write: Bytes(0),
            overwrite: false,
            fallocate: Preallocation::Native,
            invalidate: true,
            seed: 0,
            name: NAME.into(),
            file: None,
            keep: false,
            reuse: false,
            ranks: 1,
        }
    }
}

impl MixSpec {
    /// The defaults, in this directory.
    pub fn new(dir: impl Into<PathBuf>) -> MixSpec {
        MixSpec {
            dir: dir.into(),
            ..MixSpec::default()
        }
    }

    /// Whole blocks of a file; the rest of `size` is not transferred, as in fio.
    pub const fn blocks(&self) -> u64 {
        match self.block.get() {
            0 => 0,
            block => self.size.get() / block,
        }
    }

    /// Bytes of a file that are transferred.
    pub const fn file_bytes(&self) -> u64 {
        self.blocks() * self.block.get()
    }

    /// The file of a thread: fio's `$jobname.$jobnum.$filenum`, or the one file of all.
    pub fn path(&self, thread: u32) -> PathBuf {
        match &self.file {
            Some(file) => self.dir.join(file),
            None => self.dir.join(format!("{}.{thread}.0", self.name)),
        }
    }

    /// Number of different files.
    pub const fn files(&self) -> u32 {
        match self.file {
            Some(_) => 1,
            None => self.threads,
        }
    }

    /// Whether the files have this program's own names, so that files of these names are leftovers.
    pub fn has_own_names(&self) -> bool {
        self.file.is_none() && self.name == NAME
    }

    /// Percent of the requests that go this way.
    pub const fn share(&self, direction: Direction) -> u32 {
        let reads = match self.rw {
            Rw::Read | Rw::RandRead => 100,
            Rw::Write | Rw::RandWrite => 0,
            Rw::Rw | Rw::RandRw => self.rwmixread,
        };
        match direction {
            Direction::Read => reads,
            Direction::Write => 100 - reads,
        }
    }

    /// Whether any request can read (or write).
    pub const fn has(&self, direction: Direction) -> bool {
        match direction {
            Direction::Read => self.rw.reads(),
            Direction::Write => self.rw.writes(),
        }
    }

    /// Most bytes a second of a thread in this direction; `None`: no limit.
    pub const fn rate(&self, direction: Direction) -> Option<u64> {
        let rate = match direction {
            Direction::Read => self.rate_read.get(),
            Direction::Write => self.rate_write.get(),
        };
        match rate {
            0 => None,
            rate => Some(rate),
        }
    }

    /// Whether the files are filled with data before the clock starts.
    pub const fn is_laid_out(&self) -> bool {
        self.rw.reads() || self.overwrite
    }

    fn validate_names(&self) -> Result<(), Invalid> {
        let names = [("name", Some(&self.name)), ("file", self.file.as_ref())];
        for (option, name) in names {
            let Some(name) = name else { continue };
            let plain = Path::new(name).file_name() == Some(name.as_ref());
            if !plain || name.contains('\0') {
                let reason = "must be the name of a file in dir, without a path";
                return Err(Invalid::new(option, format!("{name:?}"), reason));
            }
        }
        Ok(())
    }

    fn validate_time(&self) -> Result<(), Invalid> {
        const WEEK: f64 = 7.0 * 86_400.0;
        Invalid::unless_within("runtime", self.runtime, 0.0, WEEK)?;
        Invalid::unless_within("ramp_time", self.ramp_time, 0.0, 3600.0)?;
        if self.time_based && self.runtime <= 0.0 {
            let reason = "it goes on until the runtime is over; set runtime";
            return Err(Invalid::new("time_based", true, reason));
        }
        Ok(())
    }
}

impl Parameters for MixSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("ranks", self.ranks, 1, MOST_RANKS)?;
        let (least, most) = (Bytes(512), Bytes(16 * Bytes::MIB));
        Invalid::unless_within("rwmixread", self.rwmixread, 0, 100)?;
        Invalid::unless_within("block", self.block, least, most)?;
        Invalid::unless_within("threads", self.threads, 1, 1024)?;
        if self.size < self.block {
            let reason = format!("a file must hold at least one block of {}", self.block);
            return Err(Invalid::new("size", self.size, reason));
        }
        Invalid::unless_within("size", self.size, least, Bytes(1 << 50))?;
        engine::validate_direct("block", self.block, self.direct, self.engine)?;
        self.engine.validate_queue_depth(self.queue_depth)?;
        self.validate_time()?;
        self.validate_names()
    }

    fn place(&mut self, dir: &Path, seed: u64) {
        dir.clone_into(&mut self.dir);
        self.seed = seed;
    }

    fn footprint(&self) -> Footprint {
        let all = self.size.get() as f64 * f64::from(self.files());
        let laid_out = if self.is_laid_out() { all } else { 0.0 };
        // A run that ends by time moves as much as the device can: its time is known instead.
        let moved = if self.time_based {
            0.0
        } else {
            self.size.get() as f64 * f64::from(self.threads)
        };
        let share = |direction| moved * f64::from(self.share(direction)) / 100.0;
        let (read, written) = (share(Direction::Read), share(Direction::Write));
        let (order, random) = if self.rw.is_random() {
            (0.0, 1.0)
        } else {
            (1.0, 0.0)
        };
        let fsyncs = match self.fsync {
            0 => 0.0,
            n => written / self.block.get().max(1) as f64 / f64::from(n),
        };
        let timed = if self.time_based { self.runtime } else { 0.0 };
        Footprint {
            peak: all,
            written: laid_out + written * order,
            written_randomly: written * random,
            read: read * order,
            read_randomly: read * random,
            files: f64::from(self.files()),
            kept: f64::from(self.files()),
            requests: 0.0,
            syncs: 2.0 + fsyncs,
            rest: timed + self.ramp_time,
        }
        .of_ranks(self.ranks)
    }

    fn load(&self) -> Load {
        let plural = if self.files() == 1 { "" } else { "s" };
        Load {
            parameter: "size",
            amount: format!("{} file{plural} x {}", self.files(), self.size),
            smaller: "smaller files",
        }
    }

    fn largest_file(&self) -> Option<(&'static str, u64)> {
        Some(("size", self.size.get()))
    }
}

/// What the requests do, and in which order: fio's words.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "MixPattern")]
#[value(rename_all = "lower")]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Reads in random order.
    RandRead,
    /// Writes in random order.
    RandWrite,
    /// Reads and writes, each sequential.
    Rw,
    /// Reads and writes in random order.
    #[default]
    RandRw,
}

impl Rw {
    /// All of them.
    pub const ALL: [Rw; 6] = [
        Rw::Read,
        Rw::Write,
        Rw::RandRead,
        Rw::RandWrite,
        Rw::Rw,
        Rw::RandRw,
    ];

    /// fio's word.
    pub const fn name(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::Rw => "rw",
            Rw::RandRw => "randrw",
        }
    }

    /// Whether it can read.
    pub const fn reads(self) -> bool {
        !matches!(self, Rw::Write | Rw::RandWrite)
    }

    /// Whether it can write.
    pub const fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead)
    }

    /// Whether blocks are visited in random order.
    pub const fn is_random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandRw)
    }
}

/// How blocks are reserved for a file before it is written.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub enum Preallocation {
    /// fallocate(2), where the filesystem has it.
    #[default]
    Native,
    /// Not at all: the file has its size and no blocks.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut MixSpec)) -> String {
        let mut spec = MixSpec::new("/nowhere");
        change(&mut spec);
        spec.validate().unwrap_err().to_string()
    }

    #[test]
    fn bad_values_are_refused_with_the_option_and_what_is_allowed() {
        assert_eq!(
            message(|o| o.rwmixread = 101),
            "rwmixread = 101: must be 0..=100"
        );
        assert_eq!(
            message(|o| o.block = Bytes(100)),
            "block = 100: must be 512..=16m"
        );
        assert_eq!(message(|o| o.threads = 0), "threads = 0: must be 1..=1024");
        assert!(message(|o| o.size = Bytes(1)).contains("at least one block of 4k"));
        assert!(message(|o| o.size = Bytes(1 << 60)).starts_with("size = "));
        assert!(message(|o| (o.direct, o.block) = (true, Bytes(513))).contains("O_DIRECT"));
        assert!(message(|o| o.queue_depth = 2).contains("engine sync has one request"));
        assert!(message(|o| o.time_based = true).contains("set runtime"));
        for seconds in [-1.0, f64::NAN, 1e9] {
            assert!(message(|o| o.runtime = seconds).starts_with("runtime = "));
            assert!(message(|o| o.ramp_time = seconds).starts_with("ramp_time = "));
        }
        for name in ["", ".", "..", "a/b", "/a", "a/", "a\0b"] {
            assert!(message(|o| o.file = Some(name.into())).contains("without a path"));
            assert!(message(|o| o.name = name.into()).contains("without a path"));
        }
    }

    #[test]
    fn a_pattern_has_its_shares_files_and_bytes() {
        let mut spec = MixSpec::new("/d");
        (spec.rwmixread, spec.size) = (70, Bytes(10_000));
        assert_eq!(
            (spec.share(Direction::Read), spec.share(Direction::Write)),
            (70, 30)
        );
        assert_eq!((spec.blocks(), spec.file_bytes()), (2, 8192));
        assert_eq!(spec.path(3), Path::new("/d/mix.3.0"));
        assert!(spec.has_own_names() && spec.is_laid_out());
        (spec.rw, spec.file, spec.threads) = (Rw::Write, Some("f".into()), 4);
        assert_eq!(
            (spec.share(Direction::Read), spec.share(Direction::Write)),
            (0, 100)
        );
        assert_eq!((spec.path(3), spec.files()), (PathBuf::from("/d/f"), 1));
        assert!(!spec.has_own_names() && !spec.is_laid_out());
        assert_eq!(spec.rate(Direction::Write), None);
        spec.rate_write = Bytes(5);
        assert_eq!(spec.rate(Direction::Write), Some(5));
    }

    #[test]
    fn a_run_by_time_has_a_time_and_one_by_size_has_bytes() {
        let mut spec = MixSpec {
            rwmixread: 75,
            fsync: 8,
            size: Bytes(Bytes::GIB),
            ..MixSpec::default()
        };
        let by_size = spec.footprint();
        let all = Bytes::GIB as f64;
        assert_eq!((by_size.peak, by_size.written), (all, all));
        assert_eq!(
            (by_size.read_randomly, by_size.written_randomly),
            (0.75 * all, 0.25 * all)
        );
        assert_eq!(by_size.syncs, 2.0 + 65_536.0 / 8.0);
        (spec.runtime, spec.time_based, spec.ramp_time) = (30.0, true, 5.0);
        let by_time = spec.footprint();
        assert_eq!((by_time.rest, by_time.read_randomly), (35.0, 0.0));
    }
}
