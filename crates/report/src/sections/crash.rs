//! What power cuts would have left, in words: for `fslab crash` and for a run's report. All formats print
//! the same sentences.

use std::fmt::Write as _;

use record::{Crash, CrashAgreement, CrashDamage, PowerCut};

use crate::Report;
use crate::doc::{Block, Item, Section};

/// Heading of the section.
const TITLE: &str = "Crash check: what a power cut would have left";

/// One crash check alone.
pub(crate) fn alone(crash: &Crash) -> Section<'static> {
    let mut section = Section::new("crash", TITLE);
    section.blocks = blocks(crash);
    section
}

/// The crash checks of a run, each with its trial and cell in words, in the order of the trials.
fn each<'r>(report: &'r Report<'_>) -> impl Iterator<Item = (String, &'r Crash)> {
    let cells = &report.run.plan.cells;
    report.slots().filter_map(move |(slot, trial)| {
        let crash = trial.crash.as_ref()?;
        let cell = cells.iter().find(|cell| cell.id == slot.cell);
        let label = cell.map(study::Cell::label).unwrap_or_default();
        Some((format!("trial {}, {label}", slot.trial + 1), crash))
    })
}

/// The checks of a run, each below its trial and cell; none where there was none.
pub(crate) fn section(report: &Report<'_>) -> Option<Section<'static>> {
    let mut section = Section::new("crash", TITLE).nav("Crash check");
    for (heading, crash) in each(report) {
        section.blocks.push(Block::Heading(heading));
        section.blocks.extend(blocks(crash));
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn blocks(crash: &Crash) -> Vec<Block<'static>> {
    let facts = facts(crash).into_iter();
    let facts = facts.map(|(name, value)| (name.into(), value.into()));
    let damages = crash.damages.iter().map(|damage| {
        let mut lines = damage_lines(crash, damage).into_iter();
        Item {
            text: lines.next().unwrap_or_default(),
            children: lines.map(Item::from).collect(),
            ..Item::default()
        }
    });
    let mut damages: Vec<Item> = damages.collect();
    damages.extend(unlisted(crash).map(Item::from));
    let mut blocks = vec![Block::Facts(facts.collect())];
    if !damages.is_empty() {
        blocks.push(Block::List(damages));
    }
    blocks
}

/// A line about damages that are counted and not listed.
fn unlisted(crash: &Crash) -> Option<String> {
    let bad = crash.damaged + crash.unjudged;
    let more = bad.saturating_sub(crash.damages.len() as u64);
    (more > 0).then(|| format!("and {more} more not clean"))
}

/// What was judged and how it ended, by name.
fn facts(crash: &Crash) -> Vec<(&'static str, String)> {
    let mut facts = vec![(
        "device",
        format!("{}, {:.0} MiB", crash.filesystem, mib(crash.device_bytes)),
    )];
    match &crash.cut {
        Some(cut) => facts.push(("power cut", moment(cut))),
        None => facts.extend(log(crash)),
    }
    facts.push(("recovery", crash.recovery.clone()));
    facts.push(("checker", checker(crash)));
    facts.push((
        "clean",
        format!("{} of {} after recovery", crash.clean, crash.judged),
    ));
    facts.push(("damaged", crash.damaged.to_string()));
    if crash.unjudged > 0 {
        facts.push(("no verdict", crash.unjudged.to_string()));
    }
    if let Some(cut) = &crash.cut {
        facts.extend(promised(cut));
    }
    if let Some(agreement) = &crash.agreement {
        facts.extend(agreed(agreement));
    }
    facts.extend(crash.notes.iter().map(|note| ("note", note.clone())));
    facts
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// When the power was cut, and by what.
fn moment(cut: &PowerCut) -> String {
    let phase = &cut.phase;
    let when = match cut.after_seconds {
        None => format!("after phase {phase}, when everything was synced"),
        Some(seconds) => format!("{seconds:.3} s into phase {phase}"),
    };
    format!("{when}, by {}", cut.by)
}

/// What became of what was synced before a cut, and of what was written after it.
fn promised(cut: &PowerCut) -> Vec<(&'static str, String)> {
    let things = format!(
        "{} files and folders that had been synced ({:.1} MiB; {} files byte for byte)",
        cut.promised,
        mib(cut.promised_bytes),
        cut.read
    );
    let became = match cut.kept {
        Some(kept) => format!("{kept} of {things}"),
        None => format!("not checked: {things}"),
    };
    let mut facts = vec![("kept", became)];
    facts.extend(cut.lost.iter().map(|line| ("lost", line.clone())));
    let more = cut.missing().saturating_sub(cut.lost.len() as u64);
    if more > 0 {
        facts.push(("lost", format!("and {more} more")));
    }
    let after = match cut.dropped {
        Some(true) => "is gone, as it must be".to_owned(),
        Some(false) => "is there: the power was never cut".to_owned(),
        None => "was not looked for".to_owned(),
    };
    facts.push((
        "after it",
        format!("a file written then (its sync: {}) {after}", cut.sync_after),
    ));
    facts
}

/// The log, and the moments that were tried.
fn log(crash: &Crash) -> [(&'static str, String); 2] {
    let after = match crash.boundary.as_str() {
        "flush" => "flushes",
        "fua" => "flushes and forced writes (FUA)",
        _ => "writes",
    };
    let judged = if crash.judged == crash.boundaries {
        format!("all {} {after}", crash.boundaries)
    } else {
        format!(
            "{} of {} {after}, evenly spread",
            crash.judged, crash.boundaries
        )
    };
    let from = match crash.from {
        0 => String::new(),
        from => format!(" after entry {}", from - 1),
    };
    [
        (
            "log",
            format!(
                "{} entries, {:.1} MiB{}",
                crash.entries,
                mib(crash.log_bytes),
                by(&crash.writer)
            ),
        ),
        ("judged", format!("{judged}{from}")),
    ]
}

/// How often `fslab check` agreed with the checker.
fn agreed(agreement: &CrashAgreement) -> Vec<(&'static str, String)> {
    let share = |[agreed, of]: [u64; 2]| format!("{agreed} of {of}");
    let mut line = format!(
        "same exit code as the checker's on {} recovered images",
        share(agreement.after)
    );
    if agreement.before[1] > 0 {
        let before = share(agreement.before);
        let _ = write!(line, ", and on {before} as the power cut left them");
    }
    let differences = agreement.differences.iter();
    let differ = differences.map(|line| ("differs", line.clone()));
    std::iter::once(("fslab check", line))
        .chain(differ)
        .collect()
}

fn by(writer: &str) -> String {
    match writer {
        "" => String::new(),
        writer => format!(", by {writer}"),
    }
}

fn checker(crash: &Crash) -> String {
    match &crash.checker {
        [command, _] if command.is_empty() => "did not run: there was nothing to judge".into(),
        [command, version] if version.is_empty() => command.clone(),
        [command, version] => format!("{command}  [{version}]"),
    }
}

/// An image that was not clean: when, and how its checker ended, then the findings of both checkers.
fn damage_lines(crash: &Crash, damage: &CrashDamage) -> Vec<String> {
    let mark = damage
        .mark
        .as_ref()
        .map_or_else(String::new, |mark| format!(", after mark {mark:?}"));
    let of = match &crash.cut {
        Some(_) => "what the cut left".to_owned(),
        None => format!("as of entry {}{mark}", damage.entry),
    };
    let mut lines = vec![format!("{of}: {}", damage.checker)];
    if let Some(why) = &damage.refused {
        lines.push(format!("recovery was refused: {why}"));
    }
    lines.extend(damage.said.iter().cloned());
    if let Some(code) = damage.own_exit {
        let problems = damage.own_problems.join(", ");
        let colon = if problems.is_empty() { "" } else { ": " };
        lines.push(format!("fslab check: exit code {code}{colon}{problems}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash_text as text;

    fn crash() -> Crash {
        Crash {
            filesystem: "ext4".into(),
            writer: "dm-log-writes".into(),
            device_bytes: 64 << 20,
            log_bytes: 20_500_000,
            entries: 412,
            from: 100,
            boundary: "flush".into(),
            boundaries: 57,
            judged: 57,
            recovery: "mount".into(),
            checker: ["e2fsck -fn -tt".into(), "e2fsck 1.47.0 (5-Feb-2023)".into()],
            clean: 57,
            agreement: Some(CrashAgreement {
                before: [57, 57],
                after: [57, 57],
                differences: Vec::new(),
            }),
            ..Crash::default()
        }
    }

    #[test]
    fn a_check_that_found_nothing_says_what_it_looked_at() {
        insta::assert_snapshot!(text(&crash(), 78));
    }

    #[test]
    fn damage_is_listed_with_what_both_checkers_say() {
        let damaged = Crash {
            judged: 20,
            clean: 17,
            damaged: 2,
            unjudged: 1,
            damages: vec![
                CrashDamage {
                    entry: 231,
                    mark: Some("mounted".into()),
                    checker: "exit code 4: errors left uncorrected".into(),
                    said: vec!["Inode 13, i_blocks is 8, should be 16.  Fix? no".into()],
                    own_exit: Some(4),
                    own_problems: vec!["1_BAD_I_BLOCKS".into()],
                    ..CrashDamage::default()
                },
                CrashDamage {
                    entry: 240,
                    refused: Some("Structure needs cleaning (os error 117)".into()),
                    checker: "exit code 8: operational error".into(),
                    own_exit: Some(8),
                    ..CrashDamage::default()
                },
            ],
            agreement: Some(CrashAgreement {
                before: [19, 20],
                after: [20, 20],
                differences: vec![
                    "as of entry 231, before recovery: the checker's exit code is 4, fslab check's 0"
                        .into(),
                ],
            }),
            notes: vec!["the log ends early: 412 entries can be read of 500 that its superblock promises".into()],
            ..crash()
        };
        insta::assert_snapshot!(text(&damaged, 78));
    }
    fn cut() -> Crash {
        Crash {
            writer: String::new(),
            log_bytes: 0,
            entries: 0,
            from: 0,
            boundary: "cut".into(),
            boundaries: 1,
            judged: 1,
            clean: 1,
            agreement: Some(CrashAgreement {
                before: [1, 1],
                after: [1, 1],
                differences: Vec::new(),
            }),
            cut: Some(PowerCut {
                by: "dm-flakey (drop_writes)".into(),
                phase: "create".into(),
                promised: 1203,
                promised_bytes: 67_000_000,
                read: 1100,
                kept: Some(1203),
                dropped: Some(true),
                sync_after: "succeeded".into(),
                ..PowerCut::default()
            }),
            ..crash()
        }
    }

    #[test]
    fn a_cut_says_when_it_came_and_what_was_kept() {
        insta::assert_snapshot!(text(&cut(), 78));
    }

    #[test]
    fn a_cut_that_lost_what_was_synced_names_it() {
        let mut crash = cut();
        crash.clean = 0;
        crash.damaged = 1;
        crash.damages.push(CrashDamage {
            checker: "exit code 4: errors left uncorrected".into(),
            said: vec!["Inode 13, i_blocks is 8, should be 16.  Fix? no".into()],
            own_exit: Some(4),
            own_problems: vec!["1_BAD_I_BLOCKS".into()],
            ..CrashDamage::default()
        });
        crash.notes.push(
            "7 more were touched between the sync and the cut: nothing was promised of them".into(),
        );
        let cut = crash.cut.as_mut().unwrap();
        cut.after_seconds = Some(0.2504);
        cut.kept = Some(1190);
        cut.lost = vec![
            "native-0/a.c: is gone".into(),
            "native-0/b.c: has 0 bytes of 912".into(),
        ];
        cut.dropped = Some(false);
        insta::assert_snapshot!(text(&crash, 78));
    }
}
