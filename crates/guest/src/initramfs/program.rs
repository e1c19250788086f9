//! What a program of the host needs to run elsewhere: its interpreter and its shared libraries.
//!
//! ldd(1) finds them by running the program's loader on it. Here the ELF headers are read and the rules of
//! ld.so(8) followed: DT_RPATH and DT_RUNPATH with `$ORIGIN`, /etc/ld.so.cache, the usual folders. Each
//! library keeps its place and the cache goes along, so the guest's loader finds what was found here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use crate::elf_needs::needs;
use crate::kernel::Error;

/// The linker's cache, on the host and in the guest.
pub(super) const LD_CACHE: &str = "/etc/ld.so.cache";
/// Where loaders look without any configuration: Debian's, Fedora's and others'.
const USUAL: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// Finds libraries as the loader of this machine does.
#[derive(Debug)]
pub(super) struct Linker {
    cache: BTreeMap<String, Vec<PathBuf>>,
}

impl Linker {
    /// With this machine's cache, if it has one.
    pub(super) fn of_host() -> Self {
        Self {
            cache: fs::read(LD_CACHE)
                .map(|cache| parse_cache(&cache))
                .unwrap_or_default(),
        }
    }

    /// All files that a program needs besides itself, each where the loader finds it. A script needs
    /// its interpreter, and what that needs.
    pub(super) fn closure(&self, program: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut files: Vec<PathBuf> = Vec::new();
        let mut todo = vec![program.to_owned()];
        while let Some(path) = todo.pop() {
            let bytes = fs::read(&path).map_err(|source| Error::Io {
                doing: "read",
                path: path.clone(),
                source,
            })?;
            let needs = needs(&bytes).map_err(|why| Error::Program {
                path: path.clone(),
                why,
            })?;
            let mut found: Vec<PathBuf> = needs.interpreter.iter().cloned().collect();
            for library in &needs.libraries {
                let at = self.find(library, &path, &needs.folders);
                found.push(at.ok_or_else(|| Error::NoLibrary {
                    program: path.clone(),
                    library: library.clone(),
                })?);
            }
            for file in found {
                if !files.contains(&file) {
                    files.push(file.clone());
                    todo.push(file);
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// A library that programs load by themselves, if it is there: pthread_exit(3) wants libgcc_s.
    pub(super) fn library(&self, name: &str) -> Option<PathBuf> {
        self.find(name, Path::new("/"), &[])
    }

    fn find(&self, library: &str, of: &Path, folders: &[String]) -> Option<PathBuf> {
        if library.contains('/') {
            return Some(PathBuf::from(library));
        }
        let origin = fs::canonicalize(of).ok();
        let origin = origin
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(Path::new("/"));
        let own = folders.iter().map(|folder| {
            let origin = origin.display().to_string();
            PathBuf::from(
                folder
                    .replace("${ORIGIN}", &origin)
                    .replace("$ORIGIN", &origin),
            )
            .join(library)
        });
        let cached = self.cache.get(library).into_iter().flatten().cloned();
        let usual = USUAL.iter().map(|folder| Path::new(folder).join(library));
        own.chain(cached).chain(usual).find(|path| is_ours(path))
    }
}

/// Whether a file is ELF for x86-64, and not a 32-bit library of the same name.
fn is_ours(path: &Path) -> bool {
    let mut head = [0; 20];
    let read =
        fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && head.starts_with(b"\x7fELF\x02\x01") && head[18..20] == [62, 0]
}

/// A program without what only a debugger reads: it ends where its last segment does, and has no
/// table of sections. A debug build of fslab is 100 MB, of which 40 are loaded. What is not ELF is left as it is.
pub(super) fn without_sections(mut bytes: Vec<u8>) -> Vec<u8> {
    /// Offsets of e_shoff, and of e_shnum and e_shstrndx, in a 64-bit header.
    const SECTIONS: [std::ops::Range<usize>; 2] = [40..48, 60..64];
    let end = || -> object::Result<u64> {
        let header = elf::FileHeader64::<Endianness>::parse(bytes.as_slice())?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, bytes.as_slice())?;
        let ends = segments.iter().map(|segment| {
            let size = segment.p_filesz(endian);
            segment.p_offset(endian).saturating_add(size)
        });
        Ok(ends.max().unwrap_or(u64::MAX))
    };
    let whole = bytes.len() as u64;
    if let Ok(end) = end().map(|end| end.min(whole) as usize)
        && end >= size_of::<elf::FileHeader64<Endianness>>()
        && (end as u64) < whole
    {
        bytes.truncate(end);
        for field in SECTIONS {
            bytes[field].fill(0);
        }
    }
    bytes
}

/// The linker's cache: names and paths of the libraries for x86-64 (glibc's sysdeps/generic/dl-cache.h, the
/// format since 2.2; alone in the file since 2.32, after the older format before that). Damage ends the list early.
fn parse_cache(cache: &[u8]) -> BTreeMap<String, Vec<PathBuf>> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER: usize = 48;
    const ENTRY: usize = 24;
    /// FLAG_X8664_LIB64 and FLAG_ELF_LIBC6.
    const X86_64: u32 = 0x0303;
    let mut libraries: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let Some(start) = memchr::memmem::find(cache, MAGIC) else {
        return libraries;
    };
    let cache = &cache[start..];
    let word = |at: usize| {
        let bytes = cache.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let text = |at: u32| {
        let bytes = cache.get(at as usize..)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    // (libraries for all processors first, those for some afterwards)
    let mut special = Vec::new();
    for n in 0..word(MAGIC.len()).unwrap_or(0) as usize {
        let at = HEADER + n * ENTRY;
        let (Some(flags), Some(key), Some(value)) = (word(at), word(at + 4), word(at + 8)) else {
            break;
        };
        let (Some(name), Some(path)) = (text(key), text(value)) else {
            break;
        };
        if flags & 0xffff != X86_64 {
            continue;
        }
        if word(at + 16) == Some(0) && word(at + 20) == Some(0) {
            libraries.entry(name).or_default().push(path.into());
        } else {
            special.push((name, path));
        }
    }
    for (name, path) in special {
        libraries.entry(name).or_default().push(path.into());
    }
    libraries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cache(entries: &[(&str, &str, u32, u64)]) -> Vec<u8> {
        let mut cache = b"glibc-ld.so.cache1.1".to_vec();
        cache.extend((entries.len() as u32).to_le_bytes());
        cache.resize(48, 0);
        let mut strings = Vec::new();
        let base = 48 + 24 * entries.len();
        for (name, path, flags, hwcap) in entries {
            cache.extend(flags.to_le_bytes());
            for text in [name, path] {
                cache.extend(((base + strings.len()) as u32).to_le_bytes());
                strings.extend(text.bytes());
                strings.push(0);
            }
            cache.extend([0; 4]);
            cache.extend(hwcap.to_le_bytes());
        }
        cache.extend(strings);
        cache
    }

    #[test]
    fn the_cache_names_libraries_of_this_machine() {
        let parsed = parse_cache(&cache(&[
            ("liba.so.1", "/v3/liba.so.1", 0x303, 1 << 62),
            ("liba.so.1", "/x/liba.so.1", 0x303, 0),
            ("liba.so.1", "/32/liba.so.1", 3, 0),
        ]));
        let want = ["/x/liba.so.1", "/v3/liba.so.1"].map(PathBuf::from);
        assert_eq!(parsed["liba.so.1"], want);
        assert!(parse_cache(b"no cache").is_empty());
    }

    #[test]
    fn this_test_itself_needs_a_loader_and_a_c_library() {
        let me = std::env::current_exe().unwrap();
        let files = Linker::of_host().closure(&me).unwrap();
        let has = |name: &str| files.iter().any(|f| f.to_string_lossy().contains(name));
        // Linked statically it needs nothing at all.
        assert!(
            files.is_empty() || (has("/libc.so") && has("/ld-linux")),
            "{files:?}"
        );
        assert!(files.iter().all(|file| file.exists()));
    }

    #[test]
    fn a_program_runs_without_its_sections() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("me");
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let less = without_sections(whole.clone());
        assert!(less.len() < whole.len() * 9 / 10);
        fs::write(&to, &less).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        // Another test's fork may hold the file open for writing for a moment.
        let output = (0..50).find_map(|_| {
            let output = std::process::Command::new(&to).arg("--list").output();
            if output.is_err() {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            output.ok()
        });
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("a_program_runs_without"));
        assert_eq!(without_sections(less.clone()), less);
        assert_eq!(without_sections(b"#!/bin/sh".to_vec()), b"#!/bin/sh");
    }

    #[test]
    fn scripts_need_their_interpreter_and_others_say_why_not() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        fs::write(&script, "#!/bin/sh -e\n").unwrap();
        let files = Linker::of_host().closure(&script).unwrap();
        assert!(files.contains(&PathBuf::from("/bin/sh")), "{files:?}");
        fs::write(&script, "text").unwrap();
        let error = Linker::of_host().closure(&script).unwrap_err().to_string();
        assert!(error.contains("no program for a guest"), "{error}");
    }

    proptest! {
        #[test]
        fn damage_is_no_panic(at in 0_usize..200, byte: u8, end in 0_usize..200) {
            let mut bytes = cache(&[("a", "/a", 0x303, 0), ("b", "/b", 0x303, 0)]);
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(end);
            let _ = parse_cache(&bytes);
        }

        #[test]
        fn no_program_is_a_panic(at in 0_usize..4096, byte: u8) {
            let mut bytes = fs::read("/bin/true").unwrap();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = needs(&bytes);
            let _ = without_sections(bytes);
        }
    }
}
