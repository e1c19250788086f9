//! Loading modules in the order that the host computed.
//!
//! finit_module(2) and no modprobe: dependencies, soft ones too, are known on the host, and
//! the files are decompressed there, since an emulated guest pays ten times for it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::io::Errno;

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

/// One line: path, then parameters.
fn one(line: &str) -> Result<(), String> {
    let (path, parameters) = line.split_once(' ').unwrap_or((line, ""));
    let failed = |why: &dyn std::fmt::Display| format!("cannot load the module {path}: {why}");
    let file = File::open(path).map_err(|error| failed(&error))?;
    let parameters = CString::new(parameters).map_err(|error| failed(&error))?;
    match rustix::system::finit_module(&file, &parameters, 0) {
        // Drivers for hardware that is not there say so (NODEV), and may: crc32c-intel under an emulated CPU.
        Ok(()) | Err(Errno::EXIST | Errno::NODEV) => Ok(()),
        Err(error) => Err(failed(&error)),
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
        let said = load(&list).unwrap_err();
        assert!(
            said.starts_with("cannot load the module /no/such/md.ko: No such file"),
            "{said}"
        );
    }
}
