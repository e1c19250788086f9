//! Processes as btt distinguishes them: by name, up to the first slash. Threads of one name are one
//! process; a thread without a name is called by its number.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::average::Averages;
use super::range::Regions;
use crate::file::Event;

#[derive(Default)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) averages: Averages,
    pub(crate) last_queue: Option<u64>,
    pub(crate) regions: Regions,
}

#[derive(Default)]
pub(crate) struct Processes {
    pub(crate) list: Vec<Process>,
    by_pid: FxHashMap<u32, u32>,
    by_name: BTreeMap<String, u32>,
    last: Option<(u32, u32)>,
}

impl Processes {
    /// Takes a note that names a thread. The first name stays.
    pub(crate) fn learn(&mut self, note: &Event<'_>) {
        let text = note.pdu.split(|&byte| byte == 0).next().unwrap_or_default();
        let text = text.split(|&byte| byte == b'/').next().unwrap_or_default();
        let name = if note.head.pid == 0 {
            "kernel".into()
        } else {
            String::from_utf8_lossy(text)
        };
        self.add(note.head.pid, name.into_owned());
    }

    fn add(&mut self, pid: u32, name: String) -> u32 {
        if let Some(&known) = self.by_pid.get(&pid) {
            return known;
        }
        let next = self.list.len() as u32;
        let number = *self.by_name.entry(name.clone()).or_insert(next);
        if number == next {
            self.list.push(Process {
                name,
                ..Process::default()
            });
        }
        self.by_pid.insert(pid, number);
        number
    }

    /// The number of a thread's process.
    #[inline]
    pub(crate) fn find(&mut self, pid: u32) -> u32 {
        match self.last {
            Some((last, number)) if last == pid => number,
            _ => {
                let number = match self.by_pid.get(&pid) {
                    Some(&number) => number,
                    None => self.add(pid, format!("pid{pid:09}")),
                };
                self.last = Some((pid, number));
                number
            }
        }
    }

    /// Those of these names that are known.
    pub(crate) fn named(&self, names: &[String]) -> impl Iterator<Item = &Process> {
        let known = names.iter().filter_map(|name| self.by_name.get(name));
        known.map(|&number| &self.list[number as usize])
    }

    /// All, by name.
    pub(crate) fn by_name(&self) -> impl Iterator<Item = &Process> {
        self.by_name
            .values()
            .map(|&number| &self.list[number as usize])
    }
}
