//! What the server knows: the runs, and pages that it made. The runs are looked at again when they are asked for and a second
//! has passed; a page is made again when something that it is made of has changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use progress::Silent;
use rundir::RunDir;

use super::files::Kind;
use crate::address::Address;
use crate::error::Error;
use crate::groups::{self, Pair};
use crate::hash::Hash;
use crate::library::{Known, Library, Memory, Origin};
use crate::pages;
use crate::publish::asked;
use crate::render::Renderer;
use crate::units::{self, Job, Unit};

/// How long the runs of a folder are taken to be as they were.
const FRESH: Duration = Duration::from_secs(1);
/// The same of a store, which is read whole.
const FRESH_STORE: Duration = Duration::from_secs(60);
/// Most bytes of pages that are kept.
const MOST_KEPT: usize = 256 << 20;
/// Media type of pages.
const HTML: &str = "text/html; charset=utf-8";

/// What a request is answered with.
#[derive(Debug)]
pub(super) enum Answer {
    /// A page, a style sheet or a script; `fixed`: it never changes.
    Page {
        body: Bytes,
        media: &'static str,
        fixed: bool,
    },
    /// A file of a run.
    File { file: File, length: u64, kind: Kind },
    /// A run's log, to be followed.
    Events(File),
    /// There is no such address.
    Nothing,
}

/// The runs at one moment.
#[derive(Debug, Default)]
struct Moment {
    library: Library,
    memory: Memory,
    pairs: Vec<Pair>,
}

#[derive(Debug)]
struct Current {
    at: Instant,
    moment: Arc<Moment>,
    /// The lists of this moment, when they were asked for.
    lists: Arc<Mutex<Option<BTreeMap<String, Bytes>>>>,
}

/// Pages by path, of units by key.
#[derive(Debug, Default)]
struct Kept {
    units: BTreeMap<String, (String, Arc<Unit>)>,
    bytes: usize,
}

/// What the server knows.
#[derive(Debug)]
pub(super) struct State {
    origin: Origin,
    comparisons: Vec<[String; 2]>,
    renderer: Renderer,
    current: Mutex<Current>,
    kept: Mutex<Kept>,
    /// Pages are made one after the other: the processors are there for measurements.
    making: Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    pub(super) fn new(
        origin: Origin,
        comparisons: Vec<[String; 2]>,
        renderer: Renderer,
    ) -> Result<State, Error> {
        let moment = moment(&origin, &comparisons, &Memory::new())?;
        Ok(State {
            origin,
            comparisons,
            renderer,
            current: Mutex::new(Current {
                at: Instant::now(),
                moment: Arc::new(moment),
                lists: Arc::default(),
            }),
            kept: Mutex::default(),
            making: Mutex::default(),
        })
    }

    /// The runs now.
    #[allow(clippy::type_complexity, reason = "the two parts of what is current")]
    fn now(&self) -> Result<(Arc<Moment>, Arc<Mutex<Option<BTreeMap<String, Bytes>>>>), Error> {
        let mut current = locked(&self.current);
        let fresh = match self.origin {
            Origin::Folder(_) => FRESH,
            Origin::Store(_) => FRESH_STORE,
        };
        if current.at.elapsed() >= fresh {
            let known = Arc::clone(&current.moment);
            let library = Library::read(&self.origin, &known.memory, &Silent)?;
            let memory = library.memory(&self.origin);
            if memory != known.memory {
                let moment = with_pairs(library, memory, &self.origin, &self.comparisons)?;
                current.moment = Arc::new(moment);
                current.lists = Arc::default();
            }
            current.at = Instant::now();
        }
        Ok((Arc::clone(&current.moment), Arc::clone(&current.lists)))
    }

    /// The answer for a path without a slash at its begin.
    pub(super) fn answer(&self, path: &str) -> Result<Answer, Error> {
        let Some(address) = Address::parse(path) else {
            return self.other(path);
        };
        if let Address::Asset(asset) = address {
            return Ok(Answer::Page {
                body: Bytes::from_static(asset.body.as_bytes()),
                media: asset.media,
                fixed: true,
            });
        }
        let (moment, lists) = self.now()?;
        let found = match &address {
            Address::Runs | Address::List(_) => {
                let mut lists = locked(&lists);
                if lists.is_none() {
                    let pages =
                        pages::runs::pages(&self.renderer, &moment.library, self.origin.words())?;
                    let pages = pages.into_iter();
                    *lists = Some(
                        pages
                            .map(|page| (page.address.path(), Bytes::from(page.body)))
                            .collect(),
                    );
                }
                lists
                    .as_ref()
                    .and_then(|lists| lists.get(&address.path()).cloned())
            }
            Address::Studies => Some(self.studies(&moment)?.into()),
            Address::Comparisons => Some(self.comparisons(&moment)?.into()),
            Address::Run(hash) => match moment.library.find(hash) {
                Some(known) => self.of_run(&moment, known, &address)?,
                None => None,
            },
            Address::Context(hash) => {
                let has = |known: &&Known| known.facts.contexts.iter().any(|(_, of)| of == hash);
                match moment.library.runs.iter().find(has) {
                    Some(known) => self.of_run(&moment, known, &address)?,
                    None => None,
                }
            }
            Address::Study(study) | Address::Series(study, _) => {
                let studies = groups::studies(&moment.library);
                let named = studies.into_iter().find(|name| Hash::of(name) == *study);
                match named {
                    Some(study) => {
                        let job = units::of_study(&moment.library, study, &self.renderer);
                        page_of(self.made(&job)?, &address)
                    }
                    None => None,
                }
            }
            Address::Comparison(hash) => {
                match moment.pairs.iter().find(|pair| pair.hash() == *hash) {
                    Some(pair) => {
                        page_of(self.made(&units::of_pair(pair, &self.renderer))?, &address)
                    }
                    None => None,
                }
            }
            Address::Asset(_) => None,
        };
        Ok(found.map_or(Answer::Nothing, html))
    }

    fn of_run(
        &self,
        moment: &Moment,
        known: &Known,
        address: &Address,
    ) -> Result<Option<Bytes>, Error> {
        let studies = groups::studies(&moment.library);
        let has_series = studies.contains(&known.facts.study.as_str());
        match units::of_run(known, has_series, &self.renderer) {
            Some(job) => Ok(page_of(self.made(&job)?, address)),
            None => Ok(None),
        }
    }

    /// The pages of a unit, made unless they are kept.
    fn made(&self, job: &Job<'_>) -> Result<Arc<Unit>, Error> {
        let kept = || {
            let kept = locked(&self.kept);
            let same = kept
                .units
                .get(&job.key)
                .filter(|(input, _)| *input == job.input);
            same.map(|(_, unit)| Arc::clone(unit))
        };
        if let Some(unit) = kept() {
            return Ok(unit);
        }
        let _one = locked(&self.making);
        // Another request may have made them meanwhile.
        if let Some(unit) = kept() {
            return Ok(unit);
        }
        let unit = Arc::new(job.make(&self.renderer)?);
        let mut kept = locked(&self.kept);
        kept.bytes += bytes(&unit);
        let before = kept
            .units
            .insert(job.key.clone(), (job.input.clone(), Arc::clone(&unit)));
        kept.bytes -= before.map_or(0, |(_, unit)| bytes(&unit));
        if kept.bytes > MOST_KEPT {
            *kept = Kept::default();
        }
        Ok(unit)
    }

    fn studies(&self, moment: &Moment) -> Result<String, Error> {
        let mut made = Vec::new();
        for study in groups::studies(&moment.library) {
            made.push(self.made(&units::of_study(&moment.library, study, &self.renderer))?);
        }
        let summaries = made.iter().map(|unit| &unit.summary);
        Ok(pages::studies::page(&self.renderer, summaries)?.body)
    }

    fn comparisons(&self, moment: &Moment) -> Result<String, Error> {
        let mut made = Vec::new();
        for pair in &moment.pairs {
            made.push((
                pair.hash(),
                self.made(&units::of_pair(pair, &self.renderer))?,
            ));
        }
        let summaries = made
            .iter()
            .map(|(hash, unit)| (hash.clone(), &unit.summary));
        Ok(pages::comparisons::page(&self.renderer, summaries)?.body)
    }

    /// What only a server has: progress, events and files of a run.
    fn other(&self, path: &str) -> Result<Answer, Error> {
        let parts: Vec<&str> = path.split('/').collect();
        let [kind, name, rest @ ..] = &parts[..] else {
            return Ok(Answer::Nothing);
        };
        let name = match *kind {
            "live" => name.strip_suffix(".html"),
            "events" | "file" => Some(*name),
            _ => None,
        };
        let Some(hash) = name.and_then(Hash::parse) else {
            return Ok(Answer::Nothing);
        };
        let (moment, _) = self.now()?;
        let Some(known) = moment.library.find(&hash) else {
            return Ok(Answer::Nothing);
        };
        match (*kind, rest, &known.dir) {
            ("live", [], _) => {
                let page = pages::live::page(&self.renderer, &*known.load()?, &hash)?;
                Ok(html(page.into()))
            }
            ("events", [], Some(dir)) => {
                Ok(opened(dir, Kind::Log).map_or(Answer::Nothing, Answer::Events))
            }
            ("file", kind, Some(dir)) => Ok(Kind::parse(kind)
                .and_then(|kind| {
                    let file = opened(dir, kind)?;
                    let length = file.metadata().ok()?.len();
                    Some(Answer::File { file, length, kind })
                })
                .unwrap_or(Answer::Nothing)),
            _ => Ok(Answer::Nothing),
        }
    }
}

/// A regular file below the run's folder; links are not followed.
fn opened(dir: &Path, kind: Kind) -> Option<File> {
    RunDir::open(dir).ok()?.read(kind.path()).ok()?
}

fn html(body: Bytes) -> Answer {
    Answer::Page {
        body,
        media: HTML,
        fixed: false,
    }
}

/// A page of a unit. Its bytes are not copied: many clients may wait for it.
fn page_of(unit: Arc<Unit>, address: &Address) -> Option<Bytes> {
    struct Shared(Arc<Unit>, usize);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            self.0.pages[self.1].body.as_bytes()
        }
    }
    let at = unit
        .pages
        .iter()
        .position(|page| page.address == *address)?;
    Some(Bytes::from_owner(Shared(unit, at)))
}

fn bytes(unit: &Unit) -> usize {
    unit.pages.iter().map(|page| page.body.len()).sum()
}

fn moment(origin: &Origin, words: &[[String; 2]], memory: &Memory) -> Result<Moment, Error> {
    let library = Library::read(origin, memory, &Silent)?;
    let memory = library.memory(origin);
    with_pairs(library, memory, origin, words)
}

fn with_pairs(
    library: Library,
    memory: Memory,
    origin: &Origin,
    words: &[[String; 2]],
) -> Result<Moment, Error> {
    let mut pairs = asked(words, origin, &library)?;
    pairs.extend(groups::pairs(&library));
    Ok(Moment {
        library,
        memory,
        pairs,
    })
}
