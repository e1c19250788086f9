//! fio's options, and the parameter of `mix` that each sets.

use std::path::PathBuf;

use super::ini::{Entry, Section, quoted};
use super::value::{self, KbBase};
use super::{Job, JobError};
use crate::engine::Kind;
use crate::mix::{Preallocation, Rw};
use crate::{Bytes, MixSpec, Parameters};

/// The options of a job file that are understood.
pub const KEYS: [&str; 32] = [
    "blocksize",
    "bs",
    "buffered",
    "description",
    "direct",
    "directory",
    "fallocate",
    "filename",
    "fsync",
    "group_reporting",
    "invalidate",
    "iodepth",
    "ioengine",
    "kb_base",
    "name",
    "numjobs",
    "overwrite",
    "ramp_time",
    "randseed",
    "rate",
    "readwrite",
    "runtime",
    "rw",
    "rwmixread",
    "rwmixwrite",
    "size",
    "stonewall",
    "thread",
    "time_based",
    "timeout",
    "unlink",
    "wait_for_previous",
];

/// The sections that apply to a job, put together.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    spec: MixSpec,
    kb_base: KbBase,
    name: Option<String>,
    has_size: bool,
    group_reporting: bool,
    unlink: Option<bool>,
    directory: Option<PathBuf>,
    filename: Option<PathBuf>,
    pub(super) stonewall: bool,
}

impl Default for Draft {
    /// fio's defaults.
    fn default() -> Draft {
        Draft {
            spec: MixSpec {
                rw: Rw::Read,
                seed: SEED,
                ..MixSpec::default()
            },
            kb_base: KbBase::default(),
            name: None,
            has_size: false,
            group_reporting: false,
            unlink: None,
            directory: None,
            filename: None,
            stonewall: false,
        }
    }
}

/// The seed of a job without `randseed`: runs repeat one another, as with fio's `randrepeat`.
const SEED: u64 = 2012;

impl Draft {
    /// Applies a section's options in order; `kb_base` first, since it says what the others mean.
    pub(super) fn apply(&mut self, section: &Section<'_>) -> Result<(), JobError> {
        let (bases, others): (Vec<_>, Vec<_>) =
            (section.entries.iter()).partition(|entry| entry.key == "kb_base");
        for entry in bases.into_iter().chain(others) {
            self.set(entry)?;
        }
        Ok(())
    }

    fn set(&mut self, entry: &Entry<'_>) -> Result<(), JobError> {
        let Entry { line, key, value } = *entry;
        let bad = |allowed: &str| {
            let value = quoted(value.unwrap_or_default());
            JobError::at(line, format!("{key} = {value}: {allowed}"))
        };
        let size = || {
            let size = value.and_then(|text| value::bytes(text, self.kb_base));
            size.map(Bytes)
                .ok_or_else(|| bad("must be one size, as in 4k"))
        };
        let count = || {
            let number = value.and_then(value::number);
            number.ok_or_else(|| bad("must be a number, 0 to 4294967295"))
        };
        let time = || {
            let seconds = value.and_then(value::seconds);
            seconds.ok_or_else(|| bad("must be a time, as in 30, 500ms or 5m"))
        };
        let switch = || value::switch(value).ok_or_else(|| bad("must be 0 or 1"));
        let text = || {
            let text = value.filter(|text| !text.is_empty() && !text.contains(['$', '\0']));
            text.ok_or_else(|| bad("must be text, without variables ($)"))
        };
        match key {
            "rw" | "readwrite" => {
                self.spec.rw = value.and_then(pattern).ok_or_else(|| bad(PATTERNS))?;
            }
            "ioengine" => {
                self.spec.engine = value.and_then(engine).ok_or_else(|| bad(ENGINES))?;
            }
            "fallocate" => {
                self.spec.fallocate = value.and_then(fallocate).ok_or_else(|| bad(FALLOCATE))?;
            }
            "kb_base" => {
                self.kb_base = match value {
                    Some("1024") => KbBase::Binary,
                    Some("1000") => KbBase::Decimal,
                    _ => return Err(bad("must be 1024 or 1000")),
                };
            }
            "rate" => {
                let (read, write) = self.rates(value).ok_or_else(|| bad(RATES))?;
                (self.spec.rate_read, self.spec.rate_write) = (Bytes(read), Bytes(write));
            }
            "bs" | "blocksize" => self.spec.block = size()?,
            "size" => (self.spec.size, self.has_size) = (size()?, true),
            "iodepth" => self.spec.queue_depth = count()?,
            "numjobs" => self.spec.threads = count()?,
            "fsync" => self.spec.fsync = count()?,
            "randseed" => self.spec.seed = u64::from(count()?),
            "rwmixread" => self.spec.rwmixread = count()?,
            "rwmixwrite" => {
                let writes = count()?;
                let reads = 100_u32.checked_sub(writes);
                self.spec.rwmixread = reads.ok_or_else(|| bad("must be 0..=100"))?;
            }
            "runtime" | "timeout" => self.spec.runtime = time()?,
            "ramp_time" => self.spec.ramp_time = time()?,
            "direct" => self.spec.direct = switch()?,
            "buffered" => self.spec.direct = !switch()?,
            "time_based" => self.spec.time_based = switch()?,
            "overwrite" => self.spec.overwrite = switch()?,
            "invalidate" => self.spec.invalidate = switch()?,
            "group_reporting" => self.group_reporting = switch()?,
            "stonewall" | "wait_for_previous" => self.stonewall = switch()?,
            "unlink" => self.unlink = Some(switch()?),
            "thread" => {
                switch()?;
            }
            "description" => {}
            "name" => self.name = Some(text()?.to_owned()),
            "directory" => self.directory = Some(text()?.into()),
            "filename" => {
                let name = text()?;
                if name.contains(':') || name.ends_with(['/', '.']) {
                    return Err(bad("must be the path of one file"));
                }
                self.filename = Some(name.into());
            }
            _ => {
                let reason = format!(
                    "{}: this option of fio is not supported; take it out, or run fio (supported: {})",
                    quoted(key),
                    KEYS.join(", ")
                );
                return Err(JobError::at(line, reason));
            }
        }
        Ok(())
    }

    /// Rates of reads and writes: `N` is both, `N,` reads, `,N` writes. 0: no limit.
    fn rates(&self, value: Option<&str>) -> Option<(u64, u64)> {
        let one = |text: &str| match text.trim() {
            "" => Some(0),
            text => value::bytes(text, self.kb_base),
        };
        let value = value.filter(|text| !text.is_empty())?;
        let parts: Vec<&str> = value.split(',').collect();
        match parts.as_slice() {
            [both] => one(both).map(|rate| (rate, rate)),
            [read, write] | [read, write, ""] => Some((one(read)?, one(write)?)),
            _ => None,
        }
    }

    /// The job of a section.
    pub(super) fn finish(
        self,
        section: &Section<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Job, JobError> {
        let Draft { mut spec, .. } = self;
        let name = self.name.unwrap_or_else(|| section.name.to_owned());
        if !self.has_size {
            let reason = format!("job {}: size is missing; add size=SIZE", quoted(&name));
            return Err(JobError::at(section.line, reason));
        }
        if spec.queue_depth > 1 && spec.engine.capabilities().max_queue_depth == 1 {
            notes.push(format!(
                "job {}: iodepth {} with a synchronous engine is 1, as in fio",
                quoted(&name),
                spec.queue_depth
            ));
            spec.queue_depth = 1;
        }
        // A section may be called what no file can be called; fio makes directories of the slashes.
        spec.name = name.replace(['/', '\0'], "_");
        spec.validate().map_err(|invalid| {
            let key = fio_key(invalid.option);
            let entry = section.entries.iter().rev().find(|entry| entry.key == key);
            let line = entry.map_or(section.line, |entry| entry.line);
            JobError::at(
                line,
                format!("{key} = {}: {}", invalid.value, invalid.reason),
            )
        })?;
        Ok(Job {
            name,
            line: section.line,
            options: section.options_as_written(),
            group_reporting: self.group_reporting,
            unlink: self.unlink,
            directory: self.directory,
            filename: self.filename,
            spec,
        })
    }
}

/// fio's name of a parameter.
fn fio_key(parameter: &'static str) -> &'static str {
    match parameter {
        "block" => "bs",
        "threads" => "numjobs",
        "queue_depth" => "iodepth",
        "engine" => "ioengine",
        "rate_read" | "rate_write" => "rate",
        "file" => "filename",
        other => other,
    }
}

const PATTERNS: &str = "must be read, write, randread, randwrite, rw, readwrite or randrw";

fn pattern(text: &str) -> Option<Rw> {
    if text == "readwrite" {
        return Some(Rw::Rw);
    }
    Rw::ALL.into_iter().find(|rw| rw.name() == text)
}

const ENGINES: &str = "must be psync, sync, libaio, io_uring or null";

/// `sync` seeks before each request in fio; here it is one call, as in `psync`.
fn engine(text: &str) -> Option<Kind> {
    match text {
        "psync" | "sync" => Some(Kind::Sync),
        "libaio" => Some(Kind::Aio),
        "io_uring" => Some(Kind::IoUring),
        "null" => Some(Kind::Null),
        _ => None,
    }
}

const FALLOCATE: &str = "must be native or none";

fn fallocate(text: &str) -> Option<Preallocation> {
    match text {
        "native" | "1" => Some(Preallocation::Native),
        "none" | "0" => Some(Preallocation::None),
        _ => None,
    }
}

const RATES: &str =
    "must be bytes a second, as in 1m for reads and writes each, 1m, for reads or ,1m for writes";
