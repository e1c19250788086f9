//! e2fsck as a reference, with an end to what has none.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

#[path = "signs.rs"]
mod signs;

use signs::NO_VERDICT;

/// Seconds in which it judges the largest of these images many times over. Some make it start again for ever.
const PATIENCE: &str = "20";

/// What it said.
#[derive(Debug)]
pub(crate) struct Said {
    /// Its exit code; none where it came to no end.
    pub(crate) code: Option<i32>,
    /// All that it printed.
    pub(crate) text: String,
}

impl Said {
    /// Its verdict; none where it came to no end, or shows one of the [`signs`].
    pub(crate) fn verdict(&self) -> Option<i32> {
        let failed = NO_VERDICT.iter().any(|(sign, _)| self.text.contains(sign));
        self.code.filter(|_| !failed)
    }
}

/// `e2fsck -fn` with further options.
pub(crate) fn e2fsck<O: AsRef<OsStr>>(image: &Path, options: &[O]) -> Said {
    let mut all = vec![OsStr::new("-fn")];
    all.extend(options.iter().map(AsRef::as_ref));
    run(image, &all)
}

/// Runs it with these options. It is killed outright, because a polite signal it heeds only when it comes to it.
pub(crate) fn run<O: AsRef<OsStr>>(image: &Path, options: &[O]) -> Said {
    let output = Command::new("timeout")
        .args(["-s", "KILL", PATIENCE, "e2fsck"])
        .args(options)
        .arg(image)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .expect("these tests need coreutils");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    // Killed itself, or 137, or what stands for a program that is not there.
    let code = output.status.code().filter(|code| *code < 124);
    assert!(
        code.is_some() || !text.contains("No such file"),
        "these tests need e2fsprogs: {text}"
    );
    Said { code, text }
}
