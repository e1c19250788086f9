//! Which files are affected, and what is wrong with each: what the owner of the data asks first.
//!
//! Findings are of structures. Those that are faults and name an inode, or an entry of a directory, are put to that file here. Files below a directory that
//! no name leads to any more have no finding of their own; a checker adds them ([`Unreachable`]).
//!
//! The list is made of the findings that are kept (`keep` of each problem), so it is bounded by what the forecast of memory counts for them; what
//! was not kept is counted.

use std::collections::BTreeMap;

use serde::Serialize;

use super::finding::Finding;
use super::log::Findings;
use super::paths::{self, Names};
use super::problem::{Problem, Severity};

/// Files below unreachable directories that are listed at most.
pub(crate) const MOST_UNREACHABLE: usize = 5000;
/// Bytes of their paths at most; files after that have none.
const PATHS: usize = 1 << 20;

/// What is wrong with a file, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Harm {
    /// Contents are lost, wrong, or shared with another file.
    Contents,
    /// No name leads to it.
    Unreachable,
    /// Its name is wrong, leads elsewhere, or cannot be read.
    Name,
    /// Its size is wrong.
    Size,
    /// Its owner, type, times or flags are wrong.
    Owner,
    /// Its extended attributes are wrong.
    Attributes,
}

impl Harm {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Harm::Contents => "contents",
            Harm::Unreachable => "unreachable",
            Harm::Name => "name",
            Harm::Size => "size",
            Harm::Owner => "owner, times or flags",
            Harm::Attributes => "attributes",
        }
    }
}

/// What the problems of a format do to a file: the first row with a part of the problem's name. Others are of the contents.
pub(crate) type Harms = &'static [(&'static str, Harm)];

/// A file of which something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AffectedFile {
    /// Its inode; none of a name that leads nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Its path; what begins with `<12>` is below inode 12, which no name leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is wrong, the worst first.
    pub wrong: Vec<Harm>,
    /// Bytes in blocks that are lost or that something else uses, too, as far as findings that were kept name them.
    pub bytes: u64,
}

/// The files of which something is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Affected {
    /// The worst first.
    pub files: Vec<AffectedFile>,
    /// Findings of files that were counted and not kept, and files below unreachable directories that were not listed.
    pub more: u64,
}

/// Files below directories that no name leads to.
#[derive(Debug, Default)]
pub(crate) struct Unreachable {
    /// Inodes, and paths where they are known.
    pub(crate) files: BTreeMap<u64, Option<String>>,
    /// Others that were not listed.
    pub(crate) more: u64,
}

impl Unreachable {
    /// Of names of files below unreachable directories: `seen` were found, the names of `names` were kept.
    pub(crate) fn of(names: &Names, seen: u64, root: u64) -> Unreachable {
        let mut room = PATHS;
        let path = |ino: &u64| {
            let path = paths::path(*ino, names, root).filter(|path| path.len() <= room);
            room -= path.as_ref().map_or(0, String::len);
            (*ino, path)
        };
        let files: BTreeMap<u64, Option<String>> = names.keys().map(path).collect();
        Unreachable {
            more: seen.saturating_sub(files.len() as u64),
            files,
        }
    }
}

impl Affected {
    /// By the findings of a format whose problems do this, with blocks of `block_size` bytes.
    pub(crate) fn of(
        findings: &Findings,
        harms: Harms,
        block_size: u64,
        unreachable: &Unreachable,
    ) -> Affected {
        let mut files: BTreeMap<(u64, Option<&str>), AffectedFile> = BTreeMap::new();
        let new = |inode| AffectedFile {
            inode,
            path: None,
            wrong: Vec::new(),
            bytes: 0,
        };
        for finding in findings.list.iter().filter(|one| affects(one.problem)) {
            let Some(Subject { inode, name }) = Subject::of(finding) else {
                continue;
            };
            let own = name.is_none().then_some(inode);
            let file = files.entry((inode, name)).or_insert_with(|| new(own));
            file.note(harm(finding, harms), finding.path.as_ref());
            file.bytes = file
                .bytes
                .saturating_add(finding.lost_blocks().saturating_mul(block_size));
        }
        for (inode, path) in &unreachable.files {
            let file = files.entry((*inode, None));
            let file = file.or_insert_with(|| new(Some(*inode)));
            file.note(Harm::Unreachable, path.as_ref());
        }
        let mut files: Vec<AffectedFile> = files.into_values().collect();
        files.sort_by(|one, other| {
            let worst = |file: &AffectedFile| (file.wrong.first().copied(), u64::MAX - file.bytes);
            worst(one)
                .cmp(&worst(other))
                .then_with(|| (&one.path, one.inode).cmp(&(&other.path, other.inode)))
        });
        let kept = |problem: &Problem| {
            let list = findings.list.iter();
            list.filter(|one| one.problem == problem).count() as u64
        };
        let lost = findings.tallies.iter().filter(|tally| {
            let first = findings
                .list
                .iter()
                .find(|one| one.problem == tally.problem);
            affects(tally.problem) && first.is_some_and(|one| Subject::of(one).is_some())
        });
        let more = lost.map(|tally| tally.count.saturating_sub(kept(tally.problem)));
        Affected {
            files,
            more: more.sum::<u64>() + unreachable.more,
        }
    }
}

impl AffectedFile {
    fn note(&mut self, harm: Harm, path: Option<&String>) {
        if let Err(at) = self.wrong.binary_search(&harm) {
            self.wrong.insert(at, harm);
        }
        if self.path.is_none() {
            self.path = path.cloned();
        }
    }
}

/// What a finding is of: an inode, or a name in the directory of that inode.
struct Subject<'a> {
    inode: u64,
    name: Option<&'a str>,
}

impl Subject<'_> {
    fn of(finding: &Finding) -> Option<Subject<'_>> {
        let place = &finding.place;
        match (place.directory, &place.name, place.inode) {
            (Some(directory), Some(name), None) => Some(Subject {
                inode: directory,
                name: Some(name),
            }),
            // The name is that of an attribute, or leads to this inode.
            (_, _, Some(inode)) | (Some(inode), None, None) => Some(Subject { inode, name: None }),
            (None, _, None) => None,
        }
    }
}

/// Whether a file is affected where this problem is: counters and maps that are wrong do nothing to it.
fn affects(problem: &Problem) -> bool {
    problem.is_fault() && problem.severity == Severity::Data
}

fn harm(finding: &Finding, harms: Harms) -> Harm {
    let name = finding.problem.name;
    let row = harms.iter().find(|(part, _)| name.contains(part));
    match row {
        Some((_, harm)) => *harm,
        None if finding.place.directory.is_some() && finding.place.name.is_some() => Harm::Name,
        None => Harm::Contents,
    }
}
