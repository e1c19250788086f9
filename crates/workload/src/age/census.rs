//! What an ageing leaves, computed without a filesystem: for volumes that are written directly.

use super::accounting::{Accounting, Draws};
use super::run::dealt;
use crate::fill::names;
use crate::fill::place::Walk;
use params::AgeSpec;

/// The directories that the rounds of [`super::run()`] leave, with the same seed: the number of files of each.
pub fn census(options: &AgeSpec) -> Vec<u64> {
    let fill = options.fill();
    let prefixes = vec![String::new(); fill.dirs.len()];
    let mut accounting = Accounting::new(prefixes, fill.directories);
    let mut draws = Draws::new(options.seed);
    for round in 1..=options.rounds {
        let walk = Walk::new(&fill, names::seconds(fill.seed, round - 1));
        for process in 0..fill.processes {
            let base = process as usize % fill.dirs.len().max(1);
            for (directory, files) in dealt(&walk, fill.files) {
                accounting.fill(base as u32, directory, files);
            }
        }
        let changed = options.step * round;
        for _ in 0..changed {
            if accounting.strike(&mut draws).is_none() {
                break;
            }
        }
        for (id, _) in accounting.add(changed, &mut draws) {
            accounting.stock(id, options.per_directory);
        }
    }
    accounting.each().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Silent, Workload as _};

    #[test]
    fn it_counts_what_an_ageing_leaves() {
        let dir = tempfile::tempdir().unwrap();
        for shared in [true, false] {
            let options = AgeSpec {
                dir: dir.path().join(format!("aged-{shared}")),
                rounds: 3,
                files: 60,
                processes: 2,
                directories: 12,
                per_directory: 5,
                step: 2,
                shared,
                size: params::Bytes(0),
                ..AgeSpec::default()
            };
            let outcome = options.run(&Silent).unwrap();
            let last = outcome.phases.iter().find(|p| p.name == "age_add").unwrap();
            let census = census(&options);
            assert_eq!(census.iter().sum::<u64>() as f64, last.figures["count"]);
            assert_eq!(census.len() as f64, last.figures["directories"]);
        }
    }

    #[test]
    fn the_procedure_of_2012_leaves_half_of_what_it_wrote() {
        let options = AgeSpec::default();
        let files: u64 = census(&options).iter().sum();
        let made = options.files_made();
        assert!(
            (0.4..0.6).contains(&(files as f64 / made as f64)),
            "{files} of {made}"
        );
    }
}
