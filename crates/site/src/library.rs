//! The runs of a site: what lists show of them, and their logs when a page needs them.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{iter, thread};

use compare::{Selector, SideRun, Source};
use progress::{Progress, Step, Unit};
use record::{Run, TrialRecord};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::facts::Facts;
use crate::writer::Locks;

/// Opens a store: once for each reading, because a connection belongs to a thread.
pub type Opener = Box<dyn Fn() -> Result<Box<dyn Source>, compare::Error> + Send + Sync>;

/// Where runs come from.
pub enum Origin {
    /// The run folders at or below a folder.
    Folder(PathBuf),
    /// A store. It has no telemetry and no files, so a run's page is made of its samples.
    Store(Opener),
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Folder(dir) => f.debug_tuple("Folder").field(dir).finish(),
            Origin::Store(_) => f.write_str("Store"),
        }
    }
}

impl Origin {
    /// Its name, for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Origin::Folder(dir) => words::printable(&dir.to_string_lossy()).into_owned(),
            Origin::Store(_) => "the store".to_owned(),
        }
    }

    /// In words, for pages: not the path, which a public page should not show.
    pub(crate) const fn words(&self) -> &'static str {
        match self {
            Origin::Folder(_) => "a folder of runs",
            Origin::Store(_) => "a store of runs",
        }
    }
}

/// A run of the site.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Its folder; none in a store.
    pub dir: Option<PathBuf>,
    /// Equal stamps: nothing of it has changed.
    pub stamp: String,
    /// What lists show.
    pub facts: Facts,
    /// The run itself, where it comes from a store.
    kept: Option<Arc<Run>>,
}

/// Facts of a run that an earlier build read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub stamp: String,
    pub facts: Facts,
}

/// What is remembered, by folder or id.
pub(crate) type Memory = BTreeMap<String, Remembered>;

/// The runs of a site, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Library {
    pub runs: Vec<Known>,
    /// Folders with a run that another folder has as well.
    pub copies: usize,
}

impl Library {
    /// Reads what has changed since `memory` was made.
    ///
    /// # Errors
    /// A folder or a store that cannot be read; a request to stop. A damaged log is a run in the state damaged.
    pub(crate) fn read(
        origin: &Origin,
        memory: &Memory,
        progress: &dyn Progress,
    ) -> Result<Library, Error> {
        let runs = match origin {
            Origin::Folder(dir) => of_folder(dir, memory, progress)?,
            Origin::Store(open) => of_store(open()?.as_ref())?,
        };
        let mut library = Library::default();
        for known in runs {
            library.add(known);
        }
        library.runs.sort_by(|a, b| {
            let key = |known: &Known| (known.facts.started, known.facts.id.clone());
            key(b).cmp(&key(a)).then_with(|| a.dir.cmp(&b.dir))
        });
        Ok(library)
    }

    /// Of two copies of a run the one with more finished trials stays.
    fn add(&mut self, known: Known) {
        let same = |other: &&mut Known| {
            !known.facts.id.is_empty() && other.facts.hash() == known.facts.hash()
        };
        let Some(other) = self.runs.iter_mut().find(same) else {
            self.runs.push(known);
            return;
        };
        self.copies += 1;
        if known.facts.finished > other.facts.finished {
            *other = known;
        }
    }

    /// What a later reading needs to remember.
    pub(crate) fn memory(&self, origin: &Origin) -> Memory {
        let of = |known: &Known| {
            let key = match (&known.dir, origin) {
                (Some(dir), Origin::Folder(top)) => key_of(dir, top),
                _ => known.facts.id.clone(),
            };
            let remembered = Remembered {
                stamp: known.stamp.clone(),
                facts: known.facts.clone(),
            };
            (key, remembered)
        };
        self.runs.iter().map(of).collect()
    }

    /// The runs of a study that are whole.
    pub(crate) fn whole_of<'a>(&'a self, study: &'a str) -> impl Iterator<Item = &'a Known> {
        self.runs.iter().filter(move |known| {
            known.facts.study == study && known.facts.state == crate::facts::State::Whole
        })
    }

    /// The run of that hash.
    pub(crate) fn find(&self, hash: &crate::hash::Hash) -> Option<&Known> {
        let is_it = |known: &&Known| known.facts.hash().as_ref() == Some(hash);
        self.runs.iter().find(is_it)
    }
}

impl Known {
    /// A run that is not in the library.
    pub(crate) fn elsewhere(one: SideRun) -> Known {
        let mut facts = Facts::of(Path::new(&one.run.name), &one.run, None);
        facts.name.clone_from(&one.run.name);
        let closing = one.run.closing.as_ref().map(|closing| closing.at);
        Known {
            dir: None,
            stamp: format!("{} {} {closing:?}", one.run.id, facts.finished),
            facts,
            kept: Some(Arc::new(one.run)),
        }
    }

    /// The whole run.
    ///
    /// # Errors
    /// A log that cannot be read.
    pub(crate) fn load(&self) -> Result<Arc<Run>, Error> {
        match (&self.kept, &self.dir) {
            (Some(run), _) => Ok(Arc::clone(run)),
            (None, Some(dir)) => Ok(Arc::new(Run::load(dir)?)),
            (None, None) => Err(Error::Option("a run without a folder".to_owned())),
        }
    }

    /// What comparisons and histories need of the run: a thousand of them are in memory at once.
    ///
    /// # Errors
    /// A log that cannot be read.
    pub(crate) fn side_run(&self) -> Result<SideRun, Error> {
        let run = self.load()?;
        Ok(SideRun {
            from: self.facts.name.clone(),
            run: slim(Arc::unwrap_or_clone(run)),
        })
    }
}

fn slim(mut run: Run) -> Run {
    for trial in &mut run.trials {
        *trial = TrialRecord {
            status: trial.status.clone(),
            started_at: trial.started_at,
            noise: std::mem::take(&mut trial.noise),
            samples: std::mem::take(&mut trial.samples),
            evidence: std::mem::take(&mut trial.evidence),
            ..TrialRecord::default()
        };
    }
    run
}

fn key_of(dir: &Path, top: &Path) -> String {
    let below = dir.strip_prefix(top).unwrap_or(dir);
    below.to_string_lossy().into_owned()
}

fn of_store(source: &dyn Source) -> Result<Vec<Known>, Error> {
    Ok(source
        .select(&Selector::default())?
        .into_iter()
        .map(Known::elsewhere)
        .collect())
}

fn of_folder(top: &Path, memory: &Memory, progress: &dyn Progress) -> Result<Vec<Known>, Error> {
    let folders = record::run_folders(top)?;
    let locks = Locks::now();
    let items = Unit::Items("runs".into());
    let step = Step::new("reading").counted_in(items);
    progress.begin(step.of(folders.len() as u64));
    let read = |dir: &PathBuf| look(dir, top, memory, &locks);
    let found = in_parallel(&folders, progress, read);
    progress.end();
    if progress.cancelled() {
        Err(Error::Interrupted)
    } else {
        Ok(found)
    }
}

fn look(dir: &Path, top: &Path, memory: &Memory, locks: &Locks) -> Known {
    let writer = locks.writer(dir);
    let log = dir.join(record::folder::EVENTS).symlink_metadata();
    let stamp = log.map_or_else(
        |error| error.to_string(),
        |found| {
            let (size, ino) = (found.len(), found.ino());
            let (s, ns) = (found.mtime(), found.mtime_nsec());
            format!("{size} {s}.{ns:09} {ino} {}", writer.is_some())
        },
    );
    let known = |facts: Facts, stamp: String| Known {
        dir: Some(dir.to_owned()),
        stamp,
        facts,
        kept: None,
    };
    let remembered = memory.get(&key_of(dir, top));
    if let Some(same) = remembered.filter(|remembered| remembered.stamp == stamp) {
        return known(same.facts.clone(), stamp);
    }
    let facts = match (Run::load(dir), writer) {
        (Ok(run), writer) => Facts::of(dir, &run, writer),
        (Err(_), Some(_)) => Facts {
            state: crate::facts::State::Running,
            ..Facts::damaged(dir, String::new())
        },
        (Err(error), None) => Facts::damaged(dir, without_folder(dir, &error.to_string())),
    };
    known(facts, stamp)
}

/// A message without the path of the run's folder, which a public page should not show.
fn without_folder(dir: &Path, message: &str) -> String {
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    [whole.as_path(), dir]
        .into_iter()
        .map(Path::to_string_lossy)
        .filter(|path| path.len() > name.len())
        .fold(message.to_owned(), |message, path| {
            message.replace(&*path, &name)
        })
}

/// Applies a function to all items by as many threads as there are processors. The results are in the order of the items;
/// after a request to stop the rest is missing.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    progress: &dyn Progress,
    apply: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(iter::repeat_with(|| None).take(items.len()).collect());
    let work = || {
        while !progress.cancelled() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            let result = apply(item);
            let mut results: std::sync::MutexGuard<'_, Vec<Option<R>>> =
                results.lock().unwrap_or_else(PoisonError::into_inner);
            results[at] = Some(result);
            progress.advance(1);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().flatten().collect()
}
