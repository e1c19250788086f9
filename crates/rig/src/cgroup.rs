//! Control groups: where a controller's hierarchy is mounted and which group this process is in.
//!
//! Both versions are served, because both are in use and they differ in what matters here. In
//! version 1 each controller has its own tree, the root group has limits like any other, and
//! writeback is done by kernel workers that belong to the root group, whichever process dirtied the page. In
//! version 2 there is one tree, the root group has no limits, processes live in leaves only, and
//! writeback is charged to the group that dirtied the page where the filesystem supports it.
//!
//! Rejected: asking systemd for a scope. It is not on every machine, and what it makes would outlive
//! a kill -9 in a place that the undo journal cannot name beforehand.

mod group;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use probe::mountinfo::{self, Mount};

pub(crate) use group::{Group, named};

use crate::host::Host;

/// Which of the two kinds of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// One tree for each controller.
    V1,
    /// The unified tree.
    V2,
}

/// A controller of this crate's interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    /// Block I/O.
    Io,
    /// Memory.
    Memory,
}

impl Controller {
    fn v1(self) -> &'static str {
        match self {
            Controller::Io => "blkio",
            Controller::Memory => "memory",
        }
    }

    /// Its name in the unified tree.
    pub(crate) fn v2(self) -> &'static str {
        match self {
            Controller::Io => "io",
            Controller::Memory => "memory",
        }
    }
}

/// The tree that serves a controller, as this process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    /// Of which kind.
    pub(crate) version: Version,
    /// The folder of its topmost visible group.
    pub(crate) top: PathBuf,
    /// The folder of this process's group.
    pub(crate) own: PathBuf,
}

impl Hierarchy {
    /// The tree with `controller`. The error is one cause in words.
    pub(crate) fn find(host: &Host, controller: Controller) -> Result<Hierarchy, String> {
        let unreadable = |path: &str, error: io::Error| format!("/{path} cannot be read: {error}");
        let mounts = fs::read(host.path("proc/self/mountinfo"))
            .map_err(|error| unreadable("proc/self/mountinfo", error))?;
        let groups = fs::read_to_string(host.path("proc/self/cgroup"))
            .map_err(|error| unreadable("proc/self/cgroup", error))?;
        for mount in mountinfo::parse(&mounts) {
            let top = host.path(mount.point.strip_prefix("/").unwrap_or(&mount.point));
            let version = match mount.kind.as_str() {
                "cgroup" if mount.super_options.iter().any(|o| o == controller.v1()) => Version::V1,
                "cgroup2" if has_word(&top.join("cgroup.controllers"), controller.v2()) => {
                    Version::V2
                }
                _ => continue,
            };
            let own = own_group(&groups, version, controller)
                .and_then(|group| below(&mount, &top, &group))
                .filter(|folder| folder.is_dir())
                .ok_or_else(|| {
                    format!(
                        "this process's own group is not visible below {}",
                        mount.point.display()
                    )
                })?;
            return Ok(Hierarchy { version, top, own });
        }
        Err(format!(
            "no control group tree with the {} controller ({} in version 1) is mounted here",
            controller.v2(),
            controller.v1()
        ))
    }

    /// Whether the topmost visible group is the machine's root group, not a container's. Only the
    /// root group of version 1 has this file, and only the others of version 2 have a type.
    pub(crate) fn shows_root(&self) -> bool {
        match self.version {
            Version::V1 => self.top.join("cgroup.sane_behavior").exists(),
            Version::V2 => !self.top.join("cgroup.type").exists(),
        }
    }

    /// The group below which a new one has all of `controllers`.
    ///
    /// In version 1 that is the process's own. In version 2 a group with processes has no
    /// controllers for its children, so it is the nearest one above that hands them down.
    pub(crate) fn parent_for(&self, controllers: &[Controller]) -> Result<PathBuf, String> {
        if self.version == Version::V1 {
            return Ok(self.own.clone());
        }
        let hands_down = |folder: &Path| {
            let file = folder.join("cgroup.subtree_control");
            controllers.iter().all(|c| has_word(&file, c.v2()))
        };
        self.own
            .ancestors()
            .take_while(|folder| folder.starts_with(&self.top))
            .find(|folder| hands_down(folder))
            .map(Path::to_path_buf)
            .ok_or_else(|| {
                let names: Vec<String> =
                    controllers.iter().map(|c| format!("+{}", c.v2())).collect();
                format!(
                    "no group above this process hands down {} (echo {:?} > {}/cgroup.subtree_control does)",
                    names.join(" ").replace('+', ""),
                    names.join(" "),
                    self.top.display()
                )
            })
    }
}

/// The limits of a study that control groups serve here: of memory, and of the rate of I/O. Each with the tree that
/// serves it, or why none does.
pub fn limits_here() -> [(&'static str, Result<String, String>); 2] {
    limits_on(&Host::default())
}

fn limits_on(host: &Host) -> [(&'static str, Result<String, String>); 2] {
    let served = |controller| {
        let tree = Hierarchy::find(host, controller)?;
        tree.parent_for(&[controller])?;
        let version = match tree.version {
            Version::V1 => "version 1",
            Version::V2 => "version 2",
        };
        Ok(format!("control groups {version}, {}", tree.top.display()))
    };
    [
        ("memory limits", served(Controller::Memory)),
        ("rate limits", served(Controller::Io)),
    ]
}

fn own_group(groups: &str, version: Version, controller: Controller) -> Option<String> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, path) = (parts.next()?, parts.next()?);
        let fits = match version {
            Version::V1 => names.split(',').any(|name| name == controller.v1()),
            Version::V2 => names.is_empty(),
        };
        fits.then(|| path.to_string())
    })
}

/// The folder of a group below the mount of its tree, of which the mount may show only a part.
fn below(mount: &Mount, top: &Path, group: &str) -> Option<PathBuf> {
    let rest = Path::new(group).strip_prefix(&mount.root).ok()?;
    Some(if rest.as_os_str().is_empty() {
        top.to_path_buf()
    } else {
        top.join(rest)
    })
}

fn has_word(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|w| w == word))
}

/// Writes one value to a control file. The kernel takes a value in one write.
pub(crate) fn put(file: &Path, value: &str) -> io::Result<()> {
    use std::io::Write;
    fs::OpenOptions::new()
        .write(true)
        .open(file)?
        .write_all(value.as_bytes())
}

/// A control file of one number; `max` is the largest.
pub(crate) fn number(file: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    match text.trim() {
        "max" => Ok(u64::MAX),
        text => text
            .parse()
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{text:?}"))),
    }
}

/// The number after a key in a file of `key number` lines (`memory.stat`, `memory.events`).
pub(crate) fn keyed(file: &Path, key: &str) -> io::Result<Option<u64>> {
    let text = fs::read_to_string(file)?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(name, _)| *name == key)
        .and_then(|(_, value)| value.trim().parse().ok()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A machine with invented files: `(path, text)`.
    pub(crate) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let host = Host::below(root.path());
        (root, host)
    }

    const HYBRID: [(&str, &str); 4] = [
        (
            "proc/self/mountinfo",
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        ),
        ("proc/self/cgroup", "7:blkio:/\n4:memory:/lab/a\n0::/\n"),
        ("sys/fs/cgroup/blkio/cgroup.sane_behavior", "0"),
        ("sys/fs/cgroup/memory/lab/a/tasks", ""),
    ];

    #[test]
    fn limits_are_served_where_a_tree_has_the_controller() {
        let (_root, host) = machine(&HYBRID);
        for (name, answer) in limits_on(&host) {
            let tree = answer.unwrap();
            assert!(
                tree.starts_with("control groups version 1, "),
                "{name}: {tree}"
            );
        }
        let none = [
            (
                "proc/self/mountinfo",
                "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("proc/self/cgroup", "0::/\n"),
        ];
        let (_root, host) = machine(&none);
        for (name, answer) in limits_on(&host) {
            let why = answer.unwrap_err();
            assert!(why.contains("no control group tree"), "{name}: {why}");
        }
    }

    #[test]
    fn each_controller_of_version_1_has_its_own_tree() {
        let (root, host) = machine(&HYBRID);
        let at = |path: &str| root.path().join("sys/fs/cgroup").join(path);
        let io = Hierarchy::find(&host, Controller::Io).unwrap();
        assert_eq!(
            (io.version, &io.top, &io.own),
            (Version::V1, &at("blkio"), &at("blkio"))
        );
        assert!(io.shows_root());
        let memory = Hierarchy::find(&host, Controller::Memory).unwrap();
        assert_eq!(memory.own, at("memory/lab/a"));
        assert!(!memory.shows_root(), "a container's top");
        assert_eq!(
            memory.parent_for(&[Controller::Memory]).unwrap(),
            memory.own
        );
    }

    #[test]
    fn in_version_2_the_parent_is_who_hands_the_controllers_down() {
        let (root, host) = machine(&[
            (
                "proc/self/mountinfo",
                "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("proc/self/cgroup", "0::/user.slice/session-1.scope\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpu io memory pids\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "cpu io memory\n"),
            (
                "sys/fs/cgroup/user.slice/cgroup.subtree_control",
                "memory pids\n",
            ),
            (
                "sys/fs/cgroup/user.slice/session-1.scope/cgroup.subtree_control",
                "\n",
            ),
        ]);
        let tree = Hierarchy::find(&host, Controller::Io).unwrap();
        let top = root.path().join("sys/fs/cgroup");
        assert_eq!(tree.version, Version::V2);
        assert_eq!(tree.own, top.join("user.slice/session-1.scope"));
        assert_eq!(
            tree.parent_for(&[Controller::Memory]).unwrap(),
            top.join("user.slice")
        );
        assert_eq!(
            tree.parent_for(&[Controller::Io, Controller::Memory])
                .unwrap(),
            top
        );
        fs::write(top.join("cgroup.subtree_control"), "cpu\n").unwrap();
        let why = tree.parent_for(&[Controller::Io]).unwrap_err();
        assert!(
            why.contains("hands down io") && why.contains("\"+io\""),
            "{why}"
        );
    }

    #[test]
    fn a_machine_without_the_controller_says_so() {
        let (_root, host) = machine(&[
            (
                "proc/self/mountinfo",
                "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/cgroup.controllers", "hugetlb\n"),
        ]);
        let why = Hierarchy::find(&host, Controller::Io).unwrap_err();
        assert_eq!(
            why,
            "no control group tree with the io controller (blkio in version 1) is mounted here"
        );
    }
}
