//! A folder of static pages: what is written, made again and removed, and what a kill leaves.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use progress::{Progress, Silent};
use site::{Build, Origin, build};

use crate::common::{TOOL, assert_linked, files, make, pages, run, runs};

/// Inode numbers by path: a file that was written again has another.
fn inodes(dir: &Path) -> Vec<(String, u64)> {
    let of = |path: &String| fs::metadata(dir.join(path)).unwrap().ino();
    let all = files(dir);
    all.keys().map(|path| (path.clone(), of(path))).collect()
}

#[test]
fn every_kind_of_run_has_its_page_and_all_links_lead_somewhere() {
    let (runs, temp) = (runs(), tempfile::tempdir().unwrap());
    let dir = temp.path().join("new/site");
    let built = make(runs.path(), &dir).unwrap();
    assert_eq!(built.runs, 27, "the copy is left out");
    assert_eq!(built.comparisons, 1);
    assert_linked(&dir);
    let index = &pages(&dir)["index.html"];
    for text in [
        "27 runs of a folder of runs, 25 whole, 1 incomplete, 1 damaged.",
        "1 folder has a copy of a run",
        "state-damaged",
        "6.13.0",
        "fedcba987654",
    ] {
        assert!(index.contains(text), "{text}");
    }
    let all = files(&dir);
    assert_eq!(
        built.files as usize + 2,
        all.len(),
        "and the manifest, and the lock"
    );
    let visible = all.iter().filter(|(path, _)| !path.starts_with('.'));
    let bytes: usize = visible.map(|(_, text)| text.len()).sum();
    assert_eq!(built.bytes as usize, bytes);
    let text: String = pages(&dir).into_values().collect();
    let here = runs.path().to_str().unwrap();
    assert!(!text.contains(here), "no path of this machine is on a page");
}

#[test]
fn what_did_not_change_is_not_written_again() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    let first = make(runs.path(), site.path()).unwrap();
    let before = inodes(site.path());
    let again = make(runs.path(), site.path()).unwrap();
    assert_eq!((again.written, again.removed), (0, 0));
    assert_eq!(
        (again.runs, again.files, again.bytes),
        (first.runs, first.files, first.bytes)
    );
    let after = inodes(site.path());
    let changed: Vec<_> = after
        .iter()
        .filter(|entry| !before.contains(entry))
        .collect();
    assert!(
        changed.iter().all(|(path, _)| path == ".fslab-site.json"),
        "{changed:?}"
    );

    run(30, 800.0).write(&runs.path().join("run-30")).unwrap();
    let more = make(runs.path(), site.path()).unwrap();
    assert_eq!(more.runs, first.runs + 1);
    let touched: Vec<String> = inodes(site.path())
        .into_iter()
        .filter(|entry| !after.contains(entry))
        .map(|(path, _)| path)
        .collect();
    let reports = touched.iter().filter(|path| path.starts_with("run/"));
    assert_eq!(
        reports.count(),
        1,
        "the new run's report alone: {touched:?}"
    );
    assert!(
        touched.iter().any(|path| path.starts_with("series/")),
        "{touched:?}"
    );
    assert!(
        touched.iter().any(|path| path.starts_with("compare/")),
        "{touched:?}"
    );
    assert_linked(site.path());
}

#[test]
fn a_site_made_in_steps_is_that_made_at_once() {
    let (runs, steps) = (runs(), tempfile::tempdir().unwrap());
    let late = tempfile::tempdir().unwrap();
    fs::rename(runs.path().join("run-9"), late.path().join("run-9")).unwrap();
    make(runs.path(), steps.path()).unwrap();
    fs::rename(late.path().join("run-9"), runs.path().join("run-9")).unwrap();
    make(runs.path(), steps.path()).unwrap();
    let once = tempfile::tempdir().unwrap();
    make(runs.path(), once.path()).unwrap();
    assert_eq!(pages(steps.path()), pages(once.path()));
}

#[test]
fn pages_of_runs_that_are_gone_are_removed_and_other_files_stay() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    fs::write(site.path().join("robots.txt"), "x").unwrap();
    fs::write(site.path().join("run/notes.html"), "x").unwrap();
    let old = "assets/page-0123456789abcdef.css";
    fs::write(site.path().join(old), "x").unwrap();
    fs::write(site.path().join(".fslab-site.new-7"), "torn").unwrap();
    for number in 13..=24 {
        fs::remove_dir_all(runs.path().join(format!("run-{number}"))).unwrap();
    }
    let built = make(runs.path(), site.path()).unwrap();
    assert_eq!((built.runs, built.comparisons), (15, 0));
    let left = files(site.path());
    assert!(left.contains_key("robots.txt") && left.contains_key("run/notes.html"));
    assert!(!left.contains_key(old) && !left.contains_key(".fslab-site.new-7"));
    fs::remove_file(site.path().join("robots.txt")).unwrap();
    fs::remove_file(site.path().join("run/notes.html")).unwrap();
    assert_linked(site.path());
}

#[test]
fn a_page_that_someone_removed_is_made_again() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let before = files(site.path());
    let page = before.keys().find(|path| path.starts_with("run/")).unwrap();
    fs::remove_file(site.path().join(page)).unwrap();
    assert_eq!(make(runs.path(), site.path()).unwrap().written, 1);
    fs::write(site.path().join(".fslab-site.json"), "{\"runs\": 7}").unwrap();
    make(runs.path(), site.path()).unwrap();
    assert_eq!(
        pages(site.path()).len(),
        before
            .keys()
            .filter(|path| crate::common::is_page(path))
            .count()
    );
}

#[test]
fn a_folder_with_something_else_is_refused_and_stays_as_it_is() {
    let (runs, temp) = (runs(), tempfile::tempdir().unwrap());
    fs::write(temp.path().join("thesis.tex"), "x").unwrap();
    let error = make(runs.path(), temp.path()).unwrap_err();
    assert!(error.is_usage(), "{error}");
    assert!(error.to_string().contains("no site of fslab"), "{error}");
    assert_eq!(files(temp.path()).len(), 1);
    let error = make(runs.path(), &temp.path().join("thesis.tex")).unwrap_err();
    assert!(error.is_usage(), "{error}");
}

#[test]
fn a_link_in_the_site_is_not_followed() {
    let (runs, temp) = (runs(), tempfile::tempdir().unwrap());
    let (site, other) = (temp.path().join("site"), temp.path().join("other"));
    fs::create_dir(&other).unwrap();
    make(runs.path(), &site).unwrap();
    fs::remove_dir_all(site.join("run")).unwrap();
    std::os::unix::fs::symlink(&other, site.join("run")).unwrap();
    let error = make(runs.path(), &site).unwrap_err().to_string();
    assert!(error.contains("is no folder"), "{error}");
    assert!(files(&other).is_empty());
}

/// Asks to stop after some pages.
struct Impatient(std::sync::atomic::AtomicI64);

impl Progress for Impatient {
    fn advance(&self, _amount: u64) {
        self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed) < 2
    }

    fn inner(&self) -> &dyn Progress {
        &Silent
    }
}

#[test]
fn an_interrupted_build_leaves_a_whole_site_and_keeps_what_it_made() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    for number in 31..=36 {
        run(number, 800.0)
            .write(&runs.path().join(format!("run-{number}")))
            .unwrap();
    }
    let error = build(&Build {
        dir: site.path(),
        origin: &Origin::Folder(runs.path().to_owned()),
        comparisons: &[],
        tool: TOOL,
        // Reading takes 34, then some pages are made.
        progress: &Impatient(42.into()),
    })
    .unwrap_err();
    assert!(matches!(error, site::Error::Interrupted), "{error}");
    assert_sound(site.path());
    make(runs.path(), site.path()).unwrap();
    assert_linked(site.path());
}

/// Every page is whole, and its links lead somewhere.
fn assert_sound(dir: &Path) {
    let all = files(dir);
    for (path, text) in pages(dir) {
        assert!(
            text.ends_with("</html>\n") || text.ends_with("</html>"),
            "{path} is torn"
        );
        for link in crate::common::links(&text) {
            let to = crate::common::resolved(&path, &link);
            assert!(all.contains_key(&to), "{path}: {link} leads nowhere");
        }
    }
}

/// The child of the test below: builds in the folders that the environment names, else nothing.
#[test]
fn child_that_is_killed() {
    let of = |name| std::env::var_os(name);
    let (Some(runs), Some(site)) = (of("FSLAB_TEST_RUNS"), of("FSLAB_TEST_SITE")) else {
        return;
    };
    make(Path::new(&runs), Path::new(&site)).unwrap();
}

#[test]
fn a_killed_build_leaves_the_site_whole() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let mut killed = 0;
    for round in 0..12_u32 {
        // Other names of files: everything is made again.
        for number in 1..=14 {
            let level = 1000.0 - f64::from(round);
            run(number, level)
                .write(&runs.path().join(format!("run-{number}")))
                .unwrap();
        }
        let gone = runs.path().join(format!("run-{}", round % 14 + 1));
        fs::remove_dir_all(gone).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "folder::child_that_is_killed"])
            .env("FSLAB_TEST_RUNS", runs.path())
            .env("FSLAB_TEST_SITE", site.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(u64::from(15 * round)));
        // It may have ended already.
        let _ = child.kill();
        killed += u32::from(child.wait().unwrap().signal() == Some(9));
        assert_sound(site.path());
    }
    assert!(killed >= 3, "{killed} builds were killed before they ended");
    make(runs.path(), site.path()).unwrap();
    assert_linked(site.path());
    let once = tempfile::tempdir().unwrap();
    make(runs.path(), once.path()).unwrap();
    assert_eq!(pages(site.path()), pages(once.path()));
}

#[test]
fn two_builds_of_one_site_do_not_meet() {
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let lock = fs::File::open(site.path().join(".fslab-site.lock")).unwrap();
    lock.lock().unwrap();
    let error = make(runs.path(), site.path()).unwrap_err().to_string();
    assert!(error.contains("another process"), "{error}");
    drop(lock);
    make(runs.path(), site.path()).unwrap();
}

#[test]
fn a_folder_without_runs_removes_no_page_of_a_site() {
    let (with, without) = (runs(), tempfile::tempdir().unwrap());
    let site = tempfile::tempdir().unwrap();
    make(with.path(), site.path()).unwrap();
    let before = files(site.path());
    let error = make(without.path(), site.path()).unwrap_err();
    assert!(
        error.is_usage() && error.to_string().contains("no run is in it"),
        "{error}"
    );
    assert_eq!(files(site.path()), before);
    let new = without.path().join("new");
    make(without.path(), &new).unwrap_err();
    assert!(!new.exists());
    let error = make(&with.path().join("none"), site.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("none"), "{error}");
}
