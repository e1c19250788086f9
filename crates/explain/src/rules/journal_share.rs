//! Journal share: bytes that the slower side writes twice, or only because it has a journal.
//!
//! With a trace the bytes to the journal are counted: it holds when their share of all bytes is 5 points
//! above the faster side's (a share of 5 % is 5 % of the device's time where bytes are the cost, above
//! the practical band of 2 %). Without one it is inferred from the mode of the journal and the bytes that
//! the device wrote for each byte of the workload: from data=journal, or from having a journal where the
//! other has none, and at least 5 % more bytes written. Without a journal, or with no more bytes written,
//! it is denied. A journal also costs waits for flushes; that is `flushes_barriers`.

use crate::comparison::{CellComparison, Direction};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Row, Unit, digits, print};

/// Least difference of shares.
const POINTS: f64 = 0.05;
/// Least ratio of bytes written for a byte.
const MORE: f64 = 1.05;

/// See the module.
pub(crate) struct JournalShare;

impl Rule for JournalShare {
    fn id(&self) -> &'static str {
        "journal_share"
    }

    fn title(&self) -> &'static str {
        "bytes that go to the journal"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        if pair.direction() == Direction::Read {
            return None;
        }
        match pair.both("trace_journal_share") {
            Some(shares) => traced(pair, shares),
            None => inferred(pair),
        }
    }
}

fn experiment(pair: &CellComparison<'_>) -> String {
    match pair.slower.fact("journal.mode") {
        Some("journal") => "mount = [\"\", \"data=journal\"]: data=ordered journals only metadata",
        Some("log") => "a log on another device (mkfs.xfs -l logdev=, mount logdev=)",
        _ => "filesystem = ext4-nojournal, or a journal on another device (mkfs -J device=)",
    }
    .to_owned()
}

fn traced(pair: &CellComparison<'_>, [slower, faster]: [f64; 2]) -> Option<Judgement> {
    let names = [
        "trace_journal_share",
        "trace_journal_bytes",
        "written_ratio",
    ];
    let mut grounds = Grounds::of(pair, &names);
    if let Some(modes) = pair.facts("journal.mode") {
        grounds = grounds.row(mode_row(modes));
    }
    if slower - faster < POINTS {
        return grounds.denied(format!(
            "share of the bytes that go to the journal: {}",
            pair.against(print(slower, Unit::Share), print(faster, Unit::Share))
        ));
    }
    grounds
        .carries((1.0 - faster) / (1.0 - slower).max(0.01))
        .apart("trace_journal_share")
        .holds(
            format!(
                "of its bytes {} go to the journal",
                pair.against(print(slower, Unit::Share), print(faster, Unit::Share))
            ),
            experiment(pair),
        )
}

fn mode_row(modes: [&str; 2]) -> Row {
    Row::words("journal.mode", "journal", modes[0], modes[1], "superblock")
}

fn inferred(pair: &CellComparison<'_>) -> Option<Judgement> {
    let Some(modes) = pair.facts("journal.mode") else {
        return Judgement::not_judged(CellComparison::needs_trace());
    };
    let grounds = Grounds::of(pair, &["written_ratio", "device_written"])
        .row(mode_row(modes))
        .inferred(true);
    if modes[0] == "none" {
        return grounds.denied(format!("there is no journal with {}", pair.sides()[0]));
    }
    let written = pair
        .both("written_ratio")
        .or_else(|| pair.both("device_written"));
    let Some([slower, faster]) = written.filter(|[_, faster]| *faster > 0.0) else {
        return Judgement::not_judged(pair.needs_counters());
    };
    let cause = slower / faster;
    if cause < MORE {
        return grounds.denied(format!(
            "the device wrote only {} times as much with {} as with {}",
            digits(cause),
            pair.sides()[0],
            pair.sides()[1]
        ));
    }
    let more = modes[0] == "journal" && modes[1] != "journal" || modes[1] == "none";
    if !more {
        return Judgement::not_judged(CellComparison::needs_trace());
    }
    grounds.carries(cause).apart("written_ratio").holds(
        format!(
            "with its journal (data={}) the device wrote {} times as much with {} as with {}",
            modes[0],
            digits(cause),
            pair.sides()[0],
            pair.sides()[1]
        ),
        experiment(pair),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn judge(sides: &ComparisonBuilder) -> Option<Judgement> {
        JournalShare.judge(&sides.pair(2.0))
    }

    #[test]
    fn half_of_the_bytes_in_the_journal_explain_twice_the_time() {
        let sides = ComparisonBuilder::new("write")
            .both("trace_journal_share", 0.5, 0.01)
            .facts("journal.mode", "journal", "ordered");
        let answer = judge(&sides).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert!(answer.experiment.unwrap().contains("data=journal"));
    }

    #[test]
    fn an_equal_share_denies_it() {
        let sides = ComparisonBuilder::new("write").both("trace_journal_share", 0.02, 0.01);
        assert_eq!(judge(&sides).unwrap().verdict, Verdict::Denied);
    }

    #[test]
    fn twice_the_bytes_under_data_journal_are_inferred() {
        let sides = ComparisonBuilder::new("write")
            .both("written_ratio", 2.05, 1.02)
            .facts("journal.mode", "journal", "ordered");
        let answer = judge(&sides).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
    }

    #[test]
    fn no_journal_or_no_more_bytes_deny_it() {
        for (mode, ratio) in [("none", 2.0), ("ordered", 1.01)] {
            let sides = ComparisonBuilder::new("write")
                .both("written_ratio", ratio, 1.0)
                .facts("journal.mode", mode, "none");
            assert_eq!(judge(&sides).unwrap().verdict, Verdict::Denied, "{mode}");
        }
    }

    #[test]
    fn more_bytes_under_the_same_mode_need_a_trace_and_reads_no_rule() {
        let sides = ComparisonBuilder::new("write")
            .both("written_ratio", 1.4, 1.0)
            .facts("journal.mode", "ordered", "ordered");
        let answer = judge(&sides).unwrap();
        assert!(
            matches!(answer.verdict, Verdict::NotJudged { .. }),
            "{answer:?}"
        );
        assert!(judge(&ComparisonBuilder::new("read")).is_none());
    }
}
