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
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::LoopImages => f.write_str("loop images"),
            Target::Directory(path) => write!(f, "directory {}", path.display()),
            Target::Device { path, serial } => {
                write!(f, "device serial={serial} {}", path.display())
            }
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
        ] {
            assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
        }
        assert!("elsewhere".parse::<Target>().is_err());
    }
}
