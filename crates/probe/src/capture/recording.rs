//! A recording from its plan to its summary, whichever method it takes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::changes::CLOCK;
use super::relay;
use super::request::{Counted, Request};
use super::summary::{Cpu, FORMAT, Summary};
use super::tracer::{self, Tracer};
use super::{Changes, Device, Error, Mask, output};

/// Default bytes of buffer for each CPU: 50 ms of 2.8 million events a second.
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
    asked: Request,
    changes: Changes,
    method: Method,
}

#[derive(Debug)]
enum Method {
    Tracer(Tracer),
    /// The devices' nodes.
    Relay(Vec<PathBuf>),
}

/// A recording that runs. Dropped without [`Recording::finish`], it takes everything back all the
/// same; the files stay as they are.
#[derive(Debug)]
pub struct Recording {
    asked: Request,
    changes: Changes,
    started: Instant,
    /// None once it is over.
    session: Option<Session>,
}

#[derive(Debug)]
enum Session {
    Tracer(tracer::Session),
    Relay(relay::Session),
}

impl Plan {
    /// Looks at everything and touches nothing. The tracer is taken where it is there, the relay files
    /// where it is not.
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
        let (method, changes) = match Tracer::find(&devices) {
            Ok((tracer, changes)) => (Method::Tracer(tracer), changes),
            // Why not the tracer is what people want to know, when there is no other method either.
            Err(error @ Error::NoMethod { .. }) => {
                relay::available().map_err(|_| error)?;
                let nodes = options.devices.iter().map(std::path::absolute);
                let nodes: Vec<PathBuf> = nodes.filter_map(Result::ok).collect();
                let changes = Changes::of_relay(&nodes, &devices);
                (Method::Relay(nodes), changes)
            }
            Err(error) => return Err(error),
        };
        Ok(Plan {
            asked: Request {
                devices,
                out: options.out.clone(),
                mask: options.mask,
                buffer: options.buffer,
            },
            changes,
            method,
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
        let Plan {
            asked,
            changes,
            method,
        } = self;
        let session = match method {
            Method::Tracer(tracer) => Session::Tracer(tracer.start(&asked, &changes)?),
            Method::Relay(nodes) => {
                let kernel = (asked.mask, asked.buffer);
                Session::Relay(relay::Session::start(
                    &nodes,
                    &asked.devices,
                    kernel,
                    &asked.out,
                )?)
            }
        };
        Ok(Recording {
            asked,
            changes,
            started: Instant::now(),
            session: Some(session),
        })
    }
}

impl Recording {
    /// Whether the reader stopped by itself, which it does on a full disk: [`Recording::finish`]
    /// has the reason.
    pub fn has_failed(&self) -> bool {
        match &self.session {
            Some(Session::Tracer(session)) => session.has_failed(),
            Some(Session::Relay(session)) => session.has_failed(),
            None => false,
        }
    }

    /// Stops, reads what is left, takes everything back, and writes the summaries.
    ///
    /// # Errors
    /// When a file cannot be written or a setting not be restored; the rest is restored all the same.
    pub fn finish(mut self) -> Result<Vec<Summary>, Error> {
        let off = match &self.session {
            Some(Session::Tracer(_)) => self.changes.stop(),
            _ => Ok(()),
        };
        let seconds = self.started.elapsed().as_secs_f64();
        let (method, counted) = match self.session.take() {
            Some(Session::Tracer(session)) => {
                ("blk tracer", session.finish(&self.asked, &self.changes)?)
            }
            Some(Session::Relay(session)) => {
                let counted = session.finish()?;
                (
                    "relay files",
                    counted.into_iter().map(Counted::of_relay).collect(),
                )
            }
            None => ("", Vec::new()),
        };
        let summaries = self.summaries(method, seconds, counted);
        for summary in &summaries {
            summary.write(&self.asked.out)?;
        }
        off.map(|()| summaries)
    }

    /// Ends it and removes its files: nothing was to be traced after all.
    pub fn discard(self) {
        let asked = &self.asked;
        let (out, devices) = (asked.out.clone(), asked.devices.clone());
        drop(self);
        for device in devices {
            let of = |cpu: u32| output::path(&out, &device, cpu);
            let mut cpu = 0;
            // Both methods make the files of all CPUs, from 0 on.
            while std::fs::remove_file(of(cpu)).is_ok() {
                cpu += 1;
            }
        }
    }

    fn summaries(&self, method: &str, seconds: f64, counted: Vec<Counted>) -> Vec<Summary> {
        let kernel = rustix::system::uname();
        let kernel = kernel.release().to_string_lossy().into_owned();
        let asked = &self.asked;
        let of = |(device, counted): (&Device, Counted)| Summary {
            format: FORMAT,
            device: device.name.clone(),
            number: device.numbers(),
            way: method.into(),
            clock: CLOCK.into(),
            kernel: kernel.clone(),
            seconds,
            actions: asked.mask.to_string(),
            buffer: asked.buffer,
            events: counted.cpus.iter().map(|cpu| cpu.events).sum(),
            bytes: counted.cpus.iter().map(|cpu| cpu.bytes).sum(),
            cpus: counted.cpus,
            lost: counted.lost,
            lost_is_shared: counted.lost_is_shared,
            broken_pages: counted.broken,
            degraded: counted.lost > 0 || counted.broken > 0,
            traces_itself: lies_on(&asked.out, device),
        };
        asked.devices.iter().zip(counted).map(of).collect()
    }
}

impl Counted {
    /// The kernel's count of a device, and on which CPUs numbers are missing.
    fn of_relay(counted: relay::Counted) -> Counted {
        let cpus = counted.cpus.into_iter();
        let cpus: Vec<Cpu> = cpus
            .map(|(cpu, events, bytes, lost)| Cpu {
                cpu,
                events,
                bytes,
                lost,
            })
            .collect();
        let missing: u64 = cpus.iter().map(|cpu| cpu.lost).sum();
        Counted {
            // Only the kernel knows of losses at the very end of a CPU.
            lost: counted.dropped.max(missing),
            cpus,
            lost_is_shared: false,
            broken: counted.broken,
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // A relay session takes its traces back itself.
        if let Some(Session::Tracer(mut session)) = self.session.take() {
            session.give_up(&self.changes);
        }
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
