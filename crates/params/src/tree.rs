//! Parameters of compilebench.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Footprint, Invalid, Load, Parameters};

/// Parameters of `tree` (compilebench). Letters in brackets are compilebench's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "compilebench's switches, one each"
)]
pub struct TreeSpec {
    /// Working directory, created when missing. It must hold no `kernel-*`: the state of files
    /// before a phase is a parameter, never an accident.
    #[serde(skip)]
    #[arg(
        long,
        value_name = "DIR",
        help = "Directory on the filesystem under test"
    )]
    pub dir: PathBuf,
    /// Trees created first (compilebench -i), 1..=1000.
    #[schemars(title = "number of trees", range(min = 1, max = 1000))]
    #[arg(
        short = 'i',
        long,
        default_value_t = 30,
        help = "Trees created first (compilebench -i)"
    )]
    pub initial: u32,
    /// Random operations after them (compilebench -r), 0..=100000.
    #[schemars(title = "number of operations", range(min = 0, max = 100_000))]
    #[arg(
        short = 'r',
        long,
        default_value_t = 100,
        help = "Random operations after them (compilebench -r)"
    )]
    pub runs: u32,
    /// Bytes of one read or write (compilebench -b).
    #[schemars(title = "buffer size", extend("minimum" = 512, "maximum" = 64 << 20))]
    #[arg(short = 'b', long, default_value = "256k")]
    pub buffer: Bytes,
    /// Share of the data sets' files to keep, 0 < scale <= 1; the shape of the trees stays.
    #[schemars(title = "share", range(max = 1.0), extend("exclusiveMinimum" = 0))]
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Folder with compilebench's four `dataset-*` files (compilebench -s); without it the data
    /// sets are generated.
    #[schemars(title = "folder", with = "Option<String>")]
    #[arg(
        short = 's',
        long,
        value_name = "DIR",
        help = "Folder with compilebench's own data sets (compilebench -s)"
    )]
    pub sources: Option<PathBuf>,
    /// Sync inside each random operation's clock and drop the caches before it (off is
    /// compilebench -n).
    #[arg(
        short = 'n',
        long = "no-sync",
        action = ArgAction::SetFalse,
        help = "No sync and no cache dropping (compilebench -n)"
    )]
    pub sync: bool,
    /// Reproduce compilebench's append mode and dictionary quirks.
    #[arg(
        long = "no-compat",
        action = ArgAction::SetFalse,
        help = "Without compilebench's append and dictionary quirks"
    )]
    pub compat: bool,
    /// Seed of the generated data sets (the operation sequence has compilebench's own, 555).
    #[schemars(title = "seed")]
    #[arg(skip = DATASET_SEED)]
    pub dataset_seed: u64,
    /// Record how long each open, read, write, close, stat, unlink and sync takes.
    #[arg(
        long = "no-latency",
        action = ArgAction::SetFalse,
        help = "Do not record how long each operation takes"
    )]
    pub latency: bool,
    /// Compile all trees, read 3, delete all, then stop (compilebench -m).
    #[serde(skip)]
    #[arg(short = 'm', long)]
    pub makej: bool,
    /// Keep the trees.
    #[serde(skip)]
    #[arg(long)]
    pub keep: bool,
}

const DATASET_SEED: u64 = 2009;

/// compilebench's own defaults.
impl Default for TreeSpec {
    fn default() -> Self {
        TreeSpec {
            dir: PathBuf::new(),
            initial: 30,
            runs: 100,
            buffer: Bytes(256 * Bytes::KIB),
            scale: 1.0,
            sources: None,
            sync: true,
            compat: true,
            dataset_seed: DATASET_SEED,
            latency: true,
            makej: false,
            keep: false,
        }
    }
}

impl TreeSpec {
    /// The defaults, in this directory.
    pub fn new(dir: impl Into<PathBuf>) -> TreeSpec {
        TreeSpec {
            dir: dir.into(),
            ..TreeSpec::default()
        }
    }
}

impl Parameters for TreeSpec {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_within("initial", self.initial, 0, 1000)?;
        Invalid::unless_within("runs", self.runs, 0, 100_000)?;
        if self.initial == 0 && (self.runs == 0 || self.makej) {
            let reason = "nothing to do; use at least one tree";
            return Err(Invalid::new("initial", 0, reason));
        }
        Invalid::unless_within("buffer", self.buffer, Bytes(1), Bytes(64 * Bytes::MIB))?;
        if !(self.scale > 0.0 && self.scale <= 1.0) {
            let reason = "must be a share above 0 and at most 1";
            return Err(Invalid::new("scale", self.scale, reason));
        }
        Ok(())
    }

    fn place(&mut self, dir: &Path, _seed: u64) {
        dir.clone_into(&mut self.dir);
    }

    /// An expectation: which operations a sequence draws is known only by drawing it, so each of
    /// the seven is taken to come `runs / 7` times. Creations less deletions, and compiled trees
    /// less cleaned ones, are random walks whose reach grows with the root of the number of steps;
    /// that gives the peak.
    fn footprint(&self) -> Footprint {
        const OPERATIONS: f64 = 7.0;
        let (initial, runs, scale) = (f64::from(self.initial), f64::from(self.runs), self.scale);
        let each = runs / OPERATIONS;
        let walk = (2.0 * each).sqrt();
        let compiled = walk.min(initial + walk);
        let patch = f64::midpoint(PATCHED.bytes, PATCHED_COMPILED.bytes);
        let patch_files = f64::midpoint(PATCHED.files, PATCHED_COMPILED.files);
        // The scratch trees that fix the order of files are written before everything else.
        let scratch = UNPATCHED.bytes + PATCHED.bytes + PATCHED_COMPILED.bytes;
        let peak = UNPATCHED.on_disk() * (initial + walk) + PATCHED_COMPILED.on_disk() * compiled;
        let bytes =
            scratch + initial * UNPATCHED.bytes + each * (UNPATCHED.bytes + COMPILED.bytes + patch);
        let operations = initial + 5.0 * each;
        Footprint {
            peak: scale * peak,
            written: scale * bytes,
            read: scale * each * (UNPATCHED.bytes + patch),
            files: scale * (operations * UNPATCHED.files + 2.0 * each * patch_files),
            kept: scale * (UNPATCHED.files * (initial + walk) + PATCHED_COMPILED.files * compiled),
            syncs: if self.sync { runs } else { 0.0 },
            ..Footprint::default()
        }
    }

    fn load(&self) -> Load {
        let plural = if self.initial == 1 { "" } else { "s" };
        Load {
            parameter: "scale",
            amount: format!("{} tree{plural} at scale {}", self.initial, self.scale),
            smaller: "a smaller scale",
        }
    }
}

/// A working set of compilebench: files and bytes (its four data sets, reduced at start).
#[derive(Clone, Copy)]
struct Set {
    files: f64,
    bytes: f64,
}

impl Set {
    const fn new(files: u32, bytes: f64) -> Set {
        Set {
            files: files as f64,
            bytes,
        }
    }

    /// Bytes on disk, with each file's last block half empty.
    fn on_disk(self) -> f64 {
        const HALF_BLOCK: f64 = 2048.0;
        self.bytes + self.files * HALF_BLOCK
    }
}

const MIB: f64 = Bytes::MIB as f64;
const UNPATCHED: Set = Set::new(21_280, 222.37 * MIB);
const PATCHED: Set = Set::new(6136, 109.67 * MIB);
const COMPILED: Set = Set::new(3263, 680.63 * MIB);
const PATCHED_COMPILED: Set = Set::new(2573, 691.60 * MIB);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_value_is_refused_by_name() {
        let good = TreeSpec::new("/nowhere");
        good.validate().unwrap();
        let refused = |change: fn(&mut TreeSpec), expected: &str| {
            let mut spec = good.clone();
            change(&mut spec);
            let message = spec.validate().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        };
        refused(|o| o.initial = 1001, "initial = 1001: must be 0..=1000");
        refused(|o| o.runs = 100_001, "runs = 100001: must be 0..=100000");
        refused(|o| (o.initial, o.runs) = (0, 0), "initial = 0: nothing");
        refused(|o| (o.initial, o.makej) = (0, true), "initial = 0: nothing");
        refused(|o| o.buffer = Bytes(0), "buffer = 0: must be 1..=64m");
        refused(|o| o.scale = 0.0, "scale = 0: must");
        refused(|o| o.scale = 1.5, "scale = 1.5: must");
        refused(|o| o.scale = f64::NAN, "scale = NaN: must");
    }
}
