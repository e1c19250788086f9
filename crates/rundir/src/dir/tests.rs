//! Folders that are swapped, and links in the way of what is written.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A folder `run`, and a folder `other` that must stay empty.
fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let (run, other) = (temp.path().join("run"), temp.path().join("other"));
    fs::create_dir(&run).unwrap();
    fs::create_dir(&other).unwrap();
    (temp, run, other)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_link_is_read_and_never_obeyed() {
    let (temp, run, _) = folders();
    let link = temp.path().join("link");
    symlink(&run, &link).unwrap();
    assert_eq!(RunDir::open(&link).unwrap().path(), run);
    RunDir::open_as(&link, Authority::Reads).unwrap();
    for authority in [Authority::Obeys, Authority::ObeysAll] {
        for end in ["", "/", "/."] {
            let named = PathBuf::from(format!("{}{end}", link.display()));
            let error = RunDir::open_as(&named, authority).unwrap_err();
            assert!(
                error.is_refusal() && error.to_string().contains("readlink -f"),
                "{error}"
            );
        }
        let named = PathBuf::from(format!("{}/", run.display()));
        assert_eq!(RunDir::open_as(&named, authority).unwrap().path(), run);
    }
    symlink(&run, run.join("inner")).unwrap();
    RunDir::open_as(&run, Authority::Obeys).unwrap();
    RunDir::open_as(&run, Authority::ObeysAll).unwrap_err();
}

/// Between the opening and the look at the path, another folder takes the place.
#[test]
fn a_folder_that_is_replaced_while_it_is_opened_is_refused() {
    let (temp, run, _) = folders();
    let fd: OwnedFd = File::open(&run).unwrap().into();
    fs::remove_dir(&run).unwrap();
    fs::create_dir(&run).unwrap();
    let error = RunDir::of(fd, &run).unwrap_err();
    assert!(error.is_refusal(), "{error}");
    let fd: OwnedFd = File::open(&run).unwrap().into();
    fs::rename(&run, temp.path().join("moved")).unwrap();
    // The kernel knows where it went.
    let moved = RunDir::of(fd, &run).unwrap();
    assert_eq!(moved.path(), temp.path().join("moved"));
}

#[test]
fn what_is_written_goes_to_the_opened_folder_wherever_it_is_now() {
    let (temp, run, other) = folders();
    let dir = RunDir::open(&run).unwrap();
    fs::rename(&run, temp.path().join("moved")).unwrap();
    symlink(&other, &run).unwrap();
    dir.replace("a/b/file", b"text").unwrap();
    dir.replace("a/b/file", b"new text").unwrap();
    dir.create("a/empty").unwrap();
    assert!(dir.make_folder("a/c").unwrap());
    assert!(!dir.make_folder("a/c").unwrap());
    fs::write(dir.reach().join("a/c/by-path"), "text").unwrap();
    dir.rename("a/c", "d").unwrap();
    let moved = temp.path().join("moved");
    assert_eq!(
        fs::read_to_string(moved.join("a/b/file")).unwrap(),
        "new text"
    );
    assert_eq!(names(&moved.join("a")), ["b", "empty"]);
    assert_eq!(names(&moved.join("a/b")), ["file"]);
    assert_eq!(names(&moved.join("d")), ["by-path"]);
    dir.remove("a/empty").unwrap();
    dir.remove("a/empty").unwrap();
    dir.remove_tree("a").unwrap();
    dir.remove_tree("a").unwrap();
    assert_eq!(names(&moved), ["d"]);
    assert_eq!(names(&other), [""; 0]);
}

#[test]
fn no_link_is_written_through_or_removed_through() {
    let (_temp, run, other) = folders();
    let dir = RunDir::open(&run).unwrap();
    fs::write(other.join("kept"), "text").unwrap();
    symlink(&other, run.join("link")).unwrap();
    symlink(other.join("kept"), run.join("file")).unwrap();
    let refused = |answer: Result<()>| assert!(answer.unwrap_err().is_refusal());
    refused(dir.replace("link/new", b""));
    refused(dir.make_folder("link/new").map(drop));
    refused(dir.make_folder("link").map(drop));
    refused(dir.create("file").map(drop));
    refused(dir.remove("link/kept"));
    refused(dir.remove_tree("link/kept"));
    refused(dir.rename("link/kept", "here"));
    refused(dir.below("link").map(drop));
    // A link in the place of a file is replaced, not followed.
    dir.replace("file", b"mine").unwrap();
    // The tree that is removed is what the link was in, not what it led to.
    dir.make_folder("tree").unwrap();
    symlink(&other, run.join("tree/link")).unwrap();
    dir.remove_tree("tree").unwrap();
    assert_eq!(names(&other), ["kept"]);
    assert_eq!(fs::read_to_string(other.join("kept")).unwrap(), "text");
}

#[test]
fn a_write_that_fails_leaves_the_old_file() {
    let (_temp, run, _) = folders();
    let dir = RunDir::open(&run).unwrap();
    dir.replace("file", b"old").unwrap();
    let failed = |_: &mut File| Err(Error::refused(&run, "no", "no"));
    dir.replace_with("file", failed).unwrap_err();
    assert_eq!(names(&run), ["file"]);
    assert_eq!(fs::read_to_string(run.join("file")).unwrap(), "old");
}
