//! The sides of a comparison: which runs each has, and where runs are found.
//!
//! A side is one word of the command line: run folders, names of runs or folders of runs, separated by commas; or
//! selectors (`commit=abc`, `tag.branch=main`), separated by commas, all of which must hold. Selectors are answered by a
//! [`Source`]: a [`Folder`] of runs, or a [`Stored`] set of imported ones. Both give the same runs, so a comparison prints the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use record::Run;
use store::{Selector, Store};

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

/// Where runs are looked for by their properties.
pub trait Source {
    /// The whole runs of a selector, oldest first, each with the cells that it names.
    ///
    /// # Errors
    /// Runs that cannot be read.
    fn select(&self, selector: &Selector) -> Result<Vec<SideRun>, Error>;

    /// The run of a name or an id that is not in a folder.
    ///
    /// # Errors
    /// Runs that cannot be read.
    fn named(&self, _name: &str) -> Result<Vec<SideRun>, Error> {
        Ok(Vec::new())
    }

    /// What it is, for messages: `the whole runs in fslab-runs`.
    fn describe(&self) -> String;
}

/// The runs of a store.
#[derive(Debug)]
pub struct Stored {
    store: RefCell<Store>,
    name: String,
}

impl Stored {
    /// Those of an open store, which is called `name` in messages.
    pub fn new(store: Store, name: &str) -> Stored {
        Stored {
            store: RefCell::new(store),
            name: words::printable(name).into_owned(),
        }
    }
}

impl Source for Stored {
    fn select(&self, selector: &Selector) -> Result<Vec<SideRun>, Error> {
        let runs = self.store.borrow_mut().runs(selector)?;
        let from = |run: Run| SideRun {
            from: format!("{} in {}", words::printable(&run.name), self.name),
            run,
        };
        Ok(runs.into_iter().map(from).collect())
    }

    fn named(&self, name: &str) -> Result<Vec<SideRun>, Error> {
        self.select(&Selector::of_run(name))
    }

    fn describe(&self) -> String {
        format!("the runs in {}", self.name)
    }
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
    fn select(&self, selector: &Selector) -> Result<Vec<SideRun>, Error> {
        let narrow = |SideRun { from, run }| {
            let run = selector.narrow(run)?;
            Some(SideRun { from, run })
        };
        Ok(self.runs()?.into_iter().filter_map(narrow).collect())
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
            .filter(|part| !part.is_empty())
            .collect();
        let is_path = |part: &str| Path::new(part).exists();
        let is_run = |part: &str| is_path(part) || folder.join(part).exists();
        let is_selector = |part: &str| part.contains('=') && !is_path(part);
        let by_selector = parts.iter().any(|part| is_selector(part));
        let mut runs = Vec::new();
        if by_selector {
            if !is_selector(parts[0]) || parts.iter().any(|part| is_run(part)) {
                return Err(Error::Mixed(name));
            }
            runs = source.select(&word.trim().parse()?)?;
        } else {
            for part in &parts {
                runs.extend(named(part, folder, source)?);
            }
        }
        let mut seen = BTreeSet::new();
        runs.retain(|one| seen.insert(one.run.id.clone()));
        runs.sort_by(|a, b| (a.run.started_at, &a.run.id).cmp(&(b.run.started_at, &b.run.id)));
        if runs.is_empty() {
            let place = if by_selector {
                source.describe()
            } else {
                "the folder".to_owned()
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
fn named(part: &str, folder: &Path, source: &dyn Source) -> Result<Vec<SideRun>, Error> {
    let dir = record::folder::meant(PathBuf::from(part), folder);
    if !dir.exists() {
        let found = source.named(part)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
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

    fn holds(run: &Run, text: &str) -> bool {
        text.parse::<Selector>()
            .unwrap()
            .narrow(run.clone())
            .is_some()
    }

    #[test]
    fn properties_of_a_run() {
        let mut run = fixtures::simulated::Simulated::new(1, vec![vec![1000.0; 2]]).run();
        run.tags.insert("branch".into(), "main".into());
        for (text, expected) in [
            ("study=mailserver", true),
            ("study=other", false),
            ("tag.branch=main", true),
            ("tag.branch=x", false),
            ("tag.other=main", false),
            ("commit=0123456", true),
            ("commit=fff", false),
            ("kernel=6.12", true),
            ("kernel=6.1", false),
            ("machine=Test CPU", true),
            ("machine=Other", false),
            ("run=run-1", true),
            ("run=run", false),
            ("tag.branch=main,kernel=6.12", true),
            ("tag.branch=main,kernel=6.1", false),
        ] {
            assert_eq!(holds(&run, text), expected, "{text}");
        }
        assert!(holds(&run, &format!("id={}", &run.id[..2])));
        assert!(holds(&run, &format!("run={}", &run.id[..8])));
        assert!(
            !holds(&run, &format!("run={}", &run.id[..4])),
            "too short for an id"
        );
        run.tags.insert("commit".into(), "fffab".into());
        assert!(holds(&run, "commit=fff") && holds(&run, "commit=0123"));
        run.tags.insert("machine".into(), "rack-7".into());
        assert!(holds(&run, "machine=rack-7") && !holds(&run, "machine=Test CPU"));
    }
}
