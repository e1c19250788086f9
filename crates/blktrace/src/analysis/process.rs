//! The processes that queued, and for what.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::Direction;
use crate::file::Event;
use crate::record::{Category, Head};

/// Names that begin so are threads that write a journal, or write back what it holds.
const JOURNALS: [&str; 8] = [
    "jbd2",
    "kjournald",
    "xfsaild",
    "xfs-log",
    "xfs-cil",
    "kworker/xfs-log",
    "jfsCommit",
    "reiserfs",
];

/// Whether a thread of this name writes a journal.
pub(super) fn is_journal(name: &str) -> bool {
    JOURNALS.iter().any(|prefix| name.starts_with(prefix))
}

/// What a bio carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Contents of files, as far as the trace shows.
    Data,
    /// It has the META flag.
    Metadata,
    /// Its process is a journal's thread (jbd2, kjournald, xfsaild ...), with any flags.
    Journal,
}

impl Kind {
    /// All.
    pub const ALL: [Kind; 3] = [Kind::Data, Kind::Metadata, Kind::Journal];
}

/// Bios and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Bios.
    pub bios: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Traffic {
    #[inline]
    fn add(&mut self, bytes: u32) {
        self.bios += 1;
        self.bytes += u64::from(bytes);
    }
}

/// What a process queued.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSummary {
    /// Its name, whole; `pid 123` where the trace names it not.
    pub name: String,
    /// Threads of this name that queued something.
    pub threads: u64,
    /// Read, written, discarded.
    pub directions: [Traffic; 3],
    /// Data, metadata, journal.
    pub kinds: [Traffic; 3],
    /// Bios that begin where the process' last one on the device ended.
    pub sequential: u64,
}

impl ProcessSummary {
    /// Bios of all directions.
    pub fn bios(&self) -> u64 {
        self.directions.iter().map(|traffic| traffic.bios).sum()
    }

    /// Bytes of all directions.
    pub fn bytes(&self) -> u64 {
        self.directions.iter().map(|traffic| traffic.bytes).sum()
    }

    /// The share of bios that are sequential; none without bios.
    pub fn sequential_share(&self) -> Option<f64> {
        let bios = self.bios();
        (bios > 0).then(|| self.sequential as f64 / bios as f64)
    }
}

/// What is carried of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindSummary {
    /// The kind.
    pub kind: Kind,
    /// Read, written, discarded.
    pub directions: [Traffic; 3],
}

#[derive(Default)]
struct Account {
    summary: ProcessSummary,
    journal: bool,
    /// The end of the last bio, by device: a few.
    ends: Vec<(u32, u64)>,
}

/// Accounts by name.
#[derive(Default)]
pub(super) struct Accounts {
    names: FxHashMap<u32, String>,
    by_pid: FxHashMap<u32, u32>,
    by_name: FxHashMap<String, u32>,
    list: Vec<Account>,
    last: Option<(u32, u32)>,
    kinds: [[Traffic; 3]; 3],
}

impl Accounts {
    pub(super) fn learn(&mut self, note: &Event<'_>) {
        let text = note.pdu.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(text).into_owned();
        self.names.entry(note.head.pid).or_insert(name);
    }

    fn account(&mut self, pid: u32) -> u32 {
        if let Some((last, number)) = self.last
            && last == pid
        {
            return number;
        }
        let number = match self.by_pid.get(&pid) {
            Some(&number) => number,
            None => self.open(pid),
        };
        self.last = Some((pid, number));
        number
    }

    #[cold]
    fn open(&mut self, pid: u32) -> u32 {
        let name = self.names.get(&pid).cloned();
        let name = name.unwrap_or_else(|| format!("pid {pid}"));
        let next = self.list.len() as u32;
        let number = *self.by_name.entry(name.clone()).or_insert(next);
        if number == next {
            self.list.push(Account {
                journal: is_journal(&name),
                summary: ProcessSummary {
                    name,
                    ..ProcessSummary::default()
                },
                ends: Vec::new(),
            });
        }
        self.list[number as usize].summary.threads += 1;
        self.by_pid.insert(pid, number);
        number
    }

    /// What a bio or request of a thread carries.
    pub(super) fn kind(&mut self, head: &Head) -> Kind {
        let number = self.account(head.pid) as usize;
        if self.list[number].journal {
            Kind::Journal
        } else if head.has(Category::Meta) {
            Kind::Metadata
        } else {
            Kind::Data
        }
    }

    /// A bio that was queued.
    pub(super) fn queue(&mut self, head: &Head, direction: Direction) {
        let kind = self.kind(head);
        let number = self.account(head.pid) as usize;
        let account = &mut self.list[number];
        account.summary.directions[direction as usize].add(head.bytes);
        account.summary.kinds[kind as usize].add(head.bytes);
        self.kinds[kind as usize][direction as usize].add(head.bytes);
        let device = head.device;
        match account.ends.iter_mut().find(|(known, _)| *known == device) {
            Some((_, end)) => {
                account.summary.sequential += u64::from(*end == head.sector);
                *end = head.end();
            }
            None => account.ends.push((device, head.end())),
        }
    }

    /// By bytes, the most first.
    pub(super) fn summaries(&self) -> Vec<ProcessSummary> {
        let mut list: Vec<ProcessSummary> = self
            .list
            .iter()
            .map(|account| account.summary.clone())
            .filter(|summary| summary.bios() > 0)
            .collect();
        list.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then_with(|| a.name.cmp(&b.name)));
        list
    }

    pub(super) fn kinds(&self) -> Vec<KindSummary> {
        let of = |kind: Kind| KindSummary {
            kind,
            directions: self.kinds[kind as usize],
        };
        Kind::ALL.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_sequences_are_distinguished() {
        let mut accounts = Accounts::default();
        let name = |pid: u32, text: &'static str| Event {
            head: Head {
                pid,
                ..Head::default()
            },
            pdu: text.as_bytes(),
        };
        accounts.learn(&name(1, "jbd2/sda1-8\0junk"));
        accounts.learn(&name(2, "dd"));
        accounts.learn(&name(3, "dd"));
        let bio = |pid: u32, sector: u64, action: u32| Head {
            pid,
            sector,
            bytes: 4096,
            action,
            ..Head::default()
        };
        let meta = Category::Meta as u32;
        for (pid, sector, action) in [(1, 8, meta), (2, 0, 0), (3, 8, 0), (2, 16, meta), (9, 0, 0)]
        {
            accounts.queue(&bio(pid, sector, action), Direction::Write);
        }
        let list = accounts.summaries();
        let dd = &list[0];
        assert_eq!((dd.name.as_str(), dd.threads, dd.sequential), ("dd", 2, 2));
        assert_eq!(dd.kinds.map(|traffic| traffic.bios), [2, 1, 0]);
        assert_eq!(list[1].name, "jbd2/sda1-8");
        assert_eq!(list[1].kinds[2].bytes, 4096);
        assert_eq!(list[2].name, "pid 9");
        let kinds = accounts
            .kinds()
            .iter()
            .map(|kind| kind.directions[1].bios)
            .collect::<Vec<_>>();
        assert_eq!(kinds, [3, 1, 1]);
    }
}
