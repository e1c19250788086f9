//! What was measured until a filesystem was full: no result, but not to be lost either.
//!
//! A trial that ends for want of space counts as failed, with its message. The phases that it broke
//! off are in the log all the same, with what they had done until then, because a reader who asks how far
//! it came or where its files slowed down has nothing else to look at.

use workload::{Error, Evidence, PhaseReport};

/// The phases that the error ended, as far as they came. `fill` and `age` give reports of their own;
/// of a phase that streams it is known how many bytes it had written, and of its time only that it
/// ends now, so that `seconds` is left to the caller.
pub(crate) fn reports(error: &Error) -> Vec<PhaseReport> {
    match error {
        Error::Full { partial, .. } => partial.phases.clone(),
        Error::NoSpace {
            phase,
            written,
            asked,
            ..
        } => vec![PhaseReport {
            name: phase.clone(),
            bytes_asked: *asked,
            bytes: *written,
            bytes_transferred: *written,
            evidence: vec![Evidence {
                name: "phase_whole".into(),
                holds: Some(false),
                detail: format!("no space left after {written} of {asked} bytes"),
            }],
            ..PhaseReport::default()
        }],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Outcome;

    #[test]
    fn a_full_filesystem_leaves_what_was_measured_and_other_errors_nothing() {
        let stream = reports(&Error::NoSpace {
            phase: "write".into(),
            path: "/mnt/a".into(),
            written: 3,
            asked: 9,
        });
        assert_eq!((stream[0].name.as_str(), stream[0].bytes), ("write", 3));
        assert_eq!(stream[0].evidence[0].holds, Some(false));
        let fill = reports(&Error::Full {
            phase: "fill".into(),
            path: "/mnt/a".into(),
            files: 7,
            partial: Box::new(Outcome {
                phases: vec![PhaseReport {
                    name: "fill".into(),
                    operations: 7,
                    ..PhaseReport::default()
                }],
                ..Outcome::default()
            }),
        });
        assert_eq!(fill[0].operations, 7);
        let other = Error::Interrupted {
            phase: "fill".into(),
        };
        assert!(reports(&other).is_empty());
    }
}
