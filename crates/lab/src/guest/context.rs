//! The context record of guests: what one reports before the first trial, and what its trials get.

use std::path::PathBuf;
use std::time::Duration;

use guest::machine::{self, Accelerator, Engine};
use probe::context::{ContextRecord, Item};
use study::Trial;

use super::GuestExecutor;
use super::files::Arriving;
use super::image::Image;
use super::job::{GuestMessage, Job};
use super::limits::LEAST_LIMIT;
use crate::error::Error;
use crate::executor::{KernelContext, Surroundings};

/// What times of a guest are. Under KVM the processor itself runs it, but its disk is a file below two
/// kernels, so that is `emulated`, too.
fn timing(engine: Engine) -> &'static str {
    match engine {
        Engine::Qemu(Accelerator::Virtual) => "virtual",
        Engine::Uml | Engine::Qemu(_) => "emulated",
    }
}

impl GuestExecutor<'_> {
    /// The context of one kernel. KVM that does not answer is given up here, for the whole run.
    pub(super) fn taken(
        &mut self,
        at: usize,
        around: &Surroundings,
    ) -> Result<KernelContext, Error> {
        // The binary is hashed here, and while the guest boots: in an emulated one it takes seconds.
        let mut record = std::thread::scope(|scope| {
            // Without a thread it is hashed when it is first needed.
            let hash = std::thread::Builder::new();
            let _ = hash.spawn_scoped(scope, probe::context::binary_sha256);
            match self.take_context(&self.kernels[at], around) {
                Err(error)
                    if self.engine == Engine::Qemu(Accelerator::Kvm) && error.never_began() =>
                {
                    self.watcher
                        .message("KVM does not work here: going on under TCG, emulated");
                    self.no_kvm = Some(error.to_string());
                    self.engine = Engine::Qemu(Accelerator::Tcg);
                    self.take_context(&self.kernels[at], around)
                }
                other => other,
            }
            .map_err(|error| match error {
                machine::Error::Cancelled => Error::Interrupted(error.to_string()),
                other => Error::Guest(other),
            })
        })?;
        let image = &self.kernels[at];
        self.describe(image, &mut record);
        Ok(KernelContext {
            kernel: image.level.clone(),
            record,
        })
    }

    fn take_context(
        &self,
        image: &Image,
        around: &Surroundings,
    ) -> Result<ContextRecord, machine::Error> {
        let mut record = None;
        let job = Job::Context {
            around: Box::new(Surroundings {
                // No other program is in there, whose I/O could be watched.
                watch: Duration::ZERO,
                // The guest names its own, and starts from the same bytes in any folder.
                folder: PathBuf::new(),
                ..around.clone()
            }),
        };
        let mut hear = |printed| {
            if let GuestMessage::Context(taken) = printed {
                record = Some(*taken);
            }
            true
        };
        let name = match &image.level {
            Some(level) => format!("context-{level}"),
            None => "context".to_owned(),
        };
        // A context comes without files; what comes all the same goes with the folder.
        let files = Arriving::new(&self.folder, &name);
        let files = files.map_err(|error| machine::Error::Prepare {
            what: "cannot make the folder for the guest's files".into(),
            source: error.into_io(),
        })?;
        let place = self.place(&name, &files, LEAST_LIMIT);
        let ended = self.boot(image, &job, super::Attached::default(), &place, &mut hear)?;
        record.ok_or_else(|| machine::Error::Died {
            status: format!("code {}", ended.code),
            began: true,
            console: place.console,
            last: ended.last,
        })
    }

    /// Adds what the guest cannot know of itself.
    fn describe(&self, image: &Image, record: &mut ContextRecord) {
        let accelerator = match self.engine {
            Engine::Uml => "none",
            Engine::Qemu(accelerator) => accelerator.name(),
        };
        let host = rustix::system::uname();
        let host = host.release().to_string_lossy().into_owned();
        for (name, value) in [
            ("run.executor", self.target.machine.name()),
            ("run.kernel", &image.called),
            ("run.accelerator", accelerator),
            ("run.timing", timing(self.engine)),
            ("run.host_kernel", &host),
        ] {
            let item = Item {
                number: 50,
                value: value.into(),
                source: "the lab".into(),
                reason: None,
                volatile: false,
            };
            record.items.insert(name.into(), item);
        }
        record.items.extend(probe::context::of_process());
    }

    pub(super) fn context_of(&self, trial: &Trial) -> Option<ContextRecord> {
        let level = self.level(trial);
        let mut all = self.contexts.iter();
        let of_kernel = all.find(|taken| taken.kernel.as_deref() == level)?;
        Some(for_a_guest(of_kernel.record.clone()))
    }
}

/// Without the command, the folder and the environment of the lab and the host's kernel: a guest that reads other
/// words executes other instructions, and what comes after finds other things in memory. In virtual time that was
/// 0.4 % of a trial.
fn for_a_guest(mut record: ContextRecord) -> ContextRecord {
    let of_the_host = |name: &str| match name {
        "run.binary_sha256" => false,
        "run.host_kernel" => true,
        _ => probe::context::OF_PROCESS.contains(&name),
    };
    record.items.retain(|name, _| !of_the_host(name));
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_not_reported_where_the_lab_was_started() {
        let mut record: ContextRecord = serde_json::from_value(serde_json::json!({
            "taken_at": "2026-01-01T00:00:00Z", "monotonic_ns": 1, "took_ms": 1.0, "observed_idle_ms": 0.0,
            "items": {"run.kernel": {"number": 50, "value": "6.1", "source": "the lab"}},
        }))
        .unwrap();
        let one = record.items["run.kernel"].clone();
        let of_process = probe::context::OF_PROCESS.map(|name| (name.to_owned(), one.clone()));
        record.items.extend(of_process);
        record.items.insert("run.host_kernel".into(), one);
        let reported = for_a_guest(record);
        let names: Vec<&str> = reported.items.keys().map(String::as_str).collect();
        assert_eq!(names, ["run.binary_sha256", "run.kernel"]);
    }
}
