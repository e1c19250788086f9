//! ioctls of block and loop devices (linux/fs.h, linux/loop.h).
#![allow(unsafe_code)] // ioctl(2) takes raw pointers; every argument here is a plain C struct.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::io::Result;
use rustix::ioctl::{Getter, IntegerSetter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl};

const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_GET_STATUS64: Opcode = 0x4C05;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: Opcode = 0x4C82;
const BLKROGET: Opcode = 0x125E;
const BLKFLSBUF: Opcode = 0x1261;
const BLKRASET: Opcode = 0x1262;
const BLKRAGET: Opcode = 0x1263;
const BLKSSZGET: Opcode = 0x1268;
const BLKDISCARD: Opcode = 0x1277;
const BLKZEROOUT: Opcode = 0x127F;
const BLKGETSIZE64: Opcode = rustix::ioctl::opcode::read::<usize>(0x12, 114);

/// `LO_FLAGS_AUTOCLEAR`: detached at the last close.
pub(crate) const LOOP_AUTOCLEAR: u32 = 4;
/// `LO_FLAGS_DIRECT_IO`.
pub(crate) const LOOP_DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

/// `LOOP_CTL_GET_FREE` answers with its return value.
struct GetFree;

// SAFETY: the opcode takes no argument, so the null pointer is never followed, and only the
// returned integer is used.
unsafe impl Ioctl for GetFree {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut core::ffi::c_void {
        core::ptr::null_mut()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut core::ffi::c_void) -> Result<u32> {
        Ok(out as u32)
    }
}

/// Number of a loop device that was free a moment ago (another process may take it first).
pub(crate) fn loop_free_number(control: BorrowedFd<'_>) -> Result<u32> {
    // SAFETY: GetFree describes LOOP_CTL_GET_FREE as linux/loop.h does.
    unsafe { ioctl(control, GetFree) }
}

/// Binds a file to a loop device in one step. `EBUSY`: another process took the device.
pub(crate) fn loop_configure(
    device: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    block_size: u32,
    flags: u32,
    name: &[u8],
) -> Result<()> {
    let mut file_name = [0u8; 64];
    // The kernel wants a terminating zero; the name is only for people (losetup, sysfs have the path).
    let length = name.len().min(63);
    file_name[..length].copy_from_slice(&name[..length]);
    let config = LoopConfig {
        fd: file.as_raw_fd() as u32,
        block_size,
        info: LoopInfo64 {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags,
            file_name,
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: LoopConfig has the layout of struct loop_config, which LOOP_CONFIGURE reads.
    unsafe { ioctl(device, Setter::<LOOP_CONFIGURE, LoopConfig>::new(config)) }
}

/// Unbinds the file of a loop device. Still open elsewhere: the kernel does it at the last close.
pub(crate) fn loop_clear(device: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: LOOP_CLR_FD takes no argument.
    unsafe { ioctl(device, NoArg::<LOOP_CLR_FD>::new()) }
}

/// What a loop device is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoopStatus {
    /// `st_dev` of the backing file, major and minor.
    pub(crate) device: (u32, u32),
    /// Its inode number.
    pub(crate) inode: u64,
    /// Its own number where it is a block device.
    pub(crate) block: Option<(u32, u32)>,
}

/// What a loop device is over. `ENXIO`: nothing.
pub(crate) fn loop_status(device: impl AsFd) -> Result<LoopStatus> {
    // SAFETY: LOOP_GET_STATUS64 writes a struct loop_info64, whose layout LoopInfo64 has; every
    // bit pattern of it is a value.
    let info = unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopInfo64>::new()) }?;
    // The inverse of new_encode_dev() of linux/kdev_t.h.
    let number = |dev: u64| {
        let dev = dev as u32;
        ((dev & 0xf_ff00) >> 8, (dev & 0xff) | (dev >> 12 & 0xf_ff00))
    };
    Ok(LoopStatus {
        device: number(info.device),
        inode: info.inode,
        block: (info.rdevice != 0).then(|| number(info.rdevice)),
    })
}

/// The file that a loop device is bound to: `st_dev` as stat(2) has it, and inode number. `ENXIO`: to none.
pub(crate) fn loop_file(device: impl AsFd) -> Result<(u64, u64)> {
    let status = loop_status(device)?;
    let (major, minor) = status.device;
    Ok((rustix::fs::makedev(major, minor), status.inode))
}

/// Size in bytes.
pub(crate) fn size(device: impl AsFd) -> Result<u64> {
    // SAFETY: BLKGETSIZE64 writes a u64 (its opcode says size_t for historic reasons).
    unsafe { ioctl(device, Getter::<BLKGETSIZE64, u64>::new()) }
}

/// Logical sector size in bytes.
pub(crate) fn sector_size(device: impl AsFd) -> Result<u32> {
    // SAFETY: BLKSSZGET writes an int.
    unsafe { ioctl(device, Getter::<BLKSSZGET, core::ffi::c_int>::new()) }.map(|n| n as u32)
}

/// Whether the device is marked read-only.
pub(crate) fn read_only(device: impl AsFd) -> Result<bool> {
    // SAFETY: BLKROGET writes an int.
    unsafe { ioctl(device, Getter::<BLKROGET, core::ffi::c_int>::new()) }.map(|n| n != 0)
}

/// Writes back and drops the device's own page cache.
pub(crate) fn flush_buffers(device: impl AsFd) -> Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(device, NoArg::<BLKFLSBUF>::new()) }
}

/// Sets readahead, in sectors of 512 bytes whatever the device's sector size (blockdev --setra).
pub(crate) fn set_readahead(device: impl AsFd, sectors: u64) -> Result<()> {
    // SAFETY: BLKRASET takes its number by value.
    unsafe {
        ioctl(
            device,
            IntegerSetter::<BLKRASET>::new_usize(sectors as usize),
        )
    }
}

/// Reads readahead back, in sectors of 512 bytes.
pub(crate) fn readahead(device: impl AsFd) -> Result<u64> {
    // SAFETY: BLKRAGET writes a long.
    unsafe { ioctl(device, Getter::<BLKRAGET, core::ffi::c_long>::new()) }.map(|n| n as u64)
}

/// Discards a range.
pub(crate) fn discard(device: impl AsFd, offset: u64, length: u64) -> Result<()> {
    // SAFETY: BLKDISCARD reads an array of two u64.
    unsafe {
        ioctl(
            device,
            Setter::<BLKDISCARD, [u64; 2]>::new([offset, length]),
        )
    }
}

/// Fills a range with zeros, by the device's own command where it has one.
pub(crate) fn zero_out(device: impl AsFd, offset: u64, length: u64) -> Result<()> {
    // SAFETY: BLKZEROOUT reads an array of two u64.
    unsafe {
        ioctl(
            device,
            Setter::<BLKZEROOUT, [u64; 2]>::new([offset, length]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_kernels_sizes() {
        assert_eq!(size_of::<LoopInfo64>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
        assert_eq!(BLKGETSIZE64, 0x8008_1272);
    }
}
