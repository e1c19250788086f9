//! fsck.f2fs: `fsck.f2fs -f --dry-run DEVICE`. -f checks also what is marked clean, --dry-run writes
//! nothing of what -f would mend (held against the device's bytes with 1.15).
//!
//! ```text
//! Info: checkpoint state = 1c5 :  trimmed nat_bits crc compacted_summary unmount
//! [FSCK] Check node 1 / 1058 (0.10%)
//! ...
//! [FSCK] Max image size: 26 MB, Free space: 251 MB
//! [FSCK] Unreachable nat entries                        [Ok..] [0x0]
//! [FSCK] SIT valid block bitmap checking                [Fail]
//! ...
//! Done: 0.000000 secs
//! ```
//!
//! It has no numbered passes. Two parts can be distinguished by their first words: it reads the tables and walks
//! all nodes from the root (1), then compares what it counted with tables and checkpoint (2); what
//! comes before, superblock and checkpoint, belongs to the whole alone. Its own time is no clock: 1.15
//! of Debian prints 0.000000 always.
//!
//! `[Fail]` is the verdict, and `[ASSERT]`, and a superblock that is not there while the other is. The exit code
//! alone is not: with one superblock gone it ends with 0. Nor is `[FIX]`, which follows a
//! fault that was counted.

use fskind::Kind;

use super::checker::{Checker, Event, OutputSummary};
use super::report::Verdict;

/// The checker of f2fs.
pub(super) struct FsckF2fs;

impl Checker for FsckF2fs {
    fn kind(&self) -> Kind {
        Kind::F2fs
    }

    fn passes(&self) -> u8 {
        2
    }

    fn read(&self, line: &str) -> Option<Event> {
        read(line)
    }

    fn tolerance(&self, _seconds: f64) -> Option<f64> {
        None
    }

    fn judge(&self, code: i32, summary: OutputSummary) -> (Verdict, String) {
        judge(code, summary)
    }
}

/// What the walk's beginning and end are known by.
const WALKS: &str = "Info: checkpoint state = ";
const COMPARES: &str = "[FSCK] Max image size:";

fn read(line: &str) -> Option<Event> {
    let line = line.trim();
    let begins = |pass, title: &str| {
        let title = title.to_owned();
        Some(Event::Begins { pass, title })
    };
    if line.starts_with(WALKS) {
        return begins(1, "Walking all nodes from the root");
    }
    if line.starts_with(COMPARES) {
        return begins(2, "Comparing what was counted");
    }
    if line.starts_with("Done: ") {
        return Some(Event::Ends);
    }
    let failed = line.starts_with("[FSCK]") && line.contains("[Fail]");
    if failed || line.starts_with("[ASSERT]") || line.starts_with(NO_SUPERBLOCK) {
        return Some(Event::Finds);
    }
    line.contains("Can't find valid checkpoint")
        .then_some(Event::GivesUp)
}

const NO_SUPERBLOCK: &str = "Can't find a valid F2FS superblock at";

/// fsck.f2fs(8) names no codes: 0, 1 and 255 (-1) were seen.
fn judge(code: i32, summary: OutputSummary) -> (Verdict, String) {
    let found = summary.faults;
    let (verdict, words) = match code {
        _ if !summary.passes => (
            Verdict::Operational,
            "it cannot open the filesystem: no f2fs, or no checkpoint that is whole".to_owned(),
        ),
        _ if found > 0 => {
            let lines = if found == 1 {
                "line reports"
            } else {
                "lines report"
            };
            (Verdict::Errors, format!("{found} {lines} a fault"))
        }
        0 => (Verdict::Clean, "nothing failed".to_owned()),
        1 | 255 => (
            Verdict::Errors,
            "errors found, though no line says [Fail]".to_owned(),
        ),
        _ => (
            Verdict::Operational,
            "not a code that was seen of fsck.f2fs".to_owned(),
        ),
    };
    (verdict, format!("exit code {code}: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_known_and_what_is_right_is_not_counted() {
        for line in [
            "[FSCK] Unreachable nat entries                        [Fail] [0x1]",
            "[ASSERT] (sanity_check_nid: 429)  --> nid[0xc8] nat_entry->ino[0xc8] footer.ino[0x0]",
            "\tCan't find a valid F2FS superblock at 0x0",
        ] {
            assert_eq!(read(line), Some(Event::Finds), "{line}");
        }
        for line in [
            "[FSCK] next block offset is free                      [Ok..]",
            "[FSCK] fixing SIT types",
            "[FIX] (fix_hard_links:2239)  --> File: 0xc8 i_links= 0x9 -> 0x1",
            "[FSCK] Check node 106 / 1058 (10.10%)",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn one_superblock_gone_is_a_fault_though_the_code_is_0() {
        let summary = |passes, faults| OutputSummary {
            passes,
            faults,
            ..OutputSummary::default()
        };
        assert_eq!(judge(0, summary(true, 1)).0, Verdict::Errors);
        assert_eq!(judge(0, summary(true, 0)).0, Verdict::Clean);
        assert_eq!(judge(255, summary(true, 0)).0, Verdict::Errors);
        assert_eq!(judge(255, summary(false, 2)).0, Verdict::Operational);
        assert_eq!(judge(3, summary(true, 0)).0, Verdict::Operational);
    }
}
