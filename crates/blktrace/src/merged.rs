//! The merged file that btt reads: all records in order, back to back, in this machine's byte order.
//!
//! It is what `blkparse -d` writes beside its text, bytes and all: times count from the first event,
//! remaps carry the device they became, events of no category are left out. Notes keep their own time
//! and are where blkparse took them, up to a batch before their turn. [`crate::Trace::open`] reads
//! such a file as it reads the files of the CPUs.

use std::io::Write;

use crate::error::Error;
use crate::record::{self, Action, Category};
use crate::trace::Trace;

/// Bytes that are gathered before they are written.
const CHUNK: usize = 256 * 1024;

/// Writes a trace as one merged file; the number of records.
///
/// # Errors
/// A trace that is damaged, after what precedes the damage; an output that cannot be written.
pub fn write(trace: &mut Trace, out: &mut impl Write) -> Result<u64, Error> {
    let genesis = trace.genesis();
    let mut bytes = Vec::with_capacity(CHUNK + 4096);
    let mut records = 0;
    let failed = loop {
        let event = match trace.next() {
            Ok(Some((_, event))) => event,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        let mut head = event.head;
        let note = head.has(Category::Notify) && !head.is_plain_message();
        if !note {
            if head.action >> 16 == 0 {
                continue;
            }
            head.time = head.time.wrapping_sub(genesis);
            let plain = head.action & 0xffff == Action::Remap as u32;
            if plain && !head.has(Category::Passthrough) {
                head.device = record::remap(event.pdu).map_or(head.device, |remap| remap.to);
            }
        }
        bytes.extend_from_slice(&head.to_bytes());
        bytes.extend_from_slice(event.pdu);
        records += 1;
        if bytes.len() >= CHUNK {
            out.write_all(&bytes).map_err(Error::Output)?;
            bytes.clear();
        }
    };
    out.write_all(&bytes)
        .and_then(|()| out.flush())
        .map_err(Error::Output)?;
    failed.map_or(Ok(records), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::Forge;

    #[test]
    fn a_merged_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        Forge::hostile(3, 400).write(folder.path(), "sda").unwrap();
        let mut first = Vec::new();
        let mut trace = Trace::open(&folder.path().join("sda")).unwrap();
        let records = write(&mut trace, &mut first).unwrap();
        let path = folder.path().join("merged");
        std::fs::write(&path, &first).unwrap();
        let mut merged = Trace::open(&path).unwrap();
        assert!(merged.is_merged());
        let mut again = Vec::new();
        assert_eq!(write(&mut merged, &mut again).unwrap(), records);
        assert_eq!(first, again);
    }
}
