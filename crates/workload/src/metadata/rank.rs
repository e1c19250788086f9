//! What one rank does.

use std::fmt::Write as _;
use std::io;

use params::{MetadataSpec, Parameters};
use progress::Unit;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use serde_json::json;

use super::tree::{self, Tree};
use super::{Items, Step};
use crate::buffer::PATTERN;
use crate::calls::Call;
use crate::group::merge::Merged;
use crate::group::run::Plan;
use crate::group::{Gathered, Group, Part, Setting, add, size};
use crate::{Clocks, Error, Observer, Outcome, PhaseReport};

/// Operations between two looks at whether to stop.
const BATCH: u64 = 64;

/// A kind of item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

struct Rank<'a> {
    spec: &'a MetadataSpec,
    setting: Setting<'a>,
    group: &'a dyn Group,
    buffer: Vec<u8>,
}

pub(super) fn run(
    spec: &MetadataSpec,
    group: &dyn Group,
    observer: &dyn Observer,
) -> Result<Option<Outcome>, Error> {
    spec.validate()?;
    if size(group) != spec.ranks {
        let reason = format!("{} ranks were started", size(group));
        return Err(crate::error::bad("ranks", spec.ranks, reason));
    }
    let bytes = spec.write.get().max(spec.read.get()) as usize;
    let mut rank = Rank {
        spec,
        group,
        setting: Setting::new(group, observer)?,
        buffer: vec![PATTERN; bytes],
    };
    let mut outcome = Outcome {
        workload: MetadataSpec::KIND.into(),
        parameters: parameters(spec, group),
        ..Outcome::default()
    };
    rank.run(&mut outcome.phases)?;
    group.barrier()?;
    Ok((group.rank() == 0).then_some(outcome))
}

fn parameters(spec: &MetadataSpec, group: &dyn Group) -> serde_json::Value {
    json!({
        "dir": spec.dir,
        "ranks": spec.ranks,
        "nodes": crate::group::nodes(group.places()),
        "processes": group.is_of_processes(),
        "items": spec.items,
        "rank_items": spec.rank_items(),
        "each": spec.each(),
        "depth": spec.depth,
        "branch": spec.branch,
        "leaf_only": spec.leaf_only,
        "own_directory": spec.own_directory,
        "shift": spec.shift,
        "write": spec.write,
        "read": spec.read,
        "fsync": spec.fsync,
        "steps": spec.steps_in_order(),
    })
}

/// A phase: its name, what is done with which kind, and how far away the rank is whose items they are, in shifts (mdtest: 0 for
/// creation, 1 for stat, 2 for reads, 3 for removals).
#[derive(Clone, Copy)]
struct Operation {
    name: &'static str,
    kind: Kind,
    step: Step,
    distance: u64,
}

const fn operation(name: &'static str, kind: Kind, step: Step, distance: u64) -> Operation {
    Operation {
        name,
        kind,
        step,
        distance,
    }
}

const OPERATIONS: [Operation; 7] = [
    operation("directory_creation", Kind::Directory, Step::Create, 0),
    operation("directory_stat", Kind::Directory, Step::Stat, 1),
    operation("directory_removal", Kind::Directory, Step::Remove, 3),
    operation("file_creation", Kind::File, Step::Create, 0),
    operation("file_stat", Kind::File, Step::Stat, 1),
    operation("file_read", Kind::File, Step::Read, 2),
    operation("file_removal", Kind::File, Step::Remove, 3),
];

impl Rank<'_> {
    fn run(&mut self, phases: &mut Vec<PhaseReport>) -> Result<(), Error> {
        let asked = |step: Step| self.spec.steps.contains(&step);
        let (creates, removes) = (asked(Step::Create), asked(Step::Remove));
        let wanted = OPERATIONS.into_iter().filter(|operation| {
            let kind = match operation.kind {
                Kind::Directory => self.spec.items != Items::Files,
                Kind::File => self.spec.items != Items::Directories,
            };
            kind && asked(operation.step)
        });
        let wanted: Vec<Operation> = wanted.collect();
        if creates {
            phases.extend(self.trees("tree_creation", Step::Create)?);
        }
        for operation in wanted {
            self.setting.go_on(operation.name)?;
            phases.extend(self.phase(operation)?);
        }
        if removes {
            phases.extend(self.trees("tree_removal", Step::Remove)?);
        }
        Ok(())
    }

    /// Makes or removes the trees: that of all ranks by rank 0, a tree of its own by each.
    fn trees(&self, name: &'static str, step: Step) -> Result<Option<PhaseReport>, Error> {
        let (spec, group, setting) = (self.spec, self.group, &self.setting);
        let rank = group.rank();
        if step == Step::Create && rank == 0 {
            let root = tree::root(spec);
            std::fs::create_dir(&root).map_err(Error::io("create", &root))?;
        }
        group.barrier()?;
        let tree = Tree::of(spec, rank);
        let works = spec.own_directory || rank == 0;
        let all = spec.trees() * tree.count;
        let gathered = setting.phase(&mut Plan {
            name,
            amount: all,
            unit: Unit::Items("directories".into()),
            work: &mut |part, _| {
                begin(part, group);
                let numbers = 0..if works { tree.count } else { 0 };
                for at in numbers {
                    // Children go before their parents.
                    let number = match step {
                        Step::Create => at,
                        _ => tree.count - 1 - at,
                    };
                    let path = tree.directory(number);
                    let begin = group.now_ns();
                    let (what, call, done) = match step {
                        Step::Create => {
                            let made = rustix::fs::mkdir(&path, Mode::from(0o755));
                            ("create", Call::Mkdir, made)
                        }
                        _ => ("remove", Call::Rmdir, rustix::fs::rmdir(&path)),
                    };
                    part.calls.record(call, group.now_ns() - begin);
                    done.map_err(|error| Error::io(what, &path)(error.into()))?;
                    counted(part, group, setting, name)?;
                }
                end(part, group);
                Ok(())
            },
            sync: None,
            settle: Some(&spec.dir),
        })?;
        if step == Step::Remove && rank == 0 {
            let root = tree::root(spec);
            std::fs::remove_dir(&root).map_err(Error::io("remove", &root))?;
        }
        Ok(gathered.map(|gathered| self.report(name, &gathered, spec.own_directory)))
    }

    fn phase(&mut self, operation: Operation) -> Result<Option<PhaseReport>, Error> {
        let (spec, group, setting) = (self.spec, self.group, &self.setting);
        let ranks = u64::from(spec.ranks);
        let away = operation.distance * u64::from(spec.shift);
        let owner = ((u64::from(group.rank()) + away) % ranks) as u32;
        let tree = Tree::of(spec, owner);
        let buffer = &mut self.buffer;
        let changes = matches!(operation.step, Step::Create | Step::Remove);
        let gathered = setting.phase(&mut Plan {
            name: operation.name,
            amount: spec.rank_items() * ranks,
            unit: Unit::Items("items".into()),
            work: &mut |part, _| {
                begin(part, group);
                let mut worker = Worker {
                    spec,
                    part,
                    group,
                    path: String::new(),
                    now: group.now_ns(),
                };
                for directory in tree.with_items() {
                    worker.enter(&tree, directory, operation.kind, owner)?;
                    let stem = worker.path.len();
                    for item in tree.items(directory) {
                        worker.path.truncate(stem);
                        let _ = write!(worker.path, "{item}");
                        worker.item(operation, buffer)?;
                        counted(worker.part, group, setting, operation.name)?;
                    }
                }
                end(part, group);
                Ok(())
            },
            sync: None,
            settle: changes.then_some(spec.dir.as_path()),
        })?;
        Ok(gathered.map(|gathered| self.report(operation.name, &gathered, true)))
    }

    /// `all`: whether every rank had something to do.
    fn report(&self, name: &str, gathered: &Gathered, all: bool) -> PhaseReport {
        let merged = Merged::new(&gathered.parts, self.group.places(), &gathered.offsets);
        let mut report = self.setting.report(name, gathered, &merged);
        let (iteration, table) = merged.items();
        let items = report.operations as f64;
        let settled = report.clock_seconds.syncfs.filter(|seconds| *seconds > 0.0);
        report.files_per_s = Some(Clocks {
            original: Some(if all { iteration } else { table }),
            fsync: None,
            syncfs: settled.map(|seconds| items / seconds),
        });
        if report.bytes > 0 {
            let bytes = report.bytes as f64;
            report.bytes_per_s = Clocks {
                original: (report.seconds > 0.0).then(|| bytes / report.seconds),
                fsync: None,
                syncfs: settled.map(|seconds| bytes / seconds),
            };
        }
        report.figures.extend(merged.common());
        report.figures.insert("files_sum".into(), table);
        report.bytes_asked = report.bytes;
        self.setting.finished(&report);
        report
    }
}

fn begin(part: &mut Part, group: &dyn Group) {
    part.begin = group.now_ns();
    part.opened = part.begin;
    part.first = part.begin;
}

fn end(part: &mut Part, group: &dyn Group) {
    part.last = group.now_ns();
    part.end = part.last;
}

fn counted(
    part: &mut Part,
    group: &dyn Group,
    setting: &Setting<'_>,
    phase: &'static str,
) -> Result<(), Error> {
    part.operations += 1;
    add(group.done(), 1);
    if part.operations.is_multiple_of(BATCH) {
        setting.go_on(phase)?;
    }
    Ok(())
}

/// A rank at work in one directory.
struct Worker<'a> {
    spec: &'a MetadataSpec,
    part: &'a mut Part,
    group: &'a dyn Group,
    /// The item's path; all but its number stays while the directory does.
    path: String,
    /// When the last call ended.
    now: u64,
}

impl Worker<'_> {
    fn enter(
        &mut self,
        tree: &Tree<'_>,
        directory: u64,
        kind: Kind,
        owner: u32,
    ) -> Result<(), Error> {
        let path = tree.directory(directory);
        let text = path.to_str().ok_or_else(|| Error::Unsupported {
            what: "metadata",
            path: path.clone(),
            reason: "its name is not text; name another directory".into(),
        })?;
        self.path.clear();
        let word = match kind {
            Kind::Directory => "dir",
            Kind::File => "file",
        };
        let _ = write!(self.path, "{text}/{word}.mdtest.{owner}.");
        Ok(())
    }

    /// One item. What lies between two items (its name) is in the phase's clock, as in mdtest, and in no call's.
    fn item(&mut self, operation: Operation, buffer: &mut [u8]) -> Result<(), Error> {
        self.now = self.group.now_ns();
        let path = self.path.as_str();
        let fails = |what| move |error: rustix::io::Errno| Error::io(what, path)(error.into());
        match (operation.step, operation.kind) {
            (Step::Create, Kind::Directory) => {
                let made = rustix::fs::mkdir(path, Mode::from(0o755)).map_err(fails("create"));
                made.map(|()| self.took(Call::Mkdir))
            }
            (Step::Remove, Kind::Directory) => {
                let removed = rustix::fs::rmdir(path).map_err(fails("remove"));
                removed.map(|()| self.took(Call::Rmdir))
            }
            (Step::Stat, _) => {
                let found = rustix::fs::stat(path).map_err(fails("stat"));
                found.map(|_| self.took(Call::Stat))
            }
            (Step::Remove, Kind::File) => {
                let removed = rustix::fs::unlink(path).map_err(fails("remove"));
                removed.map(|()| self.took(Call::Unlink))
            }
            (Step::Create, Kind::File) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
                let file =
                    rustix::fs::open(path, flags, Mode::from(0o644)).map_err(fails("create"))?;
                self.took(Call::Creat);
                self.fill(file, buffer)
            }
            (Step::Read, Kind::File) => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let file = rustix::fs::open(path, flags, Mode::empty()).map_err(fails("open"))?;
                self.took(Call::Open);
                self.drain(file, buffer)
            }
            // Directories are not read.
            (Step::Read, Kind::Directory) => Ok(()),
        }
    }

    fn took(&mut self, call: Call) {
        let now = self.group.now_ns();
        self.part.calls.record(call, now - self.now);
        self.now = now;
    }

    fn fill(&mut self, file: OwnedFd, buffer: &[u8]) -> Result<(), Error> {
        let mut left = &buffer[..self.spec.write.get() as usize];
        let all = left.len() as u64;
        while !left.is_empty() {
            let moved = rustix::io::retry_on_intr(|| rustix::io::write(&file, left));
            let moved = moved.map_err(|error| self.full_or(error.into(), all))?;
            self.took(Call::Write);
            self.part.short += u64::from(moved < left.len());
            left = &left[moved..];
        }
        self.part.bytes += all;
        if self.spec.fsync {
            rustix::fs::fsync(&file)
                .map_err(|error| Error::io("fsync", &self.path)(error.into()))?;
            self.took(Call::Fsync);
        }
        drop(file);
        self.took(Call::Close);
        Ok(())
    }

    fn full_or(&self, error: io::Error, asked: u64) -> Error {
        if crate::error::is_no_space(&error) {
            return Error::NoSpace {
                phase: "file_creation".into(),
                path: self.path.clone().into(),
                written: 0,
                asked,
            };
        }
        Error::io("write", &self.path)(error)
    }

    fn drain(&mut self, file: OwnedFd, buffer: &mut [u8]) -> Result<(), Error> {
        let asked = self.spec.read.get() as usize;
        let mut at = 0;
        while at < asked {
            let rest = &mut buffer[at..asked];
            let moved = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *rest));
            match moved.map_err(|error| Error::io("read", &self.path)(error.into()))? {
                0 => {
                    return Err(Error::Unsupported {
                        what: "a read",
                        path: self.path.clone().into(),
                        reason: format!(
                            "it has {at} of {asked} bytes; create it with the same write"
                        ),
                    });
                }
                moved => at += moved,
            }
            self.took(Call::Read);
        }
        self.part.bytes += asked as u64;
        drop(file);
        self.took(Call::Close);
        Ok(())
    }
}
