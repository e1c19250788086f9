//! Loading modules in the order that the host computed.
//!
//! finit_module(2) and no modprobe: dependencies, soft ones too, are known on the host, and
//! the files are decompressed there, since an emulated guest pays ten times for it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::initramfs::SOFT;

/// Loads every module of the list; no list, no modules.
pub(super) fn load(list: &Path) -> Result<(), String> {
    let text = match fs::read_to_string(list) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(|error| format!("{}: {error}", list.display()))?,
    };
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .try_for_each(one)
}

/// One line: `-` where only a soft dependency asks for the module, path, then parameters. A soft one may
/// refuse for any reason (crc32c-intel on a processor without the instruction, a failed
/// self-test): that goes to the console. A hard one may not, since what depends on it would fail
/// later with another message.
fn one(line: &str) -> Result<(), String> {
    let (soft, line) = match line.strip_prefix(SOFT) {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (path, parameters) = line.split_once(' ').unwrap_or((line, ""));
    match insert(path, parameters) {
        Err(why) if soft => {
            eprintln!("init: goes on without the module {path}: {why}");
            Ok(())
        }
        other => other.map_err(|why| format!("cannot load the module {path}: {why}")),
    }
}

fn insert(path: &str, parameters: &str) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let parameters = CString::new(parameters).map_err(|error| error.to_string())?;
    match rustix::system::finit_module(&file, &parameters, 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_is_no_modules_and_a_missing_module_is_named() {
        let temp = tempfile::tempdir().unwrap();
        let list = temp.path().join("order");
        assert_eq!(load(&list), Ok(()));
        fs::write(&list, "\n/no/such/md.ko raid=1\n").unwrap();
        let printed = load(&list).unwrap_err();
        assert!(
            printed.starts_with("cannot load the module /no/such/md.ko: No such file"),
            "{printed}"
        );
    }

    #[test]
    fn a_soft_one_may_refuse_and_a_hard_one_may_not() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("text.ko");
        // Not a module: the kernel returns ENOEXEC, or EPERM without the right to load any.
        fs::write(&file, "text").unwrap();
        let list = temp.path().join("order");
        fs::write(&list, format!("{SOFT}{}\n", file.display())).unwrap();
        assert_eq!(load(&list), Ok(()));
        fs::write(&list, format!("{}\n", file.display())).unwrap();
        let printed = load(&list).unwrap_err();
        assert!(printed.contains("text.ko: "), "{printed}");
    }
}
