//! `io_uring` and the memory that the kernel and this process share: everything unsafe of this crate.
#![allow(
    unsafe_code,
    reason = "commands hand the kernel pointers, and descriptors are memory that it writes"
)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::ptr::null_mut;
use std::time::Duration;

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::abi::{self, BUFFER, Command, DESCRIPTOR, Descriptor};

/// A ring for control commands, one at a time.
pub(crate) struct Commands {
    control: File,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
}

impl Commands {
    pub(crate) fn new(control: File) -> io::Result<Commands> {
        let ring = IoUring::builder().build(4)?;
        Ok(Commands { control, ring })
    }

    /// Runs a command on device `number` with a buffer that the driver reads and writes, and waits for its end.
    ///
    /// # Errors
    /// What the driver answered, or that the ring does not work.
    pub(crate) fn run(
        &mut self,
        code: u32,
        number: u32,
        buffer: &mut [u8; BUFFER],
        data: u64,
    ) -> io::Result<()> {
        let mut shared = Box::new(*buffer);
        let address = shared.as_mut_ptr() as u64;
        let command = abi::control_command(number, address, BUFFER as u16, data);
        let entry = opcode::UringCmd80::new(types::Fd(self.control.as_raw_fd()), code)
            .cmd(command)
            .build();
        // SAFETY: the file is open as long as the ring; `shared` lives until the completion has come, or is leaked.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        let done = loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(error) => {
                    // The kernel may still write there.
                    std::mem::forget(shared);
                    return Err(error);
                }
                Ok(_) => {}
            }
            if let Some(done) = self.ring.completion().next() {
                break done;
            }
        };
        buffer.copy_from_slice(shared.as_ref());
        match done.result() {
            0.. => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}

/// Memory that is mapped, and unmapped when dropped.
struct Mapped {
    at: *mut c_void,
    len: usize,
}

// SAFETY: it is memory of the process, and not of one thread.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Leaves it mapped for good.
    fn leak(&mut self) {
        self.len = 0;
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        let _ = unsafe { munmap(self.at, self.len) };
    }
}

/// What is done with a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Nothing yet: it was not handed out.
    Unused,
    /// The kernel: its command is in flight, and the kernel may write to its buffer.
    Kernel,
    /// This process: a request is to be served.
    Server,
}

/// A queue's ring, the kernel's descriptors of requests, and a buffer for each tag.
pub(crate) struct Tags {
    ring: IoUring<squeue::Entry, cqueue::Entry>,
    node: File,
    descriptors: Mapped,
    buffers: Mapped,
    /// Bytes of a buffer.
    len: usize,
    owners: Vec<Owner>,
}

impl Tags {
    /// `depth` tags of the device whose node is open.
    pub(crate) fn new(node: File, depth: u16, len: usize) -> io::Result<Tags> {
        let entries = u32::from(depth);
        // Made for one thread whose completions wait for it (Linux 6.1), or without that.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entries)
            .or_else(|error| match error.raw_os_error() {
                Some(libc::EINVAL) => IoUring::new(entries),
                _ => Err(error),
            })?;
        let page = rustix::param::page_size();
        let size = (usize::from(depth) * DESCRIPTOR).next_multiple_of(page);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let at = unsafe {
            let flags = MapFlags::SHARED | MapFlags::POPULATE;
            mmap(null_mut(), size, ProtFlags::READ, flags, &node, 0)?
        };
        let descriptors = Mapped { at, len: size };
        let size = usize::from(depth) * len;
        // SAFETY: as above.
        let at = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(null_mut(), size, access, MapFlags::PRIVATE)?
        };
        Ok(Tags {
            ring,
            node,
            descriptors,
            buffers: Mapped { at, len: size },
            len,
            owners: vec![Owner::Unused; usize::from(depth)],
        })
    }

    fn buffer(&self, tag: u16) -> *mut u8 {
        // In bounds: callers look the tag up in `owners`, which has one for each buffer.
        self.buffers
            .at
            .cast::<u8>()
            .wrapping_add(usize::from(tag) * self.len)
    }

    /// Hands a tag to the kernel with a command; false where it has it already.
    ///
    /// # Errors
    /// The ring does not work.
    pub(crate) fn give(
        &mut self,
        tag: u16,
        command: Command,
        encoded: bool,
        result: i32,
    ) -> io::Result<bool> {
        match self.owners.get(usize::from(tag)) {
            None | Some(Owner::Kernel) => return Ok(false),
            Some(Owner::Unused | Owner::Server) => {}
        }
        let payload = abi::io_command(tag, result, self.buffer(tag) as u64);
        let fd = types::Fd(self.node.as_raw_fd());
        let entry = opcode::UringCmd16::new(fd, command.code(encoded))
            .cmd(payload)
            .build()
            .user_data(u64::from(tag));
        loop {
            // SAFETY: the file and the buffer stay until the ring is gone, and the buffer is not accessed before the tag is
            // this process's again.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                break;
            }
            self.ring.submit()?;
        }
        self.owners[usize::from(tag)] = Owner::Kernel;
        Ok(true)
    }

    /// Gives the kernel what was handed to it, and waits until a tag comes back, or for so long.
    ///
    /// # Errors
    /// The ring does not work.
    pub(crate) fn wait(&mut self, patience: Option<Duration>) -> io::Result<()> {
        let waited = match patience {
            None => self.ring.submit_and_wait(1),
            Some(patience) => {
                let patience = types::Timespec::from(patience);
                let arguments = types::SubmitArgs::new().timespec(&patience);
                self.ring.submitter().submit_with_args(1, &arguments)
            }
        };
        match waited {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// The next tag that came back, with the driver's result.
    pub(crate) fn take(&mut self) -> Option<(u16, i32)> {
        loop {
            let done = self.ring.completion().next()?;
            let tag = done.user_data() as u16;
            let Some(owner) = self.owners.get_mut(usize::from(tag)) else {
                continue;
            };
            // After an error there is no request, and the tag is not used again.
            *owner = match done.result() {
                0.. => Owner::Server,
                _ => Owner::Unused,
            };
            return Some((tag, done.result()));
        }
    }

    /// Whether the kernel has a tag.
    pub(crate) fn are_given(&self) -> bool {
        self.owners.contains(&Owner::Kernel)
    }

    /// Whether every tag was taken back by the driver.
    pub(crate) fn are_over(&self) -> bool {
        self.owners.iter().all(|owner| *owner == Owner::Unused)
    }

    /// What the kernel wants of a tag; none where it is the kernel's.
    pub(crate) fn descriptor(&self, tag: u16) -> Option<Descriptor> {
        if self.owners.get(usize::from(tag)) != Some(&Owner::Server) {
            return None;
        }
        let at = self.descriptors.at.cast::<u64>();
        let at = at.wrapping_add(usize::from(tag) * (DESCRIPTOR / size_of::<u64>()));
        // SAFETY: within the mapping, which is aligned to pages; descriptors have 24 bytes and the alignment of 8. The kernel wrote
        // it before the completion, and does not write to it again before the tag is given back.
        let (first, start) = unsafe { (at.read_volatile(), at.wrapping_add(1).read_volatile()) };
        Some(Descriptor::of(first, start))
    }

    /// The bytes of a tag; none where they are the kernel's.
    pub(crate) fn bytes(&mut self, tag: u16) -> Option<&mut [u8]> {
        if self.owners.get(usize::from(tag)) != Some(&Owner::Server) {
            return None;
        }
        // SAFETY: within the mapping, and the kernel does not access it before the tag is given back, for which this
        // reference must have ended.
        Some(unsafe { std::slice::from_raw_parts_mut(self.buffer(tag), self.len) })
    }
}

impl Drop for Tags {
    fn drop(&mut self) {
        // The kernel copies into the buffer of a tag that it has, and gives those of a closed ring up later.
        if self.are_given() {
            self.buffers.leak();
        }
    }
}
