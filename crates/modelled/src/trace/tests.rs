use std::path::Path;

use fixtures::block_trace::Forge;

use super::*;

const READ: u32 = Category::Read as u32;
const WRITE: u32 = Category::Write as u32;
const SDA: u32 = 8 << 20;

/// Writes a trace of one CPU: time, action, flags, sector, bytes, process.
fn traced(folder: &Path, events: &[(u64, Action, u32, u64, u32, u32)]) -> Trace {
    let bytes: Vec<u8> = events
        .iter()
        .zip(1..)
        .flat_map(|(&(time, action, flags, sector, bytes, pid), sequence)| {
            Head {
                time,
                sector,
                bytes,
                action: action as u32 | flags,
                pid,
                device: SDA,
                sequence,
                ..Head::default()
            }
            .to_bytes()
        })
        .collect();
    std::fs::write(folder.join("sda.blktrace.0"), bytes).unwrap();
    Trace::open(&folder.join("sda")).unwrap()
}

#[test]
fn a_request_is_from_issue_to_completion_and_belongs_to_who_queued_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = traced(
        folder.path(),
        &[
            (100, Action::Queue, READ, 8, 4096, 7),
            (110, Action::Issue, READ, 8, 4096, 99),
            (150, Action::Queue, WRITE, 64, 8192, 7),
            (
                160,
                Action::Issue,
                WRITE | Category::Fua as u32,
                64,
                8192,
                7,
            ),
            (200, Action::Complete, READ, 8, 4096, 0),
            // In two parts.
            (210, Action::Complete, WRITE, 64, 4096, 0),
            (230, Action::Complete, WRITE, 72, 4096, 0),
        ],
    );
    let record = read(&mut trace, Source::Issue, None).unwrap();
    let seen: Vec<_> = record
        .requests
        .iter()
        .map(|r| {
            (
                r.process,
                r.submitted,
                r.completed,
                r.op,
                r.offset,
                r.len,
                r.fua,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (7, 0, Some(90), Op::Read, 4096, 4096, false),
            (7, 50, Some(120), Op::Write, 32_768, 8192, true)
        ]
    );
    assert!(record.doubts.is_empty());
}

#[test]
fn bios_of_one_process_are_merged_until_one_of_them_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = traced(
        folder.path(),
        &[
            (0, Action::Queue, READ, 0, 4096, 7),
            (1, Action::Queue, READ, 8, 4096, 7),
            (2, Action::Queue, READ, 16, 4096, 8),
            (3, Action::Queue, READ, 16, 4096, 7),
            (9, Action::Complete, READ, 0, 12_288, 0),
            (10, Action::Queue, READ, 24, 4096, 7),
            (20, Action::Complete, READ, 24, 4096, 0),
        ],
    );
    let record = read(&mut trace, Source::Queue, None).unwrap();
    let seen: Vec<_> = record
        .requests
        .iter()
        .map(|r| (r.process, r.offset, r.len, r.completed))
        .collect();
    assert_eq!(seen[0], (7, 0, 12_288, Some(9)));
    assert_eq!(seen[2], (7, 12_288, 4096, Some(20)));
    assert_eq!(seen.len(), 3);
}

#[test]
fn a_flush_before_a_write_is_a_request_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let flush = WRITE | Category::Flush as u32;
    let mut trace = traced(
        folder.path(),
        &[
            (0, Action::Queue, flush, 0, 4096, 7),
            (5, Action::Complete, flush, 0, 4096, 0),
            (6, Action::Queue, flush, 0, 0, 7),
            (8, Action::Complete, flush, 0, 0, 0),
        ],
    );
    let record = read(&mut trace, Source::Queue, None).unwrap();
    let ops: Vec<_> = record
        .requests
        .iter()
        .map(|r| (r.op, r.completed))
        .collect();
    assert_eq!(
        ops,
        [
            (Op::Flush, Some(5)),
            (Op::Write, Some(5)),
            (Op::Flush, Some(8))
        ]
    );
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut heads: Vec<u8> = Vec::new();
    for (sequence, time) in [(1, 0), (2, 10), (5, 20)] {
        let head = Head {
            time,
            sequence,
            bytes: 4096,
            sector: u64::from(sequence) * 8,
            action: Action::Issue as u32 | READ,
            device: SDA,
            ..Head::default()
        };
        heads.extend(head.to_bytes());
    }
    std::fs::write(folder.path().join("sda.blktrace.1"), heads).unwrap();
    // The file is of CPU 1 and its records are of CPU 0.
    let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
    let error = read(&mut trace, Source::Issue, None).unwrap_err();
    assert!(error.to_string().contains("no request"), "{error}");
    std::fs::rename(
        folder.path().join("sda.blktrace.1"),
        folder.path().join("sda.blktrace.0"),
    )
    .unwrap();
    let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
    let record = read(&mut trace, Source::Issue, None).unwrap();
    assert_eq!(record.doubts, ["2 events of its sequence are missing"]);
    assert_eq!((record.requests.len(), record.open), (3, 3));
    let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
    let error = read(&mut trace, Source::Issue, Some(1)).unwrap_err();
    assert!(error.is_usage());
}

#[test]
fn every_request_of_a_forged_trace_is_found_once() {
    let folder = tempfile::tempdir().unwrap();
    Forge::plain(5, 500).write(folder.path(), "sda").unwrap();
    let count = |action: Action| {
        let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
        let (mut count, mut bytes) = (0, 0);
        while let Some((_, event)) = trace.next().unwrap() {
            if event.head.kind() == Some(action) {
                count += 1;
                bytes += u64::from(event.head.bytes);
            }
        }
        (count, bytes)
    };
    let of = |source| {
        let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
        let record = read(&mut trace, source, None).unwrap();
        assert_eq!((record.open, &record.doubts), (0, &Vec::new()));
        assert!(record.requests.is_sorted_by_key(|r| r.submitted));
        let bytes: u64 = record.requests.iter().map(|r| r.len).sum();
        (record.requests.len(), bytes)
    };
    assert_eq!(of(Source::Issue), count(Action::Issue));
    assert_eq!(of(Source::Queue).1, count(Action::Queue).1);
}

#[test]
fn a_hostile_trace_of_several_devices_is_refused_or_read_by_device() {
    let folder = tempfile::tempdir().unwrap();
    Forge::hostile(3, 2000).write(folder.path(), "sda").unwrap();
    let open = || Trace::open(&folder.path().join("sda")).unwrap();
    for source in [Source::Issue, Source::Queue] {
        let error = read(&mut open(), source, None).unwrap_err();
        assert!(error.to_string().contains("--traced"), "{error}");
        let record = read(&mut open(), source, Some(SDA)).unwrap();
        assert!(!record.doubts.is_empty());
        assert!(
            record
                .requests
                .iter()
                .all(|r| r.completed.is_none_or(|at| at >= r.submitted))
        );
    }
}
