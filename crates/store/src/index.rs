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

use std::io;
use std::path::Path;

use record::Run;
use record::log::Reader;
use rundir::RunDir;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;

/// Name of the index in a run's folder.
pub const NAME: &str = "index.sqlite";
/// The tables.
const SCHEMA: &str = include_str!("index/schema.sql");
/// The build's file is thrown away on any trouble, so nothing in it needs a journal.
const BUILD: &str =
    "pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -1024;
                     pragma temp_store = memory; pragma locking_mode = exclusive;";

/// Builds the index of a run's folder from its log and puts it in place of the one that is there.
/// A run that is still being written gives an index of what it has so far.
///
/// SQLite opens files by path. It follows no link then, and what it made counts only when it is in the opened folder.
///
/// # Errors
/// Those of [`log::read`](record::log::read); [`Error::Index`]; [`Error::Io`].
pub fn rebuild(dir: &RunDir) -> Result<(), Error> {
    let build = Build {
        dir,
        name: format!("index.sqlite.new-{}", std::process::id()),
    };
    dir.remove(&build.name).map_err(record::Error::from)?;
    fill_file(dir, &dir.path().join(&build.name))?;
    let made = dir.read_trusted(&build.name).map_err(record::Error::from)?;
    let path = dir.path().join(&build.name);
    made.ok_or_else(|| io::ErrorKind::NotFound.into())
        .and_then(|file| file.sync_all())
        .map_err(|cause| record::Error::io("sync", &path, cause))?;
    dir.rename(&build.name, NAME).map_err(record::Error::from)?;
    Ok(())
}

fn fill_file(dir: &RunDir, path: &Path) -> Result<(), Error> {
    let sql = |cause| Error::Index {
        path: dir.path().join(NAME),
        cause,
    };
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags).map_err(sql)?;
    connection
        .execute_batch(BUILD)
        .and_then(|()| connection.execute_batch(SCHEMA))
        .map_err(sql)?;
    let mut reader = Reader::of_run(dir)?;
    let transaction = connection.transaction().map_err(sql)?;
    let mut filler = fill::Filler::new(&transaction);
    while let Some(entry) = reader.next_entry()? {
        filler.add(&entry).map_err(sql)?;
    }
    if filler.has_repeats() {
        // Which of two trials counts is the fold's to decide.
        filler.replaced(&Run::read(dir)?).map_err(sql)?;
    }
    transaction.commit().map_err(sql)?;
    connection.close().map_err(|(_, cause)| sql(cause))
}

/// The file being built; removed unless it was renamed.
struct Build<'d> {
    dir: &'d RunDir,
    name: String,
}

impl Drop for Build<'_> {
    fn drop(&mut self) {
        let _ = self.dir.remove(&self.name);
    }
}

#[cfg(test)]
mod tests;
