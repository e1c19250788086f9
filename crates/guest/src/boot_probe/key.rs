//! What the answer of a test boot is valid for.

use std::collections::BTreeSet;
use std::fs;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::hex::hex;
use crate::kernel::{Form, Kernel};
use crate::machine::{Accelerator, Error, qemu_program};

/// Changes with the test boot's job, or with what its guests are given: older answers are then no longer used.
const VERSION: u32 = 1;

/// What decides whether a kernel runs: with another key it is tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Version of the test boot.
    pub probe: u32,
    /// SHA-256 of the image and its libraries.
    pub image: String,
    /// SHA-256 of the `flags` lines of /proc/cpuinfo, the first 16 digits.
    pub cpu_flags: String,
    /// The processor in words: its model, and the flags of the state that kernels save (`avx512f amx_tile`).
    pub cpu: String,
    /// Release of the host's kernel.
    pub host_release: String,
    /// Whether the caller is root: UML then needs no user namespace.
    pub root: bool,
    /// The `Seccomp` field of /proc/self/status: a container's filter may forbid what UML needs.
    pub seccomp: String,
    /// `uml`, or QEMU's accelerator with the size and time of its program.
    pub machine: String,
}

impl Key {
    /// The key of a kernel on this machine.
    ///
    /// # Errors
    /// The kernel's image cannot be read.
    pub fn of(kernel: &Kernel) -> Result<Key, Error> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        Ok(Key {
            probe: VERSION,
            image: kernel.sha256()?,
            cpu_flags: flags_digest(&cpuinfo),
            cpu: describe(&cpuinfo),
            host_release: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            root: rustix::process::geteuid().is_root(),
            seccomp: value(&status, "Seccomp").unwrap_or_default().to_owned(),
            machine: match kernel.form {
                Form::Uml => "uml".to_owned(),
                Form::Vmlinux => qemu(),
            },
        })
    }

    /// Twelve hexadecimal digits that stand for all of it.
    pub(super) fn short(&self) -> String {
        let all = serde_json::to_vec(self).unwrap_or_default();
        hex(&Sha256::digest(all)[..6])
    }
}

fn qemu() -> String {
    use std::os::unix::fs::MetadataExt as _;
    let accelerator = Accelerator::promised().name();
    let program = qemu_program().and_then(|path| fs::metadata(path).ok());
    program.map_or_else(
        || accelerator.to_owned(),
        |program| format!("{accelerator} {} {}", program.size(), program.mtime()),
    )
}

/// The value of the first line `NAME : VALUE`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find_map(|(key, value)| (key.trim() == name).then(|| value.trim()))
}

/// The distinct lines of flags: processors of one machine may differ.
fn flags(cpuinfo: &str) -> BTreeSet<&str> {
    let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(key, _)| key.trim() == "flags")
        .map(|(_, flags)| flags.trim())
        .collect()
}

fn flags_digest(cpuinfo: &str) -> String {
    let lines: Vec<&str> = flags(cpuinfo).into_iter().collect();
    hex(&Sha256::digest(lines.join("\n"))[..8])
}

/// As in `AMD EPYC 9R14 (avx avx2 avx512f)`.
fn describe(cpuinfo: &str) -> String {
    const STATE: [&str; 6] = ["avx", "avx2", "avx512f", "pku", "shstk", "amx_tile"];
    let model = value(cpuinfo, "model name").unwrap_or("processor");
    let all = flags(cpuinfo);
    let has = |name: &&str| {
        let mut words = all.iter().flat_map(|line| line.split_whitespace());
        words.any(|word| word == *name)
    };
    let state: Vec<&str> = STATE.into_iter().filter(has).collect();
    format!("{model} ({})", state.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "processor\t: 0\nmodel name\t: Old CPU\nflags\t\t: fpu sse2 avx avx2\n\n\
                       processor\t: 1\nmodel name\t: Old CPU\nflags\t\t: fpu sse2 avx avx2\n";

    #[test]
    fn another_processor_has_another_key() {
        let new = OLD.replace("avx2", "avx2 avx512f amx_tile");
        assert_eq!(describe(OLD), "Old CPU (avx avx2)");
        assert_eq!(describe(&new), "Old CPU (avx avx2 avx512f amx_tile)");
        assert_ne!(flags_digest(OLD), flags_digest(&new));
        // As many processors as there may be, of one kind.
        assert_eq!(
            flags_digest(OLD),
            flags_digest(OLD.split("\n\n").next().unwrap())
        );
        assert_eq!(flags_digest("").len(), 16);
        let key = |cpu_flags: &str| Key {
            cpu_flags: cpu_flags.into(),
            ..Key::default()
        };
        assert_ne!(key("a").short(), key("b").short());
        assert_eq!(key("a").short().len(), 12);
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        assert_eq!(
            value("Seccomp_filters:\t1\nSeccomp:\t2\n", "Seccomp"),
            Some("2")
        );
        assert_eq!(value("", "Seccomp"), None);
    }
}
