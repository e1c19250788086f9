//! The shared libraries of User-mode Linux, from the suite that its package comes from.
//!
//! The newest UML is built against a C library that most machines do not have yet. Its package names the packages
//! it depends on; these are fetched as well, and of them the interpreter and the libraries that the program's ELF
//! headers ask for are put beside it, in `lib`. Nothing of this machine is changed or used, so a UML that was
//! fetched runs on any x86-64 machine whose own kernel it suits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::apt::Apt;
use super::deb;
use super::error::{Doing as _, Error};
use super::install::write;
use super::packages::{self, Offer};
use super::record::LIBRARIES;
use crate::elf_needs::{needs, set_interpreter};

/// Levels of dependencies that are fetched: the program's own, and those of its libraries' packages.
const LEVELS: usize = 4;
/// Larger than any library.
pub(super) const LIMIT: u64 = 64 << 20;

/// Libraries by soname.
type Libraries = BTreeMap<String, Vec<u8>>;

/// Puts the interpreter and the libraries of a program into `stage/lib`, and has the program look for its
/// interpreter there, relative to the folder it is started in.
pub(super) fn install(
    apt: &Apt,
    offer: &Offer,
    program: &mut [u8],
    stage: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let lists = apt.lists()?;
    let lists: Vec<&str> = lists
        .iter()
        .filter(|(suite, _)| *suite == offer.suite)
        .map(|(_, list)| list.as_str())
        .collect();
    let mut seen: BTreeSet<String> = offer.packages.iter().cloned().collect();
    let mut level = seen.clone();
    let mut libraries = Libraries::new();
    for number in 0..LEVELS {
        let found = level
            .iter()
            .flat_map(|name| packages::dependencies(&lists, name))
            .filter(|package| seen.insert(package.name.clone()));
        let packages: Vec<packages::Dependency> = found.collect();
        if packages.is_empty() {
            break;
        }
        let names: Vec<String> = packages.iter().map(packages::Dependency::exact).collect();
        say(&format!("downloading {}", names.join(", ")));
        let to = stage.join(format!("libraries-{number}"));
        fs::create_dir(&to).doing("make", &to)?;
        for package in apt.download(&names, &to)? {
            read(&package, &mut libraries)?;
        }
        fs::remove_dir_all(&to).doing("remove", &to)?;
        if let Ok(needed) = closure(program, &libraries) {
            return place(program, &needed, &libraries, &stage.join(LIBRARIES));
        }
        level = packages.into_iter().map(|package| package.name).collect();
    }
    let missing = closure(program, &libraries).err().unwrap_or_default();
    Err(Error::NoLibrary {
        program: offer.packages.first().cloned().unwrap_or_default().into(),
        library: format!("{missing} (in {})", offer.suite),
    })
}

/// Adds the libraries of a package.
fn read(package: &Path, libraries: &mut Libraries) -> Result<(), Error> {
    deb::files(package, |entry| {
        let name = entry.path.file_name().unwrap_or_default();
        if !name.to_string_lossy().contains(".so") {
            return Ok(());
        }
        let mut bytes = Vec::new();
        entry
            .contents
            .take(LIMIT)
            .read_to_end(&mut bytes)
            .doing("read", package)?;
        // A linker script of the same name, or a 32-bit library, is none.
        if bytes.starts_with(b"\x7fELF\x02")
            && let Ok(Some(soname)) = needs(&bytes).map(|needs| needs.soname)
        {
            libraries.entry(soname).or_insert(bytes);
        }
        Ok(())
    })
}

/// The sonames that a program needs, directly or not; else the first that is missing.
fn closure(program: &[u8], libraries: &Libraries) -> Result<BTreeSet<String>, String> {
    let mut met = BTreeSet::new();
    let mut todo = vec![program];
    while let Some(bytes) = todo.pop() {
        let needs = needs(bytes)?;
        let interpreter = needs.interpreter.as_ref().and_then(|path| path.file_name());
        let interpreter = interpreter.map(|name| name.to_string_lossy().into_owned());
        for soname in needs.libraries.into_iter().chain(interpreter) {
            let library = libraries.get(&soname).ok_or_else(|| soname.clone())?;
            // It becomes a file's name.
            if soname.contains('/') {
                return Err(soname);
            }
            if met.insert(soname) {
                todo.push(library);
            }
        }
    }
    Ok(met)
}

fn place(
    program: &mut [u8],
    needed: &BTreeSet<String>,
    libraries: &Libraries,
    folder: &Path,
) -> Result<(), Error> {
    let broken = |why: String| Error::Program {
        path: folder.to_owned(),
        why,
    };
    let interpreter = needs(program).map_err(broken)?.interpreter;
    let Some(interpreter) = interpreter.as_deref().and_then(Path::file_name) else {
        // Linked statically: it needs none of this.
        return Ok(());
    };
    for soname in needed {
        let path = folder.join(soname);
        write(&path, libraries.get(soname).map_or(&[][..], Vec::as_slice))?;
        let run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, run).doing("make executable", &path)?;
    }
    let interpreter = format!("{LIBRARIES}/{}", interpreter.to_string_lossy());
    set_interpreter(program, &interpreter).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::super::deb::tests::package;
    use super::*;

    #[test]
    fn what_a_program_needs_is_found_by_soname_and_put_beside_it() {
        let shell = fs::read("/bin/sh").unwrap();
        let loader = needs(&shell).unwrap().interpreter.unwrap();
        let loader = fs::read(loader).unwrap();
        let missing = closure(&shell, &Libraries::new()).unwrap_err();
        assert!(missing.contains(".so"), "{missing}");

        let dir = tempfile::tempdir().unwrap();
        let deb = dir.path().join("loader.deb");
        let files: [(&str, &[u8]); 3] = [
            ("usr/lib/x/ld-2.99.so", &loader),
            ("usr/lib/x/libc.so", b"/* GNU ld script"),
            ("usr/share/doc/x.so.txt", b"text"),
        ];
        fs::write(&deb, package("data.tar.xz", &files)).unwrap();
        let mut libraries = Libraries::new();
        read(&deb, &mut libraries).unwrap();
        let names: Vec<&String> = libraries.keys().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert!(names[0].starts_with("ld-linux"), "{names:?}");

        // The loader is linked statically: as a program it needs nothing.
        let (mut program, folder) = (loader.clone(), dir.path().join("lib"));
        let needed = closure(&program, &libraries).unwrap();
        place(&mut program, &needed, &libraries, &folder).unwrap();
        assert!(needed.is_empty() && program == loader && !folder.exists());
    }
}
