//! The runs below a folder, for `fslab list`.

use std::fs;
use std::path::{Path, PathBuf};

use rundir::RunDir;
use serde::Serialize;

use crate::error::Error;
use crate::event::FailureKind;
use crate::folder::writer;
use crate::names::{folders, name_of};
use crate::run::{Run, Status, TrialRecord};
use crate::tags::Tags;
use crate::text::{WIDTH, left, wrap};

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Being written now.
    Running {
        /// `pid 1234`.
        by: String,
    },
    /// All trials are done.
    Whole,
    /// Stopped before its end: `fslab resume` goes on.
    Incomplete,
    /// Its log cannot be read.
    Damaged {
        /// One line.
        why: String,
    },
}

impl State {
    /// One word.
    pub const fn word(&self) -> &'static str {
        match self {
            State::Running { .. } => "running",
            State::Whole => "whole",
            State::Incomplete => "incomplete",
            State::Damaged { .. } => "damaged",
        }
    }
}

/// A run in the list. Fields that a damaged log does not give are empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listing {
    /// Its folder.
    pub dir: PathBuf,
    /// Its folder's name.
    pub name: String,
    /// SHA-256 of the first line of its log: which run it is.
    pub id: String,
    /// The user's tags, name to value.
    pub tags: Tags,
    /// Its study.
    pub study: String,
    /// Its profile.
    pub profile: String,
    /// When it began.
    pub started: Option<jiff::Timestamp>,
    /// Trials finished.
    pub finished: u32,
    /// Trials failed for good.
    pub failed: u32,
    /// Trials that have still to run; those of cells that cannot run here are in no count.
    pub remaining: u32,
    /// Trials of the plan.
    pub total: u32,
    /// Its state.
    #[serde(flatten)]
    pub state: State,
}

/// Every run at or below `dir`, oldest first, damaged ones without a time at the end.
///
/// # Errors
/// [`Error::Io`] when `dir` itself cannot be read. Sub-folders that cannot be read hold no runs.
pub fn list(dir: &Path) -> Result<Vec<Listing>, Error> {
    fs::read_dir(dir).map_err(|cause| Error::io("read", dir, cause))?;
    let mut listings: Vec<Listing> = folders(dir).iter().map(|dir| look(dir)).collect();
    listings.sort_by(|a, b| {
        let key = |l: &Listing| (l.started.is_none(), l.started);
        key(a).cmp(&key(b)).then_with(|| a.dir.cmp(&b.dir))
    });
    Ok(listings)
}

/// The folders of the runs at or below `dir`, by path; none of their logs is read.
///
/// # Errors
/// As [`list`].
pub fn run_folders(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    fs::read_dir(dir).map_err(|cause| Error::io("read", dir, cause))?;
    Ok(folders(dir))
}

impl Listing {
    /// A run whose log was read. `writer`: the process that writes it.
    pub fn of(dir: &Path, run: &Run, writer: Option<String>) -> Listing {
        let mut listing = nameless(dir);
        fill(&mut listing, run, writer);
        listing
    }

    /// A folder whose log cannot be read, for this reason.
    pub fn damaged(dir: &Path, why: String) -> Listing {
        Listing {
            state: State::Damaged { why },
            ..nameless(dir)
        }
    }
}

/// A folder of which nothing is known but its name.
fn nameless(dir: &Path) -> Listing {
    let path = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    Listing {
        dir: dir.to_owned(),
        name: name_of(&path),
        id: String::new(),
        tags: Tags::new(),
        study: String::new(),
        profile: String::new(),
        started: None,
        finished: 0,
        failed: 0,
        remaining: 0,
        total: 0,
        state: State::Incomplete,
    }
}

fn look(dir: &Path) -> Listing {
    let mut listing = nameless(dir);
    // First the lock, then the log: a run that ends in between is listed as running, never as
    // stopped.
    let running = RunDir::open(dir).ok().and_then(|dir| writer(&dir));
    let run = match Run::load(dir) {
        Ok(run) => run,
        Err(error) => {
            listing.state = match running {
                Some(by) => State::Running { by },
                None => State::Damaged {
                    why: error.to_string(),
                },
            };
            return listing;
        }
    };
    fill(&mut listing, &run, running);
    listing
}

fn fill(listing: &mut Listing, run: &Run, running: Option<String>) {
    let remaining = run.remaining();
    let waits = |trial: usize| remaining.iter().any(|slot| slot.trial as usize == trial);
    let failed = run.trials.iter().enumerate().filter(|(trial, record)| {
        matches!(
            record.status,
            Status::Failed(FailureKind::Trial | FailureKind::Cell, _)
        ) && !waits(*trial)
    });
    listing.failed = failed.count() as u32;
    listing.finished = run
        .trials
        .iter()
        .filter(|t| t.status == Status::Finished)
        .count() as u32;
    listing.remaining = remaining.len() as u32;
    let replaced = |t: &&TrialRecord| matches!(t.status, Status::Replaced { .. });
    let replaced = run.trials.iter().filter(replaced).count();
    listing.total = (run.trials.len() - replaced) as u32;
    listing.started = Some(run.started_at);
    listing.state = match running {
        Some(by) => State::Running { by },
        None if run.closing.is_some() && remaining.is_empty() => State::Whole,
        None => State::Incomplete,
    };
    listing.id.clone_from(&run.id);
    listing.tags.clone_from(&run.tags);
    listing.study.clone_from(&run.plan.study);
    listing.profile.clone_from(&run.plan.profile);
}

/// The list as a table of 78 columns; long names get their own line.
pub fn render(listings: &[Listing]) -> String {
    const NAME: usize = 26;
    let mut out = String::new();
    if listings.is_empty() {
        return "no runs here\n".to_owned();
    }
    out.push_str("Run                        Study      Profile  Begun      Trials    State\n");
    for item in listings {
        let mut lead = left(&item.name, NAME);
        if item.name.chars().count() > NAME {
            wrap(&mut out, "", &item.name, 0);
            lead = " ".repeat(NAME);
        }
        let started = item
            .started
            .map_or_else(|| "-".to_owned(), |at| at.strftime("%Y-%m-%d").to_string());
        let trials = match item.total {
            0 => "   -".to_owned(),
            total => format!("{:>4}/{total}", item.finished + item.failed),
        };
        let line = format!(
            "{lead} {:<10} {:<8} {started:<10} {trials:<9} {}",
            dash(&item.study),
            dash(&item.profile),
            item.state.word(),
        );
        wrap_row(&mut out, &line);
        match &item.state {
            State::Damaged { why } => wrap(&mut out, "  ", why, 4),
            State::Running { by } => wrap(&mut out, "  ", &format!("written by {by}"), 4),
            State::Whole if item.failed > 0 => {
                wrap(
                    &mut out,
                    "  ",
                    &format!("{} of its trials failed", item.failed),
                    4,
                );
            }
            State::Incomplete if item.remaining > 0 => {
                let go = format!("fslab resume {}", item.dir.display());
                wrap(&mut out, "  ", &go, 4);
            }
            State::Whole | State::Incomplete => {}
        }
    }
    // Names of folders and studies may hold anything.
    words::printable_lines(&out).into_owned()
}

fn dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// A row as it is when it fits, wrapped when a long study name pushed it out.
fn wrap_row(out: &mut String, line: &str) {
    if line.chars().count() <= WIDTH {
        out.push_str(line.trim_end());
        out.push('\n');
    } else {
        wrap(out, "", line, 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Entry;
    use crate::example;
    use crate::folder::RunFolder;
    use crate::names::EVENTS;

    #[test]
    fn nothing_of_a_run_steers_the_terminal() {
        let foreign = "\u{1b}[2J\u{9b}31m";
        let text = render(&[Listing {
            dir: foreign.into(),
            name: foreign.into(),
            id: String::new(),
            tags: Tags::new(),
            study: foreign.into(),
            profile: foreign.into(),
            started: None,
            finished: 0,
            failed: 0,
            remaining: 1,
            total: 1,
            state: State::Damaged {
                why: foreign.into(),
            },
        }]);
        assert!(text.contains("\\u{1b}[2J"), "{text}");
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }

    fn put(dir: &Path, entries: &[Entry], tail: &str) {
        fs::create_dir_all(dir).unwrap();
        let lines: Vec<String> = entries
            .iter()
            .map(|e| serde_json::to_string(e).unwrap() + "\n")
            .collect();
        fs::write(dir.join(EVENTS), lines.concat() + tail).unwrap();
    }

    /// A whole run, a stopped one, one with a torn line, one being written, a damaged and an
    /// empty one, and things that are no runs.
    fn folder() -> (tempfile::TempDir, RunFolder) {
        let temp = tempfile::tempdir().unwrap();
        let runs = temp.path();
        let entries = example::entries();
        put(&runs.join("journal-20260102-030405"), &entries, "");
        put(&runs.join("stopped"), &entries[..30], "");
        put(
            &runs.join("by-host/a-run-with-a-name-longer-than-its-column"),
            &entries[..20],
            "{\"se",
        );
        put(&runs.join("bad"), &entries[..9], "{}\n{}\n");
        put(&runs.join("empty"), &[], "");
        put(&runs.join("live"), &entries[..12], "");
        put(&runs.join("live/mnt/not-looked-into"), &entries[..12], "");
        put(&runs.join("a/b/c/too-deep"), &entries[..12], "");
        fs::write(runs.join("notes.txt"), "x").unwrap();
        std::os::unix::fs::symlink(runs.join("stopped"), runs.join("link")).unwrap();
        let lock = RunFolder::open_to_write(&runs.join("live")).unwrap();
        (temp, lock)
    }

    #[test]
    fn every_state_is_listed() {
        let (temp, _lock) = folder();
        let listings = list(temp.path()).unwrap();
        let states: Vec<(&str, &str)> = listings
            .iter()
            .map(|l| (l.name.as_str(), l.state.word()))
            .collect();
        assert_eq!(
            states,
            [
                ("a-run-with-a-name-longer-than-its-column", "incomplete"),
                ("journal-20260102-030405", "whole"),
                ("live", "running"),
                ("stopped", "incomplete"),
                ("bad", "damaged"),
                ("empty", "damaged"),
            ]
        );
        let whole = &listings[1];
        assert_eq!(
            (whole.finished, whole.failed, whole.remaining, whole.total),
            (11, 1, 0, 12)
        );
        let stopped = &listings[3];
        assert_eq!(stopped.finished + stopped.failed + stopped.remaining, 12);
        assert!(stopped.remaining > 0);
    }

    #[test]
    fn the_list_fits_78_columns() {
        let (temp, _lock) = folder();
        let text = render(&list(temp.path()).unwrap());
        let long: Vec<&str> = text.lines().filter(|l| l.chars().count() > WIDTH).collect();
        assert!(long.is_empty(), "{long:?}");
        // Lines that hold the temporary folder's name break where its length wants.
        let folder = temp.path().to_str().unwrap();
        let (rows, paths): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| {
            !line.starts_with(' ')
                || line.starts_with(&" ".repeat(26))
                || line.contains("written by")
        });
        let rows = rows
            .join("\n")
            .replace(&std::process::id().to_string(), "4711");
        insta::assert_snapshot!(rows);
        let paths = paths.concat().split_whitespace().collect::<String>();
        for expected in [
            "resume{}/stopped",
            "{}/empty",
            "{}/bad/events.jsonl:10:damagedlog:",
        ] {
            assert!(
                paths.contains(&expected.replace("{}", folder)),
                "{expected}: {paths}"
            );
        }
    }

    #[test]
    fn a_run_folder_itself_can_be_listed() {
        let (temp, _lock) = folder();
        let listings = list(&temp.path().join("stopped")).unwrap();
        assert_eq!(listings.len(), 1);
        assert_eq!(listings[0].name, "stopped");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let message = list(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert_eq!(
            message,
            "cannot read /nowhere/at/all: No such file or directory (os error 2); check the path"
        );
        assert_eq!(render(&[]), "no runs here\n");
    }
}
