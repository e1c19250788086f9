//! The files of a cell as the profile of a forge.

use std::collections::BTreeMap;

use forge::ocfs2;
use forge::population::{Distribution, Profile};
use study::{Cell, FillSpec, Population, WorkloadSpec};
use workload::age::{AgeSpec, census};

use super::SEED;

/// The population of a cell.
pub(super) fn profile(cell: &Cell) -> Result<Profile, String> {
    match &cell.workload {
        WorkloadSpec::Scan(spec) if spec.population == Population::Paper2011 => {
            let preset = ocfs2::paper_2011().map_err(|error| error.to_string())?;
            Ok(Profile {
                files: spec.files,
                seed: SEED,
                ..preset
            })
        }
        WorkloadSpec::Scan(spec) => Ok(Profile {
            files: spec.files,
            per_directory: Distribution::fixed(spec.per_directory),
            file_size: Distribution::fixed(spec.size.get()),
            seed: SEED,
            ..Profile::default()
        }),
        WorkloadSpec::Fill(fill) => {
            let (files, per_directory) = of_fill(fill);
            let mut profile = named(fill);
            profile.files = files;
            profile.per_directory = Distribution::fixed(per_directory);
            Ok(profile)
        }
        WorkloadSpec::Age(age) => aged(age),
        other => Err(format!(
            "the files of a workload of kind \"{}\" cannot be forged; set volume = \"filled\"",
            other.kind()
        )),
    }
}

/// Files of a fill in all, and in each of the directories that its processes share.
pub(super) fn of_fill(fill: &FillSpec) -> (u64, u64) {
    let shares = u64::from(fill.processes) * u64::from(fill.iterations);
    let files = fill.files.saturating_mul(shares);
    let directories = u64::from(fill.directories).max(1);
    (files, files.div_ceil(directories))
}

/// Names as long as fs_mark's, all directories in one.
fn named(fill: &FillSpec) -> Profile {
    let mut profile = Profile {
        file_size: Distribution::fixed(fill.size.get()),
        seed: SEED,
        ..Profile::default()
    };
    profile.names.length = Distribution::fixed(fill.name_length.into());
    profile.directories.fan_out = fill.directories.max(1);
    profile
}

/// What the rounds of an ageing leave: as many files and directories, with as many files in each. Which directory is inside which, and in which
/// order the inodes were made, is not kept: a directory's inodes follow each other, and no chunk of them has free ones.
fn aged(age: &AgeSpec) -> Result<Profile, String> {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for files in census(age) {
        *sizes.entry(files).or_default() += 1;
    }
    let steps: Vec<(u64, u64, f64)> = sizes
        .iter()
        .map(|(files, directories)| (*files, *files, *directories as f64))
        .collect();
    let mut profile = named(&age.fill());
    profile.files = sizes.iter().map(|(files, count)| files * count).sum();
    profile.per_directory = Distribution::steps(&steps)?;
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ageing_is_as_many_files_in_as_many_directories() {
        let age = AgeSpec {
            files: 2800,
            directories: 140,
            per_directory: 20,
            step: 14,
            ..AgeSpec::default()
        };
        let directories = census(&age);
        let profile = aged(&age).unwrap();
        assert_eq!(profile.files, directories.iter().sum::<u64>());
        let mean = profile.files as f64 / directories.len() as f64;
        assert!((profile.per_directory.mean() / mean - 1.0).abs() < 1e-6);
        assert_eq!(profile.names.length.only(), Some(40));
    }
}
