//! Where the bytes of a live device are.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::io::Errno;

use super::direct::Direct;

/// Bytes of a device, in memory or in a file. What was never written reads as zeros.
pub struct Store {
    size: u64,
    place: Place,
}

enum Place {
    File(File),
    Device(Mutex<Direct>),
}

impl Store {
    /// In memory, which the kernel takes as it is written: this process allocates none.
    ///
    /// # Errors
    /// The kernel has no files in memory, or none of that size.
    pub fn memory(size: u64) -> io::Result<Store> {
        let file = File::from(memfd_create("fslab-device", MemfdFlags::CLOEXEC)?);
        file.set_len(size)?;
        Ok(Store::file(file, size))
    }

    /// In a file, which is open for reading and writing and as large as the store.
    pub fn file(file: File, size: u64) -> Store {
        Store {
            size,
            place: Place::File(file),
        }
    }

    /// On a block device that is open for reading and writing past the page cache, and at least as large as the store. A blank one
    /// is known to have zeros only, so what is given up before it was written needs none.
    ///
    /// # Errors
    /// There is no memory for its requests.
    pub fn device(file: File, size: u64, blank: bool) -> io::Result<Store> {
        Ok(Store {
            size,
            place: Place::Device(Mutex::new(Direct::new(file, size, blank)?)),
        })
    }

    /// Whether its first MiB has zeros alone.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn begins_blank(&self) -> io::Result<bool> {
        let mut begin = vec![0; self.size.min(1 << 20) as usize];
        self.read(0, &mut begin)?;
        Ok(begin.iter().all(|byte| *byte == 0))
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn within(&self, offset: u64, len: u64) -> io::Result<()> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.size);
        if fits {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// Reads bytes from there on.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.within(offset, bytes.len() as u64)?;
        match &self.place {
            Place::File(file) => file.read_exact_at(bytes, offset),
            Place::Device(direct) => lock(direct).read(offset, bytes),
        }
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.within(offset, bytes.len() as u64)?;
        match &self.place {
            Place::File(file) => file.write_all_at(bytes, offset),
            Place::Device(direct) => lock(direct).write(offset, bytes),
        }
    }

    /// Gives bytes up; they read as zeros. The kernel has one word for that and for writing zeros (a hole), so it is no hint.
    pub(super) fn discard(&self, offset: u64, len: u64) -> io::Result<()> {
        self.within(offset, len)?;
        match &self.place {
            Place::File(file) => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                match fallocate(file, hole, offset, len) {
                    // A filesystem without holes.
                    Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, offset, len),
                    result => Ok(result?),
                }
            }
            Place::Device(direct) => lock(direct).discard(offset, len),
        }
    }
}

fn write_zeros(file: &File, offset: u64, len: u64) -> io::Result<()> {
    const ZEROS: &[u8] = &[0; 64 << 10];
    let end = offset + len;
    let mut at = offset;
    while at < end {
        let now = (end - at).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..now as usize], at)?;
        at += now;
    }
    Ok(())
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
