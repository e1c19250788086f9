//! `/dev/kmsg`: the kernel's log records with their sequence numbers and monotonic times.
//!
//! A run remembers the last sequence number at its start and reports what came after it: an I/O
//! error or a "task blocked for more than 120 seconds" explains a number better than any counter.
//! The record's time is CLOCK_MONOTONIC in microseconds, the sampler's clock.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use crate::Roots;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Line {
    /// syslog level, 0 (emergency) to 7 (debug).
    pub level: u8,
    /// Sequence number since boot.
    pub sequence: u64,
    /// CLOCK_MONOTONIC, microseconds.
    pub at_us: u64,
    /// The text, without the dictionary lines.
    pub text: String,
}

/// Parses one record: `6,339,5140900,-;text` (Documentation/ABI/testing/dev-kmsg).
pub fn parse(record: &str) -> Option<Line> {
    let (head, rest) = record.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    Some(Line {
        level: (priority & 7) as u8,
        sequence: fields.next()?.parse().ok()?,
        at_us: fields.next()?.parse().ok()?,
        text: rest.lines().next().unwrap_or_default().to_owned(),
    })
}

/// All records with a sequence number above `after` (all of the ring when `None`).
///
/// # Errors
/// When `/dev/kmsg` cannot be opened (needs root or CAP_SYSLOG under dmesg_restrict) or read.
pub fn since(roots: &Roots, after: Option<u64>) -> io::Result<Vec<Line>> {
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(roots.dev.join("kmsg"))?;
    let mut lines = Vec::new();
    let mut buffer = vec![0_u8; 8192];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                let record = String::from_utf8_lossy(&buffer[..n]);
                lines.extend(parse(&record).filter(|l| after.is_none_or(|a| l.sequence > a)));
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            // EPIPE: the ring overran between two reads; the next read continues after the gap.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_parses() {
        let line = parse("6,339,5140900,-;NET: Registered\n SUBSYSTEM=x\n").unwrap();
        assert_eq!((line.level, line.sequence, line.at_us), (6, 339, 5_140_900));
        assert_eq!(line.text, "NET: Registered");
    }

    #[test]
    fn the_ring_reads_in_order_needs_root() {
        if !testkit::root!() {
            return;
        }
        let all = since(&Roots::default(), None).unwrap();
        assert!(all.windows(2).all(|w| w[0].sequence < w[1].sequence));
        let last = all.last().map(|l| l.sequence);
        assert!(last.is_some());
        assert!(since(&Roots::default(), last).unwrap().len() < all.len());
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(record in "([0-9,;\n-]|\\PC){0,80}") {
            let _ = parse(&record);
        }
    }
}
