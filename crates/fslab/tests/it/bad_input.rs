//! Bad input: one clear line, the documented exit code, nothing lost, nothing left.

use crate::common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Scratch, assert_code, error_line, example_run, is_root, run_in, stderr, stdout};

fn run_tiny(scratch: &Scratch, study: &Path, more: &[&str]) -> std::process::Output {
    let study = study.to_string_lossy();
    let mut args = vec!["run", &study, "--out", "out"];
    args.extend(more);
    run_in(scratch.path(), &args)
}

/// Runs the study in a mount namespace of its own, which `script` prepares before `exec "$@"`.
fn run_unshared(scratch: &Scratch, script: &str, study: &Path, out: &str) -> std::process::Output {
    Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .args([env!("CARGO_BIN_EXE_fslab"), "run"])
        .arg(study)
        .args(["--out", out])
        .current_dir(scratch.path())
        .output()
        .unwrap()
}

#[test]
fn an_unknown_key_is_named_with_file_line_and_path() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "\n[profile.quick.run]\nblokcs = 3\n");
    let output = run_tiny(&scratch, &study, &[]);
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(line.contains("tiny.toml:"), "{line}");
    assert!(line.contains("blokcs") && line.contains("blocks"), "{line}");
    assert!(!scratch.join("out").exists());
}

#[test]
fn zero_threads_is_not_a_thread_count() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let output = run_tiny(&scratch, &study, &["--set", "iozone.threads=0"]);
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("1..=1024"),
        "{}",
        error_line(&output)
    );
    assert!(!scratch.join("out").exists());
}

#[test]
fn a_working_set_larger_than_the_disk_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let output = run_tiny(&scratch, &study, &["--set", "iozone.size=4g"]);
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(line.contains("size"), "{line}");
    assert!(!scratch.join("out").exists());
}

#[test]
fn an_existing_run_folder_is_not_touched() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    fs::create_dir(scratch.join("out")).unwrap();
    fs::write(scratch.join("out/precious"), "keep me").unwrap();
    fs::create_dir(scratch.join("target")).unwrap();
    let output = run_tiny(&scratch, &study, &["--dir", "target"]);
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("out"),
        "{}",
        error_line(&output)
    );
    assert_eq!(
        fs::read_to_string(scratch.join("out/precious")).unwrap(),
        "keep me"
    );
    assert_eq!(fs::read_dir(scratch.join("out")).unwrap().count(), 1);
}

#[test]
fn a_read_only_output_folder_is_named_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let out = scratch.join("frozen");
    fs::create_dir(&out).unwrap();
    let script = r#"mount -t tmpfs -o ro none frozen && exec "$@""#;
    let output = run_unshared(&scratch, script, &study, "frozen/run");
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("frozen") && line.to_lowercase().contains("read-only"),
        "{line}"
    );
    scratch.assert_nothing_left();
}

#[test]
fn a_missing_mkfs_names_its_package_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4", "xfs"], "");
    // In a mount namespace of its own, mkfs.xfs is /dev/null: not a program.
    let script = r#"for p in /usr/sbin/mkfs.xfs /sbin/mkfs.xfs; do mount --bind /dev/null $p; done; exec "$@""#;
    let output = run_unshared(&scratch, script, &study, "out");
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("mkfs.xfs") && line.contains("xfsprogs"),
        "{line}"
    );
    assert!(line.contains("--filter filesystem=ext4"), "{line}");
    assert!(!scratch.join("out").exists());
}

#[test]
fn a_variant_that_the_kernel_refuses_ends_a_run_at_once_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let extra = "\n[filesystem.ext4-odd]\nkind = \"ext4\"\nmount = [\"no_such_option\"]\n";
    let study = scratch.tiny_study(&["ext4", "ext4-odd"], extra);
    let output = run_tiny(&scratch, &study, &["--set", "iozone.threads=1"]);
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("filesystem=ext4-odd") && line.contains("no_such_option"),
        "{line}"
    );
    assert!(!scratch.join("out").exists(), "nothing was measured");
    scratch.assert_nothing_left();
}

#[test]
fn a_full_disk_in_mid_trial_fails_it_and_keeps_the_others_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    // 4 KiB records of direct I/O: slow enough that another process can fill the disk during the run.
    let more = [
        "--set",
        "iozone.size=48m",
        "--set",
        "iozone.record=4k",
        "--set",
        "threads=1",
    ];
    let child = common::fslab()
        .current_dir(scratch.path())
        .arg("run")
        .arg(&study)
        .args(["--out", "out"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mount = common::wait_for_mount(&scratch);
    common::wait_until("the first file", || mount.join("iozone.DUMMY.0").exists());
    common::fill_up(&mount.join("filler"));
    let output = child.wait_with_output().unwrap();
    assert_code(&output, 7);
    let run = record::Run::load(&scratch.join("out")).unwrap();
    let record::Status::Failed(_, message) = &run.trials[0].status else {
        panic!("the filled trial is {:?}", run.trials[0].status);
    };
    assert!(message.contains("no space left"), "{message}");
    assert_eq!(
        run.trials[1].status,
        record::Status::Finished,
        "the next block is measured"
    );
    let report = stdout(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(report.contains("no space left"), "the report says why");
    scratch.assert_nothing_left();
}

#[test]
fn a_readahead_that_the_device_does_not_take_ends_a_run_at_once_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let study = study.to_string_lossy();
    let mut words = vec!["run", &study, "--out", "out", "--blocks", "1"];
    words.extend(["--set", "readahead=[256, 257]", "--set", "threads=1"]);
    let output = run_in(scratch.path(), &words);
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("readahead=257")
            && line.contains("asked for 257 sectors of 512 bytes: got 256")
            && line.contains("a multiple of 8"),
        "{line}"
    );
    assert!(!scratch.join("out").exists(), "nothing was measured");
    scratch.assert_nothing_left();
}

/// An option that the kernel refuses ends the run before its first trial, also as one level of several; the same
/// folder can then be used.
#[test]
fn a_mount_option_that_the_kernel_refuses_ends_a_run_at_once_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let study = study.to_string_lossy();
    let words = |mount: &'static str| {
        let mut words = vec!["run", &study, "--out", "out", "--blocks", "3"];
        words.extend(["--set", mount, "--set", "threads=1"]);
        run_in(scratch.path(), &words)
    };
    let output = words("factors.mount=['noatime', 'no_such_option']");
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("filesystem=ext4 mount=no_such_option")
            && line.contains("option no_such_option")
            && line.contains("the kernel refused it"),
        "{line}"
    );
    assert!(!scratch.join("out").exists(), "nothing was measured");
    scratch.assert_nothing_left();
    let output = words("factors.mount=['noatime', 'nodelalloc']");
    assert!(
        matches!(output.status.code(), Some(0 | 7)),
        "{}",
        stderr(&output)
    );
    let run = record::Run::load(&scratch.join("out")).unwrap();
    let measured = run.plan.measured.as_ref().unwrap();
    assert_eq!(measured.variants.len(), 2, "{measured:?}");
    assert!(measured.variants.iter().all(|costs| costs.mkfs > 0.0));
    scratch.assert_nothing_left();
}

#[test]
fn a_device_in_use_is_refused_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let disk = Mounted::new(&scratch);
    let output = run_tiny(
        &scratch,
        &study,
        &["--device", &disk.node, "--destroy", "no-such-serial"],
    );
    assert_code(&output, 5);
    let line = error_line(&output);
    assert!(
        line.contains(&disk.node) && line.contains("mounted"),
        "{line}"
    );
    assert!(
        !scratch.join("out").exists(),
        "a refused device leaves no run folder"
    );
    assert_eq!(
        fs::read_to_string(disk.folder.join("precious")).unwrap(),
        "keep me"
    );
}

#[test]
fn a_device_without_its_serial_is_a_usage_error() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let output = run_tiny(&scratch, &study, &["--device", "/dev/sdz"]);
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("--destroy"),
        "{}",
        error_line(&output)
    );
}

#[test]
fn a_torn_log_is_read_to_its_last_whole_line() {
    let scratch = Scratch::new();
    let dir = common::example_run(&scratch);
    let log = fs::read(dir.join("events.jsonl")).unwrap();
    fs::write(dir.join("events.jsonl"), &log[..log.len() - 40]).unwrap();
    let output = run_in(scratch.path(), &["show", "example"]);
    assert_code(&output, 0);
    assert!(stdout(&output).contains("torn"), "{}", stdout(&output));
}

#[test]
fn a_log_damaged_in_its_middle_is_refused_with_its_line() {
    let scratch = Scratch::new();
    let dir = common::example_run(&scratch);
    let mut log = fs::read_to_string(dir.join("events.jsonl")).unwrap();
    let second = log.find('\n').unwrap() + 1;
    log.replace_range(second..second + 5, "#####");
    fs::write(dir.join("events.jsonl"), log).unwrap();
    for command in ["show", "report", "resume"] {
        let output = run_in(scratch.path(), &[command, "example"]);
        assert_code(&output, 1);
        assert!(
            error_line(&output).contains("events.jsonl:2"),
            "{}",
            error_line(&output)
        );
    }
}

/// A loop device with a mounted ext4 that holds a file.
struct Mounted {
    node: String,
    folder: std::path::PathBuf,
}

impl Mounted {
    fn new(scratch: &Scratch) -> Mounted {
        let image = scratch.join("disk.img");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let out = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&image)
            .output()
            .unwrap();
        let node = String::from_utf8(out.stdout).unwrap().trim().to_owned();
        assert!(
            node.starts_with("/dev/loop"),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        let folder = scratch.join("in-use");
        fs::create_dir(&folder).unwrap();
        let made = Mounted { node, folder };
        assert!(
            Command::new("mkfs.ext4")
                .args(["-q", &made.node])
                .status()
                .unwrap()
                .success()
        );
        let mount = Command::new("mount")
            .arg(&made.node)
            .arg(&made.folder)
            .status()
            .unwrap();
        assert!(mount.success());
        fs::write(made.folder.join("precious"), "keep me").unwrap();
        made
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
        let _ = Command::new("losetup").args(["-d", &self.node]).status();
    }
}

#[test]
fn an_mkfs_option_that_names_another_device_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    fs::write(scratch.join("precious.img"), "keep me").unwrap();
    for (kind, words) in [
        ("btrfs", r#"["/dev/nosuch"]"#),
        ("btrfs", r#"["-f", "precious.img"]"#),
        ("xfs", r#"["-l", "logdev=/dev/nosuch,size=64m"]"#),
        ("ext4", r#"["-J", "device=LABEL=x"]"#),
    ] {
        let extra = format!("\n[filesystem.odd]\nkind = \"{kind}\"\nmkfs = {words}\n");
        let study = scratch.tiny_study(&["odd"], &extra);
        for command in ["run", "plan"] {
            let output = run_in(scratch.path(), &[command, &study.to_string_lossy()]);
            assert_code(&output, 2);
            let line = error_line(&output);
            assert!(line.contains("only the target may be written"), "{line}");
        }
    }
    assert_eq!(
        fs::read_to_string(scratch.join("precious.img")).unwrap(),
        "keep me"
    );
    assert!(!scratch.join("fslab-runs").exists());
}

#[test]
fn a_report_is_not_written_over_the_run() {
    let scratch = Scratch::new();
    let dir = common::example_run(&scratch);
    let log = fs::read(dir.join("events.jsonl")).unwrap();
    std::os::unix::fs::symlink("example/events.jsonl", scratch.join("link")).unwrap();
    for target in [
        "example/events.jsonl",
        "example/index.sqlite",
        "link",
        "no-such-folder/x",
    ] {
        let output = run_in(scratch.path(), &["report", "example", "-o", target]);
        assert_code(&output, 2);
        assert!(
            error_line(&output).contains("another -o"),
            "{}",
            error_line(&output)
        );
    }
    assert_eq!(fs::read(dir.join("events.jsonl")).unwrap(), log);
    let output = run_in(
        scratch.path(),
        &["report", "example", "-o", "example/report.txt"],
    );
    assert_code(&output, 0);
}

#[test]
fn a_plan_for_a_disk_asks_the_gate() {
    let scratch = Scratch::new();
    let study = scratch.tiny_study(&["ext4"], "");
    let study = study.to_string_lossy();
    let words = [
        "plan",
        &study,
        "--device",
        "/dev/no-such-disk",
        "--destroy",
        "x",
    ];
    let output = run_in(scratch.path(), &words);
    assert_code(&output, 5);
    assert!(output.stdout.is_empty());
}

#[test]
fn options_that_a_table_of_samples_cannot_honour_are_refused() {
    let scratch = Scratch::new();
    let run = example_run(&scratch);
    let run = run.to_str().unwrap();
    for (option, value) in [
        ("--row", "filesystem"),
        ("--col", "phase"),
        ("--base", "xfs"),
    ] {
        let args = ["report", run, "--format", "csv", option, value];
        let output = run_in(scratch.path(), &args);
        assert_code(&output, 2);
        let line = error_line(&output);
        assert!(line.contains(option), "{line}");
        assert!(line.contains("--format summary-csv"), "{line}");
        assert_eq!(stdout(&output), "");
    }
    let args = ["report", run, "--format", "summary-csv", "--row", "phase"];
    let output = run_in(scratch.path(), &args);
    assert_code(&output, 0);
    assert!(stdout(&output).starts_with("run,"), "{}", stdout(&output));
}
