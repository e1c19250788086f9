//! What a run can be told. Letters in brackets are compilebench's.

use std::path::PathBuf;

use crate::Error;

/// Parameters of a run.
#[allow(clippy::struct_excessive_bools)] // compilebench's switches are independent of each other
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Working directory (-D), made when missing. It must hold no `kernel-*`: the state of files
    /// before a phase is a parameter, never an accident.
    pub dir: PathBuf,
    /// Trees created first (-i), up to 1000.
    pub initial: u32,
    /// Random operations after them (-r), up to 100,000.
    pub runs: u32,
    /// Bytes of one read or write (-b), 1..=64 MiB.
    pub buffer: usize,
    /// Share of the data sets' files and bytes to keep, 0 < scale <= 1.
    pub scale: f64,
    /// Folder with the four original `dataset-*` files (-s); none: generated sets.
    pub sources: Option<PathBuf>,
    /// Sync inside each random operation's clock, and drop caches before it (off is -n).
    pub sync: bool,
    /// The original's quirks: see [`crate::tree`].
    pub compat: bool,
    /// Seed of the generated sets. The operation sequence has compilebench's own, 555.
    pub dataset_seed: u64,
    /// Compile all trees, read 3, delete all, then stop (-m).
    pub makej: bool,
    /// Leave the trees when the run ends.
    pub keep: bool,
}

impl Options {
    /// compilebench's defaults in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Options {
            dir: dir.into(),
            initial: 30,
            runs: 100,
            buffer: 256 * 1024,
            scale: 1.0,
            sources: None,
            sync: true,
            compat: true,
            dataset_seed: 2009,
            makej: false,
            keep: false,
        }
    }

    /// Checks every value, without looking at the filesystem.
    ///
    /// # Errors
    /// [`Error::BadOption`] for the first value that cannot be used.
    pub fn validate(&self) -> Result<(), Error> {
        let bad = |option, value: String, reason: &str| {
            Err(Error::BadOption {
                option,
                value,
                reason: reason.into(),
            })
        };
        if self.initial > 1000 {
            let value = self.initial.to_string();
            return bad("initial", value, "take 0 to 1000 trees");
        }
        if self.runs > 100_000 {
            let value = self.runs.to_string();
            return bad("runs", value, "take 0 to 100000 operations");
        }
        if self.initial == 0 && (self.runs == 0 || self.makej) {
            return bad(
                "initial",
                "0".into(),
                "nothing to do; take at least one tree",
            );
        }
        if !(1..=64 << 20).contains(&self.buffer) {
            let value = self.buffer.to_string();
            return bad(
                "buffer",
                value,
                "take 1 byte to 64 MiB (the original: 256 KiB)",
            );
        }
        if !(self.scale > 0.0 && self.scale <= 1.0) {
            let value = self.scale.to_string();
            return bad("scale", value, "take a share above 0 and up to 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_value_is_refused_by_name() {
        let good = Options::new("/nowhere");
        good.validate().unwrap();
        let cases: [(&str, Options); 8] = [
            (
                "initial = 1001",
                Options {
                    initial: 1001,
                    ..good.clone()
                },
            ),
            (
                "runs = 100001",
                Options {
                    runs: 100_001,
                    ..good.clone()
                },
            ),
            (
                "initial = 0",
                Options {
                    initial: 0,
                    runs: 0,
                    ..good.clone()
                },
            ),
            (
                "initial = 0",
                Options {
                    initial: 0,
                    makej: true,
                    ..good.clone()
                },
            ),
            (
                "buffer = 0",
                Options {
                    buffer: 0,
                    ..good.clone()
                },
            ),
            (
                "scale = 0",
                Options {
                    scale: 0.0,
                    ..good.clone()
                },
            ),
            (
                "scale = 1.5",
                Options {
                    scale: 1.5,
                    ..good.clone()
                },
            ),
            (
                "scale = NaN",
                Options {
                    scale: f64::NAN,
                    ..good
                },
            ),
        ];
        for (expected, options) in cases {
            let error = options.validate().unwrap_err().to_string();
            assert!(
                error.starts_with(expected) && error.contains("take"),
                "{error}"
            );
        }
    }
}
