//! Peak memory of this process, as the kernel counts it.

use std::io;

use crate::Roots;

/// `VmHWM` of `/proc/self/status`: the largest resident set of this process so far, bytes.
///
/// # Errors
/// When the file cannot be read or has no such line.
pub fn peak_rss() -> io::Result<u64> {
    status_bytes("VmHWM")
}

/// `VmRSS`: the resident set of this process now, bytes.
///
/// # Errors
/// As [`peak_rss`].
pub fn rss() -> io::Result<u64> {
    status_bytes("VmRSS")
}

/// Sets the peak back to the present resident set (`5` to `/proc/self/clear_refs`, proc(5)), so
/// that the next [`peak_rss`] speaks of what follows.
///
/// # Errors
/// When the kernel has no CONFIG_PROC_PAGE_MONITOR or refuses the write.
pub fn reset_peak() -> io::Result<()> {
    std::fs::write(Roots::default().proc.join("self/clear_refs"), "5")
}

fn status_bytes(key: &str) -> io::Result<u64> {
    let path = Roots::default().proc.join("self/status");
    let text = std::fs::read_to_string(&path)?;
    parse_status(&text, key).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} has no line {key}", path.display()),
        )
    })
}

/// One KiB line of a `status` file, in bytes.
fn parse_status(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(crate::meminfo::parse_line)
        .find(|(k, _)| *k == key)
        .and_then(|(_, kib)| kib.checked_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_follows_a_large_allocation() {
        let before = peak_rss().unwrap();
        let block = vec![1_u8; 64 << 20];
        let grown = peak_rss().unwrap();
        assert!(grown >= before.max(64 << 20), "{before} {grown}");
        drop(block);
        reset_peak().unwrap();
        let after = peak_rss().unwrap();
        assert!(after < grown - (32 << 20), "{grown} {after}");
        assert!(rss().unwrap() <= after + (8 << 20));
    }

    #[test]
    fn lines_are_kib() {
        assert_eq!(
            parse_status("VmPeak:\t 8 kB\nVmHWM:\t  1500 kB\n", "VmHWM"),
            Some(1_536_000)
        );
    }
}
