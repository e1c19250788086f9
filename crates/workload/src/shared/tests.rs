use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use params::Bytes;

use super::*;
use crate::group::Place;
use crate::group::threads::run_in;
use crate::{PhaseReport, Silent};

const K: u64 = 1024;

fn spec(dir: &Path) -> SharedSpec {
    SharedSpec {
        ranks: 4,
        cold: false,
        ..SharedSpec::new(dir)
    }
}

fn files(dir: &Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, entry.metadata().unwrap().size())
        })
        .collect()
}

fn evidence<'a>(phase: &'a PhaseReport, name: &str) -> &'a crate::Evidence {
    phase.evidence.iter().find(|e| e.name == name).unwrap()
}

/// IOR -F -b 4m -t 256k -s 2 with 4 tasks.
#[test]
fn own_files_are_those_of_ior() {
    let dir = tempfile::tempdir().unwrap();
    let spec = SharedSpec {
        block: Bytes(4096 * K),
        segments: 2,
        keep: true,
        ..spec(dir.path())
    };
    let outcome = spec.run(&Silent).unwrap();
    let found = files(dir.path());
    assert_eq!(found.len(), 4);
    assert!(found.values().all(|size| *size == 8_388_608), "{found:?}");
    assert!(found.contains_key("testFile.00000003"));
    for phase in &outcome.phases {
        assert_eq!((phase.operations, phase.bytes), (128, 32 << 20));
        assert_eq!(phase.threads.len(), 4);
        assert!(phase.threads.iter().all(|rank| rank.operations == 32));
        let [seconds, first, last] =
            ["transfer_seconds", "first_done", "last_done"].map(|name| phase.figures[name]);
        assert!(first <= last && seconds <= phase.seconds);
    }
    let [write, read] = &outcome.phases[..] else {
        panic!("{outcome:?}")
    };
    assert!(write.bytes_per_s.original >= write.bytes_per_s.fsync);
    assert!(
        write.bytes_per_s.fsync >= write.bytes_per_s.syncfs && read.bytes_per_s.syncfs.is_none()
    );
    assert_eq!(
        write
            .latency
            .iter()
            .find(|l| l.operation == "write")
            .unwrap()
            .count,
        128
    );
    assert_eq!(
        read.latency
            .iter()
            .find(|l| l.operation == "read")
            .unwrap()
            .count,
        128
    );
    assert_eq!(evidence(read, "other_node_read").holds, None);
    assert_eq!(evidence(read, "clocks_agree").holds, Some(true));
}

/// IOR -b 1m -t 256k -s 2 with 4 tasks, and what it leaves without -k.
#[test]
fn one_file_is_that_of_ior_and_goes_again() {
    let dir = tempfile::tempdir().unwrap();
    let kept = SharedSpec {
        layout: Layout::Shared,
        segments: 2,
        keep: true,
        ..spec(dir.path())
    };
    kept.run(&Silent).unwrap();
    assert_eq!(
        files(dir.path()),
        [("testFile".to_owned(), 8_388_608)].into()
    );
    let gone = SharedSpec {
        keep: false,
        ..kept
    };
    gone.run(&Silent).unwrap();
    assert!(files(dir.path()).is_empty());
}

/// All ranks go on to the number of transfers of the fastest: bytes are N x P x transfer.
#[test]
fn a_stonewall_stops_and_wears_out() {
    let dir = tempfile::tempdir().unwrap();
    let stopped = SharedSpec {
        ranks: 2,
        segments: 4_000_000,
        transfer: Bytes(4 * K),
        block: Bytes(4 * K),
        stonewall: 0.1,
        test: Test::WriteRead,
        ..spec(dir.path())
    };
    let each = |outcome: &Outcome, phase: usize| -> Vec<u64> {
        let threads = outcome.phases[phase].threads.iter();
        threads.map(|rank| rank.operations).collect()
    };
    let outcome = stopped.run(&Silent).unwrap();
    let written = each(&outcome, 0);
    assert!(
        written.iter().all(|n| *n > 0 && *n < 4_000_000),
        "{written:?}"
    );
    assert_eq!(
        each(&outcome, 1),
        written,
        "each is read as far as it was written"
    );
    let worn = SharedSpec {
        wear_out: true,
        ..stopped
    };
    let outcome = worn.run(&Silent).unwrap();
    let written = each(&outcome, 0);
    assert_eq!(written[0], written[1]);
    assert_eq!(outcome.phases[0].bytes, 2 * written[0] * 4 * K);
    assert_eq!(each(&outcome, 1), written);
}

/// Two nodes of two ranks with a clock half a second ahead: the same figures within a millisecond of what one clock shows.
#[test]
fn nodes_read_each_others_data_and_a_shifted_clock_moves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let spec = SharedSpec {
        reorder: Reorder::Node,
        block: Bytes(8192 * K),
        ..spec(dir.path())
    };
    let places = ["a", "a", "b", "b"].map(|boot| Place {
        node: boot.into(),
        boot: boot.into(),
        ..Place::here()
    });
    let run = |ahead: Vec<u64>| {
        let outer = crate::clock::now_ns();
        let outcome = run_in(places.to_vec(), ahead, &Silent, &|group, observer| {
            run_rank(&spec, group, observer)
        });
        (
            outcome.unwrap(),
            crate::clock::seconds(outer, crate::clock::now_ns()),
        )
    };
    let (outcome, whole) = run(vec![0, 0, 500_000_000, 500_000_000]);
    for phase in &outcome.phases {
        assert!(phase.seconds < whole, "{} of {whole}", phase.seconds);
        // Ranks began together, whatever their clocks said.
        let spread = phase.figures["start_spread"];
        assert!(
            spread < 0.4 && phase.figures["open_seconds"] < 0.4,
            "{spread}"
        );
        let agree = evidence(phase, "clocks_agree");
        assert!(agree.detail.starts_with("compared within"), "{agree:?}");
    }
    let read = &outcome.phases[1];
    assert_eq!(evidence(read, "other_node_read").holds, Some(true));
    assert!(!read.evidence.iter().any(|e| e.name == "cold_cache"));
}

#[test]
fn node_order_is_refused_on_one_node_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let spec = SharedSpec {
        reorder: Reorder::Node,
        ..spec(dir.path())
    };
    let error = spec.run(&Silent).unwrap_err().to_string();
    assert!(error.contains("all ranks are on one node"), "{error}");
    assert!(files(dir.path()).is_empty());
}

#[test]
fn a_file_that_is_missing_or_short_fails_the_read_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let spec = SharedSpec {
        test: Test::Read,
        ..spec(dir.path())
    };
    let error = spec.run(&Silent).unwrap_err().to_string();
    assert!(
        error.contains("testFile.0000000") && error.contains("write it first"),
        "{error}"
    );
    for rank in 0..4 {
        std::fs::write(dir.path().join(format!("testFile.{rank:08}")), "short").unwrap();
    }
    let error = spec.run(&Silent).unwrap_err().to_string();
    assert!(error.contains("the file ends"), "{error}");
}
