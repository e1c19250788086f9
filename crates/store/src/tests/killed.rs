//! Imports that are killed with SIGKILL in another process, at moments over the whole of an import.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::runs::{self, Like};
use super::{Place, both, dump, dump_of};
use crate::location::Location;
use crate::store::Store;

both!(imports_that_are_killed_leave_nothing_of_themselves);

const STORE: &str = "FSLAB_TEST_STORE";
const RUN: &str = "FSLAB_TEST_RUN";

/// What the other process does.
#[test]
#[ignore = "not a test of its own: the tests here start it in another process and kill it"]
fn one_import() {
    let location: Location = std::env::var(STORE).unwrap().parse().unwrap();
    let mut store = Store::open(&location).unwrap();
    store
        .import(std::env::var_os(RUN).unwrap().as_ref())
        .unwrap();
}

fn start(place: &Place, run: &std::path::Path) -> Child {
    let store = match &place.location {
        Location::File(path) => path.to_str().unwrap(),
        Location::Server(url) => url,
    };
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "tests::killed::one_import"])
        .env(STORE, store)
        .env(RUN, run)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn imports_that_are_killed_leave_nothing_of_themselves(place: &Place) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("run");
    let lines = runs::lines(&runs::entries(&Like::number(1)));
    runs::put(&dir, &lines[..2].concat());
    let begin = Instant::now();
    assert!(start(place, &dir).wait().unwrap().success());
    let mut takes = begin.elapsed();
    let mut killed = 0;
    for n in 0..50 {
        runs::put(
            &dir,
            &lines[..2 + (lines.len() - 2) * (n + 1) / 50].concat(),
        );
        let end = takes.mul_f64((n * 37 % 50) as f64 / 40.0);
        let begin = Instant::now();
        let mut child = start(place, &dir);
        loop {
            if child.try_wait().unwrap().is_some() {
                takes = begin.elapsed();
                break;
            }
            if begin.elapsed() >= end {
                child.kill().unwrap();
                killed += u32::from(!child.wait().unwrap().success());
                break;
            }
            sleep(Duration::from_micros(300));
        }
    }
    assert!(
        killed >= 20,
        "only {killed} of 50 imports were killed before their end"
    );
    let mut store = place.open();
    store.import(&dir).unwrap();
    assert_eq!(dump(&mut store), dump_of(&dir));
}
