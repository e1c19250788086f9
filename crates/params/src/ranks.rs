//! Ranks: processes of MPI that run a workload together.
//!
//! Two workloads are made of ranks, [`crate::shared`] and [`crate::metadata`]. Of the others those can run on ranks whose phases each are one
//! piece of time: every rank runs the whole workload in a folder of its own, and all begin each phase together. `tree` and `age` go back and
//! forth between their phases, so that no moment belongs to one phase of all ranks; `scan` reads a device, not a directory.

use crate::WorkloadSpec;

/// Most ranks of a trial.
pub const MOST_RANKS: u32 = 1 << 20;

/// Why a workload does not run on ranks, and which do.
pub const OTHERS: &str = "does not run on ranks (its phases are not in one piece, or it has no directory); shared, metadata, \
                          throughput, stream, fill and mix do";

impl WorkloadSpec {
    /// Ranks that it asks for; none: it does not run on ranks.
    pub const fn ranks(&self) -> Option<u32> {
        match self {
            WorkloadSpec::Throughput(spec) => Some(spec.ranks),
            WorkloadSpec::Stream(spec) => Some(spec.ranks),
            WorkloadSpec::Fill(spec) => Some(spec.ranks),
            WorkloadSpec::Mix(spec) => Some(spec.ranks),
            WorkloadSpec::Shared(spec) => Some(spec.ranks),
            WorkloadSpec::Metadata(spec) => Some(spec.ranks),
            WorkloadSpec::Tree(_)
            | WorkloadSpec::Age(_)
            | WorkloadSpec::Scan(_)
            | WorkloadSpec::Foreign(_) => None,
        }
    }

    /// Ranks that have to be processes: each runs the whole workload.
    pub fn copies(&self) -> u32 {
        match self {
            WorkloadSpec::Shared(_) | WorkloadSpec::Metadata(_) => 1,
            _ => self.ranks().unwrap_or(1),
        }
    }
}

/// Whether a number of ranks is the usual one, which is not written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(crate) const fn is_one(ranks: &u32) -> bool {
    *ranks == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FillSpec, Parameters, SharedSpec, StreamSpec};

    #[test]
    fn copies_multiply_what_a_trial_needs_and_one_is_not_written() {
        let one = StreamSpec::default();
        let four = StreamSpec {
            ranks: 4,
            ..one.clone()
        };
        assert_eq!(four.footprint().written, 4.0 * one.footprint().written);
        assert_eq!(four.footprint().rest, one.footprint().rest);
        let json = |spec: &StreamSpec| serde_json::to_value(spec).unwrap();
        assert_eq!(json(&one).get("ranks"), None);
        assert_eq!(json(&four)["ranks"], 4);
        let fill = |ranks| FillSpec {
            ranks,
            ..FillSpec::new("/d")
        };
        assert!(fill(0).validate().is_err() && fill(MOST_RANKS).validate().is_ok());
        assert_eq!(fill(3).inodes(), fill(1).inodes().map(|inodes| 3 * inodes));
        assert_eq!(WorkloadSpec::Fill(fill(3)).copies(), 3);
        let shared = SharedSpec {
            ranks: 3,
            ..SharedSpec::default()
        };
        let shared = WorkloadSpec::Shared(shared);
        assert_eq!((shared.copies(), shared.ranks()), (1, Some(3)));
    }
}
