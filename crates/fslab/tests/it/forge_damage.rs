//! `fslab forge damage`: what it damages, prints and refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn fslab(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fslab"))
        .args(words)
        .output()
        .unwrap()
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn image(folder: &Path) -> String {
    let path = folder.join("image").display().to_string();
    let words = ["-q", "-F", "-t", "ext4", "-b", "1024", &path, "16384"];
    assert!(
        Command::new("mke2fs")
            .args(words)
            .status()
            .unwrap()
            .success()
    );
    path
}

fn e2fsck(image: &str) -> Option<i32> {
    Command::new("e2fsck")
        .args(["-fn", image])
        .output()
        .unwrap()
        .status
        .code()
}

#[test]
fn a_case_and_random_damage_are_noticed_and_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path());
    assert_eq!(e2fsck(&path), Some(0));
    let done = fslab(&["forge", "damage", &path, "--case", "5-block-unused"]);
    assert_eq!(done.status.code(), Some(0), "{}", message(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        text,
        "5-block-unused (0x050004): a block without an owner is marked in use\n"
    );
    assert_eq!(e2fsck(&path), Some(4));

    let before = fs::read(&path).unwrap();
    let words = ["forge", "damage", &path, "--random", "3", "--seed", "5"];
    let done = fslab(&words);
    assert_eq!(done.status.code(), Some(0), "{}", message(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    let after = fs::read(&path).unwrap();
    assert!(before != after && before.len() == after.len());
    fs::write(&path, &before).unwrap();
    assert_eq!(
        String::from_utf8(fslab(&words).stdout).unwrap(),
        text,
        "the seed decides"
    );
    assert!(fs::read(&path).unwrap() == after);
}

#[test]
fn cases_are_listed_and_misspelt_ones_are_refused_before_anything_is_written() {
    let list = fslab(&["forge", "damage", "--list"]);
    let text = String::from_utf8(list.stdout).unwrap();
    assert!(text.lines().count() > 250);
    assert!(
        text.lines()
            .any(|line| line.starts_with("1-zero-dtime ") && line.contains("0x010004"))
    );

    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path());
    let before = fs::read(&path).unwrap();
    let words = [
        "forge",
        "damage",
        &path,
        "--case",
        "5-block-unused",
        "--case",
        "5-blok-unused",
    ];
    let refused = fslab(&words);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        message(&refused).contains("did you mean 5-block-unused?"),
        "{}",
        message(&refused)
    );
    assert!(fs::read(&path).unwrap() == before);
    let nothing = fslab(&["forge", "damage", &path]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(message(&nothing).contains("--case NAME"));
}

#[test]
fn devices_other_files_and_missing_structures_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path());
    let noise = folder.path().join("noise").display().to_string();
    fs::write(&noise, vec![7; 9000]).unwrap();
    for (words, code, part) in [
        (["/dev/null", "--random", "1"], 5, "not a regular file"),
        ([&noise, "--random", "1"], 1, "s_magic"),
        (
            [&path, "--case", "0-mmp-invalid-magic"],
            1,
            "no multiple mount protection",
        ),
        (["/nonexistent", "--random", "1"], 1, "No such file"),
    ] {
        let output = fslab(&[&["forge", "damage"], &words[..]].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?}: {}",
            message(&output)
        );
        let line = message(&output);
        assert!(
            line.contains(part) && line.trim_end().lines().count() == 1,
            "{line}"
        );
    }
}

#[test]
fn volumes_of_ocfs2_have_cases_of_their_own() {
    if Command::new("mkfs.ocfs2").arg("-V").output().is_err() {
        testkit::skip!("needs ocfs2-tools");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volume").display().to_string();
    let words = "--size 200M --files 300 --per-directory 20 --file-size 0 --local";
    let mut forge = vec!["forge", "ocfs2", &path];
    forge.extend(words.split(' '));
    assert_eq!(fslab(&forge).status.code(), Some(0));
    let done = fslab(&["forge", "damage", &path, "--case", "inode-count"]);
    assert_eq!(done.status.code(), Some(0), "{}", message(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        text,
        "inode-count (INODE_COUNT): a file has fewer names than links\n"
    );
    let checked = Command::new("fsck.ocfs2")
        .args(["-fn", &path])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    let problems: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(problems.len(), 1, "{text}");
    assert!(problems[0].starts_with("[INODE_COUNT]"), "{text}");
    for (words, part) in [
        (["--case", "inode-coumt"], "did you mean inode-count?"),
        (["--case", "dx-lookup-failed"], "no directory with an index"),
        (["--random", "1"], "--random is for ext2, ext3 and ext4"),
    ] {
        let refused = fslab(&[&["forge", "damage", &path], &words[..]].concat());
        assert_ne!(refused.status.code(), Some(0));
        assert!(message(&refused).contains(part), "{}", message(&refused));
    }
}

#[test]
fn filesystems_of_xfs_have_cases_of_their_own() {
    if Command::new("mkfs.xfs").arg("-V").output().is_err() {
        testkit::skip!("needs xfsprogs");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image").display().to_string();
    let words = "--size 300M --files 300 --per-directory 20";
    let mut forge = vec!["forge", "xfs", &path];
    forge.extend(words.split(' '));
    assert_eq!(fslab(&forge).status.code(), Some(0));
    let done = fslab(&["forge", "damage", &path, "--case", "xfs-agf-freeblks"]);
    assert_eq!(done.status.code(), Some(0), "{}", message(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(
        text,
        "xfs-agf-freeblks (XFS-AGF-FREEBLKS): an AGF counts one free block too many\n"
    );
    let checked = Command::new("xfs_repair")
        .args(["-n", "-f", &path])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{text}");
    assert!(text.contains("agf_freeblks"), "{text}");
    for (words, part) in [
        (
            ["--case", "xfs-agf-freeblk"],
            "did you mean xfs-agf-freeblks?",
        ),
        (["--case", "xfs-rmap-owner"], "no btree of that kind"),
        (["--random", "1"], "--random is for ext2, ext3 and ext4"),
    ] {
        let refused = fslab(&[&["forge", "damage", &path], &words[..]].concat());
        assert_ne!(refused.status.code(), Some(0));
        assert!(message(&refused).contains(part), "{}", message(&refused));
    }
}
