//! Windows of traces made by hand and forged.

use super::*;
use crate::file::Event;
use crate::record::{Action, Category, Head};

const W: u32 = Category::Write as u32;

fn head(action: Action, time: u64, sector: u64, sectors: u32) -> Head {
    Head {
        time,
        sector,
        bytes: sectors << 9,
        action: action as u32 | W,
        pid: 7,
        ..Head::default()
    }
}

fn watch(windows: &[Window], places: &Places, heads: &[Head]) -> Vec<Figures> {
    let mut watch = Watch::new(windows, places);
    for head in heads {
        watch.event(&Event {
            head: *head,
            pdu: &[],
        });
    }
    watch.tallies.iter().map(Tally::figures).collect()
}

fn window(begin_ns: u64, end_ns: u64) -> Window {
    Window { begin_ns, end_ns }
}

#[test]
fn a_request_of_two_bios_by_hand() {
    use Action::{BackMerge, Complete, Issue, Queue};
    let heads = [
        head(Queue, 1000, 0, 8),
        head(Queue, 1100, 8, 8),
        head(BackMerge, 1110, 8, 8),
        head(Issue, 2000, 0, 16),
        head(Complete, 4000, 0, 16),
        head(Queue, 4100, 100, 4),
        head(Issue, 4200, 100, 4),
        head(Complete, 4700, 100, 4),
    ];
    let windows = [window(1000, 5000), window(0, 3000), window(9000, 9999)];
    let all = watch(&windows, &Places::default(), &heads);
    let whole = &all[0];
    assert_eq!(whole["trace_events"], 8.0);
    assert_eq!((whole["trace_bios"], whole["trace_requests"]), (3.0, 2.0));
    assert_eq!(whole["trace_request_mean"], 10.0 * 512.0);
    assert_eq!(
        (whole["trace_merges"], whole["trace_merge_ratio"]),
        (1.0, 1.5)
    );
    // From sector 16, where the first request ended, to 100.
    assert_eq!(whole["trace_seek_mean"], 84.0 * 512.0);
    assert_eq!(whole["trace_sequential"], 0.0);
    let q2c = (3000.0 + 2900.0 + 600.0) / 3.0 / 1e9;
    assert!((whole["trace_q2c_mean"] - q2c).abs() < 1e-15);
    assert!((whole["trace_d2c_mean"] - 1250e-9).abs() < 1e-15);
    assert_eq!(whole["trace_busy"], 2500.0 / 4000.0);
    assert_eq!(whole["trace_depth"], 2500.0 / 4000.0);
    assert_eq!(whole["trace_data_bytes"], 20.0 * 512.0);
    // The completion is after the second window, the flight half in it.
    let early = &all[1];
    assert_eq!((early["trace_bios"], early["trace_requests"]), (2.0, 1.0));
    assert!(!early.contains_key("trace_q2c_mean"));
    assert!(!early.contains_key("trace_seek_mean"));
    assert_eq!(early["trace_busy"], 1000.0 / 3000.0);
    let nothing = &all[2];
    assert_eq!((nothing["trace_events"], nothing["trace_busy"]), (0.0, 0.0));
    assert!(!nothing.contains_key("trace_bio_mean"));
}

#[test]
fn a_bio_that_was_split_ends_with_its_last_part() {
    use Action::{Complete, Issue, Queue};
    let heads = [
        head(Queue, 0, 0, 16),
        head(Issue, 10, 0, 8),
        head(Issue, 20, 8, 8),
        head(Complete, 100, 8, 8),
        head(Complete, 300, 0, 4),
        head(Complete, 500, 4, 4),
    ];
    let all = watch(&[window(0, 1000)], &Places::default(), &heads);
    assert_eq!(all[0]["trace_sequential"], 1.0);
    assert!((all[0]["trace_q2c_mean"] - 500e-9).abs() < 1e-15);
    assert!((all[0]["trace_d2c_mean"] - f64::midpoint(80e-9, 490e-9)).abs() < 1e-15);
    // 10 to 20 alone, 20 to 100 both, then the first until its second half has come.
    let depth = (10.0 + 2.0 * 80.0 + 400.0) / 1000.0;
    assert!((all[0]["trace_depth"] - depth).abs() < 1e-12);
}

#[test]
fn kinds_by_place_by_thread_and_by_flag() {
    use Action::{Issue, Queue};
    let places = Places::new(
        vec![
            (1000, 2000, Kind::Data),
            (100, 200, Kind::Journal),
            (150, 300, Kind::Metadata),
        ],
        Some(Kind::Metadata),
    );
    assert_eq!(places.at(99), None);
    assert_eq!(places.at(160), Some(Kind::Journal), "the first counts");
    assert_eq!(places.at(200), Some(Kind::Metadata));
    assert_eq!(places.at(300), None);
    let mut heads = Vec::new();
    for (at, sector) in [(0, 1000), (1, 100), (2, 5000), (3, 1008)] {
        heads.push(head(Queue, at * 10, sector, 8));
        heads.push(head(Issue, at * 10 + 1, sector, 8));
    }
    let all = watch(&[window(0, 100)], &places, &heads);
    let bytes = |name: &str| all[0][name];
    assert_eq!(bytes("trace_data_bytes"), 8192.0);
    assert_eq!(bytes("trace_journal_bytes"), 4096.0);
    assert_eq!(bytes("trace_metadata_bytes"), 4096.0);
    assert_eq!(bytes("trace_metadata_share"), 0.25);
    // To the journal, and from the metadata back to the data.
    assert_eq!(bytes("trace_kind_switches"), 2.0);

    // Without places: a thread's name and the flag.
    let none = Places::default();
    let mut watch = Watch::new(&[window(0, 100)], &none);
    let name = Head {
        action: Category::Notify as u32,
        pid: 7,
        ..Head::default()
    };
    watch.event(&Event {
        head: name,
        pdu: b"jbd2/loop0-8\0",
    });
    let mut meta = head(Queue, 5, 64, 8);
    (meta.pid, meta.action) = (8, meta.action | Category::Meta as u32);
    let mut flush = head(Queue, 6, 0, 0);
    flush.action |= Category::Flush as u32;
    for head in [head(Queue, 1, 0, 8), meta, flush] {
        watch.event(&Event { head, pdu: &[] });
    }
    let found = watch.tallies[0].figures();
    assert_eq!(found["trace_journal_bytes"], 4096.0);
    assert_eq!(found["trace_metadata_bytes"], 4096.0);
    assert_eq!((found["trace_flushes"], found["trace_bios"]), (1.0, 2.0));
}

#[test]
fn forged_traces_agree_with_the_whole_analysis_and_hostile_ones_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let all = [window(0, u64::MAX)];
    for seed in 0..20 {
        let base = format!("h{seed}");
        let forged = crate::forge::Forge::hostile(seed, 500);
        forged.write(folder.path(), &base).unwrap();
        let mut trace = Trace::open(&folder.path().join(&base)).unwrap();
        let found = figures(&mut trace, &all, &Places::default()).unwrap();
        assert!(found[0].values().all(|value| value.is_finite()));
    }
    crate::forge::Forge::plain(1, 2000)
        .write(folder.path(), "sda")
        .unwrap();
    let open = || Trace::open(&folder.path().join("sda")).unwrap();
    let found = &figures(&mut open(), &all, &Places::default()).unwrap()[0];
    let whole = crate::btt::run(&mut open(), &crate::btt::Options::default(), None)
        .unwrap()
        .analysis();
    let sum = |of: fn(&super::super::DirectionSummary) -> u64| {
        whole.directions.iter().map(of).sum::<u64>() as f64
    };
    assert_eq!(found["trace_events"], whole.events as f64);
    assert_eq!(found["trace_bios"], sum(|d| d.bios));
    assert_eq!(found["trace_requests"], sum(|d| d.requests));
    assert_eq!(found["trace_merges"], sum(|d| d.merges));
    let q2c = whole
        .intervals
        .iter()
        .find(|found| found.interval == crate::btt::Interval::Q2C && found.direction.is_none());
    let mean = q2c.unwrap().average.mean_seconds().unwrap();
    assert!(
        (found["trace_q2c_mean"] / mean - 1.0).abs() < 1e-6,
        "{mean} {found:?}"
    );
}
