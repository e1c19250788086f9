//! compilebench's closing block, as it prints it.

use std::fmt::Write;

use super::sequence::Row;
use crate::Outcome;

/// The original's label of a row, with its spelling.
const fn label(row: Row) -> &'static str {
    match row {
        Row::InitialCreate => "intial create",
        Row::Create => "create",
        Row::Patch => "patch",
        Row::Compile => "compile",
        Row::Clean => "clean",
        Row::ReadTree => "read tree",
        Row::ReadCompiledTree => "read compiled tree",
        Row::DeleteTree => "delete tree",
        Row::DeleteCompiledTree => "delete compiled tree",
        Row::StatTree => "stat tree",
        Row::StatCompiledTree => "stat compiled tree",
    }
}

/// The block that the original prints at its end. Rates are its arithmetic means of the runs' rates
/// under clock (a), in MB of 2^20 bytes a second; deletes and stats are in seconds.
pub fn compilebench_text(outcome: &Outcome) -> String {
    let mut text = format!("\nrun complete:\n{}\n", "=".repeat(74));
    for row in Row::ALL {
        let phase = outcome.phases.iter().find(|p| p.name == row.phase());
        let Some(phase) = phase.filter(|p| p.operations > 0) else {
            let _ = writeln!(text, "no runs for {}", label(row));
            continue;
        };
        let figure = |name: &str| phase.figures.get(name).copied().unwrap_or(0.0);
        let (average, unit) = if row.in_seconds() {
            (figure("mean_seconds"), "seconds")
        } else {
            (figure("mean_mib_per_s"), "MB/s")
        };
        let (user, system) = (figure("mean_user_seconds"), figure("mean_system_seconds"));
        let _ = writeln!(
            text,
            "{} total runs {} avg {average:.2} {unit} (user {user:.2}s sys {system:.2}s)",
            label(row),
            phase.operations,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PhaseReport;

    #[test]
    fn the_block_is_compilebenchs() {
        let phase = |row: Row, runs: u64, figure: &str, average: f64| PhaseReport {
            name: row.phase().into(),
            operations: runs,
            figures: [
                (figure.to_owned(), average),
                ("mean_user_seconds".to_owned(), 0.633),
                ("mean_system_seconds".to_owned(), 0.851),
            ]
            .into(),
            ..PhaseReport::default()
        };
        let outcome = Outcome {
            phases: vec![
                phase(Row::InitialCreate, 10, "mean_mib_per_s", 57.899),
                phase(Row::Create, 5, "mean_mib_per_s", 13.0),
                phase(Row::Patch, 4, "mean_mib_per_s", 7.3),
                phase(Row::Compile, 7, "mean_mib_per_s", 14.25),
                phase(Row::Clean, 4, "mean_mib_per_s", 576.334),
                phase(Row::ReadTree, 2, "mean_mib_per_s", 10.05),
                phase(Row::ReadCompiledTree, 1, "mean_mib_per_s", 22.134),
                phase(Row::DeleteTree, 2, "mean_seconds", 6.504),
                PhaseReport {
                    name: Row::DeleteCompiledTree.phase().into(),
                    ..PhaseReport::default()
                },
                phase(Row::StatTree, 4, "mean_seconds", 5.2),
                phase(Row::StatCompiledTree, 1, "mean_seconds", 7.0),
            ],
            ..Outcome::default()
        };
        insta::assert_snapshot!(compilebench_text(&outcome));
    }

    #[test]
    fn an_empty_outcome_has_no_runs_at_all() {
        let text = compilebench_text(&Outcome::default());
        assert_eq!(text.matches("no runs for ").count(), 11);
    }
}
