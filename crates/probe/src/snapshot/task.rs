//! Tasks as top shows them: `/proc/<pid>/{stat,statm}` and the owner.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::Roots;
use crate::tasks::stat;

/// One task.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) pid: u32,
    /// Its owner, effective.
    pub(super) uid: u32,
    pub(super) comm: String,
    pub(super) state: char,
    /// Field 18; a real-time task has a negative one, which top prints as `rt` or its number.
    pub(super) priority: i64,
    pub(super) nice: i64,
    pub(super) virtual_kib: u64,
    pub(super) resident_kib: u64,
    pub(super) shared_kib: u64,
    /// utime + stime, ns.
    pub(super) cpu_ns: u64,
    start: u64,
}

/// A task that ran between two looks, with its %CPU.
pub(super) struct Busy<'a> {
    pub(super) task: &'a Task,
    pub(super) percent: f64,
}

/// Every task that can be read; those that end during the scan are left out.
pub(super) fn all(roots: &Roots) -> Vec<Task> {
    let page_kib = rustix::param::page_size() as u64 / 1024;
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let entries = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let folder = entry.path();
            let text = fs::read(folder.join("stat")).ok()?;
            let parsed = stat::parse(&text)?;
            let (state, priority, nice) = scheduling(&text)?;
            let memory = fs::read_to_string(folder.join("statm")).unwrap_or_default();
            let pages: Vec<u64> = memory
                .split_ascii_whitespace()
                .map_while(|word| word.parse().ok())
                .collect();
            let kib = |field: usize| pages.get(field).copied().unwrap_or(0) * page_kib;
            let owner = fs::metadata(&folder).map_or(0, |meta| meta.uid());
            Some(Task {
                pid,
                uid: owner,
                comm: String::from_utf8_lossy(parsed.comm).into_owned(),
                state,
                priority,
                nice,
                virtual_kib: kib(0),
                resident_kib: kib(1),
                shared_kib: kib(2),
                cpu_ns: parsed.cpu_ticks.saturating_mul(tick_ns),
                start: parsed.start,
            })
        })
        .collect()
}

/// Fields 3, 18 and 19 of a `stat` file.
fn scheduling(text: &[u8]) -> Option<(char, i64, i64)> {
    let close = text.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let priority = fields.nth(14)?.parse().ok()?;
    let nice = fields.next()?.parse().ok()?;
    Some((state, priority, nice))
}

/// Names by uid. Looked up when rows are printed, not at every look: a look is taken while
/// something is measured.
#[derive(Debug, Default)]
pub(super) struct Users(BTreeMap<u32, String>);

impl Users {
    /// From `/etc/passwd`; a machine that asks a directory service shows numbers.
    pub(super) fn read(roots: &Roots) -> Users {
        let text = fs::read_to_string(roots.etc.join("passwd")).unwrap_or_default();
        let names = text.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            Some((fields.nth(1)?.parse().ok()?, name))
        });
        Users(names.collect())
    }

    /// The name, or the number.
    pub(super) fn name(&self, uid: u32) -> String {
        self.0.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }
}

/// Tasks that ran in the interval, busiest first. A task that was not there before has all its
/// time counted; one whose pid was reused is recognised by its start time.
pub(super) fn busy<'a>(before: &[Task], after: &'a [Task], elapsed_ns: u64) -> Vec<Busy<'a>> {
    let earlier: BTreeMap<(u32, u64), u64> = before
        .iter()
        .map(|task| ((task.pid, task.start), task.cpu_ns))
        .collect();
    let mut busy: Vec<Busy<'_>> = after
        .iter()
        .filter_map(|task| {
            let was = earlier.get(&(task.pid, task.start)).copied().unwrap_or(0);
            let used = task.cpu_ns.saturating_sub(was);
            (used > 0).then(|| Busy {
                task,
                percent: crate::tasks::percent(used, elapsed_ns),
            })
        })
        .collect();
    busy.sort_by(|a, b| {
        b.percent
            .total_cmp(&a.percent)
            .then(a.task.pid.cmp(&b.task.pid))
    });
    busy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_have_names_or_numbers() {
        let tree = tempfile::tempdir().unwrap();
        let roots = Roots::under(tree.path());
        assert_eq!(Users::read(&roots).name(0), "0", "no such file");
        fs::create_dir_all(&roots.etc).unwrap();
        fs::write(
            roots.etc.join("passwd"),
            "root:x:0:0:root:/root:/bin/sh\nbroken\nlab:x:1000:1000::/:/bin/sh\n",
        )
        .unwrap();
        let users = Users::read(&roots);
        assert_eq!(
            [0, 1000, 77].map(|uid| users.name(uid)),
            ["root", "lab", "77"]
        );
    }

    #[test]
    fn scheduling_fields_are_counted_from_the_last_parenthesis() {
        let text = b"42 (a) b) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 -2 -5 4 0 99 1 2";
        assert_eq!(scheduling(text), Some(('D', -2, -5)));
        assert_eq!(scheduling(b"42 (x) S 1 2"), None);
        assert_eq!(scheduling(b"no task"), None);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(text in proptest::collection::vec(0_u8.., 0..80)) {
            let _ = scheduling(&text);
        }
    }
}
