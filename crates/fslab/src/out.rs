//! stdout, where a closed pipe is an answer and not a panic.

use std::fmt;
use std::io::{self, Write};

/// stdout's reader went away.
#[derive(Debug)]
pub(crate) struct ClosedPipe;

impl fmt::Display for ClosedPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout: its reader closed the pipe before everything was printed")
    }
}

impl std::error::Error for ClosedPipe {}

/// Says something to people. stderr may be gone (a hangup, a closed pipe); a run goes on without it.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints data, ending it with a newline when it has none.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let end: &[u8] = if text.ends_with('\n') || text.is_empty() {
        b""
    } else {
        b"\n"
    };
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.write_all(end))
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ClosedPipe.into()),
        Err(error) => Err(anyhow::anyhow!("stdout: {error}; redirect it elsewhere")),
        Ok(()) => Ok(()),
    }
}
