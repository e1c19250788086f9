//! Programs of the host, with what they need, as files of a guest.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fskind::Kind;

use super::program::{LD_CACHE, Linker};
use crate::kernel::Error;
use crate::programs;

/// The PATH of a guest, by its kernel's command line.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Links of a merged /usr: a path below one of them is below its target.
pub(super) const MERGED: [(&str, &str); 4] = [
    ("/bin", "usr/bin"),
    ("/sbin", "usr/sbin"),
    ("/lib", "usr/lib"),
    ("/lib64", "usr/lib64"),
];

/// Packages of programs that are often missing, besides those of filesystems.
const PACKAGES: [(&str, &str); 4] = [
    ("mdadm", "mdadm"),
    ("dmsetup", "dmsetup"),
    ("lvm", "lvm2"),
    ("blktrace", "blktrace"),
];

/// Files of the host that programs are lost without: mke2fs knows no feature but by its file.
const CONFIGS: [(&str, &str); 1] = [("mke2fs", "/etc/mke2fs.conf")];

/// There is no udev in a guest: LVM must make its nodes itself, and look at the devices there are.
const LVM_CONF: &str = "\
activation { udev_sync = 0 udev_rules = 0 verify_udev_operations = 0 monitoring = 0 }
devices { obtain_device_list_from_udev = 0 use_devicesfile = 0 multipath_component_detection = 0 }
global { event_activation = 0 use_lvmpolld = 0 }
backup { backup = 0 archive = 0 }
";

/// A file of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A file of the host, to be executed or not.
    Host(PathBuf),
    /// Text of our own.
    Text(&'static str),
    /// A link.
    Link(PathBuf),
}

/// Files by their path in the guest.
pub(super) type Items = BTreeMap<PathBuf, Item>;

/// All files that a set of tools needs.
pub(super) fn items(tools: &[&str]) -> Result<Items, Error> {
    let linker = Linker::of_host();
    let mut items = Items::new();
    for name in tools {
        let path = programs::find(name).ok_or_else(|| Error::NoTool {
            name: (*name).to_owned(),
            package: package(name),
        })?;
        add_program(&mut items, &linker, &path)?;
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let real = real
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for (tool, config) in CONFIGS {
            if real == tool && Path::new(config).exists() {
                items.insert(in_guest(Path::new(config)), Item::Host(config.into()));
            }
        }
        if real == "lvm" {
            items.insert("/etc/lvm/lvm.conf".into(), Item::Text(LVM_CONF));
        }
    }
    if !items.is_empty() {
        add_loader(&mut items, &linker);
    }
    Ok(items)
}

/// A program at its place, a link where the place is one, and what it needs.
fn add_program(items: &mut Items, linker: &Linker, path: &Path) -> Result<(), Error> {
    let real = fs::canonicalize(path).map_err(|source| Error::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    })?;
    items.insert(in_guest(&real), Item::Host(real.clone()));
    if in_guest(path) != in_guest(&real) {
        items.insert(in_guest(path), Item::Link(in_guest(&real)));
    }
    // Programs in other folders of the host's PATH are found in the guest, too.
    let known = |folder: &Path| {
        PATH.split(':')
            .any(|known| folder == in_guest(Path::new(known)))
    };
    let place = in_guest(path);
    if let Some(name) = place
        .file_name()
        .filter(|_| !place.parent().is_some_and(known))
    {
        items.insert(Path::new("/usr/bin").join(name), Item::Link(place.clone()));
    }
    add_needs(items, linker, &real)
}

/// The libraries and the loader of a program, each where it was found.
pub(super) fn add_needs(items: &mut Items, linker: &Linker, program: &Path) -> Result<(), Error> {
    for file in linker.closure(program)? {
        items.insert(in_guest(&file), Item::Host(file));
    }
    Ok(())
}

/// What every program that is linked dynamically may want.
pub(super) fn add_loader(items: &mut Items, linker: &Linker) {
    for file in [
        Some(PathBuf::from(LD_CACHE)),
        linker.library("libgcc_s.so.1"),
    ] {
        if let Some(file) = file.filter(|file| file.exists()) {
            items.insert(in_guest(&file), Item::Host(file));
        }
    }
}

/// The guest's path for a path of the host: below /usr, also where the host's /usr is not merged.
pub(super) fn in_guest(path: &Path) -> PathBuf {
    for (link, target) in MERGED {
        if let Ok(rest) = path.strip_prefix(link) {
            return Path::new("/").join(target).join(rest);
        }
    }
    path.to_owned()
}

fn package(name: &str) -> String {
    let of_filesystems = Kind::ALL.iter().map(|kind| kind.properties().package);
    let found = of_filesystems
        .filter(|package| package.programs.contains(&name))
        .map(|package| package.name)
        .chain(
            PACKAGES
                .iter()
                .filter(|(tool, _)| *tool == name)
                .map(|(_, package)| *package),
        )
        .next();
    found
        .map(|package| format!(" (apt-get install {package})"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_comes_with_its_loader_libraries_and_configuration() {
        let items = items(&["mke2fs", "mkfs.ext4"]).unwrap();
        let has = |name: &str| {
            items
                .keys()
                .any(|path| path.to_string_lossy().contains(name))
        };
        assert!(
            has("/libext2fs.so") && has("/ld-linux") && has("/libc.so"),
            "{items:#?}"
        );
        assert!(has("/etc/mke2fs.conf") && has("/etc/ld.so.cache"));
        let link = &items[Path::new("/usr/sbin/mkfs.ext4")];
        assert_eq!(*link, Item::Link("/usr/sbin/mke2fs".into()));
        // A link has nothing below it.
        for path in items.keys() {
            assert!(
                MERGED.iter().all(|(link, _)| !path.starts_with(link)),
                "{path:?}"
            );
        }
    }

    #[test]
    fn a_missing_tool_says_where_it_comes_from() {
        let error = items(&["no-such-tool"]).unwrap_err().to_string();
        assert!(
            error.contains("no program no-such-tool on this machine's PATH"),
            "{error}"
        );
        assert_eq!(package("mkfs.ocfs2"), " (apt-get install ocfs2-tools)");
    }

    #[test]
    fn a_tool_of_a_folder_of_ones_own_is_on_the_guests_path() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let mine = temp.path().join("mkfs.mine");
        fs::write(&mine, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&mine, fs::Permissions::from_mode(0o755)).unwrap();
        let items = items(&[mine.to_str().unwrap(), "mke2fs"]).unwrap();
        assert_eq!(items[Path::new("/usr/bin/mkfs.mine")], Item::Link(mine));
        assert!(!items.contains_key(Path::new("/usr/bin/mke2fs")));
    }
}
