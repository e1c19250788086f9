//! Parts of archives, made once and kept.
//!
//! A part is named by a hash over all that went into it: for each file its path, size, inode and times, and the
//! text of what is generated. The contents themselves are not read for it: a file cannot change without
//! its change time, and hashing 30 MB would cost a warm start more than all the rest. Parts that
//! nobody has used for a month go when the next one is made.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use super::cpio::{Device, Writer};
use super::tools::{self, Item, Items, MERGED};
use crate::kernel::{Cache, Error, Kernel};

/// Changes when the way in which parts are made does.
const FORMAT: &str = "fslab initramfs 1";
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);
/// Where the modules' order is in a guest.
pub const MODULES_ORDER: &str = "/fslab/modules.order";

/// The folder of parts.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// A part of an archive: an archive itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Whether it was made now; else it was there.
    pub made: bool,
}

impl Store {
    /// The parts of a cache, below `initramfs`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(cache: &Cache) -> Result<Self, Error> {
        let dir = cache.root().join("initramfs");
        fs::create_dir_all(&dir).map_err(|source| io("make", &dir, source))?;
        Ok(Self { dir })
    }

    /// The base of a guest's root, with these programs of the host: names on [`super::PATH`], or absolute paths.
    ///
    /// # Errors
    /// A program or a library of it is missing; the part cannot be written.
    pub fn tools(&self, tools: &[&str]) -> Result<Part, Error> {
        let items = tools::items(tools)?;
        let mut key = Key::new("tools");
        key.items(&items)?;
        self.part("tools", key, |writer| {
            base(writer)?;
            put_items(writer, &items)
        })
    }

    /// These modules of a kernel and what they need, to be loaded in the order of [`MODULES_ORDER`].
    ///
    /// # Errors
    /// The kernel lacks one; the part cannot be written.
    pub fn modules(&self, kernel: &Kernel, modules: &[&str]) -> Result<Part, Error> {
        let order = kernel.load_order(modules)?;
        let mut key = Key::new("modules");
        let mut list = String::new();
        let mut places = Vec::new();
        for (n, module) in order.iter().enumerate() {
            let place = format!("/fslab/modules/{n:02}-{}.ko", module.name);
            key.file(Path::new(&place), &module.path)?;
            list.push_str(&place);
            list.push('\n');
            places.push((place, &module.path));
        }
        self.part("modules", key, |writer| {
            for (place, path) in &places {
                writer.file_of_host(Path::new(place), 0o644, path)?;
            }
            writer.file(Path::new(MODULES_ORDER), 0o644, list.as_bytes())
        })
    }

    fn part(
        &self,
        kind: &str,
        key: Key,
        fill: impl FnOnce(&mut Writer<BufWriter<&File>>) -> Result<(), Error>,
    ) -> Result<Part, Error> {
        let path = self.dir.join(format!("{kind}-{}.cpio", key.finish()));
        if let Ok(file) = File::options().append(true).open(&path) {
            let bytes = file.metadata().map_err(|e| io("read", &path, e))?.len();
            // A mark of use; without it the part is only made again some day.
            let _ = file.set_modified(SystemTime::now());
            return Ok(Part {
                path,
                bytes,
                made: false,
            });
        }
        self.forget_old();
        let temporary = tempfile::NamedTempFile::new_in(&self.dir)
            .map_err(|source| io("make a file in", &self.dir, source))?;
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, temporary.as_file()));
        fill(&mut writer)?;
        let (_, bytes) = writer.finish()?;
        temporary
            .persist(&path)
            .map_err(|error| io("write", &path, error.error))?;
        Ok(Part {
            path,
            bytes,
            made: true,
        })
    }

    /// Removes what has not been used for a month, and what a killed one left. A part that
    /// cannot be removed does no harm.
    fn forget_old(&self) {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        for entry in entries.flatten() {
            let age = entry
                .metadata()
                .and_then(|m| m.modified())
                .map(|time| time.elapsed());
            if matches!(age, Ok(Ok(age)) if age > KEEP) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

pub(super) fn io(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// Folders, links, device nodes and the few files that programs expect.
fn base<W: std::io::Write>(writer: &mut Writer<W>) -> Result<(), Error> {
    for dir in [
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib64",
        "proc",
        "sys",
        "run",
        "tmp",
        "mnt",
        "root",
        "etc",
        "dev",
        "var/lib",
        "fslab",
    ] {
        writer.directory(&Path::new("/").join(dir))?;
    }
    for (link, target) in MERGED {
        writer.symlink(Path::new(link), Path::new(target))?;
    }
    let nodes = [
        ("console", 0o600, (5, 1)),
        ("null", 0o666, (1, 3)),
        ("zero", 0o666, (1, 5)),
        ("kmsg", 0o644, (1, 11)),
        ("random", 0o666, (1, 8)),
        ("urandom", 0o666, (1, 9)),
    ];
    for (name, mode, number) in nodes {
        writer.device(
            &Path::new("/dev").join(name),
            Device::Character,
            mode,
            number,
        )?;
    }
    writer.symlink(Path::new("/etc/mtab"), Path::new("/proc/self/mounts"))?;
    writer.file(
        Path::new("/etc/passwd"),
        0o644,
        b"root:x:0:0:root:/root:/bin/sh\n",
    )?;
    writer.file(Path::new("/etc/group"), 0o644, b"root:x:0:\ndisk:x:6:\n")
}

pub(super) fn put_items<W: std::io::Write>(
    writer: &mut Writer<W>,
    items: &Items,
) -> Result<(), Error> {
    for (path, item) in items {
        match item {
            Item::Host(host) => {
                let metadata = fs::metadata(host).map_err(|e| io("read", host, e))?;
                writer.file_of_host(path, metadata.permissions().mode(), host)?;
            }
            Item::Text(text) => writer.file(path, 0o644, text.as_bytes())?,
            Item::Link(target) => writer.symlink(path, target)?,
        }
    }
    Ok(())
}

/// The hash that names a part.
struct Key(Sha256);

impl Key {
    fn new(kind: &str) -> Self {
        let mut key = Self(Sha256::new());
        key.text(FORMAT);
        key.text(kind);
        key
    }

    fn text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    fn items(&mut self, items: &Items) -> Result<(), Error> {
        for (path, item) in items {
            match item {
                Item::Host(host) => self.file(path, host)?,
                Item::Text(text) => {
                    self.text(&path.to_string_lossy());
                    self.text(text);
                }
                Item::Link(target) => {
                    self.text(&path.to_string_lossy());
                    self.text(&target.to_string_lossy());
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, place: &Path, host: &Path) -> Result<(), Error> {
        let m = fs::metadata(host).map_err(|source| io("read", host, source))?;
        self.text(&place.to_string_lossy());
        self.text(&host.to_string_lossy());
        for number in [m.dev(), m.ino(), m.size(), u64::from(m.mode())] {
            self.0.update(number.to_le_bytes());
        }
        for time in [m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()] {
            self.0.update(time.to_le_bytes());
        }
        Ok(())
    }

    fn finish(self) -> String {
        let mut name = String::new();
        for byte in self.0.finalize().iter().take(12) {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }
}

/// What is different for each guest: its init, and the files of its trial.
#[derive(Clone, Debug)]
pub struct Job {
    init: PathBuf,
    files: Vec<(PathBuf, u32, Vec<u8>)>,
}

impl Job {
    /// A guest whose first process is this program; its libraries come along, its debug information does not.
    pub fn new(init: &Path) -> Self {
        Self {
            init: init.to_owned(),
            files: Vec::new(),
        }
    }

    /// With a file at an absolute path of the guest; `mode` as 0o644.
    #[must_use]
    pub fn file(mut self, path: &Path, mode: u32, contents: Vec<u8>) -> Self {
        self.files.push((path.to_owned(), mode, contents));
        self
    }

    fn write<W: std::io::Write>(&self, writer: &mut Writer<W>) -> Result<(), Error> {
        let linker = super::program::Linker::of_host();
        let mut items = Items::new();
        tools::add_needs(&mut items, &linker, &self.init)?;
        if !items.is_empty() {
            tools::add_loader(&mut items, &linker);
        }
        put_items(writer, &items)?;
        let init = fs::read(&self.init).map_err(|source| io("read", &self.init, source))?;
        let init = super::program::without_sections(init);
        writer.file(Path::new("/init"), 0o755, &init)?;
        for (path, mode, contents) in &self.files {
            writer.file(path, *mode, contents)?;
        }
        Ok(())
    }
}

/// Writes a guest's archive: the parts, one behind the other, and the job. Returns its bytes.
///
/// # Errors
/// A part or the init cannot be read, or the archive not written; what was begun is removed.
pub fn assemble(parts: &[&Part], job: &Job, to: &Path) -> Result<u64, Error> {
    let whole = assemble_into(parts, job, to);
    if whole.is_err() {
        let _ = fs::remove_file(to);
    }
    whole
}

fn assemble_into(parts: &[&Part], job: &Job, to: &Path) -> Result<u64, Error> {
    let mut file = File::create(to).map_err(|source| io("write", to, source))?;
    let mut bytes = 0;
    for part in parts {
        let mut from = File::open(&part.path).map_err(|source| io("read", &part.path, source))?;
        bytes += std::io::copy(&mut from, &mut file).map_err(|source| io("write", to, source))?;
    }
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, file));
    job.write(&mut writer)?;
    let (mut file, job_bytes) = writer.finish()?;
    file.flush().map_err(|source| io("write", to, source))?;
    Ok(bytes + job_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::cpio;
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(dir.path())).unwrap();
        let store = Store::open(&cache).unwrap();
        (dir, store)
    }

    #[test]
    fn a_part_is_made_once_and_again_when_a_tool_changes() {
        let (dir, store) = store();
        let tool = dir.path().join("tool");
        fs::write(&tool, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let name = tool.to_str().unwrap();
        let first = store.tools(&[name]).unwrap();
        let second = store.tools(&[name]).unwrap();
        assert!(first.made && !second.made);
        assert_eq!(first.path, second.path);
        fs::write(&tool, "#!/bin/sh\ntrue\n").unwrap();
        let third = store.tools(&[name]).unwrap();
        assert!(third.made);
        let left = fs::read_dir(&store.dir).unwrap().count();
        assert_eq!(left, 2, "nothing but the parts is left");
    }

    #[test]
    fn an_archive_is_its_parts_and_the_job() {
        let (dir, store) = store();
        let tools = store.tools(&["mke2fs"]).unwrap();
        let me = std::env::current_exe().unwrap();
        let job = Job::new(&me).file(Path::new("/fslab/job.json"), 0o600, b"{}".to_vec());
        let to = dir.path().join("guest.cpio");
        let bytes = assemble(&[&tools], &job, &to).unwrap();
        let archive = fs::read(&to).unwrap();
        assert_eq!(archive.len() as u64, bytes);
        let entries = cpio::read(&archive).unwrap();
        let find = |path: &str| entries.iter().find(|entry| entry.path == Path::new(path));
        assert_eq!(find("fslab/job.json").unwrap().data, b"{}");
        assert_eq!(find("init").unwrap().mode, 0o100_755);
        assert_eq!(find("lib").unwrap().data, b"usr/lib");
        assert_eq!(find("dev/console").unwrap().number, (5, 1));
        assert!(find("usr/sbin/mke2fs").is_some());

        let gone = Job::new(Path::new("/no/such/init"));
        assemble(&[&tools], &gone, &to).unwrap_err();
        assert!(!to.exists());
    }

    #[test]
    fn what_nobody_used_for_long_goes() {
        let (_dir, store) = store();
        let old = store.dir.join("tools-old.cpio");
        let file = File::create(&old).unwrap();
        file.set_modified(SystemTime::now() - KEEP * 2).unwrap();
        store.tools(&[]).unwrap();
        assert!(!old.exists());
    }
}
