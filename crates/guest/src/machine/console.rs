//! The end of a console, and the line of it that an error quotes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of the console's end that are looked at.
const END: i64 = 16 << 10;
/// Lines quoted when no line gives the reason.
const LINES: usize = 3;
/// Characters quoted.
const WIDTH: usize = 300;

/// The console's last words as a piece of a sentence: `: Kernel panic - not syncing: ...`, or
/// nothing when it has none.
pub(super) fn last_words(console: &Path, from: u64) -> String {
    quote(&end_of(console, from).unwrap_or_default())
}

fn end_of(console: &Path, from: u64) -> std::io::Result<String> {
    let mut file = File::open(console)?;
    let length = file.metadata()?.len();
    let begin = length.saturating_sub(END as u64).max(from.min(length));
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The line that gives the reason, or else the last lines.
fn quote(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let printed =
        reason(&lines).unwrap_or_else(|| lines[lines.len().saturating_sub(LINES)..].join(" | "));
    if printed.is_empty() {
        return String::new();
    }
    let short: String = printed.chars().take(WIDTH).collect();
    format!(": {short}")
}

/// The line that gives the reason for the end: a panic of the kernel, or, where the panic only reports that init
/// ended, the last message of init.
fn reason(lines: &[String]) -> Option<String> {
    let last = |sign: &str| lines.iter().rfind(|line| line.contains(sign)).cloned();
    let panic = last("Kernel panic");
    let consequence = |line: &String| line.contains("Attempted to kill init");
    if panic.as_ref().is_some_and(|line| !consequence(line)) {
        return panic;
    }
    host_refused(lines)
        .or_else(|| rust_panic(lines))
        .or_else(|| last("BUG:"))
        .or_else(|| last(INIT))
        .or(panic)
}

/// The first error of a system call that User-mode Linux made on the host, as in `userspace - ptrace set fp regs
/// failed, errno = 14`. Its processes die of what follows from it.
fn host_refused(lines: &[String]) -> Option<String> {
    let refused = |line: &&String| {
        line.contains("errno = ") && (line.contains("failed") || line.contains("ptrace"))
    };
    lines.iter().find(refused).cloned()
}

/// The prefix of init's own messages; see `crate::init`.
const INIT: &str = "fslab: ";

/// Where a program panicked, and why, which since Rust 1.73 is on the next line.
fn rust_panic(lines: &[String]) -> Option<String> {
    let at = lines
        .iter()
        .rposition(|line| line.contains("panicked at"))?;
    let line = &lines[at];
    let why = lines.get(at + 1).filter(|_| line.ends_with(':'));
    Some(match why {
        Some(why) => format!("{line} {why}"),
        None => line.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_quoted_before_what_follows_it() {
        let text = "[ 1.0] Run /init\n[ 1.2] Kernel panic - not syncing: No working init found.\r\n\
                    [ 1.3] CPU: 0 PID: 1\n[ 1.4] Call Trace:\n";
        assert_eq!(
            quote(text),
            ": [ 1.2] Kernel panic - not syncing: No working init found."
        );
    }

    #[test]
    fn a_panic_of_init_is_quoted_and_not_its_consequence() {
        let text = "\nthread 'main' panicked at crates/guest/tests/boots.rs:54:5:\nas ordered\n\
                    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\
                    Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\n\
                    CPU: 0 PID: 1 Comm: init Not tainted 6.1.0 #1\n";
        assert_eq!(
            quote(text),
            ": thread 'main' panicked at crates/guest/tests/boots.rs:54:5: as ordered"
        );
        let text = "fslab: no xfs here\nKernel panic - not syncing: Attempted to kill init!\n";
        assert_eq!(quote(text), ": fslab: no xfs here");
        let text = "x\nKernel panic - not syncing: Attempted to kill init! exitcode=0x0\ny\n";
        assert!(quote(text).contains("Attempted to kill init"));
        // A panic of the kernel itself is the reason, whatever a program printed before.
        let text =
            "thread 'x' panicked at a.rs:1:1:\nb\nKernel panic - not syncing: VFS: no root\n";
        assert!(quote(text).contains("VFS: no root"));
    }

    #[test]
    fn what_the_host_refused_is_quoted_and_not_the_end_of_init() {
        // A processor with AMX, and a UML that is older than it.
        let text = "userspace - ptrace set fp regs failed, errno = 14\n\
                    init[1]: segfault at 0 ip 0\n\
                    Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b\n";
        assert_eq!(
            quote(text),
            ": userspace - ptrace set fp regs failed, errno = 14"
        );
    }

    #[test]
    fn else_the_last_lines_in_one() {
        assert_eq!(quote("a\nb\n\nc\n\u{1b}d\n"), ": b | c | d");
        assert_eq!(quote(""), "");
        assert_eq!(quote("\n\n"), "");
    }

    #[test]
    fn an_earlier_machine_of_the_same_console_is_not_quoted() {
        let temp = tempfile::tempdir().unwrap();
        let console = temp.path().join("console");
        std::fs::write(&console, "Kernel panic\nnew\n").unwrap();
        assert_eq!(last_words(&console, 13), ": new");
        assert_eq!(last_words(&console, 99), "");
        assert_eq!(last_words(&temp.path().join("none"), 0), "");
    }
}
