//! Recorded outputs (tests/data/fsck), replayed at one line a second.

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::fsck::checker::{Event, OutputSummary};
use crate::fsck::checkers;
use crate::fsck::phases::Account;
use crate::fsck::report::Verdict;
use crate::fsck::sampler::{Cpu, Reading};
use crate::fsck::timeline::Ledger;

/// Line `n` arrives at second `n`, and each second takes 0.6 s of user and 0.2 s of system time.
fn reading(line: usize) -> Reading {
    let at = line as f64;
    Reading {
        at_ns: line as u64 * 1_000_000_000,
        cpu: Cpu {
            total: 0.8 * at,
            user: 0.6 * at,
            system: 0.2 * at,
        },
        peak_rss: (line as u64 + 1) << 20,
        waited_ns: None,
        disk: None,
    }
}

fn replay(kind: &str, text: &str) -> Account {
    let checker = checkers::of_kind(kind).unwrap();
    let mut ledger = Ledger::new(checker, reading(0));
    let mut lines = 0;
    for (number, line) in (1..).zip(text.lines()) {
        lines = number;
        if let Some(event) = checker.read(line) {
            ledger.take(event, &reading(number));
        }
    }
    Account::of(ledger, reading(lines + 1))
}

fn summary(kind: &str, text: &str, code: i32) -> String {
    let account = replay(kind, text);
    let (verdict, words) = checkers::of_kind(kind)
        .unwrap()
        .judge(code, account.summary());
    let mut out = format!("{verdict:?}: {words}\n");
    for phase in account.phases() {
        let figure = |name: &str| phase.figures.get(name).map(f64::to_string);
        let _ = writeln!(
            out,
            "{:<13} {:>3} s, user {:.1} s, system {:.1} s, peak {} MiB, says {} s",
            phase.name,
            phase.seconds,
            phase.user_seconds,
            phase.system_seconds,
            phase.figures["peak_rss"] / f64::from(1 << 20),
            figure("reported_seconds").unwrap_or("-".into()),
        );
        if let Some(cache) = figure("reported_cache") {
            let of = |name: &str| figure(name).unwrap_or("-".into());
            let (read, user, system) = (
                of("reported_read"),
                of("reported_user_seconds"),
                of("reported_system_seconds"),
            );
            let _ = writeln!(
                out,
                "  says disk {read}, cache {cache}, user {user}, system {system}"
            );
        }
        if let Some(size) = figure("cache_size") {
            let _ = writeln!(out, "  says a cache of {size}");
        }
        for evidence in &phase.evidence {
            let _ = writeln!(
                out,
                "  {}: {:?}: {}",
                evidence.name, evidence.holds, evidence.detail
            );
        }
        for run in &phase.runs {
            let _ = writeln!(out, "  {} {}: {} s", run.target, run.note, run.seconds);
        }
    }
    let _ = writeln!(out, "{:?}", account.inventory());
    out
}

macro_rules! recorded {
    ($($test:ident $kind:literal $code:literal $file:literal;)*) => {$(
        #[test]
        fn $test() {
            let text = include_str!(concat!("../../../tests/data/fsck/", $file, ".txt"));
            insta::assert_snapshot!(concat!("replay-", $file), summary($kind, text, $code));
        }
    )*};
}

recorded! {
    ext4_clean "ext4" 0 "ext4-clean";
    ext4_with_a_wrong_link_count "ext4" 4 "ext4-links";
    ext2_with_a_block_claimed_twice "ext2" 4 "ext2-shared-block";
    ext4_that_is_none "ext4" 8 "ext4-none";
    xfs_clean "xfs" 0 "xfs-clean";
    xfs_with_a_wrong_link_count "xfs" 1 "xfs-links";
    xfs_that_is_none "xfs" 1 "xfs-none";
    btrfs_clean "btrfs" 0 "btrfs-clean";
    btrfs_with_a_spoilt_leaf "btrfs" 1 "btrfs-leaf";
    btrfs_with_a_spoilt_root "btrfs" 1 "btrfs-root";
    btrfs_that_is_none "btrfs" 1 "btrfs-none";
    ocfs2_clean "ocfs2" 0 "ocfs2-clean";
    ocfs2_with_a_wrong_link_count "ocfs2" 0 "ocfs2-links";
    ocfs2_with_a_cluster_claimed_twice "ocfs2" 0 "ocfs2-shared-cluster";
    ocfs2_that_is_none "ocfs2" 8 "ocfs2-none";
    f2fs_clean "f2fs" 0 "f2fs-clean";
    f2fs_with_a_wrong_link_count "f2fs" 1 "f2fs-links";
    f2fs_with_a_node_of_zeros "f2fs" 255 "f2fs-node";
    f2fs_with_one_superblock_gone "f2fs" 0 "f2fs-superblock";
    f2fs_without_a_checkpoint "f2fs" 255 "f2fs-checkpoint";
    f2fs_that_is_none "f2fs" 255 "f2fs-none";
}

#[test]
fn ext2_and_ext3_read_like_ext4() {
    let ext4 = include_str!("../../../tests/data/fsck/ext4-clean.txt");
    for text in [
        include_str!("../../../tests/data/fsck/ext2-clean.txt"),
        include_str!("../../../tests/data/fsck/ext3-clean.txt"),
    ] {
        assert_eq!(replay("ext2", text).spans(), replay("ext4", ext4).spans());
        assert!(replay("ext2", text).inventory().files_used > Some(11));
    }
    for text in [
        include_str!("../../../tests/data/fsck/ext2-links.txt"),
        include_str!("../../../tests/data/fsck/ext3-links.txt"),
    ] {
        assert!(text.contains("ref count is 7, should be 1"), "{text}");
    }
}

/// The text of a whole day's check: e2fsck that began again, with sub-passes and times.
const AGAIN: &str = "\
Pass 1: Checking inodes, blocks, and sizes
Restarting e2fsck from the beginning...
Pass 1: Checking inodes, blocks, and sizes
Pass 1: Memory used: 132k/0k (38k/95k), time:  3.02/ 1.00/ 0.10
Pass 1: I/O read: 3MB, write: 0MB, rate: 1.00MB/s
Pass 2: Checking directory structure
Pass 3: Checking directory connectivity
Pass 3A: Optimizing directories
Pass 3A: Memory used: 132k/0k (38k/95k), time:  0.50/ 0.40/ 0.10
Pass 3: Memory used: 132k/0k (38k/95k), time: 12345.67/ 1.00/ 0.10
";

#[test]
fn a_pass_that_ran_twice_is_one_phase_with_two_spans() {
    insta::assert_snapshot!("replay-again", summary("ext4", AGAIN, 32));
    let names: Vec<String> = replay("ext4", AGAIN)
        .spans()
        .into_iter()
        .map(|span| {
            format!(
                "{} {}-{}",
                span.name,
                span.begin_ns / 1_000_000_000,
                span.end_ns / 1_000_000_000
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            "check 0-11",
            "check_pass_1 1-3",
            "check_pass_1 3-4",
            "check_pass_2 6-7",
            "check_pass_3 7-10"
        ]
    );
}

#[test]
fn a_day_of_xfs_repair_is_added_up_from_words() {
    let text = "Phase 6 - check inode connectivity...\n\
        Phase 6:\t11/21 19:07:58\t12/01 22:10:01\t1 week, 2 days, 3 hours, 2 minutes, 1 second\n\
        Total run time: 3 minutes, 12 seconds\n";
    let phases = replay("xfs", text).phases();
    let reported = |at: usize| phases[at].figures["reported_seconds"];
    assert_eq!(reported(0), 192.0);
    assert_eq!(reported(1), 9.0 * 86_400.0 + 3.0 * 3600.0 + 121.0);
    assert_eq!(
        phases[1].evidence[0].holds,
        Some(false),
        "a second on our clock"
    );
}

#[test]
fn two_clocks_agree_or_not() {
    let agree = |kind: &str, line: &str, ours: u64| {
        let checker = checkers::of_kind(kind).unwrap();
        let mut ledger = Ledger::new(checker, reading(0));
        ledger.take(checker.read(line).unwrap(), &reading(0));
        let end = Reading {
            at_ns: ours * 1_000_000,
            ..reading(0)
        };
        Account::of(ledger, end).phases()[0].evidence[0].holds
    };
    let ext = "Memory used: 132k/0k (38k/95k), time:  1.00/ 0.90/ 0.10";
    assert_eq!(agree("ext4", ext, 1000), Some(true));
    assert_eq!(agree("ext4", ext, 1070), Some(true));
    // Beyond what the clocks may differ by, but no more than a busy machine adds: unknown.
    assert_eq!(agree("ext4", ext, 1090), None);
    assert_eq!(agree("ext4", ext, 920), None);
    assert_eq!(agree("ext4", ext, 1160), Some(false));
    assert_eq!(agree("ext4", ext, 850), Some(false));
    let xfs = "Total run time: 3 seconds";
    assert_eq!(agree("xfs", xfs, 2100), Some(true));
    assert_eq!(agree("xfs", xfs, 3900), Some(true));
    assert_eq!(agree("xfs", xfs, 4060), None);
    assert_eq!(agree("xfs", xfs, 4100), Some(false));
    assert_eq!(agree("ext4", "Signal (11) SIGSEGV", 1), None);
}

#[test]
fn every_bit_of_e2fsck_is_explained() {
    let checker = checkers::of_kind("ext3").unwrap();
    let judge = |code| checker.judge(code, OutputSummary::default());
    let lines: Vec<String> = [0, 1, 2, 3, 4, 8, 12, 16, 32, 128, 64, 255]
        .into_iter()
        .map(|code| format!("{:?}: {}", judge(code).0, judge(code).1))
        .collect();
    insta::assert_snapshot!("e2fsck-exit-codes", lines.join("\n"));
    let summary = OutputSummary {
        signal: Some(11),
        ..OutputSummary::default()
    };
    assert_eq!(checker.judge(8, summary).0, Verdict::Crashed(11));
}

#[test]
fn what_is_unlike_a_checker_s_line_says_nothing() {
    let quiet = |kind: &str, line: &str| {
        assert_eq!(checkers::of_kind(kind).unwrap().read(line), None, "{line}");
    };
    for line in [
        "Pass 6: none",
        "Pass 12: none",
        "Pass 1-: none",
        "Pass 1: Memory used: 1k, time: nan/ 0.00/ 0.00",
        "Pass 1: Memory used: 1k, time: 1.00",
        "Pass 1: I/O read: xMB, write: 0MB, rate: 1MB/s",
        "Peak memory: Memory used: 132k/0k (41k/92k), time:  0.00/ 0.00/ 0.00",
        "x: 1/2 files (NaN% non-contiguous), 1/2/3 blocks",
        "Signal (x) y",
    ] {
        quiet("ext4", line);
    }
    for line in [
        "Phase 8 - none",
        "Phase 5:\tSkipped",
        "Phase 5:\t1\t2\tsoon",
        "Phase\t\tStart\t\tEnd\t\tDuration",
        "Total run time: 1 fortnight",
    ] {
        quiet("xfs", line);
    }
    for line in ["[0/7] x", "[8/7] x", "[1/7 x", "[a/b] x", "found it"] {
        quiet("btrfs", line);
    }
    assert_eq!(
        checkers::of_kind("btrfs")
            .unwrap()
            .read("[8/8] checking quota groups"),
        Some(Event::Begins {
            pass: 8,
            title: "checking quota groups".into()
        })
    );
}

/// Words that checkers are made of, so that garbage comes near to what they print.
fn nearly() -> impl Strategy<Value = String> {
    let words = proptest::sample::select(vec![
        "Pass ",
        "1",
        "3A",
        ": ",
        "Memory used:",
        " time:",
        "/",
        " 0.00",
        "I/O read:",
        "MB,",
        " write:",
        "Phase ",
        "2",
        " - ",
        "\t",
        "3 seconds",
        ",",
        "Total run time:",
        "[",
        "]",
        "7",
        "found ",
        " bytes used",
        " files (",
        "% non-contiguous)",
        " blocks",
        "Signal (",
        ")",
        "é",
        "\n",
        "\r",
        "99999999999999999999",
        "-1",
    ]);
    proptest::collection::vec(words, 0..30).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn garbage_never_panics_and_phases_stay_in_order(
        texts in proptest::collection::vec(prop_oneof![nearly(), ".{0,80}"], 0..12),
        kind in proptest::sample::select(vec!["ext4", "xfs", "btrfs"]),
        code in any::<i32>(),
    ) {
        let account = replay(kind, &texts.concat());
        let _ = checkers::of_kind(kind).unwrap().judge(code, account.summary());
        let (phases, spans) = (account.phases(), account.spans());
        prop_assert_eq!(phases[0].name.as_str(), "check");
        let passes: f64 = phases[1..].iter().map(|p| p.seconds).sum();
        prop_assert!(passes <= phases[0].seconds + 1e-9);
        for pair in spans[1..].windows(2) {
            prop_assert!(pair[0].begin_ns <= pair[0].end_ns && pair[0].end_ns <= pair[1].begin_ns);
        }
        for phase in &phases {
            prop_assert!(phase.figures.values().all(|v| v.is_finite()));
            prop_assert!(phase.operations >= 1);
        }
    }

    #[test]
    fn what_e2fsck_prints_is_read_back(
        pass in 1_u8..=5,
        real in 0_u32..100_000_000,
        mib in 0_u64..1 << 40,
        used in any::<u64>(),
        percent in 0_u32..1000,
    ) {
        let checker = checkers::of_kind("ext4").unwrap();
        let (whole, cents) = (real / 100, real % 100);
        let line = format!("Pass {pass}: Memory used: 396k/0k (35k/362k), time: {whole:2}.{cents:02}/ 0.00/ 0.01");
        let event = checker.read(&line);
        let Some(Event::Took { real: read, .. }) = event else { panic!("{event:?}") };
        prop_assert!((read - f64::from(real) / 100.0).abs() < 1e-6);
        let line = format!("I/O read: {mib}MB, write: 0MB, rate: 1.00MB/s");
        let event = checker.read(&line);
        let Some(Event::Read { mib: read, .. }) = event else { panic!("{event:?}") };
        prop_assert_eq!(read, mib);
        let percent = f64::from(percent) / 10.0;
        let line = format!("a: b, c: {used}/{used} files ({percent:.1}% non-contiguous), {used}/1 blocks");
        let event = checker.read(&line);
        let Some(Event::Counted(inventory)) = event else { panic!("{event:?}") };
        prop_assert_eq!(inventory.files_used, Some(used));
        prop_assert_eq!(inventory.blocks_total, Some(1));
        prop_assert_eq!(inventory.non_contiguous, Some(percent));
    }
}
