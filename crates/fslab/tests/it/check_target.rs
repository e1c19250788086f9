//! `fslab check` of things that are no ext filesystem, and of a part of a disk; its exit where output
//! or threads are not available.

use crate::common;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{Scratch, assert_code, error_line, fslab, run_in, stderr, stdout};

fn check(scratch: &Scratch, args: &[&str]) -> Output {
    let mut all = vec!["check"];
    all.extend(args);
    run_in(scratch.path(), &all)
}

/// A sparse file of this size.
fn sparse(scratch: &Scratch, name: &str, size: u64) -> PathBuf {
    let path = scratch.join(name);
    File::create(&path).unwrap().set_len(size).unwrap();
    path
}

/// Runs a program on files of the scratch folder; prints a line and returns false if it is not installed.
fn ran(scratch: &Scratch, program: &str, args: &[&str]) -> bool {
    let found = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        .map(|folder| Path::new(folder).join(program))
        .into_iter()
        .find(|path| path.is_file());
    let Some(found) = found else {
        testkit::skip!("needs {program}");
        return false;
    };
    let output = Command::new(found)
        .args(args)
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {}", stderr(&output));
    true
}

fn ext4(scratch: &Scratch, name: &str, size: u64) {
    sparse(scratch, name, size);
    assert!(ran(scratch, "mkfs.ext4", &["-qF", name]));
}

#[test]
fn what_cannot_hold_a_filesystem_is_refused_at_once() {
    let scratch = Scratch::new();
    let made = Command::new("mkfifo").arg(scratch.join("fifo")).status();
    assert!(made.unwrap().success());
    let _socket = UnixListener::bind(scratch.join("socket")).unwrap();
    for (name, what) in [
        ("fifo", "is a pipe"),
        ("/dev/zero", "is a character device"),
        ("/dev/urandom", "is a character device"),
        (".", "is a directory"),
        // open(2) of a socket fails anyway.
        ("socket", "socket"),
    ] {
        for io in ["auto", "buffered", "direct", "mmap"] {
            let output = check(&scratch, &[name, "--io", io]);
            assert_code(&output, 8);
            let line = error_line(&output);
            assert!(line.contains(what), "{name}: {line}");
            assert!(output.stdout.is_empty());
        }
        // Nor does it block as a journal.
        if name != "fifo" {
            ext4(&scratch, "disk.img", 16 << 20);
        }
        let output = check(&scratch, &["disk.img", "-j", name]);
        assert_code(&output, 8);
    }
}

#[test]
fn other_filesystems_are_named_with_the_program_that_checks_them() {
    let scratch = Scratch::new();
    let cases: &[(&str, &[&str], &str, &str)] = &[
        (
            "mkfs.btrfs",
            &["-qf", "x.img"],
            "a btrfs filesystem",
            "btrfs check --readonly x.img",
        ),
        (
            "mkfs.f2fs",
            &["-qf", "x.img"],
            "an f2fs filesystem",
            "fsck.f2fs --dry-run x.img",
        ),
        (
            "mkswap",
            &["-L", "spare", "x.img"],
            "swap space",
            "no filesystem (400 MiB, label \"spare\", UUID ",
        ),
    ];
    for (program, args, what, next) in cases {
        sparse(&scratch, "x.img", 400 << 20);
        if !ran(&scratch, program, args) {
            continue;
        }
        for more in [&[][..], &["--verdict", "strict"], &["--format", "e2fsck"]] {
            let mut args = vec!["x.img"];
            args.extend(more);
            let output = check(&scratch, &args);
            assert_code(&output, 8);
            let line = error_line(&output);
            assert!(
                line.contains(&format!("x.img: is {what}; ")) && line.contains(next),
                "{line}"
            );
            assert!(output.stdout.is_empty(), "{}", stdout(&output));
        }
        let output = check(
            &scratch,
            &["x.img", "--format", "json", "--verdict", "strict"],
        );
        assert_code(&output, 8);
        let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(document["content"], *what);
        assert_eq!(document["schema"], "fslab-check-1");
        assert_eq!(document["findings"], serde_json::json!([]));
        assert_eq!(document["verdict"]["exit_code"], 8);
        assert_eq!(document["verdicts"]["strict"]["exit_code"], 8);
        assert_eq!(document["subject"]["bytes"], 400 << 20);
    }
}

/// A loop device, detached at the end.
struct Attached(String);

impl Attached {
    fn new(scratch: &Scratch, name: &str) -> Attached {
        let output = Command::new("/usr/sbin/losetup")
            .args(["--find", "--show", name])
            .current_dir(scratch.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        Attached(stdout(&output).trim().to_owned())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup")
            .args(["-d", &self.0])
            .status();
    }
}

#[test]
fn an_external_journal_is_found_by_its_uuid_or_by_j_needs_root() {
    let scratch = Scratch::new();
    sparse(&scratch, "journal", 4 << 20);
    sparse(&scratch, "disk.img", 16 << 20);
    let journal = ["-qF", "-b", "1024", "-O", "journal_dev", "journal"];
    assert!(ran(&scratch, "mke2fs", &journal));
    let device = Attached::new(&scratch, "journal");
    let place = format!("device={}", device.0);
    let disk = ["-qF", "-t", "ext4", "-b", "1024", "-J", &place, "disk.img"];
    assert!(ran(&scratch, "mke2fs", &disk));
    let reference = |args: &[&str]| {
        let mut command = Command::new("/usr/sbin/e2fsck");
        let output = command.args(["-fn", "disk.img"]).args(args);
        let output = output.current_dir(scratch.path()).output().unwrap();
        output.status.code().unwrap()
    };
    assert_eq!(reference(&[]), 0, "e2fsck finds the device");
    assert_code(&check(&scratch, &["disk.img"]), 0);
    let line = error_line(&check(&scratch, &[&device.0]));
    assert!(
        line.contains("is an external journal of ext3 or ext4"),
        "{line}"
    );
    drop(device);
    let alone = check(&scratch, &["disk.img", "--brief"]);
    assert_code(&alone, reference(&[]));
    assert!(stdout(&alone).contains("-j"), "{}", stdout(&alone));
    assert_code(
        &check(&scratch, &["disk.img", "-j", "journal"]),
        reference(&["-j", "journal"]),
    );
    let line = error_line(&check(&scratch, &["journal"]));
    assert!(line.contains("fslab check FILESYSTEM -j journal"), "{line}");
}

#[test]
fn what_has_a_name_is_not_called_a_failing_device() {
    let scratch = Scratch::new();
    let sparse_header = [0x3A, 0xFF, 0x26, 0xED, 1, 0, 0, 0, 28, 0, 12, 0];
    let files: [(&str, &[u8], &str); 6] = [
        (
            "android",
            &sparse_header,
            "is an Android sparse image; unpack it first: simg2img android IMAGE",
        ),
        (
            "qed",
            b"QED\0",
            "is a QED image; convert it first: qemu-img convert -O raw qed IMAGE",
        ),
        (
            "ewf",
            b"EVF\x09\x0D\x0A\xFF\0",
            "is an Expert Witness (EWF) image; mount it as a raw image: ewfmount ewf",
        ),
        (
            "partclone",
            b"partclone-image",
            "is a partclone image; restore it first: partclone.restore",
        ),
        (
            "trace",
            b"  8,0    1        1     0.000000000  4162  Q  WS 2048 + 8 [dd]\n",
            "is text of blkparse; ",
        ),
        (
            "notes",
            b"some\nlines of text\n",
            "is text; give the image or the device",
        ),
    ];
    for (name, bytes, message) in files {
        let mut whole = bytes.to_vec();
        if !message.contains("text") {
            whole.resize(100_000, 0);
        }
        fs::write(scratch.join(name), whole).unwrap();
        let output = check(&scratch, &[name]);
        assert_code(&output, 8);
        let line = error_line(&output);
        assert!(line.contains(message), "{line}");
        assert!(!stderr(&output).contains("ddrescue") && output.stdout.is_empty());
    }
}

#[test]
fn files_that_hold_no_filesystem_are_named() {
    let scratch = Scratch::new();
    sparse(&scratch, "empty", 0);
    sparse(&scratch, "zeros", 3 << 20);
    ext4(&scratch, "disk.img", 16 << 20);
    assert!(ran(&scratch, "gzip", &["-k", "disk.img"]));
    fs::write(scratch.join("q.img"), b"QFI\xfb\0\0\0\x03 and more").unwrap();
    for (name, message) in [
        ("empty", "empty: is empty; it has 0 bytes"),
        ("zeros", "zeros: is all zeros; "),
        (
            "disk.img.gz",
            "disk.img.gz: is a gzip file; unpack it first: gzip -dc disk.img.gz",
        ),
        (
            "q.img",
            "q.img: is a QCOW2 image; convert it first: qemu-img convert -O raw q.img",
        ),
    ] {
        let output = check(&scratch, &[name]);
        assert_code(&output, 8);
        let line = error_line(&output);
        assert!(line.contains(message), "{line}");
        let output = check(&scratch, &[name, "--format", "json"]);
        assert_code(&output, 8);
        assert!(!stdout(&output).contains("0_SB_CORRUPT"));
    }
    // With --superblock the target is assumed to be an ext filesystem.
    let output = check(&scratch, &["zeros", "-b", "8193", "-B", "1024"]);
    assert!(stdout(&output).contains("verdict"), "{}", stdout(&output));
}

#[test]
fn a_partition_is_checked_where_its_table_says_that_it_begins() {
    let scratch = Scratch::new();
    ext4(&scratch, "part.img", 32 << 20);
    let part = fs::read(scratch.join("part.img")).unwrap();
    for label in ["gpt", "dos"] {
        let disk = sparse(&scratch, "disk.img", 80 << 20);
        let Ok(mut sfdisk) = Command::new("/usr/sbin/sfdisk")
            .args(["-q"])
            .arg(&disk)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
        else {
            testkit::skip!("needs sfdisk");
            return;
        };
        let script = format!("label: {label}\nstart=2048,size=65536,type=L\n");
        let mut input = sfdisk.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        drop(input);
        assert!(sfdisk.wait().unwrap().success());
        let file = File::options().write(true).open(&disk).unwrap();
        file.write_all_at(&part, 1 << 20).unwrap();
        drop(file);

        let output = check(&scratch, &["disk.img"]);
        assert_code(&output, 8);
        let line = error_line(&output);
        assert!(
            line.contains("partition table; the first Linux partition begins at 1 MiB")
                && line.contains("--offset 1MiB"),
            "{line}"
        );
        for io in ["auto", "buffered", "direct", "mmap"] {
            let output = check(&scratch, &["disk.img", "--offset", "1MiB", "--io", io]);
            assert_code(&output, 0);
        }
        let whole = check(&scratch, &["part.img", "--format", "json"]);
        let slice = check(
            &scratch,
            &["disk.img", "--offset", "1048576", "--format", "json"],
        );
        let read = |output: &Output| -> serde_json::Value {
            serde_json::from_str(&stdout(output)).unwrap()
        };
        assert_eq!(
            read(&whole)["subject"]["uuid"],
            read(&slice)["subject"]["uuid"]
        );
        assert_eq!(read(&whole)["inventory"], read(&slice)["inventory"]);
        let past = check(&scratch, &["disk.img", "--offset", "80m"]);
        assert_code(&past, 8);
        assert!(
            error_line(&past).contains("past its end"),
            "{}",
            error_line(&past)
        );
    }
}

#[test]
fn a_truncated_image_says_so_in_its_first_line() {
    let scratch = Scratch::new();
    ext4(&scratch, "disk.img", 2 << 30);
    let file = File::options().write(true).open(scratch.join("disk.img"));
    file.unwrap().set_len(300 << 20).unwrap();
    let output = check(&scratch, &["disk.img"]);
    let text = stdout(&output);
    let first = text.lines().next().unwrap();
    assert!(first.contains("it ends at 300"), "{first}");
    assert!(first.contains("of 2"), "{first}");
}

#[test]
fn the_options_of_e2fsck_are_taken_or_answered() {
    let scratch = Scratch::new();
    ext4(&scratch, "disk.img", 16 << 20);
    for options in ["-n", "-f", "-fn", "-nf"] {
        assert_code(&check(&scratch, &[options, "disk.img"]), 0);
    }
    for option in ["-p", "-y", "-a", "-fy"] {
        let output = check(&scratch, &[option, "disk.img"]);
        assert_code(&output, 16);
        let line = error_line(&output);
        assert!(
            line.contains("never writes") && line.contains("e2fsck -"),
            "{line}"
        );
    }
}

#[test]
fn a_full_stdout_is_an_operational_error() {
    let scratch = Scratch::new();
    ext4(&scratch, "disk.img", 16 << 20);
    for args in [
        &["disk.img"][..],
        &["disk.img", "--format", "json"],
        &["--help"],
    ] {
        let output = fslab()
            .current_dir(scratch.path())
            .arg("check")
            .args(args)
            .stdout(File::options().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap();
        assert_code(&output, 8);
        assert!(error_line(&output).contains("No space left"));
    }
}

#[test]
fn where_no_thread_can_be_made_it_is_checked_all_the_same() {
    let scratch = Scratch::new();
    ext4(&scratch, "disk.img", 64 << 20);
    // How much the program maps for itself depends on how it was built: from a limit at which it does not even start,
    // through one at which no stack of a thread fits, to one at which all do.
    let mut clean = 0;
    for step in 0..60_u32 {
        let kib = 20_000 + step * 4_000;
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -v {kib}; exec \"$@\""), "sh"])
            .arg(env!("CARGO_BIN_EXE_fslab"))
            .args(["check", "disk.img", "--threads", "16"])
            .current_dir(scratch.path())
            .output()
            .unwrap();
        assert!(
            !stderr(&output).contains("panicked"),
            "{kib} KiB: {}",
            stderr(&output)
        );
        clean += u32::from(output.status.code() == Some(0));
    }
    assert!(
        clean > 0,
        "no limit was large enough: the test shows nothing"
    );
}

#[test]
fn long_values_are_quoted_in_part() {
    let scratch = Scratch::new();
    let long = "x".repeat(100_000);
    let spaced = "x \u{1b}[31m".repeat(12_000);
    for value in [&long, &spaced] {
        for (args, code) in [
            (&["check", value][..], 8),
            (&["check", "x", "--threads", value], 16),
            (&["run", value], 2),
            (&["run", "journal", "--set", value], 2),
            (&["run", "journal", "--profile", value], 2),
            (&["report", value], 2),
            (&["forge", "ext4", "image", "--size", value], 2),
            (&[value], 2),
        ] {
            let output = run_in(scratch.path(), args);
            assert_code(&output, code);
            let line = error_line(&output);
            assert!(line.len() < 1500, "{:?}: {} bytes", &args[..1], line.len());
            assert!(!line.contains('\u{1b}'));
        }
    }
}

#[test]
fn a_run_whose_events_lose_their_reader_goes_on_and_ends_with_141() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    fs::create_dir(scratch.join("target")).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args(["--dir", "target", "--out", "out", "--blocks", "1"])
        .args(["--set", "iozone.direct=false", "--format", "jsonl"])
        .stdout(std::os::fd::OwnedFd::from(writer))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_code(&output, 141);
    // Notes on a busy machine may be there.
    let text = stderr(&output);
    for word in ["pipe", "stdout", "EPIPE", "cannot"] {
        assert!(
            !text.contains(word),
            "a reader that has enough is no error: {text}"
        );
    }
    assert!(
        scratch.join("out/report.txt").is_file(),
        "the run went on to its end"
    );
    let whole = run_in(scratch.path(), &["resume", "out", "--format", "jsonl"]);
    assert_code(&whole, 0);
}
