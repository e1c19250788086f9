//! A workload's parameters with the levels of a cell, and those that follow from others.
//!
//! Some parameters determine others: a fill that keeps its bytes constant while its files
//! vary has a size for each number of files, and as many directories as hold them. Writing them out
//! as factors and excluding what does not belong together is possible (the paper's own parameters
//! are written in this way); `total_files`, `fill_share` and a `per_directory` without `directories` state the
//! rule instead. It is applied here, so that a cell carries plain numbers and nothing is left to
//! decide when it runs.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::error::{Origin, Problem};
use crate::factor::Level;
use crate::model::{FillSpec, WorkloadSpec};
use crate::node::{Node, Table};
use crate::placed::Placed;
use crate::units::Bytes;
use params::fill::MOST_DIRECTORIES;

/// A workload's parameters with these levels, and where each was written.
pub(crate) fn parameters(
    kind: &str,
    entry: &Node,
    own: &[(&str, &Level)],
) -> Result<(WorkloadSpec, BTreeMap<String, Origin>), Problem> {
    let mut json = Map::new();
    let mut places = BTreeMap::new();
    let written = entry.as_table().into_iter().flat_map(Table::iter);
    let written = written.filter(|(key, _)| !["name", "kind", "factors"].contains(key));
    let levels = own.iter().map(|(name, level)| (*name, &level.node));
    for (key, node) in written.chain(levels) {
        json.insert(key.to_owned(), node.to_json());
        places.insert(key.to_owned(), node.at.clone());
    }
    json.insert("kind".into(), kind.into());
    let spec = serde_json::from_value(Json::Object(json))
        .map_err(|error| Problem::new(&entry.at, error.to_string()))?;
    Ok((spec, places))
}

/// Derives a fill's `files`, `size` and `directories`.
pub(crate) fn fill(placed: &mut Placed, target: Option<Bytes>) -> Result<(), Problem> {
    let device = target.unwrap_or(placed.cell.device.size);
    let varied = |key: &str| placed.cell.levels.contains_key(key);
    let WorkloadSpec::Fill(spec) = &placed.cell.workload else {
        return Ok(());
    };
    for (law, derived) in [("total_files", "files"), ("fill_share", "size")] {
        let used = match law {
            "total_files" => spec.total_files.is_some(),
            _ => spec.fill_share.is_some(),
        };
        if used && varied(derived) {
            let message =
                format!("this sets {derived}, which is a factor here (remove one of them)");
            return Err(Problem::new(placed.place(law), message));
        }
        // A profile's law overrides a value of the study; a value of the command line would be lost.
        let asked = placed.place(derived);
        if used && asked.is_argument() {
            let message = format!(
                "{law} sets {derived} here, so this value would be ignored (set {law} instead)"
            );
            return Err(Problem::new(asked, message));
        }
    }
    let mut spec = spec.clone();
    if let Err((parameter, message)) = follow(&mut spec, device) {
        return Err(Problem::new(placed.place(parameter), message));
    }
    placed.cell.workload = WorkloadSpec::Fill(spec);
    Ok(())
}

fn follow(spec: &mut FillSpec, device: Bytes) -> Result<(), (&'static str, String)> {
    let shares = u64::from(spec.processes) * u64::from(spec.iterations);
    if let Some(total) = spec.total_files {
        if total % shares != 0 || total == 0 {
            let near = total.next_multiple_of(shares).max(shares);
            let message = format!(
                "{total} is not a multiple of {shares}, processes x iterations (as in {near})"
            );
            return Err(("total_files", message));
        }
        spec.files = total / shares;
    }
    if spec.per_directory > 0 && spec.directories == 0 {
        let needed = spec.files.div_ceil(spec.per_directory).max(2);
        spec.directories = match u32::try_from(needed) {
            Ok(count) if count <= MOST_DIRECTORIES => count,
            _ => {
                let message = format!(
                    "{needed} subdirectories are too many (at most {MOST_DIRECTORIES}: more files \
                     in each)"
                );
                return Err(("per_directory", message));
            }
        };
    }
    if let Some(share) = spec.fill_share {
        let files = spec.files.saturating_mul(shares).max(1);
        let bytes = (device.get() as f64 * share) as u64;
        spec.size = Bytes((bytes / files).max(1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(spec: FillSpec, device: u64) -> Result<FillSpec, (&'static str, String)> {
        let mut spec = spec;
        follow(&mut spec, Bytes(device)).map(|()| spec)
    }

    #[test]
    fn the_2012_fill_follows_from_its_total_and_its_device() {
        // fs_mark -s 400000 -n 35000000 -D 35000 -N 1000 -t 3 on 84 TB, half full.
        let spec = FillSpec {
            total_files: Some(105_000_000),
            processes: 3,
            per_directory: 1000,
            fill_share: Some(0.5),
            ..FillSpec::default()
        };
        let spec = followed(spec, 84_000_000_000_000).unwrap();
        assert_eq!((spec.files, spec.directories), (35_000_000, 35_000));
        assert_eq!(spec.size, Bytes(400_000));
    }

    #[test]
    fn shares_round_down_and_keep_a_byte() {
        let spec = |files, share| FillSpec {
            files,
            fill_share: Some(share),
            ..FillSpec::default()
        };
        assert_eq!(followed(spec(3, 0.5), 100).unwrap().size, Bytes(16));
        assert_eq!(followed(spec(1000, 0.5), 100).unwrap().size, Bytes(1));
        let none = FillSpec::default();
        assert_eq!(followed(none.clone(), 100).unwrap(), none);
    }

    #[test]
    fn a_total_that_does_not_divide_is_refused_with_one_that_does() {
        let spec = FillSpec {
            total_files: Some(100),
            processes: 3,
            iterations: 2,
            ..FillSpec::default()
        };
        let (parameter, message) = followed(spec, 1 << 30).unwrap_err();
        assert_eq!(parameter, "total_files");
        assert!(message.ends_with("(as in 102)"), "{message}");
    }

    #[test]
    fn few_files_still_have_two_directories() {
        let spec = |files| FillSpec {
            files,
            per_directory: 1000,
            ..FillSpec::default()
        };
        let directories = |files| followed(spec(files), 1 << 30).unwrap().directories;
        assert_eq!([1, 1001, 2001].map(directories), [2, 2, 3]);
        assert!(followed(spec(u64::MAX), 1 << 30).is_err());
    }
}
