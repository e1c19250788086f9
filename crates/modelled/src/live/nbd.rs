//! The NBD protocol on a socket: fixed newstyle negotiation, simple replies.
//!
//! The protocol is described in `doc/proto.md` of the reference implementation (NetworkBlockDevice/nbd). One export; its name is
//! not looked at. Options and requests that are not known are answered as the protocol says, lengths are bounded.

mod kernel;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

pub use kernel::Attached;

use super::pace::Work;
use super::slots::HEAD;
use super::{Front, Live, Waiting};

const GREETING: u64 = 0x4e42_444d_4147_4943; // "NBDMAGIC"
const OPTION: u64 = 0x4948_4156_454f_5054; // "IHAVEOPT"
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const REPLY: u32 = 0x6744_6698;

const FIXED_NEWSTYLE: u16 = 1;
const NO_ZEROES: u16 = 2;

const OPT_EXPORT_NAME: u32 = 1;
const OPT_ABORT: u32 = 2;
const OPT_LIST: u32 = 3;
const OPT_INFO: u32 = 6;
const OPT_GO: u32 = 7;

const REP_ACK: u32 = 1;
const REP_SERVER: u32 = 2;
const REP_INFO: u32 = 3;
const REP_ERR_UNSUP: u32 = (1 << 31) + 1;

const HAS_FLAGS: u16 = 1;
const SEND_FLUSH: u16 = 1 << 2;
const SEND_FUA: u16 = 1 << 3;
const SEND_TRIM: u16 = 1 << 5;

const CMD_READ: u16 = 0;
const CMD_WRITE: u16 = 1;
const CMD_DISC: u16 = 2;
const CMD_FLUSH: u16 = 3;
const CMD_TRIM: u16 = 4;
const CMD_FLAG_FUA: u16 = 1;

const EIO: u32 = 5;
const EINVAL: u32 = 22;

/// Longest option that is read.
const LONGEST_OPTION: u32 = 64 << 10;
/// Longest request.
const LONGEST: u32 = 32 << 20;

fn read_u16(stream: &mut impl Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    stream.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

fn read_u32(stream: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

fn read_u64(stream: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

fn protocol(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("NBD: {what}"))
}

/// Serves a connection until its client leaves.
///
/// # Errors
/// The connection broke, or the client does not speak the protocol.
pub fn serve(live: &Live, mut stream: UnixStream) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    let goes_on = negotiate(live, &mut stream).or_else(|error| match error.kind() {
        // Gone before it asked for anything.
        UnexpectedEof | BrokenPipe | ConnectionReset => Ok(false),
        _ => Err(error),
    })?;
    if !goes_on {
        return Ok(());
    }
    requests(live, stream).map_err(|error| match error.kind() {
        UnexpectedEof => protocol("the client left in the middle of a request"),
        _ => error,
    })
}

/// Serves requests until the client leaves.
pub(super) fn requests(live: &Live, mut stream: UnixStream) -> io::Result<()> {
    let client = Arc::new(Client(Mutex::new(stream.try_clone()?)));
    while request(live, &mut stream, &client)? {}
    Ok(())
}

/// Whether the client goes on to requests.
fn negotiate(live: &Live, stream: &mut UnixStream) -> io::Result<bool> {
    let mut hello = Vec::new();
    hello.extend(GREETING.to_be_bytes());
    hello.extend(OPTION.to_be_bytes());
    hello.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
    stream.write_all(&hello)?;
    let zeroes = read_u32(stream)? & u32::from(NO_ZEROES) == 0;
    loop {
        if read_u64(stream)? != OPTION {
            return Err(protocol("an option does not begin with IHAVEOPT"));
        }
        let (option, len) = (read_u32(stream)?, read_u32(stream)?);
        if len > LONGEST_OPTION {
            return Err(protocol("an option is too long"));
        }
        let mut data = vec![0; len as usize];
        stream.read_exact(&mut data)?;
        match option {
            OPT_EXPORT_NAME => {
                let mut answer = Vec::new();
                answer.extend(live.size().to_be_bytes());
                answer.extend(flags(live).to_be_bytes());
                answer.resize(answer.len() + if zeroes { 124 } else { 0 }, 0);
                stream.write_all(&answer)?;
                return Ok(true);
            }
            OPT_ABORT => {
                option_reply(stream, option, REP_ACK, &[])?;
                return Ok(false);
            }
            OPT_LIST => {
                option_reply(stream, option, REP_SERVER, &0_u32.to_be_bytes())?;
                option_reply(stream, option, REP_ACK, &[])?;
            }
            OPT_INFO | OPT_GO => {
                let mut info = vec![0; 2];
                info.extend(live.size().to_be_bytes());
                info.extend(flags(live).to_be_bytes());
                option_reply(stream, option, REP_INFO, &info)?;
                option_reply(stream, option, REP_ACK, &[])?;
                if option == OPT_GO {
                    return Ok(true);
                }
            }
            _ => option_reply(stream, option, REP_ERR_UNSUP, &[])?,
        }
    }
}

/// Flushes and forced writes are for a cache that would lose writes.
fn flags(live: &Live) -> u16 {
    let cache = if live.has_volatile_cache() {
        SEND_FLUSH | SEND_FUA
    } else {
        0
    };
    HAS_FLAGS | SEND_TRIM | cache
}

fn option_reply(stream: &mut UnixStream, option: u32, kind: u32, data: &[u8]) -> io::Result<()> {
    let mut reply = Vec::new();
    reply.extend(OPTION_REPLY.to_be_bytes());
    reply.extend(option.to_be_bytes());
    reply.extend(kind.to_be_bytes());
    reply.extend((data.len() as u32).to_be_bytes());
    reply.extend(data);
    stream.write_all(&reply)
}

/// The socket to a client.
struct Client(Mutex<UnixStream>);

impl Client {
    /// Sends a simple reply, whose head is not yet written. A client that is gone needs none.
    fn reply(&self, cookie: u64, error: u32, reply: &mut [u8]) {
        reply[..4].copy_from_slice(&REPLY.to_be_bytes());
        reply[4..8].copy_from_slice(&error.to_be_bytes());
        reply[8..HEAD].copy_from_slice(&cookie.to_be_bytes());
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out.write_all(reply);
    }
}

impl Front for Client {
    fn answer(&self, cookie: u64, _: Work, answer: &mut [u8]) {
        self.reply(cookie, 0, answer);
    }
}

/// Takes one request; false when the client leaves.
fn request(live: &Live, stream: &mut UnixStream, client: &Arc<Client>) -> io::Result<bool> {
    match read_u32(stream) {
        Ok(REQUEST) => {}
        Ok(_) => return Err(protocol("a request does not begin with its magic number")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    }
    let (flags, command) = (read_u16(stream)?, read_u16(stream)?);
    let (cookie, offset, len) = (read_u64(stream)?, read_u64(stream)?, read_u32(stream)?);
    let to = Waiting {
        front: Arc::clone(client) as Arc<dyn Front>,
        cookie,
    };
    let done = match command {
        CMD_READ if len <= LONGEST => live.read(to, offset, len as usize),
        CMD_WRITE if len <= LONGEST => {
            let len = len as usize;
            let slot = live.slots.take();
            stream.read_exact(&mut slot.bytes().answer(len)[HEAD..])?;
            live.write_slot(to, offset, len, flags & CMD_FLAG_FUA != 0, slot)
        }
        CMD_WRITE => return Err(protocol("a write is too long")),
        CMD_DISC => return Ok(false),
        CMD_FLUSH => {
            live.flush(to);
            Ok(())
        }
        CMD_TRIM => live.discard(to, offset, u64::from(len)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    if let Err(error) = done {
        let code = match error.kind() {
            io::ErrorKind::InvalidInput => EINVAL,
            _ => EIO,
        };
        client.reply(cookie, code, &mut [0; HEAD]);
    }
    Ok(true)
}
