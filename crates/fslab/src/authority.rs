//! What each command may do with a folder of runs, of a run or of a fleet that it is given.
//!
//! The libraries open such a folder with [`rundir::RunDir::open_as`], which decides. Here is the table of what each command has to
//! ask for, and the test that no argument of the command line is missing in it; tests/it/authority.rs holds the program to it.

mod table;

use std::any::TypeId;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, CommandFactory as _};

use rundir::Authority;

use crate::cli::Cli;
use table::TABLE;

/// Arguments that are paths, and name neither a run nor a fleet nor a folder of them.
const OTHERS: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "--dir",
            "--device",
            "--modules",
            "--cache",
            "--devices-file",
        ],
    ),
    (
        "plan",
        &[
            "--dir",
            "--device",
            "--modules",
            "--cache",
            "--devices-file",
        ],
    ),
    (
        "fleet submit",
        &[
            "--dir",
            "--device",
            "--modules",
            "--cache",
            "--devices-file",
        ],
    ),
    ("new", &["name"]),
    ("report", &["--output"]),
    ("compare", &["--output"]),
    // New runs are made in it, each in a folder of its own.
    ("bisect-step", &["--out"]),
    ("site", &["dir"]),
    ("serve", &["--token-file"]),
    ("export", &["--output"]),
    ("bench", &["--fio-job", "--dir"]),
    ("bench throughput", &["--dir"]),
    ("bench tree", &["--dir", "--sources"]),
    ("bench stream", &["--dir"]),
    ("bench fill", &["--dir"]),
    ("bench age", &["--dir"]),
    ("bench mix", &["--dir"]),
    ("bench shared", &["--dir"]),
    ("bench metadata", &["--dir"]),
    ("bench fsck", &["target"]),
    ("layout", &["paths"]),
    (
        "check",
        &[
            "target",
            "--journal",
            "--log-device",
            "--rt-device",
            "--record",
            "--devices-file",
        ],
    ),
    ("crash", &["log", "base", "--keep", "--scratch"]),
    ("forge ext4", &["image", "--profile"]),
    ("forge ocfs2", &["image", "--profile"]),
    ("forge xfs", &["image", "--profile"]),
    ("forge damage", &["image"]),
    ("trace record", &["devices"]),
    ("trace report", &["--output", "--files", "--names"]),
    ("replay", &["--devices-file"]),
    ("device list", &["--devices-file"]),
    ("device show", &["--devices-file"]),
    ("device check", &["file", "--drives", "--streams"]),
    ("device bench", &["--devices-file", "--write"]),
    ("device serve", &["--devices-file", "--fuse", "--store"]),
    ("kernel list", &["--cache", "--keyring"]),
    ("kernel fetch", &["--cache", "--keyring"]),
    (
        "kernel add",
        &["--kernel", "--modules", "--config", "--cache"],
    ),
    ("kernel probe", &["--cache"]),
    ("context", &["--dir"]),
    ("man", &["--dir"]),
];

/// An argument as the table names it.
fn name(arg: &Arg) -> String {
    arg.get_long()
        .map_or_else(|| arg.get_id().to_string(), |long| format!("--{long}"))
}

/// Whether the value may be a path: by its type, or by what it is called.
fn is_place(arg: &Arg) -> bool {
    let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let called = arg.get_value_names().unwrap_or_default();
    let words = ["DIR", "SIDE", "RUN", "BASE", "FOLDER"];
    let is_called = |name: &str| words.iter().any(|word| name.split('|').any(|n| n == *word));
    arg.get_action().takes_values() && (is_path || called.iter().any(|name| is_called(name)))
}

/// Every command without commands below it, by its words, and those above with arguments of their own.
fn commands(command: &Command, above: &str, all: &mut Vec<(String, Command)>) {
    for below in command.get_subcommands() {
        let words = format!("{above} {}", below.get_name());
        let words = words.trim_start();
        all.push((words.to_owned(), below.clone()));
        commands(below, words, all);
    }
}

#[test]
fn every_argument_that_may_be_a_runs_folder_is_in_the_table() {
    let mut all = Vec::new();
    commands(&Cli::command(), "", &mut all);
    let mut missing = Vec::new();
    let mut seen = Vec::new();
    for (words, command) in &all {
        for arg in command.get_arguments() {
            let name = name(arg);
            let is_row = |row: &&table::Row| row.command == words && row.argument == name;
            let of_row = TABLE.iter().find(is_row);
            let of_others = OTHERS
                .iter()
                .any(|(command, names)| command == words && names.contains(&name.as_str()));
            assert!(of_row.is_none() || !of_others, "{words} {name} is in both");
            if of_row.is_some() || of_others {
                seen.push(format!("{words} {name}"));
            } else if is_place(arg) {
                missing.push(format!("{words} {name}"));
            }
        }
    }
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "say in the table, or in OTHERS, what these may do with the folder that they name"
    );
    let rows = TABLE
        .iter()
        .map(|row| format!("{} {}", row.command, row.argument));
    let others = OTHERS
        .iter()
        .flat_map(|(command, names)| names.iter().map(move |name| format!("{command} {name}")));
    let gone: Vec<String> = rows
        .chain(others)
        .filter(|row| !seen.contains(row))
        .collect();
    assert_eq!(
        gone,
        Vec::<String>::new(),
        "the command line has these no more"
    );
}

#[test]
fn the_document_has_the_table() {
    let mut text = String::from("| command | argument | authority |\n|---|---|---|\n");
    for row in TABLE {
        let authority = match row.authority {
            Authority::Reads => "reads",
            Authority::Obeys => "writes or obeys",
            Authority::ObeysAll => "obeys all of it",
        };
        let argument = match row.argument {
            option if option.starts_with("--") => option.to_owned(),
            name => name.to_uppercase(),
        };
        let _ = writeln!(
            text,
            "| `fslab {}` | `{argument}` | {authority} |",
            row.command
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let kept = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- authority -->\n", "<!-- /authority -->");
    let (above, rest) = kept.split_once(begin).unwrap();
    let (old, below) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{above}{begin}{text}{end}{below}")).unwrap();
        return;
    }
    assert!(
        old == text,
        "docs/security.md differs: UPDATE_DOCS=1 cargo test -p fslab --bin fslab authority::"
    );
}
