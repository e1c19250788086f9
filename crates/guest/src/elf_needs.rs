//! What an ELF program needs to run: its interpreter and its shared libraries, read from its headers.

use std::path::PathBuf;

use object::elf;
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{Endianness, StringTable};

/// What a program or library names in its headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// PT_INTERP, or the interpreter of a script.
    pub(crate) interpreter: Option<PathBuf>,
    /// DT_SONAME: the name by which programs ask for a library.
    pub(crate) soname: Option<String>,
    /// DT_NEEDED: sonames of libraries, in the order of the file.
    pub(crate) libraries: Vec<String>,
    /// DT_RPATH and DT_RUNPATH, with `$ORIGIN` as written.
    pub(crate) folders: Vec<String>,
}

/// Reads what a program, a library or a script needs to run.
pub(crate) fn needs(bytes: &[u8]) -> Result<Needs, String> {
    if let Some(script) = bytes.strip_prefix(b"#!") {
        let line = script
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let interpreter = line.split_whitespace().next().map(PathBuf::from);
        return Ok(Needs {
            interpreter: Some(interpreter.ok_or("its first line names no interpreter")?),
            ..Needs::default()
        });
    }
    of_elf(bytes).map_err(|error| format!("its ELF headers cannot be read: {error}"))
}

fn of_elf(bytes: &[u8]) -> object::Result<Needs> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    let mut needs = Needs::default();
    let mut dynamic = None;
    for segment in segments {
        if let Some(path) = segment.interpreter(endian, bytes)? {
            needs.interpreter = Some(PathBuf::from(String::from_utf8_lossy(path).into_owned()));
        }
        dynamic = segment.dynamic(endian, bytes)?.or(dynamic);
    }
    let Some(dynamic) = dynamic else {
        return Ok(needs);
    };
    let value = |tag: elf::DynamicTag| {
        dynamic
            .iter()
            .take_while(|entry| entry.d_tag(endian) != elf::DT_NULL)
            .filter(move |entry| entry.d_tag(endian) == tag)
    };
    let one = |tag: elf::DynamicTag| value(tag).next().map(|entry| entry.d_val(endian));
    let (Some(at), Some(size)) = (one(elf::DT_STRTAB), one(elf::DT_STRSZ)) else {
        return Ok(needs);
    };
    // The table's address is in memory; the segment that holds it says where in the file that is.
    let file_at = segments.iter().find_map(|segment| {
        let start = segment.p_vaddr(endian);
        let inside = segment.p_type(endian) == elf::PT_LOAD
            && (start..start.saturating_add(segment.p_filesz(endian))).contains(&at);
        let within = inside.then(|| at - start)?;
        segment.p_offset(endian).checked_add(within)
    });
    let Some(file_at) = file_at else {
        return Ok(needs);
    };
    let strings = StringTable::new(bytes, file_at, file_at.saturating_add(size));
    let text = |entry: &elf::Dyn64<Endianness>| {
        let name = entry.val32(endian).and_then(|at| strings.get(at).ok());
        name.map(|name| String::from_utf8_lossy(name).into_owned())
    };
    needs.soname = value(elf::DT_SONAME).find_map(text);
    needs.libraries = value(elf::DT_NEEDED).filter_map(text).collect();
    for tag in [elf::DT_RPATH, elf::DT_RUNPATH] {
        for folders in value(tag).filter_map(text) {
            needs.folders.extend(folders.split(':').map(str::to_owned));
        }
    }
    Ok(needs)
}

/// Replaces the interpreter of a program, in place.
///
/// The kernel reads the path from the file when it starts the program, relative to the working folder if it does
/// not begin with `/`. Starting the interpreter with the program as its argument is no substitute for User-mode
/// Linux: the heap then begins after the interpreter, and UML takes the gap up to there for memory of its own.
pub(crate) fn set_interpreter(bytes: &mut [u8], path: &str) -> Result<(), String> {
    let place = interpreter_place(bytes)
        .map_err(|error| format!("its ELF headers cannot be read: {error}"))?
        .ok_or("it has no interpreter")?;
    let room = bytes.get_mut(place).ok_or("it is cut off")?;
    if path.len() >= room.len() {
        return Err(format!(
            "its interpreter's path has {} bytes, and {path} needs {}",
            room.len(),
            path.len() + 1
        ));
    }
    room.fill(0);
    room[..path.len()].copy_from_slice(path.as_bytes());
    Ok(())
}

fn interpreter_place(bytes: &[u8]) -> object::Result<Option<std::ops::Range<usize>>> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    let segment = segments
        .iter()
        .find(|segment| segment.p_type(endian) == elf::PT_INTERP);
    Ok(segment.map(|segment| {
        let start = segment.p_offset(endian) as usize;
        start..start.saturating_add(segment.p_filesz(endian) as usize)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_replaced_where_it_has_room() {
        let mut shell = std::fs::read("/bin/sh").unwrap();
        let before = needs(&shell).unwrap();
        assert!(before.libraries.iter().any(|name| name == "libc.so.6"));
        set_interpreter(&mut shell, "lib/ld-linux-x86-64.so.2").unwrap();
        let after = needs(&shell).unwrap();
        assert_eq!(
            after.interpreter,
            Some("lib/ld-linux-x86-64.so.2".into()),
            "{before:?}"
        );
        assert_eq!(after.libraries, before.libraries);
        let refused = set_interpreter(&mut shell, &"x".repeat(100)).unwrap_err();
        assert!(refused.contains("needs 101"), "{refused}");
        set_interpreter(&mut b"text".to_vec(), "x").unwrap_err();
    }

    #[test]
    fn a_library_has_a_soname() {
        let shell = needs(&std::fs::read("/bin/sh").unwrap()).unwrap();
        let loader = std::fs::read(shell.interpreter.unwrap()).unwrap();
        let soname = needs(&loader).unwrap().soname;
        assert!(soname.is_some_and(|name| name.starts_with("ld-linux")));
    }
}
