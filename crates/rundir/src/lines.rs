//! Lines of a file that may be anything: read one at a time, each with a length limit.

use std::io::{self, BufRead, Read};

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line, without its newline.
    Whole {
        /// The bytes.
        bytes: &'a [u8],
        /// Whether a newline ended it; the last line of a file may have none.
        ended: bool,
    },
    /// The line is longer than the limit. Nothing after it can be read.
    TooLong,
}

/// Reads lines of at most `limit` bytes. Memory: one line.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    limit: usize,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Reads from `input`; a line has at most `limit` bytes, its newline not counted.
    pub fn new(input: R, limit: usize) -> Self {
        Lines {
            input,
            limit,
            buffer: Vec::new(),
        }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// Those of the input.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let most = self.limit as u64 + 1;
        let read = (&mut self.input)
            .take(most)
            .read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        let ended = self.buffer.last() == Some(&b'\n');
        if ended {
            self.buffer.pop();
        } else if read as u64 == most {
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(Line::Whole {
            bytes: &self.buffer,
            ended,
        }))
    }

    /// Whether the input is at its end.
    ///
    /// # Errors
    /// Those of the input.
    pub fn at_end(&mut self) -> io::Result<bool> {
        self.input.fill_buf().map(<[u8]>::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_limit_and_the_last_needs_no_newline() {
        let mut lines = Lines::new(&b"one\n\nfour!\nend"[..], 5);
        for (text, ended) in [("one", true), ("", true), ("four!", true), ("end", false)] {
            let bytes = text.as_bytes();
            let line = lines.next_line().unwrap();
            assert_eq!(line, Some(Line::Whole { bytes, ended }));
        }
        assert!(lines.at_end().unwrap());
        assert_eq!(lines.next_line().unwrap(), None);
        let mut long = Lines::new(&b"123456\n"[..], 5);
        assert_eq!(long.next_line().unwrap(), Some(Line::TooLong));
    }

    #[test]
    fn an_endless_line_takes_the_memory_of_the_limit() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(0)), 1 << 16);
        assert_eq!(lines.next_line().unwrap(), Some(Line::TooLong));
        assert!(lines.buffer.capacity() <= 1 << 18);
    }
}
