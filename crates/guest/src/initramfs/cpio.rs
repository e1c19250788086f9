//! The newc form of cpio, as the kernel unpacks it (Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! Written here because the format is a header of hexadecimal numbers, and the tool would have to be installed,
//! run as root to make device nodes, and given a folder that looks like the guest's root. Times,
//! owners and inode numbers are fixed, so the same inputs are the same bytes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::kernel::Error;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;
const BLOCK: u32 = 0o060_000;
const TRAILER: &str = "TRAILER!!!";
/// Archives are padded to it, as cpio does; a following one then begins aligned.
const PADDING: u64 = 512;
/// Room for the path in the kernel's unpacker, with the NUL (PATH_MAX).
const PATH_LIMIT: usize = 4096;

/// A character or block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// As /dev/null.
    Character,
    /// As /dev/sda.
    Block,
}

/// Writes an archive, entry by entry. Paths are absolute in the guest; folders above an entry are made as needed.
#[derive(Debug)]
pub struct Writer<W: Write> {
    inner: W,
    bytes: u64,
    inode: u32,
    directories: BTreeSet<PathBuf>,
}

impl<W: Write> Writer<W> {
    /// An archive into `inner`, which should be buffered.
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            bytes: 0,
            inode: 0,
            directories: BTreeSet::new(),
        }
    }

    /// A folder, and those above it; once, however often it is asked for.
    ///
    /// # Errors
    /// The path does not fit, or the archive cannot be written.
    pub fn directory(&mut self, path: &Path) -> Result<(), Error> {
        self.above(path)?;
        let path = plain(path)?;
        if path.as_os_str().is_empty() || !self.directories.insert(path.clone()) {
            return Ok(());
        }
        self.entry(&path, DIRECTORY | 0o755, (0, 0), &[])
    }

    /// A file of these bytes; `mode` has the permissions, as 0o755.
    ///
    /// # Errors
    /// As for [`Writer::directory`].
    pub fn file(&mut self, path: &Path, mode: u32, contents: &[u8]) -> Result<(), Error> {
        self.above(path)?;
        self.entry(&plain(path)?, REGULAR | (mode & 0o7777), (0, 0), contents)
    }

    /// A file of the host.
    ///
    /// # Errors
    /// It cannot be read, or as for [`Writer::directory`].
    pub fn file_of_host(&mut self, path: &Path, mode: u32, host: &Path) -> Result<(), Error> {
        let mut contents = Vec::new();
        File::open(host)
            .and_then(|mut file| file.read_to_end(&mut contents))
            .map_err(|source| Error::Io {
                doing: "read",
                path: host.to_owned(),
                source,
            })?;
        self.file(path, mode, &contents)
    }

    /// A symbolic link.
    ///
    /// # Errors
    /// As for [`Writer::directory`].
    pub fn symlink(&mut self, path: &Path, target: &Path) -> Result<(), Error> {
        self.above(path)?;
        let target = target.as_os_str().as_encoded_bytes();
        self.entry(&plain(path)?, SYMLINK | 0o777, (0, 0), target)
    }

    /// A device node.
    ///
    /// # Errors
    /// As for [`Writer::directory`].
    pub fn device(
        &mut self,
        path: &Path,
        kind: Device,
        mode: u32,
        number: (u32, u32),
    ) -> Result<(), Error> {
        self.above(path)?;
        let kind = match kind {
            Device::Character => CHARACTER,
            Device::Block => BLOCK,
        };
        self.entry(&plain(path)?, kind | (mode & 0o7777), number, &[])
    }

    /// Ends the archive. Returns what it was written to, and the bytes.
    ///
    /// # Errors
    /// The archive cannot be written.
    pub fn finish(mut self) -> Result<(W, u64), Error> {
        self.raw(TRAILER.as_bytes(), 0, 1, (0, 0), &[])
            .and_then(|()| self.pad(PADDING))
            .and_then(|()| self.inner.flush())
            .map_err(|error| written(Path::new(TRAILER), error))?;
        Ok((self.inner, self.bytes))
    }

    fn above(&mut self, path: &Path) -> Result<(), Error> {
        match path.parent() {
            Some(above) if above.components().count() > 1 || !above.has_root() => {
                self.directory(above)
            }
            _ => Ok(()),
        }
    }

    fn entry(
        &mut self,
        path: &Path,
        mode: u32,
        number: (u32, u32),
        data: &[u8],
    ) -> Result<(), Error> {
        self.inode += 1;
        let links = if mode & DIRECTORY == mode & 0o170_000 {
            2
        } else {
            1
        };
        let name = path.as_os_str().as_encoded_bytes();
        if name.len() >= PATH_LIMIT {
            return Err(unfit(path, "its path is longer than the kernel takes"));
        }
        if u32::try_from(data.len()).is_err() {
            return Err(unfit(path, "it is larger than 4 GiB"));
        }
        self.raw(name, mode, links, number, data)
            .map_err(|error| written(path, error))
    }

    fn raw(
        &mut self,
        name: &[u8],
        mode: u32,
        links: u32,
        number: (u32, u32),
        data: &[u8],
    ) -> io::Result<()> {
        let inode = if mode == 0 { 0 } else { self.inode };
        // ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        let fields = [
            inode,
            mode,
            0,
            0,
            links,
            0,
            data.len() as u32,
            0,
            0,
            number.0,
            number.1,
            name.len() as u32 + 1,
            0,
        ];
        let mut header = String::from("070701");
        for field in fields {
            let _ = write!(header, "{field:08x}");
        }
        self.put(header.as_bytes())?;
        self.put(name)?;
        self.put(&[0])?;
        self.pad(4)?;
        self.put(data)?;
        self.pad(4)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.inner.write_all(bytes)
    }

    fn pad(&mut self, to: u64) -> io::Result<()> {
        let missing = self.bytes.next_multiple_of(to) - self.bytes;
        self.put(&vec![0; missing as usize])
    }
}

fn written(path: &Path, source: io::Error) -> Error {
    Error::Io {
        doing: "write to the archive",
        path: path.to_owned(),
        source,
    }
}

fn unfit(path: &Path, why: &str) -> Error {
    Error::Archive {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

/// A path as the archive has it: without the slash in front, and nothing but names.
fn plain(path: &Path) -> Result<PathBuf, Error> {
    use std::path::Component::{CurDir, Normal, RootDir};
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Normal(name) if !name.as_encoded_bytes().contains(&0) => plain.push(name),
            RootDir | CurDir => {}
            _ => return Err(unfit(path, "its path has .. or a NUL in it")),
        }
    }
    Ok(plain)
}

/// An entry as it was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Without a slash in front.
    pub path: PathBuf,
    /// Type and permissions, as st_mode has them.
    pub mode: u32,
    /// Major and minor number of a device.
    pub number: (u32, u32),
    /// Contents of a file, target of a link.
    pub data: Vec<u8>,
}

/// Reads concatenated archives, as the kernel does: for tests, and to look into what a
/// guest was given.
///
/// # Errors
/// What is wrong, and where.
pub fn read(mut archive: &[u8]) -> Result<Vec<Entry>, String> {
    let whole = archive.len();
    let mut entries = Vec::new();
    loop {
        // Between archives there may be zeros.
        let zeros = archive.iter().take_while(|byte| **byte == 0).count();
        archive = &archive[zeros..];
        if archive.is_empty() {
            return Ok(entries);
        }
        let at = whole - archive.len();
        let (entry, rest) = one(archive, at)?;
        archive = rest;
        if entry.path != Path::new(TRAILER) {
            entries.push(entry);
        }
    }
}

fn one(archive: &[u8], at: usize) -> Result<(Entry, &[u8]), String> {
    let cut = || format!("the entry at byte {at} is cut off");
    let header = archive.get(..110).ok_or_else(cut)?;
    if &header[..6] != b"070701" {
        return Err(format!("no newc header at byte {at}"));
    }
    if !at.is_multiple_of(4) {
        return Err(format!("the header at byte {at} is not aligned to 4"));
    }
    let field = |n: usize| {
        let text = std::str::from_utf8(&header[6 + 8 * n..14 + 8 * n]).ok();
        let number = text.and_then(|text| u32::from_str_radix(text, 16).ok());
        number.ok_or_else(|| format!("field {n} of the header at byte {at} is no number"))
    };
    let (mode, size, name_size) = (field(1)?, field(6)? as usize, field(11)? as usize);
    let number = (field(9)?, field(10)?);
    let name = archive
        .get(110..110 + name_size.max(1) - 1)
        .ok_or_else(cut)?;
    let data_at = (110 + name_size).next_multiple_of(4);
    let data = archive.get(data_at..data_at + size).ok_or_else(cut)?;
    let end = (data_at + size).next_multiple_of(4);
    let path = std::os::unix::ffi::OsStrExt::from_bytes(name);
    let entry = Entry {
        path: Path::new::<std::ffi::OsStr>(path).to_owned(),
        mode,
        number,
        data: data.to_vec(),
    };
    Ok((entry, archive.get(end..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    fn some() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        writer
            .file(Path::new("/usr/bin/tool"), 0o755, b"12345")
            .unwrap();
        writer
            .symlink(Path::new("/bin"), Path::new("usr/bin"))
            .unwrap();
        let null = Path::new("/dev/null");
        writer
            .device(null, Device::Character, 0o666, (1, 3))
            .unwrap();
        writer.directory(Path::new("/usr/bin")).unwrap();
        writer.finish().unwrap().0
    }

    #[test]
    fn what_was_written_is_read() {
        let archive = some();
        assert_eq!(archive.len() % 512, 0);
        let entries = read(&archive).unwrap();
        let short: Vec<(String, u32)> = entries
            .iter()
            .map(|entry| (entry.path.display().to_string(), entry.mode))
            .collect();
        let want = [
            ("usr", 0o40755),
            ("usr/bin", 0o40755),
            ("usr/bin/tool", 0o100_755),
            ("bin", 0o120_777),
            ("dev", 0o40755),
            ("dev/null", 0o20666),
        ];
        assert_eq!(short, want.map(|(path, mode)| (path.to_owned(), mode)));
        assert_eq!(entries[2].data, b"12345");
        assert_eq!(entries[5].number, (1, 3));
    }

    #[test]
    fn cpio_lists_the_same() {
        let Ok(mut cpio) = Command::new("cpio")
            .args(["-t", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            testkit::skip!("needs cpio");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&some()).unwrap();
        let output = cpio.wait_with_output().unwrap();
        assert!(output.status.success());
        let listed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(listed, "usr\nusr/bin\nusr/bin/tool\nbin\ndev\ndev/null\n");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut writer = Writer::new(Vec::new());
        for path in ["/a/../b", "/a\0b"] {
            let error = writer.file(Path::new(path), 0o644, b"").unwrap_err();
            assert!(
                error.to_string().contains("does not fit an initramfs"),
                "{error}"
            );
        }
        let long = format!("/{}", "x".repeat(5000));
        writer.file(Path::new(&long), 0o644, b"").unwrap_err();
        assert!(read(b"070701zz").unwrap_err().contains("cut off"));
        assert!(read(&[b'x'; 200]).unwrap_err().contains("no newc header"));
    }

    proptest! {
        /// Any names and contents come back, of several concatenated archives too.
        #[test]
        fn everything_comes_back(
            files in proptest::collection::vec(("[a-z]{1,40}(/[A-Z0-9 ~]{1,9}){0,3}", proptest::collection::vec(any::<u8>(), 0..300)), 0..12),
            cut in 0_usize..13,
        ) {
            let cut = cut.min(files.len());
            let mut archive = Vec::new();
            for part in [&files[..cut], &files[cut..]] {
                let mut writer = Writer::new(Vec::new());
                for (path, data) in part {
                    writer.file(&Path::new("/").join(path), 0o644, data).unwrap();
                }
                let (bytes, count) = writer.finish().unwrap();
                prop_assert_eq!(bytes.len() as u64, count);
                archive.extend(bytes);
            }
            let entries = read(&archive).unwrap();
            let back: Vec<(String, Vec<u8>)> = entries
                .into_iter()
                .filter(|entry| entry.mode & 0o170_000 == REGULAR)
                .map(|entry| (entry.path.display().to_string(), entry.data))
                .collect();
            prop_assert_eq!(back, files);
        }

        #[test]
        fn damage_is_no_panic(at in 0_usize..1024, byte: u8, end in 0_usize..2000) {
            let mut archive = some();
            let at = at % archive.len();
            archive[at] = byte;
            archive.truncate(end);
            let _ = read(&archive);
        }
    }
}
