//! Each option and argument that takes a path is given a FIFO, `/dev/zero`, a socket, a folder and a link to nothing: one line at
//! once, with the documented code, and no more memory than a small process has.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use common::{Scratch, assert_code, example_run, run_in, stderr};
use fixtures::block_trace::Forge;
use fixtures::write_log::WriteLog;

/// Names of values that are not paths.
const NO_PATHS: &[&str] = &[
    "ADDRESS:PORT",
    "BETWEEN",
    "BLOCK",
    "BOUNDARIES",
    "BUFFER",
    "BY",
    "BYTES",
    "CLOCK",
    "COMMAND",
    "CONTENT",
    "ENGINE",
    "EXECUTOR",
    "FACTOR",
    "FACTOR=LEVEL[,LEVEL]",
    "FALLOCATE",
    "FORMAT",
    "FROM",
    "HASH",
    "HOW",
    "INITIAL",
    "IO",
    "ITEMS",
    "KEY=VALUE",
    "KIND",
    "LABEL",
    "LAYOUT",
    "LEVEL",
    "M,N",
    "METRIC",
    "MIB",
    "MODE",
    "MS",
    "N",
    "NAME[,NAME]",
    "NAME=VALUE",
    "OPTION",
    "ORDER",
    "PARAMETER",
    "PART",
    "PERCENT",
    "PHASE",
    "PLACE",
    "PLACEMENT",
    "PROFILE",
    "PROGRAM",
    "READ",
    "RECORD",
    "RECOVER",
    "REORDER",
    "RUNS",
    "RW",
    "S",
    "SCALE",
    "SECONDS",
    "SEED",
    "SELECTOR",
    "SERIAL",
    "SHARE",
    "SHELL",
    "SIGN",
    "SIZE",
    "TEST",
    "THREADS",
    "TITLE",
    "TRANSFER",
    "TYPE",
    "URL",
    "VERDICT",
    "VERSION",
    "WHAT",
    "WIDTH",
    "WORD[,WORD]",
    "WORKLOAD",
    "WRITE",
    "WRITE_SIZE",
];

/// Options whose value has the name of a path's and is none.
const NO_PATH_OPTIONS: &[&str] = &[
    "bench stream --file",
    "bench mix --file",
    "check --device",
    "crash --from-mark",
    "device serve --file-name",
    "device serve --mark",
    "forge damage --case",
    "forge ocfs2 --preset",
    "forge xfs --preset",
    "history <STUDY>",
    "kernel add <NAME>",
    "kernel fetch --suite",
    "kernel list --suite",
    "kernel probe [NAME]",
    "serve --host",
    "trace report --processes",
];

/// How an option is given a path (`{}`), and the code. Beside it are `tiny.toml`, a study; `example`, a run; `runs`, a folder with
/// one; `store.sqlite`; `disk.img`, an ext4 filesystem; `writes.log`; the trace `sda`; `out`, an empty folder.
const PATHS: &[(&str, &str, i32)] = &[
    ("bench --dir", "bench --fio-job job.fio --dir {}", 2),
    ("bench --fio-job", "bench --fio-job {}", 2),
    ("bench age --dir", "bench age --dir {}", 2),
    ("bench fill --dir", "bench fill -d {}", 2),
    ("bench fsck <TARGET>", "bench fsck {}", 2),
    ("bench metadata --dir", "bench metadata --dir {}", 2),
    (
        "bench metadata --mpi-library",
        "bench metadata --dir out --launcher true --mpi-library {}",
        2,
    ),
    ("bench mix --dir", "bench mix --dir {}", 2),
    ("bench shared --dir", "bench shared --dir {}", 2),
    (
        "bench shared --mpi-library",
        "bench shared --dir out --launcher true --mpi-library {}",
        2,
    ),
    ("bench stream --dir", "bench stream --dir {}", 2),
    ("bench throughput --dir", "bench throughput --dir {}", 2),
    ("bench tree --dir", "bench tree --dir {}", 2),
    ("bench tree --sources", "bench tree --dir out -s {}", 7),
    (
        "bisect-step --bad",
        "bisect-step --good example --bad {} -- true",
        255,
    ),
    (
        "bisect-step --good",
        "bisect-step --good {} --bad example -- true",
        255,
    ),
    (
        "bisect-step --out",
        "bisect-step --good example --bad example --out {} -- true",
        255,
    ),
    (
        "bisect-step --runs",
        "bisect-step --good study=a --bad study=b --runs {} -- true",
        255,
    ),
    (
        "bisect-step --store",
        "bisect-step --good study=a --bad study=b --store {} -- true",
        255,
    ),
    (
        "check --devices-file",
        "check disk.img --device 7k500 --devices-file {}",
        16,
    ),
    ("check --journal", "check disk.img -j {}", 8),
    ("check --log-device", "check disk.img --log-device {}", 8),
    ("check --rt-device", "check disk.img --rt-device {}", 8),
    ("check --record", "check disk.img --record {}", 8),
    ("check [IMAGE|DEVICE]", "check {}", 8),
    ("clean [DIR]", "clean {}", 2),
    ("compare --output", "compare example example -o {}", 2),
    ("compare --runs", "compare study=a study=b --runs {}", 1),
    ("compare --store", "compare study=a study=b --store {}", 2),
    ("compare <SIDE>", "compare example {}", 2),
    ("context --dir", "context --dir {}", 2),
    ("crash --keep", "crash writes.log --keep {}", 2),
    ("crash --scratch", "crash writes.log --scratch {}", 2),
    ("crash <LOG>", "crash {}", 2),
    ("crash [BASE]", "crash writes.log {}", 2),
    (
        "device bench --devices-file",
        "device bench 7k500 --devices-file {}",
        2,
    ),
    (
        "device bench --write",
        "device bench disk.img --write {}",
        2,
    ),
    ("device bench <NAME>", "device bench {}", 2),
    ("device check --drives", "device check --drives {}", 2),
    (
        "device check --streams",
        "device check --studies --streams {}",
        2,
    ),
    ("device check [FILE]", "device check {}", 2),
    (
        "device list --devices-file",
        "device list --devices-file {}",
        2,
    ),
    (
        "device serve --devices-file",
        "device serve 7k500 --devices-file {} --fuse out",
        2,
    ),
    (
        "device serve --fuse",
        "device serve 7k500 --size 64m --fuse {}",
        2,
    ),
    (
        "device serve --store",
        "device serve 7k500 --fuse out --store {}",
        2,
    ),
    ("device serve <NAME>", "device serve {} --fuse out", 2),
    (
        "device show --devices-file",
        "device show 7k500 --devices-file {}",
        2,
    ),
    ("device show <NAME>", "device show {}", 2),
    ("explain <RUN>", "explain {}", 2),
    ("export --output", "export --store store.sqlite -o {}", 2),
    ("export --store", "export --store {}", 2),
    ("fleet block <RUN>", "fleet block {} 0", 1),
    ("fleet gather <RUN>", "fleet gather {}", 1),
    ("fleet status <RUN>", "fleet status {}", 1),
    (
        "fleet submit --cache",
        "fleet submit tiny.toml --kernel 6.1 --cache {} --dry-run",
        2,
    ),
    (
        "fleet submit --device",
        "fleet submit tiny.toml --device {} --destroy x --dry-run --out device{}",
        0,
    ),
    (
        "fleet submit --devices-file",
        "fleet submit tiny.toml --devices-file {} --dry-run",
        2,
    ),
    (
        "fleet submit --dir",
        "fleet submit tiny.toml --dir {} --dry-run --out dir{}",
        0,
    ),
    (
        "fleet submit --kernel",
        "fleet submit tiny.toml --kernel {} --cache out --dry-run",
        2,
    ),
    (
        "fleet submit --modules",
        "fleet submit tiny.toml --kernel ./tiny.toml --modules {} --cache out --dry-run",
        1,
    ),
    (
        "fleet submit --mpi-library",
        "fleet submit tiny.toml --executor mpi --dir out --launcher true --mpi-library {} --dry-run --out mpi{}",
        0,
    ),
    (
        "fleet submit --out",
        "fleet submit tiny.toml --out {} --dry-run",
        1,
    ),
    ("fleet submit <STUDY>", "fleet submit {} --dry-run", 2),
    ("forge damage [IMAGE]", "forge damage {} --random 1", 5),
    (
        "forge ext4 --profile",
        "forge ext4 new.img --size 64m --profile {}",
        2,
    ),
    ("forge ext4 <IMAGE>", "forge ext4 {} --size 64m", 2),
    (
        "forge ocfs2 --profile",
        "forge ocfs2 new.img --size 64m --profile {}",
        2,
    ),
    ("forge ocfs2 <IMAGE>", "forge ocfs2 {} --size 64m", 2),
    (
        "forge xfs --profile",
        "forge xfs new.img --size 400m --profile {}",
        2,
    ),
    ("forge xfs <IMAGE>", "forge xfs {} --size 400m", 2),
    ("history --runs", "history tiny --runs {}", 1),
    ("history --store", "history tiny --store {}", 2),
    ("import --out", "import --from fio tiny.toml --out {}", 2),
    ("import --store", "import example --store {}", 2),
    ("import <RUN>", "import --from fio {} --out new", 2),
    (
        "kernel add --cache",
        "kernel add mine --kernel vmlinux --cache {}",
        1,
    ),
    (
        "kernel add --config",
        "kernel add mine --kernel vmlinux --config {} --cache cache",
        2,
    ),
    (
        "kernel add --kernel",
        "kernel add mine --kernel {} --cache cache",
        2,
    ),
    (
        "kernel add --modules",
        "kernel add mine --kernel vmlinux --modules {} --cache cache",
        1,
    ),
    (
        "kernel fetch --cache",
        "kernel fetch 6.1 --cache {} --mirror file:/nowhere",
        1,
    ),
    (
        "kernel fetch --keyring",
        "kernel fetch 6.1 --cache cache --mirror file:/nowhere --keyring {}",
        2,
    ),
    ("kernel list --cache", "kernel list --cache {}", 0),
    (
        "kernel list --keyring",
        "kernel list --available --cache cache --mirror file:/nowhere --keyring {}",
        2,
    ),
    ("kernel probe --cache", "kernel probe --cache {}", 1),
    ("layout <PATH>", "layout {}", 1),
    ("list [DIR]", "list {}", 1),
    ("man --dir", "man --dir {}", 1),
    ("new <NAME>", "new {}/x.toml", 2),
    ("plan --cache", "plan tiny.toml --kernel 6.1 --cache {}", 2),
    ("plan --device", "plan tiny.toml --device {} --destroy x", 5),
    ("plan --devices-file", "plan tiny.toml --devices-file {}", 2),
    ("plan --dir", "plan tiny.toml --dir {}", 0),
    ("plan --kernel", "plan tiny.toml --kernel {} --cache out", 2),
    (
        "plan --modules",
        "plan tiny.toml --kernel ./tiny.toml --modules {} --cache out",
        1,
    ),
    (
        "plan --mpi-library",
        "plan tiny.toml --executor mpi --dir out --launcher true --mpi-library {}",
        0,
    ),
    ("plan <STUDY>", "plan {}", 2),
    (
        "replay --devices-file",
        "replay sda --device 7k500 --devices-file {}",
        2,
    ),
    ("replay <BASE>", "replay {} --device 7k500", 2),
    ("report --output", "report example -o {}", 2),
    ("report <RUN>", "report {}", 2),
    ("resume <RUN>", "resume {}", 2),
    ("run --cache", "run tiny.toml --kernel 6.1 --cache {}", 2),
    ("run --device", "run tiny.toml --device {} --destroy x", 5),
    ("run --devices-file", "run tiny.toml --devices-file {}", 2),
    ("run --dir", "run tiny.toml --dir {}", 2),
    ("run --kernel", "run tiny.toml --kernel {} --cache out", 2),
    (
        "run --modules",
        "run tiny.toml --kernel ./tiny.toml --modules {} --cache out",
        1,
    ),
    (
        "run --mpi-library",
        "run tiny.toml --executor mpi --dir out --launcher true --mpi-library {}",
        2,
    ),
    ("run --out", "run tiny.toml --dir out --out {}", 2),
    ("run <STUDY>", "run {}", 2),
    (
        "serve --compare",
        "serve --from runs --compare example {} --listen 127.0.0.1:0",
        2,
    ),
    ("serve --from", "serve --from {} --listen 127.0.0.1:0", 2),
    (
        "serve --token-file",
        "serve --from runs --token-file {} --listen 127.0.0.1:0",
        2,
    ),
    ("show <RUN>", "show {}", 2),
    (
        "site --compare",
        "site new --from runs --compare example {}",
        2,
    ),
    ("site --from", "site new --from {}", 2),
    ("site <DIR>", "site {} --from runs", 2),
    ("studies [STUDY]", "studies {}", 2),
    (
        "trace record --out",
        "trace record /dev/null -o {} --seconds 1",
        1,
    ),
    (
        "trace record <DEV>",
        "trace record {} -o new --seconds 1",
        2,
    ),
    ("trace report --files", "trace report sda --files {}", 1),
    ("trace report --names", "trace report sda --names {}", 2),
    ("trace report --output", "trace report sda -o {}", 2),
    ("trace report <BASE>", "trace report {}", 2),
];

/// The options and arguments that the documented command line has, each with the name of its value.
fn documented() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let text = fs::read_to_string(path).unwrap();
    let mut found = BTreeMap::new();
    let mut command = "";
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## fslab") {
            command = title.trim();
            continue;
        }
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let (name, value) = if words.starts_with('-') && (2..=6).contains(&indent) {
            let named = words.split_once("--").map(|(_, rest)| rest);
            let Some((name, rest)) = named.and_then(|rest| rest.split_once(' ')) else {
                continue;
            };
            let Some((value, _)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'))
            else {
                continue;
            };
            (format!("--{name}"), value.to_owned())
        } else if words.starts_with(['<', '[']) && indent == 2 {
            let (word, _) = words.split_at(words.find(['>', ']']).unwrap() + 1);
            (word.to_owned(), word[1..word.len() - 1].to_owned())
        } else {
            continue;
        };
        found.insert(format!("{command} {name}").trim().to_owned(), value);
    }
    found
}

#[test]
fn every_option_that_takes_a_path_is_in_the_table() {
    let documented = documented();
    assert!(documented.len() > 350, "{}", documented.len());
    let paths: BTreeSet<&str> = documented
        .iter()
        .filter(|(option, value)| {
            !NO_PATHS.contains(&value.as_str()) && !NO_PATH_OPTIONS.contains(&option.as_str())
        })
        .map(|(option, _)| option.as_str())
        .collect();
    let table: BTreeSet<&str> = PATHS.iter().map(|(option, _, _)| *option).collect();
    let missing: Vec<_> = paths.difference(&table).collect();
    assert!(
        missing.is_empty(),
        "these take a path, or their value's name is new: put them into PATHS with a command line, or say that they take none: {missing:?}"
    );
    let gone: Vec<_> = table.difference(&paths).collect();
    assert!(gone.is_empty(), "no such options any more: {gone:?}");
    let unknown = NO_PATH_OPTIONS
        .iter()
        .find(|option| !documented.contains_key(**option));
    assert_eq!(unknown, None);
}

/// Runs fslab with 2 GB of addresses; ends it after 20 s.
fn bounded(scratch: &Scratch, args: &str) -> Output {
    let script = format!(
        "ulimit -v 2000000; exec timeout -s KILL 20 {} {args}",
        env!("CARGO_BIN_EXE_fslab")
    );
    Command::new("bash")
        .args(["-c", &script])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn mkfifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.tiny_study(&["ext4"], "");
    let run = example_run(&scratch);
    fs::create_dir_all(scratch.join("runs")).unwrap();
    symlink(&run, scratch.join("runs/example")).unwrap();
    fs::create_dir(scratch.join("out")).unwrap();
    fs::create_dir(scratch.join("folder")).unwrap();
    assert_code(
        &run_in(
            scratch.path(),
            &["import", "example", "--store", "store.sqlite"],
        ),
        0,
    );
    fs::write(scratch.join("job.fio"), "[job]\nrw=write\nsize=4k\n").unwrap();
    let mut log = WriteLog::new(512);
    log.write(8, 4096, 0);
    fs::write(scratch.join("writes.log"), log.bytes()).unwrap();
    Forge::plain(1, 50).write(scratch.path(), "sda").unwrap();
    let made = Command::new("mke2fs")
        .args(["-q", "-F", "-t", "ext4"])
        .arg(scratch.join("disk.img"))
        .arg("16m")
        .status();
    assert!(made.unwrap().success());
    // Enough of a kernel for its other files to be looked at.
    fs::write(
        scratch.join("vmlinux"),
        b"\x7fELF\x02\x01\x01\0\0\0Linux version 6.6.5-mine (x)\0",
    )
    .unwrap();
    mkfifo(&scratch.join("fifo"));
    symlink("none", scratch.join("dangling")).unwrap();
    scratch
}

/// What is wrong with an answer.
fn fault(output: &Output, begun: Instant, code: i32, node: &str) -> Option<String> {
    let text = stderr(output);
    let lines = text.lines().filter(|line| line.starts_with("fslab: "));
    if begun.elapsed() > testkit::HANGS || output.status.code().is_none() {
        return Some(format!("{:?}, {:?}", output.status, begun.elapsed()));
    }
    // A plan, and a list of what is in a cache that is not there, need no such folder.
    if lines.count() != 1 && code != 0 {
        return Some(format!("{:?}: {text}", output.status.code()));
    }
    // A folder and a link to nothing may be what an option takes.
    if matches!(node, "fifo" | "/dev/zero" | "socket") && output.status.code() != Some(code) {
        return Some(format!("{:?}, not {code}: {text}", output.status.code()));
    }
    None
}

#[test]
fn what_is_no_file_is_one_line_at_once() {
    let scratch = scratch();
    let _socket = UnixListener::bind(scratch.join("socket")).unwrap();
    let mut faults = Vec::new();
    for (option, line, code) in PATHS {
        for node in ["fifo", "/dev/zero", "socket", "dangling"] {
            let args = line.replace("{}", node);
            let begun = Instant::now();
            let output = bounded(&scratch, &args);
            if let Some(fault) = fault(&output, begun, *code, node) {
                faults.push(format!("{option}: fslab {args}\n  {fault}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    scratch.assert_nothing_left();
}

/// Files that a command finds below a folder that it is given: the file, the command line, the code.
const BELOW: &[(&str, &str, i32)] = &[
    ("d/fleet.json", "fleet status d", 5),
    ("d/fleet.json", "fleet gather d", 5),
    ("d/fleet.json", "fleet block d 0", 5),
    ("d/fleet.json", "fleet submit d --missing --dry-run", 5),
    ("d/dataset-unpatched", "bench tree --dir out -s d", 7),
    ("d/atlas10k.diskspecs", "device check --drives d", 2),
    (
        "d/modules.builtin",
        "kernel add mine --kernel vmlinux --modules d --cache cache",
        2,
    ),
    ("d/sdb.blktrace.0", "trace report d/sdb", 1),
    ("d/sdb.blktrace.0", "replay d/sdb --device 7k500", 1),
    ("d/.fslab-site.json", "site d --from runs", 2),
    ("d/kernel.json", "kernel probe mine --cache .", 2),
];

#[test]
fn what_is_no_file_below_a_folder_is_one_line_at_once() {
    let scratch = scratch();
    let mut faults = Vec::new();
    for (place, args, code) in BELOW {
        for node in ["fifo", "/dev/zero"] {
            fs::create_dir(scratch.join("d")).unwrap();
            let place = scratch.join(place);
            match node {
                "fifo" => mkfifo(&place),
                device => symlink(device, place).unwrap(),
            }
            let begun = Instant::now();
            let output = bounded(&scratch, args);
            if let Some(fault) = fault(&output, begun, *code, node) {
                faults.push(format!("fslab {args} ({node})\n  {fault}"));
            }
            fs::remove_dir_all(scratch.join("d")).unwrap();
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
