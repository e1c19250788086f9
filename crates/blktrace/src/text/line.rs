//! One line of the text: blkparse's default format.

use super::number;
use crate::record::{Category, Head, Remapped};

/// Letters of a transfer, right-aligned, with the blank after them.
#[derive(Clone, Copy, Default)]
struct Letters {
    text: [u8; 8],
    len: u8,
}

/// What is the same on every line, or on most.
pub(super) struct Line {
    text: [u8; 256],
    len: usize,
    /// Letters by the bits that make them.
    letters: Vec<Letters>,
    device: u32,
    device_text: Vec<u8>,
}

/// Bits of an action word that [`Head::rwbs`] looks at, packed with whether there are bytes.
#[inline]
fn letters_key(action: u32, bytes: u32) -> usize {
    let at = |category: Category, to: u32| usize::from(action & category as u32 != 0) << to;
    at(Category::Flush, 0)
        | at(Category::Discard, 1)
        | at(Category::Write, 2)
        | usize::from(bytes > 0) << 3
        | at(Category::Fua, 4)
        | at(Category::Ahead, 5)
        | at(Category::Sync, 6)
        | at(Category::Meta, 7)
}

fn letters(key: usize) -> Letters {
    let bit = |from: usize, category: Category| {
        if key >> from & 1 == 1 {
            category as u32
        } else {
            0
        }
    };
    let head = Head {
        action: bit(0, Category::Flush)
            | bit(1, Category::Discard)
            | bit(2, Category::Write)
            | bit(4, Category::Fua)
            | bit(5, Category::Ahead)
            | bit(6, Category::Sync)
            | bit(7, Category::Meta),
        bytes: (key >> 3 & 1) as u32,
        ..Head::default()
    };
    let rwbs = head.rwbs();
    let blanks = 3_usize.saturating_sub(rwbs.as_bytes().len());
    let mut text = vec![b' '; blanks];
    text.extend(rwbs.as_bytes());
    text.push(b' ');
    let mut letters = Letters {
        len: text.len() as u8,
        ..Letters::default()
    };
    letters.text[..text.len()].copy_from_slice(&text);
    letters
}

impl Line {
    pub(super) fn new() -> Line {
        let mut line = Line {
            text: [0; 256],
            len: 0,
            letters: (0..256).map(letters).collect(),
            device: 0,
            device_text: Vec::new(),
        };
        line.remember(0);
        line
    }

    fn remember(&mut self, device: u32) {
        self.device = device;
        let (major, minor) = (device >> 20, device & 0xf_ffff);
        self.device_text = format!("{major:>3},{minor:<3} ").into_bytes();
    }

    /// Begins a line: `%3d,%-3d %2d %8d %5d.%09lu %5u %2s %3s `. `time` is ns from the first event.
    #[inline]
    pub(super) fn begin(&mut self, device: u32, cpu: u32, head: &Head, time: u64, action: [u8; 3]) {
        if device != self.device {
            self.remember(device);
        }
        let at = self.device_text.len();
        self.text[..at].copy_from_slice(&self.device_text);
        self.len = at;
        self.wide(i64::from(cpu), 2);
        self.wide(i64::from(head.sequence as i32), 8);
        let (seconds, nanos) = (time / 1_000_000_000, (time % 1_000_000_000) as u32);
        self.wide(i64::from(seconds as i32), 5);
        self.text[self.len - 1] = b'.';
        number::nine_digits(&mut self.text[self.len..self.len + 9], nanos);
        self.len += 9;
        self.text[self.len] = b' ';
        self.len += 1;
        self.wide(i64::from(head.pid), 5);
        self.put(&action);
        let letters = self.letters[letters_key(head.action, head.bytes) & 255];
        self.text[self.len..self.len + 8].copy_from_slice(&letters.text);
        self.len += usize::from(letters.len);
    }

    /// A number right-aligned in a field, and a blank.
    #[inline]
    fn wide(&mut self, number: i64, width: usize) {
        let magnitude = number.unsigned_abs();
        let digits = magnitude.checked_ilog10().unwrap_or(0) as usize + 1;
        let wanted = digits + usize::from(number < 0);
        let field = &mut self.text[self.len..];
        field[..8].copy_from_slice(b"        ");
        let end = width.max(wanted);
        let at = number::backwards(field, end, magnitude);
        if number < 0 {
            field[at - 1] = b'-';
        }
        field[end] = b' ';
        self.len += end + 1;
    }

    /// Bytes; names and fixed text only, which are short.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.text[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }

    /// A number.
    #[inline]
    pub(super) fn number(&mut self, number: u64) {
        let end = self.len + number.checked_ilog10().unwrap_or(0) as usize + 1;
        number::backwards(&mut self.text, end, number);
        self.len = end;
    }

    /// `SECTOR + COUNT `, or nothing where there are no sectors.
    #[inline]
    pub(super) fn span(&mut self, head: &Head) {
        if head.sectors() > 0 {
            self.number(head.sector);
            self.put(b" + ");
            self.number(u64::from(head.sectors()));
            self.put(b" ");
        }
    }

    /// `(   ELAPSED) `.
    pub(super) fn elapsed(&mut self, elapsed: Option<u64>) {
        if let Some(elapsed) = elapsed {
            self.put(format!("({elapsed:>8}) ").as_bytes());
        }
    }

    /// `[name]`.
    #[inline]
    pub(super) fn name(&mut self, name: &[u8]) {
        self.put(b"[");
        self.put(name);
        self.put(b"]");
    }

    /// `SECTOR + COUNT <- (MAJOR,MINOR) SECTOR`.
    pub(super) fn remap(&mut self, head: &Head, from: &Remapped) {
        self.number(head.sector);
        self.put(b" + ");
        self.number(u64::from(head.sectors()));
        let (major, minor) = (from.from >> 20, from.from & 0xf_ffff);
        self.put(format!(" <- ({major},{minor}) {}", from.sector).as_bytes());
    }

    /// Ends the line.
    #[inline]
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        self.put(b"\n");
        out.extend_from_slice(&self.text[..self.len]);
    }

    /// Moves what was written to `out`, for lines whose rest may be long.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[..self.len]);
        self.len = 0;
    }
}

/// `(12 00 00 .. ) `: a command's bytes, ended where only zeros follow.
pub(super) fn command(pdu: &[u8], out: &mut Vec<u8>) {
    if pdu.is_empty() {
        return;
    }
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
    let data = pdu
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |at| at + 1);
    out.push(b'(');
    for (at, &byte) in pdu.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        out.extend([digit(byte >> 4), digit(byte & 15)]);
        if at >= data {
            out.extend(b" ..");
            break;
        }
    }
    out.extend(b") ");
}
