//! The driver's interface as bytes: `include/uapi/linux/ublk_cmd.h`.

/// A command's number: as the driver's first versions had it (6.0 to 6.3), and encoded as an ioctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    number: u32,
    /// Direction bits of the encoding: 2 reads, 3 reads and writes.
    direction: u32,
    /// Bytes of the struct that is encoded.
    size: u32,
}

const READS: u32 = 2;
const BOTH: u32 = 3;

const fn control(number: u32, direction: u32) -> Command {
    Command {
        number,
        direction,
        size: 32,
    }
}

const fn io(number: u32) -> Command {
    Command {
        number,
        direction: BOTH,
        size: 16,
    }
}

pub(crate) const GET_DEV_INFO: Command = control(0x02, READS);
pub(crate) const ADD_DEV: Command = control(0x04, BOTH);
pub(crate) const DEL_DEV: Command = control(0x05, BOTH);
pub(crate) const START_DEV: Command = control(0x06, BOTH);
pub(crate) const STOP_DEV: Command = control(0x07, BOTH);
pub(crate) const SET_PARAMS: Command = control(0x08, BOTH);
pub(crate) const DEL_DEV_ASYNC: Command = control(0x14, READS);
pub(crate) const FETCH_REQ: Command = io(0x20);
pub(crate) const COMMIT_AND_FETCH_REQ: Command = io(0x21);

impl Command {
    /// The code of an `io_uring` command.
    pub(crate) const fn code(self, encoded: bool) -> u32 {
        if encoded {
            self.direction << 30 | self.size << 16 | (b'u' as u32) << 8 | self.number
        } else {
            self.number
        }
    }
}

/// A number that the driver chooses.
pub(crate) const ANY: u32 = u32::MAX;

/// `UBLK_S_DEV_DEAD`.
pub(crate) const DEAD: u16 = 0;

pub(crate) const OP_READ: u32 = 0;
pub(crate) const OP_WRITE: u32 = 1;
pub(crate) const OP_FLUSH: u32 = 2;
pub(crate) const OP_DISCARD: u32 = 3;
pub(crate) const FLAG_FUA: u32 = 1 << 13;

const ROTATIONAL: u32 = 1 << 1;
const VOLATILE_CACHE: u32 = 1 << 2;
const FUA: u32 = 1 << 3;

const BASIC: u32 = 1;
const DISCARD: u32 = 1 << 1;

/// Bytes of a descriptor of a request, `struct ublksrv_io_desc`.
pub(crate) const DESCRIPTOR: usize = 24;

/// Bytes of a control command's buffer that is enough for all of them.
pub(crate) const BUFFER: usize = 64;

/// Bytes as the kernel's structs lie in memory.
struct Bytes {
    bytes: [u8; BUFFER],
    at: usize,
}

impl Bytes {
    fn new() -> Bytes {
        Bytes {
            bytes: [0; BUFFER],
            at: 0,
        }
    }

    fn put(mut self, value: &[u8]) -> Self {
        if let Some(place) = self.bytes.get_mut(self.at..self.at + value.len()) {
            place.copy_from_slice(value);
        }
        self.at += value.len();
        self
    }

    fn u8(self, value: u8) -> Self {
        self.put(&[value])
    }

    fn u16(self, value: u16) -> Self {
        self.put(&value.to_ne_bytes())
    }

    fn u32(self, value: u32) -> Self {
        self.put(&value.to_ne_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.put(&value.to_ne_bytes())
    }
}

/// `struct ublksrv_ctrl_cmd`, in the 80 bytes of an `io_uring` command.
pub(crate) fn control_command(number: u32, address: u64, len: u16, data: u64) -> [u8; 80] {
    let head = Bytes::new()
        .u32(number)
        // Of no queue.
        .u16(u16::MAX)
        .u16(len)
        .u64(address)
        .u64(data);
    let mut bytes = [0; 80];
    bytes[..BUFFER].copy_from_slice(&head.bytes);
    bytes
}

/// `struct ublksrv_io_cmd`.
pub(crate) fn io_command(tag: u16, result: i32, address: u64) -> [u8; 16] {
    let command = Bytes::new()
        .u16(0)
        .u16(tag)
        .put(&result.to_ne_bytes())
        .u64(address);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&command.bytes[..16]);
    bytes
}

/// `struct ublksrv_ctrl_dev_info` of a device to be made.
pub(crate) fn device_info(
    number: u32,
    depth: u16,
    largest: u32,
    process: u32,
    mark: u64,
) -> [u8; BUFFER] {
    Bytes::new()
        .u16(1)
        .u16(depth)
        .u16(0)
        .u16(0)
        .u32(largest)
        .u32(number)
        .u32(process)
        .u32(0)
        // No flags.
        .u64(0)
        .u64(mark)
        .bytes
}

/// What is read of a `struct ublksrv_ctrl_dev_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceInfo {
    pub(crate) state: u16,
    pub(crate) number: u32,
    pub(crate) process: i32,
    pub(crate) mark: u64,
}

impl DeviceInfo {
    pub(crate) fn read(bytes: &[u8; BUFFER]) -> DeviceInfo {
        let four = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let mut mark = [0; 8];
        mark.copy_from_slice(&bytes[32..40]);
        DeviceInfo {
            state: u16::from_ne_bytes([bytes[4], bytes[5]]),
            number: u32::from_ne_bytes(four(12)),
            process: i32::from_ne_bytes(four(16)),
            mark: u64::from_ne_bytes(mark),
        }
    }
}

/// What a disk is; see [`crate::Device`].
pub(crate) struct Parameters {
    pub(crate) sectors: u64,
    pub(crate) largest: u32,
    pub(crate) rotational: bool,
    pub(crate) volatile_cache: bool,
}

impl Parameters {
    /// `struct ublk_params`, up to the end of its part about discards.
    pub(crate) fn bytes(&self) -> [u8; BUFFER] {
        let mut attributes = 0;
        if self.rotational {
            attributes |= ROTATIONAL;
        }
        if self.volatile_cache {
            attributes |= VOLATILE_CACHE | FUA;
        }
        // Sectors of 512 bytes, and no hint of a better size.
        let shift = 9;
        Bytes::new()
            .u32(BUFFER as u32)
            .u32(BASIC | DISCARD)
            .u32(attributes)
            .u8(shift)
            .u8(shift)
            .u8(shift)
            .u8(shift)
            .u32(self.largest >> shift)
            .u32(0)
            .u64(self.sectors)
            .u64(0)
            // Discards: alignment, granularity, largest, no zeroes, one segment.
            .u32(0)
            .u32(4096)
            .u32(u32::MAX >> shift)
            .u32(0)
            .u16(1)
            .u16(0)
            .bytes
    }
}

/// What is read of a `struct ublksrv_io_desc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) op: u32,
    pub(crate) flags: u32,
    pub(crate) sectors: u32,
    pub(crate) start: u64,
}

impl Descriptor {
    /// From its first two numbers of 8 bytes.
    pub(crate) fn of(first: u64, start: u64) -> Descriptor {
        let bytes = first.to_ne_bytes();
        let word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Descriptor {
            op: word & 0xff,
            flags: word & !0xff,
            sectors: u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_header() {
        // _IOWR('u', 0x04, struct ublksrv_ctrl_cmd) and its like, of 32 and 16 bytes.
        assert_eq!(ADD_DEV.code(true), 0xc020_7504);
        assert_eq!(GET_DEV_INFO.code(true), 0x8020_7502);
        assert_eq!(FETCH_REQ.code(true), 0xc010_7520);
        assert_eq!(ADD_DEV.code(false), 4);
        assert_eq!(COMMIT_AND_FETCH_REQ.code(false), 0x21);
    }

    #[test]
    fn structs_lie_as_in_the_header() {
        let command = control_command(3, 0x1122, 64, 7);
        assert_eq!(command[..4], 3_u32.to_ne_bytes());
        assert_eq!(command[4..6], [255, 255]);
        assert_eq!(command[6..8], 64_u16.to_ne_bytes());
        assert_eq!(command[8..16], 0x1122_u64.to_ne_bytes());
        assert_eq!(command[16..24], 7_u64.to_ne_bytes());
        assert!(command[24..].iter().all(|byte| *byte == 0));

        let info = device_info(9, 128, 1 << 19, 77, 0xabcd);
        assert_eq!(
            info[..4],
            [1_u16.to_ne_bytes(), 128_u16.to_ne_bytes()].concat()
        );
        let read = DeviceInfo::read(&info);
        let expected = DeviceInfo {
            state: DEAD,
            number: 9,
            process: 77,
            mark: 0xabcd,
        };
        assert_eq!(read, expected);

        let io = io_command(5, -5, 0x4000);
        assert_eq!(io[2..4], 5_u16.to_ne_bytes());
        assert_eq!(io[4..8], (-5_i32).to_ne_bytes());
        assert_eq!(io[8..], 0x4000_u64.to_ne_bytes());
    }

    #[test]
    fn caches_decide_what_is_advertised() {
        let attributes = |rotational, volatile_cache| {
            let parameters = Parameters {
                sectors: 2048,
                largest: 1 << 19,
                rotational,
                volatile_cache,
            };
            let bytes = parameters.bytes();
            assert_eq!(bytes[16..20], 1024_u32.to_ne_bytes());
            assert_eq!(bytes[24..32], 2048_u64.to_ne_bytes());
            u32::from_ne_bytes([bytes[8], bytes[9], bytes[10], bytes[11]])
        };
        assert_eq!(attributes(false, false), 0);
        assert_eq!(attributes(true, false), 2);
        // Without a cache there is nothing to flush, and a write is on the medium.
        assert_eq!(attributes(false, true), 4 + 8);
    }

    #[test]
    fn a_descriptor_is_two_numbers() {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&(1 | FLAG_FUA | 1 << 8).to_ne_bytes());
        bytes[4..].copy_from_slice(&8_u32.to_ne_bytes());
        let read = Descriptor::of(u64::from_ne_bytes(bytes), 4096);
        assert_eq!((read.op, read.sectors, read.start), (OP_WRITE, 8, 4096));
        assert!(read.flags & FLAG_FUA != 0);
    }
}
