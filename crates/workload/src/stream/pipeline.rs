//! Reading one block at a time while another thread checks the last ones.
//!
//! A checksum runs at four times the speed of a copy out of the page cache, so checking each block
//! before the next is read would cost a fifth of the rate of a warm read (a cold one hides it
//! behind the device). Here the reader goes on while its last blocks are checked: two buffers, each
//! of a block or of a mebibyte of smaller blocks, since handing one over costs some microseconds.
//! There is still one request in flight. Engines with a queue check in their own thread: the
//! device is busy with the rest of the queue meanwhile.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;

use rustix::io::{Errno, pread};

use super::verify::Checker;
use crate::clock::Cpu;
use crate::engine::{ABORT, Failure, Job, Payload, Run, finish_short};

/// Bytes of a buffer, at least.
const LEAST: u64 = 1 << 20;

/// Blocks that are handed over together.
pub(super) const fn group(block: u64) -> u64 {
    match LEAST / block {
        0 => 1,
        blocks => blocks,
    }
}

/// Buffers there are.
pub(super) const BUFFERS: u64 = 2;

/// Blocks read and not yet checked: the first one's number, their bytes, and the buffer.
type Full<'a> = (u64, usize, &'a mut [u8]);

/// Reads the blocks of `job` from number `from` on into the halves of `buffer`, and has them
/// checked. The CPU time is the checking thread's.
///
/// # Errors
/// A read that failed, or the first block that is not good.
pub(super) fn read(
    job: &Job<'_>,
    from: u64,
    buffer: &mut [u8],
    checker: &Checker,
) -> Result<(Run, Cpu), Failure> {
    let half = group(job.record as u64) as usize * job.record;
    std::thread::scope(|scope| {
        let (give, full) = sync_channel::<Full<'_>>(BUFFERS as usize);
        let (back, free) = channel();
        for half in buffer.chunks_exact_mut(half) {
            // The receiver is right here.
            let _ = back.send(half);
        }
        let other = Builder::new()
            .name("read-verify".into())
            .spawn_scoped(scope, move || check(job, checker, &full, &back))
            .map_err(|source| failure(job, 0, from, source))?;
        let mut run = Run {
            position: from,
            ..Run::default()
        };
        let result = fill(job, &mut run, &free, &give);
        drop(give);
        let (wrong, cpu) = other.join().unwrap_or_else(|_| {
            let died = failure(job, 0, from, io::Error::other("the checking thread died"));
            (Err(died), Cpu::default())
        });
        // What was read before an error is checked first: damage may explain it.
        wrong?;
        result.map_err(|(offset, source)| Failure {
            transferred: (run.position - from) * job.record as u64,
            offset,
            source,
        })?;
        Ok((run, cpu))
    })
}

fn failure(job: &Job<'_>, whole: u64, record: u64, source: io::Error) -> Failure {
    Failure {
        transferred: whole * job.record as u64,
        offset: record * job.record as u64,
        source,
    }
}

/// The reader. Its error has the offset of the block.
fn fill<'a>(
    job: &Job<'_>,
    run: &mut Run,
    free: &Receiver<&'a mut [u8]>,
    give: &SyncSender<Full<'a>>,
) -> Result<(), (u64, io::Error)> {
    let records = job.order.records();
    while run.position < records && !run.stopped {
        // None comes back when the other thread has died, which its join will tell.
        let Ok(half) = free.recv() else { return Ok(()) };
        let first = run.position;
        let result = fill_half(job, run, half);
        let filled = (run.position - first) as usize * job.record;
        if filled > 0 && give.send((first, filled, half)).is_err() {
            return Ok(());
        }
        result?;
    }
    Ok(())
}

/// Blocks until the buffer is full, the file is read, or someone asks to stop.
fn fill_half(job: &Job<'_>, run: &mut Run, half: &mut [u8]) -> Result<(), (u64, io::Error)> {
    for block in half.chunks_exact_mut(job.record) {
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

/// The other thread. After the first damage it checks nothing more and stops the reader.
fn check<'a>(
    job: &Job<'_>,
    checker: &Checker,
    full: &Receiver<Full<'a>>,
    back: &Sender<&'a mut [u8]>,
) -> (Result<(), Failure>, Cpu) {
    let mut result = Ok(());
    while let Ok((first, filled, half)) = full.recv() {
        if result.is_ok()
            && let Err(source) = checker.check(first, &half[..filled])
        {
            result = Err(failure(job, 0, first, source));
            job.flags.raise(ABORT);
        }
        if back.send(half).is_err() {
            break;
        }
    }
    (result, Cpu::thread())
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
