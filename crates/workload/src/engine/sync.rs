//! One system call for each record, one at a time: what iozone does.

use std::io;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::raw::{pread, pwrite, read, write};
use super::{
    Capabilities, Direction, Engine, Failure, Job, Kind, Latency, Order, Run, finish_short,
};
use crate::buffer::Buffer;

/// `read`/`write` at the file position for sequential records, `pread`/`pwrite` for random ones.
///
/// iozone does `lseek` and then `read` or `write` for a random record. `lseek` with SEEK_SET only
/// stores a number in the open file and never reaches the filesystem's data or metadata, so one
/// `pread` moves the same bytes in the same order at the same offset; it saves about 50 ns, which
/// is nothing beside a record from a disk and several percent of a 4 KiB record from the cache.
/// [`Sync::seeking`] makes iozone's two calls.
pub struct Sync {
    buffer: Buffer,
    seeks: bool,
}

impl Sync {
    /// An engine that moves every record through the beginning of `buffer`, as iozone does.
    pub fn new(buffer: Buffer) -> Sync {
        Sync {
            buffer,
            seeks: false,
        }
    }

    /// The same, with `lseek` and then the C library's `read` or `write` for a random record.
    pub fn seeking(buffer: Buffer) -> Sync {
        Sync {
            buffer,
            seeks: true,
        }
    }
}

impl Engine for Sync {
    fn capabilities(&self) -> Capabilities {
        Kind::Sync.capabilities()
    }

    fn into_buffer(self: Box<Self>) -> Option<Buffer> {
        Some(self.buffer)
    }

    fn run(
        &mut self,
        job: &Job<'_>,
        from: u64,
        watch: u32,
        latency: Option<&mut Latency>,
    ) -> Result<Run, Failure> {
        let buffer = &mut self.buffer.as_mut_slice()[..job.record];
        let fd = job.file;
        match (job.direction, job.order) {
            (Direction::Read, Order::Sequential(_)) => {
                laps(job, from, watch, latency, buffer, |b, _| read(fd, b))
            }
            (Direction::Write, Order::Sequential(_)) => {
                laps(job, from, watch, latency, buffer, |b, _| write(fd, b))
            }
            (Direction::Read, Order::Random(_)) if self.seeks => {
                laps(job, from, watch, latency, buffer, |b, at| {
                    seek(fd, SeekFrom::Start(at))?;
                    rustix::io::read(fd, b)
                })
            }
            (Direction::Write, Order::Random(_)) if self.seeks => {
                laps(job, from, watch, latency, buffer, |b, at| {
                    seek(fd, SeekFrom::Start(at))?;
                    rustix::io::write(fd, b)
                })
            }
            (Direction::Read, Order::Random(_)) => {
                laps(job, from, watch, latency, buffer, |b, at| pread(fd, b, at))
            }
            (Direction::Write, Order::Random(_)) => {
                laps(job, from, watch, latency, buffer, |b, at| pwrite(fd, b, at))
            }
        }
    }
}

/// Chooses the loop with or without latencies, so that the one without has no trace of them.
fn laps(
    job: &Job<'_>,
    from: u64,
    watch: u32,
    latency: Option<&mut Latency>,
    buffer: &mut [u8],
    call: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<Run, Failure> {
    match latency {
        None => turn(job, from, watch, buffer, call, || ()),
        Some(latency) => {
            latency.begin();
            turn(job, from, watch, buffer, call, || latency.lap())
        }
    }
}

#[inline]
fn turn(
    job: &Job<'_>,
    from: u64,
    watch: u32,
    buffer: &mut [u8],
    mut call: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
    mut lap: impl FnMut(),
) -> Result<Run, Failure> {
    let records = job.order.records();
    let mut run = Run {
        position: from,
        ..Run::default()
    };
    while run.position < records {
        if job.flags.up(watch) {
            run.stopped = true;
            break;
        }
        let record = job.order.at(run.position);
        let offset = record * job.record as u64;
        job.fill(record, buffer);
        let moved = call(buffer, offset);
        if moved != Ok(job.record) {
            if moved == Err(Errno::INTR) {
                continue;
            }
            mend(job, buffer, moved, offset)
                .map_err(|e| failed(job, run.position - from, offset, e))?;
            run.short += 1;
        }
        job.check(record, buffer)
            .map_err(|e| failed(job, run.position - from, offset, e))?;
        run.position += 1;
        run.counted += u64::from(!job.flags.up(watch));
        job.done.show(run.position);
        lap();
    }
    Ok(run)
}

/// The failure of the record at `offset`, after this number of whole records.
#[cold]
fn failed(job: &Job<'_>, whole: u64, offset: u64, source: io::Error) -> Failure {
    Failure {
        transferred: whole * job.record as u64,
        offset,
        source,
    }
}

/// Reports an error, and continues a short transfer, after which the file position,
/// if it matters, is at the end of the record again.
#[cold]
fn mend(
    job: &Job<'_>,
    buffer: &mut [u8],
    moved: Result<usize, Errno>,
    offset: u64,
) -> io::Result<()> {
    finish_short(job.file, job.direction, buffer, moved?, offset)?;
    if matches!(job.order, Order::Sequential(_)) {
        let end = offset + job.record as u64;
        seek(job.file, SeekFrom::Start(end))?;
    }
    Ok(())
}
