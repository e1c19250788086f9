//! The script that Slurm runs: an array with an element for each block.

use std::path::Path;

use crate::plan::FleetPlan;

/// The limit of time is the estimate times this.
const SLACK: f64 = 1.5;
/// Minutes that come on top: a node's start, and the end of what runs.
const MINUTES: u64 = 5;

/// The text of `sbatch.sh` for these blocks, with a limit of those that run at once.
pub fn sbatch(
    fleet: &FleetPlan,
    run: &Path,
    program: &Path,
    blocks: &[u32],
    at_once: u32,
) -> String {
    let run = quoted(run);
    let minutes = minutes(fleet);
    format!(
        "#!/bin/sh\n\
         #SBATCH --job-name=fslab-{study}\n\
         #SBATCH --array={array}%{at_once}\n\
         #SBATCH --exclusive\n\
         #SBATCH --requeue\n\
         #SBATCH --open-mode=append\n\
         #SBATCH --export=NIL\n\
         #SBATCH --signal=B:TERM@120\n\
         #SBATCH --time={minutes}\n\
         # What is printed goes to the run's folder, whatever directory the job begins in.\n\
         PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
         export PATH\n\
         cd {run} || exit 1\n\
         # The signal goes to the shell alone, so fslab takes its place.\n\
         exec {program} fleet block {run} \"$SLURM_ARRAY_TASK_ID\"\n",
        study = fleet.plan.study,
        array = ranges(blocks),
        program = quoted(program),
    )
}

/// Minutes that a block may take.
fn minutes(fleet: &FleetPlan) -> u64 {
    let rates = study::estimate::Rates::default();
    let estimate = study::estimate::estimate(&fleet.plan, rates);
    let block = estimate.seconds / f64::from(fleet.plan.blocks.max(1));
    (SLACK * block / 60.0).ceil() as u64 + MINUTES
}

/// Numbers as Slurm writes them: `0-3,7`.
pub fn ranges(blocks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &block in blocks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == block => *last = block,
            _ => runs.push((block, block)),
        }
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// A path for the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3]), "0-3");
        assert_eq!(ranges(&[0, 2, 3, 7]), "0,2-3,7");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn a_path_cannot_end_its_quotes() {
        assert_eq!(quoted(Path::new("/a'; rm b")), "'/a'\\''; rm b'");
    }
}
