//! The explanation as text of 78 columns: rules that hold in full, the others in one line each.

use std::collections::BTreeMap;

use crate::comparison::{level_name, subject};
use crate::differences::{Difference, Slower};
use crate::explanation::{Explained, Explanation, RuleAnswer};
use crate::rule::Verdict;
use crate::value::{Unit, digits, print};

/// Columns of a mail.
const WIDTH: usize = 78;
/// Where the values of the slower and the faster side end.
const COLUMNS: [usize; 2] = [56, 74];

/// The meaning of the terms, printed once after all explanations.
pub const LEGEND: &str = "Confidence counts which of four conditions are not met: the cause was measured in this \
phase in both cells, not inferred; it is large enough to carry half of the difference (of its logarithm); three or \
more trials of each cell do not overlap in it; there is no evidence against it. high: all are met; medium: one is \
not; low: two or more are not. Figures are medians over a cell's trials. docs/explain.md lists each rule's thresholds.";

/// The whole text.
pub fn render(explained: &Explained) -> String {
    let mut out = head(explained);
    for (number, explanation) in explained.explanations.iter().enumerate() {
        out.push('\n');
        let before = &explained.explanations[..number];
        match before
            .iter()
            .position(|earlier| is_alike(earlier, explanation))
        {
            Some(earlier) => out.push_str(&again(number + 1, earlier + 1, explanation)),
            None => out.push_str(&one(number + 1, explanation)),
        }
    }
    for note in &explained.notes {
        out.push('\n');
        out.push_str(&wrap("Note: ", 6, note));
    }
    if explained.explained() > 0 {
        out.push('\n');
        out.push_str(&wrap("", 0, LEGEND));
    }
    // Facts and names come from a run's folder.
    words::printable_lines(&out).into_owned()
}

/// Text wrapped to 78 columns with `first` before its first line and `indent` spaces before the others.
pub fn wrap(first: &str, indent: usize, text: &str) -> String {
    words::wrap(first, indent, text, WIDTH)
}

fn head(explained: &Explained) -> String {
    let differences = explained.explanations.len();
    let mut text = format!(
        "{} of {} comparisons differ, {} of these explained",
        differences,
        explained.compared,
        explained.explained()
    );
    if explained.too_few > 0 {
        text += &format!(
            "; {} more had too few blocks to compare (run with --blocks 5)",
            explained.too_few
        );
    }
    if let Some(times) = &explained.times_of {
        text += &format!(" [{times}]");
    }
    wrap(&format!("Why: {}: ", explained.run), 5, &text)
}

/// Whether two differences are of the same cells and phase, and the same rules hold as surely: two
/// clocks of one thing.
fn is_alike(earlier: &Explanation, later: &Explanation) -> bool {
    let place = |e: &Explanation| {
        let d = &e.difference;
        (d.base.cell, d.other.cell, d.slower, d.phase.clone())
    };
    let holds = |e: &Explanation| -> Vec<(&'static str, Option<crate::Confidence>)> {
        e.holds()
            .map(|f| (f.rule, f.judgement.confidence()))
            .collect()
    };
    earlier.explained && place(earlier) == place(later) && holds(earlier) == holds(later)
}

/// A difference that an earlier one has explained.
fn again(number: usize, earlier: usize, explanation: &Explanation) -> String {
    let holds: Vec<String> = explanation
        .holds()
        .filter_map(|f| {
            Some(format!(
                "{} ({})",
                f.title,
                f.judgement.confidence()?.word()
            ))
        })
        .collect();
    let mut out = wrap(&format!("{number}. "), 3, &title(&explanation.difference));
    out.push_str(&wrap("   ", 3, &sentence(&explanation.difference)));
    out.push_str(&wrap(
        "   ",
        3,
        &format!("As {earlier}: {}.", holds.join(", ")),
    ));
    out
}

/// One difference.
fn one(number: usize, explanation: &Explanation) -> String {
    let difference = &explanation.difference;
    let mut out = wrap(&format!("{number}. "), 3, &title(difference));
    out.push_str(&wrap("   ", 3, &sentence(difference)));
    for finding in explanation.holds() {
        out.push('\n');
        out.push_str(&holding(finding, difference));
    }
    out.push('\n');
    if !explanation.explained {
        out.push_str("   Not explained: no rule holds.\n");
    }
    let denied: Vec<String> = explanation
        .denied()
        .map(|f| format!("{} ({})", f.title, f.judgement.because))
        .collect();
    if !denied.is_empty() {
        out.push_str(&wrap("   Denied: ", 6, &(denied.join("; ") + ".")));
    }
    let open = open(explanation);
    if !open.is_empty() {
        out.push_str(&wrap("   Not judged: ", 6, &(open + ".")));
    }
    out
}

/// Rules that could not be judged, those that need the same together.
fn open(explanation: &Explanation) -> String {
    let mut by_need: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (finding, needs) in explanation.open() {
        by_need.entry(needs).or_default().push(finding.title);
    }
    let parts: Vec<String> = by_need
        .iter()
        .map(|(needs, titles)| {
            // One rule needs, several need.
            let needs = match titles.len() {
                1 => (*needs).to_owned(),
                _ => needs.replacen("needs ", "need ", 1),
            };
            format!("{} ({needs})", titles.join(", "))
        })
        .collect();
    parts.join("; ")
}

/// `write throughput (a): ext4 against xfs (mount=nobarrier)`.
pub fn title(difference: &Difference) -> String {
    let common: Vec<String> = difference
        .common
        .iter()
        .map(|(factor, level)| format!("{factor}={}", level_name(level)))
        .collect();
    let place = if common.is_empty() {
        String::new()
    } else {
        format!(" ({})", common.join(" "))
    };
    format!(
        "{} {} {}: {} against {}{place}",
        difference.phase,
        difference.metric,
        difference.clock.mark(),
        subject(&difference.factor, &difference.other.level),
        subject(&difference.factor, &difference.base.level),
    )
}

/// `ext4 is slower: 290.3 MB/s against 568.8 MB/s, 1.96 times (1.95 to 1.97; 5 trials each).`
pub fn sentence(difference: &Difference) -> String {
    let unit = match difference.unit.as_str() {
        "bytes_per_s" => Unit::BytesPerS,
        "s" => Unit::Seconds,
        "files_per_s" | "ops_per_s" => Unit::PerS,
        _ => Unit::Count,
    };
    let (slower, faster) = sides(difference);
    format!(
        "{} is slower: {} against {}, {} times ({} to {}; {}).",
        subject(&difference.factor, &slower.level),
        print(slower.median, unit),
        print(faster.median, unit),
        digits(difference.times),
        digits(difference.interval.0),
        digits(difference.interval.1),
        trials(slower.trials as u64, faster.trials as u64),
    )
}

/// `5 trials each`, `5 and 4 trials`.
fn trials(slower: u64, faster: u64) -> String {
    if slower == faster {
        format!("{} each", words::plural(slower, "trial"))
    } else {
        format!("{slower} and {faster} trials")
    }
}

fn sides(difference: &Difference) -> (&crate::Place, &crate::Place) {
    match difference.slower {
        Slower::Base => (&difference.base, &difference.other),
        Slower::Other => (&difference.other, &difference.base),
    }
}

/// A rule that holds, with its figures.
fn holding(finding: &RuleAnswer, difference: &Difference) -> String {
    let judgement = &finding.judgement;
    let Verdict::Holds { confidence, lacks } = &judgement.verdict else {
        return String::new();
    };
    let lacking = if lacks.is_empty() {
        String::new()
    } else {
        format!(": {}", lacks.join("; "))
    };
    let mut out = wrap(
        "   ",
        5,
        &format!("{} [{}]", capital(finding.title), finding.rule),
    );
    out.push_str(&wrap(
        "     ",
        7,
        &format!("confidence {}{lacking}", confidence.word()),
    ));
    out.push_str(&wrap("     ", 5, &(capital(&judgement.because) + ".")));
    let (slower, faster) = sides(difference);
    if !judgement.evidence.is_empty() {
        out.push_str(&line("", &[cap(&slower.level), cap(&faster.level)]));
        for row in &judgement.evidence {
            out.push_str(&table_row(row));
        }
    }
    if !judgement.against.is_empty() {
        out.push_str("     Evidence against it:\n");
        for row in &judgement.against {
            out.push_str(&table_row(row));
        }
    }
    if let Some(experiment) = &judgement.experiment {
        out.push_str(&wrap("     To test it: ", 7, experiment));
    }
    out
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// A level that fits above its column.
fn cap(level: &str) -> String {
    const ROOM: usize = COLUMNS[1] - COLUMNS[0] - 2;
    if level.chars().count() <= ROOM {
        return level.to_owned();
    }
    let kept: String = level.chars().take(ROOM - 2).collect();
    kept + ".."
}

fn table_row(row: &crate::Row) -> String {
    let values = row.printed();
    let room = COLUMNS[1] - COLUMNS[0] - 2;
    if values.iter().all(|value| value.chars().count() <= room) {
        return line(&row.label, &values);
    }
    // Words that no column holds.
    let [slower, faster] = values;
    let text = if faster.is_empty() {
        slower
    } else {
        format!("{slower}; faster: {faster}")
    };
    wrap(&format!("       {}: ", row.label), 9, &text)
}

/// A label and two values, right-aligned.
fn line(label: &str, values: &[String; 2]) -> String {
    let mut text = format!("       {label}");
    for (value, end) in values.iter().zip(COLUMNS) {
        let used = text.chars().count() + value.chars().count();
        text.push_str(&" ".repeat(end.saturating_sub(used).max(1)));
        text.push_str(value);
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn difference(sides: &crate::testing::ComparisonBuilder, clock: study::Clock) -> Explanation {
        let place = |cell, level: &str, median| crate::Place {
            cell,
            level: level.to_owned(),
            median,
            trials: 5,
        };
        let findings = crate::explanation::ask(&sides.pair(4.0));
        Explanation {
            explained: findings.iter().any(|f| f.judgement.confidence().is_some()),
            difference: Difference {
                title: "Throughput results (in MB/s)".into(),
                factor: "readahead".into(),
                common: [("filesystem".to_owned(), "ext4".to_owned())].into(),
                phase: "read".into(),
                metric: "throughput".into(),
                clock,
                unit: "bytes_per_s".into(),
                base: place(0, "8", 26_214_400.0),
                other: place(1, "4096", 104_857_600.0),
                slower: Slower::Base,
                times: 4.0,
                interval: (3.8, 4.2),
                p_adjusted: 0.001,
            },
            findings,
        }
    }

    fn explained(explanations: Vec<Explanation>) -> Explained {
        Explained {
            run: "streaming-20260102-030405".into(),
            study: "streaming".into(),
            times_of: Some("times of modelled disks (7k500)".into()),
            compared: 12,
            too_few: 2,
            explanations,
            notes: vec!["read throughput, ext3: not compared: a value is not positive".into()],
        }
    }

    /// What holds, with figures and what speaks against it; another clock of the same; and what no rule
    /// explains, with the measurements that are missing.
    #[test]
    fn an_explanation_is_a_mail() {
        const KIB: f64 = 1024.0;
        let small = || {
            crate::testing::ComparisonBuilder::new("read")
                .factor("readahead")
                .both("readahead", 4.0 * KIB, 2048.0 * KIB)
                .both("read_request_mean", 4.0 * KIB, 512.0 * KIB)
                .both("reads_per_s", 100.0, 200.0)
                .both("read_ratio", 1.0, 1.0)
                .both("cpu_share", 0.2, 0.4)
                .facts(
                    "device.scheduler",
                    "[none] mq-deadline",
                    "[none] mq-deadline",
                )
        };
        let open = crate::testing::ComparisonBuilder::new("read");
        let text = render(&explained(vec![
            difference(&small(), study::Clock::Original),
            difference(&small(), study::Clock::Syncfs),
            Explanation {
                difference: Difference {
                    other: crate::Place {
                        cell: 2,
                        level: "65536".into(),
                        median: 104_857_600.0,
                        trials: 5,
                    },
                    ..difference(&open, study::Clock::Original).difference
                },
                ..difference(&open, study::Clock::Original)
            },
        ]));
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn nothing_of_a_run_steers_the_terminal() {
        let mut explained = explained(Vec::new());
        explained.run = "run\u{1b}[2J".into();
        explained.notes = vec!["a note\u{9b}31m\u{1b}]0;title\u{7}".into()];
        let text = render(&explained);
        assert!(
            text.contains("run\\u{1b}[2J") && text.contains("\\u{9b}31m"),
            "{text}"
        );
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_no_letter_is_lost(text in "[a-z, =]{0,300}", indent in 0_usize..20) {
            let out = wrap("name: ", indent, &text);
            for line in out.lines() {
                prop_assert!(line.chars().count() <= WIDTH, "{line:?}");
            }
            let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&out), format!("name:{}", letters(&text)));
        }
    }
}
