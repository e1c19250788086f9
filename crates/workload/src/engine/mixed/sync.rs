//! One system call for each request, one at a time.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

use super::super::raw::{pread, pwrite};
use super::{Action, Course, Next, Requests, Target, batch};
use crate::clock::now_ns;
use crate::engine::{ABORT, Direction, Failure, finish_short};

/// Serves each request with `pread`, `pwrite` or `fsync`.
pub(super) fn run<R: Requests>(
    target: &Target<'_>,
    requests: &mut R,
    buffer: &mut [u8],
) -> Result<Course, Failure> {
    let buffer = &mut buffer[..target.block];
    serve(target, requests, |course, action| match action {
        Action::Transfer(direction, block) => {
            let offset = block * target.block as u64;
            let short = transfer(target, direction, block, buffer);
            course.short += u64::from(short.map_err(|source| failed(offset, source))?);
            Ok(())
        }
        Action::Fsync => {
            let synced = rustix::fs::fsync(target.file);
            synced.map_err(|error| failed(0, error.into()))
        }
    })
}

/// Serves each request by doing nothing: the cost of the generator.
pub(super) fn null<R: Requests>(target: &Target<'_>, requests: &mut R) -> Result<Course, Failure> {
    serve(target, requests, |_, _| Ok(()))
}

#[inline]
fn serve<R: Requests>(
    target: &Target<'_>,
    requests: &mut R,
    mut act: impl FnMut(&mut Course, Action) -> Result<(), Failure>,
) -> Result<Course, Failure> {
    let mut course = Course::default();
    // The end of one request is the begin of the next.
    let mut now = now_ns();
    while !target.flags.up(ABORT) {
        match requests.next(now) {
            Next::End => break,
            Next::WaitUntil(due) => {
                pause(due, now);
                now = now_ns();
            }
            Next::Do(action) => {
                act(&mut course, action)?;
                let end = now_ns();
                requests.finished(action, end.saturating_sub(now), end);
                course.begin(1);
                now = end;
            }
        }
    }
    // Each request is a submission and a completion of its own.
    let requests = course.depths[0];
    course.submitted[batch(1)] = requests;
    course.completed[batch(1)] = requests;
    Ok(course)
}

/// Sleeps until a time, but not so long that a request to stop is not seen.
pub(super) fn pause(due: u64, now: u64) {
    const LONGEST: u64 = 100_000_000;
    let time = due.saturating_sub(now).min(LONGEST);
    std::thread::sleep(Duration::from_nanos(time));
}

/// Moves a block; whether it took more than one call.
#[inline]
fn transfer(
    target: &Target<'_>,
    direction: Direction,
    block: u64,
    buffer: &mut [u8],
) -> io::Result<bool> {
    let offset = block * buffer.len() as u64;
    if let (Some(payload), Direction::Write) = (target.payload, direction) {
        payload.fill(block, buffer);
    }
    loop {
        let moved = match direction {
            Direction::Read => pread(target.file, buffer, offset),
            Direction::Write => pwrite(target.file, buffer, offset),
        };
        match moved {
            Ok(moved) if moved == buffer.len() => return Ok(false),
            Ok(moved) => {
                finish_short(target.file, direction, buffer, moved, offset)?;
                return Ok(true);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cold]
fn failed(offset: u64, source: io::Error) -> Failure {
    Failure {
        transferred: 0,
        offset,
        source,
    }
}
