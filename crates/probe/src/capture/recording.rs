//! A recording from its plan to its summary.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use super::changes::{self, CLOCK, TRACER};
use super::detached::{self, Detached};
use super::output::{self, Output};
use super::page::Layout;
use super::reader::Reader;
use super::summary::{self, Cpu, FORMAT, Summary};
use super::{Changes, Device, Error, Mask, event};

/// Bytes for each CPU unless said otherwise: 50 ms of 2.8 million events a second.
pub const BUFFER: u64 = 8 << 20;

/// What to record.
#[derive(Clone, Debug)]
pub struct Options {
    /// Nodes of the devices.
    pub devices: Vec<PathBuf>,
    /// An existing folder for the files.
    pub out: PathBuf,
    /// Categories of events.
    pub mask: Mask,
    /// Bytes of the kernel's buffer for each CPU.
    pub buffer: u64,
}

/// A recording that can begin: everything is checked and nothing touched.
#[derive(Debug)]
pub struct Plan {
    tracefs: Arc<Detached>,
    devices: Vec<Device>,
    cpus: Vec<u32>,
    format: (Layout, u16),
    out: PathBuf,
    mask: Mask,
    buffer: u64,
    changes: Changes,
    /// Held until the recording is over.
    _lock: File,
}

/// A recording that runs. Dropped without [`Recording::finish`], it takes everything back all the
/// same; the files stay as they are.
#[derive(Debug)]
pub struct Recording {
    plan: Plan,
    started: Instant,
    /// Events lost by each CPU before.
    lost: Vec<u64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Reader, Error>>>,
    restored: bool,
}

impl Plan {
    /// Looks at everything and touches nothing.
    ///
    /// # Errors
    /// What is wrong with the request, or what the machine lacks.
    pub fn new(options: &Options) -> Result<Plan, Error> {
        if !(64 << 10..=1 << 30).contains(&options.buffer) {
            return Err(Error::Buffer {
                bytes: options.buffer,
            });
        }
        let devices = distinct(&options.devices)?;
        let tracefs = changes::tracefs()?;
        let format = format(&tracefs)?;
        let cpus = cpus(&tracefs)?;
        for device in &devices {
            for path in [
                output::path(&options.out, device, 0),
                Summary::path(&options.out, &device.name),
            ] {
                if path.exists() {
                    return Err(Error::Exists { path });
                }
            }
        }
        let lock = changes::lock(&tracefs)?;
        let changes = Changes::read(&tracefs, &devices)?;
        Ok(Plan {
            tracefs: Arc::new(tracefs),
            devices,
            cpus,
            format,
            out: options.out.clone(),
            mask: options.mask,
            buffer: options.buffer,
            changes,
            _lock: lock,
        })
    }

    /// What the recording will change, to be written down before it starts.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Starts.
    ///
    /// # Errors
    /// When a setting or a file does not work; what was changed by then is taken back.
    pub fn start(self) -> Result<Recording, Error> {
        let output = Output::create(&self.out, &self.devices, &self.cpus, self.mask)?;
        let mut recording = Recording {
            started: Instant::now(),
            lost: Vec::new(),
            stop: Arc::default(),
            thread: None,
            restored: false,
            plan: self,
        };
        recording.begin(output)?;
        Ok(recording)
    }

    fn lost(&self) -> Vec<u64> {
        let of = |cpu: &u32| {
            let stats = self.tracefs.read(&format!("per_cpu/cpu{cpu}/stats"));
            stats.map_or(0, |text| summary::lost(&text))
        };
        self.cpus.iter().map(of).collect()
    }
}

impl Recording {
    fn begin(&mut self, mut output: Output) -> Result<(), Error> {
        let plan = &self.plan;
        let kib = plan.buffer.div_ceil(1024).to_string();
        // The tracer first: see `changes`. The clock empties the buffer.
        for (name, value) in [
            ("current_tracer", TRACER),
            ("buffer_size_kb", &kib),
            ("trace_clock", CLOCK),
            ("tracing_on", "1"),
        ] {
            plan.tracefs.write(name, value)?;
        }
        self.lost = plan.lost();
        let wall = clock_gettime(ClockId::Realtime);
        let mono = clock_gettime(ClockId::Monotonic);
        let time = mono.tv_sec as u64 * 1_000_000_000 + mono.tv_nsec as u64;
        output.note_clock(time, (wall.tv_sec as u32, wall.tv_nsec as u32))?;
        let reader = Reader::open(&plan.tracefs, plan.format, &plan.cpus, output)?;
        for device in &plan.devices {
            let folder = device.trace();
            detached::write(&folder.join("enable"), "1")?;
            let mask = format!("{:#x}", plan.mask.bits());
            detached::write(&folder.join("act_mask"), &mask)?;
        }
        let stop = Arc::clone(&self.stop);
        let spawned = std::thread::Builder::new()
            .name("fslab-trace".into())
            .spawn(move || reader.run(&stop));
        let thread = spawned
            .map_err(|error| Error::output(&plan.out, "cannot start the reader thread", error))?;
        self.thread = Some(thread);
        self.started = Instant::now();
        Ok(())
    }

    /// Whether the reader stopped by itself, which it does on a full disk: [`Recording::finish`]
    /// tells why.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Stops, reads what is left, takes everything back, and writes the summaries.
    ///
    /// # Errors
    /// When a file cannot be written or a setting not be restored; the rest is restored all the same.
    pub fn finish(mut self) -> Result<Vec<Summary>, Error> {
        let off = self.plan.changes.stop();
        let seconds = self.started.elapsed().as_secs_f64();
        let reader = self.join();
        let lost: Vec<u64> = std::iter::zip(self.plan.lost(), &self.lost)
            .map(|(now, before)| now.saturating_sub(*before))
            .collect();
        let saved = self.plan.tracefs.read("saved_cmdlines").unwrap_or_default();
        // The buffers cannot be restored while they are open; only the files live on.
        let finished = reader.map(|reader| (reader.broken, reader.output));
        self.restored = true;
        let restored = self.plan.changes.restore(&self.plan.tracefs);
        let (broken, output) = finished?;
        let streams = output.finish(&saved)?;
        let summaries = self.plan.summaries(seconds, &streams, &lost, broken);
        for summary in &summaries {
            summary.write(&self.plan.out)?;
        }
        off.and(restored).map(|()| summaries)
    }

    /// Ends it and removes its files: nothing was to be traced after all.
    pub fn discard(self) {
        let plan = &self.plan;
        let files: Vec<PathBuf> = plan
            .devices
            .iter()
            .flat_map(|device| {
                let of = |cpu: &u32| output::path(&plan.out, device, *cpu);
                plan.cpus.iter().map(of)
            })
            .collect();
        drop(self);
        for file in files {
            let _ = std::fs::remove_file(file);
        }
    }

    fn join(&mut self) -> Result<Reader, Error> {
        self.stop.store(true, Ordering::Release);
        let gone = || {
            let error = std::io::Error::other("it ended without an answer");
            Error::output(&self.plan.out, "the reader thread", error)
        };
        let Some(thread) = self.thread.take() else {
            return Err(gone());
        };
        thread.thread().unpark();
        thread.join().unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.restored {
            return;
        }
        // Nothing can be told from here; `fslab clean` finds what did not work.
        let _ = self.plan.changes.stop();
        drop(self.join());
        let _ = self.plan.changes.restore(&self.plan.tracefs);
    }
}

impl Plan {
    fn summaries(
        &self,
        seconds: f64,
        streams: &[output::Stream],
        lost: &[u64],
        broken: u64,
    ) -> Vec<Summary> {
        let kernel = rustix::system::uname();
        let kernel = kernel.release().to_string_lossy().into_owned();
        let all_lost = lost.iter().sum();
        let of = |(device, files): (&Device, &[output::Stream])| {
            let cpus: Vec<Cpu> = files
                .iter()
                .zip(&self.cpus)
                .zip(lost)
                .map(|((file, cpu), lost)| Cpu {
                    cpu: *cpu,
                    events: file.events,
                    bytes: file.bytes,
                    lost: *lost,
                })
                .collect();
            Summary {
                format: FORMAT,
                device: device.name.clone(),
                number: device.numbers(),
                way: "blk tracer".into(),
                clock: CLOCK.into(),
                kernel: kernel.clone(),
                seconds,
                actions: self.mask.to_string(),
                buffer: self.buffer,
                events: cpus.iter().map(|cpu| cpu.events).sum(),
                bytes: cpus.iter().map(|cpu| cpu.bytes).sum(),
                cpus,
                lost: all_lost,
                lost_is_shared: all_lost > 0 && self.devices.len() > 1,
                broken_pages: broken,
                degraded: all_lost > 0 || broken > 0,
                traces_itself: lies_on(&self.out, device),
            }
        };
        let files = streams.chunks(self.cpus.len().max(1));
        self.devices.iter().zip(files).map(of).collect()
    }
}

/// Finds the devices and refuses two with one queue.
fn distinct(paths: &[PathBuf]) -> Result<Vec<Device>, Error> {
    let mut devices: Vec<Device> = Vec::new();
    for path in paths {
        let device = Device::find(path)?;
        if let Some(other) = devices.iter().find(|other| other.same_queue(&device)) {
            return Err(Error::SameQueue {
                one: other.name.clone(),
                other: device.name,
            });
        }
        devices.push(device);
    }
    if devices.is_empty() {
        return Err(Error::NoDevice);
    }
    Ok(devices)
}

fn lies_on(dir: &Path, device: &Device) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |dev: u64| rustix::fs::major(dev) << 20 | rustix::fs::minor(dev);
    std::fs::metadata(dir).is_ok_and(|meta| number(meta.dev()) == device.number)
}

/// Layout of the pages and the number of the tracer's events.
pub(super) fn format(tracefs: &Detached) -> Result<(Layout, u16), Error> {
    let tracers = tracefs.read("available_tracers")?;
    if !tracers.split_whitespace().any(|name| name == TRACER) {
        return Err(Error::NoWay {
            why: format!("this kernel has no blk tracer (available_tracers: {tracers})"),
        });
    }
    let header = tracefs.read("events/header_page")?;
    let layout = Layout::parse(&header).ok_or_else(|| Error::NoWay {
        why: "tracefs's events/header_page is not understood".into(),
    })?;
    let neighbours = (
        tracefs.read("events/ftrace/user_stack/format")?,
        tracefs.read("events/ftrace/bputs/format")?,
    );
    let blk = event::type_of_blk(&neighbours.0, &neighbours.1).ok_or_else(|| Error::NoWay {
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
