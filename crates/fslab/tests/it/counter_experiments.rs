//! The causes that `fslab explain` names, turned on and off on real filesystems.
//!
//! A rule that holds names its counter-experiment. These tests run them: a study in which the cause differs must be
//! explained by it, and the same study without the cause must lose the difference, or most of it.

use crate::common;

use std::fs;
use std::path::Path;

use common::{Scratch, assert_code, can_limit, run_in};
use explain::{Confidence, Explained, Explanation, Options, Verdict};
use record::Run;

/// A study of one streamed file on ext4 that initialises nothing lazily.
fn study(name: &str, device: &str, factors: &str, workload: &str) -> String {
    format!(
        r#"
name = "{name}"
title = "A counter-experiment"
question = "Is the named cause the cause?"

[filesystem.ext4]
kind = "ext4"
mkfs = ["-E", "lazy_itable_init=0,lazy_journal_init=0"]

[run]
blocks = 4
seed = 11
reference_seconds = 0

[device]
size = "128m"
{device}

[factors]
filesystem = ["ext4"]
{factors}

[[workload]]
name = "aiod"
kind = "stream"
{workload}
"#
    )
}

/// Runs a study and explains it.
fn explained(scratch: &Scratch, name: &str, text: &str) -> Explained {
    fs::write(scratch.join(&format!("{name}.toml")), text).unwrap();
    let file = format!("{name}.toml");
    let output = run_in(scratch.path(), &["run", &file, "--out", name]);
    assert_code(&output, 0);
    let dir = scratch.join(name);
    let run = Run::load(&dir).unwrap();
    explain::explain(&run, Some(Path::new(&dir)), &Options::default()).unwrap()
}

/// The difference of a phase under a clock, where there is one.
fn of<'e>(explained: &'e Explained, phase: &str, clock: study::Clock) -> Option<&'e Explanation> {
    explained
        .explanations
        .iter()
        .find(|e| e.difference.phase == phase && e.difference.clock == clock)
}

fn confidence(explanation: &Explanation, rule: &str) -> Option<Confidence> {
    let mut holds = explanation.holds();
    holds
        .find(|finding| finding.rule == rule)?
        .judgement
        .confidence()
}

fn is_denied(explanation: &Explanation, rule: &str) -> bool {
    let mut findings = explanation.findings.iter();
    findings.any(|f| f.rule == rule && f.judgement.verdict == Verdict::Denied)
}

/// 4 KiB of readahead against 2 MiB where each read counts: the rule holds. With large windows in both
/// cells, which the device then reads as fast, the difference disappears.
#[test]
fn readahead_is_the_cause_of_slow_reads_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let workload = "block = \"4k\"\ncount = 2048";
    let limit = "limit = \"read=16m,read_iops=1000\"";
    let on = study("on", limit, "readahead = [8, 4096]", workload);
    let found = explained(&scratch, "on", &on);
    let read = of(&found, "read", study::Clock::Original).expect("reads differ");
    assert_eq!(read.difference.base.level, "8");
    assert_eq!(read.difference.slower, explain::Slower::Base);
    assert!(read.difference.times > 2.0, "{}", read.difference.times);
    let sure = confidence(read, "readahead_too_small");
    assert!(sure >= Some(Confidence::Medium), "{read:#?}");
    assert!(confidence(read, "small_requests").is_some(), "{read:#?}");
    assert!(is_denied(read, "cache_served"), "{read:#?}");
    assert!(is_denied(read, "lazy_init_running"), "{read:#?}");

    // The counter-experiment that the rule names: the larger window for all.
    let off = on.replace("[8, 4096]", "[4096, 8192]");
    let lifted = explained(&scratch, "off", &off);
    let times = read.difference.times;
    if let Some(read) = of(&lifted, "read", study::Clock::Original) {
        assert!(read.difference.times < times.sqrt(), "{read:#?}");
        assert_eq!(confidence(read, "small_requests"), None, "{read:#?}");
    }
    scratch.assert_nothing_left();
}

/// A limit is reached, and lifting it for both takes the difference away.
#[test]
fn a_limit_is_the_cause_until_it_is_lifted_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let workload = "block = \"1m\"\ncount = 32\nflush = \"fsync\"";
    let on = study("on", "", "limit = [\"none\", \"24m\"]", workload);
    let found = explained(&scratch, "on", &on);
    for phase in ["write", "read"] {
        let slower = of(&found, phase, study::Clock::Original).expect("a limit shows");
        assert_eq!(slower.difference.other.level, "24m");
        assert!(slower.difference.times > 2.0, "{}", slower.difference.times);
        let sure = confidence(slower, "device_limited");
        assert!(sure >= Some(Confidence::Medium), "{phase}: {slower:#?}");
        assert!(is_denied(slower, "small_requests"), "{phase}: {slower:#?}");
    }
    let off = on.replace(
        "limit = [\"none\", \"24m\"]",
        "limit = [\"400m\", \"800m\"]",
    );
    let lifted = explained(&scratch, "off", &off);
    let times = |found: &Explained| {
        let read = of(found, "read", study::Clock::Original);
        read.map_or(1.0, |read| read.difference.times)
    };
    assert!(
        times(&lifted) < 0.5 * times(&found),
        "{} {}",
        times(&lifted),
        times(&found)
    );
    scratch.assert_nothing_left();
}

/// O_SYNC writes of 4 KiB against 256 KiB at 500 writes a second.
#[test]
fn small_synchronous_writes_are_small_requests_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let workload = "count = 100\ntest = \"write\"\nwrite_through = \"sync\"\n\
                    [workload.factors]\nblock = [\"256k\", \"4k\"]";
    let limit = "limit = \"write_iops=500\"";
    let text = study("sync", limit, "", workload);
    let found = explained(&scratch, "sync", &text);
    let write = of(&found, "write", study::Clock::Original).expect("sizes show");
    assert_eq!(write.difference.other.level, "4k");
    let sure = confidence(write, "small_requests");
    assert!(sure >= Some(Confidence::Medium), "{write:#?}");
    scratch.assert_nothing_left();
}

/// data=journal writes everything twice. Held to a rate of bytes, twice the bytes are twice the time; its
/// small requests, which the device moves as fast, are denied.
#[test]
fn a_journal_of_data_doubles_the_bytes_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let workload = "block = \"1m\"\ncount = 32\ntest = \"write\"\nflush = \"fsync\"";
    let limit = "limit = \"24m\"";
    let on = study("on", limit, "mount = [\"\", \"data=journal\"]", workload);
    let found = explained(&scratch, "on", &on);
    let write = of(&found, "write", study::Clock::Original).expect("the journal shows");
    assert_eq!(write.difference.other.level, "data=journal");
    assert!(write.difference.times > 1.5, "{}", write.difference.times);
    assert!(confidence(write, "journal_share").is_some(), "{write:#?}");
    assert_eq!(
        confidence(write, "device_limited"),
        Some(Confidence::High),
        "{write:#?}"
    );
    assert!(is_denied(write, "small_requests"), "{write:#?}");

    // data=writeback journals metadata alone, as data=ordered does.
    let off = on.replace("data=journal", "data=writeback");
    let found = explained(&scratch, "off", &off);
    if let Some(write) = of(&found, "write", study::Clock::Original) {
        assert!(write.difference.times < 1.3, "{write:#?}");
        assert_eq!(confidence(write, "journal_share"), None, "{write:#?}");
    }
    scratch.assert_nothing_left();
}

/// A write that ends in memory at (a) against one that flushes inside (a): at (c) both are alike.
#[test]
fn a_write_that_ends_in_memory_was_served_by_the_cache_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let workload = "block = \"1m\"\ncount = 32\ntest = \"write\"\n\
                    [workload.factors]\nflush = [\"none\", \"fsync\"]";
    let text = study("cache", "limit = \"24m\"", "", workload);
    let found = explained(&scratch, "cache", &text);
    let write = of(&found, "write", study::Clock::Original).expect("(a) differs");
    assert_eq!(write.difference.other.level, "fsync");
    let sure = confidence(write, "cache_served");
    assert!(sure >= Some(Confidence::Medium), "{write:#?}");
    let late = of(&found, "write", study::Clock::Syncfs);
    assert!(
        late.is_none_or(|late| late.difference.times < write.difference.times.sqrt()),
        "{late:#?}"
    );
    scratch.assert_nothing_left();
}

/// Tables that mkfs left to the kernel: fslab waits for them, and its proof denies the rule.
#[test]
fn a_wait_for_lazy_initialisation_denies_it_needs_root() {
    if !can_limit() {
        return;
    }
    let scratch = Scratch::new();
    let workload = "block = \"1m\"\ncount = 16\ntest = \"write\"\nflush = \"fsync\"";
    let text = study(
        "lazy",
        "limit = \"24m\"",
        "mount = [\"\", \"data=journal\"]",
        workload,
    )
    .replace("blocks = 4", "blocks = 3")
    .replace(
        "lazy_itable_init=0,lazy_journal_init=0",
        "lazy_itable_init=1",
    );
    let found = explained(&scratch, "lazy", &text);
    let write = of(&found, "write", study::Clock::Original).expect("the journal shows");
    assert!(is_denied(write, "lazy_init_running"), "{write:#?}");
    let run = Run::load(&scratch.join("lazy")).unwrap();
    let waited = run
        .trials
        .iter()
        .flat_map(|trial| &trial.evidence)
        .filter(|found| found.name == "lazy_init_finished");
    assert!(waited.clone().count() == 6, "{waited:?}");
    assert!(
        waited.clone().all(|found| found.holds == Some(true)),
        "{:?}",
        waited.collect::<Vec<_>>()
    );
    scratch.assert_nothing_left();
}
