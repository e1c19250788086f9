//! Memory that the process holds and does not need: freed lists, and the pages of the program and its libraries.
//!
//! glibc maps large blocks one by one, and gives each back when it is freed. After the first of them is freed it raises the size from which it
//! does so, up to 32 MiB; larger lists are then copied when they grow, within heaps that keep what is free. A check of 150,000 directories
//! took 37 to 45 MB so, and 27 MB without.
//!
//! A fault on a page of a program maps the 64 KiB around it (Linux: `fault_around_bytes`), and all of that counts as resident. Relocating
//! a large program, reading its arguments and starting its threads touch most of what it will ever touch, in a few
//! milliseconds; the passes then work in a small part of it. On a filesystem of a million inodes those pages were two thirds of all that
//! a check had (docs/decisions/0012-check-speed.md). So they are unmapped before each pass. They stay in the page cache:
//! what is needed again costs a minor fault per 64 KiB.
#![allow(unsafe_code)] // dl_iterate_phdr(3) and madvise(2) of the program's own mappings; mallopt(3).

use std::ffi::{c_int, c_void};

use rustix::mm::{Advice, madvise};

/// Blocks of this many bytes and more are given back to the kernel when they are freed; glibc's own size at the start.
#[cfg(target_env = "gnu")]
const MAPPED: c_int = 128 << 10;

/// Has the allocator give back large blocks when they are freed. For the whole process: to be called by a program, once.
pub fn give_back_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a parameter of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
    }
}

/// Unmaps all read-only pages of the program and its libraries. Each is mapped again from its file when it is next used.
pub fn give_back_program() {
    // SAFETY: the callback is a function of that type, keeps nothing of what it is shown, and does not unwind.
    unsafe {
        libc::dl_iterate_phdr(Some(give_back), std::ptr::null_mut());
    }
}

/// For one object (the program, a library).
///
/// # Safety
/// Called by dl_iterate_phdr(3), with a valid `info`.
unsafe extern "C" fn give_back(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut c_void,
) -> c_int {
    // SAFETY: the caller guarantees it.
    let info = unsafe { &*info };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the array has that many headers as long as the object is loaded, and the loader holds its lock while this runs.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let page = rustix::param::page_size();
    for header in headers {
        if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W != 0 {
            continue;
        }
        // Whole pages of this segment alone: the page of its end may belong to the next one, which is written to.
        let first = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        let end = first.wrapping_add(header.p_memsz as usize) / page * page;
        let start = first.next_multiple_of(page);
        if start < end {
            // SAFETY: a segment that is never written, neither by the program nor by relocations, is the same when it is read
            // from its file again. Where the kernel refuses (its own vDSO) all stays as it was.
            let _ = unsafe {
                madvise(
                    std::ptr::with_exposed_provenance_mut(start),
                    end - start,
                    Advice::LinuxDontNeed,
                )
            };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A part of the program that nothing else reads: its middle shares no page with other data.
    static OWN: [u8; 1 << 20] = [7; 1 << 20];

    /// Whether the page of a byte is mapped (`/proc/self/pagemap`, bit 63).
    fn is_present(byte: *const u8) -> bool {
        let page = byte.addr() / rustix::param::page_size();
        let mut entry = [0; 8];
        let pagemap = File::open("/proc/self/pagemap").unwrap();
        pagemap.read_exact_at(&mut entry, page as u64 * 8).unwrap();
        u64::from_le_bytes(entry) >> 63 == 1
    }

    #[test]
    fn the_program_goes_and_comes_back_as_it_was() {
        let middle = &OWN[1 << 19];
        // A pointer of which nothing is known is read each time.
        let read = || *std::hint::black_box(middle);
        assert_eq!(read(), 7);
        assert!(is_present(middle));
        give_back_program();
        assert!(!is_present(middle));
        // Constants, code and what was relocated are as they were.
        assert_eq!(read(), 7);
        assert!(is_present(middle));
        let words: Vec<String> = vec!["a", "b"].into_iter().map(str::to_uppercase).collect();
        assert_eq!(words.join(" "), "A B");
        assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
    }
}
