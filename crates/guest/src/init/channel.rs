//! The channel's device: the virtio-serial port by its name, or a terminal in raw mode.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::machine::{PORT, VIRTIO};

/// Where the kernel names its ports; udev's links by name are not there.
const PORTS: &str = "/sys/class/virtio-ports";
/// How long a port may take to appear after its driver.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the channel that the kernel's command line names: `virtio`, or a terminal's node.
pub(super) fn open(mark: &OsStr) -> Result<File, String> {
    let node = if mark == VIRTIO {
        port(Path::new(PORTS), PATIENCE)?
    } else {
        PathBuf::from(mark)
    };
    let failed = |error: io::Error| format!("the channel {}: {error}", node.display());
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&node)
        .map_err(failed)?;
    if let Ok(mut settings) = tcgetattr(&file) {
        settings.make_raw();
        tcsetattr(&file, OptionalActions::Now, &settings).map_err(|error| failed(error.into()))?;
    }
    Ok(file)
}

fn port(class: &Path, patience: Duration) -> Result<PathBuf, String> {
    let begun = Instant::now();
    loop {
        if let Some(found) = named(class) {
            return Ok(found);
        }
        if begun.elapsed() >= patience {
            return Err(format!(
                "no virtio-serial port {PORT} after {} s: is virtio_console among the modules?",
                patience.as_secs()
            ));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn named(class: &Path) -> Option<PathBuf> {
    let ports = fs::read_dir(class).ok()?;
    ports
        .filter_map(Result::ok)
        .find(|port| {
            let name = fs::read_to_string(port.path().join("name")).unwrap_or_default();
            name.trim() == PORT
        })
        .map(|port| Path::new("/dev").join(port.file_name()))
        .filter(|node| !class.starts_with("/sys") || node.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_known_by_its_name() {
        let temp = tempfile::tempdir().unwrap();
        for (port, name) in [("vport0p1", "org.other\n"), ("vport0p2", "lab.result\n")] {
            fs::create_dir(temp.path().join(port)).unwrap();
            fs::write(temp.path().join(port).join("name"), name).unwrap();
        }
        let found = port(temp.path(), Duration::ZERO);
        assert_eq!(found, Ok("/dev/vport0p2".into()));
        fs::remove_dir_all(temp.path().join("vport0p2")).unwrap();
        let printed = port(temp.path(), Duration::ZERO).unwrap_err();
        assert!(printed.contains("virtio_console"), "{printed}");
    }
}
