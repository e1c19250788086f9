//! Every message that a study file or an override can earn, in one snapshot to read.

mod scale;

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
        ("a parameter of no workload", {
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
        "no study is called \"jornal\" (did you mean journal? built in: streaming, journal, allocation, fsck-io, fsck-scale, clients, metadata; or give the path of a .toml file, with a /)"
    );
    let error = |path: &str| Study::load(path).unwrap_err().to_string();
    assert_eq!(
        error("/nowhere/x.toml"),
        "/nowhere/x.toml: the study cannot be read: No such file or directory (os error 2); check the path, or choose one of `fslab studies`"
    );
    for special in ["/dev/zero", "/", "/proc/self/mem"] {
        assert!(error(special).contains("cannot be read"), "{special}");
    }
}

#[test]
fn files_that_are_no_studies() {
    let error = |bytes: &[u8]| outcome(bytes, &Overrides::default()).unwrap_err();
    assert!(error(&[b'a', 0xff, 0xfe]).contains("not UTF-8 text at byte 1"));
    assert!(error(&vec![b'#'; 300 << 10]).contains("more than 256 KiB"));
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
        // The keys that are known are ours, and grow with the format; what the file has must not.
        let theirs = line.split(" (known: ").next().unwrap();
        assert!(theirs.chars().count() < 200, "{line}");
        assert!(line.chars().count() < 400, "{line}");
        assert!(!line.contains('\u{1b}'));
    }
}
