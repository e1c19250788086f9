use std::os::fd::AsFd;

use super::*;
use crate::clock::now_ns;

const BLOCK: usize = 4096;

/// Requests from a list; what was finished, in order.
#[derive(Default)]
struct Listed {
    left: Vec<Next>,
    finished: Vec<Action>,
    latest: u64,
}

impl Requests for Listed {
    fn next(&mut self, now_ns: u64) -> Next {
        match self.left.first() {
            None => Next::End,
            Some(&Next::WaitUntil(due)) if now_ns < due => Next::WaitUntil(due),
            Some(Next::WaitUntil(_)) => {
                self.left.remove(0);
                self.next(now_ns)
            }
            Some(_) => self.left.remove(0),
        }
    }

    fn finished(&mut self, action: Action, latency_ns: u64, now_ns: u64) {
        assert!(latency_ns <= now_ns);
        self.latest = now_ns;
        self.finished.push(action);
    }
}

/// Each block is filled with its number.
struct Numbered;

impl Payload for Numbered {
    fn fill(&self, record: u64, bytes: &mut [u8]) {
        bytes.fill(record as u8);
    }

    fn check(&self, _record: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

fn engine(kind: Kind, depth: u32) -> Mixed {
    let buffer = Buffer::for_child(0, BLOCK, BLOCK * depth as usize, 4096).unwrap();
    Mixed::new(kind, depth, BLOCK, buffer).unwrap()
}

const KINDS: [(Kind, u32); 4] = [
    (Kind::Sync, 1),
    (Kind::IoUring, 1),
    (Kind::IoUring, 8),
    (Kind::Aio, 8),
];

#[test]
fn every_engine_serves_reads_writes_and_fsyncs_and_writes_the_right_blocks() {
    for (kind, depth) in KINDS {
        let file = tempfile::tempfile().unwrap();
        file.set_len(32 * BLOCK as u64).unwrap();
        let flags = Flags::default();
        let target = Target {
            file: file.as_fd(),
            block: BLOCK,
            flags: &flags,
            payload: Some(&Numbered),
        };
        let mut actions: Vec<Action> = (0..32)
            .map(|block| match block % 2 {
                0 => Action::Transfer(Direction::Write, block),
                _ => Action::Transfer(Direction::Read, block),
            })
            .collect();
        actions.push(Action::Fsync);
        let mut requests = Listed {
            left: actions.iter().copied().map(Next::Do).collect(),
            ..Listed::default()
        };
        let course = engine(kind, depth).run(&target, &mut requests).unwrap();
        assert_eq!(requests.finished.len(), 33, "{kind:?}");
        for action in actions {
            assert!(requests.finished.contains(&action), "{kind:?} {action:?}");
        }
        assert_eq!(course.depths.iter().sum::<u64>(), 33);
        assert_eq!(course.depths[3] > 0, depth == 8, "{kind:?} {course:?}");
        let mut bytes = vec![0; 32 * BLOCK];
        rustix::io::pread(file.as_fd(), &mut bytes, 0).unwrap();
        for (block, bytes) in bytes.chunks(BLOCK).enumerate() {
            let expected = if block % 2 == 0 { block as u8 } else { 0 };
            assert!(
                bytes.iter().all(|byte| *byte == expected),
                "{kind:?} {block}"
            );
        }
    }
}

#[test]
fn a_request_that_is_not_due_waits_with_and_without_others_in_flight() {
    for (kind, depth) in KINDS {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 * BLOCK as u64).unwrap();
        let flags = Flags::default();
        let target = Target {
            file: file.as_fd(),
            block: BLOCK,
            flags: &flags,
            payload: None,
        };
        let due = now_ns() + 30_000_000;
        let read = |block| Next::Do(Action::Transfer(Direction::Read, block));
        let mut requests = Listed {
            left: vec![read(0), Next::WaitUntil(due), read(1)],
            ..Listed::default()
        };
        engine(kind, depth).run(&target, &mut requests).unwrap();
        assert_eq!(requests.finished.len(), 2);
        assert!(requests.latest >= due, "{kind:?}");
    }
}

#[test]
fn a_failure_names_its_offset_and_a_raised_flag_ends_the_run() {
    for (kind, depth) in KINDS {
        let file = tempfile::tempfile().unwrap();
        file.set_len(2 * BLOCK as u64).unwrap();
        let flags = Flags::default();
        let target = Target {
            file: file.as_fd(),
            block: BLOCK,
            flags: &flags,
            payload: None,
        };
        // Past the end of the file.
        let beyond = || Listed {
            left: vec![Next::Do(Action::Transfer(Direction::Read, 7))],
            ..Listed::default()
        };
        let failure = engine(kind, depth).run(&target, &mut beyond()).unwrap_err();
        assert_eq!(failure.offset, 7 * BLOCK as u64, "{kind:?}");
        assert_eq!(failure.source.kind(), io::ErrorKind::UnexpectedEof);
        flags.raise(crate::engine::ABORT);
        let mut requests = beyond();
        engine(kind, depth).run(&target, &mut requests).unwrap();
        assert!(requests.finished.is_empty());
    }
}

#[test]
fn batches_have_fios_ranges() {
    let numbers = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 5000];
    let ranges = numbers.map(batch);
    assert_eq!(ranges, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    let mut course = Course::default();
    for depth in [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 4096] {
        course.begin(depth);
    }
    assert_eq!(course.depths, [1, 2, 2, 2, 2, 2, 2]);
}
