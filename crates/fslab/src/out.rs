//! stdout, where a closed pipe is an answer and not a panic.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// stdout's reader went away.
#[derive(Debug)]
pub(crate) struct ClosedPipe;

impl fmt::Display for ClosedPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout: its reader closed the pipe before everything was printed")
    }
}

impl std::error::Error for ClosedPipe {}

/// A path for people: in one line, whatever characters are in it.
pub(crate) fn path(path: &Path) -> String {
    line(&path.to_string_lossy())
}

/// A text with its control characters as escapes (`\n`, `\u{1b}`), so that a file's name can neither
/// break a line nor steer a terminal.
pub(crate) fn line(text: &str) -> String {
    text.chars().fold(String::new(), |mut line, c| {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
        line
    })
}

/// Says something to people. stderr may be gone (a hangup, a closed pipe); a run goes on without it.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints data, ending it with a newline when it has none.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    write(&[text.as_bytes(), end.as_bytes()])
}

/// Prints data as it is: file names in it may be of any bytes.
pub(crate) fn print_bytes(data: &[u8]) -> anyhow::Result<()> {
    write(&[data])
}

fn write(parts: &[&[u8]]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = parts
        .iter()
        .try_for_each(|part| stdout.write_all(part))
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ClosedPipe.into()),
        Err(error) => Err(anyhow::anyhow!("stdout: {error}; redirect it elsewhere")),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_line_of_plain_characters() {
        let odd = Path::new("runs/a\nb\u{1b}[31mc d\u{e9}");
        assert_eq!(path(odd), "runs/a\\nb\\u{1b}[31mc d\u{e9}");
    }
}
