//! The command that starts ranks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::launch;
use crate::protocol::{Job, Ready};

/// Least time without progress after which ranks count as hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A launcher, as a study or the command line names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launcher {
    /// Its words; `{ranks}`, `{nodes}` and `{per_node}` stand for numbers.
    pub command: Vec<String>,
    /// The MPI library; none: the one that fits the launcher.
    pub library: Option<String>,
    /// Nodes that it spreads the ranks over, for `{nodes}` and `{per_node}`.
    pub nodes: u32,
    /// Time without progress after which the ranks of a launch are ended.
    pub patience: Duration,
}

/// A launch that cannot be: nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Default for Launcher {
    fn default() -> Launcher {
        Launcher {
            command: ["mpirun", "-np", "{ranks}"].map(str::to_owned).into(),
            library: None,
            nodes: 1,
            patience: PATIENCE,
        }
    }
}

impl Launcher {
    /// From one line, as a command line gives it: words between blanks.
    pub fn of_line(line: &str) -> Launcher {
        Launcher {
            command: line.split_whitespace().map(str::to_owned).collect(),
            ..Launcher::default()
        }
    }

    /// Its words for a number of ranks.
    pub fn words(&self, ranks: u32) -> Vec<String> {
        let nodes = self.nodes.clamp(1, ranks.max(1));
        let numbers = [
            ("{ranks}", ranks),
            ("{nodes}", nodes),
            ("{per_node}", ranks.div_ceil(nodes)),
        ];
        let filled = |word: &String| {
            numbers.iter().fold(word.clone(), |word, (name, number)| {
                word.replace(name, &number.to_string())
            })
        };
        self.command.iter().map(filled).collect()
    }

    /// Starts a number of ranks that do nothing and returns who they are.
    ///
    /// # Errors
    /// A static program; no launcher or no library; a library that is not the launcher's; another program on a node.
    pub fn check(&self, ranks: u32) -> Result<Ready, Refusal> {
        if let Some(why) = crate::cannot_load() {
            return Err(Refusal(why.into()));
        }
        if self.command.is_empty() {
            return Err(Refusal(
                "the launcher is empty; as in --launcher \"mpirun -np {ranks}\"".into(),
            ));
        }
        let places = self.command.iter().any(|word| word.contains("{ranks}"));
        if !places {
            return Err(Refusal(format!(
                "the launcher {:?} has no {{ranks}}, which is where the number of ranks goes",
                self.command.join(" ")
            )));
        }
        let mut ready = None;
        let mut take = |message| {
            if let crate::protocol::Message::Ready(found) = message {
                ready = Some(*found);
            }
        };
        let launched = launch::follow(self, ranks, &Job::nothing(), &progress::Silent, &mut take);
        launched.map_err(|error| Refusal(error.to_string()))?;
        ready.ok_or_else(|| Refusal(format!("{}: no rank reported", self.command.join(" "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_their_places() {
        let launcher = Launcher {
            nodes: 2,
            ..Launcher::of_line("srun -N{nodes} --ntasks={ranks} --ntasks-per-node={per_node}")
        };
        assert_eq!(
            launcher.words(5),
            ["srun", "-N2", "--ntasks=5", "--ntasks-per-node=3"]
        );
        assert_eq!(launcher.words(1)[1], "-N1");
    }

    #[test]
    fn what_cannot_start_is_refused() {
        let refused = |line: &str| Launcher::of_line(line).check(2).unwrap_err().to_string();
        assert!(refused("").contains("launcher is empty"));
        assert!(refused("mpirun -np 2").contains("no {ranks}"));
        assert!(refused("/nowhere/mpirun -np {ranks}").contains("/nowhere/mpirun"));
    }
}
