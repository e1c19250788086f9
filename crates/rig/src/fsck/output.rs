//! What a checker prints: cut into lines as it comes, and kept up to a bound.
//!
//! A damaged filesystem of a terabyte makes e2fsck print gigabytes. The first errors say what is
//! broken and the last lines say how it ended, so the middle is what can go.

use std::collections::VecDeque;

/// Bytes kept of the beginning, and as many of the end.
pub(super) const HALF: usize = 512 << 10;
/// Bytes of a line that are looked at.
const LINE: usize = 4096;

/// The output so far.
#[derive(Debug)]
pub(super) struct Output {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    cut: u64,
    line: Vec<u8>,
}

impl Output {
    /// Keeps `half` bytes of the beginning and `half` of the end.
    pub(super) fn new(half: usize) -> Output {
        Output {
            half,
            head: Vec::new(),
            tail: VecDeque::new(),
            cut: 0,
            line: Vec::new(),
        }
    }

    /// Takes what arrived, and calls `line` for each line that is whole now.
    pub(super) fn take(&mut self, bytes: &[u8], mut line: impl FnMut(&str)) {
        self.keep(bytes);
        for part in bytes.split_inclusive(|b| matches!(b, b'\n' | b'\r')) {
            let room = LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") || part.ends_with(b"\r") {
                line(String::from_utf8_lossy(&self.line).trim_end_matches(['\r', '\n']));
                self.line.clear();
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.cut += over as u64;
    }

    /// All that is kept. Where something was cut, whole lines remain on both sides as far as there
    /// are any, and a line says how many bytes are gone.
    pub(super) fn into_text(mut self) -> String {
        if self.cut == 0 {
            self.head.extend(self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let tail: Vec<u8> = self.tail.into();
        let head_end = self.head.iter().rposition(|b| *b == b'\n');
        let head = &self.head[..head_end.map_or(self.head.len(), |at| at + 1)];
        let tail_begin = tail.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1);
        let cut = self.cut + (self.head.len() - head.len() + tail_begin) as u64;
        let newline = if head.ends_with(b"\n") { "" } else { "\n" };
        format!(
            "{}{newline}[... {cut} bytes cut here ...]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(&tail[tail_begin..])
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(half: usize, pieces: &[&[u8]]) -> (Vec<String>, String) {
        let (mut output, mut lines) = (Output::new(half), Vec::new());
        for piece in pieces {
            output.take(piece, |line| lines.push(line.to_string()));
        }
        (lines, output.into_text())
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let (lines, text) = lines(100, &[b"Pa", b"ss 1\nPass", b" 2\r", b"rest"]);
        assert_eq!(lines, ["Pass 1", "Pass 2"]);
        assert_eq!(text, "Pass 1\nPass 2\rrest");
    }

    #[test]
    fn the_middle_is_cut_at_lines_and_counted() {
        let (_, text) = lines(8, &[b"one\ntwo\nthree\nfour\nfive\nsix\n"]);
        assert_eq!(text, "one\ntwo\n[... 16 bytes cut here ...]\nsix\n");
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut output = Output::new(16);
        for _ in 0..100 {
            output.take(&[b'x'; 4096], |_| panic!("no line is whole"));
        }
        assert_eq!((output.line.len(), output.cut), (LINE, 100 * 4096 - 32));
        let text = output.into_text();
        let x = "x".repeat(16);
        assert_eq!(text, format!("{x}\n[... 409568 bytes cut here ...]\n{x}"));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_below_the_bound_and_all_is_counted_above(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..40),
            half in 1_usize..200,
        ) {
            let all: Vec<u8> = pieces.concat();
            let mut output = Output::new(half);
            let mut seen = 0;
            for piece in &pieces {
                output.take(piece, |_| seen += 1);
            }
            prop_assert_eq!(seen, all.iter().filter(|b| matches!(b, b'\n' | b'\r')).count());
            let kept = output.head.len() + output.tail.len();
            prop_assert_eq!(kept as u64 + output.cut, all.len() as u64);
            prop_assert!(kept <= 2 * half);
            if all.len() <= 2 * half {
                prop_assert_eq!(output.into_text(), String::from_utf8_lossy(&all));
            } else {
                let text = output.into_text();
                prop_assert!(text.contains(" bytes cut here ...]\n"), "{}", text);
            }
        }
    }
}
