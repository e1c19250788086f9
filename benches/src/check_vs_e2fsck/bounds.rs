//! Other bounds that a run is compared with: a plain reader, the device's limits, a memory bound.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use crate::pairs::{Pairs, median};
use crate::run::output;
use crate::table::{Row, Table};
use anyhow::{Context, Result, ensure};
use rustix::fs::{OFlags, SeekFrom, seek};

use crate::check_vs_e2fsck::sides::{Peaks, Reads, cold};
use crate::check_vs_e2fsck::{Bench, MIB};

/// What the limits (bytes and requests a second) allow, and what both sides make of it.
pub(crate) fn limits(reads: Reads, (bytes, requests): (u64, u64), pairs: &Pairs) -> Table {
    let by_bytes = reads.bytes / bytes as f64;
    let by_requests = reads.requests / requests as f64;
    let bound = by_bytes.max(by_requests);
    let (ours, theirs) = (median(&pairs.ours), median(&pairs.theirs));
    let mut table = Table::new(
        format!(
            "Limited device: {:.0} requests of {:.0} KiB in the mean",
            reads.requests,
            reads.bytes / reads.requests / 1024.0
        ),
        &["check", "e2fsck", "limits", "ratio", "e2fsck's"],
    );
    let cells = [
        format!("{ours:.2}"),
        format!("{theirs:.2}"),
        format!("{bound:.2}"),
        format!("{:.2}", ours / bound),
        format!("{:.2}", theirs / bound),
    ];
    let met = ours <= 1.3 * bound;
    table.rows.push(Row::new("seconds", cells, "<= 1.30", met));
    table
}

impl Bench {
    /// Our cold time against that of a plain reader of as many bytes.
    pub(crate) fn against_a_plain_reader(
        &self,
        image: &Path,
        read: f64,
        ours: f64,
    ) -> Result<Table> {
        let mut seconds = Vec::new();
        let mut bytes = 0.0;
        for _ in 0..self.arguments.times.pairs() {
            self.stop.check()?;
            cold(image, None)?;
            let begin = Instant::now();
            bytes = plain_reader(image)?;
            seconds.push(begin.elapsed().as_secs_f64());
        }
        let bound = median(&seconds) * read / bytes;
        let ratio = ours / bound;
        let mut table = Table::new(
            format!(
                "Cold, beside a plain O_DIRECT reader of {:.1} MiB in {:.3} s",
                bytes / MIB,
                median(&seconds)
            ),
            &["check", "as many bytes", "ratio"],
        );
        let cells = [
            format!("{ours:.3}"),
            format!("{bound:.3}"),
            format!("{ratio:.2}"),
        ];
        table
            .rows
            .push(Row::new("seconds", cells, "<= 1.30", ratio <= 1.3));
        Ok(table)
    }
}

/// Usage of a filesystem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InUse {
    inodes: f64,
    /// All of its blocks.
    blocks: f64,
}

/// Inodes in use and blocks of a filesystem.
pub(crate) fn in_use(image: &str) -> Result<InUse> {
    let message = output("dumpe2fs", &["-h", image])?;
    let field = |name: &str| -> Result<f64> {
        let line = message.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.trim().parse().ok());
        value.with_context(|| format!("dumpe2fs prints no {name}"))
    };
    Ok(InUse {
        inodes: field("Inode count:")? - field("Free inodes:")?,
        blocks: field("Block count:")?,
    })
}

/// At most twice e2fsck's, or 8 bytes for each inode in use and a bit for each block, whichever is more.
pub(crate) fn memory(files: u64, peaks: Peaks, in_use: InUse) -> Table {
    let by_size = (in_use.inodes * 8.0 + in_use.blocks / 8.0) / MIB;
    let bound = (2.0 * peaks.theirs).max(by_size);
    let mut table = Table::new("Peak memory, MiB", &["check", "e2fsck", "by size"]);
    let cells = [
        format!("{:.1}", peaks.ours),
        format!("{:.1}", peaks.theirs),
        format!("{by_size:.1}"),
    ];
    table.rows.push(Row::new(
        format!("{files} files"),
        cells,
        format!("<= {bound:.1}"),
        peaks.ours <= bound,
    ));
    table
}

/// Reads the data of an image, none of its holes, past the page cache; gives the bytes.
pub(crate) fn plain_reader(image: &Path) -> Result<f64> {
    const STEP: usize = 4 << 20;
    const ALIGN: usize = 4096;
    let plain = File::open(image)?;
    let direct = File::options()
        .read(true)
        .custom_flags(OFlags::DIRECT.bits() as i32)
        .open(image)?;
    let end = plain.metadata()?.len();
    let mut room = vec![0_u8; STEP + ALIGN];
    let skip = room.as_ptr().align_offset(ALIGN);
    let buffer = &mut room[skip..skip + STEP];
    let (mut at, mut read) = (0, 0_u64);
    // After the last data: ENXIO.
    while let Ok(start) = seek(&plain, SeekFrom::Data(at)) {
        let stop = seek(&plain, SeekFrom::Hole(start))?;
        at = start;
        while at < stop {
            let len = ((stop - at) as usize).min(STEP);
            let done = direct.read_at(&mut buffer[..len.next_multiple_of(ALIGN).min(STEP)], at)?;
            ensure!(done > 0, "{} ends at {at}", image.display());
            at += done as u64;
            read += done as u64;
        }
        if at >= end {
            break;
        }
    }
    Ok(read as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_reader_leaves_out_holes() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.as_file().set_len(64 << 20).unwrap();
        file.as_file()
            .write_all_at(&vec![1; 1 << 20], 8 << 20)
            .unwrap();
        file.as_file().sync_all().unwrap();
        let read = plain_reader(file.path()).unwrap();
        assert!((MIB..2.0 * MIB).contains(&read), "{read}");
    }

    #[test]
    fn memory_is_bounded_by_theirs_or_by_size() {
        let met = |ours, inodes, blocks| {
            let peaks = Peaks { ours, theirs: 10.0 };
            memory(1, peaks, InUse { inodes, blocks }).all_met()
        };
        assert!(met(19.0, 0.0, 0.0));
        assert!(!met(21.0, 0.0, 0.0));
        // Ten million inodes and a thousand million blocks: 76 and 119 MiB.
        assert!(met(190.0, 1e7, 1e9));
    }

    #[test]
    fn a_limited_device_is_bounded_by_bytes_or_by_requests() {
        let mut pairs = Pairs::default();
        pairs.push(12.0, 60.0);
        let row = |bytes, requests| {
            let reads = Reads { bytes, requests };
            limits(reads, (100, 10), &pairs).rows.remove(0).cells
        };
        assert_eq!(
            row(1000.0, 10.0),
            ["12.00", "60.00", "10.00", "1.20", "6.00"]
        );
        assert_eq!(
            row(10.0, 120.0),
            ["12.00", "60.00", "12.00", "1.00", "5.00"]
        );
    }
}
