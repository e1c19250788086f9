//! The suite that every subcommand passes: help, a bad option, a missing thing, a closed pipe.

use crate::common;

use std::os::fd::OwnedFd;
use std::process::Stdio;

use common::{Scratch, assert_code, error_line, example_run, fslab, run_in, stderr, stdout};

/// Tests of one subcommand. `printing` is a call that prints something to stdout and succeeds;
/// `missing` is a call that names something that does not exist, with its exit code. `bad` is the code of a wrong command
/// line, and `closed` that of `printing` with a closed pipe.
macro_rules! suite {
    ($name:ident, $words:expr, printing = |$scratch:ident| $printing:expr, missing = $missing:expr => $code:expr) => {
        suite!($name, $words, bad = 2, closed = 141, printing = |$scratch| $printing, missing = $missing => $code);
    };
    ($name:ident, $words:expr, bad = $bad:expr, closed = $closed:expr,
     printing = |$scratch:ident| $printing:expr, missing = $missing:expr => $code:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn help_goes_to_stdout() {
                let scratch = Scratch::new();
                let mut args: Vec<&str> = $words.to_vec();
                args.push("--help");
                let output = run_in(scratch.path(), &args);
                assert_code(&output, 0);
                assert!(
                    stdout(&output).contains("Usage: fslab"),
                    "{}",
                    stdout(&output)
                );
                assert!(
                    stdout(&output)
                        .lines()
                        .all(|line| line.chars().count() <= 100)
                );
            }

            #[test]
            fn a_bad_option_is_one_line() {
                let scratch = Scratch::new();
                let mut args: Vec<&str> = $words.to_vec();
                args.push("--no-such-option");
                let output = run_in(scratch.path(), &args);
                assert_code(&output, $bad);
                assert!(error_line(&output).contains("--no-such-option"));
                assert!(output.stdout.is_empty());
            }

            #[test]
            fn a_missing_thing_is_named() {
                let scratch = Scratch::new();
                let mut args: Vec<&str> = $words.to_vec();
                args.extend($missing);
                let output = run_in(scratch.path(), &args);
                assert_code(&output, $code);
                assert!(
                    error_line(&output).contains("no-such-thing"),
                    "{}",
                    error_line(&output)
                );
                assert!(output.stdout.is_empty());
                scratch.assert_nothing_left();
            }

            #[test]
            fn a_closed_pipe_is_an_answer() {
                let $scratch = Scratch::new();
                let mut args: Vec<String> = $words.iter().map(|w| (*w).to_owned()).collect();
                args.extend($printing);
                let output = fslab()
                    .current_dir($scratch.path())
                    .args(&args)
                    .stdout(closed_pipe())
                    .stderr(Stdio::piped())
                    .output()
                    .expect("the binary starts");
                assert_code(&output, $closed);
                let errors = stderr(&output);
                assert!(
                    $closed != 141 || !errors.contains("fslab: "),
                    "a reader that has enough is no error: {errors}"
                );
                $scratch.assert_nothing_left();
            }
        }
    };
}

/// The write end of a pipe without a reader.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    Stdio::from(OwnedFd::from(writer))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn with_path(before: &str, path: &std::path::Path, after: &str) -> Vec<String> {
    let mut all = words(before);
    all.push(path.to_string_lossy().into_owned());
    all.extend(words(after));
    all
}

suite!(run, ["run"], printing = |scratch| {
    let study = scratch.tiny_study(&["ext4"], "");
    std::fs::create_dir(scratch.join("target")).unwrap();
    with_path("", &study, "--dir target --out out --blocks 1 --set iozone.direct=false")
}, missing = ["no-such-thing"] => 2);

suite!(plan, ["plan"], printing = |scratch| {
    let study = scratch.tiny_study(&["ext4"], "");
    with_path("", &study, "")
}, missing = ["no-such-thing"] => 2);

suite!(list, ["list"], printing = |scratch| {
    example_run(&scratch);
    with_path("", scratch.path(), "")
}, missing = ["no-such-thing"] => 2);

suite!(explain, ["explain"], printing = |scratch| {
    with_path("", &example_run(&scratch), "")
}, missing = ["no-such-thing"] => 2);

suite!(layout, ["layout"], printing = |scratch| {
    // Not the scratch folder, which may be in memory.
    with_path("", std::path::Path::new(env!("CARGO_MANIFEST_DIR")), "")
}, missing = ["no-such-thing"] => 1);

suite!(trace_report, ["trace", "report"], printing = |_scratch| {
    let traces = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../blktrace/tests/data/sda");
    with_path("", &traces, "")
}, missing = ["no-such-thing"] => 2);

suite!(replay, ["replay"], printing = |_scratch| {
    let traces = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../blktrace/tests/data/sda");
    with_path("", &traces, "--device constellation-es --place scale --incomplete --runs 2")
}, missing = ["no-such-thing", "--device", "7k500"] => 2);

suite!(device_list, ["device", "list"], printing = |_scratch| {
    words("")
}, missing = ["--devices-file", "no-such-thing"] => 2);

suite!(device_show, ["device", "show"], printing = |_scratch| {
    words("lun-2011")
}, missing = ["no-such-thing"] => 2);

suite!(device_bench, ["device", "bench"], printing = |_scratch| {
    words("7k500")
}, missing = ["no-such-thing"] => 2);

suite!(device_check, ["device", "check"], printing = |scratch| {
    std::fs::write(scratch.join("my.toml"), "").unwrap();
    words("my.toml")
}, missing = ["no-such-thing"] => 2);

suite!(forge_ext4, ["forge", "ext4"], printing = |_scratch| {
    words("image --size 60M --files 100")
}, missing = ["no-such-thing/image", "--size", "60M"] => 1);

suite!(forge_ocfs2, ["forge", "ocfs2"], printing = |_scratch| {
    words("image --size 300M --files 100")
}, missing = ["no-such-thing/image", "--size", "300M"] => 1);

suite!(forge_xfs, ["forge", "xfs"], printing = |_scratch| {
    words("image --size 300M --files 100")
}, missing = ["no-such-thing/image", "--size", "300M"] => 1);

suite!(kernel_list, ["kernel", "list"], printing = |_scratch| words("--cache cache"),
    missing = ["no-such-thing"] => 2);

suite!(kernel_add, ["kernel", "add"], printing = |scratch| {
    let image = scratch.join("vmlinux");
    std::fs::write(&image, b"\x7fELF Linux version 6.6.1 (me)").unwrap();
    with_path("mine --cache cache --kernel", &image, "")
}, missing = ["mine", "--kernel", "no-such-thing"] => 2);

suite!(doctor, ["doctor"], printing = |_scratch| Vec::<String>::new(), missing = ["no-such-thing"] => 2);

suite!(show, ["show"], printing = |scratch| {
    with_path("", &example_run(&scratch), "")
}, missing = ["no-such-thing"] => 2);

suite!(report, ["report"], printing = |scratch| {
    with_path("", &example_run(&scratch), "")
}, missing = ["no-such-thing"] => 2);

suite!(import, ["import"], printing = |scratch| {
    with_path("", &example_run(&scratch), "--store s.sqlite")
}, missing = ["no-such-thing"] => 2);

suite!(export, ["export"], printing = |scratch| {
    let import = with_path("import", &example_run(&scratch), "--store s.sqlite");
    let imported = fslab().current_dir(scratch.path()).args(&import).output().unwrap();
    assert_code(&imported, 0);
    words("--store s.sqlite")
}, missing = ["--store", "no-such-thing"] => 2);

suite!(clean, ["clean"], printing = |scratch| {
    with_path("", scratch.path(), "")
}, missing = ["no-such-thing"] => 2);

suite!(resume, ["resume"], printing = |scratch| {
    let study = scratch.tiny_study(&["ext4"], "");
    std::fs::create_dir(scratch.join("target")).unwrap();
    let out = with_path("run", &study, "--dir target --out out --blocks 1 --set iozone.direct=false");
    let first = fslab().current_dir(scratch.path()).args(&out).output().unwrap();
    assert_code(&first, 0);
    words("out")
}, missing = ["no-such-thing"] => 2);

suite!(bench_throughput, ["bench", "throughput"], printing = |scratch| {
    with_path("--dir", scratch.path(), "--engine null --settle 0")
}, missing = ["--dir", "no-such-thing"] => 2);

suite!(bench_tree, ["bench", "tree"], printing = |scratch| {
    with_path("--dir", scratch.path(), "-i 1 -r 0 -n --scale 0.001")
}, missing = ["--dir", "no-such-thing"] => 2);

suite!(bench_stream, ["bench", "stream"], printing = |scratch| {
    with_path("--dir", scratch.path(), "-b 4k -w 4")
}, missing = ["--dir", "no-such-thing"] => 2);

suite!(bench_fill, ["bench", "fill"], printing = |scratch| {
    with_path("-d", scratch.path(), "-n 3 -s 10 -S 0")
}, missing = ["-d", "no-such-thing"] => 2);

suite!(bench_age, ["bench", "age"], printing = |scratch| {
    std::fs::create_dir(scratch.join("aged")).unwrap();
    with_path("--dir", &scratch.join("aged"), "--rounds 1 -n 8 -t 1 -D 4 -N 2 --step 1 -s 1")
}, missing = ["--dir", "no-such-thing"] => 2);

suite!(bench_mix, ["bench", "mix"], printing = |scratch| {
    with_path("--dir", scratch.path(), "-s 64k")
}, missing = ["--dir", "no-such-thing"] => 2);

suite!(bench_fsck, ["bench", "fsck"], printing = |scratch| {
    let image = scratch.join("image");
    std::fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
    let made = std::process::Command::new("/sbin/mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
    assert!(made.unwrap().success());
    with_path("", &image, "")
}, missing = ["no-such-thing"] => 2);

suite!(context, ["context"], printing = |scratch| {
    with_path("--dir", scratch.path(), "")
}, missing = ["--dir", "no-such-thing"] => 2);

suite!(studies, ["studies"], printing = |_scratch| Vec::<String>::new(), missing = ["no-such-thing"] => 2);

suite!(metrics, ["metrics"], printing = |_scratch| Vec::<String>::new(), missing = ["no-such-thing"] => 2);

suite!(new, ["new"], printing = |_scratch| words("mine"), missing = ["no-such-thing/mine.toml"] => 2);

suite!(man, ["man"], printing = |_scratch| words("check"), missing = ["no-such-thing"] => 2);

suite!(completions, ["completions"], printing = |_scratch| words("bash"), missing = ["no-such-thing"] => 2);

suite!(compare, ["compare"], printing = |scratch| {
    example_run(&scratch);
    std::fs::create_dir(scratch.join("again")).unwrap();
    let log = std::fs::read_to_string(scratch.join("example/events.jsonl")).unwrap();
    // The id of a run is that of its first line.
    let log = log.replacen("\"seq\":0", " \"seq\":0", 1);
    std::fs::write(scratch.join("again/events.jsonl"), log).unwrap();
    words("example again")
}, missing = ["no-such-thing"] => 2);

suite!(history, ["history"], printing = |scratch| {
    example_run(&scratch);
    words("journal --runs .")
}, missing = ["journal", "--runs", "no-such-thing"] => 1);

// git takes codes from 1 to 127 as bad, so whatever goes wrong ends with 255. It prints to stderr alone: a closed pipe does not
// change the verdict, which is 125 here.
suite!(bisect_step, ["bisect-step"], bad = 255, closed = 125, printing = |scratch| {
    let mut draws = fixtures::simulated::Normal::new(1);
    for number in 0..6 {
        let level = if number < 3 { 1000.0 } else { 800.0 };
        let rates = vec![draws.rates(level, 2, 0.005, 0.01)];
        let mut run = fixtures::simulated::Simulated::new(number, rates);
        run.tags.insert("side".into(), if number < 3 { "good" } else { "bad" }.into());
        run.write(&scratch.join("fslab-runs").join(&run.name)).unwrap();
    }
    words("--good tag.side=good --bad tag.side=bad -- false {out}")
}, missing = ["--good", "no-such-thing", "--bad", "no-such-thing", "--", "true", "{out}"] => 255);

suite!(site, ["site"], printing = |scratch| {
    example_run(&scratch);
    words("pages --from .")
}, missing = ["pages", "--from", "no-such-thing"] => 2);

#[cfg(feature = "serve")]
suite!(serve, ["serve"], printing = |scratch| {
    example_run(&scratch);
    words("--from . --listen 127.0.0.1:0")
}, missing = ["--from", "no-such-thing"] => 2);
