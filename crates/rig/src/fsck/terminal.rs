//! The terminal that a checker believes it prints to.
//!
//! A pass begins for us when its line arrives, so lines must arrive when they are printed. e2fsck
//! prints to stdout, which the C library buffers by 4 KiB or more on a pipe: all its lines would
//! come at the end. On a terminal it is buffered by lines. The terminal is raw (no echo, no added
//! carriage returns) and no process's controlling terminal. Rejected: `stdbuf -oL`, which preloads a
//! library into the measured program and is without effect on a static one; and `e2fsck -C`, whose
//! progress costs a write per group.
//!
//! Where no pseudo terminal can be had (a container without /dev/pts), a pipe serves, and the
//! report says that the boundaries are not to be trusted.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Both ends of the way that a checker's output takes.
#[derive(Debug)]
pub(super) struct Terminal {
    /// Our end, which never blocks.
    pub(super) ours: OwnedFd,
    /// The checker's end.
    pub(super) theirs: OwnedFd,
    /// Why it is a pipe, when it is.
    pub(super) only_a_pipe: Option<String>,
}

/// A pseudo terminal, or a pipe.
pub(super) fn open() -> io::Result<Terminal> {
    pseudo().or_else(|error| piped(format!("no pseudo terminal: {error}")))
}

fn pseudo() -> io::Result<Terminal> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    let mut modes = tcgetattr(&theirs)?;
    modes.make_raw();
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    never_block(&ours)?;
    Ok(Terminal {
        ours,
        theirs,
        only_a_pipe: None,
    })
}

fn piped(why: String) -> io::Result<Terminal> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    never_block(&ours)?;
    Ok(Terminal {
        ours,
        theirs,
        only_a_pipe: Some(why),
    })
}

fn never_block(fd: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&fd)?;
    Ok(fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{read, write};
    use rustix::termios::isatty;

    #[test]
    fn what_is_printed_arrives_unchanged_on_both_ways() {
        for terminal in [pseudo().unwrap(), piped("asked for".into()).unwrap()] {
            assert_eq!(isatty(&terminal.theirs), terminal.only_a_pipe.is_none());
            let mut buffer = [0; 64];
            assert_eq!(
                read(&terminal.ours, &mut buffer),
                Err(rustix::io::Errno::AGAIN)
            );
            write(&terminal.theirs, b"Pass 1\n\tx\x03\n").unwrap();
            let count = (0..1000)
                .find_map(|_| {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    read(&terminal.ours, &mut buffer).ok()
                })
                .unwrap();
            assert_eq!(&buffer[..count], b"Pass 1\n\tx\x03\n");
        }
    }
}
