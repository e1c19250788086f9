//! The guest's side of a trial: the very same executor, on the guest's own disk.
//!
//! The run's folder is one of the guest's memory. What a trial leaves in it (telemetry, listings,
//! traces, a checker's output) goes to the host file by file when the trial is over, under
//! the names that its events gave.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use guest::init::ChannelWriter;
use progress::{Event, Progress, Step};
use record::RunFolder;
use serde::Serialize;
use serde_json::Value;
use study::Trial;

use super::disks;
use super::job::{GuestMessage, Job};
use crate::executor::{Executor as _, KernelContext, Surroundings};
use crate::interrupt::Interrupt;
use crate::local::LocalExecutor;
use crate::watch::Watcher;

/// The run's folder within the guest.
const FOLDER: &str = "/run/fslab/trial";
/// Persistent memory within the guest.
const PERSISTENT: &str = "/dev/pmem0";
/// How long a disk may take to appear after its driver.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest time between two reports of progress.
const PACE: Duration = Duration::from_secs(1);

/// Is the guest, if this process is one: it does not come back then.
pub fn be_guest() -> Option<Infallible> {
    guest::init::asked().then(|| guest::init::run(work))
}

fn work(job: Value, channel: &ChannelWriter) -> i32 {
    let done = serde_json::from_value(job)
        .map_err(|error| format!("the job cannot be read: {error}"))
        .and_then(|job| match job {
            Job::Context { around } => context(*around, channel),
            Job::Trial {
                trial,
                context,
                serials,
                persistent,
            } => {
                let trial = Inside {
                    trial: *trial,
                    serials,
                    persistent,
                    channel,
                };
                trial.run(context.map(|context| *context))
            }
        });
    match done {
        Ok(()) => 0,
        Err(why) => {
            // The console's last words are what the host quotes.
            eprintln!("fslab: {why}");
            1
        }
    }
}

fn context(mut around: Surroundings, channel: &ChannelWriter) -> Result<(), String> {
    // The host puts its own in the place: this program was cut down for the guest.
    probe::context::binary_is(String::new());
    around.folder = PathBuf::from("/run");
    around.device = None;
    send(channel, &GuestMessage::Context(Box::new(around.take())))
}

fn send(channel: &ChannelWriter, message: &impl Serialize) -> Result<(), String> {
    let message = serde_json::to_value(message).map_err(|error| error.to_string())?;
    channel.send_document(message)
}

struct Inside<'a> {
    trial: Trial,
    serials: Vec<String>,
    persistent: bool,
    channel: &'a ChannelWriter,
}

impl Inside<'_> {
    fn run(self, context: Option<probe::context::ContextRecord>) -> Result<(), String> {
        let folder = RunFolder::create(Path::new(FOLDER)).map_err(|error| error.to_string())?;
        let class = Path::new("/sys/block");
        let found = self.serials.iter().map(|serial| {
            let node = disk(class, serial, PATIENCE)?;
            Ok((node, serial.clone()))
        });
        let target = disks::target(found.collect::<Result<_, String>>()?);
        let (watcher, interrupt) = (ChannelWatcher::new(self.channel), Interrupt::manual());
        let mut executor = LocalExecutor::open(&target, &folder, &watcher, &interrupt)
            .map_err(|error| error.to_string())?;
        executor.leave_logs();
        if self.persistent {
            executor.store_on(persistent(PATIENCE)?);
        }
        if let Some(context) = context {
            let hash = context.value("run.binary_sha256").and_then(Value::as_str);
            probe::context::binary_is(hash.unwrap_or_default().to_owned());
            executor.compare_with(vec![KernelContext {
                kernel: None,
                record: context,
            }]);
        }
        let channel = self.channel;
        let mut emit = |event: record::Event| {
            send(channel, &GuestMessage::Event(Box::new(as_the_hosts(event)))).is_ok()
        };
        if let Err(failure) = executor.run(&self.trial, &mut emit) {
            let failed = GuestMessage::Failed {
                kind: failure.kind,
                message: failure.message,
                ledger: failure.ledger,
            };
            send(channel, &failed)?;
        }
        drop(executor);
        channel.send_below(folder.dir(), &|path| !is_result(path))
    }
}

/// Without what a trial's context says of init's own process: the run's has the lab's.
fn as_the_hosts(mut event: record::Event) -> record::Event {
    if let record::Event::Context { context, .. } = &mut event
        && let Some(Value::Object(items)) = context.get_mut("items")
    {
        items.retain(|name, _| !probe::context::OF_PROCESS.contains(&name.as_str()));
    }
    event
}

/// Whether a path of the run's folder is something that a trial leaves there.
fn is_result(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    !matches!(first, "lock" | "images" | "mnt" | "events.jsonl") && first != rig::undo::FILE
}

/// Looks for what a driver makes until it is there.
fn appears<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begun.elapsed() >= patience {
            return found;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The node of persistent memory.
fn persistent(patience: Duration) -> Result<PathBuf, String> {
    let node = Path::new(PERSISTENT);
    appears(patience, || node.exists().then(|| node.to_owned())).ok_or_else(|| {
        format!("no {PERSISTENT}: are its drivers (virtio_pmem, nd_pmem) among the modules?")
    })
}

/// The node of the disk with this serial.
fn disk(class: &Path, serial: &str, patience: Duration) -> Result<PathBuf, String> {
    appears(patience, || with_serial(class, serial)).ok_or_else(|| {
        format!("no disk has the serial {serial}: is its driver (virtio_blk) among the modules?")
    })
}

fn with_serial(class: &Path, serial: &str) -> Option<PathBuf> {
    let disks = fs::read_dir(class).ok()?;
    disks
        .filter_map(Result::ok)
        .find(|disk| {
            let found = fs::read_to_string(disk.path().join("serial")).unwrap_or_default();
            found.trim() == serial
        })
        .map(|disk| Path::new("/dev").join(disk.file_name()))
}

/// Sends to the host what a watcher gets here.
struct ChannelWatcher<'a> {
    channel: &'a ChannelWriter,
    unsent: Mutex<Unsent>,
}

impl<'a> ChannelWatcher<'a> {
    fn new(channel: &'a ChannelWriter) -> Self {
        ChannelWatcher {
            channel,
            unsent: Mutex::default(),
        }
    }

    // A host that receives nothing stops the machine, so the error is ignored here.
    fn send(&self, message: &GuestMessage) {
        let _ = send(self.channel, message);
    }

    fn report(&self, event: Event) {
        let mut unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        for event in unsent.take(event, Instant::now()) {
            self.send(&GuestMessage::Progress(event));
        }
    }
}

impl Watcher for ChannelWatcher<'_> {
    fn activity(&self, _trial: &Trial, activity: &str) {
        self.send(&GuestMessage::Activity(activity.into()));
    }
}

impl Progress for ChannelWatcher<'_> {
    fn begin(&self, step: Step) {
        self.report(Event::Begin(step));
    }

    fn foresee(&self, amount: u64) {
        self.report(Event::Foresee(amount));
    }

    fn expect(&self, amount: u64) {
        self.report(Event::Expect(amount));
    }

    fn advance(&self, amount: u64) {
        self.report(Event::Advance(amount));
    }

    fn moved(&self, bytes: u64) {
        self.report(Event::Moved(bytes));
    }

    fn end(&self) {
        self.report(Event::End);
    }

    fn message(&self, text: &str) {
        self.report(Event::Message(text.to_owned()));
    }
}

/// Amounts that the host has not got yet.
#[derive(Debug, Default)]
struct Unsent {
    expected: u64,
    advanced: u64,
    moved: u64,
    sent: Option<Instant>,
}

impl Unsent {
    /// Takes an event in. Returns what is to be sent now: amounts once in [`PACE`], and before anything else, whose meaning
    /// depends on them.
    fn take(&mut self, event: Event, now: Instant) -> Vec<Event> {
        let other = match event {
            Event::Expect(more) => {
                self.expected += more;
                None
            }
            Event::Advance(more) => {
                self.advanced += more;
                None
            }
            Event::Moved(more) => {
                self.moved += more;
                None
            }
            other => Some(other),
        };
        let early = |sent: Instant| now.saturating_duration_since(sent) < PACE;
        if other.is_none() && self.sent.is_some_and(early) {
            return Vec::new();
        }
        self.sent = Some(now);
        let Unsent {
            expected,
            advanced,
            moved,
            ..
        } = std::mem::replace(
            self,
            Unsent {
                sent: self.sent,
                ..Unsent::default()
            },
        );
        let amounts = [
            (expected, Event::Expect(expected)),
            (moved, Event::Moved(moved)),
            (advanced, Event::Advance(advanced)),
        ];
        let amounts = amounts.into_iter().filter(|(amount, _)| *amount > 0);
        amounts.map(|(_, event)| event).chain(other).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_known_by_its_serial() {
        let temp = tempfile::tempdir().unwrap();
        for (name, serial) in [("vda", "disk1"), ("vdb", "disk0\n")] {
            fs::create_dir(temp.path().join(name)).unwrap();
            fs::write(temp.path().join(name).join("serial"), serial).unwrap();
        }
        let found = |serial| disk(temp.path(), serial, Duration::ZERO);
        assert_eq!(found("disk0"), Ok("/dev/vdb".into()));
        assert!(found("disk9").unwrap_err().contains("virtio_blk"));
    }

    #[test]
    fn amounts_are_sent_once_a_second_and_never_after_what_follows_them() {
        let (begun, mut unsent) = (Instant::now(), Unsent::default());
        let at = |ms| begun + Duration::from_millis(ms);
        let (advance, moved) = (Event::Advance, Event::Moved);
        assert_eq!(unsent.take(advance(1), at(0)), [advance(1)]);
        assert_eq!(unsent.take(advance(2), at(100)), []);
        assert_eq!(unsent.take(moved(50), at(200)), []);
        assert_eq!(unsent.take(advance(3), at(1000)), [moved(50), advance(5)]);
        assert_eq!(unsent.take(advance(4), at(1100)), []);
        assert_eq!(unsent.take(Event::End, at(1200)), [advance(4), Event::End]);
        assert_eq!(unsent.take(Event::End, at(1201)), [Event::End]);
    }

    #[test]
    fn a_trials_context_says_nothing_of_init() {
        let items =
            serde_json::json!({"items": {"run.command_line": 1, "system.kernel.release": 2}});
        let event = as_the_hosts(record::Event::Context {
            when: "trial 1".into(),
            context: items,
        });
        let record::Event::Context { context, .. } = event else {
            panic!("{event:?}");
        };
        assert_eq!(
            context,
            serde_json::json!({"items": {"system.kernel.release": 2}})
        );
    }

    #[test]
    fn what_belongs_to_the_guests_folder_alone_stays_there() {
        for path in ["lock", "images/x", "mnt", "events.jsonl", rig::undo::FILE] {
            assert!(!is_result(path), "{path}");
        }
        assert!(is_result("telemetry/trial-0001.tele"));
        assert!(is_result("traces"));
    }
}
