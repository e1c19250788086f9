//! A recording through ftrace's blk tracer.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::changes::{CLOCK, TRACER};
use super::detached::{self, Detached};
use super::output::Output;
use super::page::Layout;
use super::reader::Reader;
use super::request::{Counted, Request};
use super::summary::{self, Cpu};
use super::{Changes, Device, Error, changes, event};

/// The tracer, free and locked.
#[derive(Debug)]
pub(super) struct Tracer {
    tracefs: Arc<Detached>,
    cpus: Vec<u32>,
    format: (Layout, u16),
    /// Held until the recording is over.
    _lock: File,
}

/// A recording that runs.
#[derive(Debug)]
pub(super) struct Session {
    tracer: Tracer,
    /// Events lost by each CPU before.
    lost: Vec<u64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Reader, Error>>>,
}

impl Tracer {
    /// Finds it and what is to be restored.
    pub(super) fn find(devices: &[Device]) -> Result<(Tracer, Changes), Error> {
        let tracefs = changes::tracefs()?;
        let format = format(&tracefs)?;
        let cpus = cpus(&tracefs)?;
        let lock = changes::lock(&tracefs)?;
        let changes = Changes::read(&tracefs, devices)?;
        let tracer = Tracer {
            tracefs: Arc::new(tracefs),
            cpus,
            format,
            _lock: lock,
        };
        Ok((tracer, changes))
    }

    fn lost(&self) -> Vec<u64> {
        let of = |cpu: &u32| {
            let stats = self.tracefs.read(&format!("per_cpu/cpu{cpu}/stats"));
            stats.map_or(0, |text| summary::lost(&text))
        };
        self.cpus.iter().map(of).collect()
    }

    /// Lets it run; what it changes is taken back by `changes` when this fails.
    pub(super) fn start(self, asked: &Request, changes: &Changes) -> Result<Session, Error> {
        let output = Output::create(&asked.out, &asked.devices, &self.cpus, asked.mask)?;
        let mut session = Session {
            tracer: self,
            lost: Vec::new(),
            stop: Arc::default(),
            thread: None,
        };
        match session.begin(asked, output) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.give_up(changes);
                Err(error)
            }
        }
    }
}

impl Session {
    fn begin(&mut self, asked: &Request, mut output: Output) -> Result<(), Error> {
        let tracer = &self.tracer;
        let kib = asked.buffer.div_ceil(1024).to_string();
        // The tracer first: see `changes`. The clock empties the buffer.
        for (name, value) in [
            ("current_tracer", TRACER),
            ("buffer_size_kb", &kib),
            ("trace_clock", CLOCK),
            ("tracing_on", "1"),
        ] {
            tracer.tracefs.write(name, value)?;
        }
        self.lost = tracer.lost();
        let wall = clock::realtime_ns();
        let time = clock::monotonic_ns();
        let wall = ((wall / 1_000_000_000) as u32, (wall % 1_000_000_000) as u32);
        output.note_clock(time, wall)?;
        let reader = Reader::open(&tracer.tracefs, tracer.format, &tracer.cpus, output)?;
        for device in &asked.devices {
            let folder = device.trace();
            detached::write(&folder.join("enable"), "1")?;
            let mask = format!("{:#x}", asked.mask.bits());
            detached::write(&folder.join("act_mask"), &mask)?;
        }
        let stop = Arc::clone(&self.stop);
        let spawned = std::thread::Builder::new()
            .name("fslab-trace".into())
            .spawn(move || reader.run(&stop));
        let thread = spawned
            .map_err(|error| Error::output(&asked.out, "cannot start the reader thread", error))?;
        self.thread = Some(thread);
        Ok(())
    }

    /// Whether the reader stopped by itself.
    pub(super) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Reads what is left and takes everything back, after the devices were switched off. A count for
    /// each device.
    pub(super) fn finish(
        mut self,
        asked: &Request,
        changes: &Changes,
    ) -> Result<Vec<Counted>, Error> {
        let reader = self.join(&asked.out);
        let tracer = &self.tracer;
        let lost: Vec<u64> = std::iter::zip(tracer.lost(), &self.lost)
            .map(|(now, before)| now.saturating_sub(*before))
            .collect();
        let saved = tracer.tracefs.read("saved_cmdlines").unwrap_or_default();
        // The buffers cannot be restored while they are open; only the files live on.
        let finished = reader.map(|reader| (reader.broken, reader.output));
        let restored = changes.restore(&tracer.tracefs);
        let (broken, output) = finished?;
        let streams = output.finish(&saved)?;
        let all: u64 = lost.iter().sum();
        let of = |files: &[super::output::Stream]| {
            let cpus = files.iter().zip(&tracer.cpus).zip(&lost);
            Counted {
                cpus: cpus
                    .map(|((file, cpu), lost)| Cpu {
                        cpu: *cpu,
                        events: file.events,
                        bytes: file.bytes,
                        lost: *lost,
                    })
                    .collect(),
                lost: all,
                lost_is_shared: all > 0 && asked.devices.len() > 1,
                broken,
            }
        };
        let counted = streams.chunks(tracer.cpus.len().max(1)).map(of).collect();
        restored.map(|()| counted)
    }

    /// Takes everything back; the files stay as they are.
    pub(super) fn give_up(&mut self, changes: &Changes) {
        // An error cannot be returned from here; `fslab clean` finds what was not undone.
        let _ = changes.stop();
        if self.thread.is_some() {
            drop(self.join(Path::new("")));
        }
        let _ = changes.restore(&self.tracer.tracefs);
    }

    fn join(&mut self, out: &Path) -> Result<Reader, Error> {
        self.stop.store(true, Ordering::Release);
        let gone = || {
            let error = std::io::Error::other("it ended without an answer");
            Error::output(out, "the reader thread", error)
        };
        let Some(thread) = self.thread.take() else {
            return Err(gone());
        };
        thread.thread().unpark();
        thread.join().unwrap_or_else(|_| Err(gone()))
    }
}

/// Layout of the pages and the number of the tracer's events.
pub(super) fn format(tracefs: &Detached) -> Result<(Layout, u16), Error> {
    let tracers = tracefs.read("available_tracers")?;
    if !tracers.split_whitespace().any(|name| name == TRACER) {
        return Err(Error::NoMethod {
            why: format!("this kernel has no blk tracer (available_tracers: {tracers})"),
        });
    }
    let header = tracefs.read("events/header_page")?;
    let layout = Layout::parse(&header).ok_or_else(|| Error::NoMethod {
        why: "tracefs's events/header_page is not understood".into(),
    })?;
    let neighbours = (
        tracefs.read("events/ftrace/user_stack/format")?,
        tracefs.read("events/ftrace/bputs/format")?,
    );
    let blk = event::type_of_blk(&neighbours.0, &neighbours.1).ok_or_else(|| Error::NoMethod {
        why: "the number of the blk tracer's events is not between user_stack's and bputs's".into(),
    })?;
    Ok((layout, blk))
}

/// The CPUs that have a buffer.
fn cpus(tracefs: &Detached) -> Result<Vec<u32>, Error> {
    let folder = tracefs.path("per_cpu");
    let entries = std::fs::read_dir(&folder)
        .map_err(|error| Error::kernel(&folder, "cannot list the CPUs", error))?;
    let mut cpus: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_prefix("cpu")?
                .parse()
                .ok()
        })
        .collect();
    cpus.sort_unstable();
    Ok(cpus)
}
