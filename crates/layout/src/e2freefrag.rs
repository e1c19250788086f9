//! The free space of a mounted filesystem, in e2freefrag's listing (e2fsprogs, misc/e2freefrag.c).
//!
//! e2freefrag reads ext's block bitmaps, or GETFSMAP where the device is mounted; this is always
//! GETFSMAP, so XFS has a histogram, too. Two runs that meet at a group boundary are two, as the
//! kernel reports them.

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, io};
use crate::fsmap::{self, Owner};
use crate::{file, geometry, magic};

/// Buckets of the histogram; the last one has no upper bound.
pub const BUCKETS: usize = 32;

/// A bucket: runs of 2^(i-1) to 2^i - 1 blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Runs.
    pub extents: u64,
    /// Their blocks.
    pub blocks: u64,
}

/// Free space. Lengths are blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// The mounted device.
    pub device: String,
    /// Bytes of a block.
    pub block_size: u64,
    /// Blocks of the filesystem.
    pub blocks: u64,
    /// Free blocks.
    pub free: u64,
    /// Runs of free blocks.
    pub extents: u64,
    /// The shortest run; 0 without any.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// Runs by length.
    pub histogram: Vec<Bucket>,
}

impl FreeSpace {
    /// Nothing is free yet.
    pub fn new(device: String, block_size: u64, blocks: u64) -> FreeSpace {
        FreeSpace {
            device,
            block_size: block_size.max(1),
            blocks,
            histogram: vec![Bucket::default(); BUCKETS],
            ..FreeSpace::default()
        }
    }

    /// Of the mounted filesystem that a path is on.
    ///
    /// # Errors
    /// [`Error::NoFreeMap`] where the filesystem has no GETFSMAP, [`Error::Io`].
    pub fn of(path: &Path) -> Result<FreeSpace, Error> {
        let file = file::open(path)?;
        let fs = rustix::fs::fstatfs(&file).map_err(|e| io("look at", path)(e.into()))?;
        let device = file.metadata().map_err(io("look at", path))?.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let mounts = probe::mountinfo::own().unwrap_or_default();
        let source = mounts.iter().find(|mount| mount.device == (major, minor));
        let name = source.map_or_else(
            || format!("{major}:{minor}"),
            |mount| mount.source.to_string_lossy().into_owned(),
        );
        let mut blocks = fs.f_blocks;
        if magic::is_ext(fs.f_type as u64)
            && let Ok(ext) = geometry::Ext::of(&file)
        {
            // statfs(2) leaves ext's fixed metadata out.
            blocks = ext.blocks;
        }
        let mut free = FreeSpace::new(name, fs.f_bsize as u64, blocks);
        fsmap::regions(
            &file,
            fsmap::device_number(major, minor),
            0..u64::MAX,
            |region| {
                if region.owner == Owner::Free {
                    free.add(region.length / free.block_size);
                }
                true
            },
        )
        .map_err(|source| Error::NoFreeMap {
            path: path.to_owned(),
            filesystem: magic::name_of(fs.f_type as u64),
            source,
        })?;
        Ok(free)
    }

    /// Adds a run of free blocks.
    pub fn add(&mut self, blocks: u64) {
        let Some(log) = blocks.checked_ilog2() else {
            return;
        };
        self.min = if self.extents == 0 {
            blocks
        } else {
            self.min.min(blocks)
        };
        self.max = self.max.max(blocks);
        self.extents += 1;
        self.free += blocks;
        if let Some(bucket) = self.histogram.get_mut((log as usize + 1).min(BUCKETS - 1)) {
            bucket.extents += 1;
            bucket.blocks += blocks;
        }
    }

    /// As e2freefrag prints it.
    pub fn render(&self) -> String {
        let kib = |blocks: u64| blocks * self.block_size / 1024;
        let average = self.free.checked_div(self.extents).unwrap_or(0);
        let mut text = format!(
            "Device: {}\nBlocksize: {} bytes\nTotal blocks: {}\nFree blocks: {} ({:.1}%)\n\n\
             Min. free extent: {} KB \nMax. free extent: {} KB\nAvg. free extent: {} KB\n\
             Num. free extent: {}\n",
            self.device,
            self.block_size,
            self.blocks,
            self.free,
            percent(self.free, self.blocks),
            kib(self.min),
            kib(self.max),
            kib(average),
            self.extents,
        );
        text.push_str("\nHISTOGRAM OF FREE EXTENT SIZES:\n");
        text.push_str("Extent Size Range :  Free extents   Free Blocks  Percent\n");
        for (index, bucket) in self.histogram.iter().enumerate().skip(1) {
            if bucket.extents > 0 {
                let _ = writeln!(
                    text,
                    "{}  :  {:12}  {:12}  {:6.2}%",
                    self.range(index),
                    bucket.extents,
                    bucket.blocks,
                    percent(bucket.blocks, self.free),
                );
            }
        }
        text
    }

    /// `  128K...  256K-`.
    fn range(&self, index: usize) -> String {
        let bits = index as u32 - 1 + self.block_size.ilog2().saturating_sub(10);
        let size = |bits: u32| {
            let unit = b"KMGTPEZY".get(bits as usize / 10).copied().unwrap_or(b'?');
            (1_u64 << (bits % 10), char::from(unit))
        };
        let (low, unit) = size(bits);
        // The upper bound keeps the lower one's unit: 512K to 1024K.
        let high = if index == BUCKETS - 1 {
            "max ".to_owned()
        } else {
            format!("{:5}{unit}-", low * 2)
        };
        format!("{low:5}{unit}...{high:>7}")
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_are_powers_of_two_in_the_units_of_the_lower_one() {
        let mut free = FreeSpace::new("/dev/x".into(), 4096, 1 << 30);
        for blocks in [1, 2, 3, 4, 127, 128, 255, 256, 1 << 20, (1 << 30) + 5] {
            free.add(blocks);
        }
        free.add(0);
        assert_eq!((free.extents, free.min, free.max), (10, 1, (1 << 30) + 5));
        insta::assert_snapshot!(free.render().replace(" \n", " |\n"));
        let nothing = FreeSpace::new("/dev/x".into(), 1024, 0).render();
        assert!(nothing.contains("Free blocks: 0 (0.0%)"), "{nothing}");
    }

    proptest! {
        #[test]
        fn every_run_is_in_the_bucket_of_its_length(runs in proptest::collection::vec(1_u64..1 << 40, 0..50)) {
            let mut free = FreeSpace::new(String::new(), 1024, 1 << 50);
            for &run in &runs {
                free.add(run);
            }
            let sums = free.histogram.iter().fold((0, 0), |(n, b), bucket| (n + bucket.extents, b + bucket.blocks));
            prop_assert_eq!(sums, (runs.len() as u64, runs.iter().sum::<u64>()));
            for (index, bucket) in free.histogram.iter().enumerate().take(BUCKETS - 1).skip(1) {
                prop_assert!(bucket.blocks >= bucket.extents << (index - 1));
                prop_assert!(bucket.blocks < (bucket.extents << index) + u64::from(bucket.extents == 0));
            }
        }
    }
}
