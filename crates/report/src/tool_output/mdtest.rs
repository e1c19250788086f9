//! mdtest's text, with its summary over iterations. The layout is that of version 4.1 (`src/mdtest.c`).
//!
//! Rates are those of its table: all items over the longest time of a rank. Deviations are with n - 1, where IOR's are with n.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use study::{MetadataItems, MetadataSpec};

use super::spread::Spread;

/// Rows of mdtest's table, in its order.
const ROWS: [(&str, &str); 9] = [
    ("Directory creation", "directory_creation"),
    ("Directory stat", "directory_stat"),
    ("Directory removal", "directory_removal"),
    ("File creation", "file_creation"),
    ("File stat", "file_stat"),
    ("File read", "file_read"),
    ("File removal", "file_removal"),
    ("Tree creation", "tree_creation"),
    ("Tree removal", "tree_removal"),
];

/// A run of mdtest: what was asked for, and what each iteration measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Test {
    /// Its options.
    pub spec: MetadataSpec,
    /// Nodes that the ranks were on.
    pub nodes: u64,
    /// Rates of each iteration by phase (`file_creation`), items a second.
    pub iterations: Vec<BTreeMap<String, f64>>,
}

/// What mdtest prints.
pub fn text(test: &Test) -> String {
    let spec = &test.spec;
    let mut lines = vec![
        format!(
            "mdtest-4.1.0 was launched with {} total task(s) on {} node(s) (table of fslab)",
            spec.ranks,
            test.nodes.max(1)
        ),
        format!("Command line used: mdtest{}", options(test)),
        tasks(test),
        String::new(),
    ];
    lines.extend(summary(test));
    lines.push("-- finished".to_owned());
    lines.join("\n") + "\n"
}

/// `4 tasks, 40 files`.
pub fn tasks(test: &Test) -> String {
    let spec = &test.spec;
    let items = spec.rank_items().saturating_mul(spec.ranks.into());
    let things = match spec.items {
        MetadataItems::Files => "files",
        MetadataItems::Directories => "directories",
        MetadataItems::Both => "files/directories",
    };
    format!("{} tasks, {items} {things}", spec.ranks)
}

/// The table over all iterations.
pub fn summary(test: &Test) -> Vec<String> {
    let mut lines = vec![
        format!(
            "SUMMARY rate (in ops/sec): (of {} iterations)",
            test.iterations.len()
        ),
        "   Operation                     Max            Min           Mean        Std Dev"
            .to_owned(),
        "   ---------                     ---            ---           ----        -------"
            .to_owned(),
    ];
    // Without files, or without directories, mdtest has no rows of theirs.
    let left_out = match test.spec.items {
        MetadataItems::Files => "directory_",
        MetadataItems::Directories => "file_",
        MetadataItems::Both => "no kind",
    };
    for (name, phase) in ROWS {
        if phase.starts_with(left_out) {
            continue;
        }
        let rates = test.iterations.iter();
        let rates: Vec<f64> = rates
            .filter_map(|rates| rates.get(phase).copied())
            .collect();
        let rate = Spread::of(if rates.is_empty() { &[0.0] } else { &rates }, 1);
        lines.extend(rate.map(|rate| {
            format!(
                "   {name:<22} {:>14.3} {:>14.3} {:>14.3} {:>14.3}",
                rate.max, rate.min, rate.mean, rate.deviation
            )
        }));
    }
    lines
}

/// The options of mdtest that mean the same.
fn options(test: &Test) -> String {
    let spec = &test.spec;
    let mut options = format!(" -n {}", spec.rank_items());
    if test.iterations.len() > 1 {
        let _ = write!(options, " -i {}", test.iterations.len());
    }
    match spec.items {
        MetadataItems::Files => options.push_str(" -F"),
        MetadataItems::Directories => options.push_str(" -D"),
        MetadataItems::Both => {}
    }
    let with_values = [
        (u64::from(spec.depth), "z", 0),
        (spec.branch.into(), "b", 1),
        (spec.shift.into(), "N", 0),
        (spec.write.get(), "w", 0),
        (spec.read.get(), "e", 0),
    ];
    for (value, letter, usual) in with_values {
        if value != usual {
            let _ = write!(options, " -{letter} {value}");
        }
    }
    for (is, letter) in [
        (spec.leaf_only, "L"),
        (spec.own_directory, "u"),
        (spec.fsync, "y"),
    ] {
        if is {
            let _ = write!(options, " -{letter}");
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use study::Bytes;

    use super::*;

    #[test]
    fn the_table_is_that_of_mdtest() {
        let rates = |create: f64, tree: f64| {
            BTreeMap::from([
                ("file_creation".to_owned(), create),
                ("tree_creation".to_owned(), tree),
            ])
        };
        let mut test = Test {
            spec: MetadataSpec {
                ranks: 4,
                items: MetadataItems::Files,
                files: 10,
                shift: 1,
                write: Bytes(4096),
                own_directory: true,
                ..MetadataSpec::default()
            },
            nodes: 2,
            iterations: vec![rates(12_345.678_9, 17.0)],
        };
        insta::assert_snapshot!("mdtest_once", text(&test));
        test.iterations.push(rates(11_345.678_9, 19.0));
        insta::assert_snapshot!("mdtest_twice", text(&test));
    }
}
