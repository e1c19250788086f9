//! The four commands of blktrace's interface (include/uapi/linux/fs.h, blktrace_api.h).

#![allow(unsafe_code)] // ioctl(2)

use std::fs::File;
use std::io;

use rustix::ioctl::{NoArg, Opcode, Updater, ioctl};

const SETUP: Opcode = 0xc048_1273;
const START: Opcode = 0x1274;
const STOP: Opcode = 0x1275;
const TEARDOWN: Opcode = 0x1276;

/// `struct blk_user_trace_setup`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Setup {
    name: [u8; 32],
    act_mask: u16,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
}

/// Begins a trace that does not run yet: `buffers` of `size` bytes for each CPU. The name of its folder
/// below debugfs's `block`.
pub(super) fn setup(node: &File, mask: u16, size: u32, buffers: u32) -> io::Result<String> {
    let mut setup = Setup {
        act_mask: mask,
        buf_size: size,
        buf_nr: buffers,
        ..Setup::default()
    };
    // SAFETY: the opcode is BLKTRACESETUP, which reads and writes a struct blk_user_trace_setup of 72
    // bytes; `Setup` has its layout (see the test) and lives until the call returns.
    unsafe { ioctl(node, Updater::<SETUP, Setup>::new(&mut setup)) }?;
    let name = setup.name.split(|&byte| byte == 0).next();
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}

/// Lets it run.
pub(super) fn start(node: &File) -> io::Result<()> {
    // SAFETY: BLKTRACESTART has no argument.
    unsafe { ioctl(node, NoArg::<START>::new()) }.map_err(io::Error::from)
}

/// Stops it and hands out what is in its buffers.
pub(super) fn stop(node: &File) -> io::Result<()> {
    // SAFETY: BLKTRACESTOP has no argument.
    unsafe { ioctl(node, NoArg::<STOP>::new()) }.map_err(io::Error::from)
}

/// Ends it; its files vanish.
pub(super) fn teardown(node: &File) -> io::Result<()> {
    // SAFETY: BLKTRACETEARDOWN has no argument.
    unsafe { ioctl(node, NoArg::<TEARDOWN>::new()) }.map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_argument_is_the_kernels() {
        assert_eq!(size_of::<Setup>(), 72);
        let offsets = [
            offset_of!(Setup, act_mask),
            offset_of!(Setup, buf_size),
            offset_of!(Setup, buf_nr),
            offset_of!(Setup, start_lba),
            offset_of!(Setup, end_lba),
            offset_of!(Setup, pid),
        ];
        assert_eq!(offsets, [32, 36, 40, 48, 56, 64]);
        // _IOWR(0x12, 115, struct): direction 3, size, type, number.
        assert_eq!(SETUP, 3 << 30 | 0x48 << 16 | 0x12 << 8 | 0x73);
        assert_eq!(
            [START, STOP, TEARDOWN],
            [0x74, 0x75, 0x76].map(|n| 0x12 << 8 | n)
        );
    }

    #[test]
    fn what_is_no_block_device_refuses_them() {
        let file = tempfile::tempfile().unwrap();
        assert!(setup(&file, 0, 512 << 10, 4).is_err());
        assert!(start(&file).is_err() && stop(&file).is_err() && teardown(&file).is_err());
    }
}
