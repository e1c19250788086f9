//! What tells a process and a program from another.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use sha2::{Digest, Sha256};

use crate::protocol::Process;

/// The calling process.
pub fn here() -> Process {
    let pid = std::process::id();
    Process {
        pid,
        began: began(pid).unwrap_or_default(),
        boot: boot(),
    }
}

/// The boot of this kernel.
pub fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    boot.unwrap_or_default().trim().to_owned()
}

/// When a process began, in ticks since boot (field 22 of /proc/PID/stat, proc(5)); none: there is no such process, or it is dead and only
/// waits to be collected.
pub fn began(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, so fields count from its end.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    match fields.first() {
        Some(&("Z" | "X")) => None,
        _ => fields.get(19)?.parse().ok(),
    }
}

/// Whether that very process is still there.
pub fn is_alive(process: &Process) -> bool {
    process.began > 0 && began(process.pid) == Some(process.began)
}

/// The file of this program: device, inode, size.
pub fn file() -> String {
    let meta = std::fs::metadata("/proc/self/exe");
    meta.map_or_else(
        |_| String::new(),
        |meta| format!("{}:{}:{}", meta.dev(), meta.ino(), meta.size()),
    )
}

/// SHA-256 of this program.
pub fn program() -> String {
    let hash = || -> std::io::Result<String> {
        let mut file = File::open("/proc/self/exe")?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hash.update(&buffer[..read]),
            }
        }
        Ok(words::hex(&hash.finalize()))
    };
    hash().unwrap_or_else(|error| format!("unreadable: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_of_its_number_is_not() {
        let here = here();
        assert!(here.began > 0 && is_alive(&here));
        let other = Process {
            began: here.began + 1,
            ..here
        };
        assert!(!is_alive(&other));
        assert_eq!(began(u32::MAX), None);
    }
}
