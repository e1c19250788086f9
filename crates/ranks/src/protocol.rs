//! What goes to a launch and what comes back: lines of JSON.
//!
//! The job is one line on standard input, which launchers hand to rank 0. Rank 0 answers on standard output ([`Message`]); lines that do not
//! begin with [`MARK`] are the launcher's or a library's, and are notes. All ranks report on standard error where they are
//! ([`Sign`]), in lines that are short enough never to be cut in two. So no line of rank 0, which may be long, can be torn by another's.

use std::path::{Path, PathBuf};

use params::metadata::Step;
use params::{MetadataSpec, SharedSpec, WorkloadSpec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use workload::group::{Place, Stage};
use workload::{Outcome, PhaseReport};

/// What a line of this protocol begins with: the protocol's version.
pub const MARK: &str = "fslab1 ";
/// The answer to the begin and the end of a phase: counters were read, the ranks may go on.
pub const GO: &str = "go";
/// Longest text of a failure.
pub const LONGEST: usize = 600;

/// What a launch is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The workload; none: report who is there, and end.
    pub workload: Option<WorkloadSpec>,
    /// Where it runs.
    pub dir: PathBuf,
    /// Its seed.
    pub seed: u64,
    /// Whether its files stay.
    pub keep: bool,
    /// Steps of `metadata`.
    pub steps: Vec<Step>,
}

impl Job {
    /// A workload's, with what its parameters do not write.
    pub fn of(spec: &WorkloadSpec) -> Job {
        let (dir, seed, keep, steps) = match spec {
            WorkloadSpec::Shared(SharedSpec {
                dir, seed, keep, ..
            }) => (dir.clone(), *seed, *keep, Vec::new()),
            WorkloadSpec::Metadata(MetadataSpec { dir, steps, .. }) => {
                (dir.clone(), 0, false, steps.clone())
            }
            WorkloadSpec::Throughput(spec) => (spec.dir.clone(), 0, false, Vec::new()),
            WorkloadSpec::Stream(spec) => (spec.dir.clone(), 0, false, Vec::new()),
            WorkloadSpec::Mix(spec) => (spec.dir.clone(), spec.seed, false, Vec::new()),
            // Its base directories are in it.
            WorkloadSpec::Fill(spec) => {
                let base = spec.dirs.first().and_then(|base| base.parent());
                let dir = base.map_or_else(PathBuf::new, Path::to_owned);
                (dir, spec.seed, false, Vec::new())
            }
            _ => (PathBuf::new(), 0, false, Vec::new()),
        };
        Job {
            workload: Some(spec.clone()),
            dir,
            seed,
            keep,
            steps,
        }
    }

    /// Only who is there.
    pub fn nothing() -> Job {
        Job {
            workload: None,
            dir: PathBuf::new(),
            seed: 0,
            keep: false,
            steps: Vec::new(),
        }
    }

    /// The workload as [`Job::of`] got it.
    pub fn placed(&self) -> Option<WorkloadSpec> {
        let mut placed = self.workload.as_ref()?.placed(&self.dir, self.seed);
        match &mut placed {
            WorkloadSpec::Shared(spec) => spec.keep = self.keep,
            WorkloadSpec::Metadata(spec) => spec.steps.clone_from(&self.steps),
            _ => {}
        }
        Some(placed)
    }
}

/// Who is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// The library by its own description.
    pub version: String,
    /// The name it was loaded by.
    pub library: String,
    /// Its ABI.
    pub abi: String,
    /// Where each rank runs.
    pub places: Vec<Place>,
    /// SHA-256 of rank 0's program.
    pub program: String,
    /// Ranks whose program is another.
    pub others: Vec<u32>,
}

impl Ready {
    /// Nodes by name, in the order of their first ranks, with the number of ranks on each.
    pub fn nodes(&self) -> Vec<(&str, u32)> {
        let mut nodes: Vec<(&str, u32)> = Vec::new();
        for place in &self.places {
            match nodes.iter_mut().find(|(node, _)| *node == place.node) {
                Some((_, ranks)) => *ranks += 1,
                None => nodes.push((&place.node, 1)),
            }
        }
        nodes
    }
}

/// A message of rank 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// All ranks are there and agree.
    Ready(Box<Ready>),
    /// A step begins.
    Step(progress::Step),
    /// A phase begins.
    PhaseStarted(String),
    /// A phase has ended.
    PhaseFinished(Box<PhaseReport>),
    /// The workload has ended.
    Finished(Box<Outcome>),
}

impl Message {
    /// Whether rank 0 waits for [`GO`] after it: what the receiver reads of the machine then belongs to the phase, and nothing else.
    pub const fn waits(&self) -> bool {
        matches!(self, Message::PhaseStarted(_) | Message::PhaseFinished(_))
    }
}

/// A sign of any rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// A process has begun; it may not know its rank yet.
    Begun(Process),
    /// It is a rank.
    Is {
        /// The rank.
        rank: u32,
        /// Its process.
        pid: u32,
        /// Its node.
        node: String,
    },
    /// A rank has come to a stage of a phase, or further in it.
    At {
        /// The rank.
        rank: u32,
        /// The phase.
        phase: String,
        /// The stage.
        stage: Stage,
        /// All work that it has done, in the unit of the step.
        done: u64,
    },
    /// A rank failed, and with it all.
    Failed {
        /// The rank; none: it is not known yet.
        rank: Option<u32>,
        /// Its node.
        node: String,
        /// What failed.
        message: String,
        /// Whether the launch could not begin: library and launcher do not fit, programs differ.
        usage: bool,
    },
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it began, in ticks since its kernel's boot: with the number, its identity.
    pub began: u64,
    /// Its kernel's boot.
    pub boot: String,
}

/// A line of the protocol.
pub fn line<T: Serialize>(message: &T) -> String {
    let json = serde_json::to_string(message).unwrap_or_default();
    format!("{MARK}{json}\n")
}

/// What a line says; none: it is a note.
pub fn read<T: DeserializeOwned>(line: &str) -> Option<T> {
    // A launcher may put a tag before what a rank prints.
    let at = line.find(MARK)?;
    serde_json::from_str(line[at + MARK.len()..].trim_end()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_comes_back_with_what_a_study_cannot_set() {
        let shared = WorkloadSpec::Shared(SharedSpec {
            seed: 9,
            keep: true,
            ranks: 3,
            ..SharedSpec::new("/d")
        });
        let metadata = WorkloadSpec::Metadata(MetadataSpec {
            steps: vec![Step::Stat],
            ..MetadataSpec::new("/d")
        });
        let fill = WorkloadSpec::Fill(params::FillSpec {
            ranks: 3,
            ..params::FillSpec::default()
        });
        let stream = WorkloadSpec::Stream(params::StreamSpec {
            ranks: 2,
            ..params::StreamSpec::default()
        });
        let placed = [
            fill.placed("/d".as_ref(), 9),
            stream.placed("/d".as_ref(), 9),
        ];
        for spec in [shared, metadata].into_iter().chain(placed) {
            let text = line(&Job::of(&spec));
            assert!(text.ends_with('\n') && !text[..text.len() - 1].contains('\n'));
            let job: Job = read(&text).unwrap();
            assert_eq!(job.placed().unwrap(), spec);
        }
        assert_eq!(Job::nothing().placed(), None);
    }

    proptest::proptest! {
        #[test]
        fn any_other_line_is_a_note(text in "\\PC{0,80}") {
            proptest::prop_assert_eq!(read::<Message>(&text), None);
            proptest::prop_assert_eq!(read::<Sign>(&format!("{MARK}{text}")), None);
        }
    }
}
