//! Journals and folders that an attacker wrote. What they ask for is not done, and the reason is given; what an honest
//! run made is undone all the same.

use crate::common;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use common::{kill, root, start, traces, v1, wait_until_prepared};
use rig::undo::{FILE, Journal, Step};
use rig::{Class, Cleaning, Error};

/// A user who is neither root nor the caller.
const STRANGER: u32 = 12345;
/// A process id that no journal here names: above the kernel's limit.
const NO_PROCESS: u32 = 4_194_305;

/// A folder with a canonical path.
struct Place {
    _temp: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap();
        Place { _temp: temp, path }
    }

    fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }
}

/// A journal of raw lines, as an attacker writes it: steps of a process that is over.
fn forge(run: &Path, steps: &[String]) {
    let mut text = String::from("{\"number\":0,\"made\":\"opened\",\"pid\":4194304}\n");
    for (number, step) in (1..).zip(steps) {
        writeln!(text, "{{\"number\":{number},{step}}}").unwrap();
    }
    fs::write(run.join(FILE), text).unwrap();
}

fn clean(run: &Path) -> Cleaning {
    rig::clean_up(run, false).unwrap()
}

/// Asserts that all of `steps` are refused, each with a line, and that nothing is undone.
fn assert_refused(run: &Path, steps: &[String]) -> Vec<String> {
    forge(run, steps);
    for dry_run in [true, false] {
        let cleaning = rig::clean_up(run, dry_run).unwrap();
        assert_eq!(cleaning.undone, Vec::new(), "{steps:?}");
        assert!(cleaning.failed.is_empty(), "{:?}", cleaning.failed);
    }
    let refused: Vec<String> = clean(run).refused.iter().map(ToString::to_string).collect();
    assert_eq!(refused.len(), steps.len(), "{refused:#?}");
    for line in &refused {
        assert!(line.contains("refused: ") && !line.contains('\n'), "{line}");
    }
    refused
}

fn run_program(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}");
}

#[test]
fn a_folder_or_journal_that_others_may_write_is_refused_needs_root() {
    type Spoil = fn(&Path);
    let Some(_alone) = root() else { return };
    let ways: [(&str, Spoil); 5] = [
        ("belongs to user 12345", |run| {
            chown(run, Some(STRANGER), None).unwrap();
        }),
        ("belongs to user 12345", |run| {
            chown(run.join(FILE), Some(STRANGER), None).unwrap();
        }),
        ("everyone may write it", |run| {
            fs::set_permissions(run, fs::Permissions::from_mode(0o757)).unwrap();
        }),
        ("its group may write it", |run| {
            fs::set_permissions(run, fs::Permissions::from_mode(0o775)).unwrap();
        }),
        ("everyone may write it", |run| {
            let mode = fs::Permissions::from_mode(0o666);
            fs::set_permissions(run.join(FILE), mode).unwrap();
        }),
    ];
    for (why, spoil) in ways {
        let run = Place::new();
        let image = run.join("image");
        fs::write(&image, "data").unwrap();
        forge(
            &run.path,
            &[format!("\"made\":\"image\",\"path\":{image:?}")],
        );
        spoil(&run.path);
        let error = rig::clean_up(&run.path, false).unwrap_err();
        assert_eq!(error.class(), Class::Safety);
        assert!(error.to_string().contains(why), "{error}");
        let error = Journal::open(&run.path).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(image.exists());
    }
}

#[test]
fn a_limit_step_writes_no_file_of_the_hosts_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    let victim = other.join("shadow");
    let named = other.join("blkio.throttle.read_bps_device");
    for file in [&victim, &named] {
        fs::write(file, "7:0 5\n").unwrap();
    }
    let mut steps = Vec::new();
    for (file, number, asked) in [
        (&victim, "root::0:0:::", 0),
        (&victim, "7:0", 0),
        (&named, "7:0", 0),
        (&named, "7:0", 5),
    ] {
        steps.push(format!(
            "\"made\":\"limit\",\"device\":\"/dev/loop0\",\"device_number\":{number:?},\
             \"settings\":[{{\"file\":{file:?},\"asked\":{asked},\"was\":9}}]"
        ));
    }
    assert_refused(&run.path, &steps);
    for file in [&victim, &named] {
        assert_eq!(fs::read_to_string(file).unwrap(), "7:0 5\n");
    }
}

#[test]
fn a_limit_of_another_runs_device_stays_needs_root() {
    let Some(_alone) = root() else { return };
    let Some(blkio) = v1("blkio") else { return };
    let (run, other) = (Place::new(), Place::new());
    let lo = Bound::new(&other);
    let rdev = fs::metadata(&lo.node).unwrap().rdev();
    let number = format!("{}:{}", rustix::fs::major(rdev), rustix::fs::minor(rdev));
    let file = blkio.join("blkio.throttle.read_bps_device");
    fs::write(&file, format!("{number} 1048576")).unwrap();
    let step = format!(
        "\"made\":\"limit\",\"device\":{:?},\"device_number\":{number:?},\
         \"settings\":[{{\"file\":{file:?},\"asked\":1048576,\"was\":0}}]",
        lo.node
    );
    forge(&run.path, &[step]);
    let cleaning = clean(&run.path);
    let set = common::throttles(&blkio, &lo.node);
    fs::write(&file, format!("{number} 0")).unwrap();
    assert_eq!(set, ["read_bps 1048576"]);
    assert!(cleaning.undone.is_empty() && cleaning.refused.len() == 1);
    assert!(cleaning.refused[0].to_string().contains("not this run's"));
}

#[test]
fn a_folder_step_removes_nothing_through_a_link_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    // Process 4194304 is the journal's own: the name alone is no reason.
    let real = other.join("home/fslab-4194304-1");
    fs::create_dir_all(&real).unwrap();
    fs::write(real.join("thesis"), "data").unwrap();
    symlink(&real, other.join("fslab-4194304-1")).unwrap();
    symlink(other.join("home"), other.join("parent")).unwrap();
    let step = |path: String| format!("\"made\":\"folder\",\"path\":{path:?}");
    let at = |name: &str| other.join(name).display().to_string();
    assert_refused(
        &run.path,
        &[
            step(at("fslab-4194304-1") + "/"),
            step(at("fslab-4194304-1")),
            step(at("parent/fslab-4194304-1")),
            step(at("home")),
            step(at("home/fslab-4194304-1/.")),
            step(at("home/../home/fslab-4194304-1")),
        ],
    );
    // A folder of that name that another process, or another user, made.
    let theirs = other.join(format!("fslab-{NO_PROCESS}-1"));
    let strangers = other.join("fslab-4194304-2");
    for folder in [&theirs, &strangers] {
        fs::create_dir(folder).unwrap();
    }
    chown(&strangers, Some(STRANGER), None).unwrap();
    let lines = assert_refused(
        &run.path,
        &[
            step(theirs.display().to_string()),
            step(strangers.display().to_string()),
        ],
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("did not use this journal"))
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("belongs to user 12345"))
    );
    assert!(theirs.exists() && strangers.exists());
    assert_eq!(fs::read_to_string(real.join("thesis")).unwrap(), "data");
    // The honest one is removed.
    forge(&run.path, &[step(real.display().to_string())]);
    assert_eq!(clean(&run.path).undone.len(), 1);
    assert!(!real.exists());
}

#[test]
fn a_mount_step_unmounts_nothing_of_others_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    let inside = run.join("mnt/1");
    fs::create_dir_all(&inside).unwrap();
    let points = [other.path.clone(), inside];
    for point in &points {
        run_program(
            "mount",
            &["-t", "tmpfs", "tmpfs", &point.display().to_string()],
        );
    }
    let steps: Vec<String> = (points.iter())
        .map(|point| format!("\"made\":\"mount\",\"device\":\"tmpfs\",\"point\":{point:?}"))
        .collect();
    forge(&run.path, &steps);
    let cleaning = clean(&run.path);
    let mounts = probe::mountinfo::own().unwrap();
    for point in &points {
        assert!(
            mounts.iter().any(|mount| mount.point == *point),
            "{point:?}"
        );
        run_program("umount", &[&point.display().to_string()]);
    }
    assert!(!cleaning.undone.iter().any(|undone| undone.what == "mount"));
    assert!(
        cleaning.refused[0]
            .to_string()
            .contains("outside of the run's folder")
    );
}

#[test]
fn a_stack_step_names_only_what_a_run_makes_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    let power = other.join("power");
    fs::write(&power, "1").unwrap();
    let folder = other.path.display().to_string();
    assert_refused(
        &run.path,
        &[
            format!("\"made\":\"null_blk\",\"name\":{folder:?}"),
            "\"made\":\"null_blk\",\"name\":\"../../../tmp\"".into(),
            "\"made\":\"mapped\",\"name\":\"vg-home\"".into(),
            "\"made\":\"mapped\",\"name\":\"--force\"".into(),
            format!("\"made\":\"mapped\",\"name\":\"fslab-{NO_PROCESS}-0-top\""),
            format!("\"made\":\"array\",\"device\":{folder:?},\"uuid\":\"1:2:3:4\""),
            "\"made\":\"array\",\"device\":\"/dev/md0\",\"uuid\":\"--help\"".into(),
            "\"made\":\"time_machine\",\"name\":\"x\"".into(),
        ],
    );
    assert_eq!(fs::read_to_string(power).unwrap(), "1");
}

/// A loop device on a file of some other folder.
struct Bound {
    node: PathBuf,
}

impl Bound {
    fn new(place: &Place) -> Bound {
        let image = place.join("disk.img");
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let out = Command::new("/usr/sbin/losetup")
            .args(["--find", "--show"])
            .arg(&image)
            .output()
            .unwrap();
        assert!(out.status.success());
        let node = String::from_utf8(out.stdout).unwrap().trim().into();
        Bound { node }
    }

    fn readahead(&self) -> String {
        let name = self.node.file_name().unwrap().to_str().unwrap();
        fs::read_to_string(format!("/sys/block/{name}/queue/read_ahead_kb")).unwrap()
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup")
            .arg("-d")
            .arg(&self.node)
            .status();
    }
}

#[test]
fn readahead_and_groups_of_others_stay_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    let lo = Bound::new(&other);
    let before = lo.readahead();
    let mut steps = vec![
        format!(
            "\"made\":\"readahead\",\"device\":{:?},\"sectors\":8",
            lo.node
        ),
        format!(
            "\"made\":\"readahead\",\"device\":{:?},\"sectors\":8,\"serial\":\"S1\"",
            lo.node
        ),
    ];
    let group = v1("memory").map(|memory| memory.join(format!("fslab-{NO_PROCESS}-1")));
    if let Some(group) = &group {
        fs::create_dir(group).unwrap();
        steps.push(format!("\"made\":\"group\",\"folder\":{group:?}"));
    }
    let folder = other.join("fslab-4194304-1");
    fs::create_dir(&folder).unwrap();
    steps.push(format!("\"made\":\"group\",\"folder\":{folder:?}"));
    forge(&run.path, &steps);
    let cleaning = clean(&run.path);
    let stays = group.as_ref().is_none_or(|group| group.is_dir());
    if let Some(group) = &group {
        fs::remove_dir(group).unwrap();
    }
    assert!(stays && folder.is_dir());
    assert_eq!(lo.readahead(), before);
    assert_eq!(cleaning.undone, Vec::new());
    assert_eq!(
        cleaning.refused.len(),
        steps.len(),
        "{:#?}",
        cleaning.refused
    );
}

#[test]
fn a_trace_step_switches_nothing_outside_of_sysfs_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    let enable = other.join("trace/enable");
    fs::create_dir(other.join("trace")).unwrap();
    fs::write(&enable, "1").unwrap();
    let changes = |devices: &str, relay: &str| {
        format!(
            "\"made\":\"trace\",\"changes\":{{\"devices\":[{devices}],\"buffer_kib\":8,\
             \"clock\":\"local\",\"on\":true,\"relay\":[{relay}]}}"
        )
    };
    let trace = other.join("trace").display().to_string();
    assert_refused(
        &run.path,
        &[
            changes(&format!("{trace:?}"), ""),
            changes("\"/sys/../etc/trace\"", ""),
            changes("", "[\"/dev/../etc/x\",\"sda\"]"),
            changes("", "[\"/dev/sda\",\"../x\"]"),
        ],
    );
    assert_eq!(fs::read_to_string(enable).unwrap(), "1");
}

#[test]
fn a_journal_that_is_no_file_ends_at_once_needs_root() {
    let Some(_alone) = root() else { return };
    for (program, arguments) in [
        ("mkfifo", &[][..]),
        ("mknod", &["c", "1", "5"]),
        ("mknod", &["c", "1", "9"]),
        ("mkdir", &[]),
        ("ln", &["-s", "/etc/passwd"]),
    ] {
        let run = Place::new();
        let journal = run.join(FILE).display().to_string();
        let mut words: Vec<&str> = arguments.to_vec();
        let at = if program == "ln" { words.len() } else { 0 };
        words.insert(at, &journal);
        run_program(program, &words);
        let begun = Instant::now();
        for dry_run in [true, false] {
            let error = rig::clean_up(&run.path, dry_run).unwrap_err();
            assert_eq!(error.class(), Class::Safety, "{error}");
        }
        let error = Journal::open(&run.path).unwrap_err();
        assert_eq!(error.class(), Class::Safety, "{error}");
        assert!(begun.elapsed() < testkit::HANGS, "{program}");
    }
}

#[test]
fn a_journal_without_end_is_refused_before_it_is_read() {
    let run = Place::new();
    let file = fs::File::create(run.join(FILE)).unwrap();
    for (bytes, why) in [(1 << 40, "MiB"), (1 << 20, "a line is longer than")] {
        file.set_len(bytes).unwrap();
        let error = rig::clean_up(&run.path, false).unwrap_err();
        assert!(matches!(error, Error::Untrusted { .. }), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
    let mut many = String::new();
    for number in 0..10_002 {
        writeln!(
            many,
            "{{\"number\":{number},\"made\":\"image\",\"path\":\"/x\"}}"
        )
        .unwrap();
    }
    fs::write(run.join(FILE), many).unwrap();
    let error = rig::clean_up(&run.path, false).unwrap_err().to_string();
    assert!(error.contains("steps are open"), "{error}");
}

#[test]
fn a_link_in_place_of_the_mount_points_is_refused_and_the_rest_undone_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    fs::create_dir(other.join("1")).unwrap();
    symlink(&other.path, run.join("mnt")).unwrap();
    let image = run.join("image");
    fs::write(&image, "").unwrap();
    let point = run.join("mnt/1");
    forge(
        &run.path,
        &[
            format!("\"made\":\"mount_point\",\"path\":{point:?}"),
            format!("\"made\":\"image\",\"path\":{image:?}"),
        ],
    );
    let cleaning = clean(&run.path);
    assert!(!image.exists() && other.join("1").is_dir());
    let line = cleaning.refused[0].to_string();
    assert!(
        line.contains("mnt: refused: it is a symbolic link"),
        "{line}"
    );
    // A new run does not work there either.
    let image = Step::Image { path: image };
    Journal::open(&run.path).unwrap().will_make(image).unwrap();
    assert!(rig::clean(&run.path, false).is_err());
}

#[test]
fn a_device_of_the_run_that_is_mounted_elsewhere_is_left_and_reported_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (Place::new(), Place::new());
    let mut child = start(&run.path, "ext4", &[]);
    wait_until_prepared(&mut child);
    kill(child);
    let shown = traces(&run.path);
    let lo = shown
        .iter()
        .find(|trace| trace.starts_with("loop"))
        .unwrap();
    let node = format!("/dev/{}", lo.split(' ').next().unwrap());
    run_program("mount", &[&node, &other.path.display().to_string()]);
    let cleaning = clean(&run.path);
    let mounted = probe::mountinfo::own().unwrap();
    assert!(mounted.iter().any(|mount| mount.point == other.path));
    let lines: Vec<String> = cleaning.failed.iter().map(ToString::to_string).collect();
    let named = format!("mounted on {}", other.path.display());
    assert!(lines.iter().any(|line| line.contains(&named)), "{lines:?}");
    run_program("umount", &[&other.path.display().to_string()]);
    assert!(clean(&run.path).failed.is_empty());
    assert_eq!(traces(&run.path), Vec::<String>::new());
}

#[test]
fn a_journal_that_can_only_be_read_is_obeyed_needs_root() {
    let Some(_alone) = root() else { return };
    let outer = Place::new();
    let image = outer.join("outer.img").display().to_string();
    let point = outer.join("outer");
    fs::create_dir(&point).unwrap();
    let shown = point.display().to_string();
    fs::File::create(&image)
        .unwrap()
        .set_len(256 << 20)
        .unwrap();
    run_program("mke2fs", &["-qF", "-t", "ext4", &image]);
    run_program("mount", &["-o", "loop", &image, &shown]);
    let run = point.join("run");
    fs::create_dir(&run).unwrap();
    let mut child = start(&run, "ext2", &[]);
    wait_until_prepared(&mut child);
    kill(child);
    run_program("sync", &["-f", &shown]);
    // As after an error of the disk: errors=remount-ro.
    run_program("mount", &["-o", "remount,abort", &shown]);
    let cleaning = clean(&run);
    assert_eq!(traces(&run), Vec::<String>::new());
    assert!(
        cleaning.notes[0].contains("can only be read"),
        "{:?}",
        cleaning.notes
    );
    let lines: Vec<String> = cleaning.failed.iter().map(ToString::to_string).collect();
    assert!(
        lines
            .iter()
            .all(|line| line.contains("Read-only file system") && line.contains("fslab clean")),
        "{lines:?}"
    );
    assert_eq!(rig::still_there(&run).unwrap(), Vec::<String>::new());
    run_program("umount", &[&shown]);
    // It is whole again: what is left goes.
    run_program("mount", &["-o", "loop", &image, &shown]);
    let cleaning = clean(&run);
    assert!(cleaning.failed.is_empty(), "{:?}", cleaning.failed);
    assert!(cleaning.undone.iter().any(|undone| undone.what == "image"));
    run_program("umount", &[&shown]);
}

#[test]
fn a_run_whose_folder_is_moved_while_it_lives_undoes_all_needs_root() {
    let Some(_alone) = root() else { return };
    let place = Place::new();
    let (run, moved) = (place.join("run"), place.join("moved"));
    fs::create_dir(&run).unwrap();
    let mut child = start(&run, "ext4", &[]);
    wait_until_prepared(&mut child);
    fs::rename(&run, &moved).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(traces(&moved), Vec::<String>::new());
    let left: Vec<_> = common::files(&moved);
    assert!(!left.iter().any(|file| file.contains(".img")), "{left:?}");
}
