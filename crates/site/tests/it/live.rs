//! Progress of a run in a real browser, and the served pages in it.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use crate::browser::{Browser, assert_clean, of_each_kind};
use crate::common::{make, pages, run, runs};
use crate::security::{Served, get};

#[test]
fn served_pages_open_clean_needs_chromium() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let (runs, site) = (runs(), tempfile::tempdir().unwrap());
    make(runs.path(), site.path()).unwrap();
    let served = Served::start(runs.path());
    let paths = of_each_kind(pages(site.path()).into_keys());
    assert_clean(&mut browser, &served.base(), &paths);
}

#[test]
fn progress_reaches_the_page_within_two_seconds_needs_chromium() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let runs = tempfile::tempdir().unwrap();
    let simulated = run(1, 1000.0);
    let dir = runs.path().join("live");
    // The lock of a run that is being written.
    let folder = record::RunFolder::create(&dir).unwrap();
    let entries = simulated.entries();
    let lines: Vec<String> = entries
        .iter()
        .map(|entry| serde_json::to_string(entry).unwrap() + "\n")
        .collect();
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(dir.join("events.jsonl"))
        .unwrap();
    log.write_all(lines[..4].concat().as_bytes()).unwrap();
    let served = Served::start(runs.path());
    let index = get(&served, "/");
    let link = index
        .body
        .split("href=\"live/")
        .nth(1)
        .expect("a link to the progress");
    let path = format!("live/{}", link.split('"').next().unwrap());
    browser.open(&format!("{}{path}", served.base()), 390);
    let most = Duration::from_secs(10);
    browser.wait(
        "document.getElementById('live-link').textContent === 'connected'",
        most,
    );
    browser.wait(
        "document.getElementById('live-finished').textContent === '1'",
        most,
    );
    // Half a line is no event yet.
    let (half, rest) = lines[4].split_at(lines[4].len() / 2);
    log.write_all(half.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(600));
    let running = "document.getElementById('live-now').textContent.startsWith('trial 2')";
    assert_eq!(browser.value(running), false);
    log.write_all(rest.as_bytes()).unwrap();
    let took = browser.wait(running, Duration::from_secs(2));
    log.write_all(lines[5].as_bytes()).unwrap();
    let finished = "document.getElementById('live-finished').textContent === '2'";
    let then = browser.wait(finished, Duration::from_secs(2));
    println!("progress reached the page after {took:?} and {then:?}");
    log.write_all(lines[6..].concat().as_bytes()).unwrap();
    drop(folder);
    browser.wait(
        "!document.getElementById('live-report').hidden",
        Duration::from_secs(2),
    );
    let total = browser.value("document.getElementById('live-total').textContent");
    assert_eq!(total, "10");
    let report = format!("{}{}", served.base(), path.replace("live/", "run/"));
    browser.open(&report, 390);
    assert_eq!(
        browser
            .value("document.title.includes('run-1') || document.body.innerText.includes('run-1')"),
        true
    );
    assert_eq!(browser.complaints, Vec::<String>::new());
}
