//! Requests of kernel threads: who waits for them, and what they wait for. Each trace is replayed on a device that takes 5 ms a
//! request, one at a time.

use super::*;

/// A request of a kernel thread for one that waits.
fn awaited(thread: u32, submitted: u64, completed: u64) -> Recorded {
    Recorded {
        op: Op::Write,
        fua: true,
        sender: Sender::KernelAwaited,
        ..recorded(thread, submitted, completed)
    }
}

const WRITER: u32 = 1;
const JOURNAL: u32 = 100;

/// Calls of fsync, every 10 ms: the writer's data take 2 ms; 1 ms later the journal's thread writes its blocks in 2 ms, and 1 ms
/// later its commit in 2 ms; after 2 ms the writer goes on.
fn fsyncs(count: u64, thread: impl Fn(u64) -> u32) -> Vec<Recorded> {
    let one = |i: u64| {
        let (at, thread) = (10 * i, thread(i));
        let data = recorded(WRITER, at, at + 2);
        let blocks = awaited(thread, at + 3, at + 5);
        [data, blocks, awaited(thread, at + 6, at + 8)]
    };
    (0..count).flat_map(one).collect()
}

#[test]
fn a_loop_of_fsync_takes_its_services_and_thoughts() {
    let record = fsyncs(50, |_| JOURNAL);
    // Three services of 5 ms, 1 + 1 + 2 ms between them, without the last thought.
    assert_eq!(elapsed(&record, DEPENDENT), 50 * 19 - 2);
    let bound = bound(&record, None);
    assert_eq!((bound.by_completion, bound.by_time), (149, 1));
    // A process in its place would go on 5 ms after its own commit, whether or not there are data.
    let process = |request: &Recorded| Recorded {
        sender: Sender::Process,
        ..*request
    };
    let plain: Vec<Recorded> = record.iter().map(process).collect();
    let blocks = |record: &[Recorded]| linked(record).unwrap().0[4].gap;
    assert_eq!((blocks(&record), blocks(&plain)), (Some(MS), Some(5 * MS)));
}

#[test]
fn the_log_may_be_written_by_another_worker_each_time() {
    // As XFS does it: none of the workers has waited for anything before.
    let record = fsyncs(50, |i| JOURNAL + i as u32);
    assert_eq!(elapsed(&record, DEPENDENT), 50 * 19 - 2);
    // Two calls that write no data, by two workers: the second follows the first.
    let record = [awaited(JOURNAL, 0, 2), awaited(JOURNAL + 1, 3, 5)];
    let (kept, _) = linked(&record).unwrap();
    assert_eq!((kept[1].gap, kept[0].reaction), (Some(MS), Some(1)));
}

#[test]
fn a_commit_for_several_wakes_them_all() {
    let mut record = vec![recorded(1, 0, 2), recorded(2, 0, 3), awaited(JOURNAL, 4, 6)];
    record.extend([
        recorded(1, 7, 8),
        recorded(2, 8, 9),
        awaited(JOURNAL, 11, 12),
    ]);
    let (kept, outline) = linked(&record).unwrap();
    // The commit follows the later of the writers, and both follow the commit.
    assert_eq!(reactions(&kept, 1), [2]);
    assert_eq!(reactions(&kept, 2), [4, 3]);
    assert_eq!((kept[3].gap, kept[4].gap), (Some(MS), Some(2 * MS)));
    assert_eq!(reactions(&kept, 4), [5]);
    for request in &kept[2..] {
        assert_eq!(request.after(outline.think_limit), After::Completion);
    }
}

#[test]
fn a_process_with_requests_in_flight_waits_for_no_kernel_thread() {
    // Beside the fsyncs a reader has a request in flight at all times but for a moment.
    let mut record = fsyncs(20, |_| JOURNAL);
    let read = |i: u64| Recorded {
        submitted: 2 * i * MS + MS / 2,
        completed: Some((2 * i + 2) * MS + MS / 2 - 1000),
        ..recorded(7, 2 * i, 0)
    };
    record.extend((0..100).map(read));
    record.sort_by_key(|request| request.submitted);
    let (kept, _) = linked(&record).unwrap();
    let numbers_of = |process: u32| -> Vec<usize> {
        let of = |number: &usize| record[*number].process == process;
        (0..record.len()).filter(of).collect()
    };
    let (reads, commits) = (numbers_of(7), numbers_of(JOURNAL));
    for pair in reads.windows(2) {
        assert!(reactions(&kept, pair[0]).contains(&pair[1]), "{pair:?}");
    }
    for commit in commits {
        assert_eq!(kept[commit].gap, Some(MS));
    }
}

#[test]
fn what_none_waits_for_follows_time() {
    // Writeback: a worker sends a write every 3 ms, each done before the next; a process reads in between.
    let write = |i: u64| Recorded {
        op: Op::Write,
        sender: Sender::Kernel,
        ..recorded(JOURNAL, 3 * i, 3 * i + 2)
    };
    let record: Vec<Recorded> = (0..50).map(write).collect();
    let counted = bound(&record, None);
    assert_eq!(
        (counted.by_completion, counted.by_burst, counted.by_time),
        (0, 0, 50)
    );
    // Every 3 ms and served in 5: the queue grows, as if nothing were waited for.
    assert_eq!(elapsed(&record, DEPENDENT), elapsed(&record, Mode::Open));
    // A process at rest does not react to it.
    let mut mixed = vec![recorded(WRITER, 0, 1), write(1), recorded(WRITER, 6, 7)];
    let (kept, _) = linked(&mixed).unwrap();
    assert_eq!((kept[2].gap, kept[0].reaction), (Some(5 * MS), Some(2)));
    // To the same write in the middle of an fsync it does.
    mixed[1] = awaited(JOURNAL, 3, 5);
    let (kept, _) = linked(&mixed).unwrap();
    assert_eq!((kept[2].gap, kept[1].reaction), (Some(MS), Some(2)));
}

#[test]
fn a_commit_by_the_clock_follows_time_and_its_blocks_each_other() {
    // A reader who rests 5 ms each time; commits every 500 ms, of which each is a burst of two and one more.
    let mut record: Vec<Recorded> = (0..200)
        .map(|i| recorded(WRITER, 10 * i, 10 * i + 5))
        .collect();
    for i in 0..4 {
        let at = 500 * i + 9;
        record.extend(
            [(0, 1), (0, 1), (2, 3)].map(|(from, to)| awaited(JOURNAL, at + from, at + to)),
        );
    }
    record.sort_by_key(|request| request.submitted);
    let (kept, _) = linked(&record).unwrap();
    let after = |number: usize| kept[number].after(MS);
    for first in (0..record.len() - 2)
        .filter(|i| record[*i].process == JOURNAL)
        .step_by(3)
    {
        let more: Vec<usize> = (first + 1..record.len())
            .filter(|i| record[*i].process == JOURNAL)
            .take(2)
            .collect();
        // The reader's last completion is 4 ms old, which is no think time here.
        assert_ne!(after(first), After::Completion);
        assert_eq!(
            (kept[more[0]].gap, after(more[0])),
            (None, After::Submission)
        );
        assert_eq!(
            (kept[more[1]].gap, after(more[1])),
            (Some(MS), After::Completion)
        );
    }
}
