//! What this machine offers to measurements: asked of the kernel, not assumed from its version.
//!
//! A container or a hardened kernel may refuse io_uring, have no pressure stall information, or no control
//! groups. A run works without them and records what was absent; `fslab doctor` says so in advance.

use std::path::Path;
use std::thread;

use serde::Serialize;

/// Something of the kernel that measurements use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facility {
    /// Its name: `io_uring`.
    pub name: &'static str,
    /// What it is used for.
    pub serves: &'static str,
    /// Whether this process can use it.
    pub available: bool,
    /// How, or why not and what then happens.
    pub note: String,
}

/// The file of the I/O pressure of the machine.
const PRESSURE: &str = "/proc/pressure/io";

/// Everything that was asked.
pub fn facilities() -> Vec<Facility> {
    let mut all = vec![
        root(),
        processors(),
        io_uring(),
        pressure(Path::new(PRESSURE)),
    ];
    all.extend(rig::limits_here().map(|(name, answer)| limit(name, answer)));
    all
}

fn root() -> Facility {
    let available = rustix::process::geteuid().is_root();
    Facility {
        name: "root",
        serves: "making and mounting filesystems",
        available,
        note: if available {
            "this process is root".into()
        } else {
            "not root: --dir DIR loads a directory's filesystem as it is, and guest kernels need no root".into()
        },
    }
}

fn processors() -> Facility {
    let count = thread::available_parallelism();
    Facility {
        name: "processors",
        serves: "threads of checks; workloads have the study's number of threads",
        available: count.is_ok(),
        note: match count {
            Ok(count) => words::plural(count.get() as u64, "processor"),
            Err(error) => format!("not known ({error}): one thread is used"),
        },
    }
}

fn io_uring() -> Facility {
    let answer = blockio::io_uring_works();
    Facility {
        name: "io_uring",
        serves: "the engine io-uring; direct reads of fslab check",
        available: answer.is_ok(),
        note: match answer {
            Ok(()) => "io_uring_setup(2) succeeds".into(),
            Err(error) => format!(
                "{error}: fslab check reads with threads, and a study needs another engine; see \
                 kernel.io_uring_disabled and the filter of a container"
            ),
        },
    }
}

fn pressure(file: &Path) -> Facility {
    let answer = std::fs::read_to_string(file);
    Facility {
        name: "pressure",
        serves: "time spent waiting for CPU, memory and I/O in telemetry and explanations",
        available: answer.is_ok(),
        note: match answer {
            Ok(_) => format!("{} is read", file.display()),
            Err(error) => format!(
                "{}: {error}: telemetry goes without it (CONFIG_PSI, psi=1 on the kernel's command line)",
                file.display()
            ),
        },
    }
}

fn limit(name: &'static str, answer: Result<String, String>) -> Facility {
    Facility {
        name,
        serves: "studies with such limits",
        available: answer.is_ok(),
        note: answer.unwrap_or_else(|why| format!("{why}: trials with such limits fail")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_pressure_stall_information_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let absent = pressure(&folder.path().join("io"));
        assert!(!absent.available);
        assert!(absent.note.contains("No such file") && absent.note.contains("psi=1"));
        std::fs::write(folder.path().join("io"), "some avg10=0.00").unwrap();
        assert!(pressure(&folder.path().join("io")).available);
    }

    #[test]
    fn a_limit_that_nothing_serves_has_its_reason() {
        let refused = limit("rate limits", Err("no control group tree".into()));
        assert!(!refused.available);
        assert_eq!(
            refused.note,
            "no control group tree: trials with such limits fail"
        );
    }

    #[test]
    fn every_facility_has_an_answer_in_words() {
        let names: Vec<&str> = facilities().iter().map(|one| one.name).collect();
        assert_eq!(
            names,
            [
                "root",
                "processors",
                "io_uring",
                "pressure",
                "memory limits",
                "rate limits"
            ]
        );
        assert!(facilities().iter().all(|one| !one.note.is_empty()));
    }
}
