//! No input may panic: files torn, spliced and scrambled, arguments of any shape.

use std::fs;

use proptest::prelude::*;
use study::{Overrides, Study, plan};

const JOURNAL: &str = include_str!("../../../../studies/journal.toml");
const FSCK_SCALE: &str = include_str!("../../../../studies/fsck-scale.toml");

/// Loads and plans; only a panic fails.
fn run(text: &str, overrides: &Overrides) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    fs::write(&path, text).unwrap();
    let study = Study::load(path.to_str().unwrap());
    study.is_ok_and(|study| plan(&study, overrides).is_ok())
}

/// Values that a line may be given instead of its own.
const VALUES: [&str; 16] = [
    "0",
    "-1",
    "9223372036854775807",
    "1e308",
    "nan",
    "inf",
    "true",
    "\"\"",
    "\"x\"",
    "[]",
    "[[]]",
    "[1, \"a\", {}]",
    "{}",
    "{ a = 1 }",
    "2009-01-07",
    "\"18446744073709551615\"",
];

/// The study with the value of one line replaced.
fn replaced(text: &str, line: usize, value: &str) -> String {
    let lines = text
        .lines()
        .enumerate()
        .map(|(number, text)| match text.split_once('=') {
            Some((key, _)) if number == line => format!("{key}= {value}"),
            _ => text.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// Puts every `step`th value into every line; the next line begins one value later.
fn values_are_answered(text: &str, step: usize) {
    let keys = text.lines().enumerate();
    let keys = keys.filter(|(_, text)| text.starts_with(char::is_lowercase));
    let (mut count, mut refused) = (0, 0);
    for (line, _) in keys {
        count += 1;
        for value in VALUES.iter().skip(line % step).step_by(step) {
            refused += usize::from(!run(&replaced(text, line, value), &Overrides::default()));
        }
    }
    assert!(refused > count, "{refused} in {count} lines");
}

#[test]
fn any_value_in_any_place_of_journal_is_answered() {
    values_are_answered(JOURNAL, 1);
}

/// All values in all lines take more than a minute to plan.
#[test]
fn values_in_every_place_of_fsck_scale_are_answered() {
    values_are_answered(FSCK_SCALE, 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn torn_files_are_answered(start in 0_usize..JOURNAL.len(), length in 0_usize..600) {
        let text: String = JOURNAL.chars().skip(start).take(length).collect();
        run(&text, &Overrides::default());
        let head: String = JOURNAL.chars().take(start).collect();
        run(&head, &Overrides::default());
    }

    #[test]
    fn spliced_files_are_answered(at in 0_usize..JOURNAL.len(), noise in "[\\[\\]{}=.,\"a-z0-9 \n-]{0,40}") {
        let head: String = JOURNAL.chars().take(at).collect();
        let tail: String = JOURNAL.chars().skip(at).collect();
        run(&format!("{head}{noise}{tail}"), &Overrides::default());
    }

    #[test]
    fn arguments_are_answered(
        key in "(iozone|compilebench|run|device|memory|limit|readahead|device_size|check|exclude|filesystem|factors|table|workload|x)(\\.(size|threads|ext4|mount|limit|enabled|e2fsck|factors|blocks|name|kind|a)){0,3}",
        value in "\\PC{0,12}|[0-9]{1,20}[kmgt]?|\\[[0-9,]{0,8}\\]|\\{a=1\\}",
        profile in proptest::option::of("quick|paper|base|\\PC{0,5}"),
        filter in proptest::option::of("(filesystem|threads|workload)=[a-z0-9,-]{0,10}"),
        blocks: Option<u32>,
        seed: Option<u64>,
    ) {
        let study = Study::load("journal").unwrap();
        let overrides = Overrides {
            profile,
            set: vec![format!("{key}={value}")],
            filter: filter.into_iter().collect(),
            blocks,
            seed,
            ..Overrides::default()
        };
        if let Err(error) = plan(&study, &overrides) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
