//! Where the bytes of a live device are.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::direct::Direct;

/// Bytes of a page in memory.
const PAGE: u64 = 64 << 10;

/// Bytes of a device, in memory or in a file. What was never written reads as zeros.
pub struct Store {
    size: u64,
    place: Place,
}

enum Place {
    Memory(Mutex<HashMap<u64, Box<[u8]>>>),
    File(File),
    Device(Mutex<Direct>),
}

impl Store {
    /// In memory: pages that were written.
    pub fn memory(size: u64) -> Store {
        Store {
            size,
            place: Place::Memory(Mutex::default()),
        }
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
        let begin = self.read(0, self.size.min(1 << 20) as usize)?;
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

    pub(super) fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.within(offset, len as u64)?;
        let mut bytes = vec![0; len];
        self.read_into(offset, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn read_into(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.within(offset, bytes.len() as u64)?;
        match &self.place {
            Place::File(file) => file.read_exact_at(bytes, offset),
            Place::Device(direct) => lock(direct).read(offset, bytes),
            Place::Memory(pages) => {
                let pages = lock(pages);
                for (page, from, to, at) in parts(offset, bytes.len() as u64) {
                    let to_fill = &mut bytes[at..at + (to - from)];
                    match pages.get(&page) {
                        Some(held) => to_fill.copy_from_slice(&held[from..to]),
                        None => to_fill.fill(0),
                    }
                }
                Ok(())
            }
        }
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.within(offset, bytes.len() as u64)?;
        match &self.place {
            Place::File(file) => file.write_all_at(bytes, offset),
            Place::Device(direct) => lock(direct).write(offset, bytes),
            Place::Memory(pages) => {
                let mut pages = lock(pages);
                for (page, from, to, at) in parts(offset, bytes.len() as u64) {
                    let held = pages
                        .entry(page)
                        .or_insert_with(|| vec![0; PAGE as usize].into_boxed_slice());
                    held[from..to].copy_from_slice(&bytes[at..at + (to - from)]);
                }
                Ok(())
            }
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
            Place::Memory(pages) => {
                let mut pages = lock(pages);
                let whole = offset.div_ceil(PAGE)..(offset + len) / PAGE;
                pages.retain(|page, _| !whole.contains(page));
                for (page, from, to, _) in parts(offset, len) {
                    // Ends of the range; pages in between are gone.
                    if let Some(held) = pages.get_mut(&page) {
                        held[from..to].fill(0);
                    }
                }
                Ok(())
            }
        }
    }
}

fn write_zeros(file: &File, offset: u64, len: u64) -> io::Result<()> {
    let zeros = vec![0; PAGE.min(len) as usize];
    let mut at = offset;
    while at < offset + len {
        let now = (offset + len - at).min(PAGE) as usize;
        file.write_all_at(&zeros[..now], at)?;
        at += now as u64;
    }
    Ok(())
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pages of a range: number, from and to in the page, place in the range.
fn parts(offset: u64, len: u64) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let end = offset + len;
    (offset / PAGE..end.div_ceil(PAGE)).map(move |page| {
        let begin = page * PAGE;
        let from = offset.max(begin);
        let to = end.min(begin + PAGE);
        (
            page,
            (from - begin) as usize,
            (to - begin) as usize,
            (from - offset) as usize,
        )
    })
}
