//! Counts by process (blkparse -s).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::names::Names;
use super::summary::{Stats, pair};

/// A thread's counts and its longest waits, ns: allocation, dispatch, completion; reads, writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Process {
    pub(super) stats: Stats,
    pub(super) waits: [[u64; 2]; 3],
}

/// By thread.
#[derive(Default)]
pub(super) struct Processes {
    known: BTreeMap<u32, Process>,
}

impl Processes {
    /// A thread's counts. One without a name is called `unknown` from here on, on the lines of the
    /// text as well.
    pub(super) fn of(&mut self, pid: u32, names: &mut Names) -> &mut Process {
        self.known.entry(pid).or_insert_with(|| {
            if !names.knows(pid) {
                names.add(pid, b"unknown");
            }
            Process::default()
        })
    }

    /// Keeps a wait if it is the thread's longest.
    pub(super) fn wait(&mut self, pid: u32, kind: usize, way: usize, elapsed: u64) {
        if let Some(process) = self.known.get_mut(&pid) {
            let longest = &mut process.waits[kind][way];
            *longest = elapsed.max(*longest);
        }
    }

    /// All blocks, by name and thread, and an empty line.
    pub(super) fn text(&self, names: &mut Names) -> Vec<u8> {
        let mut list: Vec<(Vec<u8>, u32, &Process)> = self
            .known
            .iter()
            .map(|(&pid, process)| (names.of(pid).to_vec(), pid, process))
            .collect();
        list.sort_by(|a, b| by_version(&a.0, &b.0).then(a.1.cmp(&b.1)));
        let mut text = Vec::new();
        for (name, pid, process) in list {
            text.extend(name);
            text.extend(process.stats.block(&format!(" ({pid})"), None).bytes());
            for (kind, what) in ["Allocation wait:", "Dispatch wait:  ", "Completion wait:"]
                .iter()
                .enumerate()
            {
                let [read, write] = process.waits[kind].map(|wait| wait / 1000);
                let (left, right) = (format!("{what} "), format!("{what}  "));
                text.extend(pair(&left, read, &right, write).bytes());
            }
        }
        text.push(b'\n');
        text
    }
}

/// glibc's strverscmp: digits are compared as numbers, and as fractions where they begin with 0.
fn by_version(a: &[u8], b: &[u8]) -> Ordering {
    let at = |text: &[u8], i: usize| text.get(i).copied().unwrap_or(0);
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let run = a[..same]
        .iter()
        .rposition(|c| !c.is_ascii_digit())
        .map_or(0, |i| i + 1);
    let nonzero = |text: &[u8]| (b'1'..=b'9').contains(&at(text, run));
    let digits = |text: &[u8]| {
        text.get(same..)
            .unwrap_or_default()
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count()
    };
    let bytes = at(a, same).cmp(&at(b, same));
    if nonzero(a) && nonzero(b) {
        return digits(a).cmp(&digits(b)).then(bytes);
    }
    let zeros = a[run..same].iter().all(|&c| c == b'0') && run < same;
    if zeros && (digits(a) > 0 || digits(b) > 0) {
        // Among fractions a digit comes before what is none.
        let rank = |text: &[u8]| at(text, same).wrapping_sub(b'0');
        return rank(a).cmp(&rank(b));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_as_versions() {
        // The manual page's examples, in their order.
        let order = ["000", "00", "01", "010", "09", "0", "1", "9", "10"];
        for pair in order.windows(2) {
            let found = by_version(pair[0].as_bytes(), pair[1].as_bytes());
            assert_eq!(found, Ordering::Less, "{pair:?}");
        }
        assert_eq!(by_version(b"kworker/2:1", b"kworker/10:1"), Ordering::Less);
        assert_eq!(by_version(b"dd", b"dd"), Ordering::Equal);
        assert_eq!(by_version(b"dd", b"ddx"), Ordering::Less);
    }
}
