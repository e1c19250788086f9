//! What a workload puts on the disk.

use crate::Bytes;

/// Bytes, files and operations of one run of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Most bytes on the filesystem at one time, without the filesystem's own structures.
    pub peak: f64,
    /// Bytes written sequentially.
    pub written: f64,
    /// Bytes written in random order.
    pub written_randomly: f64,
    /// Bytes read sequentially.
    pub read: f64,
    /// Bytes read in random order.
    pub read_randomly: f64,
    /// Files created, read, looked up or removed.
    pub files: f64,
    /// Files left at the end: what a check has to visit.
    pub kept: f64,
    /// Small synchronous reads, in addition to the bytes in `read`.
    pub requests: f64,
    /// Waits for all data to reach the disk (fsync, sync).
    pub syncs: f64,
    /// Seconds of rest.
    pub rest: f64,
}

impl Footprint {
    /// That of ranks which each do all of it at the same time: they share no data, but the time of rest.
    pub(crate) fn of_ranks(self, ranks: u32) -> Footprint {
        let ranks = f64::from(ranks);
        Footprint {
            peak: self.peak * ranks,
            written: self.written * ranks,
            written_randomly: self.written_randomly * ranks,
            read: self.read * ranks,
            read_randomly: self.read_randomly * ranks,
            files: self.files * ranks,
            kept: self.kept * ranks,
            requests: self.requests * ranks,
            syncs: self.syncs * ranks,
            rest: self.rest,
        }
    }
}

/// Bytes that files of `size` bytes take: whole blocks of 4 KiB, and an inode of 512 bytes each.
pub(crate) fn small_files(files: f64, size: Bytes) -> f64 {
    const BLOCK: u64 = 4096;
    const INODE: f64 = 512.0;
    files * (size.get().next_multiple_of(BLOCK) as f64 + INODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Test;
    use crate::{AgeSpec, FillSpec, Parameters, StreamSpec, ThroughputSpec, TreeSpec};

    const MIB: f64 = Bytes::MIB as f64;

    fn compilebench(initial: u32, runs: u32, scale: f64) -> Footprint {
        TreeSpec {
            initial,
            runs,
            scale,
            ..TreeSpec::default()
        }
        .footprint()
    }

    #[test]
    fn iozone_moves_each_byte_six_times() {
        let footprint = ThroughputSpec {
            threads: 8,
            ..ThroughputSpec::default()
        }
        .footprint();
        let all = 16.0 * 1024.0 * MIB;
        assert_eq!(footprint.peak, all);
        assert_eq!(footprint.written + footprint.written_randomly, 3.0 * all);
        assert_eq!(footprint.read + footprint.read_randomly, 3.0 * all);
        assert_eq!(footprint.rest, 16.0);
    }

    #[test]
    fn a_stream_is_written_once_and_read_once() {
        let stream = |test| {
            StreamSpec {
                block: Bytes(4 << 20),
                count: 100,
                test,
                ..StreamSpec::default()
            }
            .footprint()
        };
        let both = stream(Test::WriteRead);
        let all = 400.0 * MIB;
        assert_eq!((both.peak, both.written, both.read), (all, all, all));
        assert_eq!(stream(Test::Write).read, 0.0);
    }

    #[test]
    fn the_paper_fill_is_half_of_its_disk() {
        // 105 M files of 400,000 bytes: 42.0 TB of 78.8 TB.
        let fill = FillSpec {
            files: 35_000_000,
            processes: 3,
            size: Bytes(400_000),
            sync_method: 0,
            keep: true,
            ..FillSpec::default()
        }
        .footprint();
        assert_eq!(fill.written, 42.0e12);
        assert_eq!((fill.files, fill.kept, fill.syncs), (105e6, 105e6, 1.0));
        assert!((fill.peak / 42.2e12 - 1.0).abs() < 0.01, "{fill:?}");
    }

    #[test]
    fn ageing_adds_again_what_it_removed() {
        let aged = AgeSpec::default().footprint();
        // 700 x (1 + 2 + 3 + 4 + 5) directories of 1,000 files.
        assert_eq!(aged.kept, 105e6);
        assert_eq!(aged.files, 105e6 + 2.0 * 10.5e6);
    }

    #[test]
    fn compilebench_is_near_what_its_known_sequence_does() {
        // -i 10 -r 30 with the original data sets: about 9.2 GiB written, 5.0 GiB at the peak.
        let gib = 1024.0 * MIB;
        let footprint = compilebench(10, 30, 1.0);
        assert!(
            (footprint.written / gib / 9.2 - 1.0).abs() < 0.2,
            "{footprint:?}"
        );
        assert!(
            (footprint.peak / gib / 5.0 - 1.0).abs() < 0.2,
            "{footprint:?}"
        );
        let small = compilebench(10, 30, 0.02);
        assert!((small.peak / footprint.peak - 0.02).abs() < 1e-9);
    }
}
