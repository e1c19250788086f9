use std::path::Path;

use device::replay::{Kept, Requests as _};
use fixtures::block_trace::Forge;

use super::*;

/// All requests, in order.
fn all(record: &Record) -> Vec<Kept> {
    let mut reader = record.requests.reader();
    let numbers = 0..record.requests.outline().count;
    numbers.map(|number| reader.get(number).unwrap()).collect()
}

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
    let requests = all(&record);
    let seen: Vec<_> = requests
        .iter()
        .map(|r| (r.submitted, r.op, r.offset, r.len, r.fua, r.depth))
        .collect();
    assert_eq!(
        seen,
        [
            (0, Op::Read, 4096, 4096, false, 0),
            (50, Op::Write, 32_768, 8192, true, 1)
        ]
    );
    // Of one process, although another gave it to the driver; the first was in flight when the second came.
    assert_eq!((requests[0].next, requests[1].gap), (Some(1), None));
    let outline = record.requests.outline();
    assert_eq!((outline.recorded, outline.open), (Some(120), 0));
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
    let requests = all(&record);
    let seen: Vec<_> = requests.iter().map(|r| (r.offset, r.len, r.gap)).collect();
    // The last waited for the first, of which all was done at 9.
    assert_eq!(
        seen,
        [
            (0, 12_288, None),
            (8192, 4096, None),
            (12_288, 4096, Some(1))
        ]
    );
    assert_eq!(requests[0].reaction, Some(2));
    assert_eq!(requests.iter().filter(|r| !r.follows).count(), 2);
}

/// A bio of 1 MiB on a device that takes 128 KiB at a time: it is done with its last part, and nothing of its time is think time.
#[test]
fn a_bio_that_the_kernel_split_is_done_with_its_last_part() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = vec![(0, Action::Queue, READ, 0, 1 << 20, 7)];
    events.extend((0..7).map(|part| (1 + part, Action::Split, READ, part * 256, 131_072, 7)));
    // The parts are done in another order than they were sent in.
    for (at, part) in [
        (100, 1),
        (110, 0),
        (120, 2),
        (130, 7),
        (140, 5),
        (150, 6),
        (160, 3),
    ] {
        events.push((at, Action::Complete, READ, part * 256, 131_072, 0));
    }
    events.push((200, Action::Complete, READ, 4 * 256, 131_072, 0));
    events.push((205, Action::Queue, READ, 4096, 4096, 7));
    events.push((210, Action::Complete, READ, 4096, 4096, 0));
    let check = |events: &[(u64, Action, u32, u64, u32, u32)]| {
        let mut trace = traced(folder.path(), events);
        let record = read(&mut trace, Source::Queue, None).unwrap();
        let seen: Vec<_> = all(&record)
            .iter()
            .map(|r| (r.offset, r.len, r.gap, r.reaction))
            .collect();
        let next = (2 << 20, 4096, Some(5), None);
        assert_eq!(seen, [(0, 1 << 20, None, Some(1)), next]);
    };
    check(&events);
    // A kernel before 4.13 queues the rest once more after each part.
    let rests = (1..8).map(|part| {
        let left = (1 << 20) - part as u32 * 131_072;
        (part, Action::Queue, READ, part * 256, left, 7)
    });
    events.splice(8..8, rests);
    events.sort_by_key(|event| event.0);
    check(&events);
}

#[test]
fn a_trace_whose_events_go_back_is_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = traced(
        folder.path(),
        &[
            (1000, Action::Issue, READ, 8, 4096, 7),
            (500, Action::Issue, READ, 80, 4096, 7),
            (1500, Action::Complete, READ, 8, 4096, 0),
            (100, Action::Complete, READ, 80, 4096, 0),
        ],
    );
    let record = read(&mut trace, Source::Issue, None).unwrap();
    let [doubt] = &record.doubts[..] else {
        panic!("{:?}", record.doubts);
    };
    assert!(
        doubt.starts_with("2 of 4 events follow a later one"),
        "{doubt}"
    );
}

#[test]
fn bios_without_a_sector_end_nothing_and_hold_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut trace = traced(
        folder.path(),
        &[
            (0, Action::Queue, READ, 8, 100, 7),
            (1, Action::Queue, READ, u64::MAX - 2, 4096, 7),
            (2, Action::Queue, READ, 8, 4096, 7),
            (9, Action::Complete, READ, 0, 16_384, 0),
            (10, Action::Complete, READ, u64::MAX - 9, 4096, 0),
        ],
    );
    let record = read(&mut trace, Source::Queue, None).unwrap();
    let seen: Vec<_> = all(&record).iter().map(|r| (r.offset, r.len)).collect();
    assert_eq!(seen, [(4096, 4096)]);
}

#[test]
fn two_that_ask_for_the_same_at_once_are_two_requests_and_one_given_again_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let same = |begin: u64, again: Action| {
        [
            (begin, Action::Queue, READ, 8, 4096, 7),
            (begin + 1, Action::Issue, READ, 8, 4096, 7),
            (begin + 2, again, READ, 8, 4096, 8),
            (begin + 3, Action::Issue, READ, 8, 4096, 8),
            (begin + 4, Action::Complete, READ, 8, 4096, 0),
            (begin + 5, Action::Complete, READ, 8, 4096, 0),
        ]
    };
    let of = |again, source| {
        let record = read(&mut traced(folder.path(), &same(10, again)), source, None).unwrap();
        (all(&record).len(), record.requests.outline().recorded)
    };
    for source in [Source::Issue, Source::Queue] {
        let (count, recorded) = of(Action::Queue, source);
        assert!(
            count == 2 && recorded.is_some(),
            "{source:?} {count} {recorded:?}"
        );
    }
    assert_eq!(of(Action::Requeue, Source::Issue), (1, Some(3)));
}

#[test]
fn completions_of_several_at_one_place_go_to_those_of_their_length() {
    let folder = tempfile::tempdir().unwrap();
    let events = [
        (10, Action::Issue, READ, 8, 131_072, 7),
        (20, Action::Issue, READ, 8, 4096, 8),
        (30, Action::Issue, READ, 8, 4096, 9),
        (40, Action::Complete, READ, 8, 4096, 0),
        // The completion of the other short one was lost; a later one is not shifted by that.
        (60, Action::Complete, READ, 8, 131_072, 0),
        (70, Action::Issue, READ, 8, 4096, 9),
        (80, Action::Complete, READ, 8, 4096, 0),
        (90, Action::Issue, READ, 8, 4096, 9),
        (95, Action::Complete, READ, 8, 4096, 0),
    ];
    let record = read(&mut traced(folder.path(), &events), Source::Issue, None).unwrap();
    let gaps: Vec<_> = all(&record).iter().map(|r| r.gap).collect();
    // Each of process 9 waited for its last one, of which all was done 30 and 10 ns before.
    assert_eq!(gaps, [None, None, None, Some(30), Some(10)]);
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
            // Where some kernels say that a flush is: nowhere.
            (6, Action::Queue, flush, u64::MAX, 0, 7),
            (8, Action::Complete, flush, u64::MAX, 0, 0),
        ],
    );
    let record = read(&mut trace, Source::Queue, None).unwrap();
    let requests = all(&record);
    let ops: Vec<_> = requests.iter().map(|r| (r.op, r.gap)).collect();
    assert_eq!(
        ops,
        [(Op::Flush, None), (Op::Write, None), (Op::Flush, Some(1))]
    );
    assert_eq!(record.requests.outline().recorded, Some(8));
    assert_eq!(record.requests.outline().size, 4096);
}

/// Notes that name processes.
fn names(named: &[(u32, &str)]) -> Vec<u8> {
    let note = |&(pid, name): &(u32, &str)| {
        let mut bytes = Head {
            action: Category::Notify as u32,
            pid,
            pdu_len: 16,
            ..Head::default()
        }
        .to_bytes()
        .to_vec();
        bytes.extend(name.as_bytes());
        bytes.resize(bytes.len() + 16 - name.len(), 0);
        bytes
    };
    named.iter().flat_map(note).collect()
}

/// A call of fsync every 100 ns: the writer's data; the journal's blocks; its commit, before which a thread of the kernel's block
/// layer issues the flush.
fn fsyncs(folder: &Path, count: u64) -> Trace {
    const SYNC: u32 = WRITE | Category::Sync as u32;
    const FUA: u32 = SYNC | Category::Fua as u32;
    const FLUSH: u32 = Category::Flush as u32;
    let one = |i: u64| {
        [
            (0, Action::Queue, SYNC, 8, 4096, 7),
            (1, Action::Issue, SYNC, 8, 4096, 7),
            (20, Action::Complete, SYNC, 8, 4096, 0),
            (30, Action::Queue, SYNC, 64, 8192, 50),
            (31, Action::Issue, SYNC, 64, 8192, 50),
            (50, Action::Complete, SYNC, 64, 8192, 0),
            (51, Action::Queue, FUA | FLUSH, 80, 4096, 50),
            (52, Action::Issue, WRITE | FLUSH, 0, 0, 9),
            (60, Action::Complete, WRITE | FLUSH, 0, 0, 0),
            (61, Action::Issue, FUA, 80, 4096, 9),
            (70, Action::Complete, FUA, 80, 4096, 0),
        ]
        .map(|(at, action, flags, sector, bytes, pid)| {
            (100 * i + at, action, flags, sector, bytes, pid)
        })
    };
    let events: Vec<_> = (0..count).flat_map(one).collect();
    drop(traced(folder, &events));
    let path = folder.join("sda.blktrace.0");
    let mut bytes = names(&[(7, "fsync"), (50, "jbd2/sda1-8"), (9, "kworker/0:1H")]);
    bytes.extend(std::fs::read(&path).unwrap());
    std::fs::write(&path, bytes).unwrap();
    Trace::open(&folder.join("sda")).unwrap()
}

#[test]
fn a_process_waits_for_the_journal_and_the_journal_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let gaps = |source| {
        let record = read(&mut fsyncs(folder.path(), 2), source, None).unwrap();
        let requests = all(&record);
        assert!(requests[3].reaction == Some(4) && requests[0].reaction == Some(1));
        requests.iter().map(|r| r.gap).collect::<Vec<_>>()
    };
    let each = [Some(11), Some(2), Some(1)];
    let expected = [&[None], &each[..], &[Some(31)], &each].concat();
    assert_eq!(gaps(Source::Issue), expected);
    // The bio of the commit is a flush and a write at once.
    let each = [Some(10), Some(1), None];
    let expected = [&[None], &each[..], &[Some(30)], &each].concat();
    assert_eq!(gaps(Source::Queue), expected);
}

#[test]
fn writeback_by_a_worker_follows_time() {
    let folder = tempfile::tempdir().unwrap();
    let writes = |i: u64| {
        [
            (10 * i, Action::Issue, WRITE, 8 * i, 4096, 9),
            (10 * i + 5, Action::Complete, WRITE, 8 * i, 4096, 0),
        ]
    };
    let events: Vec<_> = (0..20).flat_map(writes).collect();
    drop(traced(folder.path(), &events));
    let path = folder.path().join("sda.blktrace.0");
    let plain = std::fs::read(&path).unwrap();
    let of = |name: &str| {
        std::fs::write(&path, [names(&[(9, name)]), plain.clone()].concat()).unwrap();
        let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
        all(&read(&mut trace, Source::Issue, None).unwrap())
    };
    let worker = of("kworker/u4:2");
    assert!(worker.iter().all(|r| r.is_timed && r.gap.is_none()));
    let process = of("dd");
    assert!(process[1..].iter().all(|r| !r.is_timed && r.gap == Some(5)));
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
    let outline = record.requests.outline();
    assert_eq!(
        (outline.count, outline.open, outline.recorded),
        (3, 3, None)
    );
    let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
    let error = read(&mut trace, Source::Issue, Some(1)).unwrap_err();
    assert!(error.is_usage());
    // The tracer was killed within the last record.
    let path = folder.path().join("sda.blktrace.0");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
    let record = read(&mut trace, Source::Issue, None).unwrap();
    assert_eq!(
        record.doubts,
        ["sda.blktrace.0 ends inside the record at byte 96, and all that came later is left out"]
    );
    assert_eq!(record.requests.outline().count, 2);
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
        let open = record.requests.outline().open;
        assert_eq!((open, &record.doubts), (0, &Vec::new()));
        let requests = all(&record);
        assert!(requests.is_sorted_by_key(|r| r.submitted));
        let bytes: u64 = requests.iter().map(|r| r.len).sum();
        (requests.len(), bytes)
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
        let requests = all(&record);
        let after = |number: usize, link: Option<u32>| link.is_none_or(|to| to as usize > number);
        for (number, request) in requests.iter().enumerate() {
            assert!(after(number, request.next) && after(number, request.reaction));
        }
        assert!(requests.is_sorted_by_key(|r| r.submitted));
    }
}

#[test]
fn a_trace_that_is_not_held_in_memory_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    Forge::plain(9, 3000).write(folder.path(), "sda").unwrap();
    for source in [Source::Issue, Source::Queue] {
        let of = |most| {
            let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
            let record = read_into(Spool::holding(most), &mut trace, source, None, None).unwrap();
            (all(&record), record.requests.outline().clone())
        };
        let (in_memory, outline) = of(1 << 20);
        assert!(in_memory.len() > 500);
        assert_eq!(of(8), (in_memory, outline));
    }
}

#[test]
fn requests_of_a_stretch_of_time_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let events = [
        (100, Action::Issue, READ, 8, 4096, 7),
        (150, Action::Complete, READ, 8, 4096, 0),
        (190, Action::Queue, READ, 16, 4096, 7),
        (200, Action::Issue, READ, 16, 4096, 99),
        (290, Action::Issue, READ, 24, 4096, 7),
        (300, Action::Complete, READ, 16, 4096, 0),
        (310, Action::Issue, READ, 32, 4096, 7),
        (320, Action::Complete, READ, 24, 4096, 0),
    ];
    let window = Window {
        begin_ns: 200,
        end_ns: 300,
    };
    let within = |window, source| {
        let open = || Ok(traced(folder.path(), &events));
        read_either(open, source, None, Some(window))
    };
    let record = within(window, Source::Issue).unwrap();
    assert_eq!(record.source, Source::Issue);
    let offsets: Vec<u64> = all(&record).iter().map(|r| r.offset).collect();
    assert_eq!(offsets, [16 * 512, 24 * 512]);
    // The second is done after the end, and belongs to it.
    assert_eq!(record.requests.outline().recorded, Some(120));
    let window = Window {
        begin_ns: 400,
        end_ns: 500,
    };
    let none = within(window, Source::Issue);
    assert!(matches!(none, Err(Error::NoRequests(_))));
    // Only the driver was given something in this one, and only the queue in the next.
    for (begin_ns, from, source) in [
        (200, Source::Queue, Source::Issue),
        (160, Source::Issue, Source::Queue),
    ] {
        let window = Window {
            begin_ns,
            end_ns: begin_ns + 35,
        };
        assert_eq!(within(window, from).unwrap().source, source);
    }
}
