//! Names that a journal may use. Each type can name what this tool makes and nothing else: no `/`, no `..`, no
//! leading `-`, no device or control file of another program.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU64;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// Longest name of anything this tool makes.
const LONGEST: usize = 64;

/// A path below the run's folder: names alone, relative.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Beneath(PathBuf);

impl Beneath {
    /// A path as the journal has it, for the run in `run`.
    pub(crate) fn of(path: &Path, run: &Path) -> Result<Beneath, String> {
        path.strip_prefix(run)
            .ok()
            .and_then(Beneath::relative)
            .ok_or_else(|| format!("{} is outside of the run's folder", path.display()))
    }

    /// A relative path of names alone.
    pub(crate) fn relative(path: &Path) -> Option<Beneath> {
        (path.is_relative() && is_plain(path)).then(|| Beneath(path.into()))
    }

    /// The path, relative to the run's folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// Whether a path has names alone below its root, and any.
fn is_plain(path: &Path) -> bool {
    let mut names = 0;
    path.components().all(|part| match part {
        Component::Normal(_) => {
            names += 1;
            true
        }
        Component::RootDir => true,
        _ => false,
    }) && names > 0
}

/// `fslab-PID-NUMBER`: a folder or a control group of this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnFolder {
    parent: PathBuf,
    name: String,
}

impl OwnFolder {
    /// A path as the journal has it. The process in its name must be one that used the journal.
    pub(super) fn of(path: &Path, owners: &BTreeSet<u32>) -> Result<OwnFolder, String> {
        let strange = || format!("{} is no plain absolute path", path.display());
        let (parent, name) = path
            .parent()
            .zip(path.file_name().and_then(|name| name.to_str()))
            .filter(|_| path.is_absolute() && is_plain(path) && !is_untidy(path))
            .ok_or_else(strange)?;
        own_number(name, '-', owners).and_then(|rest| {
            if rest.is_empty() {
                Ok(())
            } else {
                Err(strange())
            }
        })?;
        Ok(OwnFolder {
            parent: parent.into(),
            name: name.into(),
        })
    }

    /// The folder that holds it.
    pub(crate) fn parent(&self) -> &Path {
        &self.parent
    }

    /// Its own name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The full path: parent and name.
    pub(crate) fn path(&self) -> PathBuf {
        self.parent.join(&self.name)
    }
}

/// Whether a path has a final `/`, which makes the kernel follow a link in the last component, or a `.` or `//`, which
/// this tool never writes.
fn is_untidy(path: &Path) -> bool {
    let tidy: PathBuf = path.components().collect();
    tidy.as_os_str() != path.as_os_str()
}

/// What follows `fslab-PID-NUMBER` in a name whose process used the journal.
fn own_number<'a>(
    name: &'a str,
    separator: char,
    owners: &BTreeSet<u32>,
) -> Result<&'a str, String> {
    let rest = name
        .strip_prefix("fslab")
        .and_then(|rest| rest.strip_prefix(separator))
        .filter(|_| name.len() <= LONGEST)
        .ok_or_else(|| format!("{name:?} does not begin with fslab{separator}"))?;
    let number = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let not_ours = || format!("{name:?} is not a name that this run gave");
    let (pid, rest) = rest.split_at(number(rest));
    let rest = rest.strip_prefix(separator).ok_or_else(not_ours)?;
    let (trial, rest) = rest.split_at(number(rest));
    let pid: u32 = pid.parse().map_err(|_| not_ours())?;
    if trial.is_empty() || trial.len() > 9 {
        return Err(not_ours());
    }
    if !owners.contains(&pid) {
        return Err(format!(
            "{name:?} was made by process {pid}, which did not use this journal"
        ));
    }
    Ok(rest)
}

/// A device-mapper name of this run: `fslab-7-0-top`, `fslab-7-0-slice3`, `fslab_7_0-data`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedName(String);

impl MappedName {
    pub(super) fn of(name: &str, owners: &BTreeSet<u32>) -> Result<MappedName, String> {
        let rest = own_number(name, '-', owners).or_else(|_| own_number(name, '_', owners))?;
        let part = rest.strip_prefix('-').unwrap_or_default();
        if part.is_empty()
            || !part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        {
            return Err(format!("{name:?} is not a name that this run gave"));
        }
        Ok(MappedName(name.into()))
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A kernel's name with a number, without `/dev/`: `loop3`, `md0`, `nullb1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbered(String);

impl Numbered {
    /// The name `prefix` and a number.
    pub(super) fn of(name: &str, prefix: &str) -> Result<Numbered, String> {
        let number = name.strip_prefix(prefix).unwrap_or_default();
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        if !digits || number.len() > 7 {
            return Err(format!("{name:?} is not {prefix} and a number"));
        }
        Ok(Numbered(name.into()))
    }

    /// The same of a node in /dev.
    pub(super) fn of_node(node: &Path, prefix: &str) -> Result<Numbered, String> {
        let name = node.strip_prefix("/dev").ok().and_then(Path::to_str);
        Numbered::of(name.unwrap_or(&node.to_string_lossy()), prefix)
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Its node.
    pub(crate) fn node(&self) -> PathBuf {
        Path::new("/dev").join(&self.0)
    }
}

/// The UUID of an md array as mdadm writes it: four times eight hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MdUuid(String);

impl FromStr for MdUuid {
    type Err = String;

    fn from_str(text: &str) -> Result<MdUuid, String> {
        let part = |part: &str| part.len() == 8 && part.bytes().all(|b| b.is_ascii_hexdigit());
        if text.split(':').count() == 4 && text.split(':').all(part) {
            return Ok(MdUuid(text.into()));
        }
        Err("it names no md array by its UUID".into())
    }
}

impl MdUuid {
    /// As mdadm writes it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// `MAJOR:MINOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceNumber {
    /// Major number.
    pub(crate) major: u32,
    /// Minor number.
    pub(crate) minor: u32,
}

impl FromStr for DeviceNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceNumber, String> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        text.split_once(':')
            .and_then(|(major, minor)| {
                Some(DeviceNumber {
                    major: number(major)?,
                    minor: number(minor)?,
                })
            })
            .ok_or_else(|| {
                let start: String = text.chars().take(20).collect();
                format!("{start:?} is no device number (MAJOR:MINOR)")
            })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A control file of blk-throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThrottleItem {
    ReadBytes,
    WriteBytes,
    ReadOps,
    WriteOps,
}

impl ThrottleItem {
    const ALL: [ThrottleItem; 4] = [
        ThrottleItem::ReadBytes,
        ThrottleItem::WriteBytes,
        ThrottleItem::ReadOps,
        ThrottleItem::WriteOps,
    ];

    fn file(self) -> &'static str {
        match self {
            ThrottleItem::ReadBytes => "blkio.throttle.read_bps_device",
            ThrottleItem::WriteBytes => "blkio.throttle.write_bps_device",
            ThrottleItem::ReadOps => "blkio.throttle.read_iops_device",
            ThrottleItem::WriteOps => "blkio.throttle.write_iops_device",
        }
    }
}

/// A throttle file of a control group, and what the run set there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControlFile {
    group: PathBuf,
    item: ThrottleItem,
    /// What the run set. It never sets 0, which is "no limit".
    pub(crate) asked: NonZeroU64,
    /// What it was; 0 is no limit.
    pub(crate) was: u64,
}

impl ControlFile {
    pub(super) fn of(setting: &super::Setting) -> Result<ControlFile, String> {
        let file = &setting.file;
        let not_one = || format!("{} is no throttle file of a control group", file.display());
        let name = file.file_name().and_then(|name| name.to_str());
        let item = ThrottleItem::ALL
            .into_iter()
            .find(|item| name == Some(item.file()))
            .filter(|_| file.is_absolute() && is_plain(file) && !is_untidy(file))
            .ok_or_else(not_one)?;
        Ok(ControlFile {
            group: file.parent().ok_or_else(not_one)?.into(),
            item,
            asked: NonZeroU64::new(setting.asked)
                .ok_or_else(|| "it says that no limit was set".to_owned())?,
            was: setting.was,
        })
    }

    /// The group's folder.
    pub(crate) fn group(&self) -> &Path {
        &self.group
    }

    /// The file's name in it.
    pub(crate) fn name(&self) -> &'static str {
        self.item.file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners() -> BTreeSet<u32> {
        BTreeSet::from([7])
    }

    #[test]
    fn a_path_beneath_the_run_is_names_alone() {
        let run = Path::new("/r/run");
        assert_eq!(
            Beneath::of(Path::new("/r/run/images/a.img"), run)
                .unwrap()
                .path(),
            Path::new("images/a.img")
        );
        for path in [
            "/r/run",
            "/r/run/../x",
            "/r/runs/x",
            "images/a",
            "/etc/passwd",
            "",
        ] {
            assert!(Beneath::of(Path::new(path), run).is_err(), "{path}");
        }
    }

    #[test]
    fn own_folders_carry_a_process_of_the_journal() {
        let of = |path: &str| OwnFolder::of(Path::new(path), &owners());
        assert_eq!(of("/mnt/x/fslab-7-1").unwrap().name(), "fslab-7-1");
        for path in [
            "/mnt/fslab-8-1",
            "/mnt/fslab-7-1/",
            "/mnt/fslab-7-",
            "/mnt/fslab-7-1x",
            "/mnt/fslab-backup",
            "/mnt/fslab-7-1/..",
            "/mnt/fslab-7-1/.",
            "/mnt/../fslab-7-1",
            "fslab-7-1",
            "/mnt/data",
            "/",
        ] {
            assert!(of(path).is_err(), "{path}");
        }
    }

    #[test]
    fn device_names_are_those_that_the_run_gives() {
        for name in ["fslab-7-0-top", "fslab-7-12-slice3", "fslab_7_0-data"] {
            assert_eq!(MappedName::of(name, &owners()).unwrap().as_str(), name);
        }
        for name in [
            "fslab-8-0-top",
            "vg-home",
            "fslab-7-0",
            "fslab-7-0-",
            "fslab-7-0-a/b",
            "--force",
            "fslab-7-0-top --force",
        ] {
            assert!(MappedName::of(name, &owners()).is_err(), "{name}");
        }
        assert!(Numbered::of("nullb2", "nullb").is_ok());
        for name in [
            "/tmp/x",
            "nullb",
            "nullb2/../..",
            "nullb-1",
            "sda1",
            "..",
            "",
        ] {
            assert!(Numbered::of(name, "nullb").is_err(), "{name}");
        }
        assert_eq!(
            Numbered::of_node(Path::new("/dev/md0"), "md")
                .unwrap()
                .node(),
            Path::new("/dev/md0")
        );
        assert!(Numbered::of_node(Path::new("/tmp/md0"), "md").is_err());
        assert!("0:1:2:3".parse::<MdUuid>().is_err());
        assert!(
            "00000000:11111111:2222aaaa:33333333"
                .parse::<MdUuid>()
                .is_ok()
        );
    }

    #[test]
    fn device_numbers_are_two_numbers() {
        assert_eq!("7:10".parse::<DeviceNumber>().unwrap().to_string(), "7:10");
        for text in ["7", "7:", "+7:1", "7:1\n8:1", "7:1 1", "root::0:0", ""] {
            assert!(text.parse::<DeviceNumber>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn control_files_are_those_of_the_throttle_and_were_set() {
        let of = |file: &str, asked| {
            ControlFile::of(&super::super::Setting {
                file: file.into(),
                asked,
                was: 0,
            })
        };
        let file = "/sys/fs/cgroup/blkio/a/blkio.throttle.read_bps_device";
        assert_eq!(
            of(file, 5).unwrap().name(),
            "blkio.throttle.read_bps_device"
        );
        assert!(of(file, 0).is_err(), "no limit was set");
        for file in [
            "/etc/passwd",
            "/sys/fs/cgroup/blkio/../x/blkio.throttle.read_bps_device",
            "blkio.throttle.read_bps_device",
            "/sys/fs/cgroup/blkio/cgroup.procs",
        ] {
            assert!(of(file, 5).is_err(), "{file}");
        }
    }
}
