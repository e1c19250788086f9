//! Damages and checks several images in parallel.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::run::Stop;
use anyhow::{Context, Result, bail};
use forge::damage;

use crate::check_differential::fswreck;
use crate::check_differential::judges::{e2fsck, ours};
use crate::check_differential::ocfs2;
use crate::check_differential::outcome::Outcome;
use crate::check_differential::pool::{Overlay, PAGE, Plan, Pool, Task};
use crate::check_differential::{Arguments, Format};

/// Judges them all, and writes each result down at once.
pub(crate) fn judge_all(
    arguments: &Arguments,
    pool: &Pool,
    wanted: &[Task],
    stop: &Stop,
) -> Result<Vec<Outcome>> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(&arguments.results)?;
    let (log, all) = (Mutex::new(log), Mutex::new(Vec::new()));
    let next = AtomicU64::new(0);
    let begin = Instant::now();
    let work = |job: usize| -> Result<()> {
        let mut bench = Workbench::new(arguments, pool, job)?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            wait(arguments, stop);
            let Some(task) = wanted.get(at as usize).filter(|_| !stop.is_set()) else {
                return Ok(());
            };
            let Some(outcome) = bench.judge(task)? else {
                continue;
            };
            let line = serde_json::to_string(&outcome)? + "\n";
            log.lock()
                .map_err(|_| anyhow::anyhow!("another job failed"))?
                .write_all(line.as_bytes())?;
            all.lock()
                .map_err(|_| anyhow::anyhow!("another job failed"))?
                .push(outcome);
            if (at + 1).is_multiple_of(500) {
                eprintln!(
                    "{} of {} in {:.0} s",
                    at + 1,
                    wanted.len(),
                    begin.elapsed().as_secs_f64()
                );
            }
        }
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..arguments.jobs.max(1))
            .map(|job| scope.spawn(move || work(job)))
            .collect();
        jobs.into_iter()
            .try_for_each(|job| job.join().unwrap_or_else(|_| bail!("a job panicked")))
    })?;
    Ok(all.into_inner().unwrap_or_default())
}

/// Waits for another measurement.
fn wait(arguments: &Arguments, stop: &Stop) {
    while arguments.pause.as_ref().is_some_and(|file| file.exists()) && !stop.is_set() {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// One job's files, one for each base, sound between two images.
struct Workbench<'a> {
    arguments: &'a Arguments,
    pool: &'a Pool,
    job: usize,
    files: BTreeMap<usize, (PathBuf, File)>,
}

impl<'a> Workbench<'a> {
    fn new(arguments: &'a Arguments, pool: &'a Pool, job: usize) -> Result<Workbench<'a>> {
        if let Some(keep) = &arguments.keep {
            fs::create_dir_all(keep)?;
        }
        Ok(Workbench {
            arguments,
            pool,
            job,
            files: BTreeMap::new(),
        })
    }

    /// None where the damage does not fit the base.
    fn judge(&mut self, task: &Task) -> Result<Option<Outcome>> {
        let number = task.number();
        let (at, plan) = self.pool.of(task)?;
        let base = &self.pool.bases[at];
        let bytes = &base.bytes;
        let mut overlay = Overlay {
            below: bytes,
            pages: BTreeMap::new(),
        };
        let damage = match plan.carry_out(base, &mut overlay) {
            Ok(damage) => damage,
            // A case on another base than its own: no such structure, or one without the fields.
            Err(damage::Error::Missing { .. } | damage::Error::Unsound(_)) => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("image {number} on {}", base.name));
            }
        };
        let (path, file) = self.file(at, &base.name, bytes)?;
        for (page, over) in &overlay.pages {
            file.write_all_at(over, (page * PAGE) as u64)?;
        }
        if let Plan::Fswreck(case) = plan
            && !self.wreck(case, &path, &mut overlay)?
        {
            restore(&file, &overlay)?;
            return Ok(None);
        }
        let patience = Duration::from_secs(self.arguments.patience);
        // One to three threads: who reads what must not matter, and an image is judged again as it was.
        let threads = 1 + (number % 3) as usize;
        let (theirs, ours) = match self.arguments.format {
            Format::Ext4 => (e2fsck(&path, patience)?, ours(&path, patience, threads)),
            Format::Ocfs2 => {
                let astray = ocfs2::leaves_memory(base, &overlay);
                let theirs = ocfs2::reference(&path, patience, astray)?;
                (theirs, ocfs2::ours(&path, patience, threads))
            }
        };
        let outcome = Outcome {
            number,
            base: base.name.clone(),
            damage,
            theirs,
            ours,
        };
        let keep = self.arguments.keep.as_ref();
        if let Some(keep) = keep.filter(|_| {
            outcome.differs() || self.arguments.again || !self.arguments.only.is_empty()
        }) {
            fs::copy(&path, keep.join(format!("{number}.img")))?;
        }
        restore(&file, &overlay)?;
        Ok(Some(outcome))
    }

    /// Has fswreck damage the file, and takes what it changed into the overlay; `false` where it cannot.
    fn wreck(&self, case: u32, path: &Path, overlay: &mut Overlay<'_>) -> Result<bool> {
        let Some(program) = &self.arguments.fswreck else {
            bail!("--fswreck is needed to make this image again");
        };
        let done = fswreck::run(program, case, path)?;
        overlay.take(&File::open(path)?)?;
        Ok(done && !overlay.pages.is_empty())
    }

    fn file(&mut self, at: usize, name: &str, bytes: &[u8]) -> Result<(PathBuf, File)> {
        if let Some((path, file)) = self.files.get(&at) {
            return Ok((path.clone(), file.try_clone()?));
        }
        let path = self.pool.folder.join(format!("{name}.{}", self.job));
        let file = File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .open(&path)?;
        file.set_len(bytes.len() as u64)?;
        for (nth, page) in bytes.chunks(PAGE).enumerate() {
            if page.iter().any(|&byte| byte != 0) {
                file.write_all_at(page, (nth * PAGE) as u64)?;
            }
        }
        self.files.insert(at, (path.clone(), file.try_clone()?));
        Ok((path, file))
    }
}

/// Writes the sound pages over those that were changed.
fn restore(file: &File, overlay: &Overlay<'_>) -> Result<()> {
    let bytes = overlay.below;
    for page in overlay.pages.keys() {
        let start = page * PAGE;
        file.write_all_at(&bytes[start..(start + PAGE).min(bytes.len())], start as u64)?;
    }
    Ok(())
}
