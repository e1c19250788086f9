//! Every message that a study file or an override can earn, in one snapshot to read.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;

use study::{Bytes, Overrides, Study, plan};

/// A small study that is right; cases replace a part of it.
const GOOD: &str = r#"
name = "x"
title = "t"
question = "q"
include = ["defaults.toml"]
[device]
size = "1g"
[factors]
filesystem = ["ext4", "xfs"]
[[workload]]
name = "iozone"
kind = "throughput"
size = "16m"
[workload.factors]
threads = [1, 8]
[[workload]]
name = "trees"
kind = "tree"
scale = 0.01
[[table]]
title = "T"
where = { workload = "iozone", threads = "8" }
columns = "filesystem"
rows = [{ phase = "read", metric = "children", label = "readers", unit = "MB/s" }]
[profile.quick.run]
blocks = 3
"#;

/// Loads a text as `x.toml` and plans it; the error, if any.
fn outcome(text: &[u8], overrides: &Overrides) -> Result<study::Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    fs::write(&path, text).unwrap();
    let plain = |error: study::Error| {
        let here = format!("{}/", folder.path().display());
        error.to_string().replace(&here, "")
    };
    let study = Study::load(path.to_str().unwrap()).map_err(plain)?;
    plan(&study, overrides).map_err(plain)
}

fn file_error(text: &str) -> String {
    outcome(text.as_bytes(), &Overrides::default())
        .err()
        .unwrap_or_else(|| panic!("accepted:\n{text}"))
}

/// The good study with a part replaced.
fn with(part: &str, other: &str) -> String {
    assert!(GOOD.contains(part), "{part}");
    GOOD.replacen(part, other, 1)
}

#[test]
fn the_good_study_is_good() {
    let plan = outcome(GOOD.as_bytes(), &Overrides::default()).unwrap();
    assert_eq!(plan.cells.len(), 6);
    assert_eq!(plan.slots.len(), 30);
}

const WORKLOAD: &str = "size = \"16m\"";

/// The good study with a line added to its first workload.
fn add(line: &str) -> String {
    with(WORKLOAD, &format!("{WORKLOAD}\n{line}"))
}

/// The good study with other factors of its first workload.
fn factor(line: &str) -> String {
    with("threads = [1, 8]", line)
}

/// Each case's label and message.
fn messages(cases: &[(&str, String)]) -> String {
    let mut all = String::new();
    for (label, text) in cases {
        let _ = writeln!(all, "# {label}\n{}", file_error(text));
    }
    all
}

#[test]
fn mistakes_of_values() {
    let cases = [
        ("zero threads", add("threads = 0")),
        ("many threads", factor("threads = [1, 5000]")),
        ("text for a number", add("threads = \"many\"")),
        ("float for a number", add("threads = 1.5")),
        ("huge number", add("threads = 99999999999999999999")),
        ("unknown parameter", add("theads = 8")),
        ("unknown top key", format!("quesion = \"q\"\n{GOOD}")),
        (
            "unknown section",
            format!("{GOOD}\n[devise]\nsize = \"2g\""),
        ),
        ("bad size", with(WORKLOAD, "size = \"2x\"")),
        ("size of the wrong type", with(WORKLOAD, "size = true")),
        ("negative size", with(WORKLOAD, "size = -1")),
        ("record out of range", add("record = \"512\"")),
        (
            "size below the record",
            add("record = \"16m\"").replace(WORKLOAD, "size = \"1m\""),
        ),
        (
            "odd record with O_DIRECT",
            add("direct = true\nrecord = 1500"),
        ),
        ("queue depth without io_uring", add("queue_depth = 32")),
        ("unknown engine", add("engine = \"io_urin\"")),
        ("text for a switch", add("direct = \"yes\"")),
        ("scale zero", with("scale = 0.01", "scale = 0")),
        ("scale above one", with("scale = 0.01", "scale = 1.5")),
        ("scale not finite", with("scale = 0.01", "scale = nan")),
        ("no trees", with("scale = 0.01", "initial = 0")),
    ];
    insta::assert_snapshot!(messages(&cases));
}

#[test]
fn mistakes_of_names() {
    let cases = [
        ("date", add("threads = 2009-01-07")),
        ("unknown kind", with("\"tree\"", "\"trees\"")),
        ("no kind", with("kind = \"tree\"\n", "")),
        ("no name", with("name = \"trees\"\n", "")),
        ("bad name", with("\"trees\"", "\"Trees of life\"")),
        ("reserved name", with("\"trees\"", "\"device\"")),
        ("same name", with("\"trees\"", "\"iozone\"")),
        ("unknown variant", with("\"xfs\"", "\"xfz\"")),
        (
            "unknown family",
            format!("{GOOD}\n[filesystem.z]\nkind = \"zfs\""),
        ),
        (
            "variant without family",
            format!("{GOOD}\n[filesystem.z]\nmkfs = []"),
        ),
        (
            "words of the wrong type",
            format!("{GOOD}\n[filesystem.ext4]\nmkfs = [1]"),
        ),
        (
            "control character",
            format!("{GOOD}\n[filesystem.ext4]\nabout = \"a\\u0000b\""),
        ),
    ];
    insta::assert_snapshot!(messages(&cases));
}

#[test]
fn mistakes_of_factors_and_tables() {
    let cases = [
        ("no factors", with("filesystem = [\"ext4\", \"xfs\"]", "")),
        ("empty factor", factor("threads = []")),
        ("level twice", factor("size = [\"1m\", \"1024k\"]")),
        ("factor not a list", factor("threads = 8")),
        (
            "unknown factor",
            with("[factors]", "[factors]\nthreds = [1]"),
        ),
        ("nobody's parameter", {
            let only_trees = with("where = { workload = \"iozone\", threads = \"8\" }", "");
            let (head, tail) = only_trees.split_once("[[workload]]").unwrap();
            let (_, tail) = tail.split_once("[[workload]]").unwrap();
            let head = head.replace("[factors]", "[factors]\nthreads = [1]");
            format!("{head}[[workload]]{tail}")
        }),
        (
            "factor of the other kind",
            with("[factors]", "[factors]\ntrees.threads = [1]"),
        ),
        (
            "blocks",
            format!("{GOOD}\n[run]\nblocks = 0\nband = 1.0\norder = \"random\""),
        ),
        (
            "column of a table",
            with("columns = \"filesystem\"", "columns = \"fs\""),
        ),
        (
            "level of a table",
            with("threads = \"8\"", "threads = \"16\""),
        ),
        (
            "factor of a table",
            with("threads = \"8\"", "thread = \"8\""),
        ),
        ("phase of a table", with("\"read\"", "\"reads\"")),
        ("unit of a table", with("\"MB/s\"", "\"mb/s\"")),
        ("row without label", with(" label = \"readers\",", "")),
    ];
    insta::assert_snapshot!(messages(&cases));
}

#[test]
fn mistakes_of_profiles_and_sizes() {
    let cases = [
        (
            "profile's key",
            format!("{GOOD}\n[profile.quick]\nblock = 1"),
        ),
        (
            "profile's workload",
            format!("{GOOD}\n[profile.quick.workload.iozon]\nsize = 1"),
        ),
        (
            "profile's value",
            format!("{GOOD}\n[profile.quick.workload.iozone]\nthreads = 0"),
        ),
        (
            "profile's list",
            format!("{GOOD}\n[[profile.quick.workload]]\nname = \"iozone\""),
        ),
        (
            "profile's kind",
            format!("{GOOD}\n[profile.quick.workload.iozone]\nkind = \"tree\""),
        ),
        (
            "workload as a table",
            with("[[workload]]\nname = \"trees\"", "[workload.trees]"),
        ),
        (
            "too large",
            with("size = \"1g\"", "size = \"100g\"").replace(WORKLOAD, "size = \"50g\""),
        ),
        ("trees too large", with("scale = 0.01", "scale = 1")),
        ("device too small", with("size = \"1g\"", "size = \"200m\"")),
        (
            "too many cells",
            factor(&format!(
                "threads = {:?}\nsize = {:?}",
                (1..=101).collect::<Vec<u32>>(),
                (1..=101).map(|n| n << 20).collect::<Vec<u32>>()
            )),
        ),
        ("too many trials", {
            let many = factor(&format!("threads = {:?}", (1..=101).collect::<Vec<u32>>()));
            let many = many.replace(WORKLOAD, "size = \"1m\"");
            format!("{many}\n[run]\nblocks = 1000").replace("threads = \"8\"", "threads = \"7\"")
        }),
    ];
    insta::assert_snapshot!(messages(&cases));
}

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

#[test]
fn mistakes_of_files() {
    let cases = [
        ("missing include", with("defaults.toml", "nowhere.toml")),
        ("include of itself", with("defaults.toml", "x.toml")),
        (
            "include not a list",
            with("[\"defaults.toml\"]", "\"defaults.toml\""),
        ),
        ("syntax", with("name = \"x\"", "name = \"x")),
        ("two syntax errors", format!("a = \n{GOOD}\nb = [1,,2]")),
        ("key twice", format!("name = \"y\"\n{GOOD}")),
        ("several at once", add("theads = 1\nrecord = 3\ndirect = 1")),
        ("nothing", String::new()),
    ];
    insta::assert_snapshot!(messages(&cases));
}

#[test]
fn mistakes_in_overrides() {
    let set = |text: &str| Overrides {
        set: vec![text.to_owned()],
        ..Overrides::default()
    };
    let filter = |text: &str| Overrides {
        filter: vec![text.to_owned()],
        ..Overrides::default()
    };
    let profile = |text: &str| Overrides {
        profile: Some(text.to_owned()),
        ..Overrides::default()
    };
    let mut cases = vec![
        profile("quik"),
        profile("x\ny"),
        Overrides {
            blocks: Some(0),
            ..Overrides::default()
        },
        Overrides {
            target_size: Some(Bytes(100 << 20)),
            ..Overrides::default()
        },
    ];
    cases.extend(
        [
            "threads=0",
            "threads=[1,0]",
            "iozone.sise=64m",
            "iozone.size=64q",
            "iozone.size=8g",
            "workload.iozon.size=1m",
            "workload.iozone=3",
            "zone.size=1m",
            "device.sise=4g",
            "device.size=4",
            "run.blocks.x=3",
            "run.blocks=many",
            "blocks=3",
            "filesystem=ext5",
            "filesystem.ext4.mont=noatime",
            "profile.quick.run.blocks=1",
            "factors.filesystem=[]",
            "iozone.size",
            "=3",
            "",
            "...=1",
            "trees.threads=1",
            "iozone.queue_depth=4",
            "iozone.size=1e300",
            "memory=32M",
            "memory=lots",
            "limit=0",
            "limit=read=x",
            "limit=[\"70m\", \"fast\"]",
            "readahead=many",
            "device_size=1m",
            "check=3",
            "check.enabled=maybe",
            "check.timeout_second=3",
            "check.e2fsck=-y",
            "exclude=xfs",
            "exclude=[{memory='64m', filesystem='ext4'}, {filesystem='xfs'}, {filesystem='ext4'}]",
        ]
        .map(set),
    );
    cases.extend(
        [
            "filesystem=ext5",
            "filesystm=ext4",
            "threads=3",
            "threads",
            "=",
            "workload=trees,x",
        ]
        .map(filter),
    );
    cases.push(Overrides {
        filter: vec!["threads=1".into(), "workload=trees".into()],
        ..Overrides::default()
    });
    let mut all = String::new();
    for overrides in cases {
        let error = outcome(GOOD.as_bytes(), &overrides).err();
        let error = error.unwrap_or_else(|| panic!("accepted: {overrides:?}"));
        let _ = writeln!(all, "{error}");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn names_and_files_that_are_not_there() {
    let unknown = Study::load("jornal").unwrap_err().to_string();
    assert_eq!(
        unknown,
        "no study is called \"jornal\" (built in: streaming, journal, allocation, fsck-io, fsck-scale; or give the path of a .toml file, with a /)"
    );
    let error = |path: &str| Study::load(path).unwrap_err().to_string();
    assert_eq!(
        error("/nowhere/x.toml"),
        "/nowhere/x.toml: the study cannot be read: No such file or directory (os error 2)"
    );
    for special in ["/dev/zero", "/", "/proc/self/mem"] {
        assert!(error(special).contains("cannot be read"), "{special}");
    }
}

#[test]
fn files_that_are_no_studies() {
    let error = |bytes: &[u8]| outcome(bytes, &Overrides::default()).unwrap_err();
    assert!(error(&[b'a', 0xff, 0xfe]).contains("not UTF-8 text at byte 1"));
    assert!(error(&vec![b'#'; 300 << 10]).contains("larger than 256 KiB"));
    assert!(error(&[0; 100]).starts_with("x.toml:1: "));
    let deep = format!("a = {}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(error(deep.as_bytes()).contains("x.toml:1: "));
    let dotted = format!("{}x = 1", "a.".repeat(50_000));
    assert!(error(dotted.as_bytes()).contains("x.toml:1: "));
}

#[test]
fn a_problem_is_one_line_whatever_is_in_the_file() {
    let hostile = format!(
        "{GOOD}\n[profile.\"a\\nb\"]\n\"\\u001b[31m{}\" = 1",
        "x".repeat(5000)
    );
    for line in file_error(&hostile).lines() {
        assert!(line.starts_with("x.toml:"), "{line}");
        assert!(line.chars().count() < 300, "{line}");
        assert!(!line.contains('\u{1b}'));
    }
}
