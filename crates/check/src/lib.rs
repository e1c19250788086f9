//! Read-only checkers: is this filesystem sound, and if not, what exactly is wrong?
//!
//! A checker reads an image or a device through `blockio` and never opens anything for writing. It gives the verdict of the format's
//! own program (for ext2, ext3 and ext4 that of e2fsck), because that is the reference that people trust, but it reads in its own way:
//! where e2fsck walks inode by inode through one cache with one request in flight, a checker here sweeps the metadata in ascending order with
//! large requests, in several threads, and keeps flat maps instead of trees.
//!
//! A fault is a [`Finding`]: the reference program's problem code, where, what was found and what would be right. A checker continues
//! where the reference program stops, and marks in the finding that it would have stopped there, so that the
//! verdict ([`Verdict`]) is still that of the reference. The strict verdict has no such exceptions.
//!
//! # Formats
//!
//! [`for_source`] chooses a [`Checker`] by the superblock. [`frame`] is what all checkers share and knows no format; each format is a
//! folder beside it ([`ext4`]) and a line in the list of [`for_source`]. Options that only one format has are a typed structure of
//! that format ([`ext4::Options`]); everything else goes through the trait.
//!
//! Rejected: one generic checker over traits of inodes, directories and maps. The formats share how to read, count and report, and almost
//! nothing of what to check; and e2fsck's order of findings, which its exit code depends on, would run through all of it.

pub mod device;
pub mod ext4;
pub mod frame;
pub mod ocfs2;
pub mod strategy;
pub mod xfs;

use blockio::BlockSource;
use fskind::Family;

pub use frame::cost::Cost;
pub use frame::failure::Failure;
pub use frame::finding::{Finding, Place, Value};
pub use frame::forecast::{self, Forecast};
pub use frame::log::{DEFAULT_KEPT, Findings, Tally};
pub use frame::observer::Observer;
pub use frame::options::Options;
pub use frame::pass::Pass;
pub use frame::problem::{Class, Problem, Severity};
pub use frame::report::{self, Report, Step, Target};
pub use frame::trim::{give_back_large_blocks, give_back_program};
pub use frame::verdict::{EXIT_CLEAN, EXIT_ERRORS, EXIT_STOPPED, Verdict, Verdicts};
pub use progress::{Progress, Silent};

/// A checker of one format.
pub trait Checker: Send + Sync {
    /// The on-disk format that it checks.
    fn format(&self) -> Family;

    /// Its passes, in order.
    fn passes(&self) -> &'static [Pass];

    /// Estimates time and memory of a check, and of the format's own program, from the descriptors and a sample that
    /// takes a few seconds. `source` should bypass the page cache.
    ///
    /// # Errors
    /// Why there is no estimate, in one line.
    fn forecast(&self, source: &dyn BlockSource, options: &Options) -> Result<Forecast, String> {
        let _ = (source, options);
        Err("no estimate: this format has none; time a check instead".into())
    }

    /// Checks a filesystem and never writes.
    ///
    /// # Errors
    /// There is no verdict: the check was cancelled, or its maps do not fit into memory. Damage, unreadable blocks and an unusable
    /// superblock are findings.
    fn check(
        &self,
        source: &dyn BlockSource,
        options: &Options,
        observer: &dyn Observer,
    ) -> Result<Report, Failure>;

    /// What to do next about what a check found, in steps with complete commands; none where nothing is wrong. `source` is what was checked: copies of
    /// the superblock are looked for in it.
    fn advice(&self, source: &dyn BlockSource, report: &Report, target: &Target) -> Vec<Step>;
}

/// Recognises the superblock of one format.
type Recognise = fn(&dyn BlockSource) -> Option<Box<dyn Checker>>;

/// The formats.
const FORMATS: [Recognise; 3] = [ext4::recognise, ocfs2::recognise, xfs::recognise];

/// The checker of the filesystem whose superblock the source has; none where no checker knows the format, or the superblock is gone.
/// The first superblock of an ext filesystem may be gone and its backups sound: a caller who knows the format uses
/// [`ext4::Checker`] directly.
pub fn for_source(source: &dyn BlockSource) -> Option<Box<dyn Checker>> {
    FORMATS.iter().find_map(|recognise| recognise(source))
}

#[cfg(test)]
mod tests {
    use blockio::Ram;

    use super::*;

    #[test]
    fn the_superblock_chooses_the_checker() {
        assert!(for_source(&Ram::sparse(1 << 20)).is_none());
        assert!(for_source(&Ram::sparse(100)).is_none());
        let image = ext4::oracle::made(&["-t", "ext2"], 1024);
        let checker = for_source(&Ram::new(&image)).unwrap();
        assert_eq!(checker.format(), Family::Ext);
        let report = checker
            .check(&Ram::new(&image), &Options::default(), &Silent)
            .unwrap();
        assert!(report.verdicts.strict.is_clean());
        let names = checker.passes().iter().map(|pass| pass.name);
        assert!(names.eq(report.passes.iter().map(|cost| cost.pass)));
    }
}
