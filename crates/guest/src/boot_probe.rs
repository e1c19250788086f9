//! Whether a kernel of the cache runs on this machine: it is booted once, and the answer is kept.
//!
//! A guest kernel depends on more than its version. User-mode Linux hands the registers of its processes to the
//! host's ptrace in a buffer whose size was fixed when it was built, and a processor with AMX has more state than
//! UML 6.1 and 6.12 expect: every process of the guest dies. A container may forbid ptrace(2) or seccomp(2), a host
//! may have no user namespaces. No list of such cases would be complete, so a kernel is tried: a test boot runs
//! threads that hold values in vector registers across system calls, with this program as the guest's init.
//!
//! A test boot takes one to ten seconds. Its answer is a file of the cache, `probes/NAME@KEY.json`, and is valid for the
//! same image, processor flags, host kernel and rights ([`Key`]); a cache that several machines share has an answer
//! for each. Where UML can run its processes in more than one way (ptrace, or seccomp filters since 6.16), each way
//! is tried and the fastest is kept.
//!
//! A failure of this machine, such as a full disk, is no answer and is not kept. A boot that ran into its time limit is
//! tried again after a day, since the machine may have been busy.

mod key;
mod store;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use key::Key;

use crate::init::{self, Exercise};
use crate::initramfs::{Job, Part, Store};
use crate::kernel::{Cache, Form, Kernel};
use crate::machine::{self, Accelerator, Engine, Error, Limits, Machine};
use progress::Silent;

/// Memory of a test boot, bytes: the archive with a debug build of this program takes 150 MB of it.
const MEMORY: u64 = 512 << 20;
/// What an image without modules of its own needs for the channel.
const VIRTIO: [&str; 3] = ["virtio_pci", "virtio_blk", "virtio_console"];
/// Time limits of a test boot on User-mode Linux.
const UML_LIMITS: Limits = Limits {
    first_line: Duration::from_secs(40),
    silence: Duration::from_secs(40),
    whole: Duration::from_secs(120),
};
/// Time limits of a test boot under QEMU, which may emulate the processor.
const QEMU_LIMITS: Limits = Limits {
    first_line: Duration::from_secs(90),
    silence: Duration::from_secs(90),
    whole: Duration::from_secs(300),
};
/// How long KVM may take to its first line before emulation is tried.
const KVM_FIRST_LINE: Duration = Duration::from_secs(10);
/// After this time a boot that ran into its time limit is tried again.
const TIME_OUT_HOLDS: u64 = 24 * 3600;
/// A way that is listed later must take less than this share of an earlier one's time: one boot is a short
/// measurement, and the earlier way is the faster one for most programs.
const CLEARLY: f64 = 0.8;
/// More CPUs make a test boot no faster.
const MOST_CPUS: usize = 4;

/// The answer of a test boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The kernel's name in the cache.
    pub kernel: String,
    /// What the answer is valid for.
    pub key: Key,
    /// When it was tried, in seconds since 1970.
    pub at: u64,
    /// What was found.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What a test boot showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The kernel runs.
    Works {
        /// Words to add to its command line, for the fastest way that works.
        append: Vec<String>,
        /// Seconds from the start to init's first line.
        boot_seconds: f64,
        /// Seconds from the start until the machine was gone.
        seconds: f64,
    },
    /// It does not run on this machine.
    Fails {
        /// One line: what the console or the time limit showed.
        reason: String,
        /// Whether the time limit ended it.
        timed_out: bool,
    },
}

impl Answer {
    /// Why the kernel does not run here, or none if it does.
    pub fn failure(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Works { .. } => None,
            Outcome::Fails { reason, .. } => Some(reason),
        }
    }

    /// Words to add to the kernel's command line.
    pub fn append(&self) -> &[String] {
        match &self.outcome {
            Outcome::Works { append, .. } => append,
            Outcome::Fails { .. } => &[],
        }
    }

    fn holds(&self) -> bool {
        let timed_out = matches!(
            self.outcome,
            Outcome::Fails {
                timed_out: true,
                ..
            }
        );
        !timed_out || now().saturating_sub(self.at) < TIME_OUT_HOLDS
    }
}

/// Tries kernels of a cache on this machine.
#[derive(Debug)]
pub struct Prober<'a> {
    cache: &'a Cache,
    init: PathBuf,
    init_words: Vec<String>,
}

impl<'a> Prober<'a> {
    /// A prober whose guests have the running program as their init. The program must call [`init::asked`].
    pub fn new(cache: &'a Cache) -> Self {
        Prober {
            cache,
            init: "/proc/self/exe".into(),
            init_words: Vec::new(),
        }
    }

    /// The same with another program as the guests' init, and words for init on the kernel's command line.
    pub fn with_init(cache: &'a Cache, init: &Path, words: &[&str]) -> Self {
        Prober {
            cache,
            init: init.to_owned(),
            init_words: words.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    /// The answer that is kept, if there is one for this kernel on this machine. Boots nothing.
    ///
    /// # Errors
    /// The kernel's image cannot be read.
    pub fn known(&self, kernel: &Kernel) -> Result<Option<Answer>, Error> {
        let key = Key::of(kernel)?;
        Ok(store::read(self.cache, &kernel.name, &key).filter(Answer::holds))
    }

    /// The answer for a kernel on this machine: the one that is kept, or that of a test boot now. `again` has it tried
    /// in any case. Two processes that ask at once boot one after the other, and the second finds the first one's
    /// answer. `say` gets a line when something is booted.
    ///
    /// # Errors
    /// A program that runs the machine is missing; the initramfs cannot be made.
    pub fn answer(
        &self,
        kernel: &Kernel,
        again: bool,
        say: &mut dyn FnMut(&str),
    ) -> Result<Answer, Error> {
        let key = Key::of(kernel)?;
        let kept = || store::read(self.cache, &kernel.name, &key).filter(Answer::holds);
        if let Some(answer) = kept().filter(|_| !again) {
            return Ok(answer);
        }
        let before = now();
        let _lock = store::lock(self.cache);
        // Another process may have tried it while this one waited.
        if let Some(answer) = kept().filter(|answer| !again || answer.at > before) {
            return Ok(answer);
        }
        say(&format!("test boot of {} on this machine", kernel.name));
        let outcome = self.try_all(kernel)?;
        let answer = Answer {
            kernel: kernel.name.clone(),
            key,
            at: now(),
            outcome,
        };
        // A cache that cannot be written gives an answer all the same, determined again each time.
        let _ = store::write(self.cache, &answer);
        Ok(answer)
    }

    /// Tries each way of running a kernel, and keeps the fastest that works.
    fn try_all(&self, kernel: &Kernel) -> Result<Outcome, Error> {
        let store = Store::open(self.cache)?;
        let mut parts = vec![store.tools(&[])?, store.init(&self.init)?];
        let ways = match kernel.form {
            Form::Uml => uml_ways(&std::fs::read(&kernel.image).unwrap_or_default(), cpus()),
            Form::Vmlinux => vec![Vec::new()],
        };
        if kernel.form == Form::Vmlinux {
            let modules = kernel.modules_for(&VIRTIO)?;
            let names: Vec<&str> = modules.iter().map(String::as_str).collect();
            parts.extend(
                (!names.is_empty())
                    .then(|| store.modules(kernel, &names))
                    .transpose()?,
            );
        }
        let mut best: Option<Outcome> = None;
        for append in ways {
            let outcome = match kernel.form {
                Form::Uml => self.boot(kernel, Engine::Uml, UML_LIMITS, append, &parts)?,
                Form::Vmlinux => self.boot_qemu(kernel, &parts)?,
            };
            best = Some(match best {
                Some(best) => better(best, outcome),
                None => outcome,
            });
        }
        Ok(best.unwrap_or_else(|| Outcome::Fails {
            reason: "there is no way to run it".into(),
            timed_out: false,
        }))
    }

    fn boot_qemu(&self, kernel: &Kernel, parts: &[Part]) -> Result<Outcome, Error> {
        let boot = |accelerator, limits| {
            self.boot(kernel, Engine::Qemu(accelerator), limits, Vec::new(), parts)
        };
        if Accelerator::promised() == Accelerator::Kvm {
            let limits = Limits {
                first_line: KVM_FIRST_LINE,
                ..QEMU_LIMITS
            };
            let outcome = boot(Accelerator::Kvm, limits)?;
            if matches!(outcome, Outcome::Works { .. }) {
                return Ok(outcome);
            }
        }
        boot(Accelerator::Tcg, QEMU_LIMITS)
    }

    fn boot(
        &self,
        kernel: &Kernel,
        engine: Engine,
        limits: Limits,
        append: Vec<String>,
        parts: &[Part],
    ) -> Result<Outcome, Error> {
        let document = init::document(&Exercise::default()).to_string();
        let job = Job::default().file(Path::new(init::JOB), 0o600, document.into());
        let parts: Vec<&Part> = parts.iter().collect();
        let folder = store::scratch(self.cache)?;
        let machine = Machine {
            engine,
            kernel: kernel.image.clone(),
            libraries: kernel.libraries.clone(),
            initramfs: machine::initramfs(&parts, &job)?,
            memory: MEMORY,
            cpus: 1,
            persistent: None,
            disks: Vec::new(),
            append: [append.clone(), self.init_words.clone()].concat(),
            limits,
            console: folder.path().join("console"),
            files: folder.path().join("files"),
        };
        let mut reported = false;
        let ended = machine.run(
            &mut |_| {
                reported = true;
                true
            },
            &Silent,
        );
        Ok(match ended {
            Ok(ended) if ended.code == 0 && reported => Outcome::Works {
                append,
                boot_seconds: ended.boot_seconds,
                seconds: ended.seconds,
            },
            Ok(ended) => Outcome::Fails {
                reason: format!("the test boot ended with code {}{}", ended.code, ended.last),
                timed_out: false,
            },
            Err(error) => failure(error)?,
        })
    }
}

/// What an error of a machine shows about the kernel. One that is this machine's alone stays an error.
fn failure(error: Error) -> Result<Outcome, Error> {
    let (reason, timed_out) = match error {
        Error::Died { last, status, .. } if last.is_empty() => {
            (format!("it ended ({status})"), false)
        }
        Error::Died { last, .. } => (last.trim_start_matches(": ").to_owned(), false),
        Error::Silent { waited, last, .. } => {
            (format!("no first line of init within {waited}{last}"), true)
        }
        Error::Hung { waited, last, .. } => (format!("no sign of life for {waited}{last}"), true),
        Error::TimeLimit { waited, last, .. } => {
            (format!("the test boot took more than {waited}{last}"), true)
        }
        Error::Garbled { source, .. } => (format!("its messages cannot be read: {source}"), false),
        other => return Err(other),
    };
    Ok(Outcome::Fails { reason, timed_out })
}

/// The ways in which a User-mode Linux image can run its processes, by the options that are in it: seccomp filters
/// (since 6.16) on one CPU or several (`ncpus=`, since 6.19 in kernels built with SMP), and ptrace.
fn uml_ways(image: &[u8], cpus: usize) -> Vec<Vec<String>> {
    let knows = |option: &str| memchr::memmem::find(image, option.as_bytes()).is_some();
    let mut ways = Vec::new();
    if knows("seccomp=<") {
        if knows("ncpus=<") && cpus > 1 {
            ways.push(vec!["seccomp=on".to_owned(), format!("ncpus={cpus}")]);
        }
        ways.push(vec!["seccomp=on".to_owned()]);
        ways.push(vec!["seccomp=off".to_owned()]);
    } else {
        ways.push(Vec::new());
    }
    ways
}

/// The first of two that work, unless the second is clearly faster; of two that do not, the second, which is the
/// plainer.
fn better(a: Outcome, b: Outcome) -> Outcome {
    match (&a, &b) {
        (
            Outcome::Works { seconds: first, .. },
            Outcome::Works {
                seconds: second, ..
            },
        ) => {
            if *second < first * CLEARLY {
                b
            } else {
                a
            }
        }
        (Outcome::Works { .. }, Outcome::Fails { .. }) => a,
        (Outcome::Fails { .. }, _) => b,
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(MOST_CPUS))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn works(seconds: f64) -> Outcome {
        Outcome::Works {
            append: Vec::new(),
            boot_seconds: 1.0,
            seconds,
        }
    }

    fn fails(timed_out: bool) -> Outcome {
        Outcome::Fails {
            reason: "why".into(),
            timed_out,
        }
    }

    #[test]
    fn the_first_way_that_works_is_kept_unless_another_is_clearly_faster() {
        assert_eq!(better(works(2.0), works(1.0)), works(1.0));
        assert_eq!(better(works(1.0), works(2.0)), works(1.0));
        assert_eq!(better(works(1.0), works(0.9)), works(1.0));
        assert_eq!(better(fails(true), works(2.0)), works(2.0));
        assert_eq!(better(works(2.0), fails(false)), works(2.0));
        assert_eq!(better(fails(true), fails(false)), fails(false));
    }

    #[test]
    fn the_ways_of_an_image_are_those_of_its_options() {
        let words = |image: &[u8], cpus| -> Vec<String> {
            let ways = uml_ways(image, cpus);
            ways.iter().map(|way| way.join(" ")).collect()
        };
        assert_eq!(words(b"Linux", 2), [""]);
        assert_eq!(
            words(b"\0seccomp=<on/auto/off>\n", 2),
            ["seccomp=on", "seccomp=off"]
        );
        let both = b"\0seccomp=<on/auto/off>\0ncpus=<# of CPUs>\0";
        assert_eq!(
            words(both, 3),
            ["seccomp=on ncpus=3", "seccomp=on", "seccomp=off"]
        );
        assert_eq!(words(both, 1), ["seccomp=on", "seccomp=off"]);
    }

    #[test]
    fn a_time_limit_holds_for_a_day_and_other_answers_until_the_key_changes() {
        let answer = |age, outcome| Answer {
            kernel: "uml".into(),
            key: Key::default(),
            at: now() - age,
            outcome,
        };
        assert!(answer(2 * TIME_OUT_HOLDS, works(1.0)).holds());
        assert!(answer(2 * TIME_OUT_HOLDS, fails(false)).holds());
        assert!(answer(60, fails(true)).holds());
        assert!(!answer(2 * TIME_OUT_HOLDS, fails(true)).holds());
    }

    #[test]
    fn what_is_this_machines_own_fault_is_no_answer() {
        let full = Error::Prepare {
            what: "cannot make the guest's channel".into(),
            source: std::io::ErrorKind::StorageFull.into(),
        };
        assert!(failure(full).is_err());
        let died = Error::Died {
            status: "exit status: 1".into(),
            began: false,
            console: "c".into(),
            last: ": userspace - ptrace set fp regs failed, errno = 14".into(),
        };
        let Ok(Outcome::Fails { reason, timed_out }) = failure(died) else {
            panic!("no answer")
        };
        assert_eq!(reason, "userspace - ptrace set fp regs failed, errno = 14");
        assert!(!timed_out);
    }
}
