//! A filesystem's own recovery after a power cut, on an image that may be thrown away.
//!
//! A crash image is judged after recovery, because that is what its user would do: the next mount replays
//! the journal or the log, and only what is wrong then is damage. The kernel's mount is the recovery that
//! counts, and the only one that XFS and btrfs have. e2fsck's own replay (`-p`) is there for who is not root, and
//! as a second opinion.
//!
//! A mount that is refused is an answer about the image; a loop device that cannot be had is not.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::device::Device as _;
use crate::device::loop_image::LoopImage;
use crate::mounted::Mounted;
use crate::undo::Journal;
use crate::{Error, Result, command, filesystem};

/// How long an unmount may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a recovery ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It is over.
    Done,
    /// The filesystem would not be recovered, for this reason.
    Refused(String),
}

/// Mounts the image by a loop device, for writing, and unmounts it. `number` names the mount point in the
/// journal's folder. Everything is undone before this returns.
///
/// # Errors
/// No loop device, no driver for the filesystem, no right to mount; an unmount that does not succeed.
pub fn by_mount(kind: &str, image: &Path, journal: &Arc<Journal>, number: u32) -> Result<Recovery> {
    mounted(kind, image, journal, number, &mut |_| ())
}

/// The same, and `look` at the folder where it is mounted.
///
/// # Errors
/// See [`by_mount`].
pub fn mounted(
    kind: &str,
    image: &Path,
    journal: &Arc<Journal>,
    number: u32,
    look: &mut dyn FnMut(&Path),
) -> Result<Recovery> {
    let filesystem = filesystem::of_kind(kind)?;
    let mut device = LoopImage::over(image, journal)?;
    let node = device.node().unwrap_or(image).to_path_buf();
    let options = filesystem.kind().properties().recovery_options;
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let mounted = match Mounted::mount(journal, filesystem, &node, number, &options) {
        Ok(mut mounted) => {
            look(mounted.point());
            mounted.undo(PATIENCE).map(|()| Recovery::Done)
        }
        Err(Error::MountRefused { message, .. }) => Ok(Recovery::Refused(message)),
        Err(error) => Err(error),
    };
    let released = device.release();
    let recovery = mounted?;
    released.map(|()| recovery)
}

/// `e2fsck -p`: replays the journal and the list of orphans, and ends where a person would have to decide.
///
/// # Errors
/// There is no e2fsck, or it cannot be started.
pub fn by_e2fsck(image: &Path) -> Result<Recovery> {
    let program = command::locate("e2fsck").ok_or_else(|| Error::MissingProgram {
        program: "e2fsck".into(),
        package: "e2fsprogs".into(),
    })?;
    let ran = Command::new(&program)
        .arg("-p")
        .arg(image)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::io(&program, "cannot start it", error))?;
    // 1 and 2: corrected.
    if ran.status.code().is_some_and(|code| code & !3 == 0) {
        return Ok(Recovery::Done);
    }
    let output = String::from_utf8_lossy(&ran.stdout);
    let line = output.lines().rfind(|line| !line.trim().is_empty());
    Ok(Recovery::Refused(format!(
        "e2fsck -p ended with {}: {}",
        ran.status,
        line.unwrap_or("it printed nothing").trim()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(folder: &Path) -> std::path::PathBuf {
        let image = folder.join("image");
        std::fs::File::create(&image)
            .unwrap()
            .set_len(16 << 20)
            .unwrap();
        let made = Command::new("mke2fs")
            .args(["-qF", "-t", "ext4"])
            .arg(&image)
            .status();
        assert!(made.unwrap().success());
        image
    }

    #[test]
    fn e2fsck_recovers_what_is_a_filesystem_and_refuses_what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let image = image(folder.path());
        assert_eq!(by_e2fsck(&image).unwrap(), Recovery::Done);
        std::fs::write(&image, vec![7; 1 << 20]).unwrap();
        let refused = by_e2fsck(&image).unwrap();
        assert!(
            matches!(&refused, Recovery::Refused(why) if why.contains("exit status: 8")),
            "{refused:?}"
        );
    }

    #[test]
    fn a_mount_recovers_and_leaves_nothing_needs_root() {
        if !testkit::root!() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = image(folder.path());
        let journal = Journal::open(folder.path()).unwrap();
        assert_eq!(
            by_mount("ext4", &image, &journal, 1).unwrap(),
            Recovery::Done
        );
        std::fs::write(&image, vec![7; 1 << 20]).unwrap();
        let refused = by_mount("ext4", &image, &journal, 2).unwrap();
        assert!(matches!(refused, Recovery::Refused(_)), "{refused:?}");
        assert_eq!(journal.left(), Vec::new());
        assert!(image.exists(), "an image that was there stays");
    }
}
