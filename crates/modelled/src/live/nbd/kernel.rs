//! The kernel's driver of network block devices, on a socket of this process.
//!
//! The driver is given one end of a pair of sockets, the size and what the device can do (`include/uapi/linux/nbd.h`); the other end is
//! served as a client's connection is, without negotiation. A thread lends itself to the driver until the device is disconnected.
#![allow(
    unsafe_code,
    reason = "ioctl(2); every argument here is a number or a descriptor"
)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::ioctl::{IntegerSetter, NoArg, Opcode, ioctl, opcode};

use super::{Live, flags};

/// The driver's number.
const MAJOR: u32 = 43;
/// Bytes of the smallest request.
const BLOCK: u64 = 512;

const SET_SOCK: Opcode = opcode::none(0xab, 0);
const SET_BLKSIZE: Opcode = opcode::none(0xab, 1);
const DO_IT: Opcode = opcode::none(0xab, 3);
const CLEAR_SOCK: Opcode = opcode::none(0xab, 4);
const SET_SIZE_BLOCKS: Opcode = opcode::none(0xab, 7);
const DISCONNECT: Opcode = opcode::none(0xab, 8);
const SET_FLAGS: Opcode = opcode::none(0xab, 10);

/// A device of the driver that this process serves.
pub struct Attached {
    device: File,
    ours: UnixStream,
    /// The driver holds the socket itself, once it has it.
    _theirs: UnixStream,
    /// Whether it was disconnected: from then on the device may be another's.
    is_over: AtomicBool,
}

impl Attached {
    /// Gives a free device of the driver (`/dev/nbd0`) the size of a modelled one.
    ///
    /// # Errors
    /// It is none of the driver's, it is in use, or this process may not.
    pub fn new(node: &Path, live: &Live) -> io::Result<Attached> {
        let metadata = std::fs::metadata(node)?;
        let is_nbd =
            metadata.file_type().is_block_device() && rustix::fs::major(metadata.rdev()) == MAJOR;
        if !is_nbd {
            return Err(io::Error::other("not a device of the driver nbd"));
        }
        let device = OpenOptions::new().read(true).write(true).open(node)?;
        let (ours, theirs) = UnixStream::pair()?;
        set::<SET_SOCK>(&device, theirs.as_raw_fd() as usize)?;
        let attached = Attached {
            device,
            ours,
            _theirs: theirs,
            is_over: AtomicBool::new(false),
        };
        set::<SET_BLKSIZE>(&attached.device, BLOCK as usize)?;
        set::<SET_SIZE_BLOCKS>(&attached.device, (live.size() / BLOCK) as usize)?;
        set::<SET_FLAGS>(&attached.device, usize::from(flags(live)))?;
        Ok(attached)
    }

    /// Serves its requests until it is disconnected.
    ///
    /// # Errors
    /// The driver does not speak the protocol.
    pub fn serve(&self, live: &Live) -> io::Result<()> {
        super::requests(live, self.ours.try_clone()?)
    }

    /// Lends this thread to the driver until the device is disconnected.
    pub fn lend(&self) {
        // How it ended is no matter: the device is gone either way.
        // SAFETY: the ioctl takes no argument.
        let _ = unsafe { ioctl(&self.device, NoArg::<DO_IT>::new()) };
    }

    /// Disconnects the device: requests in flight fail.
    pub fn disconnect(&self) {
        if self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        // SAFETY: neither ioctl takes an argument.
        unsafe {
            let _ = ioctl(&self.device, NoArg::<DISCONNECT>::new());
            let _ = ioctl(&self.device, NoArg::<CLEAR_SOCK>::new());
        }
        let _ = self.ours.shutdown(std::net::Shutdown::Both);
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.disconnect();
    }
}

fn set<const OPCODE: Opcode>(device: &File, value: usize) -> io::Result<()> {
    // SAFETY: these ioctls take a number by value: a descriptor, a size, flags.
    Ok(unsafe { ioctl(device, IntegerSetter::<OPCODE>::new_usize(value)) }?)
}
