//! One launch: started, followed to its end, and ended when it hangs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use params::WorkloadSpec;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use workload::group::each;
use workload::{Error, Observer, Outcome, Workload, metadata, shared};

use crate::launcher::Launcher;
use crate::protocol::{GO, Job, Message, Process, Sign, line, read};
use crate::watch::Watch;
use crate::{identity, shared_memory};

/// How often the interrupt and the clock are looked at.
const TICK: Duration = Duration::from_millis(50);
/// Time for a launcher to end its ranks after SIGTERM.
const TERM: Duration = Duration::from_secs(10);
/// Time for the last lines after the launcher's end, and for its ranks to go.
const DRAIN: Duration = Duration::from_secs(2);
/// Longest line of rank 0: a report of a million ranks.
const LONGEST: u64 = 1 << 30;

/// A workload that runs on ranks.
pub struct Launched<'a> {
    /// Starts them.
    pub launcher: &'a Launcher,
    /// What they run.
    pub spec: WorkloadSpec,
}

impl Workload for Launched<'_> {
    fn kind(&self) -> &'static str {
        self.spec.kind()
    }

    fn dirs(&self) -> Vec<&Path> {
        self.spec.dirs()
    }

    fn writes(&self) -> bool {
        self.spec.writes()
    }

    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        self.spec.parameters().validate()?;
        let Some(ranks) = self.spec.ranks() else {
            return Err(Error::BadOption {
                option: "kind",
                value: self.kind().into(),
                reason: params::ranks::OTHERS.into(),
            });
        };
        let job = Job::of(&self.spec);
        let mut outcome = None;
        let mut phases = 0;
        let mut agreed = None;
        let launched = follow(
            self.launcher,
            ranks,
            &job,
            observer,
            &mut |message| match message {
                Message::Ready(ready) => agreed = Some(self.evidence(&ready)),
                Message::Step(step) => observer.begin(step),
                Message::PhaseStarted(name) => observer.phase_started(&name),
                Message::PhaseFinished(mut phase) => {
                    // It speaks of the whole launch, and stands with its first phase.
                    phase
                        .evidence
                        .extend(agreed.clone().filter(|_| phases == 0));
                    phases += 1;
                    observer.phase_finished(&phase);
                    observer.end();
                }
                Message::Finished(mut done) => {
                    if let Some(first) = done.phases.first_mut() {
                        first.evidence.extend(agreed.clone());
                    }
                    outcome = Some(*done);
                }
            },
        );
        if launched.is_err() {
            match &self.spec {
                WorkloadSpec::Shared(spec) => shared::remove_leftovers(spec),
                WorkloadSpec::Metadata(spec) => metadata::remove_leftovers(spec),
                _ => each::remove_leftovers(&job.dir, ranks),
            }
        }
        launched?;
        outcome.ok_or_else(|| Error::Launcher {
            reason: "rank 0 ended without a result; its messages are in the launcher's output"
                .into(),
        })
    }
}

impl Launched<'_> {
    /// What ran: library, nodes, program.
    fn evidence(&self, ready: &crate::Ready) -> workload::Evidence {
        let nodes = ready.nodes();
        let ranks: Vec<String> = nodes
            .iter()
            .take(16)
            .map(|(node, ranks)| format!("{node} {ranks}"))
            .collect();
        workload::Evidence {
            name: "same_program".into(),
            holds: Some(ready.others.is_empty()),
            detail: format!(
                "{} ranks by {}: {} ({}, ABI {}); ranks by node: {}{}; program {}",
                ready.places.len(),
                self.launcher.words(ready.places.len() as u32).join(" "),
                ready.version,
                ready.library,
                ready.abi,
                ranks.join(", "),
                if nodes.len() > 16 { ", ..." } else { "" },
                ready.program.get(..16).unwrap_or(&ready.program),
            ),
        }
    }
}

/// A line, and from where.
enum Heard {
    Out(String),
    Err(String),
}

/// Runs a job to its end. `take` gets every message of rank 0.
pub(crate) fn follow(
    launcher: &Launcher,
    ranks: u32,
    job: &Job,
    observer: &dyn Observer,
    take: &mut dyn FnMut(Message),
) -> Result<(), Error> {
    let mut launch = Launch::start(launcher, ranks, job)?;
    let ended = launch.listen(launcher.patience, observer, take);
    // Whatever happened, nothing of it stays.
    launch.end();
    ended?;
    let (watch, status) = (&launch.watch, launch.status);
    match status {
        Some(status) if status.success() && watch.failed.is_none() => Ok(()),
        status => Err(watch.verdict(&launch.command, status)),
    }
}

struct Launch {
    command: String,
    ranks: u32,
    child: Child,
    input: Option<ChildStdin>,
    status: Option<ExitStatus>,
    heard: Receiver<Heard>,
    watch: Watch,
}

impl Launch {
    fn start(launcher: &Launcher, ranks: u32, job: &Job) -> Result<Launch, Error> {
        let words = launcher.words(ranks);
        let command = words.join(" ");
        let cannot = |what: String| Error::Launcher {
            reason: format!("{command}: {what}"),
        };
        let program = std::env::current_exe()
            .map_err(|error| cannot(format!("where this program is cannot be read: {error}")))?;
        let mut line_of = Command::new(words.first().map_or("", String::as_str));
        line_of.args(words.iter().skip(1)).arg(program);
        line_of.args(["__rank", "--ranks", &ranks.to_string()]);
        if let Some(library) = &launcher.library {
            line_of.args(["--mpi-library", library]);
        }
        let spawned = line_of
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| {
            cannot(format!("cannot be started: {error}; install an MPI (packages openmpi-bin, mpich), or name a launcher"))
        })?;
        let (sender, heard) = channel();
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            let other = sender.clone();
            std::thread::spawn(move || lines(out, &sender, Heard::Out));
            std::thread::spawn(move || lines(err, &other, Heard::Err));
        }
        let mut launch = Launch {
            command,
            ranks,
            input: child.stdin.take(),
            child,
            status: None,
            heard,
            watch: Watch::default(),
        };
        launch.write(&line(job));
        Ok(launch)
    }

    /// To rank 0. A launcher that is gone already is seen by its end.
    fn write(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line.as_bytes());
        }
    }

    /// Takes lines until the launcher has ended, is interrupted, or hangs.
    fn listen(
        &mut self,
        patience: Duration,
        observer: &dyn Observer,
        take: &mut dyn FnMut(Message),
    ) -> Result<(), Error> {
        let mut last = Instant::now();
        loop {
            match self.heard.recv_timeout(TICK) {
                Ok(heard) => {
                    if self.hear(heard, observer, take) {
                        last = Instant::now();
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Both streams have ended: so has the launcher, or it soon will.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            }
            if self.has_ended() {
                self.drain(observer, take);
                return Ok(());
            }
            if observer.cancelled() {
                return Err(Error::Interrupted {
                    phase: "the ranks' work".into(),
                });
            }
            if last.elapsed() > patience {
                return Err(self.watch.stalled(self.ranks, patience));
            }
        }
    }

    /// Whether it is news of a rank.
    fn hear(
        &mut self,
        heard: Heard,
        observer: &dyn Observer,
        take: &mut dyn FnMut(Message),
    ) -> bool {
        let text = match heard {
            Heard::Out(text) => {
                if let Some(message) = read::<Message>(&text) {
                    let waits = message.waits();
                    take(message);
                    if waits {
                        self.write(&line(&GO));
                    }
                    return true;
                }
                text
            }
            Heard::Err(text) => {
                if let Some(sign) = read::<Sign>(&text) {
                    let more = self.watch.take(sign);
                    if more > 0 {
                        observer.advance(more);
                    }
                    return true;
                }
                text
            }
        };
        self.watch.note(&text);
        false
    }

    /// The last lines: a rank that outlives its launcher may keep the pipes open.
    fn drain(&mut self, observer: &dyn Observer, take: &mut dyn FnMut(Message)) {
        let until = Instant::now() + DRAIN;
        while let Ok(heard) = self
            .heard
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            self.hear(heard, observer, take);
        }
    }

    fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    fn ends_within(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while !self.has_ended() {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(TICK);
        }
        true
    }

    /// Ends the launcher and every rank on this machine that is still there.
    fn end(&mut self) {
        let group = Pid::from_child(&self.child);
        if !self.has_ended() {
            let _ = kill_process_group(group, Signal::TERM);
            // A stopped process takes no other signal.
            let _ = kill_process_group(group, Signal::CONT);
            if !self.ends_within(TERM) {
                let _ = kill_process_group(group, Signal::KILL);
                self.ends_within(DRAIN);
            }
        }
        // Ranks are ended by their launcher, or by the death of its daemon: that takes a moment.
        let boot = identity::boot();
        let here = |process: &&Process| process.boot == boot && identity::is_alive(process);
        let until = Instant::now() + DRAIN;
        while self.watch.processes.iter().any(|process| here(&process)) && Instant::now() < until {
            std::thread::sleep(TICK);
        }
        for process in self.watch.processes.iter().filter(here) {
            if let Some(pid) = Pid::from_raw(process.pid as i32) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        shared_memory::remove(&self.watch.segments);
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.end();
        }
    }
}

/// Sends each line of a stream.
fn lines(stream: impl Read, sender: &Sender<Heard>, heard: fn(String) -> Heard) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut bytes = Vec::new();
        match stream.by_ref().take(LONGEST).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if sender.send(heard(text)).is_err() {
                    return;
                }
            }
        }
    }
}
