//! filefrag's listings: today's (e2fsprogs 1.42.10 to 1.47) and that of 1.41.
//!
//! Byte for byte what the program prints, with its quirks, so that a listing can be compared with one
//! in an old mail, by diff: widths that only grow from file to file, the type of the
//! filesystem once for each device, `expected` in 1.41 the last block before the gap and today the
//! block that would have continued. One difference is intended: where the map comes from FIBMAP the
//! program prints other lines; ours are those of a map, as with its -e.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use crate::count;
use crate::extent::{Extent, Flags};
use crate::file::FileLayout;
use crate::magic;

/// Which version's listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// Today's.
    #[default]
    Current,
    /// e2fsprogs 1.41.
    Of2010,
}

/// Options of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Which version's listing.
    pub era: Era,
    /// Bytes of a block (-k, -b); `None`: the filesystem's own. As in the program, rounded down to
    /// a power of two.
    pub block_size: Option<u64>,
    /// Hexadecimal (-X); 1.41 has none.
    pub hex: bool,
    /// Each row (-v), not only the last line.
    pub verbose: bool,
}

/// A listing of several files, as one call of the program prints it.
#[derive(Clone, Debug)]
pub struct Filefrag {
    style: Style,
    logical_width: usize,
    physical_width: usize,
    device: Option<u64>,
}

impl Filefrag {
    /// A listing without files.
    pub fn new(style: Style) -> Filefrag {
        Filefrag {
            style,
            logical_width: 8,
            physical_width: 10,
            device: None,
        }
    }

    /// Appends what the program prints of one more file. The path's bytes are printed as they are.
    pub fn list(&mut self, layout: &FileLayout, out: &mut Vec<u8>) {
        if self.style.verbose && self.device != Some(layout.device) {
            out.extend(self.head(layout).bytes());
        }
        self.device = Some(layout.device);
        let name = layout.path.as_os_str().as_bytes();
        let extents = if self.style.verbose {
            self.widths(layout);
            out.extend(b"File size of ");
            out.extend(name);
            out.extend(self.rows(layout).bytes());
            self.found(layout)
        } else if self.style.era == Era::Of2010 {
            // Without -v, 1.41 asked for the number of rows and printed that.
            layout.rows.len() as u64
        } else {
            count::extents(&layout.rows)
        };
        let s = if extents == 1 { "" } else { "s" };
        out.extend(name);
        out.extend(format!(": {extents} extent{s} found\n").bytes());
    }

    fn shift(&self, layout: &FileLayout) -> u32 {
        let size = self.style.block_size.unwrap_or(layout.block_size.into());
        size.max(1).ilog2()
    }

    fn head(&self, layout: &FileLayout) -> String {
        let mut text = format!("Filesystem type is: {:x}\n", layout.magic);
        if magic::is_ext(layout.magic) && layout.indirect {
            let per_group = u64::from(layout.block_size) * 8;
            let groups = layout.filesystem_blocks.div_ceil(per_group);
            let is = match self.style.era {
                Era::Current => "",
                Era::Of2010 => "is ",
            };
            let _ = writeln!(
                text,
                "Filesystem cylinder groups {is}approximately {groups}"
            );
        }
        text
    }

    fn widths(&mut self, layout: &FileLayout) {
        let blocks = blocks(layout);
        let log10 = |value: u64| value.checked_ilog10().unwrap_or(0) as usize;
        let (logical, physical) = (log10(blocks), log10(layout.filesystem_blocks));
        match self.style.era {
            Era::Current => {
                self.logical_width = self.logical_width.max(logical);
                self.physical_width = self.physical_width.max(physical);
            }
            Era::Of2010 => {
                self.logical_width = logical.max(7);
                self.physical_width = physical.max(8);
            }
        }
    }

    /// Everything after the name in the first line, and the rows.
    fn rows(&self, layout: &FileLayout) -> String {
        let shift = self.shift(layout);
        let (size, blocks) = (layout.size, blocks(layout));
        let s = if blocks == 1 { "" } else { "s" };
        let mut text = String::new();
        let (l, p) = (self.logical_width, self.physical_width);
        match self.style.era {
            Era::Current => {
                let shown = blocks.saturating_mul(layout.block_size.into()) >> shift;
                let unit = 1_u64 << shift;
                let _ = writeln!(text, " is {size} ({shown} block{s} of {unit} bytes)");
            }
            Era::Of2010 => {
                let unit = layout.block_size;
                let _ = writeln!(text, " is {size} ({blocks} block{s}, blocksize {unit})");
            }
        }
        if layout.rows.is_empty() {
            return text;
        }
        let _ = match self.style.era {
            Era::Current => writeln!(
                text,
                " ext: {:>wide$} {:>wider$} length: {:>last$} flags:",
                "logical_offset:",
                "physical_offset:",
                "expected:",
                wide = l * 2 + 3,
                wider = p * 2 + 3,
                last = p + 1,
            ),
            Era::Of2010 => writeln!(
                text,
                " ext {:>l$} {:>p$} {:>p$} length flags",
                "logical", "physical", "expected"
            ),
        };
        let mut last = Extent::default();
        for (index, row) in layout.rows.iter().enumerate() {
            match self.style.era {
                Era::Current => self.current(&mut text, index, row, &last, shift, size),
                Era::Of2010 => self.old(&mut text, index, row, &last, shift, size),
            }
            last = *row;
        }
        text
    }

    fn current(
        &self,
        text: &mut String,
        index: usize,
        row: &Extent,
        last: &Extent,
        shift: u32,
        size: u64,
    ) {
        let (l, p) = (self.logical_width, self.physical_width);
        let expected = count::expected(last, row).filter(|&at| at != 0);
        // Inline data is listed in bytes.
        let unit = if row.flags.has(Flags::INLINE) {
            0
        } else {
            shift
        };
        let known = !row.flags.has(Flags::UNKNOWN);
        let logical = row.logical >> unit;
        let blocks = row.length.wrapping_sub(1) >> unit;
        let physical = if known { row.physical >> unit } else { 0 };
        let physical_end = physical.wrapping_add(if known { blocks } else { 0 });
        let logical_end = logical.wrapping_add(blocks);
        let length = if known { row.length >> unit } else { 0 };
        let mut flags = match expected {
            Some(at) if known => self.number(at >> unit, p) + ": ",
            _ => " ".repeat(p.min(19) + 2),
        };
        let names = row.flags.names();
        if names.is_empty() {
            // The program cuts off one character: the last comma, or, without names, a blank.
            flags.pop();
        }
        flags.push_str(&names.join(","));
        if row.logical_end() >= size {
            // With its comma even without a name before it.
            flags.push_str(",eof");
        }
        let _ = writeln!(
            text,
            "{index:4}: {}..{}: {}..{}: {}: {flags}",
            self.number(logical, l),
            self.number(logical_end, l),
            self.number(physical, p),
            self.number(physical_end, p),
            self.number(length, 6),
        );
    }

    fn number(&self, value: u64, width: usize) -> String {
        if self.style.hex {
            format!("{value:width$x}")
        } else {
            format!("{value:width$}")
        }
    }

    fn old(
        &self,
        text: &mut String,
        index: usize,
        row: &Extent,
        last: &Extent,
        shift: u32,
        size: u64,
    ) {
        let (l, p) = (self.logical_width, self.physical_width);
        let expected = match expected_of_2010(last, row, shift) {
            Some(block) => format!("{block:p$}"),
            None => " ".repeat(p),
        };
        let shift = if row.flags.has(Flags::INLINE) {
            0
        } else {
            shift
        };
        let known = [
            (Flags::UNKNOWN, "unknown"),
            (Flags::DELALLOC, "delalloc"),
            (Flags::ENCRYPTED, "encrypted"),
            (Flags::NOT_ALIGNED, "not_aligned"),
            (Flags::INLINE, "inline"),
            (Flags::TAIL, "tail_packed"),
            (Flags::UNWRITTEN, "unwritten"),
            (Flags::MERGED, "merged"),
        ];
        let flags = known.iter().filter(|(flag, _)| row.flags.has(*flag));
        let mut names: Vec<&str> = flags.map(|(_, name)| *name).collect();
        if row.logical_end() >= size {
            names.push("eof");
        }
        let flags = names.join(",");
        let _ = writeln!(
            text,
            "{index:4} {:l$} {:p$} {expected} {:6} {flags}",
            row.logical >> shift,
            row.physical >> shift,
            row.length >> shift,
        );
    }

    fn found(&self, layout: &FileLayout) -> u64 {
        match self.style.era {
            Era::Current => count::extents(&layout.rows),
            Era::Of2010 => {
                let shift = self.shift(layout);
                let mut last = Extent::default();
                let mut found = u64::from(!layout.rows.is_empty());
                for (index, row) in layout.rows.iter().enumerate() {
                    let breaks = expected_of_2010(&last, row, shift).is_some();
                    found += u64::from(index > 0 && breaks);
                    last = *row;
                }
                found
            }
        }
    }
}

/// Blocks of the file, in the filesystem's own size.
fn blocks(layout: &FileLayout) -> u64 {
    layout.size.div_ceil(layout.block_size.into())
}

/// 1.41: the last block of the row before, when this row does not follow it. A hole is a break.
fn expected_of_2010(last: &Extent, row: &Extent, shift: u32) -> Option<u64> {
    let end = (last.physical >> shift) + (last.length >> shift);
    let breaks = row.logical >> shift != 0 && row.physical >> shift != end;
    breaks
        .then(|| end.saturating_sub(1))
        .filter(|&block| block != 0)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use crate::count::tests::row;

    /// Physical block and length of each row of the file that Piszcz wrote to ext4 with
    /// `nobarrier` in 2010 (linux-ext4, 28 Feb 2010).
    #[rustfmt::skip]
    pub(crate) const PISZCZ_ORDERED: [(u64, u64); 81] = [
        (34816, 32768),
        (67584, 30720),
        (100_352, 32768),
        (133_120, 30720),
        (165_888, 32768),
        (198_656, 30720),
        (231_424, 32768),
        (264_192, 30720),
        (296_960, 32768),
        (329_728, 32768),
        (362_496, 32768),
        (395_264, 32768),
        (428_032, 32768),
        (460_800, 32768),
        (493_568, 30720),
        (557_056, 32768),
        (589_824, 32768),
        (622_592, 32768),
        (655_360, 32768),
        (688_128, 32768),
        (720_896, 32768),
        (753_664, 32768),
        (786_432, 32768),
        (821_248, 32768),
        (854_016, 30720),
        (886_784, 32768),
        (919_552, 32768),
        (952_320, 32768),
        (985_088, 32768),
        (1_017_856, 30720),
        (1_081_344, 32768),
        (1_114_112, 32768),
        (1_146_880, 32768),
        (1_179_648, 32768),
        (1_212_416, 32768),
        (1_245_184, 32768),
        (1_277_952, 32768),
        (1_310_720, 32768),
        (1_343_488, 32768),
        (1_376_256, 32768),
        (1_409_024, 32768),
        (1_441_792, 32768),
        (1_474_560, 32768),
        (1_507_328, 32768),
        (1_540_096, 32768),
        (1_607_680, 32768),
        (1_640_448, 32768),
        (1_673_216, 32768),
        (1_705_984, 32768),
        (1_738_752, 32768),
        (1_771_520, 32768),
        (1_804_288, 32768),
        (1_837_056, 32768),
        (1_869_824, 32768),
        (1_902_592, 32768),
        (1_935_360, 32768),
        (1_968_128, 32768),
        (2_000_896, 32768),
        (2_033_664, 32768),
        (2_066_432, 30720),
        (2_129_920, 32768),
        (2_162_688, 32768),
        (2_195_456, 32768),
        (2_228_224, 32768),
        (2_260_992, 32768),
        (2_293_760, 32768),
        (2_326_528, 32768),
        (2_359_296, 32768),
        (2_392_064, 32768),
        (2_424_832, 32768),
        (2_457_600, 32768),
        (2_490_368, 32768),
        (2_523_136, 32768),
        (2_555_904, 32768),
        (2_588_672, 32768),
        (2_656_256, 32768),
        (2_689_024, 32768),
        (2_721_792, 32768),
        (2_754_560, 32768),
        (2_787_328, 18432),
        (2_818_048, 30720),
    ];

    fn list(layout: &FileLayout, style: Style) -> String {
        let mut out = Vec::new();
        Filefrag::new(style).list(layout, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_listing_of_2010_comes_back() {
        let mut logical = 0;
        let rows = PISZCZ_ORDERED.map(|(physical, length)| {
            let row = row(logical << 12, physical << 12, length << 12, 0);
            logical += length;
            row
        });
        let mut layout =
            FileLayout::from_rows(Path::new("/r1/bigfile"), 10 << 30, 4096, rows.to_vec());
        layout.filesystem_blocks = 1_343_055_824;
        let style = Style {
            era: Era::Of2010,
            verbose: true,
            ..Style::default()
        };
        let ours = list(&layout, style);
        // The archive of the mail kept the words and lost the columns.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let published = include_str!("../tests/data/piszcz-2010-ordered.txt");
        assert_eq!(words(&ours), words(published));
        insta::assert_snapshot!(ours.lines().take(6).collect::<Vec<_>>().join("\n"));
        // Without -v, the number of rows.
        let short = list(
            &layout,
            Style {
                era: Era::Of2010,
                ..Style::default()
            },
        );
        assert_eq!(short, "/r1/bigfile: 81 extents found\n");
        let today = list(&layout, Style::default());
        assert_eq!(today, "/r1/bigfile: 13 extents found\n");
    }

    #[test]
    fn todays_listing_of_every_kind_of_row() {
        let rows = vec![
            row(0, 40960, 8192, 0x2000),
            row(8192, 49152, 4096, 0x800),
            row(20480, 900 << 20, 4096, 0x8),
            row(24576, 0, 4096, 0x7),
        ];
        let layout = FileLayout::from_rows(Path::new("a"), 28000, 4096, rows.clone());
        let verbose = Style {
            verbose: true,
            ..Style::default()
        };
        let mut text = list(&layout, verbose);
        text += &list(
            &layout,
            Style {
                hex: true,
                block_size: Some(1024),
                ..verbose
            },
        );
        text += &list(
            &layout,
            Style {
                era: Era::Of2010,
                ..verbose
            },
        );
        let inline =
            FileLayout::from_rows(Path::new("i"), 100, 4096, vec![row(0, 5000, 60, 0x301)]);
        text += &list(&inline, verbose);
        text += &list(
            &FileLayout::from_rows(Path::new("empty"), 0, 4096, Vec::new()),
            verbose,
        );
        // The ends of lines matter.
        insta::assert_snapshot!(text.replace(" \n", " |\n").replace('\n', "\n|"));
    }
}
