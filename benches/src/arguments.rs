//! The arguments that benches share.

use std::path::PathBuf;

use clap::Args;

/// Pairs of a quick look.
const FEW: u32 = 3;

/// Number of pairs, `PAIRS` by default.
#[derive(Args, Clone, Copy, Debug)]
pub struct Times<const PAIRS: u32> {
    /// Little work and three pairs: a quick look, not a result.
    #[arg(long)]
    pub quick: bool,
    /// Pairs of runs.
    #[arg(long, default_value_t = PAIRS)]
    pairs: u32,
}

impl<const PAIRS: u32> Times<PAIRS> {
    /// Pairs to run.
    pub fn pairs(&self) -> u32 {
        if self.quick {
            self.pairs.min(FEW)
        } else {
            self.pairs
        }
    }

    /// An amount of work, less of it for a quick look.
    pub fn amount(&self, whole: u64, quick: u64) -> u64 {
        if self.quick { whole.min(quick) } else { whole }
    }
}

/// Whether a part of a bench was asked for.
pub fn wants(parts: &[String], part: &str) -> bool {
    parts.iter().any(|asked| asked == part)
}

/// Where images and files are made.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// Folder for all files.
    #[arg(long, default_value = "/tmp")]
    pub dir: PathBuf,
}

/// The binary that is measured.
#[derive(Args, Clone, Debug)]
pub struct Binary {
    /// The binary.
    #[arg(long, default_value = "target/release/fslab")]
    pub fslab: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Both {
        #[command(flatten)]
        times: Times<7>,
        #[command(flatten)]
        place: Place,
    }

    #[test]
    fn a_quick_look_is_never_more_than_was_asked() {
        let both = |words: &[&str]| Both::parse_from([&["bench"], words].concat());
        let asked = both(&[]);
        assert_eq!((asked.times.pairs(), asked.times.amount(9, 4)), (7, 9));
        assert_eq!(asked.place.dir, PathBuf::from("/tmp"));
        let quick = both(&["--quick"]).times;
        assert_eq!((quick.pairs(), quick.amount(9, 4)), (3, 4));
        let least = both(&["--quick", "--pairs", "1"]).times;
        assert_eq!((least.pairs(), least.amount(2, 4)), (1, 2));
    }
}
