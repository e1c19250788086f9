//! mdtest's own table, from the phases' figures.

use std::fmt::Write as _;

use crate::Outcome;

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

/// What mdtest 4.1 prints of one iteration. Its rates are those of its table: all items over the longest time.
pub fn mdtest_text(outcome: &Outcome) -> String {
    let parameters = &outcome.parameters;
    let number = |name: &str| parameters[name].as_u64().unwrap_or_default();
    let (tasks, nodes) = (number("ranks"), number("nodes").max(1));
    let mut text = String::new();
    let _ = writeln!(
        text,
        "mdtest-4.1.0 was launched with {tasks} total task(s) on {nodes} node(s) (table of fslab)"
    );
    let _ = writeln!(text, "Command line used: mdtest{}", options(outcome));
    let items = number("rank_items") * tasks;
    let things = match parameters["items"].as_str() {
        Some("files") => format!("{items} files"),
        Some("directories") => format!("{items} directories"),
        _ => format!("{items} files/directories"),
    };
    let _ = writeln!(text, "{tasks} tasks, {things}\n");
    text.push_str("SUMMARY rate (in ops/sec): (of 1 iterations)\n");
    text.push_str(
        "   Operation                     Max            Min           Mean        Std Dev\n",
    );
    text.push_str(
        "   ---------                     ---            ---           ----        -------\n",
    );
    // Without files, or without directories, mdtest has no rows of theirs.
    let left_out = match parameters["items"].as_str() {
        Some("files") => "directory_",
        Some("directories") => "file_",
        _ => "no kind",
    };
    for (name, phase) in ROWS {
        if phase.starts_with(left_out) {
            continue;
        }
        let found = outcome.phases.iter().find(|found| found.name == phase);
        let rate = found.and_then(|phase| phase.figures.get("files_sum"));
        let rate = rate.copied().unwrap_or_default();
        let _ = writeln!(
            text,
            "   {name:<22} {rate:>14.3} {rate:>14.3} {rate:>14.3} {:>14.3}",
            0.0
        );
    }
    text.push_str("-- finished\n");
    text
}

/// The options of mdtest that mean the same.
fn options(outcome: &Outcome) -> String {
    let parameters = &outcome.parameters;
    let number = |name: &str| parameters[name].as_u64().unwrap_or_default();
    let is = |name: &str| parameters[name] == true;
    let mut options = format!(" -n {}", number("rank_items"));
    match parameters["items"].as_str() {
        Some("files") => options.push_str(" -F"),
        Some("directories") => options.push_str(" -D"),
        _ => {}
    }
    let with_values = [
        ("depth", "z", 0),
        ("branch", "b", 1),
        ("shift", "N", 0),
        ("write", "w", 0),
        ("read", "e", 0),
    ];
    for (name, letter, usual) in with_values {
        if number(name) != usual {
            let _ = write!(options, " -{letter} {}", number(name));
        }
    }
    for (name, letter) in [("leaf_only", "L"), ("own_directory", "u"), ("fsync", "y")] {
        if is(name) {
            let _ = write!(options, " -{letter}");
        }
    }
    options
}
