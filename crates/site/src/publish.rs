//! A folder of static pages.
//!
//! Files are written beside their place and renamed into it, so that a reader, and what a kill leaves, has whole files alone. The
//! order makes the whole folder sound at every moment: styles and scripts, then pages, then the lists that link to them, then
//! the manifest, and at the end the removal of what no list links to any more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use compare::{Folder, Side, Source};
use progress::{Progress, Step, Unit as Counted};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::address::Address;
use crate::assets;
use crate::error::Error;
use crate::groups::{self, Pair};
use crate::hash::Hash;
use crate::library::{Known, Library, Origin, in_parallel};
use crate::manifest::{self, Made, Manifest};
use crate::pages;
use crate::render::Renderer;
use crate::units::{self, Job, Page};

/// The file that a build locks.
const LOCK: &str = ".fslab-site.lock";
/// What the name of a file begins with until it is renamed.
const TEMPORARY: &str = ".fslab-site.new-";
/// The folders of a site.
const FOLDERS: [&str; 6] = ["assets", "compare", "context", "list", "run", "series"];

/// A build to do.
#[derive(Clone, Copy)]
pub struct Build<'a> {
    /// The site's folder: empty, not there yet, or a site.
    pub dir: &'a Path,
    /// Where runs come from.
    pub origin: &'a Origin,
    /// Comparisons that are asked for: the sides, as of `fslab compare`.
    pub comparisons: &'a [[String; 2]],
    /// Version and commit of this fslab.
    pub tool: &'a str,
    /// Shows progress, and may ask to stop.
    pub progress: &'a dyn Progress,
}

/// What a build did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Runs in the lists.
    pub runs: usize,
    /// Comparisons.
    pub comparisons: usize,
    /// Files of the site.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Files written: new, or of other content than before.
    pub written: u64,
    /// Files removed.
    pub removed: u64,
}

/// Builds a site, or makes again what changed in one.
///
/// # Errors
/// A folder that is no site, another build at the same time, runs that cannot be read, a full disk, a request to stop. The
/// site is whole after each.
pub fn build(build: &Build<'_>) -> Result<Built, Error> {
    refuse_others(build.dir)?;
    // What is known of runs from the last build. Another build may be at work, which then takes the lock.
    let known = Manifest::read(build.dir).unwrap_or_default();
    let library = Library::read(build.origin, &known.runs, build.progress)?;
    // A folder that was named wrongly would remove every page.
    if library.runs.is_empty() {
        return Err(Error::NoRuns(build.origin.name()));
    }
    let folder = SiteFolder::open(build.dir)?;
    let manifest = folder.manifest()?;
    let renderer = Renderer::new(build.tool)?;
    let mut pairs = asked(build.comparisons, build.origin, &library)?;
    pairs.extend(groups::pairs(&library));
    let mut seen = BTreeSet::new();
    pairs.retain(|pair| seen.insert(pair.hash()));
    for asset in assets::of_folder() {
        folder.put(&Address::Asset(asset).path(), asset.body)?;
    }
    let jobs = units::jobs(&library, &pairs, &renderer);
    let (units, ended) = make(&folder, &jobs, &manifest, &renderer, build.progress);
    if let Err(error) = ended {
        // What was made need not be made again. The lists are still the old ones, so nothing is removed.
        let mut all = manifest.units;
        all.extend(units);
        folder.remember(&Manifest::new(manifest.runs, all))?;
        return Err(error);
    }
    for page in lists(&renderer, &library, &pairs, &units, build.origin)? {
        folder.put(&page.address.path(), &page.body)?;
    }
    folder.remember(&Manifest::new(library.memory(build.origin), units))?;
    folder.sweep()?;
    Ok(Built {
        runs: library.runs.len(),
        comparisons: pairs.len(),
        ..folder.built()
    })
}

/// The pages that list others, which are made at every build.
fn lists(
    renderer: &Renderer,
    library: &Library,
    pairs: &[Pair],
    units: &BTreeMap<String, Made>,
    origin: &Origin,
) -> Result<Vec<Page>, Error> {
    let mut all = pages::runs::pages(renderer, library, origin.words())?;
    let studies = groups::studies(library).into_iter();
    let summaries = studies.filter_map(|study| {
        let made = units.get(&format!("study {}", Hash::of(study)))?;
        Some(&made.summary)
    });
    all.push(pages::studies::page(renderer, summaries)?);
    let summaries = pairs.iter().filter_map(|pair| {
        let hash = pair.hash();
        let made = units.get(&format!("comparison {hash}"))?;
        Some((hash, &made.summary))
    });
    all.push(pages::comparisons::page(renderer, summaries)?);
    Ok(all)
}

/// Makes the units that changed. What was made until an error is returned with it.
fn make(
    folder: &SiteFolder,
    jobs: &[Job<'_>],
    manifest: &Manifest,
    renderer: &Renderer,
    progress: &dyn Progress,
) -> (BTreeMap<String, Made>, Result<(), Error>) {
    let items = Counted::Items("pages".into());
    let step = Step::new("making").counted_in(items);
    progress.begin(step.of(jobs.len() as u64));
    let one = |job: &Job<'_>| -> Result<(String, Made), Error> {
        let before = manifest.units.get(&job.key);
        if let Some(same) = before.filter(|made| made.input == job.input && folder.has(&made.pages))
        {
            return Ok((job.key.clone(), same.clone()));
        }
        let unit = job.make(renderer)?;
        let mut paths = Vec::new();
        for page in &unit.pages {
            let path = page.address.path();
            folder.put(&path, &page.body)?;
            paths.push(path);
        }
        let made = Made {
            input: job.input.clone(),
            pages: paths,
            summary: unit.summary,
        };
        Ok((job.key.clone(), made))
    };
    let results = in_parallel(jobs, progress, one);
    progress.end();
    let mut ended = if results.len() == jobs.len() {
        Ok(())
    } else {
        Err(Error::Interrupted)
    };
    let mut units = BTreeMap::new();
    for result in results {
        match result {
            Ok((key, made)) => {
                units.insert(key, made);
            }
            Err(error) => ended = Err(error),
        }
    }
    (units, ended)
}

/// The comparisons that were asked for.
pub(crate) fn asked(
    words: &[[String; 2]],
    origin: &Origin,
    library: &Library,
) -> Result<Vec<Pair>, Error> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let (source, folder): (Box<dyn Source>, &Path) = match origin {
        Origin::Folder(dir) => (Box::new(Folder { dir: dir.clone() }), dir),
        Origin::Store(open) => (open()?, Path::new(record::folder::RUNS)),
    };
    let mut pairs = Vec::new();
    for names in words {
        let mut sides = Vec::new();
        for name in names {
            sides.push(Side::find(name, folder, source.as_ref())?);
        }
        compare::disjoint(&sides)?;
        let runs = |side: &Side| -> Vec<Known> {
            let known = side.runs.iter().map(|one| {
                let known = library.find(&Hash::of_run(&one.run.id)).cloned();
                known.unwrap_or_else(|| Known::elsewhere(one.clone()))
            });
            known.collect()
        };
        pairs.push(Pair {
            key: names.join("\n"),
            study: String::new(),
            names: [0, 1].map(|at| sides[at].name.clone()),
            runs: [0, 1].map(|at| runs(&sides[at])),
        });
    }
    Ok(pairs)
}

/// The site's folder, locked.
struct SiteFolder {
    dir: PathBuf,
    /// Holds the lock.
    _lock: File,
    /// Paths that belong to the site.
    kept: std::sync::Mutex<BTreeSet<String>>,
    number: AtomicU64,
    written: AtomicU64,
    removed: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
}

impl SiteFolder {
    fn open(dir: &Path) -> Result<SiteFolder, Error> {
        refuse_others(dir)?;
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, "cannot be made", error))?;
        let path = dir.join(LOCK);
        let mut options = OpenOptions::new();
        let lock = options.create(true).append(true).open(&path);
        let lock = lock.map_err(|error| Error::io(&path, "cannot be opened", error))?;
        if !locked(&lock) {
            let dir = words::printable(&dir.to_string_lossy()).into_owned();
            return Err(Error::Busy(dir));
        }
        for name in FOLDERS {
            folder(&dir.join(name))?;
        }
        Ok(SiteFolder {
            dir: dir.to_owned(),
            _lock: lock,
            kept: std::sync::Mutex::default(),
            number: AtomicU64::new(0),
            written: AtomicU64::new(0),
            removed: AtomicU64::new(0),
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    fn manifest(&self) -> Result<Manifest, Error> {
        match Manifest::read(&self.dir) {
            Ok(manifest) => Ok(manifest),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // From here on the folder is a site, also if the build is killed.
                self.replace(manifest::NAME, b"{}")?;
                Ok(Manifest::default())
            }
            Err(error) => {
                let path = self.dir.join(manifest::NAME);
                Err(Error::io(&path, "cannot be read", error))
            }
        }
    }

    fn remember(&self, manifest: &Manifest) -> Result<(), Error> {
        let mut text = serde_json::to_vec(manifest)?;
        text.push(b'\n');
        self.replace(manifest::NAME, &text)
    }

    /// Whether all of these are there. They then belong to the site.
    fn has(&self, pages: &[String]) -> bool {
        // The manifest may be anyone's: only paths of pages count.
        let of_site = |path: &String| {
            Address::parse(path).is_some_and(|address| address.path() == *path)
                && self.dir.join(path).is_file()
        };
        let all = pages.iter().all(of_site);
        if all {
            self.keep(pages.iter().cloned());
        }
        all
    }

    fn keep(&self, paths: impl Iterator<Item = String>) {
        let mut kept = self
            .kept
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.extend(paths);
    }

    /// Writes a file, unless it has this content.
    fn put(&self, path: &str, body: &str) -> Result<(), Error> {
        self.keep(std::iter::once(path.to_owned()));
        let before = input::bytes(&self.dir.join(path), body.len() as u64);
        let same = before.is_ok_and(|before| before == body.as_bytes());
        if same {
            return Ok(());
        }
        if let Some((folders, _)) = path.rsplit_once('/') {
            folder(&self.dir.join(folders))?;
        }
        self.replace(path, body.as_bytes())?;
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn replace(&self, path: &str, body: &[u8]) -> Result<(), Error> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let new = self.dir.join(format!("{TEMPORARY}{number}"));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&new)
            .and_then(|mut file| file.write_all(body));
        // Left by a build that was killed: only the holder of the lock writes such names.
        let written = match written {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&new).and_then(|()| fs::write(&new, body))
            }
            other => other,
        };
        let renamed = written.and_then(|()| fs::rename(&new, self.dir.join(path)));
        renamed.map_err(|error| {
            let _ = fs::remove_file(&new);
            Error::io(&self.dir.join(path), "cannot be written", error)
        })
    }

    /// Removes what this build did not keep: pages of runs that are gone, styles of older versions. A file whose name is not one
    /// of a site stays.
    fn sweep(&self) -> Result<(), Error> {
        let kept = self
            .kept
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut folders = vec![String::new()];
        while let Some(below) = folders.pop() {
            let path = self.dir.join(&below);
            let entries =
                fs::read_dir(&path).map_err(|error| Error::io(&path, "cannot be read", error))?;
            for entry in entries.flatten() {
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let relative = format!("{below}{name}");
                if is_folder && is_of_site(&relative) {
                    folders.push(format!("{relative}/"));
                } else if kept.contains(&relative) {
                    let bytes = entry.metadata().map_or(0, |found| found.len());
                    self.files.fetch_add(1, Ordering::Relaxed);
                    self.bytes.fetch_add(bytes, Ordering::Relaxed);
                } else if !is_folder
                    && (is_stale(&relative) || name.starts_with(TEMPORARY))
                    && fs::remove_file(entry.path()).is_ok()
                {
                    self.removed.fetch_add(1, Ordering::Relaxed);
                }
            }
            // A study without runs.
            if below.matches('/').count() == 2 {
                let _ = fs::remove_dir(&path);
            }
        }
        Ok(())
    }

    fn built(&self) -> Built {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Built {
            files: of(&self.files),
            bytes: of(&self.bytes),
            written: of(&self.written),
            removed: of(&self.removed),
            ..Built::default()
        }
    }
}

/// Takes the lock. It is tried for a second, because a process that another one is just starting has all its files open for a moment.
fn locked(lock: &File) -> bool {
    (0..20).any(|attempt| {
        if attempt > 0 {
            sleep(Duration::from_millis(50));
        }
        flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

/// Whether a folder of that path is a site's.
fn is_of_site(path: &str) -> bool {
    match path.split_once('/') {
        None => FOLDERS.contains(&path),
        Some(("series", study)) => Hash::parse(study).is_some(),
        Some(_) => false,
    }
}

/// Whether a file of that path is one that some build wrote: a page, or a style or script of any version.
fn is_stale(path: &str) -> bool {
    if Address::parse(path).is_some_and(|address| address.path() == path) {
        return true;
    }
    let asset = path.strip_prefix("assets/").and_then(|name| {
        let (stem, end) = name.rsplit_once('.')?;
        let (_, hash) = stem.rsplit_once('-')?;
        Some(["css", "js"].contains(&end) && Hash::parse(hash).is_some())
    });
    asset == Some(true)
}

/// Refuses a folder that has something and is no site, before anything is written.
fn refuse_others(dir: &Path) -> Result<(), Error> {
    let not_a_site = || Error::NotASite(words::printable(&dir.to_string_lossy()).into_owned());
    let mut entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(not_a_site()),
        Err(error) => return Err(Error::io(dir, "cannot be read", error)),
    };
    let marker = dir.join(manifest::NAME);
    let is_site = marker.symlink_metadata().is_ok_and(|found| found.is_file())
        && fs::read(&marker).is_ok_and(|text| {
            // Damaged by someone, but still ours: a JSON object, or empty after a crash of the machine.
            text.is_empty() || serde_json::from_slice::<Value>(&text).is_ok_and(|v| v.is_object())
        });
    let only_lock = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name() == LOCK || entry.file_name() == "lost+found")
    };
    if is_site || entries.all(only_lock) {
        Ok(())
    } else {
        Err(not_a_site())
    }
}

/// Makes a folder of the site; a link in its place is refused, because it leads out of the site.
fn folder(path: &Path) -> Result<(), Error> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
            if is_folder {
                Ok(())
            } else {
                Err(Error::io(path, "is no folder", error))
            }
        }
        made => made.map_err(|error| Error::io(path, "cannot be made", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_a_build_writes_are_stale() {
        let hash = Hash::of("x");
        for path in [
            format!("run/{hash}.html"),
            format!("series/{hash}/{hash}.html"),
            format!("series/{hash}/index.html"),
            format!("assets/page-{hash}.css"),
            format!("assets/live-{hash}.js"),
            "index.html".to_owned(),
        ] {
            assert!(is_stale(&path), "{path}");
        }
        for path in [
            "notes.txt",
            "run/index.html",
            "run/mine.html",
            "assets/logo.png",
            "assets/page.css",
            "series/mine/index.html",
            ".htaccess",
            "robots.txt",
        ] {
            assert!(!is_stale(path), "{path}");
        }
        assert!(is_of_site("run") && is_of_site(&format!("series/{hash}")));
        assert!(!is_of_site("mine") && !is_of_site(&format!("run/{hash}")));
    }
}
