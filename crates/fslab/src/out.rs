//! Printing: stdout, where a closed pipe is an error and not a panic, and lines on stderr.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::output_file::OutputFile;

/// The reader of stdout closed the pipe. The program ends as after SIGPIPE, without a message.
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
/// break a line nor control a terminal.
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

/// Most bytes of one value in an error message.
const VALUE: usize = 200;
/// Most bytes of an error message. A refusal of the gate with all its reasons has about 2,000.
const MESSAGE: usize = 4000;

/// A message for people in one line: as [`line`], and with long values shortened. A value is an argument
/// of the command line, what is between quotes, or a word; 100 KB of it would hide the rest of
/// the message.
pub(crate) fn error_line(message: &str) -> String {
    let arguments = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    without_long_values(message, arguments.filter(|word| word.len() > VALUE))
}

fn without_long_values(message: &str, arguments: impl Iterator<Item = String>) -> String {
    let mut message = Cow::from(message);
    for argument in arguments {
        if message.contains(&argument) {
            message = message
                .replace(&argument, &shortened(&argument, VALUE))
                .into();
        }
    }
    let message = &*message;
    let mut short = String::new();
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let after_space = short.is_empty() || short.ends_with([' ', '(', '=', ':', ',']);
        let length = quoted(rest).filter(|_| after_space).unwrap_or_else(|| {
            let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
            word.max(first.len_utf8())
        });
        let (value, after) = rest.split_at(length);
        short.push_str(&shortened(value, VALUE));
        rest = after;
    }
    line(&shortened(&short, MESSAGE))
}

/// The length of what is between quotes at the start of a text, with the quotes.
fn quoted(text: &str) -> Option<usize> {
    let quote = text
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"' | '`'))?;
    let end = text[1..].find(quote)? + 2;
    Some(end)
}

/// The first and the last part of a text that is longer than `most` bytes, and how long it was.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=most / 2).rev().find(is_boundary).unwrap_or(0);
    let tail = (text.len() - most / 4..text.len()).find(is_boundary);
    let tail = tail.unwrap_or(text.len());
    let (head, tail) = (&text[..head], &text[tail..]);
    format!("{head}[...]{tail} ({} bytes)", text.len()).into()
}

/// Prints a line for people on stderr. It may be gone (a hangup, a closed pipe); a run goes on without it.
/// Control characters, which may come from a file, cannot control the terminal.
pub(crate) fn say(text: &str) {
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: Cow<'_, str> = if text.chars().all(plain) {
        text.into()
    } else {
        let lines: Vec<String> = text.split('\n').map(line).collect();
        lines.join("\n").into()
    };
    let _ = writeln!(io::stderr(), "{text}");
}

/// Where a command's result goes: the file of `-o`, or stdout.
#[derive(Debug)]
pub(crate) struct Output(Option<(PathBuf, OutputFile)>);

impl Output {
    /// The file that `-o` names, or stdout. Looked at before the work, of a command that reads `inputs`.
    ///
    /// # Errors
    /// A file that cannot be written, is read, or belongs to a run; a device.
    pub(crate) fn of(option: Option<&Path>, inputs: &[&Path]) -> anyhow::Result<Output> {
        let Some(at) = option else {
            return Ok(Output(None));
        };
        lab::preflight::output(at)?;
        let file = OutputFile::instead_of_stdout(at, inputs).map_err(|error| {
            lab::Error::Preflight(format!("{}: {error}; choose another -o", path(at)))
        })?;
        Ok(Output(Some((at.to_owned(), file))))
    }

    /// Whether it is a file, and not stdout.
    pub(crate) const fn is_file(&self) -> bool {
        self.0.is_some()
    }

    /// Writes text. On stdout it ends with a newline.
    ///
    /// # Errors
    /// It cannot be written; a file that was there stays.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        match self.0 {
            None => print(text),
            Some(_) => self
                .write(|out| out.write_all(text.as_bytes()), std::convert::identity)
                .map_err(|error| self.failed(&error)),
        }
    }

    /// Writes what `content` writes, and returns what it returns. `failed` makes an error of the file one of `content`'s.
    ///
    /// # Errors
    /// It cannot be written, or `content` failed; a file that was there stays.
    pub(crate) fn write<T, E>(
        &self,
        content: impl FnOnce(&mut (dyn Write + Send)) -> Result<T, E>,
        failed: impl Fn(io::Error) -> E,
    ) -> Result<T, E> {
        match &self.0 {
            None => content(&mut io::stdout()),
            Some((_, file)) => file.write(content, failed),
        }
    }

    /// A failure to write as an error of the program.
    pub(crate) fn failed(&self, error: &io::Error) -> anyhow::Error {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return ClosedPipe.into();
        }
        match &self.0 {
            None => anyhow::anyhow!("stdout: {error}; redirect it elsewhere"),
            Some((at, file)) => {
                let kept = if file.is_whole_or_nothing() {
                    "what was there is unchanged; "
                } else {
                    ""
                };
                let at = path(at);
                anyhow::anyhow!("{at}: cannot be written: {error}; {kept}choose another -o")
            }
        }
    }
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

    #[test]
    fn long_values_are_shortened_and_messages_stay() {
        let plain = "x.img: is mounted for writing on /mnt; e2fsck's way out: 'umount /mnt'";
        assert_eq!(error_line(plain), plain);
        let words = format!(
            "invalid value '{}' for '--threads <N>'",
            "a b ".repeat(30_000)
        );
        let short = error_line(&words);
        assert!(
            short.len() < 300 && short.ends_with("for '--threads <N>'"),
            "{short}"
        );
        assert!(short.contains("(120002 bytes)"), "{short}");
        let path = format!("/{}: cannot be opened", "\u{e9}".repeat(50_000));
        let short = error_line(&path);
        assert!(
            short.len() < 300 && short.ends_with("cannot be opened"),
            "{short}"
        );
        let escapes = error_line("value '\u{1b}[2J' is bad");
        assert_eq!(escapes, "value '\\u{1b}[2J' is bad");
        assert!(error_line(&"word ".repeat(100_000)).len() < MESSAGE + 100);
        assert_eq!(error_line("it's"), "it's");
        let path = "a b ".repeat(30_000);
        let message = format!("{path}: no such file; check the path");
        let short = without_long_values(&message, std::iter::once(path));
        assert!(short.len() < 300, "{short}");
        assert!(short.ends_with(": no such file; check the path"), "{short}");
    }
}
