//! Skips that are visible and counted.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Whether this process is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Reports a skip: see [`skip!`](crate::skip).
///
/// # Panics
/// The file that `FSLAB_SKIPS` names cannot be appended to: a skip that is not counted would look
/// like a pass.
pub fn report(package: &str, module: &str, reason: &str) {
    let thread = std::thread::current();
    // libtest names the thread after the test. With one test thread, and in threads of the test's
    // own, only the module is known.
    let test = match thread.name() {
        Some(name) if name != "main" => name,
        _ => module,
    };
    write(
        &mut io::stderr(),
        std::env::var_os("FSLAB_SKIPS").as_deref(),
        &format!("{package} {test}: {}", one_line(reason)),
    );
}

/// What a program printed as the reason may have several lines; each line of the file is one skip.
fn one_line(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One line, in one write each: tests of many threads and processes report at once.
fn write(stderr: &mut dyn Write, file: Option<&OsStr>, skip: &str) {
    let _ = stderr.write_all(format!("skipped: {skip}\n").as_bytes());
    if let Some(file) = file.filter(|file| !file.is_empty()) {
        let appended = OpenOptions::new().create(true).append(true).open(file);
        let written = appended.and_then(|mut file| file.write_all(format!("{skip}\n").as_bytes()));
        if let Err(error) = written {
            panic!("FSLAB_SKIPS: {}: {error}", file.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_several_lines_is_one_skip() {
        assert_eq!(one_line("\nmkfs: no\n  room\n"), "mkfs: no room");
    }

    #[test]
    fn a_skip_is_printed_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skips");
        let mut stderr = Vec::new();
        for _ in 0..2 {
            write(
                &mut stderr,
                Some(file.as_os_str()),
                "rig a::test: needs root",
            );
        }
        write(&mut stderr, None, "not in the file");
        write(&mut stderr, Some(OsStr::new("")), "nor this");
        let printed = String::from_utf8(stderr).unwrap();
        assert_eq!(printed.lines().count(), 4);
        assert!(printed.starts_with("skipped: rig a::test: needs root\n"));
        let counted = std::fs::read_to_string(file).unwrap();
        assert_eq!(
            counted,
            "rig a::test: needs root\nrig a::test: needs root\n"
        );
    }

    #[test]
    #[should_panic(expected = "FSLAB_SKIPS: /: ")]
    fn a_skip_that_cannot_be_counted_fails() {
        write(&mut Vec::new(), Some(OsStr::new("/")), "a test");
    }
}
