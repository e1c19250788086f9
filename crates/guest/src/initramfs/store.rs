//! Parts of archives, made once and kept.
//!
//! A part is named by a hash over all that went into it: for each file its path, size, inode and times, and the
//! text of what is generated. The contents themselves are not read for it: a file cannot change without
//! its change time, and hashing 30 MB would cost a warm start more than all the rest. Parts that
//! have not been used for a month are removed when the next one is made.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use super::cpio::{Device, Writer};
use super::tools::{self, Item, Items, MERGED};
use crate::kernel::{Cache, Error, Kernel};

/// Changes when the way in which parts are made does.
const FORMAT: &str = "fslab initramfs 2";
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);
/// A part that is being made takes seconds: what is older was left by one that was killed.
const MAKING: Duration = Duration::from_secs(3600);
/// What the names of parts that are being made begin with.
const UNFINISHED: &str = ".new-";
/// Where the modules' order is in a guest.
pub const MODULES_ORDER: &str = "/fslab/modules.order";
/// The mark of a module that may refuse to load.
pub(crate) const SOFT: char = '-';

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

    /// The base of a guest's root, with these programs of the host: names, or absolute paths.
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
            list.extend(module.soft.then_some(SOFT));
            list.push_str(&place);
            list.push('\n');
            places.push((place, &module.path));
        }
        // Whether a module is soft depends on the others that were asked for.
        key.text(&list);
        self.part("modules", key, |writer| {
            for (place, path) in &places {
                writer.file_of_host(Path::new(place), 0o644, path)?;
            }
            writer.file(Path::new(MODULES_ORDER), 0o644, list.as_bytes())
        })
    }

    /// A guest's `/init`: this program with its libraries and without what only a debugger reads.
    ///
    /// # Errors
    /// The program or a library of it cannot be read; the part cannot be written.
    pub fn init(&self, program: &Path) -> Result<Part, Error> {
        let linker = super::program::Linker::of_host();
        let mut items = Items::new();
        tools::add_needs(&mut items, &linker, program)?;
        if !items.is_empty() {
            tools::add_loader(&mut items, &linker);
        }
        let mut key = Key::new("init");
        key.items(&items)?;
        key.file(Path::new(INIT), program)?;
        self.part("init", key, |writer| {
            put_items(writer, &items)?;
            let init = fs::read(program).map_err(|source| io("read", program, source))?;
            let init = super::program::without_sections(init);
            writer.file(Path::new(INIT), 0o755, &init)
        })
    }

    fn part(
        &self,
        kind: &str,
        key: Key,
        fill: impl FnOnce(&mut Writer<BufWriter<&File>>) -> Result<(), Error>,
    ) -> Result<Part, Error> {
        let path = self.dir.join(format!("{kind}-{}.cpio", key.finish()));
        if let Ok(found) = fs::metadata(&path) {
            let bytes = found.len();
            // A mark of use; without it (a cache that is shared, and not ours to write) the part is only
            // made again some day.
            if let Ok(file) = File::options().append(true).open(&path) {
                let _ = file.set_modified(SystemTime::now());
            }
            return Ok(Part {
                path,
                bytes,
                made: false,
            });
        }
        self.forget_old();
        let temporary = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.dir)
            .map_err(|source| io("make a file in", &self.dir, source))?;
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, temporary.as_file()));
        fill(&mut writer)?;
        let (_, bytes) = writer.finish()?;
        // A name must not outlive a power cut that its bytes do not.
        temporary
            .as_file()
            .sync_all()
            .map_err(|source| io("write", &path, source))?;
        temporary
            .persist(&path)
            .map_err(|error| io("write", &path, error.error))?;
        File::open(&self.dir)
            .and_then(|dir| dir.sync_all())
            .map_err(|source| io("write", &self.dir, source))?;
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
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let keep = if unfinished { MAKING } else { KEEP };
            if matches!(age, Ok(Ok(age)) if age > keep) {
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

/// Where a kernel looks for its first process.
const INIT: &str = "/init";

/// What is different for each guest: the files of its trial.
#[derive(Clone, Debug, Default)]
pub struct Job {
    files: Vec<(PathBuf, u32, Vec<u8>)>,
}

impl Job {
    /// With a file at an absolute path of the guest; `mode` as 0o644.
    #[must_use]
    pub fn file(mut self, path: &Path, mode: u32, contents: Vec<u8>) -> Self {
        self.files.push((path.to_owned(), mode, contents));
        self
    }
}

/// Writes a guest's archive: the parts, then the job. `name` is what errors call
/// the file. Returns its bytes.
///
/// # Errors
/// A part cannot be read, or the archive not written.
pub fn assemble(parts: &[&Part], job: &Job, to: &File, name: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    let mut to_file = to;
    for part in parts {
        let mut from = File::open(&part.path).map_err(|source| io("read", &part.path, source))?;
        bytes +=
            std::io::copy(&mut from, &mut to_file).map_err(|source| io("write", name, source))?;
    }
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 16, to));
    for (path, mode, contents) in &job.files {
        writer.file(path, *mode, contents)?;
    }
    let (_, job_bytes) = writer.finish()?;
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
        let init = store.init(Path::new("/proc/self/exe")).unwrap();
        assert!(!store.init(Path::new("/proc/self/exe")).unwrap().made);
        let job = Job::default().file(Path::new("/fslab/job.json"), 0o600, b"{}".to_vec());
        let to = dir.path().join("guest.cpio");
        let file = File::create(&to).unwrap();
        let bytes = assemble(&[&tools, &init], &job, &file, &to).unwrap();
        let archive = fs::read(&to).unwrap();
        assert_eq!(archive.len() as u64, bytes);
        let entries = cpio::read(&archive).unwrap();
        let find = |path: &str| entries.iter().find(|entry| entry.path == Path::new(path));
        assert_eq!(find("fslab/job.json").unwrap().data, b"{}");
        assert_eq!(find("init").unwrap().mode, 0o100_755);
        assert_eq!(find("lib").unwrap().data, b"usr/lib");
        assert_eq!(find("dev/console").unwrap().number, (5, 1));
        assert!(find("usr/sbin/mke2fs").is_some());

        store.init(Path::new("/no/such/init")).unwrap_err();
        fs::remove_file(&init.path).unwrap();
        let printed = assemble(&[&tools, &init], &job, &file, &to).unwrap_err();
        assert!(printed.to_string().contains("/init-"), "{printed}");
    }

    #[test]
    fn what_was_not_used_for_long_goes() {
        let (_dir, store) = store();
        for (name, age, stays) in [
            ("tools-old.cpio", KEEP * 2, false),
            ("tools-new.cpio", MAKING * 2, true),
            (".new-killed", MAKING * 2, false),
            (".new-busy", MAKING / 2, true),
        ] {
            let path = store.dir.join(name);
            let file = File::create(&path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            store.forget_old();
            assert_eq!(path.exists(), stays, "{name}");
        }
    }

    #[test]
    fn a_shared_cache_that_is_read_only_serves() {
        let (_dir, store) = store();
        let made = store.tools(&[]).unwrap();
        let only_read = fs::Permissions::from_mode(0o444);
        fs::set_permissions(&made.path, only_read).unwrap();
        assert!(!store.tools(&[]).unwrap().made);
    }
}
