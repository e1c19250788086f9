//! What is known of the ranks of a launch, from their signs: who is there, how far each is, who failed.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use workload::Error;
use workload::group::Stage;

use crate::outcome::death;
use crate::protocol::{Process, Sign};
use crate::{identity, shared_memory};

/// Lines of the launcher that are kept.
const NOTES: usize = 200;

/// A failure that a rank reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    rank: Option<u32>,
    node: String,
    message: String,
    pub(crate) usage: bool,
}

/// The ranks of a launch so far.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Processes that have begun.
    pub(crate) processes: Vec<Process>,
    /// Files of shared memory that ranks of this machine have.
    pub(crate) segments: Vec<PathBuf>,
    /// Rank and node by process number.
    ranks: BTreeMap<u32, (u32, String)>,
    /// Phases in their order.
    phases: Vec<String>,
    /// Place of its phase, stage and work of each rank.
    at: BTreeMap<u32, (usize, bool, u64)>,
    pub(crate) failed: Option<Failed>,
    notes: VecDeque<String>,
}

impl Watch {
    /// Whether it is a rank of this machine. Other nodes have the same numbers.
    fn is_here(&self, pid: u32) -> bool {
        let boot = identity::boot();
        let mut known = self.processes.iter().filter(|known| known.pid == pid);
        known.any(|known| known.boot == boot && identity::is_alive(known))
    }

    /// Takes a sign. The result is whether it is news, and how much more work was done.
    pub(crate) fn take(&mut self, sign: Sign) -> u64 {
        match sign {
            Sign::Begun(process) => self.processes.push(process),
            Sign::Is { rank, pid, node } => {
                if self.is_here(pid) {
                    self.segments.extend(shared_memory::mapped(pid));
                }
                self.ranks.insert(pid, (rank, node));
            }
            Sign::At {
                rank,
                phase,
                stage,
                done,
            } => {
                let known = self.phases.iter().position(|known| *known == phase);
                let place = known.unwrap_or_else(|| {
                    self.phases.push(phase);
                    self.phases.len() - 1
                });
                let now = (place, stage == Stage::Waits, done);
                let before = self.at.insert(rank, now).map_or(0, |(.., done)| done);
                return done.saturating_sub(before);
            }
            Sign::Failed {
                rank,
                node,
                message,
                usage,
            } => {
                // The first is the cause; what follows is what the others make of it.
                self.failed.get_or_insert(Failed {
                    rank,
                    node,
                    message,
                    usage,
                });
            }
        }
        0
    }

    /// Keeps a line of the launcher.
    pub(crate) fn note(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if self.notes.len() == NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(line.trim_end().to_owned());
    }

    fn node(&self, rank: u32) -> String {
        let found = self.ranks.values().find(|(known, _)| *known == rank);
        found.map_or_else(|| "an unknown node".into(), |(_, node)| node.clone())
    }

    /// Nothing was done for so long: the rank that is least far, of all that there should be.
    pub(crate) fn stalled(&self, ranks: u32, patience: Duration) -> Error {
        let seconds = patience.as_secs();
        let known = |rank: &u32| self.ranks.values().any(|(known, _)| known == rank);
        if let Some(missing) = (0..ranks).find(|rank| !known(rank)) {
            return Error::Launcher {
                reason: format!(
                    "rank {missing} of {ranks} has not begun after {seconds} s; look at its node and at the launcher's options"
                ),
            };
        }
        let least = (0..ranks).min_by_key(|rank| {
            let at = self.at.get(rank);
            at.map(|(place, waits, done)| (*place, *waits, *done))
        });
        let rank = least.unwrap_or_default();
        let phase = self
            .at
            .get(&rank)
            .and_then(|(place, ..)| self.phases.get(*place));
        Error::Rank {
            rank,
            node: self.node(rank),
            reason: format!(
                "no progress for {seconds} s in {}: stopped, or its node hangs; all ranks were ended",
                phase.map_or("no phase yet", String::as_str)
            ),
        }
    }

    /// Why a launch ended without a result.
    pub(crate) fn verdict(&self, command: &str, status: Option<ExitStatus>) -> Error {
        if let Some(failed) = &self.failed {
            return match failed.rank {
                Some(rank) => Error::Rank {
                    rank,
                    node: failed.node.clone(),
                    reason: failed.message.clone(),
                },
                None => Error::Launcher {
                    reason: format!("{}: {}", failed.node, failed.message),
                },
            };
        }
        let notes: Vec<String> = self.notes.iter().cloned().collect();
        if let Some(death) = death(&notes) {
            let of_process = death.pid.and_then(|pid| self.ranks.get(&pid));
            let rank = death.rank.or(of_process.map(|(rank, _)| *rank));
            if let Some(rank) = rank {
                return Error::Rank {
                    rank,
                    node: self.node(rank),
                    reason: format!(
                        "ended by {}; its kernel's log (dmesg) may say why",
                        death.how
                    ),
                };
            }
        }
        let last = notes
            .iter()
            .rev()
            .find(|line| line.chars().any(char::is_alphanumeric));
        let last = last.map_or_else(String::new, |line| format!("; it printed: {line}"));
        let how = status.map_or_else(|| "was lost".into(), ended);
        Error::Launcher {
            reason: format!("{command} {how} before the result{last}"),
        }
    }
}

/// `ended with code 3`, `was ended by signal 9`.
fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rank: u32, phase: &str, stage: Stage, done: u64) -> Sign {
        Sign::At {
            rank,
            phase: phase.into(),
            stage,
            done,
        }
    }

    fn three() -> Watch {
        let mut watch = Watch::default();
        for rank in 0..3 {
            watch.take(Sign::Is {
                rank,
                pid: 100 + rank,
                node: format!("n{rank}"),
            });
        }
        watch
    }

    #[test]
    fn the_rank_that_is_least_far_is_named() {
        let mut watch = three();
        let patience = Duration::from_secs(60);
        for rank in 0..3 {
            watch.take(at(rank, "write", Stage::Works, 0));
        }
        assert_eq!(watch.take(at(0, "write", Stage::Waits, 70)), 70);
        watch.take(at(2, "write", Stage::Waits, 60));
        let message = watch.stalled(3, patience).to_string();
        assert!(
            message.starts_with("rank 1 on n1: no progress for 60 s in write"),
            "{message}"
        );
        // It went on, and another stays away from the next phase.
        watch.take(at(1, "write", Stage::Waits, 70));
        watch.take(at(1, "read", Stage::Works, 70));
        watch.take(at(0, "read", Stage::Works, 70));
        let message = watch.stalled(3, patience).to_string();
        assert!(message.starts_with("rank 2 on n2"), "{message}");
        let message = watch.stalled(4, patience).to_string();
        assert!(
            message.starts_with("rank 3 of 4 has not begun"),
            "{message}"
        );
    }

    #[test]
    fn a_death_is_the_rank_of_its_process() {
        let mut watch = three();
        watch.note("=   PID 102 RUNNING AT n2");
        watch.note("=   EXIT CODE: 9");
        let message = watch.verdict("mpirun", None).to_string();
        assert!(
            message.starts_with("rank 2 on n2: ended by code 9"),
            "{message}"
        );
        let mut watch = three();
        watch.note("mpirun was unable to find a node");
        let message = watch.verdict("mpirun", None).to_string();
        assert!(message.contains("unable to find a node"), "{message}");
        watch.take(Sign::Failed {
            rank: Some(1),
            node: "n1".into(),
            message: "cannot open /x".into(),
            usage: false,
        });
        let message = watch.verdict("mpirun", None).to_string();
        assert_eq!(message, "rank 1 on n1: cannot open /x");
    }
}
