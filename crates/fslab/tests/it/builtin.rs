//! The built-in studies with common options: little memory, a check, an existing folder. The sizes
//! are small: the tests look at the reports, not at the speed.

use crate::common;

use std::fs;
use std::process::Output;

use common::{
    Scratch, assert_fits_a_mail, assert_ran, is_root, run_in, stderr, stdout, whole_report,
};
use record::{Run, Status};

fn run(scratch: &Scratch, words: &str) -> Output {
    let mut all = vec!["run"];
    all.extend(words.split_whitespace());
    all.extend(["--profile", "quick", "--blocks", "1", "--out", "out"]);
    run_in(scratch.path(), &all)
}

/// The run; asserts that every trial finished.
fn whole(scratch: &Scratch, output: &Output) -> Run {
    let run = Run::load(&scratch.join("out")).unwrap();
    for trial in &run.trials {
        assert_eq!(trial.status, Status::Finished, "{}", stderr(output));
    }
    assert_fits_a_mail(&stdout(output));
    run
}

/// The whole report without its line breaks.
fn words(scratch: &Scratch) -> String {
    let text = whole_report(&scratch.join("out"));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// "Low memory hurts ext2's O_DIRECT random reads": the readers of 2009 asked for those rows.
#[test]
fn random_reads_of_journal_under_little_memory_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let output = run(
        &scratch,
        "journal --set memory=256m --set iozone.size=8m --set threads=1 --set run.reference_seconds=0 \
         --filter workload=iozone --filter filesystem=ext2,xfs",
    );
    assert_ran(&output);
    let run = whole(&scratch, &output);
    for trial in &run.trials {
        let phase = trial
            .phases
            .iter()
            .find(|p| p.name == "random_read")
            .unwrap();
        let memory = phase.memory.as_ref().unwrap();
        assert_eq!(memory.limit, Some(256 << 20));
        assert!(memory.peak.unwrap() <= 256 << 20);
        let rate = trial
            .samples
            .iter()
            .find(|s| (s.phase.as_str(), s.metric.as_str()) == ("random_read", "children"));
        assert!(rate.unwrap().value > 0.0);
    }
    let text = words(&scratch);
    assert!(text.contains("random_readers:"), "{text}");
    assert!(
        text.contains("memory limit 256 MiB for the trial"),
        "{text}"
    );
    scratch.assert_nothing_left();
}

#[test]
fn journal_is_checked_when_it_is_asked_for_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let output = run(
        &scratch,
        "journal --set check.enabled=true --set compilebench.scale=0.01 \
         --set run.reference_seconds=0 --filter workload=compilebench --filter filesystem=ext4,btrfs",
    );
    let run = whole(&scratch, &output);
    for trial in &run.trials {
        let check = trial
            .phases
            .iter()
            .find(|phase| phase.name == "check")
            .unwrap();
        assert!(check.usage.as_ref().unwrap().elapsed > 0.0);
        let named = |name: &str| trial.evidence.iter().find(|e| e.name == name);
        assert_eq!(named("passes_seen").unwrap().holds, Some(true));
        assert!(named("peak_memory").unwrap().detail.contains("KiB"));
    }
    for name in ["trial-0001.txt", "trial-0002.txt"] {
        assert!(scratch.join("out/checks").join(name).is_file());
    }
    scratch.assert_nothing_left();
}

/// What cannot be measured in a folder is reported, and the rest is measured.
#[test]
fn streams_and_fills_in_a_folder_say_what_is_left_out() {
    for (words_of, left_out) in [
        (
            "streaming --set aiod.count=4",
            "mount options, readahead, the check are left out",
        ),
        (
            "fsck-scale --set fill.total_files=300 --set aged.files=400 --set aged.step=1 --set aged.size=1k \
             --set memory=none",
            "device_size, the check are left out",
        ),
    ] {
        let scratch = Scratch::new();
        fs::create_dir(scratch.join("target")).unwrap();
        fs::write(scratch.join("target/precious"), "keep me").unwrap();
        // A share of the device is one of the study's, and here that is small.
        let size = "--set device_size=128m --dir target";
        let output = run(&scratch, &format!("{words_of} {size}"));
        let run = whole(&scratch, &output);
        assert_ran(&output);
        let text = words(&scratch);
        assert!(text.contains(left_out), "{text}");
        assert!(run.trials.iter().all(|trial| {
            !trial
                .phases
                .iter()
                .any(|phase| phase.name.starts_with("check"))
        }));
        let bytes = run.trials.iter().flat_map(|trial| &trial.samples);
        let asked = bytes.filter(|s| s.metric == "bytes").map(|s| s.value);
        assert!(asked.fold(0.0, f64::max) <= 128e6);
        let left: Vec<_> = fs::read_dir(scratch.join("target")).unwrap().collect();
        assert_eq!(left.len(), 1, "what was there before: {left:?}");
    }
}
