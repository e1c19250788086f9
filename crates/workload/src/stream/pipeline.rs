//! Reading one block at a time while another thread checks the last ones.
//!
//! A checksum runs at two to three times the speed of a copy out of the page cache, so checking
//! each block before the next is read costs a third of the rate of a warm read (a cold one hides
//! it behind the device). Here a second thread checks while the reader goes on, and whoever has
//! time checks: when all buffers are full, because the other thread is slow or has no processor,
//! the reader checks the newest one itself, which is still in its processor's cache, and goes on
//! with that. Waiting for the other thread instead was slower than no thread at all on a busy
//! machine. The other thread is woken for two buffers at a time, since waking costs microseconds.
//!
//! There is still one request in flight. Engines with a queue check in their own thread: the
//! device is busy with the rest of the queue meanwhile.

use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use rustix::io::{Errno, pread};

use super::verify::{Checker, Damage};
use crate::clock::Cpu;
use crate::engine::{ABORT, Failure, Job, Payload, Run, finish_short};

/// Bytes of a buffer, at least.
const LEAST: u64 = 1 << 20;

/// Blocks that are handed over together, and fill a buffer.
pub(super) const fn group(block: u64) -> u64 {
    match LEAST / block {
        0 => 1,
        blocks => blocks,
    }
}

/// Buffers there are. The other thread has at most one of them.
pub(super) const BUFFERS: u64 = 4;

/// Full buffers for which the other thread is woken.
const WAKE: usize = 2;

/// Blocks read and not yet checked.
struct Full<'a> {
    /// Number of the first.
    first: u64,
    /// Bytes of them all.
    filled: usize,
    buffer: &'a mut [u8],
}

/// Where the buffers are, unless a thread is at work on one.
struct Buffers<'a> {
    free: Vec<&'a mut [u8]>,
    full: VecDeque<Full<'a>>,
    /// Nothing more comes.
    over: bool,
    /// The other thread sleeps.
    sleeps: bool,
    /// The damage nearest to the begin of the file.
    wrong: Option<(u64, io::Error)>,
}

struct Shared<'a> {
    job: &'a Job<'a>,
    checker: &'a Checker,
    buffers: Mutex<Buffers<'a>>,
    changed: Condvar,
}

/// Reads the blocks of `job` from number `from` on through the parts of `buffer`, and has them
/// checked. The CPU time is the other thread's.
///
/// # Errors
/// A read that failed, or the first block that is not good.
pub(super) fn read(
    job: &Job<'_>,
    from: u64,
    buffer: &mut [u8],
    checker: &Checker,
) -> Result<(Run, Cpu), Failure> {
    let part = group(job.record as u64) as usize * job.record;
    let shared = Shared {
        job,
        checker,
        buffers: Mutex::new(Buffers {
            free: buffer.chunks_exact_mut(part).collect(),
            full: VecDeque::with_capacity(BUFFERS as usize),
            over: false,
            sleeps: false,
            wrong: None,
        }),
        changed: Condvar::new(),
    };
    let failure = |position: u64, offset, source| Failure {
        transferred: (position - from) * job.record as u64,
        offset,
        source,
    };
    let mut run = Run {
        position: from,
        ..Run::default()
    };
    let (result, cpu) = std::thread::scope(|scope| {
        let other = Builder::new()
            .name("read-verify".into())
            .spawn_scoped(scope, || shared.check_until_over())
            .map_err(|source| failure(from, from * job.record as u64, source))?;
        let result = shared.read_all(&mut run);
        shared.end();
        let died = |_| {
            let died = io::Error::other("the checking thread died");
            failure(run.position, from * job.record as u64, died)
        };
        Ok((result, other.join().map_err(died)?))
    })?;
    // What was read before an error has been checked: damage may explain the error.
    let wrong = shared.lock().wrong.take();
    if let Some((offset, source)) = wrong {
        return Err(failure(run.position, offset, source));
    }
    result.map_err(|(offset, source)| failure(run.position, offset, source))?;
    Ok((run, cpu))
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, Buffers<'a>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reader. Its error has the offset of the block.
    fn read_all(&self, run: &mut Run) -> Result<(), (u64, io::Error)> {
        while run.position < self.job.order.records() && !run.stopped {
            let Some(buffer) = self.take_free() else {
                return Ok(());
            };
            let first = run.position;
            let result = fill(self.job, run, buffer);
            let filled = (run.position - first) as usize * self.job.record;
            let mut buffers = self.lock();
            buffers.full.push_back(Full {
                first,
                filled,
                buffer,
            });
            let wake = buffers.sleeps && buffers.full.len() >= WAKE;
            drop(buffers);
            if wake {
                self.changed.notify_one();
            }
            result?;
        }
        Ok(())
    }

    /// A free buffer, made by checking the newest full one if there is none.
    fn take_free(&self) -> Option<&'a mut [u8]> {
        let mut buffers = self.lock();
        if let Some(buffer) = buffers.free.pop() {
            return Some(buffer);
        }
        let full = buffers.full.pop_back();
        drop(buffers);
        full.map(|full| self.check(full))
    }

    /// Checks blocks and gives their buffer back. Damage stops the reader.
    fn check(&self, full: Full<'a>) -> &'a mut [u8] {
        let Full {
            first,
            filled,
            buffer,
        } = full;
        if let Err(source) = self.checker.check(first, &buffer[..filled]) {
            let damage = source.get_ref().and_then(|e| e.downcast_ref::<Damage>());
            let offset = damage.map_or(first * self.job.record as u64, |d| d.offset);
            let mut buffers = self.lock();
            if buffers.wrong.as_ref().is_none_or(|(at, _)| offset < *at) {
                buffers.wrong = Some((offset, source));
            }
            drop(buffers);
            self.job.flags.raise(ABORT);
        }
        buffer
    }

    /// The other thread.
    fn check_until_over(&self) -> Cpu {
        let mut buffers = self.lock();
        loop {
            if let Some(full) = buffers.full.pop_front() {
                drop(buffers);
                let buffer = self.check(full);
                buffers = self.lock();
                buffers.free.push(buffer);
            } else if buffers.over {
                return Cpu::thread();
            } else {
                buffers.sleeps = true;
                buffers = self
                    .changed
                    .wait(buffers)
                    .unwrap_or_else(PoisonError::into_inner);
                buffers.sleeps = false;
            }
        }
    }

    /// The reader's last part: what is still full is checked by both.
    fn end(&self) {
        self.lock().over = true;
        self.changed.notify_one();
        loop {
            let full = self.lock().full.pop_back();
            match full {
                Some(full) => drop(self.check(full)),
                None => return,
            }
        }
    }
}

/// Blocks until the buffer is full, the file is read, or someone asks to stop.
fn fill(job: &Job<'_>, run: &mut Run, buffer: &mut [u8]) -> Result<(), (u64, io::Error)> {
    for block in buffer.chunks_exact_mut(job.record) {
        if run.position == job.order.records() {
            break;
        }
        if job.flags.up(ABORT) {
            run.stopped = true;
            break;
        }
        let offset = run.position * job.record as u64;
        run.short += u64::from(read_block(job, block, offset).map_err(|e| (offset, e))?);
        run.position += 1;
        run.counted += 1;
        job.done.show(run.position);
    }
    Ok(())
}

/// Whether it came in parts.
#[inline]
fn read_block(job: &Job<'_>, block: &mut [u8], offset: u64) -> io::Result<bool> {
    loop {
        match pread(job.file, &mut *block, offset) {
            Ok(n) if n == block.len() => return Ok(false),
            Ok(n) => {
                finish_short(job.file, job.direction, block, n, offset)?;
                return Ok(true);
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    use super::super::content;
    use super::super::options::{Content, Options};
    use super::*;
    use crate::engine::{Counter, Direction, Flags, Order};

    /// A stamped file of so many blocks.
    fn file(block: u64, blocks: u64) -> File {
        let options = Options {
            block,
            content: Content::Random,
            verify: true,
            ..Options::new("/nowhere")
        };
        let file = tempfile::tempfile().unwrap();
        let mut buffer = vec![0; block as usize];
        let writer = content::writer(&options, 3, &mut buffer).unwrap();
        for record in 0..blocks {
            writer.fill(record, &mut buffer);
            file.write_all_at(&buffer, record * block).unwrap();
        }
        file
    }

    fn run(file: &File, block: u64, blocks: std::ops::Range<u64>) -> Result<Run, Failure> {
        let (flags, done) = (Flags::default(), Counter::default());
        let job = Job {
            file: file.as_fd(),
            direction: Direction::Read,
            record: block as usize,
            order: Order::Sequential(blocks.end),
            flags: &flags,
            done: &done,
            payload: None,
        };
        let mut buffer = vec![0; (BUFFERS * group(block) * block) as usize];
        let checker = Checker::new(block, None);
        let result = read(&job, blocks.start, &mut buffer, &checker);
        assert!(result.is_err() || done.get() == blocks.end);
        result.map(|(run, _)| run)
    }

    #[test]
    fn every_block_is_read_and_checked_from_any_place_on() {
        for (block, blocks) in [(4096, 1500), (65_536, 33), (1 << 20, 5), (3 << 20, 3)] {
            let file = file(block, blocks);
            for first in [0, 1, blocks - 1] {
                let run = run(&file, block, first..blocks).unwrap();
                assert_eq!((run.position, run.counted), (blocks, blocks - first));
                assert_eq!((run.short, run.stopped), (0, false));
            }
        }
    }

    #[test]
    fn damage_in_any_block_stops_it_and_names_the_byte() {
        let block = 65_536;
        for wrong in [0, 15, 16, 17, 99] {
            let file = file(block, 100);
            let at = wrong * block + 70;
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[!byte[0]], at).unwrap();
            let failure = run(&file, block, 0..100).unwrap_err();
            let said = failure.source.to_string();
            assert!(said.starts_with(&format!("byte {at}: ")), "{said}");
        }
    }

    #[test]
    fn the_end_of_the_file_is_an_error_with_its_offset_and_so_is_damage_before_it() {
        let file = file(4096, 300);
        file.set_len(299 * 4096 + 5).unwrap();
        let failure = run(&file, 4096, 0..300).unwrap_err();
        assert_eq!(failure.source.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(
            (failure.offset, failure.transferred),
            (299 * 4096, 299 * 4096)
        );
        file.write_all_at(&[0; 4096], 298 * 4096).unwrap();
        let failure = run(&file, 4096, 0..300).unwrap_err();
        assert_eq!(failure.source.kind(), io::ErrorKind::InvalidData);
    }
}
