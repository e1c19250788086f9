//! Parameters of IOR: ranks that write and read together, each a file of its own or all of them one.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{Kind, validate_direct};
use crate::ranks::MOST_RANKS;
use crate::{Bytes, Footprint, Invalid, Load, Parameters};

/// Parameters of `shared` (IOR). Letters in brackets are IOR's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "IOR's switches, one each")]
pub struct SharedSpec {
    /// Directory on the filesystem under test: the files are `testFile` or `testFile.N`.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "DIR",
        help = "Directory on the filesystem under test"
    )]
    pub dir: PathBuf,
    /// Ranks: processes of MPI (`--executor mpi`), else threads of this process.
    #[schemars(title = "number of ranks", range(min = 1, max = MOST_RANKS))]
    #[arg(
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Ranks: threads, or processes with --launcher"
    )]
    pub ranks: u32,
    /// A file for each rank (IOR -F), or one for all of them.
    #[schemars(title = "layout")]
    #[arg(
        long,
        value_enum,
        default_value = "own",
        help = "A file for each rank (IOR -F), or one for all"
    )]
    pub layout: Layout,
    /// Bytes that a rank writes one after the other (IOR -b): a multiple of `transfer`.
    #[schemars(title = "block size", extend("minimum" = 1, "maximum" = 1_u64 << 50))]
    #[arg(
        short = 'b',
        long,
        default_value = "1m",
        help = "Bytes that a rank writes in one piece (IOR -b)"
    )]
    pub block: Bytes,
    /// Bytes of one read or write (IOR -t), at most 64 MiB.
    #[schemars(title = "transfer size", extend("minimum" = 1, "maximum" = 64 << 20))]
    #[arg(
        short = 't',
        long,
        default_value = "256k",
        help = "Bytes of one read or write (IOR -t)"
    )]
    pub transfer: Bytes,
    /// How often a rank writes a block (IOR -s). In one file, the blocks of all ranks alternate.
    #[schemars(title = "number of segments", range(min = 1))]
    #[arg(
        short = 's',
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Blocks of each rank (IOR -s)"
    )]
    pub segments: u64,
    /// Seconds after which each rank stops writing (IOR -D); 0: it writes everything.
    #[schemars(title = "number of seconds", range(min = 0.0, max = 86400.0))]
    #[arg(
        short = 'D',
        long,
        default_value_t = 0.0,
        value_name = "S",
        allow_negative_numbers = true,
        help = "Seconds after which each rank stops writing (IOR -D); 0: never"
    )]
    pub stonewall: f64,
    /// Then all ranks go on to the number of transfers of the fastest (IOR stoneWallingWearOut).
    #[arg(
        long,
        help = "After --stonewall, all ranks write as much as the fastest (IOR stoneWallingWearOut)"
    )]
    pub wear_out: bool,
    /// Which rank's data a rank reads.
    #[schemars(title = "order of ranks")]
    #[arg(
        long,
        value_enum,
        default_value = "none",
        help = "Which rank's data a rank reads"
    )]
    pub reorder: Reorder,
    /// Distance in nodes of `reorder = "node"` (IOR -Q).
    #[schemars(title = "number of nodes", range(min = 1, max = MOST_RANKS))]
    #[arg(
        short = 'Q',
        long,
        default_value_t = 1,
        value_name = "N",
        help = "Distance in nodes of --reorder node (IOR -Q)"
    )]
    pub shift: u32,
    /// Write, read, or one after the other (IOR -w, -r).
    #[schemars(title = "test")]
    #[arg(
        long,
        value_enum,
        default_value = "write-read",
        help = "Write, read, or both in this order (IOR -w, -r)"
    )]
    pub test: Test,
    /// O_DIRECT on every open (IOR --posix.odirect).
    #[arg(long, help = "O_DIRECT (IOR --posix.odirect)")]
    pub direct: bool,
    /// fsync before the close of a write, inside its clock (IOR -e).
    #[arg(
        short = 'e',
        long,
        help = "fsync before the close, inside the clock (IOR -e)"
    )]
    pub fsync: bool,
    /// Drop the caches before a read in which a rank reads what its own node wrote, and prove them cold.
    #[arg(
        long = "no-cold",
        action = clap::ArgAction::SetFalse,
        help = "Do not drop the caches before reads"
    )]
    pub cold: bool,
    /// Keep the files (IOR -k).
    #[serde(skip)]
    #[arg(short = 'k', long)]
    pub keep: bool,
    /// Seed of `reorder = "shuffle"`.
    #[serde(skip)]
    #[arg(
        long,
        default_value_t = 2012,
        value_name = "N",
        help = "Seed of --reorder shuffle"
    )]
    pub seed: u64,
}

/// Whose file it is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SharedLayout")]
pub enum Layout {
    /// Each rank has a file.
    #[default]
    Own,
    /// All ranks have one.
    Shared,
}

/// Which rank's data a rank reads.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SharedReorder")]
pub enum Reorder {
    /// Its own.
    #[default]
    None,
    /// That of the next node (IOR -C).
    Node,
    /// That of any rank: a permutation from the seed (IOR -Z -Z).
    Shuffle,
}

/// What is done.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SharedTest")]
pub enum Test {
    /// Files are written.
    Write,
    /// Files that an earlier run left (`keep`) are read.
    Read,
    /// Files are written, then read.
    #[default]
    WriteRead,
}

impl Test {
    /// Whether it writes.
    pub const fn writes(self) -> bool {
        matches!(self, Test::Write | Test::WriteRead)
    }

    /// Whether it reads.
    pub const fn reads(self) -> bool {
        matches!(self, Test::Read | Test::WriteRead)
    }
}

/// IOR's own defaults: one segment of 1 MiB in transfers of 256 KiB; a file for each rank.
impl Default for SharedSpec {
    fn default() -> Self {
        SharedSpec {
            dir: PathBuf::new(),
            ranks: 1,
            layout: Layout::Own,
            block: Bytes(Bytes::MIB),
            transfer: Bytes(256 * Bytes::KIB),
            segments: 1,
            stonewall: 0.0,
            wear_out: false,
            reorder: Reorder::None,
            shift: 1,
            test: Test::WriteRead,
            direct: false,
            fsync: false,
            cold: true,
            keep: false,
            seed: 1,
        }
    }
}

impl SharedSpec {
    /// The defaults, in a directory.
    pub fn new(dir: impl Into<PathBuf>) -> SharedSpec {
        SharedSpec {
            dir: dir.into(),
            ..SharedSpec::default()
        }
    }

    /// Transfers of a rank, where nothing stops it.
    pub const fn transfers(&self) -> u64 {
        let each = match self.transfer.get() {
            0 => 0,
            transfer => self.block.get() / transfer,
        };
        each.saturating_mul(self.segments)
    }

    /// Bytes of a rank, where nothing stops it.
    pub const fn rank_bytes(&self) -> u64 {
        self.block.get().saturating_mul(self.segments)
    }

    /// Bytes of all ranks, where nothing stops them.
    pub const fn all_bytes(&self) -> u64 {
        self.rank_bytes().saturating_mul(self.ranks as u64)
    }

    /// Where transfer `index` of `rank` lies in its file.
    pub const fn offset(&self, rank: u32, index: u64) -> u64 {
        let (block, transfer) = (self.block.get(), self.transfer.get());
        let per_block = block / transfer;
        let (segment, within) = (index / per_block, index % per_block);
        match self.layout {
            Layout::Own => segment * block + within * transfer,
            Layout::Shared => {
                segment * self.ranks as u64 * block + rank as u64 * block + within * transfer
            }
        }
    }
}

/// Refuses a number of seconds that is none.
pub(crate) fn validate_seconds(
    option: &'static str,
    seconds: f64,
    most: f64,
) -> Result<(), Invalid> {
    if (0.0..=most).contains(&seconds) {
        return Ok(());
    }
    let reason = format!("must be 0..={most} seconds");
    Err(Invalid::new(option, seconds, reason))
}

impl Parameters for SharedSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("ranks", self.ranks, 1, MOST_RANKS)?;
        let most = Bytes(64 * Bytes::MIB);
        Invalid::unless_within("transfer", self.transfer, Bytes(1), most)?;
        if self.block.get() == 0 || !self.block.get().is_multiple_of(self.transfer.get()) {
            let reason = format!("must be a multiple of transfer, {}", self.transfer);
            return Err(Invalid::new("block", self.block, reason));
        }
        Invalid::if_zero("segments", self.segments)?;
        let bytes = self.block.get().checked_mul(self.segments);
        let bytes = bytes.and_then(|bytes| bytes.checked_mul(self.ranks.into()));
        if bytes.is_none_or(|bytes| bytes > i64::MAX as u64) {
            let reason = "all ranks together exceed 2^63 bytes";
            return Err(Invalid::new("segments", self.segments, reason));
        }
        validate_seconds("stonewall", self.stonewall, 86_400.0)?;
        if self.wear_out && self.stonewall == 0.0 {
            let reason = "has no meaning without a stonewall; set stonewall to a number of seconds";
            return Err(Invalid::new("wear_out", true, reason));
        }
        Invalid::unless_within("shift", self.shift, 1, MOST_RANKS)?;
        validate_direct("transfer", self.transfer, self.direct, Kind::Sync)
    }

    fn place(&mut self, dir: &Path, seed: u64) {
        dir.clone_into(&mut self.dir);
        self.seed = seed;
    }

    fn footprint(&self) -> Footprint {
        let bytes = self.all_bytes() as f64;
        let of = |is: bool| if is { bytes } else { 0.0 };
        let files = match self.layout {
            Layout::Own => f64::from(self.ranks),
            Layout::Shared => 1.0,
        };
        Footprint {
            peak: bytes,
            written: of(self.test.writes()),
            read: of(self.test.reads()),
            files,
            kept: files,
            syncs: 2.0,
            ..Footprint::default()
        }
    }

    fn load(&self) -> Load {
        Load {
            parameter: "block",
            amount: format!(
                "{} ranks x {} segments x {}",
                self.ranks, self.segments, self.block
            ),
            smaller: "smaller blocks",
        }
    }

    fn largest_file(&self) -> Option<(&'static str, u64)> {
        let bytes = match self.layout {
            Layout::Own => self.rank_bytes(),
            Layout::Shared => self.all_bytes(),
        };
        Some(("block", bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl Fn(&mut SharedSpec)) -> String {
        let mut spec = SharedSpec::new("/d");
        change(&mut spec);
        spec.validate().unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        assert!(message(|s| s.ranks = 0).contains("ranks = 0"));
        assert!(message(|s| s.block = Bytes(1000)).contains("multiple of transfer, 256k"));
        assert!(message(|s| s.segments = 0).contains("segments = 0"));
        assert!(message(|s| s.segments = u64::MAX).contains("2^63"));
        assert!(message(|s| s.stonewall = f64::NAN).contains("0..=86400"));
        assert!(message(|s| s.wear_out = true).contains("without a stonewall"));
        assert!(
            message(|s| (s.direct, s.transfer, s.block) = (true, Bytes(1000), Bytes(1000)))
                .contains("O_DIRECT")
        );
    }

    #[test]
    fn transfers_of_one_file_never_overlap_and_leave_no_hole() {
        for layout in [Layout::Own, Layout::Shared] {
            let spec = SharedSpec {
                ranks: 3,
                layout,
                block: Bytes(40),
                transfer: Bytes(10),
                segments: 5,
                ..SharedSpec::default()
            };
            let ranks = match layout {
                Layout::Own => 1,
                Layout::Shared => spec.ranks,
            };
            let all = (0..ranks).flat_map(|rank| (0..20).map(move |at| (rank, at)));
            let mut offsets: Vec<u64> = all.map(|(rank, at)| spec.offset(rank, at)).collect();
            offsets.sort_unstable();
            let whole: Vec<u64> = (0..u64::from(ranks) * 20).map(|at| at * 10).collect();
            assert_eq!(offsets, whole);
        }
    }
}
