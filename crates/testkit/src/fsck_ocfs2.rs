//! fsck.ocfs2 as a reference, with limits of time and memory: some images make it run for ever, others fill its memory.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run is held to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time, seconds.
    pub seconds: u64,
    /// Address space, KiB. fsck.ocfs2 has a smaller cache where there is less.
    pub memory_kib: u64,
    /// Whether it may lock its cache into memory, which is as large as the volume. Locking takes 0.7 of the 0.9 seconds of 160 MiB. Without the
    /// cache it reads the end of an image that is cut in another way.
    pub locks: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            seconds: 20,
            memory_kib: 4_000_000,
            locks: false,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code; 128 and the signal's number where a signal killed it.
    Code(i32),
    /// Killed at the time limit.
    Endless,
}

/// What a run of fsck.ocfs2 gave.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub ended: Ended,
    /// Codes that it printed, and how often.
    pub codes: BTreeMap<String, u64>,
    /// All that it printed.
    pub text: String,
}

/// `fsck.ocfs2 -fn`. None where it is not installed.
///
/// # Panics
/// There is no shell.
pub fn run(image: &Path) -> Option<Run> {
    run_within(image, Limits::default())
}

/// `fsck.ocfs2 -fn` within these limits. None where it is not installed.
///
/// # Panics
/// There is no shell.
pub fn run_within(image: &Path, limits: Limits) -> Option<Run> {
    let output = command(image, "-fn", limits).output();
    let output = output.expect("these tests need a shell");
    let text = [output.stdout, b"\n".to_vec(), output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = output.status;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    let ended = match code {
        Some(127) if text.contains("No such file") => return None,
        Some(124 | 137) | None => Ended::Endless,
        Some(code) => Ended::Code(code),
    };
    let mut codes = BTreeMap::new();
    for line in text.lines() {
        if let Some(code) = code_of(line) {
            *codes.entry(code.to_owned()).or_default() += 1;
        }
    }
    Some(Run { ended, codes, text })
}

/// fsck.ocfs2 with these options, within these limits.
pub fn command(image: &Path, options: &str, limits: Limits) -> Command {
    let Limits {
        seconds,
        memory_kib,
        locks,
    } = limits;
    let unlocked = if locks {
        ""
    } else {
        "ulimit -l 0; [ \"$(id -u)\" != 0 ] || unlocked='setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock'; "
    };
    let script = format!(
        "ulimit -c 0; ulimit -v {memory_kib}; unlocked=; {unlocked}\
         exec $unlocked timeout -s KILL {seconds} fsck.ocfs2 {options} \"$1\""
    );
    // By its whole path: with another PATH, a name would be looked up after a fork, which copies the tables of this process's memory.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &script, "sh"])
        .arg(image)
        .env("LC_ALL", "C")
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .stdin(Stdio::null());
    command
}

/// The code at the start of a line. A line without an end may come before it.
fn code_of(line: &str) -> Option<&str> {
    let start = line.find('[')?;
    let rest = &line[start + 1..];
    let code = &rest[..rest.find(']')?];
    let is_code = code.len() > 3
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    (is_code && (start == 0 || line[..start].ends_with('.'))).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::code_of;

    #[test]
    fn codes_are_at_the_start_of_lines() {
        assert_eq!(code_of("[EB_GEN] An extent block"), Some("EB_GEN"));
        assert_eq!(
            code_of("Ignoring this block.[DX_TREE_MISSING] Dir"),
            Some("DX_TREE_MISSING")
        );
        assert_eq!(code_of("a name [EB_GEN] in it"), None);
        assert_eq!(code_of("[] none"), None);
    }
}
