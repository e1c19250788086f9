//! The index: the log as SQLite tables, for questions that no report answers.
//!
//! It is derived: [`rebuild`] reads `events.jsonl` and nothing else, so it may be deleted at any
//! time, is never a reason for a run to stop, and is never read to resume one. It is built in a
//! file of its own and renamed, so no reader sees half an index. Events are taken one at a time and
//! SQLite gets a 1 MiB cache, so that the lab may build it at the end of a run without its memory
//! growing with the log.
//!
//! Rejected: SQLite as the truth itself. Its file is rewritten in place, so a kill or a bad sector
//! in mid-trial can touch what is long finished, and its syncs would share the disk with the
//! images being measured.
//!
//! `sample_view` joins each sample with its block, its cell and one column for each factor:
//! `select filesystem, avg(value) from sample_view where phase = 'read' and metric = 'children'
//! group by filesystem`. The tables are described in docs/formats.md.

pub(crate) mod context;
mod fill;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use record::log::Reader;
use record::{Run, RunFolder};
use rusqlite::Connection;

use crate::error::Error;

/// The tables.
const SCHEMA: &str = include_str!("index/schema.sql");
/// The build's file is thrown away on any trouble, so nothing in it needs a journal.
const BUILD: &str =
    "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -1024;
                     pragma temp_store = memory; pragma locking_mode = exclusive;";

/// Builds the index of a run's folder from its log and puts it in place of the one that is there.
/// Returns its path. A run that is still being written gives an index of what it has so far.
///
/// # Errors
/// Those of [`log::read`](record::log::read); [`Error::Index`]; [`Error::Io`].
pub fn rebuild(dir: &Path) -> Result<PathBuf, Error> {
    let folder = RunFolder::open(dir)?;
    let index = path_of(&folder);
    let build = Build(
        folder
            .dir()
            .join(format!("index.sqlite.new-{}", std::process::id())),
    );
    remove(&build.0)?;
    fill_file(&folder, &build.0)?;
    File::open(&build.0)
        .and_then(|file| file.sync_all())
        .map_err(|cause| record::Error::io("sync", &build.0, cause))?;
    fs::rename(&build.0, &index).map_err(|cause| record::Error::io("replace", &index, cause))?;
    Ok(index)
}

/// The index of a run's folder.
pub fn path_of(folder: &RunFolder) -> PathBuf {
    folder.dir().join("index.sqlite")
}

fn fill_file(folder: &RunFolder, path: &Path) -> Result<(), Error> {
    let sql = |cause| Error::Index {
        path: path_of(folder),
        cause,
    };
    let mut connection = Connection::open(path).map_err(sql)?;
    connection
        .execute_batch(BUILD)
        .and_then(|()| connection.execute_batch(SCHEMA))
        .map_err(sql)?;
    let mut reader = Reader::open(&folder.events())?;
    let transaction = connection.transaction().map_err(sql)?;
    let mut filler = fill::Filler::new(&transaction);
    while let Some(entry) = reader.next_entry()? {
        filler.add(&entry).map_err(sql)?;
    }
    if filler.has_repeats() {
        // Which of two trials counts is the fold's to decide.
        filler.replaced(&Run::load(folder.dir())?).map_err(sql)?;
    }
    transaction.commit().map_err(sql)?;
    connection.close().map_err(|(_, cause)| sql(cause))
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(record::Error::io("remove", path, cause).into())
        }
        _ => Ok(()),
    }
}

/// The file being built; removed unless it was renamed.
struct Build(PathBuf);

impl Drop for Build {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests;
