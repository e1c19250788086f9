//! e2fsck as a reference, with a time limit: some images make it start again for ever.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// What e2fsck prints when its exit code is no verdict: the text, and what it is a sign of.
///
/// It catches its own signals, reports them, and ends as if it had merely stopped. Under `-n` it has
/// opened the image read-only, forgets that in a few places, and ends at the error. An "Internal
/// error" is not among them: it ends there in its own way, with an exit code of its own.
pub const NO_VERDICT: [(&str, &str); 2] = [
    ("Signal (", "crashed"),
    ("Error writing block", "tried to write"),
];

/// Time limit, seconds: it checks the largest of these images many times over within it.
const TIME_LIMIT: &str = "20";

/// What a run of e2fsck gave.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit code; none when it was killed at the time limit.
    pub code: Option<i32>,
    /// All that it printed.
    pub text: String,
}

impl Outcome {
    /// Its verdict; none when it was killed, or printed one of [`NO_VERDICT`].
    pub fn verdict(&self) -> Option<i32> {
        let failed = NO_VERDICT.iter().any(|(sign, _)| self.text.contains(sign));
        self.code.filter(|_| !failed)
    }
}

/// `e2fsck -fn` with further options.
///
/// # Panics
/// See [`run`].
pub fn e2fsck<O: AsRef<OsStr>>(image: &Path, options: &[O]) -> Outcome {
    let mut all = vec![OsStr::new("-fn")];
    all.extend(options.iter().map(AsRef::as_ref));
    run(image, &all)
}

/// `e2fsck` with these options. At the time limit it is killed by SIGKILL: SIGTERM is handled only
/// between two steps.
///
/// # Panics
/// `timeout` or e2fsck is not installed.
pub fn run<O: AsRef<OsStr>>(image: &Path, options: &[O]) -> Outcome {
    let output = Command::new("timeout")
        .args(["-s", "KILL", TIME_LIMIT, "e2fsck"])
        .args(options)
        .arg(image)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .expect("these tests need coreutils");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    // 124 and above: killed by `timeout`, or not started.
    let code = output.status.code().filter(|code| *code < 124);
    assert!(
        code.is_some() || !text.contains("No such file"),
        "these tests need e2fsprogs: {text}"
    );
    Outcome { code, text }
}
