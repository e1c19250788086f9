//! Every command line in README.md and docs/: those of `fslab` are run, or at least parsed; those of other programs carry
//! a mark with the reason why they are not run.
//!
//! Commands are the lines of `sh` blocks, and what follows `$ ` in `console` blocks. [`RULES`] decides by what a command
//! contains; a command that no rule matches fails the test, and so does a rule that matches no command. The mark is
//! `<!-- not run: REASON -->` on the line before the block.

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::documents::{self, repository};
use common::{Scratch, assert_code, example_run, run_in, stderr};

/// What is done with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    /// It is run as it is, and ends with this code.
    RunTo(i32),
    /// A run is only planned: study, options and values are checked.
    Plan,
    /// `--help` is added: its subcommand and options exist. For what takes minutes, or a machine that is not here.
    Parse,
}

const RUN: Test = Test::RunTo(0);

/// The first rule decides whose text is in the command.
const RULES: &[(&str, Test)] = &[
    ("trace record", Test::Parse),
    ("fslab crash", Test::Parse),
    ("kernel fetch", Test::Parse),
    ("kernel list --available", Test::Parse),
    ("kernel list", RUN),
    ("kernel probe", Test::Parse),
    ("kernel add", Test::Parse),
    ("bench fsck", RUN),
    ("fslab bench", Test::Parse),
    ("fslab fleet", Test::Parse),
    ("/shared/", Test::Parse),
    ("forge damage", RUN),
    ("forge ext4", Test::Parse),
    ("forge ocfs2", Test::Parse),
    ("forge xfs", Test::Parse),
    ("fslab resume", Test::Parse),
    ("--executor", Test::Parse),
    ("xfs_repair", Test::Parse),
    ("--type xfs", Test::Parse),
    ("--kernel", Test::Parse),
    ("raid0x11", Test::Parse),
    ("ocfs2", Test::Parse),
    ("fslab run", Test::Plan),
    ("fslab compare", Test::Parse),
    ("fslab serve", Test::Parse),
    ("--compare", Test::Parse),
    // There is no run below fslab-runs, and `export` finds none of its kernel: both say so and write nothing.
    ("fslab site", Test::RunTo(2)),
    ("fslab history", Test::Parse),
    ("fslab plan", RUN),
    ("fslab new", RUN),
    ("fslab list", RUN),
    ("fslab show", RUN),
    ("fslab studies", RUN),
    ("fslab report", RUN),
    ("fslab explain", RUN),
    ("fslab layout", RUN),
    // e2fsck ends with 4, too: what mke2fs has left uninitialised is judged when the superblock is a backup.
    ("-b 32768", Test::RunTo(4)),
    ("--log replay-in-memory", Test::Parse),
    ("--log-device", Test::Parse),
    ("fslab check", RUN),
    ("fslab clean", RUN),
    ("fslab man", RUN),
    ("fslab completions", RUN),
    ("trace report", RUN),
    ("fslab replay", Test::Parse),
    ("device serve", Test::Parse),
    ("fslab device", RUN),
    ("--store postgresql", Test::Parse),
    ("fslab import", RUN),
    ("fslab export", Test::RunTo(2)),
];

/// What a block of code may hold.
const LANGUAGES: &[&str] = &["sh", "console", "text", "toml", "json", "sql", "yaml"];

/// A command line without comments and what it is piped into.
fn without_comment(line: &str) -> String {
    let ends = ["  ", " #", " | ", " > "].map(|end| line.find(end));
    let end = ends.into_iter().flatten().min().unwrap_or(line.len());
    line[..end].to_owned()
}

/// All command lines of `fslab`, each once; those that make a file for others come first.
fn all_commands() -> Vec<String> {
    let documents = documents::all();
    let blocks = documents.iter().flat_map(documents::Document::blocks);
    let lines = blocks.flat_map(|block| block.commands());
    let own = lines.filter(|line| line.starts_with("fslab "));
    let all: BTreeSet<String> = own.map(|line| without_comment(&line)).collect();
    let mut all: Vec<String> = all.into_iter().collect();
    let makes = |command: &String| {
        ["fslab new", "fslab import"]
            .iter()
            .any(|word| command.starts_with(word))
    };
    all.sort_by_key(|command| !makes(command));
    all
}

#[test]
fn what_is_not_run_carries_a_reason() {
    let (mut wrong, mut counts) = (Vec::new(), [0; 3]);
    for document in documents::all() {
        let (blocks, others) = document.parts();
        for block in blocks {
            let at = format!("{}:{}", document.name, block.line);
            if !LANGUAGES.contains(&block.language.as_str()) {
                wrong.push(format!(
                    "{at}: the block does not say what it holds: {LANGUAGES:?}"
                ));
            }
            let commands = block.commands();
            let own = |command: &&String| command.starts_with("fslab ");
            let foreign = commands.len() - commands.iter().filter(own).count();
            counts[0] += commands.len() - foreign;
            counts[1] += foreign;
            match &block.not_run {
                None if foreign > 0 => wrong.push(format!(
                    "{at}: not a command of fslab, so no test runs it; say why: <!-- not run: REASON -->"
                )),
                Some(_) if foreign == 0 => {
                    wrong.push(format!("{at}: nothing of it needs the mark `not run`"));
                }
                Some(reason) if reason.trim().len() < 10 => {
                    wrong.push(format!("{at}: {reason:?} is no reason"));
                }
                Some(_) => counts[2] += 1,
                None => {}
            }
        }
        let hidden = others
            .iter()
            .filter(|(_, line)| line.starts_with("    fslab "));
        wrong.extend(hidden.map(|(number, _)| {
            format!(
                "{}:{number}: a command outside of a block ```sh",
                document.name
            )
        }));
    }
    let [own, foreign, marked] = counts;
    println!("{own} lines of fslab, {foreign} of other programs in {marked} marked blocks");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        own > 100 && marked > 3,
        "{own} lines, {marked} marked blocks"
    );
}

/// What the documents' examples are about: an image, a run, a block trace, a study.
fn objects(scratch: &Scratch) {
    let here = |name: &str| scratch.join(name);
    example_run(scratch);
    fs::create_dir(here("x")).unwrap();
    fs::write(here("x/bigfile"), vec![1; 1 << 20]).unwrap();
    fs::File::create(here("disk.img"))
        .unwrap()
        .set_len(200 << 20)
        .unwrap();
    let made = Command::new("/sbin/mkfs.ext4")
        .args(["-q", "-F", "-b", "4096"])
        .arg(here("disk.img"))
        .status();
    assert!(made.unwrap().success());
    fs::copy(here("disk.img"), here("copy.img")).unwrap();
    std::os::unix::fs::symlink(repository().join("studies"), here("studies")).unwrap();
    let traces = repository().join("crates/blktrace/tests/data");
    std::os::unix::fs::symlink(traces, here("t")).unwrap();
    assert_code(&run_in(scratch.path(), &["new", "my-study"]), 0);
}

/// The command with the objects' names in place of the document's.
fn with_objects(command: &str) -> String {
    [
        ("fslab-runs/RUN", "example"),
        ("[RUN]", ""),
        ("RUN", "example"),
        ("STUDY", "journal"),
        ("SIZE-OF-SDX", "256m"),
        ("LEVEL", "ext4"),
        ("--table NAME", "--table Compilebench"),
        ("8 Threads", "1 Thread"),
        ("--factor readahead", "--factor filesystem"),
        (
            "--phase write --clock syncfs",
            "--phase initial_write --clock original",
        ),
        ("/dev/sdx1", "disk.img"),
        ("/mnt/x", "x"),
        ("~", "home"),
    ]
    .iter()
    .fold(command.to_owned(), |command, (name, object)| {
        command.replace(name, object)
    })
}

/// Runs a command line in the scratch folder, as a shell would.
fn shell(scratch: &Scratch, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_fslab"));
    let words = line.strip_prefix("fslab ").unwrap();
    Command::new("sh")
        .args(["-c", &format!("exec \"$0\" {words}")])
        .arg(program)
        .current_dir(scratch.path())
        .env("HOME", scratch.join("home"))
        .env("XDG_CACHE_HOME", scratch.join("cache"))
        .output()
        .unwrap()
}

#[test]
fn the_commands_of_the_documents_work() {
    let scratch = Scratch::new();
    objects(&scratch);
    let mut unused: BTreeSet<&str> = RULES.iter().map(|(text, _)| *text).collect();
    let (mut wrong, mut counts) = (Vec::new(), [0; 3]);
    for command in all_commands() {
        let rule = RULES.iter().find(|(text, _)| command.contains(text));
        let Some((text, test)) = rule else {
            wrong.push(format!("{command}: no rule"));
            continue;
        };
        unused.remove(text);
        let line = with_objects(&command);
        let (kind, line) = match test {
            Test::RunTo(_) => (0, line),
            Test::Plan => {
                let line = line.replacen("fslab run", "fslab plan", 1);
                (1, line.replace(" --rerun-doubtful 2", ""))
            }
            // What follows `--` is another program's.
            Test::Parse => match line.split_once(" -- ") {
                Some((own, _)) => (2, format!("{own} --help")),
                None => (2, format!("{line} --help")),
            },
        };
        counts[kind] += 1;
        let output = shell(&scratch, &line);
        let silent = !matches!(test, Test::RunTo(_)) && output.stdout.is_empty();
        let expected = match test {
            Test::RunTo(code) => *code,
            _ => 0,
        };
        if output.status.code() != Some(expected) || silent {
            let first = stderr(&output).lines().next().unwrap_or("").to_owned();
            wrong.push(format!("{line}: {:?}: {first}", output.status.code()));
        }
    }
    let [run, planned, parsed] = counts;
    println!("{run} run, {planned} planned, {parsed} parsed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(unused, BTreeSet::new(), "rules of no command");
    assert!(run > 20 && planned > 20, "{run} run, {planned} planned");
}
