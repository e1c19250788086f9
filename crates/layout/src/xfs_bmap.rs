//! xfs_bmap's listing (xfsprogs, io/bmap.c), byte for byte.
//!
//! Everything is in sectors of 512 bytes, whatever the block size. The flags are octal digits, one
//! fact each: shared, unwritten, and whether the piece does not begin or end on a stripe unit or width.

use std::fmt::Write;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::bmapx::{self, Piece, Place, Request};
use crate::error::{Error, io};
use crate::fibmap;
use crate::file;
use crate::geometry::Xfs;

/// How to list.
#[allow(
    clippy::struct_excessive_bools,
    reason = "they are the program's options"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Columns with AGs and flags (-v).
    pub verbose: bool,
    /// The legend of the flags (a second -v).
    pub legend: bool,
    /// Tell unwritten pieces apart (-p).
    pub unwritten: bool,
    /// Do not write delayed blocks back first, but list them (-e).
    pub delayed: bool,
    /// Lengths after the plain rows (-l).
    pub lengths: bool,
}

/// Sectors of a geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sectors {
    /// Of an AG.
    pub ag: i64,
    /// Number of AGs.
    pub ags: u64,
    /// Of a stripe unit; 0: none.
    pub unit: i64,
    /// Of a stripe width.
    pub width: i64,
    /// Whether the file is on the realtime device, which has no AGs.
    pub realtime: bool,
}

impl Sectors {
    /// Of a file on a filesystem.
    pub fn of(xfs: &Xfs, realtime: bool) -> Sectors {
        let sectors = |blocks: u64| {
            let bytes = blocks.saturating_mul(xfs.block_size);
            i64::try_from(bytes / 512).unwrap_or(i64::MAX)
        };
        let unless_realtime = |value| if realtime { 0 } else { value };
        Sectors {
            ag: sectors(xfs.ag_blocks),
            ags: xfs.ag_count,
            unit: unless_realtime(sectors(xfs.stripe_unit)),
            width: unless_realtime(sectors(xfs.stripe_width)),
            realtime,
        }
    }
}

/// What the program prints of a file.
///
/// # Errors
/// [`Error::NotXfs`] elsewhere; [`Error::Io`].
pub fn list(path: &Path, style: Style) -> Result<Vec<u8>, Error> {
    let file = file::open(path)?;
    let xfs = Xfs::of(&file).map_err(|_| not_xfs(&file, path))?;
    let request = Request {
        unwritten: style.unwritten,
        delayed: style.delayed,
        attributes: false,
    };
    let pieces = bmapx::map(&file, request).map_err(io("map", path))?;
    let sectors = Sectors::of(&xfs, fibmap::is_realtime(&file));
    let mut out = path.as_os_str().as_bytes().to_vec();
    out.extend(render(&pieces, sectors, style).bytes());
    Ok(out)
}

fn not_xfs(file: &File, path: &Path) -> Error {
    let magic = rustix::fs::fstatfs(file).map_or(0, |fs| fs.f_type as u64);
    Error::NotXfs {
        path: path.to_owned(),
        filesystem: crate::magic::name_of(magic),
    }
}

/// Everything after the file's name.
pub fn render(pieces: &[Piece], sectors: Sectors, style: Style) -> String {
    if pieces.is_empty() {
        return ": no extents\n".to_owned();
    }
    if style.verbose {
        verbose(pieces, sectors, style)
    } else {
        plain(pieces, style)
    }
}

fn plain(pieces: &[Piece], style: Style) -> String {
    let mut text = ":\n".to_owned();
    for (index, piece) in pieces.iter().enumerate() {
        let (from, to) = (piece.offset, piece.offset + piece.length - 1);
        let place = match piece.block {
            Place::Hole => "hole".to_owned(),
            Place::Delayed => "delalloc".to_owned(),
            Place::At(at) => format!("{at}..{}", at + piece.length - 1),
        };
        let _ = write!(text, "\t{index}: [{from}..{to}]: {place}");
        if style.lengths {
            let _ = write!(text, " {} blocks", piece.length);
        }
        text.push('\n');
    }
    text
}

/// The words of a row of the long listing.
struct Row {
    offset: String,
    /// Empty for a hole.
    ag: String,
    block: String,
    ag_offset: String,
    total: String,
    flags: u32,
    is_placed: bool,
}

const SHARED: u32 = 0o100_000;
const UNWRITTEN: u32 = 0o010_000;

fn row(piece: &Piece, sectors: Sectors) -> Row {
    let end = |at: i64| at + piece.length - 1;
    let mut row = Row {
        offset: format!("[{}..{}]:", piece.offset, end(piece.offset)),
        ag: String::new(),
        block: "hole".to_owned(),
        ag_offset: String::new(),
        total: piece.length.to_string(),
        flags: 0,
        is_placed: false,
    };
    match piece.block {
        Place::Hole => {}
        Place::Delayed => "delalloc".clone_into(&mut row.block),
        Place::At(at) => {
            row.block = format!("{at}..{}", end(at));
            row.is_placed = true;
            row.flags = flags(piece, at, sectors);
            if !sectors.realtime {
                let within = at % sectors.ag.max(1);
                row.ag = (at / sectors.ag.max(1)).to_string();
                row.ag_offset = format!("({within}..{})", end(within));
            }
        }
    }
    row
}

fn flags(piece: &Piece, at: i64, sectors: Sectors) -> u32 {
    let end = at + piece.length;
    let off = |at: i64, unit: i64| unit > 0 && at % unit != 0;
    let facts = [
        (piece.shared, SHARED),
        (piece.unwritten, UNWRITTEN),
        (off(at, sectors.unit), 0o1000),
        (off(end, sectors.unit), 0o100),
        (off(at, sectors.width), 0o10),
        (off(end, sectors.width), 0o1),
    ];
    let set = facts.iter().filter(|(holds, _)| *holds);
    set.map(|(_, flag)| flag).sum()
}

fn verbose(pieces: &[Piece], sectors: Sectors, style: Style) -> String {
    let rows: Vec<Row> = pieces.iter().map(|piece| row(piece, sectors)).collect();
    let widest = |least: usize, word: fn(&Row) -> &str| {
        rows.iter()
            .map(|row| word(row).len())
            .fold(least, usize::max)
    };
    let offset = widest(16, |row| &row.offset);
    let block = widest(16, |row| if row.is_placed { &row.block } else { "" });
    let total = widest(5, |row| &row.total);
    let (ag, ag_offset) = if sectors.realtime {
        (0, 0)
    } else {
        let ags = sectors.ags.to_string().len().max(2);
        (ags, widest(16, |row| &row.ag_offset))
    };
    let has_flags =
        sectors.unit > 0 || style.unwritten || rows.iter().any(|r| r.flags & UNWRITTEN != 0);
    let (heads, last) = if sectors.realtime {
        (["RT-BLOCK-RANGE", "", ""], has_flags)
    } else {
        (["BLOCK-RANGE", "AG", "AG-OFFSET"], has_flags)
    };
    let mut text = format!(
        ":\n{:>4}: {:offset$} {:block$} {:>ag$} {:ag_offset$} {:>total$}{}\n",
        "EXT",
        "FILE-OFFSET",
        heads[0],
        heads[1],
        heads[2],
        "TOTAL",
        if last { " FLAGS" } else { "" },
    );
    for (index, row) in rows.iter().enumerate() {
        let _ = write!(
            text,
            "{index:4}: {:offset$} {:block$} {:>ag$} {:ag_offset$} {:>total$}",
            row.offset, row.block, row.ag, row.ag_offset, row.total,
        );
        if row.is_placed && (row.flags != 0 || style.unwritten) {
            let _ = write!(text, " {:06o}", row.flags);
        }
        text.push('\n');
    }
    let any = rows.last().is_some_and(|row| row.flags != 0);
    if style.legend && (any || style.unwritten) {
        text.push_str(LEGEND);
    }
    text
}

const LEGEND: &str = " FLAG Values:
    0100000 Shared extent
    0010000 Unwritten preallocated extent
    0001000 Doesn't begin on stripe unit
    0000100 Doesn't end   on stripe unit
    0000010 Doesn't begin on stripe width
    0000001 Doesn't end   on stripe width
";

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: i64, block: Place, length: i64) -> Piece {
        Piece {
            offset,
            block,
            length,
            ..Piece::default()
        }
    }

    /// The array of Piszcz's mail of 2010.
    const PISZCZ: Sectors = Sectors {
        ag: 335_763_968,
        ags: 32,
        unit: 128,
        width: 1408,
        realtime: false,
    };

    const VERBOSE: Style = Style {
        verbose: true,
        legend: false,
        unwritten: false,
        delayed: false,
        lengths: false,
    };

    #[test]
    fn the_listing_of_2010_but_for_its_five_digits() {
        let file = [piece(0, Place::At(671_528_064), 20_971_520)];
        let text = render(&file, PISZCZ, VERBOSE);
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(
            last,
            [
                "0:",
                "[0..20971519]:",
                "671528064..692499583",
                "2",
                "(128..20971647)",
                "20971520",
                "000011"
            ]
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn every_kind_of_piece() {
        let mut unwritten = piece(100, Place::At(256), 28);
        unwritten.unwritten = true;
        unwritten.shared = true;
        let file = [
            piece(0, Place::Hole, 100),
            unwritten,
            piece(128, Place::Delayed, 8),
            piece(136, Place::At(1408 * 3), 1408),
        ];
        let all = Style {
            legend: true,
            unwritten: true,
            lengths: true,
            ..VERBOSE
        };
        let mut text = render(&file, PISZCZ, all);
        text += &render(
            &file,
            PISZCZ,
            Style {
                verbose: false,
                ..all
            },
        );
        text += &render(
            &file,
            Sectors {
                realtime: true,
                unit: 0,
                width: 0,
                ..PISZCZ
            },
            VERBOSE,
        );
        text += &render(&[], PISZCZ, VERBOSE);
        insta::assert_snapshot!(text.replace(" \n", " |\n"));
    }
}
