//! Where the trials of a run take place, as the user named it and as the log keeps it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ranks::Launcher;

/// The target of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Loop images in the run's own folder.
    LoopImages,
    /// A folder of a filesystem that is there already: nothing is made or mounted.
    Directory(PathBuf),
    /// A folder of a filesystem that all nodes of a site have, loaded by ranks of MPI.
    Ranks {
        /// The folder.
        dir: PathBuf,
        /// Starts the ranks.
        launcher: Launcher,
    },
    /// A whole disk, named by its serial so that it cannot be destroyed by surprise.
    Device {
        /// Its node.
        path: PathBuf,
        /// The serial given to `--destroy`.
        serial: String,
    },
    /// Whole disks, the members of a stack, with their serials: a guest's own.
    Disks(Vec<(PathBuf, String)>),
    /// Disks made for a guest kernel.
    Guest(GuestTarget),
}

impl Target {
    /// The folder of a filesystem that is there already, where the trials run in one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Target::Directory(dir) | Target::Ranks { dir, .. } => Some(dir),
            _ => None,
        }
    }
}

/// A guest kernel: what runs it, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestTarget {
    /// What runs it.
    pub machine: GuestMachine,
    /// The kernel of all trials, by its name in the cache; none: the machine's usual one, or `kernels`.
    pub kernel: Option<String>,
    /// Where the kernel is a factor: each level, and its kernel's name in the cache. What a run began with
    /// is what it goes on with, even if others were fetched since.
    pub kernels: Vec<(String, String)>,
    /// Whether its clock counts instructions (QEMU alone).
    pub virtual_time: bool,
    /// The cache of kernels; none: the usual one.
    pub cache: Option<PathBuf>,
}

impl GuestTarget {
    /// A machine with its usual kernel.
    pub fn new(machine: GuestMachine) -> Self {
        GuestTarget {
            machine,
            kernel: None,
            kernels: Vec::new(),
            virtual_time: false,
            cache: None,
        }
    }

    /// The levels of the kernel factor with their kernels' names; one without a level where it is none.
    pub(crate) fn each(&self) -> Vec<(Option<&str>, Option<&str>)> {
        if self.kernels.is_empty() {
            return vec![(None, self.kernel.as_deref())];
        }
        let each = self.kernels.iter();
        each.map(|(level, name)| (Some(level.as_str()), Some(name.as_str())))
            .collect()
    }
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
        if let Some(kernel) = &self.kernel {
            write!(f, " kernel={kernel}")?;
        }
        if !self.kernels.is_empty() {
            let words = self
                .kernels
                .iter()
                .map(|(level, name)| format!("{level}:{name}"));
            write!(f, " kernels={}", words.collect::<Vec<_>>().join(","))?;
        }
        if self.virtual_time {
            f.write_str(" virtual-time")?;
        }
        // The last, since a path may hold anything.
        match &self.cache {
            Some(cache) => write!(f, " cache={}", cache.display()),
            None => Ok(()),
        }
    }
}

/// Reads what follows `guest `.
fn guest(text: &str) -> Option<GuestTarget> {
    let (text, cache) = match text.split_once(" cache=") {
        Some((text, cache)) => (text, Some(PathBuf::from(cache))),
        None => (text, None),
    };
    let mut words = text.split(' ');
    let mut target = GuestTarget::new(match words.next()? {
        "uml" => GuestMachine::Uml,
        "qemu" => GuestMachine::Qemu,
        _ => return None,
    });
    target.cache = cache;
    for word in words {
        if word == "virtual-time" {
            target.virtual_time = true;
            continue;
        }
        match word.split_once('=')? {
            ("kernel", kernel) => target.kernel = Some(kernel.to_owned()),
            ("kernels", kernels) => {
                target.kernels = kernels.split(',').map(pair).collect::<Option<_>>()?;
            }
            _ => return None,
        }
    }
    Some(target)
}

/// Reads what follows `ranks `.
fn ranks_of(text: &str) -> Option<Target> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Launcher>();
    let launcher = values.next()?.ok()?;
    let dir = text
        .get(values.byte_offset()..)?
        .strip_prefix(" directory ")?;
    Some(Target::Ranks {
        dir: dir.into(),
        launcher,
    })
}

/// `6.1:6.1.0-56-amd64`.
fn pair(text: &str) -> Option<(String, String)> {
    let (level, name) = text.split_once(':')?;
    Some((level.to_owned(), name.to_owned()))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::LoopImages => f.write_str("loop images"),
            Target::Directory(path) => write!(f, "directory {}", path.display()),
            Target::Ranks { dir, launcher } => {
                // The folder is last, since a path may hold anything.
                let launcher = serde_json::to_string(launcher).unwrap_or_default();
                write!(f, "ranks {launcher} directory {}", dir.display())
            }
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
        if let Some(ranks) = text.strip_prefix("ranks ").and_then(ranks_of) {
            return Ok(ranks);
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
            Target::Ranks {
                dir: "/mnt/a} directory b".into(),
                launcher: Launcher {
                    library: Some("/opt/my mpi/libmpi.so".into()),
                    ..Launcher::of_line("srun --mpi=pmix -n {ranks} -N {nodes}")
                },
            },
            Target::Device {
                path: "/dev/sdx".into(),
                serial: "WD /12=3".into(),
            },
            Target::Guest(GuestTarget::new(GuestMachine::Uml)),
            Target::Guest(GuestTarget {
                kernel: Some("6.1.0-47_mine".into()),
                virtual_time: true,
                cache: Some("/var/my cache".into()),
                ..GuestTarget::new(GuestMachine::Qemu)
            }),
            Target::Guest(GuestTarget {
                kernels: vec![
                    ("5.10".into(), "5.10.0-44-amd64".into()),
                    ("7.x".into(), "7.3.4+deb13-amd64".into()),
                ],
                ..GuestTarget::new(GuestMachine::Qemu)
            }),
        ] {
            assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
        }
        assert!("elsewhere".parse::<Target>().is_err());
        assert!("ranks {} directory /x".parse::<Target>().is_err());
        assert!("guest bochs".parse::<Target>().is_err());
        assert!("guest qemu speed=9".parse::<Target>().is_err());
    }
}
