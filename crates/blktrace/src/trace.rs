//! A trace as its base names it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::file::CpuFile;
use crate::file::Event;
use crate::merge::Merge;

/// The files of a trace, opened and merged.
pub struct Trace {
    merge: Merge,
    files: Vec<TraceFile>,
    names: Vec<String>,
    genesis: u64,
    merged: bool,
}

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// Its path.
    pub path: PathBuf,
    /// The number of its base, of those that were opened together.
    pub base: usize,
    /// The CPU in its name.
    pub cpu: u32,
    /// Its size.
    pub bytes: u64,
}

impl Trace {
    /// Opens a trace by its base: `sda` or `runs/sda` for `sda.blktrace.0` and its sisters; the name
    /// of one of them does as well. A file of just that name is taken for blkparse's merged one.
    ///
    /// # Errors
    /// No such file, files that cannot be read, files that are all empty or begin with no record.
    pub fn open(base: &Path) -> Result<Trace, Error> {
        Trace::open_all(&[base])
    }

    /// Opens the traces of several devices that were traced together, as one: the devices of a stack,
    /// or of a load that spreads.
    ///
    /// # Errors
    /// As with [`Trace::open`]; bases of which none has a record. One device among others may have
    /// none.
    pub fn open_all(bases: &[impl AsRef<Path>]) -> Result<Trace, Error> {
        let (mut files, mut merged) = (Vec::new(), false);
        for (number, base) in bases.iter().map(AsRef::as_ref).enumerate() {
            let mut found = match find(base) {
                Err(Error::Missing { .. }) if base.is_file() && bases.len() == 1 => {
                    merged = true;
                    vec![merged_file(base)?]
                }
                found => found?,
            };
            for file in &mut found {
                file.base = number;
            }
            files.extend(found);
        }
        let name = |base: &Path| stem(base).unwrap_or_default().to_owned();
        let names: Vec<String> = bases.iter().map(|base| name(base.as_ref())).collect();
        if files.iter().all(|file| file.bytes == 0) {
            let bases = bases.iter().map(|base| base.as_ref().display().to_string());
            return Err(Error::Empty {
                base: bases.collect::<Vec<_>>().join(", "),
            });
        }
        let open = |file: &TraceFile| CpuFile::open(&file.path, (!merged).then_some(file.cpu));
        let merge = Merge::new(files.iter().map(open).collect::<Result<_, _>>()?)?;
        Ok(Trace {
            // Times of a merged file begin at 0 already.
            genesis: if merged {
                0
            } else {
                merge.time().unwrap_or_default()
            },
            merge,
            files,
            names,
            merged,
        })
    }

    /// The bases of the traces that a path names: itself where it is one, those of all devices
    /// where it is a folder, by name.
    ///
    /// # Errors
    /// No trace there, or a folder that cannot be read.
    pub fn bases(path: &Path) -> Result<Vec<PathBuf>, Error> {
        match find(path) {
            Err(Error::Missing { .. } | Error::Io { .. }) if path.is_dir() => {}
            Err(Error::Missing { .. }) if path.is_file() => return Ok(vec![path.to_owned()]),
            found => return found.map(|_| vec![path.to_owned()]),
        }
        let mut names: Vec<String> = list(path)?
            .iter()
            .filter_map(|entry| entry.rsplit_once(".blktrace."))
            .filter(|(_, cpu)| cpu.parse::<u32>().is_ok())
            .map(|(name, _)| name.to_owned())
            .collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Err(Error::NoTraces {
                folder: path.to_owned(),
            });
        }
        Ok(names.iter().map(|name| path.join(name)).collect())
    }

    /// Its files, by CPU.
    pub fn files(&self) -> &[TraceFile] {
        &self.files
    }

    /// The last part of its base, as blkparse names the device: `sda`. Of several: `sda, sdb`.
    pub fn name(&self) -> String {
        self.names.join(", ")
    }

    /// The last part of each base.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// CPUs without a file although a later one has one. A tracer makes a file for each CPU, if only
    /// an empty one: these were removed, or not copied, or their CPU was offline.
    pub fn absent(&self) -> u64 {
        if self.merged {
            return 0;
        }
        let of = |number: usize| {
            let files = self.files.iter().filter(|file| file.base == number);
            let cpus = files.clone().map(|file| u64::from(file.cpu) + 1);
            cpus.max().unwrap_or(0).saturating_sub(files.count() as u64)
        };
        (0..self.names.len()).map(of).sum()
    }

    /// The time of the first event, ns, from which blkparse and btt count; 0 in a merged file.
    pub fn genesis(&self) -> u64 {
        self.genesis
    }

    /// Whether it is one file that blkparse -d, or [`crate::merged::write`], made.
    pub fn is_merged(&self) -> bool {
        self.merged
    }

    /// Records that were left out so far, because they name another CPU than their file does.
    pub fn strays(&self) -> u64 {
        self.merge.strays()
    }

    /// The next event in time, with the number of its file; none at the end. Notes come up to 512
    /// events before their time, as blkparse takes them.
    ///
    /// # Errors
    /// The bytes at this place of a file are no record.
    #[allow(clippy::should_implement_trait, reason = "it lends the event")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<(usize, Event<'_>)>, Error> {
        self.merge.next()
    }
}

fn merged_file(path: &Path) -> Result<TraceFile, Error> {
    let meta = fs::metadata(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(TraceFile {
        path: path.to_owned(),
        base: 0,
        cpu: 0,
        bytes: meta.len(),
    })
}

/// The last part of a base, without `.blktrace.N`.
pub(crate) fn stem(base: &Path) -> Option<&str> {
    let name = base.file_name()?.to_str()?;
    match name.rsplit_once(".blktrace.") {
        Some((stem, cpu)) if cpu.parse::<u32>().is_ok() => Some(stem),
        _ => Some(name),
    }
}

/// The files of a base, by CPU.
pub(crate) fn find(base: &Path) -> Result<Vec<TraceFile>, Error> {
    let missing = || Error::Missing {
        base: base.display().to_string(),
    };
    let stem = stem(base).ok_or_else(missing)?;
    let folder = match base.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let fail = |source| Error::Io {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let cpu = entry.file_name().to_str().and_then(|name| {
            let rest = name.strip_prefix(stem)?.strip_prefix(".blktrace.")?;
            rest.parse().ok()
        });
        if let Some(cpu) = cpu {
            files.push(TraceFile {
                path: entry.path(),
                base: 0,
                cpu,
                bytes: entry.metadata().map_err(fail)?.len(),
            });
        }
    }
    files.sort_by_key(|file| file.cpu);
    if files.is_empty() {
        return Err(missing());
    }
    Ok(files)
}

/// The names in a folder that are text.
fn list(folder: &Path) -> Result<Vec<String>, Error> {
    let fail = |source| Error::Folder {
        path: folder.to_owned(),
        source,
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        names.extend(entry.map_err(fail)?.file_name().into_string());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Head;

    fn write(folder: &Path, cpu: u32, times: &[u64]) {
        let bytes: Vec<u8> = times
            .iter()
            .flat_map(|&time| {
                Head {
                    time,
                    cpu,
                    ..Head::default()
                }
                .to_bytes()
            })
            .collect();
        fs::write(folder.join(format!("sda.blktrace.{cpu}")), bytes).unwrap();
    }

    #[test]
    fn files_of_all_cpus_are_merged_in_time() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 0, &[1, 4, 5, 9]);
        write(folder.path(), 1, &[2, 3, 6]);
        write(folder.path(), 12, &[]);
        fs::write(folder.path().join("sda2.blktrace.0"), "another").unwrap();
        for base in ["sda", "sda.blktrace.1"] {
            let mut trace = Trace::open(&folder.path().join(base)).unwrap();
            assert_eq!(
                trace.files().iter().map(|f| f.cpu).collect::<Vec<_>>(),
                [0, 1, 12]
            );
            let mut seen = Vec::new();
            while let Some((file, event)) = trace.next().unwrap() {
                seen.push((event.head.time, file));
            }
            let expected = [(1, 0), (2, 1), (3, 1), (4, 0), (5, 0), (6, 1), (9, 0)];
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn what_is_no_trace_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str| Trace::open(&folder.path().join(name)).map(|_| ());
        assert!(matches!(open("sda"), Err(Error::Missing { .. })));
        assert!(matches!(open("none/sda"), Err(Error::Io { .. })));
        write(folder.path(), 0, &[]);
        assert!(matches!(open("sda"), Err(Error::Empty { .. })));
    }

    #[test]
    fn a_folder_stands_for_the_devices_traced_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let found = Trace::bases(folder.path());
        assert!(matches!(found, Err(Error::NoTraces { .. })));
        write(folder.path(), 0, &[1]);
        write(folder.path(), 3, &[2]);
        fs::write(
            folder.path().join("sdb.blktrace.0"),
            Head::default().to_bytes(),
        )
        .unwrap();
        fs::write(folder.path().join("sdb.blktrace.json"), "{}").unwrap();
        let bases = Trace::bases(folder.path()).unwrap();
        assert_eq!(bases, ["sda", "sdb"].map(|name| folder.path().join(name)));
        let mut trace = Trace::open_all(&bases).unwrap();
        assert_eq!((trace.name(), trace.absent()), ("sda, sdb".into(), 2));
        let mut order = Vec::new();
        while let Some((file, _)) = trace.next().unwrap() {
            order.push(file);
        }
        assert_eq!(order, [2, 0, 1]);
        let one = Trace::bases(&bases[0]).unwrap();
        assert_eq!(one, bases[..1]);
        assert!(Trace::bases(&folder.path().join("sdc")).is_err());
    }
}
