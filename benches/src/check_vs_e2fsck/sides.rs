//! Runs of both checkers, hot, cold and on a limited device.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::checker_pairs;
use crate::limited::Limited;
use crate::pairs::{Pairs, in_turn, median};
use crate::run::{drop_caches, output};
use crate::watched::{self, Took};
use anyhow::{Context, Result, bail, ensure};

use crate::check_vs_e2fsck::{Bench, MIB, Part};

/// Of a hot image at most one byte in this many comes from its disk: a kernel that reclaims pages unused for a while (DAMON)
/// takes pages out of the cache even where memory is free.
const COLD_SHARE: u64 = 50;

/// What `fslab check` reads, by its own report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    pub(crate) bytes: f64,
    pub(crate) requests: f64,
}

/// Peak memory of each side, MiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peaks {
    pub(crate) ours: f64,
    pub(crate) theirs: f64,
}

impl Peaks {
    pub(crate) fn take(&mut self, other: Peaks) {
        self.ours = self.ours.max(other.ours);
        self.theirs = self.theirs.max(other.theirs);
    }
}

/// The pairs of a part that count, in seconds.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) pairs: Pairs,
    pub(crate) peaks: Peaks,
    /// Most bytes that a hot run may read from devices.
    allowed: u64,
    /// Bytes read from devices in the pairs that did not count because they were not hot.
    repeated: Vec<u64>,
}

impl Measured {
    /// Our median; `None` without a pair that counts.
    pub(crate) fn seconds(&self) -> Option<f64> {
        (!self.pairs.ours.is_empty()).then(|| median(&self.pairs.ours))
    }

    /// Adds a pair; a pair that should be hot counts only if it was.
    fn take(&mut self, part: Part, ours: Took, theirs: Took) {
        let fetched = ours.fetched.max(theirs.fetched);
        let counts = part != Part::Hot || fetched <= self.allowed;
        checker_pairs::report(&format!("{part:?}"), ours, theirs, counts);
        if !counts {
            self.repeated.push(fetched);
            return;
        }
        self.peaks.take(Peaks {
            ours: ours.peak,
            theirs: theirs.peak,
        });
        self.pairs.push(ours.seconds, theirs.seconds);
    }

    /// What hot means here, in a sentence.
    fn proof(&self) -> String {
        let most = self.repeated.iter().max().copied().unwrap_or(0) as f64 / MIB;
        let again = match self.repeated.len() {
            0 => "none repeated".to_owned(),
            again => format!("{again} repeated in which they gave up to {most:.1} MiB"),
        };
        let pairs = self.pairs.ours.len();
        let allowed = self.allowed as f64 / MIB;
        format!(
            "in the page cache: {pairs} pairs in which devices gave either side at most {allowed:.1} MiB, {again}"
        )
    }
}

impl Bench {
    /// What `fslab check` reads with O_DIRECT, by its own report.
    pub(crate) fn reads(&self, image: &str) -> Result<Reads> {
        let report: serde_json::Value = serde_json::from_str(&output(
            &self.fslab,
            &["check", "--io", "direct", "--format", "json", image],
        )?)?;
        let total = &report["total"];
        let field = |name: &str| {
            let value = total[name].as_f64();
            value.with_context(|| format!("the report has no {name}: {total}"))
        };
        Ok(Reads {
            bytes: field("bytes")?,
            requests: field("requests")?,
        })
    }

    /// All pairs of a part. Where the page cache does not hold what both read, hot pairs are repeated as often as there are
    /// pairs, and no more.
    pub(crate) fn part(&self, part: Part, image: &Path) -> Result<Measured> {
        let limited = if part == Part::Limited {
            let (bytes, requests) = (self.arguments.bytes, self.arguments.requests);
            Some(Limited::attach(image, bytes, requests)?)
        } else {
            None
        };
        let path = image.display().to_string();
        let device = limited.as_ref().map(Limited::device);
        let target = device.unwrap_or(&path);
        if part == Part::Hot {
            for ours in [false, true, false, true] {
                self.side(ours, target)?;
            }
        }
        let wanted = match part {
            Part::Limited => self
                .arguments
                .limited_pairs
                .min(self.arguments.times.pairs()),
            _ => self.arguments.times.pairs(),
        } as usize;
        let mut measured = Measured {
            allowed: image.metadata()?.blocks() * 512 / COLD_SHARE,
            ..Measured::default()
        };
        while measured.pairs.ours.len() < wanted && measured.repeated.len() < wanted {
            self.stop.check()?;
            let run = |ours: bool| -> Result<Took> {
                if part != Part::Hot {
                    cold(image, device.map(Path::new))?;
                }
                self.side(ours, target)
            };
            let tried = measured.pairs.ours.len() + measured.repeated.len();
            let (ours, theirs) = in_turn(tried.is_multiple_of(2), || run(true), || run(false))?;
            measured.take(part, ours, theirs);
        }
        if part == Part::Hot {
            println!("{}", measured.proof());
        }
        Ok(measured)
    }

    /// One run of a side, which must find the filesystem clean.
    fn side(&self, ours: bool, target: &str) -> Result<Took> {
        let (program, words) = if ours {
            (self.fslab.as_str(), ["check", target])
        } else {
            ("e2fsck", ["-fn", target])
        };
        let took = watched::run(program, &words, &self.stop)?;
        ensure!(
            took.code == 0,
            "{program} {}: exit code {}",
            words.join(" "),
            took.code
        );
        Ok(took)
    }
}

/// Drops caches; fails if pages stay cached.
pub(crate) fn cold(image: &Path, device: Option<&Path>) -> Result<()> {
    let proof = if let Some(node) = device {
        rig::cache::drop_device(node, &[image])?
    } else {
        drop_caches()?;
        let folder = image.parent().context("the image has no parent folder")?;
        rig::cache::drop_and_prove(folder, &[image], &[])?
    };
    if proof.holds == Some(false) {
        bail!("not cold: {}", proof.detail());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(seconds: f64, fetched: u64) -> Took {
        Took {
            seconds,
            peak: seconds * 10.0,
            fetched,
            code: 0,
        }
    }

    #[test]
    fn what_devices_gave_is_not_hot_and_cold_is_not_asked() {
        let mut hot = Measured {
            allowed: 1 << 20,
            ..Measured::default()
        };
        assert_eq!(hot.seconds(), None);
        hot.take(Part::Hot, took(1.0, 1 << 20), took(9.0, 1 << 20));
        hot.take(Part::Hot, took(2.0, 0), took(9.0, 3 << 20));
        hot.take(Part::Hot, took(2.0, (1 << 20) + 1), took(9.0, 0));
        assert_eq!(hot.seconds(), Some(1.0));
        assert_eq!((hot.peaks.ours, hot.peaks.theirs), (10.0, 90.0));
        assert_eq!(
            hot.proof(),
            "in the page cache: 1 pairs in which devices gave either side at most 1.0 MiB, 2 repeated in which they gave up to 3.0 MiB"
        );
        let mut cold = Measured::default();
        cold.take(Part::Cold, took(2.0, 5), took(9.0, 7));
        assert_eq!(cold.seconds(), Some(2.0));
        assert!(cold.repeated.is_empty());
    }
}
