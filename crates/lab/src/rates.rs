//! What a mounted filesystem does in a second or two: the constants of a plan's time.
//!
//! These are not results and are compared with nothing. Each part ends after a fixed amount or time,
//! whichever is first, so that a slow disk costs no more than a fast one.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rig::Prepared;
use study::MeasuredRates;

use crate::interrupt::Interrupt;

/// Most time for each part.
const PART: Duration = Duration::from_millis(400);
/// Most bytes written, and bytes between two syncs.
const BYTES: u64 = 64 << 20;
const CHUNK: u64 = 8 << 20;
/// One write or read.
const REQUEST: usize = 1 << 20;
const FSYNCS: u32 = 20;
const FILES: u32 = 400;
const SMALL: usize = 4096;
/// Space that the filesystem must have free, as a multiple of what is written at most.
const ROOM: u64 = 2;

/// Measures; none where there is no room, or anything fails: the plan then assumes its rates.
pub(crate) fn measure(prepared: &Prepared, interrupt: &Interrupt) -> Option<MeasuredRates> {
    let root = prepared.mount_point();
    let stat = rustix::fs::statvfs(root).ok()?;
    if stat.f_bavail.saturating_mul(stat.f_frsize) < ROOM * BYTES {
        return None;
    }
    let folder = root.join("fslab-probe");
    fs::create_dir(&folder).ok()?;
    let rates = rates(prepared, &folder, interrupt);
    // Where it cannot be removed, the filesystem is made anew or its folder removed by the rig.
    let _ = fs::remove_dir_all(&folder);
    rates.ok()
}

fn rates(prepared: &Prepared, folder: &Path, interrupt: &Interrupt) -> io::Result<MeasuredRates> {
    let file = folder.join("sequential");
    let write = written(&file, interrupt)?;
    prepared.drop_caches(&[&file]).map_err(io::Error::other)?;
    let read = read(&file, interrupt)?;
    let fsync = synced(&folder.join("fsync"), interrupt)?;
    let files = created(folder, interrupt)?;
    let rates = MeasuredRates {
        write,
        read,
        fsync,
        files,
    };
    let valid = [write, read, fsync, files];
    if valid.iter().all(|value| value.is_finite() && *value > 0.0) {
        Ok(rates)
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

/// Bytes a second, with an fsync of each chunk.
fn written(path: &Path, interrupt: &Interrupt) -> io::Result<f64> {
    let pattern: Vec<u8> = (0..REQUEST).map(|at| (at * 31 % 251) as u8).collect();
    let mut file = File::create_new(path)?;
    let (begun, mut bytes) = (Instant::now(), 0);
    while bytes < BYTES && begun.elapsed() < PART && !interrupt.is_raised() {
        for _ in 0..CHUNK / REQUEST as u64 {
            file.write_all(&pattern)?;
        }
        file.sync_all()?;
        bytes += CHUNK;
    }
    Ok(bytes as f64 / begun.elapsed().as_secs_f64())
}

fn read(path: &Path, interrupt: &Interrupt) -> io::Result<f64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; REQUEST];
    let (begun, mut bytes) = (Instant::now(), 0_usize);
    while begun.elapsed() < PART && !interrupt.is_raised() {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        bytes += length;
    }
    Ok(bytes as f64 / begun.elapsed().as_secs_f64())
}

/// Seconds of a small write and its fsync.
fn synced(path: &Path, interrupt: &Interrupt) -> io::Result<f64> {
    let mut file = File::create_new(path)?;
    let (begun, mut count) = (Instant::now(), 0);
    while count < FSYNCS && begun.elapsed() < PART && !interrupt.is_raised() {
        file.write_all(&[7; SMALL])?;
        file.sync_all()?;
        count += 1;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(count))
}

/// Files created a second.
fn created(folder: &Path, interrupt: &Interrupt) -> io::Result<f64> {
    let (begun, mut count) = (Instant::now(), 0);
    while count < FILES && begun.elapsed() < PART && !interrupt.is_raised() {
        File::create_new(folder.join(format!("file{count}")))?.write_all(&[9; SMALL])?;
        count += 1;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_give_rates_and_leave_only_their_files() {
        let temp = tempfile::tempdir().unwrap();
        let quiet = Interrupt::manual();
        let file = temp.path().join("sequential");
        assert!(written(&file, &quiet).unwrap() > 0.0);
        let length = fs::metadata(&file).unwrap().len();
        assert!((CHUNK..=BYTES).contains(&length), "{length}");
        assert!(read(&file, &quiet).unwrap() > 0.0);
        assert!(synced(&temp.path().join("fsync"), &quiet).unwrap() > 0.0);
        assert!(created(temp.path(), &quiet).unwrap() > 0.0);
        assert!(written(&file, &quiet).is_err(), "never over a file");
    }
}
