//! Names of processes.
//!
//! blktrace's relay notes the name of a task before its first event; the tracer does not. The
//! name is therefore asked from `/proc/PID/comm` when the first event of a task is read, up to a poll
//! after it happened, and of a task that was gone by then the kernel's own list is asked at the end
//! (`saved_cmdlines`, which the tracer fills). Records hold ids of the first pid namespace, so from
//! inside another one `/proc` would name strangers: then the kernel's list is the only source.

use std::collections::HashMap;
use std::fs;

/// Bytes of a name with its NUL, `TASK_COMM_LEN`.
pub(super) const LENGTH: usize = 16;
/// Inode of the first pid namespace (include/linux/proc_ns.h, `PROC_PID_INIT_INO`).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// The kernel's name for a task whose name it forgot.
pub(super) const UNKNOWN: &str = "<...>";

/// Looks names up.
#[derive(Debug)]
pub(super) struct Names {
    /// `/proc` numbers processes as the kernel does.
    proc: bool,
}

impl Names {
    pub(super) fn new() -> Names {
        let namespace = fs::read_link("/proc/self/ns/pid");
        Names {
            proc: namespace.is_ok_and(|name| name.as_os_str() == FIRST_NAMESPACE),
        }
    }

    /// The name of a task now.
    pub(super) fn now(&self, pid: u32, cpu: u32) -> Option<[u8; LENGTH]> {
        if pid == 0 {
            return Some(padded(format!("swapper/{cpu}").as_bytes()));
        }
        if !self.proc {
            return None;
        }
        let comm = fs::read(format!("/proc/{pid}/comm")).ok()?;
        Some(padded(comm.strip_suffix(b"\n").unwrap_or(&comm)))
    }
}

/// The kernel's list: lines of `PID NAME`.
pub(super) fn saved(text: &str) -> HashMap<u32, &str> {
    let pairs = text.lines().filter_map(|line| {
        let (pid, name) = line.trim_start().split_once(' ')?;
        (name != UNKNOWN).then_some((pid.parse().ok()?, name))
    });
    pairs.collect()
}

/// A name as records hold it: cut, and with at least one NUL.
pub(super) fn padded(name: &[u8]) -> [u8; LENGTH] {
    let mut out = [0; LENGTH];
    let length = name.len().min(LENGTH - 1);
    out[..length].copy_from_slice(&name[..length]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_ended() {
        assert_eq!(&padded(b"dd"), b"dd\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(&padded(b"a name that is long"), b"a name that is \0");
        let names = Names { proc: true };
        assert_eq!(names.now(0, 3), Some(padded(b"swapper/3")));
        assert!(names.now(std::process::id(), 0).is_some());
        assert_eq!(names.now(u32::MAX, 0), None);
        assert_eq!(Names { proc: false }.now(std::process::id(), 0), None);
    }

    #[test]
    fn the_kernels_list_has_names_with_blanks() {
        let saved = saved("30360 dd\n  7 a b\n8 <...>\nnonsense\nx y\n");
        assert_eq!(saved.len(), 2);
        assert_eq!(saved[&30360], "dd");
        assert_eq!(saved[&7], "a b");
    }
}
