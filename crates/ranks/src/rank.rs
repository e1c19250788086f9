//! A rank: what `fslab __rank` runs.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use params::WorkloadSpec;
use progress::Progress;
use rustix::process::{Signal, set_parent_process_death_signal};
use workload::group::{Group, Place, Stage, each};
use workload::{Error, Evidence, Observer, Outcome, PhaseReport, metadata, shared};

use crate::choice::{Started, candidates};
use crate::identity;
use crate::mpi::Library;
use crate::protocol::{GO, Job, LONGEST, Message, Ready, Sign, line};

/// How often a rank at work shows that it is.
const SIGN: Duration = Duration::from_secs(2);
/// Time for a last message to pass the launcher before all ranks are ended.
const DRAIN: Duration = Duration::from_millis(200);

/// The exit code of a launch that could not begin.
pub const USAGE: u8 = 2;
/// The exit code of a rank that failed.
pub const FAILED: u8 = 1;

/// The arguments of `fslab __rank`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// Ranks that the launcher was asked for.
    pub ranks: u32,
    /// The library to load.
    pub library: Option<String>,
}

impl Args {
    /// From the words after `__rank`; none: they are not its own.
    pub fn of(mut words: impl Iterator<Item = String>) -> Option<Args> {
        let mut args = Args::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--ranks" => args.ranks = words.next()?.parse().ok()?,
                "--mpi-library" => args.library = Some(words.next()?),
                _ => return None,
            }
        }
        (args.ranks > 0).then_some(args)
    }
}

/// Runs a rank to its end: its exit code.
pub fn run(args: &Args) -> u8 {
    // When the launcher's daemon on this node dies, so does its rank, whatever it does.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    sign(&Sign::Begun(identity::here()));
    if let Some(why) = crate::cannot_load() {
        return refused(why.into());
    }
    let started = Started::of(|name| std::env::var_os(name).is_some());
    let library = match Library::load(&candidates(args.library.as_deref(), started)) {
        Ok(library) => library,
        Err(error) => return refused(error.to_string()),
    };
    let begun = library.init().and_then(|()| library.rank_and_size());
    let (rank, size) = match begun {
        Ok(begun) => begun,
        Err(error) => return refused(format!("{} ({}): {error}", library.version, library.name)),
    };
    if size != args.ranks {
        let code = refused(format!(
            "{} ({}) sees {size} of {} ranks: it is not the library of {}, which started this process; name that \
             with --mpi-library, or use the library's own launcher",
            library.version,
            library.name,
            args.ranks,
            started.words()
        ));
        let _ = library.finalize();
        return code;
    }
    let outcome = Mpi::meet(&library, rank, size).and_then(|group| work(&group));
    match outcome {
        Ok(()) => u8::from(library.finalize().is_err()),
        Err(error) => {
            let usage = matches!(error, Error::BadOption { .. });
            sign(&failed(Some(rank), error.to_string(), usage));
            // The others wait at a barrier, and would for ever.
            std::thread::sleep(DRAIN);
            library.abort(FAILED.into());
            FAILED
        }
    }
}

fn refused(message: String) -> u8 {
    sign(&failed(None, message, true));
    USAGE
}

fn failed(rank: Option<u32>, message: String, usage: bool) -> Sign {
    let mut message = message;
    let end = message.char_indices().nth(LONGEST).map(|(at, _)| at);
    message.truncate(end.unwrap_or(message.len()));
    Sign::Failed {
        rank,
        node: Place::here().node,
        message,
        usage,
    }
}

/// One short line on standard error, in one write.
fn sign(sign: &Sign) {
    // Without a reader the launcher is gone, and so will this process be.
    let _ = io::stderr().lock().write_all(line(sign).as_bytes());
}

fn work(group: &Mpi<'_>) -> Result<(), Error> {
    let ready = group.ready()?;
    let job = group.job()?;
    if group.rank == 0 {
        say(&Message::Ready(Box::new(ready.clone())));
    }
    if let [other, ..] = ready.others[..] {
        return Err(Error::Rank {
            rank: other,
            node: ready.places[other as usize].node.clone(),
            reason: "its fslab is another program than rank 0's; install the same on all nodes"
                .into(),
        });
    }
    let Some(spec) = job.placed() else {
        return group.barrier();
    };
    let over = Arc::new(AtomicBool::new(false));
    let shower = group.shows(&over);
    let observer = RankObserver { dir: &job.dir };
    let outcome = match &spec {
        WorkloadSpec::Shared(spec) => shared::run_rank(spec, group, &observer),
        WorkloadSpec::Metadata(spec) => metadata::run_rank(spec, group, &observer),
        // Those that each rank runs by itself.
        other => each::run_rank(other, (&job.dir, job.seed), group, &observer),
    };
    over.store(true, Ordering::Relaxed);
    drop(shower);
    let outcome: Option<Outcome> = outcome?;
    group.barrier()?;
    if let Some(outcome) = outcome {
        say(&Message::Finished(Box::new(outcome)));
    }
    Ok(())
}

/// Rank 0 reports.
fn say(message: &Message) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(line(message).as_bytes());
    let _ = out.flush();
}

/// Rank 0 reports, and waits until that was taken in. Without anyone to answer the launcher is gone, and so will this process be.
fn ask(message: &Message) {
    say(message);
    let mut answer = String::new();
    while matches!(io::stdin().lock().read_line(&mut answer), Ok(read) if read > 0) {
        if crate::protocol::read::<String>(&answer).as_deref() == Some(GO) {
            return;
        }
        answer.clear();
    }
}

/// What a rank's workload sees.
struct RankObserver<'a> {
    dir: &'a Path,
}

impl Progress for RankObserver<'_> {
    fn begin(&self, step: progress::Step) {
        say(&Message::Step(step));
    }
}

impl Observer for RankObserver<'_> {
    fn phase_started(&self, name: &str) {
        ask(&Message::PhaseStarted(name.to_owned()));
    }

    fn phase_finished(&self, phase: &PhaseReport) {
        ask(&Message::PhaseFinished(Box::new(phase.clone())));
    }

    fn drop_caches(&self, files: &[&Path]) -> io::Result<Evidence> {
        let proof = rig::cache::drop_and_prove(self.dir, files, &[]).map_err(io::Error::other)?;
        Ok(Evidence {
            name: "cold_cache".into(),
            holds: proof.holds,
            detail: proof.detail(),
        })
    }
}

/// Where a rank was last.
#[derive(Clone, Debug, Default)]
struct Where {
    phase: String,
    stage: Option<Stage>,
}

/// All ranks of MPI.
struct Mpi<'a> {
    library: &'a Library,
    rank: u32,
    size: u32,
    places: Vec<Place>,
    done: Arc<AtomicU64>,
    at: Arc<Mutex<Where>>,
}

fn lost(error: &crate::mpi::Error) -> Error {
    Error::Launcher {
        reason: error.to_string(),
    }
}

impl<'a> Mpi<'a> {
    /// Exchanges where the ranks are.
    fn meet(library: &'a Library, rank: u32, size: u32) -> Result<Mpi<'a>, Error> {
        let here = Place::here();
        sign(&Sign::Is {
            rank,
            pid: here.pid,
            node: here.node.clone(),
        });
        let mut group = Mpi {
            library,
            rank,
            size,
            places: Vec::new(),
            done: Arc::default(),
            at: Arc::default(),
        };
        group.places = group.exchange(&here)?;
        Ok(group)
    }

    /// What every rank has, at every rank.
    fn exchange<T>(&self, mine: &T) -> Result<Vec<T>, Error>
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        let unreadable = |error: serde_json::Error| Error::Launcher {
            reason: format!("a message between ranks cannot be read: {error}"),
        };
        let mine = serde_json::to_value(mine).map_err(unreadable)?;
        let all = self.gather(mine.to_string().into_bytes())?;
        let texts = all.iter().map(|bytes| String::from_utf8_lossy(bytes));
        let list = texts.collect::<Vec<_>>().join(",");
        let all = self.broadcast(format!("[{list}]").into_bytes())?;
        serde_json::from_slice(&all).map_err(unreadable)
    }

    /// Who is there, and whether all run one program.
    fn ready(&self) -> Result<Ready, Error> {
        let files = self.exchange(&identity::file())?;
        // The same file of the same kernel is the same program: only the first of each reads it.
        let own = |rank: usize| (&self.places[rank].boot, &files[rank]);
        let first = (0..files.len()).find(|rank| own(*rank) == own(self.rank as usize));
        let is_first = first == Some(self.rank as usize);
        let mine = if is_first {
            identity::program()
        } else {
            String::new()
        };
        let programs = self.exchange(&mine)?;
        let zeroth = programs.first().cloned().unwrap_or_default();
        let differs = |(_, program): &(u32, &String)| !program.is_empty() && **program != zeroth;
        let others = (0..).zip(&programs).filter(differs);
        Ok(Ready {
            version: self.library.version.clone(),
            library: self.library.name.clone(),
            abi: self.library.abi.name().into(),
            places: self.places.clone(),
            others: others.map(|(rank, _)| rank).collect(),
            program: zeroth,
        })
    }

    /// The job that rank 0 was given.
    fn job(&self) -> Result<Job, Error> {
        let mut text = String::new();
        if self.rank == 0 {
            let read = io::stdin().lock().read_line(&mut text);
            read.map_err(|error| Error::Launcher {
                reason: format!("the job cannot be read: {error}"),
            })?;
        }
        let text = self.broadcast(text.into_bytes())?;
        let text = String::from_utf8_lossy(&text);
        crate::protocol::read(&text).ok_or_else(|| Error::Launcher {
            reason: "rank 0 was given no job: the launcher does not hand on its standard input (srun needs --input=0)".into(),
        })
    }

    /// Shows that this rank is at work, as long as it is.
    fn shows(&self, over: &Arc<AtomicBool>) -> Shower {
        let (rank, done, at) = (self.rank, Arc::clone(&self.done), Arc::clone(&self.at));
        let over = Arc::clone(over);
        let thread = std::thread::spawn(move || {
            let mut shown = 0;
            let mut waited = Duration::ZERO;
            let tick = SIGN / 20;
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(tick);
                waited += tick;
                let now = done.load(Ordering::Relaxed);
                if waited < SIGN || now == shown {
                    continue;
                }
                (waited, shown) = (Duration::ZERO, now);
                let at = at.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(stage) = at.stage {
                    sign(&Sign::At {
                        rank,
                        phase: at.phase,
                        stage,
                        done: now,
                    });
                }
            }
        });
        Shower(Some(thread))
    }
}

/// The thread that shows it.
struct Shower(Option<std::thread::JoinHandle<()>>);

impl Drop for Shower {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Group for Mpi<'_> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn places(&self) -> &[Place] {
        &self.places
    }

    fn is_of_processes(&self) -> bool {
        true
    }

    fn barrier(&self) -> Result<(), Error> {
        self.library.barrier().map_err(|error| lost(&error))
    }

    fn broadcast(&self, mine: Vec<u8>) -> Result<Vec<u8>, Error> {
        let mut length = (mine.len() as u64).to_le_bytes();
        let sent = self.library.broadcast(&mut length);
        sent.map_err(|error| lost(&error))?;
        let length = u64::from_le_bytes(length) as usize;
        let mut bytes = if self.rank == 0 {
            mine
        } else {
            vec![0; length]
        };
        let sent = self.library.broadcast(&mut bytes);
        sent.map_err(|error| lost(&error))?;
        Ok(bytes)
    }

    fn gather(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        let lengths = self.all(mine.len() as u64)?;
        let all = self.library.gather(&mine, &lengths, self.rank);
        all.map_err(|error| lost(&error))
    }

    fn all(&self, mine: u64) -> Result<Vec<u64>, Error> {
        let all = self.library.all(mine, self.size);
        all.map_err(|error| lost(&error))
    }

    fn send(&self, to: u32, value: u64) -> Result<(), Error> {
        let sent = self.library.send(to, value);
        sent.map_err(|error| lost(&error))
    }

    fn receive(&self, from: u32) -> Result<u64, Error> {
        let received = self.library.receive(from);
        received.map_err(|error| lost(&error))
    }

    fn done(&self) -> &AtomicU64 {
        &self.done
    }

    fn at(&self, phase: &str, stage: Stage) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Where {
            phase: phase.to_owned(),
            stage: Some(stage),
        };
        sign(&Sign::At {
            rank: self.rank,
            phase: phase.to_owned(),
            stage,
            done: self.done.load(Ordering::Relaxed),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_its_own_or_refused() {
        let of = |words: &[&str]| Args::of(words.iter().map(|word| (*word).to_owned()));
        let args = of(&["--ranks", "4", "--mpi-library", "/x"]).unwrap();
        assert_eq!((args.ranks, args.library.as_deref()), (4, Some("/x")));
        for wrong in [&["--ranks", "0"][..], &["--ranks"], &["--rank", "1"], &[]] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_long_failure_is_one_short_line() {
        let text = line(&failed(Some(3), "é".repeat(5000), false));
        assert!(
            text.len() < 1500 && text.matches('\n').count() == 1,
            "{}",
            text.len()
        );
    }
}
