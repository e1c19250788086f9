//! read, write, pread and pwrite without a function call around the system call.
//!
//! The C library's wrappers are functions, and are cancellation points in a program with threads. The
//! call itself is what costs: on AMD EPYC, whose kernel returns are guarded (Safe RET), a loop of 4 KiB
//! reads from a tmpfs takes 920 ns a read with the instruction in the loop and 1100 ns with any
//! function around it, the C library's or one of three instructions. `libc::syscall` is such a function, too.
//! rustix has the instruction inline in its other backend, which the workspace does not use because
//! it cannot start on User-mode Linux. Only the engine that makes one call a record needs this; on other
//! processors it calls the C library.
#![allow(unsafe_code, reason = "system calls of the engine sync")]

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

/// What a call returned: bytes moved, or the error.
type Moved = Result<usize, Errno>;

#[cfg(target_arch = "x86_64")]
mod call {
    use std::arch::asm;
    use std::os::fd::{AsRawFd, BorrowedFd};

    use rustix::io::Errno;

    use super::Moved;

    /// A system call of a descriptor, a buffer and an offset, which calls without one ignore.
    ///
    /// # Safety
    /// `number` is a call that takes these arguments, and `address` is valid for what it does with
    /// `len` bytes there.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a function around the call is what costs"
    )]
    pub(super) unsafe fn transfer(
        number: libc::c_long,
        file: BorrowedFd<'_>,
        address: *mut u8,
        len: usize,
        offset: u64,
    ) -> Moved {
        let result: isize;
        // SAFETY: the caller's promise is the kernel's contract. The kernel preserves all registers
        // but rax, rcx and r11, and does not touch the stack.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") number as isize => result,
                in("rdi") file.as_raw_fd() as isize,
                in("rsi") address,
                in("rdx") len,
                in("r10") offset,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack)
            );
        }
        if result < 0 {
            return Err(Errno::from_raw_os_error(-result as i32));
        }
        Ok(result as usize)
    }
}

/// Reads at the file's position.
#[inline]
pub(super) fn read(file: BorrowedFd<'_>, bytes: &mut [u8]) -> Moved {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: read(2) writes at most `len` bytes to a buffer that is borrowed mutably.
    return unsafe { call::transfer(libc::SYS_read, file, bytes.as_mut_ptr(), bytes.len(), 0) };
    #[cfg(not(target_arch = "x86_64"))]
    return rustix::io::read(file, bytes);
}

/// Writes at the file's position.
#[inline]
pub(super) fn write(file: BorrowedFd<'_>, bytes: &[u8]) -> Moved {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: write(2) only reads the buffer.
    return unsafe {
        call::transfer(
            libc::SYS_write,
            file,
            bytes.as_ptr().cast_mut(),
            bytes.len(),
            0,
        )
    };
    #[cfg(not(target_arch = "x86_64"))]
    return rustix::io::write(file, bytes);
}

/// Reads at an offset.
#[inline]
pub(super) fn pread(file: BorrowedFd<'_>, bytes: &mut [u8], at: u64) -> Moved {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as `read`; the offset is the fourth argument.
    return unsafe { call::transfer(libc::SYS_pread64, file, bytes.as_mut_ptr(), bytes.len(), at) };
    #[cfg(not(target_arch = "x86_64"))]
    return rustix::io::pread(file, bytes, at);
}

/// Writes at an offset.
#[inline]
pub(super) fn pwrite(file: BorrowedFd<'_>, bytes: &[u8], at: u64) -> Moved {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as `write`; the offset is the fourth argument.
    return unsafe {
        call::transfer(
            libc::SYS_pwrite64,
            file,
            bytes.as_ptr().cast_mut(),
            bytes.len(),
            at,
        )
    };
    #[cfg(not(target_arch = "x86_64"))]
    return rustix::io::pwrite(file, bytes, at);
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn each_call_moves_bytes_where_it_should_and_reports_errors() {
        let file = tempfile::tempfile().unwrap();
        let fd = file.as_fd();
        assert_eq!(write(fd, b"0123456789"), Ok(10));
        assert_eq!(pwrite(fd, b"ab", 4), Ok(2));
        let mut bytes = [0; 16];
        // At the position after the write: the end.
        assert_eq!(read(fd, &mut bytes), Ok(0));
        assert_eq!(pread(fd, &mut bytes, 3), Ok(7));
        assert_eq!(&bytes[..7], b"3ab6789");
        rustix::fs::seek(fd, rustix::fs::SeekFrom::Start(8)).unwrap();
        assert_eq!(read(fd, &mut bytes[..1]), Ok(1));
        assert_eq!(bytes[0], b'8');
        let null = File::open("/dev/null").unwrap();
        assert_eq!(write(null.as_fd(), b"x"), Err(Errno::BADF));
        assert_eq!(pread(fd, &mut bytes, u64::MAX), Err(Errno::INVAL));
    }
}
