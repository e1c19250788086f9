//! Tasks and kernel threads: who used the CPU.
//!
//! [`stat`] parses `/proc/<pid>/stat`, [`name`] gives tasks stable names across pids and CPUs, and
//! [`scan`] follows the busiest of them cheaply.

pub mod name;
pub mod scan;
pub mod stat;

use std::os::unix::ffi::OsStrExt as _;

use crate::Roots;

/// Whether a task of this name (as in `/proc/<pid>/comm`) is alive.
pub fn lives(roots: &Roots, name: &str) -> bool {
    let entries = std::fs::read_dir(&roots.proc).into_iter().flatten();
    entries.flatten().any(|entry| {
        let is_pid = entry.file_name().as_bytes().iter().all(u8::is_ascii_digit);
        let comm = || std::fs::read(entry.path().join("comm")).unwrap_or_default();
        is_pid && comm().trim_ascii() == name.as_bytes()
    })
}

/// %CPU of a task as top has it: 100 d(utime+stime) / T, above 100 for several threads (Irix mode).
pub fn percent(cpu_ns: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        return 0.0;
    }
    100.0 * cpu_ns as f64 / elapsed_ns as f64
}

/// TIME+ of top: minutes, seconds and hundredths, as in `186:21.78`.
pub fn time_plus(cpu_ns: u64) -> String {
    let hundredths = cpu_ns / 10_000_000;
    let (seconds, rest) = (hundredths / 100, hundredths % 100);
    format!("{}:{:02}.{rest:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_lives_by_its_whole_name() {
        let tree = tempfile::tempdir().unwrap();
        let roots = Roots::under(tree.path());
        assert!(!lives(&roots, "ext4lazyinit"), "without /proc");
        for (folder, comm) in [
            ("12", "ext4lazyinit\n"),
            ("self", "fslab\n"),
            ("7", "ext4\n"),
        ] {
            let folder = roots.proc.join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("comm"), comm).unwrap();
        }
        assert!(lives(&roots, "ext4lazyinit") && lives(&roots, "ext4"));
        assert!(!lives(&roots, "ext4lazy"), "a part of a name is no name");
        assert!(!lives(&roots, "fslab"), "self is no pid");
    }

    #[test]
    fn figures_are_as_top_prints_them() {
        assert_eq!(percent(1_960_000_000, 2_000_000_000), 98.0);
        assert_eq!(percent(1, 0), 0.0);
        assert_eq!(time_plus(11_181_780_000_000), "186:21.78");
        assert_eq!(time_plus(66_740_000_000), "1:06.74");
    }
}
