//! fio's job files: the subset that `mix` runs.
//!
//! A job file is an INI file. Sections are jobs, `[global]` has options for the jobs that follow it,
//! and `;` and `#` begin a comment. Options that are not in [`KEYS`] are refused by name and line: a
//! job with an option left out would measure something else under the same name.
//!
//! What differs from fio 3.33 on purpose:
//! * `thread` is accepted and changes nothing: jobs are threads with and without it.
//! * `1.5k`, `-4k` and `4kx`, which fio reads as a number with the rest ignored, are refused.
//! * `size` must be given. fio takes the size of a file that exists.
//! * A block size, size or pattern with fio's further forms (`bs=4k-16k`, `size=50%`, `rw=randread:8`)
//!   is refused as a value.

mod ini;
mod options;
mod value;

use std::path::PathBuf;

pub use options::KEYS;

use crate::MixSpec;

/// A job file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFile {
    /// Options of all `[global]` sections as written, in order.
    pub global: Vec<(String, String)>,
    /// Jobs that run at the same time, group after group: `stonewall` begins a group.
    pub groups: Vec<Vec<Job>>,
    /// What is done otherwise than written, for people.
    pub notes: Vec<String>,
}

/// One section: a job with `numjobs` threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Name of the section, or the option `name`.
    pub name: String,
    /// Line of the section's head, from 1.
    pub line: usize,
    /// Options of the section as written, in order.
    pub options: Vec<(String, String)>,
    /// `group_reporting`: figures of the group's jobs are added up.
    pub group_reporting: bool,
    /// `unlink=0` was written: the files stay. `None`: not written.
    pub unlink: Option<bool>,
    /// `directory`.
    pub directory: Option<PathBuf>,
    /// `filename`, which may have a path.
    pub filename: Option<PathBuf>,
    /// What it runs. `dir` and `file` are set by [`Job::placed`].
    pub spec: MixSpec,
}

impl Job {
    /// The job with its directory: `dir` if given, in place of the job file's own; else the
    /// `directory`, or the one in `filename`, or the current one.
    #[must_use]
    pub fn placed(&self, dir: Option<&std::path::Path>) -> MixSpec {
        let mut spec = self.spec.clone();
        let folder = self.filename.as_ref().and_then(|file| file.parent());
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        spec.dir = match (dir, &self.directory, folder) {
            (Some(dir), ..) => dir.to_owned(),
            (None, Some(directory), Some(folder)) => directory.join(folder),
            (None, Some(directory), None) => directory.clone(),
            (None, None, Some(folder)) => folder.to_owned(),
            (None, None, None) => PathBuf::from("."),
        };
        let file = self.filename.as_ref().and_then(|file| file.file_name());
        spec.file = file.map(|file| file.to_string_lossy().into_owned());
        spec
    }
}

/// What is wrong with a job file. One line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct JobError {
    /// Line, from 1.
    pub line: usize,
    /// The option, why it cannot be used, and what can.
    pub reason: String,
}

impl JobError {
    fn at(line: usize, reason: impl Into<String>) -> JobError {
        JobError {
            line,
            reason: reason.into(),
        }
    }
}

/// Reads a job file.
///
/// # Errors
/// The first line that is not understood or whose option is not in [`KEYS`], a value that cannot be
/// used, or no job at all.
pub fn parse(text: &str) -> Result<JobFile, JobError> {
    let mut file = JobFile::default();
    let mut defaults = options::Draft::default();
    let sections = ini::sections(text)?;
    for section in &sections {
        if section.name == "global" {
            defaults.apply(section)?;
            file.global.extend(section.options_as_written());
            continue;
        }
        let mut draft = defaults.clone();
        draft.apply(section)?;
        let begins_group = draft.stonewall || file.groups.is_empty();
        let job = draft.finish(section, &mut file.notes)?;
        match file.groups.last_mut().filter(|_| !begins_group) {
            Some(group) => group.push(job),
            None => file.groups.push(vec![job]),
        }
    }
    if file.groups.is_empty() {
        let line = text.lines().count().max(1);
        return Err(JobError::at(
            line,
            "the file ends without a job; add a section [NAME]",
        ));
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
