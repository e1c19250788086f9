//! What was published of such a set.
//!
//! Sets are known by their switches, not by their names: a study may call them as it likes.

use serde::Serialize;
use study::ScanSpec;

use crate::published::Published;

/// The study's document.
const DOCUMENT: &str = "mushran2011";
/// The messages, in the order of their columns: 1.5 million files (16 September), 15 million (21 September).
const TABLES: [&str; 2] = ["1.5M-file volume", "15M-file volume"];
/// A buffer of at most this was vanilla: "It was reading 32K to 1M".
const VANILLA_BUFFER: u64 = 1 << 20;

/// Directory blocks that were requested together on 21 September.
const BATCH: u32 = 1024;

/// What was printed of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Theirs {
    /// MB (2^20 bytes) from disk.
    #[serde(rename = "disk_mb")]
    pub disk: f64,
    /// MB (2^20 bytes) from the cache.
    #[serde(rename = "cache_mb")]
    pub cache: f64,
    /// Wall time, seconds.
    #[serde(rename = "real_s")]
    pub real: f64,
}

/// The numbers of both messages for a pass of a set.
pub(super) fn of(document: Option<&Published>, spec: &ScanSpec, name: &str) -> [Option<Theirs>; 2] {
    let columns = columns(spec);
    [0, 1].map(|at| row(document?, at, columns[at]?, name))
}

/// The numbers of a pass in a column of one of the messages.
pub(super) fn row(document: &Published, table: usize, column: &str, row: &str) -> Option<Theirs> {
    let value = |metric| value(document, table, column, row, metric);
    Some(Theirs {
        disk: value("disk_MB")?,
        cache: value("cache_MB")?,
        real: value("real_s")?,
    })
}

/// One number.
pub(super) fn value(
    document: &Published,
    table: usize,
    column: &str,
    row: &str,
    metric: &str,
) -> Option<f64> {
    let document = (document.document.doc == DOCUMENT).then_some(document)?;
    let mut records = document.records.iter();
    let found = records.find(|record| {
        record.table == TABLES[table]
            && record.row == row
            && record.column == column
            && record.metric == metric
    });
    found?.value
}

/// The column of each message that has such a set. Chains are ignored: a smaller volume has fewer.
fn columns(spec: &ScanSpec) -> [Option<&'static str>; 2] {
    let large = spec.scan_buffer.get() > VANILLA_BUFFER;
    // His caches never held the metadata.
    if spec.cache >= 1.0 {
        return [None, None];
    }
    match (spec.precache, spec.prefill, large, spec.batch) {
        (true, false, false, 1) => [Some("set 1"), Some("vanilla")],
        (false, true, false, 1) => [Some("set 2"), None],
        (false, true, true, 1) => [Some("set 3"), None],
        (false, true, true, BATCH..) => [None, Some("all changes")],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::document;

    #[test]
    fn sets_find_their_numbers_by_their_switches() {
        let document = document("mushran2011");
        let vanilla = ScanSpec::default();
        let row = "Pass 0b: Checking inode allocation chains";
        let [small, large] = of(document, &vanilla, row);
        assert_eq!(small.map(|t| (t.disk, t.real)), Some((6471.0, 151.066)));
        assert_eq!(large.map(|t| (t.disk, t.real)), Some((64696.0, 1530.27)));
        let all = ScanSpec {
            precache: false,
            prefill: true,
            scan_buffer: study::Bytes(4 << 20),
            batch: 1024,
            ..vanilla.clone()
        };
        let [small, large] = of(document, &all, "Pass 2: Checking directory entries");
        assert_eq!(small, None);
        assert_eq!(
            large.map(|t| (t.disk, t.cache, t.real)),
            Some((3902.0, 3937.0, 343.183))
        );
        let odd = [
            ScanSpec {
                prefill: true,
                ..vanilla.clone()
            },
            ScanSpec {
                cache: 4.0,
                ..vanilla
            },
            ScanSpec { batch: 64, ..all },
        ];
        for odd in odd {
            assert_eq!(of(document, &odd, row), [None, None], "{odd:?}");
        }
    }

    #[test]
    fn mushran_has_his_290_numbers() {
        let found = document("mushran2011").expect("embedded and well formed");
        assert_eq!(found.records.len(), 290);
        assert_eq!(found.document.short(), "Mushran 2011");
    }
}
