//! What one rank does.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use params::{Parameters, SharedSpec};
use progress::Unit;
use serde_json::json;

use super::files::Files;
use super::order::source;
use crate::buffer::Buffer;
use crate::calls::Call;
use crate::group::merge::Merged;
use crate::group::points::Points;
use crate::group::run::Plan;
use crate::group::{Gathered, Group, Part, Setting, add, size};
use crate::{Clocks, Error, Evidence, Observer, Outcome, PhaseReport};

/// Largest alignment that O_DIRECT asks of memory.
const ALIGN: usize = 4096;

struct Rank<'a> {
    spec: &'a SharedSpec,
    setting: Setting<'a>,
    group: &'a dyn Group,
    buffer: Buffer,
    /// Transfers that each rank wrote.
    written: Vec<u64>,
    /// Whose data each rank reads.
    sources: Vec<u32>,
}

pub(super) fn run(
    spec: &SharedSpec,
    group: &dyn Group,
    observer: &dyn Observer,
) -> Result<Option<Outcome>, Error> {
    spec.validate()?;
    if size(group) != spec.ranks {
        let reason = format!("{} ranks were started", size(group));
        return Err(crate::error::bad("ranks", spec.ranks, reason));
    }
    let sources = source(spec, group.places())?;
    let alignment = crate::direct::target(&spec.dir, spec.direct, ("transfer", spec.transfer));
    let align = alignment?.map_or(ALIGN, |asked| (asked.memory as usize).max(ALIGN));
    let transfer = spec.transfer.get() as usize;
    let buffer = Buffer::for_child(group.rank(), transfer, transfer, align);
    let rank = Rank {
        spec,
        group,
        setting: Setting::new(group, observer)?,
        buffer: buffer.map_err(Error::io("get memory for", &spec.dir))?,
        written: vec![spec.transfers(); spec.ranks as usize],
        sources,
    };
    let mut files = Files::new(spec, group.rank());
    let mut outcome = Outcome {
        workload: SharedSpec::KIND.into(),
        parameters: parameters(spec, group),
        ..Outcome::default()
    };
    let done = rank.run(&mut files, &mut outcome);
    // After an error the others may still use the file that all share; the error ends them.
    done?;
    group.barrier()?;
    files.remove()?;
    Ok((group.rank() == 0).then_some(outcome))
}

fn parameters(spec: &SharedSpec, group: &dyn Group) -> serde_json::Value {
    json!({
        "dir": spec.dir,
        "ranks": spec.ranks,
        "nodes": crate::group::nodes(group.places()),
        "processes": group.is_of_processes(),
        "layout": spec.layout,
        "block": spec.block,
        "transfer": spec.transfer,
        "segments": spec.segments,
        "stonewall": spec.stonewall,
        "wear_out": spec.wear_out,
        "reorder": spec.reorder,
        "shift": spec.shift,
        "test": spec.test,
        "direct": spec.direct,
        "fsync": spec.fsync,
        "cold": spec.cold,
        "seed": spec.seed,
    })
}

impl Rank<'_> {
    fn run(mut self, files: &mut Files<'_>, outcome: &mut Outcome) -> Result<(), Error> {
        if self.spec.test.writes() {
            self.setting.go_on("write")?;
            files.prepare()?;
            self.group.barrier()?;
            if let Some(report) = self.write(files)? {
                self.setting.finished(&report);
                outcome.phases.push(report);
            }
        }
        if self.spec.test.reads() {
            self.setting.go_on("read")?;
            let others = self.reads_others();
            let cold = self.make_cold(files, others)?;
            if let Some(mut report) = self.read(files)? {
                report.evidence.extend(cold);
                report.evidence.push(self.other_node(others));
                self.setting.finished(&report);
                outcome.phases.push(report);
            }
        }
        Ok(())
    }

    fn write(&mut self, files: &Files<'_>) -> Result<Option<PhaseReport>, Error> {
        let (spec, group, rank) = (self.spec, self.group, self.group.rank());
        let path = files.path(rank);
        let mut written = 0;
        let all = spec.all_bytes();
        let setting = &self.setting;
        let buffer = &mut self.buffer;
        let gathered = setting.phase(&mut Plan {
            name: "write",
            amount: all,
            unit: Unit::Bytes,
            work: &mut |part, points| {
                part.begin = group.now_ns();
                let file = files.open(&path, true)?;
                let mut stream = Stream::begin(setting, part, (&file, &path), group, Call::Write);
                stream.transfers(spec, rank, 0..spec.transfers(), buffer, wall(spec))?;
                if spec.wear_out {
                    let most = group.all(stream.done)?.into_iter().max().unwrap_or(0);
                    let more = stream.done..most;
                    stream.transfers(spec, rank, more, buffer, None)?;
                }
                if spec.fsync {
                    let begin = group.now_ns();
                    file.sync_all().map_err(Error::io("fsync", &path))?;
                    stream
                        .part
                        .calls
                        .record(Call::Fsync, group.now_ns() - begin);
                }
                written = stream.done;
                *points = Some(stream.end());
                close(part, file, group);
                Ok(())
            },
            sync: Some(&|| files.sync()),
            settle: Some(&spec.dir),
        })?;
        self.written = group.all(written)?;
        Ok(gathered.map(|gathered| {
            let mut report = self.report("write", &gathered);
            report.bytes_asked = all;
            report
        }))
    }

    fn read(&mut self, files: &Files<'_>) -> Result<Option<PhaseReport>, Error> {
        let (spec, group) = (self.spec, self.group);
        let of = |rank: u32| self.written.get(rank as usize).copied().unwrap_or(0);
        let source = self.sources[group.rank() as usize];
        let (transfers, path) = (of(source), files.path(source));
        let all: u64 = self.sources.iter().map(|rank| of(*rank)).sum();
        let all = all * spec.transfer.get();
        let setting = &self.setting;
        let buffer = &mut self.buffer;
        let gathered = setting.phase(&mut Plan {
            name: "read",
            amount: all,
            unit: Unit::Bytes,
            work: &mut |part, points| {
                part.begin = group.now_ns();
                let file = files.open(&path, false)?;
                let mut stream = Stream::begin(setting, part, (&file, &path), group, Call::Read);
                stream.transfers(spec, source, 0..transfers, buffer, None)?;
                *points = Some(stream.end());
                close(part, file, group);
                Ok(())
            },
            sync: None,
            settle: None,
        })?;
        Ok(gathered.map(|gathered| {
            let mut report = self.report("read", &gathered);
            report.bytes_asked = all;
            report
        }))
    }

    fn report(&self, name: &str, gathered: &Gathered) -> PhaseReport {
        let merged = Merged::new(&gathered.parts, self.group.places(), &gathered.offsets);
        let mut report = self.setting.report(name, gathered, &merged);
        let bytes = report.bytes as f64;
        let rate = |seconds: Option<f64>| {
            seconds
                .filter(|seconds| *seconds > 0.0)
                .map(|seconds| bytes / seconds)
        };
        report.bytes_per_s = Clocks {
            original: rate(report.clock_seconds.original),
            fsync: rate(report.clock_seconds.fsync),
            syncfs: rate(report.clock_seconds.syncfs),
        };
        let at_first = gathered.at_first.iter().sum();
        let figures = merged.transfers(self.spec.transfer.get(), at_first);
        report.figures.extend(figures);
        report
    }

    /// Whether no rank reads what its own kernel may have in its page cache.
    fn reads_others(&self) -> bool {
        let places = self.group.places();
        let boot = |rank: usize| places.get(rank).map(|place| &place.boot);
        let mut sources = self.sources.iter().enumerate();
        sources.all(|(rank, source)| boot(rank) != boot(*source as usize))
    }

    /// Drops the caches where a rank would read from them: the evidence, at rank 0.
    fn make_cold(&self, files: &Files<'_>, others: bool) -> Result<Option<Evidence>, Error> {
        if others || !self.spec.cold {
            return Ok(None);
        }
        // The files of all ranks that wrote here: a sample of them is enough to prove.
        let paths: Vec<PathBuf> = (0..self.spec.ranks.min(64))
            .map(|rank| files.path(rank))
            .collect();
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let paths = match self.spec.layout {
            params::shared::Layout::Own => &paths[..],
            params::shared::Layout::Shared => &paths[..1],
        };
        self.setting.drop_caches(paths)
    }

    fn other_node(&self, others: bool) -> Evidence {
        let places = self.group.places();
        let boot = places.first().map(|place| &place.boot);
        let one = places.iter().all(|place| Some(&place.boot) == boot);
        let asked = self.spec.reorder != params::shared::Reorder::None;
        let instead = if self.spec.cold {
            "its cache was dropped instead"
        } else {
            "its cache was not dropped"
        };
        let (holds, detail) = match (others, one) {
            (true, _) => (
                Some(true),
                "no rank read what its own node had written".to_owned(),
            ),
            (false, true) => (None, format!("all ranks share one page cache; {instead}")),
            (false, false) => (
                asked.then_some(false),
                format!("ranks read what their own node had written; {instead}"),
            ),
        };
        Evidence {
            name: "other_node_read".into(),
            holds,
            detail,
        }
    }
}

fn wall(spec: &SharedSpec) -> Option<u64> {
    (spec.stonewall > 0.0).then_some((spec.stonewall * 1e9) as u64)
}

fn close(part: &mut Part, file: File, group: &dyn Group) {
    drop(file);
    part.end = group.now_ns();
    part.calls.record(Call::Close, part.end - part.last);
}

/// Transfers of one rank in one file.
struct Stream<'a> {
    part: &'a mut Part,
    file: &'a File,
    path: &'a Path,
    group: &'a dyn Group,
    setting: &'a Setting<'a>,
    call: Call,
    points: Points,
    /// Transfers done.
    done: u64,
    /// When the last one ended.
    now: u64,
}

impl<'a> Stream<'a> {
    /// The file has just been opened.
    fn begin(
        setting: &'a Setting<'a>,
        part: &'a mut Part,
        (file, path): (&'a File, &'a Path),
        group: &'a dyn Group,
        call: Call,
    ) -> Stream<'a> {
        part.opened = group.now_ns();
        part.calls.record(Call::Open, part.opened - part.begin);
        part.first = group.now_ns();
        Stream {
            points: Points::from(part.first),
            now: part.first,
            part,
            file,
            path,
            group,
            setting,
            call,
            done: 0,
        }
    }

    /// Transfers of these numbers, as `rank` has them; until the first that ends later than `wall` after the first of all began.
    fn transfers(
        &mut self,
        spec: &SharedSpec,
        rank: u32,
        indices: std::ops::Range<u64>,
        buffer: &mut Buffer,
        wall: Option<u64>,
    ) -> Result<(), Error> {
        let end = wall.map(|wall| self.part.first + wall);
        let size = spec.transfer.get();
        // Time since the last transfer (a wait for the other ranks) is not a transfer's.
        self.now = self.group.now_ns();
        for index in indices {
            let short = self.one(spec.offset(rank, index), buffer)?;
            let now = self.group.now_ns();
            self.part.calls.record(self.call, now - self.now);
            self.now = now;
            self.part.short += short;
            self.done += 1;
            self.part.bytes += size;
            add(self.group.done(), size);
            if self.points.is_due(now) {
                self.points.add(now, self.part.bytes);
                self.setting.go_on(match self.call {
                    Call::Read => "read",
                    _ => "write",
                })?;
            }
            if end.is_some_and(|end| now > end) {
                break;
            }
        }
        Ok(())
    }

    /// One transfer: how many short ones it took more.
    fn one(&self, offset: u64, buffer: &mut Buffer) -> Result<u64, Error> {
        let bytes = buffer.as_mut_slice();
        let (mut at, mut calls) = (0, 0);
        while at < bytes.len() {
            let moved = match self.call {
                Call::Read => self.file.read_at(&mut bytes[at..], offset + at as u64),
                _ => self.file.write_at(&bytes[at..], offset + at as u64),
            };
            match moved {
                Ok(0) => return Err(self.ended(offset)),
                Ok(moved) => (at, calls) = (at + moved, calls + 1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if crate::error::is_no_space(&error) => {
                    return Err(Error::NoSpace {
                        phase: "write".into(),
                        path: self.path.to_owned(),
                        written: self.part.bytes,
                        asked: self.part.bytes + bytes.len() as u64,
                    });
                }
                Err(error) => {
                    let what = if self.call == Call::Read {
                        "read"
                    } else {
                        "write"
                    };
                    return Err(Error::io(what, self.path)(error));
                }
            }
        }
        Ok(calls - 1)
    }

    fn ended(&self, offset: u64) -> Error {
        Error::Unsupported {
            what: "a read",
            path: self.path.to_owned(),
            reason: format!(
                "the file ends at or before byte {offset}; write it with the same parameters"
            ),
        }
    }

    /// The last transfer, and an fsync of its own, have ended.
    fn end(mut self) -> Points {
        self.part.last = self.group.now_ns();
        self.part.operations = self.done;
        self.points.add(self.part.last, self.part.bytes);
        self.points
    }
}
