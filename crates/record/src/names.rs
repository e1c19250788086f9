//! Names: of runs, of their folders, and of the log by which a folder is known to be a run's.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;

/// Name of the event log in a run's folder.
pub const EVENTS: &str = "events.jsonl";
/// Folder in the working directory that holds runs without `--out`.
pub const RUNS: &str = "fslab-runs";

/// Folders below the given one that are looked into: `fslab-runs/<run>`, and one more for those
/// who sort their runs. Run folders themselves are not descended into (they hold mounts), nor are
/// symbolic links.
const DEPTH: u32 = 2;

/// The name of a run in `dir`: the last part of its path, with control characters as escapes, so
/// that it stays one line and steers no terminal wherever it is printed.
pub(crate) fn name_of(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    let mut safe = String::new();
    for c in name.to_string_lossy().chars() {
        if c.is_control() {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Where a run goes without `--out`: `fslab-runs/<study>-<YYYYmmdd-HHMMSS>`, with the local time
/// passed in. Characters that are awkward in a file name become `_`.
pub fn default_dir(study: &str, now: DateTime) -> PathBuf {
    let safe: String = study
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    Path::new(RUNS).join(format!("{safe}-{}", now.strftime("%Y%m%d-%H%M%S")))
}

/// The run that a folder's path names, or its name in `fslab list`. `runs` is the folder of
/// runs without `--out`; what is named neither way stays as it is, and opening it fails.
pub fn meant(named: PathBuf, runs: &Path) -> PathBuf {
    let is_name = named.file_name() == Some(named.as_os_str());
    if !is_name || named.exists() {
        return named;
    }
    let is_named = |dir: &PathBuf| dir.file_name() == named.file_name();
    let mut there = folders(runs).into_iter();
    there.find(is_named).unwrap_or(named)
}

/// `did you mean journal-1? `: the run whose name is nearest to that of a folder that does not exist, to go before
/// other advice; empty where none is near. `runs` is the folder of runs without `--out`.
pub(crate) fn near(named: &Path, runs: &Path) -> String {
    if named.exists() {
        return String::new();
    }
    let wanted = name_of(named);
    let is_name = named.file_name() == Some(named.as_os_str());
    let candidates = match named.parent() {
        _ if is_name => folders(runs),
        // Beside it, and no deeper: the folder may be any.
        Some(parent) => {
            let entries = fs::read_dir(parent).into_iter().flatten().flatten();
            let paths = entries.map(|entry| entry.path());
            let paths = paths.filter(|path| path.join(EVENTS).symlink_metadata().is_ok());
            paths.collect()
        }
        None => Vec::new(),
    };
    let mut names: Vec<String> = candidates.iter().map(|path| name_of(path)).collect();
    names.sort();
    let Some(found) = words::nearest(&wanted, names.iter().map(String::as_str)) else {
        return String::new();
    };
    let found = match named.parent() {
        Some(parent) if !is_name => parent.join(found).display().to_string(),
        _ => found.to_owned(),
    };
    format!("did you mean {found}? ")
}

/// The run folders at or below `dir`, by path.
pub(crate) fn folders(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(dir, DEPTH, &mut found);
    found.sort();
    found
}

fn search(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    // Whatever it is: a log that is no file is reported, not passed over.
    if dir.join(EVENTS).symlink_metadata().is_ok() {
        found.push(dir.to_owned());
        return;
    }
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        // The type of the entry itself: links are not followed.
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&entry.path(), depth - 1, found);
        }
    }
}
