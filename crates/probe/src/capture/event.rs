//! An event of the blk tracer becomes a record of blktrace.
//!
//! The tracer reserves a `struct blk_io_trace` in the ring buffer and fills it as for blktrace's own
//! relay files, with three exceptions: magic and sequence are under the header that every event of
//! the ring buffer has (`struct trace_entry`, 8 bytes), and the time is the buffer's
//! (kernel/trace/blktrace.c, `__blk_add_trace`). These three are filled in here.
//!
//! Since Linux 6.19 the tracer writes `struct blk_io_trace2` instead, whose action is twice as wide and
//! follows the process. Nothing in tracefs names the layout, but the word where the older one has
//! the device does: a device number has its major from bit 20 on, and the upper half of an action, which
//! is there in the newer one, holds the few categories of operations on zones.

use blktrace::record::{Head, MAGIC, SIZE, VERSION};

/// Bytes of `struct trace_entry` before the record's own time.
const TYPE: usize = 2;

/// Where `struct blk_io_trace` has the device, and the least that one is: major 1.
const DEVICE: usize = 36;
const LEAST_DEVICE: u32 = 1 << 20;
/// Bytes of `struct blk_io_trace2`.
const SIZE2: usize = 64;

/// Takes an event apart: the record, without sequence, and its PDU. None when it is of another type
/// than `blk`, or is no whole record.
pub(super) fn record(data: &[u8], time: u64, blk: u16) -> Option<(Head, &[u8])> {
    let kind = u16::from_ne_bytes(data.get(..TYPE)?.try_into().ok()?);
    if kind != blk {
        return None;
    }
    let (mut bytes, size) = older(data)?;
    bytes[..4].copy_from_slice(&(MAGIC | u32::from(VERSION)).to_ne_bytes());
    let mut head = Head::parse(&bytes).ok()?;
    head.time = time;
    head.sequence = 0;
    let pdu = data.get(size..size + usize::from(head.pdu_len))?;
    Some((head, pdu))
}

/// An event as `struct blk_io_trace` has it, and where its PDU begins.
fn older(data: &[u8]) -> Option<([u8; SIZE], usize)> {
    let mut bytes: [u8; SIZE] = data.get(..SIZE)?.try_into().ok()?;
    let device = u32::from_ne_bytes(data.get(DEVICE..DEVICE + 4)?.try_into().ok()?);
    if device >= LEAST_DEVICE {
        return Some((bytes, SIZE));
    }
    let newer: [u8; SIZE2] = data.get(..SIZE2)?.try_into().ok()?;
    let action = u64::from_ne_bytes(newer[32..40].try_into().ok()?);
    // The lower half is the whole action of before; categories above it have no place there.
    bytes[28..32].copy_from_slice(&(action as u32).to_ne_bytes());
    bytes[32..36].copy_from_slice(&newer[28..32]);
    bytes[36..48].copy_from_slice(&newer[40..52]);
    Some((bytes, SIZE2))
}

/// The type of the blk tracer's events: in `enum trace_type` it is between `TRACE_USER_STACK`
/// and `TRACE_BPUTS`, whose numbers are in their `format` files (it has none itself). Numbers
/// before it move from kernel to kernel, this order has stood since 3.10. None when the two do not
/// leave exactly one number between them.
pub(super) fn type_of_blk(user_stack: &str, bputs: &str) -> Option<u16> {
    let id = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("ID:"))?;
        line.trim().parse::<u16>().ok()
    };
    let (before, after) = (id(user_stack)?, id(bputs)?);
    (before.checked_add(2)? == after).then_some(before + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_type_stands_between_its_neighbours() {
        let format = |id: u16| format!("name: x\nID: {id}\nformat:\n");
        assert_eq!(type_of_blk(&format(13), &format(15)), Some(14));
        assert_eq!(type_of_blk(&format(13), &format(16)), None);
        assert_eq!(type_of_blk("", &format(16)), None);
        assert_eq!(type_of_blk(&format(u16::MAX), &format(0)), None);
    }

    #[test]
    fn magic_sequence_and_time_are_filled_in() {
        let expected = Head {
            sector: 8,
            bytes: 4096,
            action: 0x0011_0001,
            pid: 7,
            device: 7 << 20 | 3,
            cpu: 1,
            pdu_len: 8,
            ..Head::default()
        };
        let mut data = expected.to_bytes().to_vec();
        data[..8].copy_from_slice(&[14, 0, 1, 1, 7, 0, 0, 0]);
        data.extend([0, 0, 0, 0, 0, 0, 0, 5]);
        let kind = u16::from_ne_bytes([14, 0]);
        let (head, pdu) = record(&data, 99, kind).unwrap();
        assert_eq!(
            head,
            Head {
                time: 99,
                ..expected
            }
        );
        assert_eq!(pdu, [0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(record(&data, 99, kind + 1), None);
        assert_eq!(record(&data[..54], 99, kind), None, "the PDU is cut");
        assert_eq!(record(&data[..40], 99, kind), None);
    }

    /// The fields where include/uapi/linux/blktrace_api.h has them since 6.19.
    #[test]
    fn the_wider_record_is_the_same_event() {
        let expected = Head {
            sector: 1 << 40,
            bytes: 4096,
            action: 0x0011_0001,
            pid: 7,
            device: 9 << 20,
            cpu: 1,
            error: 5,
            pdu_len: 8,
            ..Head::default()
        };
        let mut data = vec![14, 0, 1, 1, 7, 0, 0, 0];
        data.extend(3_u64.to_ne_bytes());
        data.extend(expected.sector.to_ne_bytes());
        data.extend(expected.bytes.to_ne_bytes());
        data.extend(expected.pid.to_ne_bytes());
        // With a category of zones in the upper half.
        data.extend((1_u64 << 38 | u64::from(expected.action)).to_ne_bytes());
        data.extend(expected.device.to_ne_bytes());
        data.extend(expected.cpu.to_ne_bytes());
        data.extend(expected.error.to_ne_bytes());
        data.extend(expected.pdu_len.to_ne_bytes());
        data.extend([0; 12]);
        data.extend([0, 0, 0, 0, 0, 0, 0, 5]);
        let kind = u16::from_ne_bytes([14, 0]);
        let (head, pdu) = record(&data, 99, kind).unwrap();
        assert_eq!(
            head,
            Head {
                time: 99,
                ..expected
            }
        );
        assert_eq!(pdu, [0, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(record(&data[..70], 99, kind), None, "the PDU is cut");
        assert_eq!(record(&data[..60], 99, kind), None);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(
            data in proptest::collection::vec(any::<u8>(), 0..80),
            kind in any::<u16>(),
        ) {
            let _ = record(&data, 1, kind);
        }
    }
}
