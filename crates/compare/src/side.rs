//! The sides of a comparison: which runs each has, and where runs are found.
//!
//! A side is one word of the command line: run folders, names of runs or folders of runs, separated by commas; or
//! selectors (`commit=abc`, `tag.branch=main`), separated by commas, all of which must hold. Selectors are answered by a
//! [`Source`]. Today that is a folder of runs; a store answers the same question.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use record::Run;

use crate::error::Error;

/// A run of a side.
#[derive(Clone, Debug)]
pub struct SideRun {
    /// Where it came from, in words: its folder.
    pub from: String,
    /// The run.
    pub run: Run,
}

/// One side.
#[derive(Clone, Debug)]
pub struct Side {
    /// As it was named.
    pub name: String,
    /// Its runs, oldest first; at least one.
    pub runs: Vec<SideRun>,
}

/// A property that chosen runs have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// What of a run is asked.
    pub property: Property,
    /// The value it must have.
    pub value: String,
}

/// What a selector asks of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Property {
    /// The study's name.
    Study,
    /// The profile.
    Profile,
    /// Beginning of the kernel's release: `6.1` is every 6.1.x.
    Kernel,
    /// Beginning of the commit of fslab, or the tag `commit`.
    Commit,
    /// Beginning of the run's id.
    Id,
    /// Processor model of the machine.
    Machine,
    /// A tag.
    Tag(String),
}

impl Selector {
    /// Reads `NAME=VALUE`. None: it is not written as a selector.
    ///
    /// # Errors
    /// A name that is no property of runs.
    pub fn parse(text: &str) -> Option<Result<Selector, Error>> {
        let (name, value) = text.split_once('=')?;
        let property = match name {
            "study" => Property::Study,
            "profile" => Property::Profile,
            "kernel" => Property::Kernel,
            "commit" => Property::Commit,
            "id" => Property::Id,
            "machine" => Property::Machine,
            _ => match name.strip_prefix("tag.") {
                Some(tag) if !tag.is_empty() => Property::Tag(tag.to_owned()),
                _ => return Some(Err(Error::Selector(text.to_owned()))),
            },
        };
        let value = value.to_owned();
        Some(Ok(Selector { property, value }))
    }

    /// Whether a run has it.
    pub fn holds(&self, run: &Run) -> bool {
        let value = self.value.as_str();
        match &self.property {
            Property::Study => run.plan.study == value,
            Property::Profile => run.plan.profile == value,
            Property::Kernel => crate::context::kernel(run).is_some_and(|k| is_series(&k, value)),
            Property::Commit => {
                let commits = run.tags.get("commit").map(String::as_str).into_iter();
                commits
                    .chain(run.commit())
                    .any(|commit| commit.starts_with(value))
            }
            Property::Id => run.id.starts_with(value),
            Property::Machine => crate::context::machine(run).as_deref() == Some(value),
            Property::Tag(name) => run.tags.get(name).is_some_and(|tag| tag == value),
        }
    }
}

/// Whether a release belongs to a series: `6.1` is `6.1.9-amd64` and not `6.12.0`.
fn is_series(release: &str, series: &str) -> bool {
    let rest = release.strip_prefix(series);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Where runs are looked for by their properties.
pub trait Source {
    /// The runs that have all of them, oldest first.
    ///
    /// # Errors
    /// Runs that cannot be read.
    fn select(&self, selectors: &[Selector]) -> Result<Vec<SideRun>, Error>;

    /// What it is, for messages: `the runs in fslab-runs`.
    fn describe(&self) -> String;
}

/// The runs below a folder. Runs that are not whole are left out, as are damaged ones.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The folder.
    pub dir: PathBuf,
}

impl Folder {
    /// Every whole run below it, oldest first.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn runs(&self) -> Result<Vec<SideRun>, Error> {
        let mut runs = Vec::new();
        for listing in record::list(&self.dir)? {
            if listing.state == record::State::Whole {
                runs.push(load(&listing.dir)?);
            }
        }
        Ok(runs)
    }
}

impl Source for Folder {
    fn select(&self, selectors: &[Selector]) -> Result<Vec<SideRun>, Error> {
        let mut runs = self.runs()?;
        runs.retain(|one| selectors.iter().all(|selector| selector.holds(&one.run)));
        Ok(runs)
    }

    fn describe(&self) -> String {
        format!(
            "the whole runs in {}",
            words::printable(&self.dir.to_string_lossy())
        )
    }
}

fn load(dir: &Path) -> Result<SideRun, Error> {
    Ok(SideRun {
        from: words::printable(&dir.to_string_lossy()).into_owned(),
        run: Run::load(dir)?,
    })
}

impl Side {
    /// Finds the runs that a word of the command line names. `folder` has runs that are named without a path.
    ///
    /// # Errors
    /// Nothing found, a run that cannot be read, a mixture of runs and selectors.
    pub fn find(word: &str, folder: &Path, source: &dyn Source) -> Result<Side, Error> {
        let name = words::printable(word).into_owned();
        let parts: Vec<&str> = word
            .split(',')
            .map(str::trim)
            .filter(|p| !p.is_empty())
            .collect();
        let is_path = |part: &str| Path::new(part).exists();
        let selectors: Vec<Selector> = parts
            .iter()
            .filter(|part| !is_path(part))
            .filter_map(|part| Selector::parse(part))
            .collect::<Result<_, _>>()?;
        let mut runs = if selectors.is_empty() {
            let mut runs = Vec::new();
            for part in &parts {
                runs.extend(named(part, folder)?);
            }
            runs
        } else if selectors.len() == parts.len() {
            source.select(&selectors)?
        } else {
            return Err(Error::Mixed(name));
        };
        let mut seen = BTreeSet::new();
        runs.retain(|one| seen.insert(one.run.id.clone()));
        runs.sort_by(|a, b| (a.run.started_at, &a.run.id).cmp(&(b.run.started_at, &b.run.id)));
        if runs.is_empty() {
            let place = if selectors.is_empty() {
                "the folder".to_owned()
            } else {
                source.describe()
            };
            return Err(Error::NoRuns { side: name, place });
        }
        Ok(Side { name, runs })
    }

    /// Whether its verdicts rest on one run alone.
    pub fn is_one_run(&self) -> bool {
        self.runs.len() == 1
    }
}

/// The run of that folder or name, or the whole runs of a folder of runs.
fn named(part: &str, folder: &Path) -> Result<Vec<SideRun>, Error> {
    let dir = record::folder::meant(PathBuf::from(part), folder);
    let is_run = dir.join(record::folder::EVENTS).symlink_metadata().is_ok();
    if dir.is_dir() && !is_run {
        return Folder { dir }.runs();
    }
    Ok(vec![load(&dir)?])
}

/// Refuses a run that is on two sides: it is equal to itself.
///
/// # Errors
/// [`Error::OnBothSides`].
pub fn disjoint(sides: &[Side]) -> Result<(), Error> {
    let mut owners: BTreeMap<&str, &Side> = BTreeMap::new();
    for side in sides {
        for one in &side.runs {
            if let Some(other) = owners.insert(&one.run.id, side) {
                return Err(Error::OnBothSides {
                    run: one.from.clone(),
                    sides: [other.name.clone(), side.name.clone()],
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read() {
        let of = |text| Selector::parse(text).map(|found| found.map(|s| s.property));
        assert!(of("fslab-runs/a").is_none());
        assert_eq!(of("kernel=6.1").unwrap().unwrap(), Property::Kernel);
        assert_eq!(
            of("tag.a.b=x").unwrap().unwrap(),
            Property::Tag("a.b".into())
        );
        let message = of("kernal=6.1").unwrap().unwrap_err().to_string();
        assert!(
            message.contains("kernal=6.1") && message.contains("tag.NAME"),
            "{message}"
        );
    }

    #[test]
    fn a_series_is_not_a_longer_number() {
        assert!(is_series("6.1.90-amd64", "6.1"));
        assert!(is_series("6.1", "6.1"));
        assert!(!is_series("6.12.0", "6.1"));
    }

    #[test]
    fn properties_of_a_run() {
        let mut run = fixtures::simulated::Simulated::new(1, vec![vec![1000.0; 2]]).run();
        run.tags.insert("branch".into(), "main".into());
        let holds = |text: &str| Selector::parse(text).unwrap().unwrap().holds(&run);
        assert!(holds("study=mailserver") && !holds("study=other"));
        assert!(holds("tag.branch=main") && !holds("tag.branch=x") && !holds("tag.other=main"));
        assert!(holds("commit=0123456") && !holds("commit=fff"));
        assert!(holds("kernel=6.12") && !holds("kernel=6.1"));
        assert!(holds(&format!("id={}", &run.id[..8])));
    }
}
