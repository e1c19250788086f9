//! Where the trials of a run take place, as the user named it and as the log keeps it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The target of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Loop images in the run's own folder.
    LoopImages,
    /// A folder of a filesystem that is there already: nothing is made or mounted.
    Directory(PathBuf),
    /// A whole disk, named by its serial so that it cannot be destroyed by surprise.
    Device {
        /// Its node.
        path: PathBuf,
        /// What `--destroy` said.
        serial: String,
    },
    /// Whole disks, the members of a stack, with their serials: a guest's own.
    Disks(Vec<(PathBuf, String)>),
    /// Disks made for a guest kernel.
    Guest(GuestTarget),
}

/// A guest kernel: what runs it, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestTarget {
    /// What runs it.
    pub machine: GuestMachine,
    /// The kernel's version or name, as the user gave it; none: the machine's usual one.
    pub kernel: Option<String>,
}

/// What runs a guest kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestMachine {
    /// User-mode Linux.
    Uml,
    /// QEMU.
    Qemu,
}

impl GuestMachine {
    /// As users name it.
    pub fn name(self) -> &'static str {
        match self {
            GuestMachine::Uml => "uml",
            GuestMachine::Qemu => "qemu",
        }
    }
}

impl fmt::Display for GuestTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest {}", self.machine.name())?;
        match &self.kernel {
            Some(kernel) => write!(f, " kernel={kernel}"),
            None => Ok(()),
        }
    }
}

/// Reads what follows `guest `.
fn guest(text: &str) -> Option<GuestTarget> {
    let (machine, kernel) = match text.split_once(" kernel=") {
        Some((machine, kernel)) => (machine, Some(kernel.to_owned())),
        None => (text, None),
    };
    let machine = match machine {
        "uml" => GuestMachine::Uml,
        "qemu" => GuestMachine::Qemu,
        _ => return None,
    };
    Some(GuestTarget { machine, kernel })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::LoopImages => f.write_str("loop images"),
            Target::Directory(path) => write!(f, "directory {}", path.display()),
            Target::Device { path, serial } => {
                write!(f, "device serial={serial} {}", path.display())
            }
            Target::Disks(disks) => write!(f, "{} disks", disks.len()),
            Target::Guest(guest) => guest.fmt(f),
        }
    }
}

/// Why a logged target cannot be read back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a target: the log is of another fslab, or damaged")]
pub struct ParseTargetError(String);

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "loop images" {
            return Ok(Target::LoopImages);
        }
        if let Some(path) = text.strip_prefix("directory ") {
            return Ok(Target::Directory(path.into()));
        }
        if let Some(guest) = text.strip_prefix("guest ").and_then(guest) {
            return Ok(Target::Guest(guest));
        }
        text.strip_prefix("device serial=")
            .and_then(|rest| rest.rsplit_once(" /"))
            .map(|(serial, path)| Target::Device {
                path: format!("/{path}").into(),
                serial: serial.to_owned(),
            })
            .ok_or_else(|| ParseTargetError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logged_target_reads_back() {
        for target in [
            Target::LoopImages,
            Target::Directory("/mnt/a b".into()),
            Target::Device {
                path: "/dev/sdx".into(),
                serial: "WD /12=3".into(),
            },
            Target::Guest(GuestTarget {
                machine: GuestMachine::Uml,
                kernel: None,
            }),
            Target::Guest(GuestTarget {
                machine: GuestMachine::Qemu,
                kernel: Some("6.1.0-47 mine".into()),
            }),
        ] {
            assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
        }
        assert!("elsewhere".parse::<Target>().is_err());
        assert!("guest bochs".parse::<Target>().is_err());
    }
}
