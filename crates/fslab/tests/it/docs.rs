//! docs/cli.md is what `--help` prints; `UPDATE_DOCS=1 cargo test -p fslab --test it -- docs::` rewrites it.

use crate::common;

use std::fmt::Write as _;
use std::path::Path;

use common::{assert_code, fslab, stdout};

pub(crate) const COMMANDS: &[&[&str]] = &[
    &[],
    &["run"],
    &["plan"],
    &["resume"],
    &["studies"],
    &["metrics"],
    &["new"],
    &["list"],
    &["show"],
    &["report"],
    &["explain"],
    &["import"],
    &["export"],
    &["clean"],
    &["bench"],
    &["bench", "throughput"],
    &["bench", "tree"],
    &["bench", "stream"],
    &["bench", "fill"],
    &["bench", "age"],
    &["bench", "mix"],
    &["bench", "shared"],
    &["bench", "metadata"],
    &["bench", "fsck"],
    &["check"],
    &["crash"],
    &["forge"],
    &["forge", "ext4"],
    &["forge", "ocfs2"],
    &["forge", "xfs"],
    &["forge", "damage"],
    &["layout"],
    &["trace"],
    &["trace", "record"],
    &["trace", "report"],
    &["replay"],
    &["device"],
    &["device", "list"],
    &["device", "show"],
    &["device", "check"],
    &["device", "bench"],
    &["device", "serve"],
    &["fleet"],
    &["fleet", "submit"],
    &["fleet", "block"],
    &["fleet", "status"],
    &["fleet", "gather"],
    &["kernel"],
    &["kernel", "list"],
    &["kernel", "fetch"],
    &["kernel", "add"],
    &["kernel", "probe"],
    &["doctor"],
    &["context"],
    &["man"],
    &["completions"],
    &["compare"],
    &["history"],
    &["bisect-step"],
    &["site"],
    &["serve"],
];

#[test]
fn the_command_line_is_documented_as_it_is() {
    let mut text = String::from(
        "# The command line\n\nGenerated from `--help`. Exit codes are in [exit-codes.md](exit-codes.md).\n",
    );
    for &words in COMMANDS {
        let output = fslab()
            .args(words)
            .arg("--help")
            .env("COLUMNS", "100")
            .output()
            .unwrap();
        assert_code(&output, 0);
        let title: Vec<&str> = std::iter::once("fslab")
            .chain(words.iter().copied())
            .collect();
        let help: Vec<String> = stdout(&output)
            .trim_end()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect();
        let _ = write!(
            text,
            "\n## {}\n\n```text\n{}\n```\n",
            title.join(" "),
            help.join("\n")
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "docs/cli.md differs: UPDATE_DOCS=1 cargo test -p fslab --test it -- docs::"
    );
}
