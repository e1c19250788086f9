//! Devices, made and removed.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::abi::{
    ADD_DEV, ANY, BUFFER, Command, DEAD, DEL_DEV, DEL_DEV_ASYNC, DeviceInfo, GET_DEV_INFO,
    Parameters, SET_PARAMS, START_DEV, STOP_DEV, device_info,
};
use crate::ring::Commands;
use crate::{CONTROL, SECTOR};

/// Requests of a device that are in flight at most.
pub(crate) const DEPTH: u16 = 128;
/// Largest request, bytes.
pub(crate) const LARGEST: u32 = 512 << 10;

/// By which the maker of a device knows it again. The driver keeps the number and does not interpret it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// The mark of a name: FNV-1a of 64 bits.
    pub fn of(name: &str) -> Mark {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash ^= u64::from(byte);
            hash = hash.wrapping_mul(0x0100_0000_01b3);
        }
        Mark(hash)
    }
}

/// What a device is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Bytes; a multiple of a sector.
    pub size: u64,
    /// Whether it has a head that moves.
    pub rotational: bool,
    /// Whether completed writes may be lost without a flush. Only then are flushes and forced writes sent.
    pub volatile_cache: bool,
}

/// A device that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    number: u32,
    encoded: bool,
}

impl Device {
    /// Its number.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The disk's name in /sys/block.
    pub fn name(self) -> String {
        format!("ublkb{}", self.number)
    }

    /// The node through which it is served.
    pub(crate) fn node(self) -> PathBuf {
        Path::new("/dev").join(format!("ublkc{}", self.number))
    }

    pub(crate) fn encoded(self) -> bool {
        self.encoded
    }
}

/// What the driver says of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its mark.
    pub mark: Mark,
    /// Whether its server has gone, or never started it and has gone. Its disk is then gone, too.
    pub is_dead: bool,
}

/// Whether devices can be made here: the driver is loaded, and there is io_uring for its commands.
///
/// # Errors
/// What is missing.
pub fn works() -> io::Result<()> {
    Control::open().map(drop)
}

/// Whether a device of this number is there, below a root folder that is `/` on a live host.
pub fn is_there(root: &Path, number: u32) -> bool {
    let name = format!("sys/class/ublk-char/ublkc{number}");
    root.join(name).exists()
}

/// Numbers of the devices that are there, below a root folder that is `/` on a live host.
pub fn devices(root: &Path) -> Vec<u32> {
    let entries = fs::read_dir(root.join("sys/class/ublk-char"));
    let names = entries.into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_prefix("ublkc")?.parse().ok()
    });
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// The driver's commands. Needs root.
pub struct Control {
    commands: Commands,
    /// Whether the driver takes commands encoded as ioctls (since Linux 6.4); none: not known yet.
    encoded: Option<bool>,
}

impl Control {
    /// Opens the driver.
    ///
    /// # Errors
    /// It is not there, may not be opened, or there is no io_uring.
    pub fn open() -> io::Result<Control> {
        let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
        Ok(Control {
            commands: Commands::new(control)?,
            encoded: None,
        })
    }

    /// Makes a device with this number; none: the first that is free. It has no disk before [`Control::start`].
    ///
    /// # Errors
    /// The number is taken (`AlreadyExists`), or what the driver answered.
    pub fn add(&mut self, number: Option<u32>, mark: Mark, disk: &Disk) -> io::Result<Device> {
        let number = number.unwrap_or(ANY);
        let mut info = device_info(number, DEPTH, LARGEST, std::process::id(), mark.0);
        self.command(ADD_DEV, number, &mut info, 0)?;
        let device = Device {
            number: DeviceInfo::read(&info).number,
            encoded: self.encoded.unwrap_or(true),
        };
        let parameters = Parameters {
            sectors: disk.size / SECTOR,
            largest: LARGEST,
            rotational: disk.rotational,
            volatile_cache: disk.volatile_cache,
        };
        let mut bytes = parameters.bytes();
        let set = self.command(SET_PARAMS, device.number, &mut bytes, 0);
        if let Err(error) = set {
            let _ = self.delete(device.number);
            return Err(error);
        }
        Ok(device)
    }

    /// Makes the disk. Its queue must be served meanwhile: the kernel reads its first bytes.
    ///
    /// # Errors
    /// What the driver answered.
    pub fn start(&mut self, device: Device) -> io::Result<()> {
        let process = u64::from(std::process::id());
        self.command(START_DEV, device.number, &mut [0; BUFFER], process)
    }

    /// Removes the disk; requests that come later fail. Its queue must be served meanwhile.
    ///
    /// # Errors
    /// What the driver answered.
    pub fn stop(&mut self, number: u32) -> io::Result<()> {
        self.command(STOP_DEV, number, &mut [0; BUFFER], 0)
    }

    /// Removes the device. Its number is free once nothing has its disk or its other node open. Drivers before Linux 6.9 wait for
    /// that, so its queue must have been dropped.
    ///
    /// # Errors
    /// What the driver answered.
    pub fn delete(&mut self, number: u32) -> io::Result<()> {
        // A process or a mount that still has the disk open must not delay its removal.
        match self.command(DEL_DEV_ASYNC, number, &mut [0; BUFFER], 0) {
            Err(error) if is_unknown(&error) => self.command(DEL_DEV, number, &mut [0; BUFFER], 0),
            other => other,
        }
    }

    /// What the driver says of a device.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn info(&mut self, number: u32) -> io::Result<Info> {
        let mut bytes = [0; BUFFER];
        self.command(GET_DEV_INFO, number, &mut bytes, 0)?;
        let info = DeviceInfo::read(&bytes);
        Ok(Info {
            mark: Mark(info.mark),
            is_dead: info.state == DEAD && !lives(info.process),
        })
    }

    /// Removes devices of this mark whose servers have gone; returns their numbers.
    pub fn sweep(&mut self, mark: Mark) -> Vec<u32> {
        let mut swept = devices(Path::new("/"));
        swept.retain(|number| {
            let left = self.info(*number);
            let left = left.is_ok_and(|info| info.mark == mark && info.is_dead);
            left && self.delete(*number).is_ok()
        });
        swept
    }

    fn command(
        &mut self,
        command: Command,
        number: u32,
        buffer: &mut [u8; BUFFER],
        data: u64,
    ) -> io::Result<()> {
        if let Some(encoded) = self.encoded {
            return self
                .commands
                .run(command.code(encoded), number, buffer, data);
        }
        let first = self.commands.run(command.code(true), number, buffer, data);
        match &first {
            Ok(()) => self.encoded = Some(true),
            Err(error) if is_unknown(error) => {
                let second = self.commands.run(command.code(false), number, buffer, data);
                if second.is_ok() {
                    self.encoded = Some(false);
                    return second;
                }
            }
            Err(_) => {}
        }
        first
    }
}

/// Whether a driver may not know the command: it then says one of these, for which there are other reasons, too.
fn is_unknown(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    matches!(code, Some(libc::EINVAL | libc::ENODEV | libc::EOPNOTSUPP))
}

/// Whether the process of this number lives. The driver has -1 once a device was stopped.
fn lives(process: i32) -> bool {
    process > 0 && Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_by_name() {
        // Published test values of FNV-1a.
        assert_eq!(Mark::of(""), Mark(0xcbf2_9ce4_8422_2325));
        assert_eq!(Mark::of("a"), Mark(0xaf63_dc4c_8601_ec8c));
        assert_ne!(Mark::of("fslab-7-0-model"), Mark::of("fslab-8-0-model"));
    }

    #[test]
    fn devices_are_known_by_sysfs() {
        let root = std::env::temp_dir().join(format!("ublk-test-{}", std::process::id()));
        assert_eq!(devices(&root), Vec::<u32>::new());
        for name in ["ublkc10", "ublkc2", "other"] {
            fs::create_dir_all(root.join("sys/class/ublk-char").join(name)).unwrap();
        }
        assert_eq!(devices(&root), [2, 10]);
        assert!(is_there(&root, 2) && !is_there(&root, 3));
        fs::remove_dir_all(&root).unwrap();
        assert!(lives(std::process::id() as i32) && !lives(-1) && !lives(0));
    }
}
