//! The requests of a disk, for the thread that serves it.

use std::fs::OpenOptions;
use std::io;
use std::time::Duration;

use crate::SECTOR;
use crate::abi::{
    COMMIT_AND_FETCH_REQ, FETCH_REQ, FLAG_FUA, OP_DISCARD, OP_FLUSH, OP_READ, OP_WRITE,
};
use crate::control::{DEPTH, Device, LARGEST};
use crate::ring::Tags;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads into the tag's bytes.
    Read,
    /// Writes the tag's bytes.
    Write,
    /// Makes what was written durable.
    Flush,
    /// Gives bytes up.
    Discard,
    /// Something else, which is to be refused.
    Unknown,
}

/// A request of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// By which it is answered.
    pub tag: u16,
    /// What it does.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Bytes. Those of a read or write fit into the tag's bytes.
    pub len: u64,
    /// A write that completes only when it is on the medium.
    pub fua: bool,
}

/// The queue of a device. One thread opens and serves it: the driver binds it to the thread that fetches first.
pub struct Queue {
    tags: Tags,
    encoded: bool,
}

impl Queue {
    /// Opens the node of a device and fetches requests for all of its tags.
    ///
    /// # Errors
    /// Its node is not there or in use, or there is no io_uring for it.
    pub fn open(device: Device) -> io::Result<Queue> {
        let node = OpenOptions::new()
            .read(true)
            .write(true)
            .open(device.node())?;
        let mut tags = Tags::new(node, DEPTH, LARGEST as usize)?;
        for tag in 0..DEPTH {
            tags.give(tag, FETCH_REQ, device.encoded(), 0)?;
        }
        Ok(Queue {
            tags,
            encoded: device.encoded(),
        })
    }

    /// Whether the device was stopped, and every request answered: the queue is to be dropped then.
    pub fn is_over(&self) -> bool {
        self.tags.are_over()
    }

    /// Hands answers to the kernel and waits until there are requests, or for so long; none: until there are.
    ///
    /// # Errors
    /// The ring does not work.
    pub fn wait(&mut self, patience: Option<Duration>) -> io::Result<()> {
        if patience.is_none() && !self.tags.are_given() {
            // None will come.
            return Ok(());
        }
        self.tags.wait(patience)
    }

    /// The next request. An error is a tag that the driver took back: the device is being stopped.
    pub fn take(&mut self) -> Option<Result<Request, io::Error>> {
        let (tag, result) = self.tags.take()?;
        let Some(descriptor) = self.tags.descriptor(tag) else {
            return Some(Err(io::Error::from_raw_os_error(-result)));
        };
        let len = u64::from(descriptor.sectors) * SECTOR;
        let op = match descriptor.op {
            OP_READ if len <= u64::from(LARGEST) => Op::Read,
            OP_WRITE if len <= u64::from(LARGEST) => Op::Write,
            OP_FLUSH => Op::Flush,
            OP_DISCARD => Op::Discard,
            _ => Op::Unknown,
        };
        Some(Ok(Request {
            tag,
            op,
            offset: descriptor.start.saturating_mul(SECTOR),
            len,
            fua: descriptor.flags & FLAG_FUA != 0,
        }))
    }

    /// The bytes of a request that was taken and not answered.
    pub fn bytes(&mut self, request: &Request) -> Option<&mut [u8]> {
        let len = usize::try_from(request.len).ok()?;
        self.tags.bytes(request.tag)?.get_mut(..len)
    }

    /// Answers a request with the bytes that were moved, or with an error number below zero, and fetches the next. It goes
    /// out with the next [`Queue::wait`].
    ///
    /// # Errors
    /// The ring does not work.
    pub fn answer(&mut self, tag: u16, result: i32) -> io::Result<()> {
        self.tags
            .give(tag, COMMIT_AND_FETCH_REQ, self.encoded, result)
            .map(drop)
    }
}
