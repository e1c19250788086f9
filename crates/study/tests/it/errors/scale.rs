//! Mistakes of fills, streams, checks, exclusions, grids and laws of growth.

use study::Overrides;

use crate::errors::{messages, outcome, with};

/// A study of fills, streams and checks that is right.
const SCALE: &str = r#"
name = "x"
title = "t"
question = "q"
include = ["defaults.toml"]
exclude = [{ filesystem = "xfs", memory = ["128m"], why = "w" }]
[device]
size = "1g"
[check]
enabled = true
[factors]
filesystem = ["ext4", "xfs"]
memory = ["none", "128m"]
[[workload]]
name = "fill"
kind = "fill"
processes = 3
keep = true
per_directory = 100
fill_share = 0.5
[workload.factors]
total_files = [3000, 6000]
[[workload]]
name = "aiod"
kind = "stream"
block = "1m"
count = 100
[[workload]]
name = "aged"
kind = "age"
files = 100
directories = 20
per_directory = 5
step = 2
size = "4k"
[[grid]]
title = "G"
heading = "filesystem"
where = { workload = "fill" }
rows = [{ factor = "total_files", label = "Files" }, { factor = "kernel", label = "Kernel" }]
columns = [{ label = "s", phase = "check", metric = "seconds", unit = "secs", where = { memory = "none" } }]
[[growth]]
title = "L"
x = "count"
x_unit = "files"
phase = "check"
metric = "seconds"
by = ["filesystem"]
projections = [1e6]
"#;

/// The study of fills with a part replaced.
fn scale(part: &str, other: &str) -> String {
    assert!(SCALE.contains(part), "{part}");
    SCALE.replacen(part, other, 1)
}

#[test]
fn the_study_of_fills_is_good() {
    let plan = outcome(SCALE.as_bytes(), &Overrides::default()).unwrap();
    // 2 x 2 x (2 fills, a stream, an ageing), less XFS's 4 under a limit.
    assert_eq!(plan.cells.len(), 12);
    assert_eq!((plan.grids.len(), plan.growth.len()), (1, 1));
    assert_eq!(
        plan.notes,
        ["4 cells are excluded (filesystem=xfs with memory=128m): w"]
    );
    assert!(plan.cells.iter().all(|cell| cell.check.is_some()));
}

#[test]
fn mistakes_of_fills_and_streams() {
    let fill = |line: &str| scale("keep = true", &format!("keep = true\n{line}"));
    let stream = |line: &str| scale("count = 100", line);
    let cases = [
        ("file larger than the device", stream("count = 5000")),
        (
            "file larger than ext3 has numbers for",
            scale("size = \"1g\"", "size = \"16t\"")
                .replace("\"ext4\"", "\"ext3\"")
                .replace("count = 100", "count = 3500000"),
        ),
        (
            "odd block with O_DIRECT",
            stream("count = 1\ndirect = true").replace("block = \"1m\"", "block = 1000"),
        ),
        (
            "queue depth and engine",
            stream("count = 1\nqueue_depth = 8"),
        ),
        ("nothing to read", stream("count = 1\ntest = \"read\"")),
        ("no requests", stream("count = 0")),
        ("sync method", fill("sync_method = 7")),
        ("one subdirectory", fill("directories = 1")),
        ("random characters", fill("name_length = 10")),
        (
            "share of the device",
            scale("fill_share = 0.5", "fill_share = 1"),
        ),
        (
            "share and size",
            scale(
                "total_files = [3000, 6000]",
                "total_files = [3000, 6000]\nsize = [\"4k\"]",
            ),
        ),
        (
            "total that does not divide",
            scale("[3000, 6000]", "[3000, 1000, 6000]"),
        ),
        (
            "too many inodes",
            scale("[3000, 6000]", "[3000, 6000, 90000]"),
        ),
        (
            "too many bytes",
            scale("fill_share = 0.5", "fill_share = 0.99"),
        ),
        ("ageing removes too much", scale("step = 2", "step = 3")),
        (
            "parameter of another kind",
            scale("step = 2", "step = 2\nkeep = true"),
        ),
        (
            "shared factor",
            scale("[factors]", "[factors]\nprocesses = [1, 0]"),
        ),
    ];
    insta::assert_snapshot!(messages(&cases));
}

#[test]
fn mistakes_of_the_rig_and_of_checks() {
    let factor = |line: &str| {
        scale(
            "memory = [\"none\", \"128m\"]",
            &format!("memory = [\"none\", \"128m\"]\n{line}"),
        )
    };
    let check = |line: &str| scale("enabled = true", &format!("enabled = true\n{line}"));
    let top = |line: &str| scale("name = \"x\"", &format!("name = \"x\"\n{line}"));
    let device = |line: &str| scale("size = \"1g\"", &format!("size = \"1g\"\n{line}"));
    let cases = [
        ("little memory", top("memory = \"32m\"")),
        ("memory of zero", top("memory = 0")),
        ("memory in words", top("memory = \"lots\"")),
        ("memory as a list", top("memory = [\"1g\"]")),
        (
            "little memory as a level",
            scale("\"128m\"]\n", "\"128m\", \"1m\"]\n"),
        ),
        ("limit of zero", device("limit = 0")),
        ("limit in words", device("limit = \"fast\"")),
        ("limit of an unknown key", device("limit = \"speed=1m\"")),
        ("limit of the wrong type", device("limit = true")),
        (
            "limits as levels",
            factor("limit = [\"none\", \"70m\", \"read=0\"]"),
        ),
        ("limit twice", factor("limit = [\"70m\", \"71680k\"]")),
        (
            "device too small as a level",
            factor("device_size = [\"1g\", \"100m\"]"),
        ),
        ("device of a few bytes", factor("device_size = [512]")),
        ("readahead", factor("readahead = [-1]")),
        ("timeout", check("timeout_seconds = 0")),
        ("unknown key of the check", check("timeout = 5")),
        ("a check that answers", check("e2fsck = \"-v -y\"")),
        ("a check that repairs", check("btrfs = [\"--repair\"]")),
        (
            "check as a switch",
            scale("[check]\nenabled = true", "[check]\nenabled = \"yes\""),
        ),
        (
            "reference",
            format!("{SCALE}\n[run]\nreference_seconds = -1"),
        ),
    ];
    insta::assert_snapshot!(messages(&cases));
}

#[test]
fn mistakes_of_exclusions_grids_and_growth() {
    const RULE: &str = "{ filesystem = \"xfs\", memory = [\"128m\"], why = \"w\" }";
    let cases = [
        (
            "unknown factor excluded",
            scale(RULE, "{ file_system = \"xfs\" }"),
        ),
        (
            "unknown level excluded",
            scale(RULE, "{ memory = [\"none\", \"256m\"] }"),
        ),
        ("rule without a factor", scale(RULE, "{ why = \"w\" }")),
        ("rule that is none", scale(RULE, "\"xfs\"")),
        (
            "level that is none",
            scale(RULE, "{ filesystem = { a = 1 } }"),
        ),
        (
            "everything excluded",
            scale(RULE, "{ filesystem = [\"xfs\", \"ext4\"] }"),
        ),
        (
            "heading",
            scale("heading = \"filesystem\"", "heading = \"fs\""),
        ),
        (
            "rows",
            scale("factor = \"total_files\"", "factor = \"files\""),
        ),
        (
            "no rows",
            scale(
                "rows = [{ factor = \"total_files\", label = \"Files\" }, { factor = \"kernel\", label = \"Kernel\" }]",
                "rows = []",
            ),
        ),
        (
            "level of a grid",
            scale(
                "where = { workload = \"fill\" }",
                "where = { workload = \"fil\" }",
            ),
        ),
        (
            "level of a column",
            scale("memory = \"none\" } }", "memory = \"64m\" } }"),
        ),
        (
            "phase of another workload",
            scale(
                "phase = \"check\", metric = \"seconds\", unit = \"secs\", where",
                "phase = \"write\", metric = \"seconds\", unit = \"secs\", where",
            ),
        ),
        (
            "phase without a check",
            scale("[check]\nenabled = true", ""),
        ),
        (
            "unknown metric",
            scale("metric = \"seconds\", unit", "metric = \"second\", unit"),
        ),
        ("x of a law", scale("x = \"count\"", "x = \"files\"")),
        (
            "by of a law",
            scale("by = [\"filesystem\"]", "by = [\"filesystem\", \"size\"]"),
        ),
        ("projection", scale("[1e6]", "[1e6, 0]")),
        (
            "phase of a table",
            with("phase = \"read\"", "phase = \"read_tree\""),
        ),
    ];
    insta::assert_snapshot!(messages(&cases));
}
