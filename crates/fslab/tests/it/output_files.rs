//! Files that a user names for a result: written whole or not at all, streams as streams.

use crate::common;

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{Scratch, assert_code, error_line, example_run, fslab, is_root, run_in, stderr};
use fixtures::block_trace::Forge;
use fixtures::simulated::{Normal, Simulated};

/// A command line without its `-o`. Beside it are the runs `example`, `one` and `two`, a store with it, and the trace `sda`.
const RESULTS: &[&str] = &[
    "report example",
    "report example --format html",
    "compare one two",
    "compare one two --plan",
    "export --store store.sqlite",
    "export --store store.sqlite --format jsonl",
    "trace report sda",
    "trace report sda --format blkparse",
];

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    example_run(&scratch);
    let import = ["import", "example", "--store", "store.sqlite"];
    assert_code(&run_in(scratch.path(), &import), 0);
    for (number, name) in [(1, "one"), (2, "two")] {
        let mut normal = Normal::new(number.into());
        let rates = vec![normal.rates(1000.0, 5, 0.005, 0.01)];
        Simulated::new(number, rates)
            .write(&scratch.join(name))
            .unwrap();
    }
    Forge::plain(1, 2000).write(scratch.path(), "sda").unwrap();
    scratch
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn printed(scratch: &Scratch, line: &str) -> Output {
    run_in(scratch.path(), &words(line))
}

/// The codes with which a result is printed: the example has a failed trial, and so has a comparison with it.
fn is_result(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 7))
}

#[test]
fn a_result_goes_to_a_file_a_pipe_and_stdout_alike() {
    let scratch = scratch();
    for line in RESULTS {
        let expected = printed(&scratch, line);
        assert!(is_result(&expected), "{line}: {}", stderr(&expected));
        fs::write(scratch.join("file"), "old").unwrap();
        let to_file = printed(&scratch, &format!("{line} -o file"));
        assert_eq!(
            to_file.status,
            expected.status,
            "{line}: {}",
            stderr(&to_file)
        );
        assert!(to_file.stdout.is_empty());
        let file = fs::read(scratch.join("file")).unwrap();
        assert!(
            file.trim_ascii_end() == expected.stdout.trim_ascii_end(),
            "{line}"
        );
        // stdout by its name: of a pipe, and of a file, which goes on where it was.
        let named = printed(&scratch, &format!("{line} -o /dev/stdout"));
        assert!(named.stdout == file, "{line}: {}", stderr(&named));
        let both = format!(
            "(echo head; exec {} {line} -o /dev/stdout) > both",
            env!("CARGO_BIN_EXE_fslab")
        );
        let status = Command::new("sh")
            .args(["-c", &both])
            .current_dir(scratch.path())
            .status();
        assert_eq!(status.unwrap(), expected.status, "{line}");
        let both = fs::read(scratch.join("both")).unwrap();
        assert!(both == [b"head\n", &*file].concat(), "{line}");
        // A FIFO that is read, and /dev/null.
        let fifo = scratch.join("fifo");
        let made = Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let theirs = fifo.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            fs::File::open(theirs)
                .unwrap()
                .read_to_end(&mut bytes)
                .unwrap();
            bytes
        });
        let mut to_fifo = fslab();
        to_fifo
            .current_dir(scratch.path())
            .args(words(line))
            .args(["-o", "fifo"]);
        // Until the thread reads.
        let to_fifo = std::iter::repeat_with(|| to_fifo.output().unwrap())
            .find(|output| !stderr(output).contains("that no program reads"))
            .unwrap();
        assert_eq!(
            to_fifo.status,
            expected.status,
            "{line}: {}",
            stderr(&to_fifo)
        );
        assert!(reader.join().unwrap() == file, "{line}");
        fs::remove_file(fifo).unwrap();
        let to_null = printed(&scratch, &format!("{line} -o /dev/null"));
        assert_eq!(
            to_null.status,
            expected.status,
            "{line}: {}",
            stderr(&to_null)
        );
    }
}

#[test]
fn a_terminal_is_written_to() {
    let scratch = scratch();
    // script(1) gives its program a terminal.
    let command = format!("{} report example -o /dev/tty", env!("CARGO_BIN_EXE_fslab"));
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        testkit::skip!("needs script(1)");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("What does a journal cost?"),
        "{text}"
    );
}

#[test]
fn what_is_read_and_what_is_no_file_is_refused() {
    let scratch = scratch();
    fs::create_dir(scratch.join("folder")).unwrap();
    let store = fs::read(scratch.join("store.sqlite")).unwrap();
    for (line, at, says) in [
        (
            "export --store store.sqlite",
            "store.sqlite",
            "is what is read",
        ),
        (
            "compare one two --store store.sqlite",
            "store.sqlite",
            "is what is read",
        ),
        ("trace report sda", "sda.blktrace.0", "is what is read"),
        ("report example", "folder", "directory"),
        ("report example", "/dev/zero", "a device"),
        ("report example", "example/events.jsonl", "belongs to a run"),
    ] {
        let output = printed(&scratch, &format!("{line} -o {at}"));
        assert_code(&output, 2);
        let error = error_line(&output);
        assert!(
            error.contains(says) && error.contains("another -o"),
            "{error}"
        );
    }
    assert!(fs::read(scratch.join("store.sqlite")).unwrap() == store);
}

#[test]
fn a_full_disk_leaves_the_old_file_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = scratch();
    // A filesystem of 64 KiB in a mount namespace of its own: the old file, and no room for another.
    let script = r#"
        mkdir full && mount -t tmpfs -o size=64k none full || exit 99
        echo old > full/out
        cp full/out before
        dd if=/dev/zero of=full/rest bs=4k 2> /dev/null
        "$@" -o full/out
        code=$?
        cmp full/out before || exit 98
        [ "$(ls full)" = "$(printf 'out\nrest')" ] || exit 97
        exit $code"#;
    for line in RESULTS {
        let output = Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_fslab")])
            .args(words(line))
            .current_dir(scratch.path())
            .output()
            .unwrap();
        assert_code(&output, 1);
        let error = error_line(&output);
        assert!(
            error.contains("No space left") && error.contains("full/out"),
            "{line}: {error}"
        );
        fs::remove_dir(scratch.join("full")).unwrap();
    }
}

#[test]
fn an_empty_selection_touches_nothing() {
    let scratch = scratch();
    fs::write(scratch.join("file"), "old").unwrap();
    for line in [
        "export kernel=none --store store.sqlite",
        "export kernel=none --store store.sqlite --format jsonl",
        "report example --filter filesystem=none",
        "compare run=none run=none --store store.sqlite",
        "compare one two --phase none",
        "trace report sda --processes none",
    ] {
        let output = printed(&scratch, &format!("{line} -o file"));
        assert_code(&output, 2);
        assert_eq!(
            fs::read_to_string(scratch.join("file")).unwrap(),
            "old",
            "{line}"
        );
        error_line(&output);
    }
    // Without a file too.
    let output = printed(&scratch, "export kernel=none --store store.sqlite");
    assert_code(&output, 2);
    assert!(output.stdout.is_empty());
    // A site of a folder without runs.
    fs::create_dir(scratch.join("empty")).unwrap();
    assert_code(&printed(&scratch, "site pages --from ."), 0);
    let pages = |dir: &Path| fs::read_dir(dir).unwrap().count();
    let before = pages(&scratch.join("pages/run"));
    assert!(before > 0);
    for dir in ["pages", "new"] {
        let output = printed(&scratch, &format!("site {dir} --from empty"));
        assert_code(&output, 2);
        assert!(
            error_line(&output).contains("empty: no run"),
            "{}",
            error_line(&output)
        );
    }
    assert_eq!(pages(&scratch.join("pages/run")), before);
    assert!(!scratch.join("new").exists());
}
