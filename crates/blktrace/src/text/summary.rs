//! What blkparse says at the end: counts by CPU, their total, throughput, events.

use std::fmt::Write as _;

use crate::record::{Category, Head};

/// Events and their bytes. blkparse adds whole KiB and the rest apart, and so does this, because a
/// requeue that comes first wraps each of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    pub(super) count: u64,
    pub(super) kib: u64,
    pub(super) rest: u64,
}

impl Flow {
    #[inline]
    pub(super) fn add(&mut self, bytes: u32) {
        self.count += 1;
        self.add_size(bytes);
    }

    #[inline]
    pub(super) fn add_size(&mut self, bytes: u32) {
        self.kib = self.kib.wrapping_add(u64::from(bytes >> 10));
        self.rest = self.rest.wrapping_add(u64::from(bytes & 1023));
    }

    pub(super) fn take_size(&mut self, bytes: u32) {
        self.kib = self.kib.wrapping_sub(u64::from(bytes >> 10));
        self.rest = self.rest.wrapping_sub(u64::from(bytes & 1023));
    }

    fn sum(&mut self, other: &Flow) {
        self.count += other.count;
        self.kib = self.kib.wrapping_add(other.kib);
        self.rest = self.rest.wrapping_add(other.rest);
    }

    fn size(&self) -> String {
        short(self.kib.wrapping_add(self.rest >> 10), true)
    }

    fn count(&self) -> String {
        short(self.count, false)
    }
}

/// Counts of a CPU, of all, or of a process; reads first, then writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stats {
    pub(super) queued: [Flow; 2],
    pub(super) issued: [Flow; 2],
    pub(super) completed: [Flow; 2],
    pub(super) merged: [Flow; 2],
    pub(super) requeued: [u64; 2],
    pub(super) pc_queued: [Flow; 2],
    pub(super) pc_issued: [Flow; 2],
    pub(super) pc_requeued: [u64; 2],
    pub(super) pc_completed: [u64; 2],
    pub(super) unplugs: u64,
    pub(super) timer_unplugs: u64,
}

/// 0 for reads (and all that is no write), 1 for writes.
#[inline]
pub(super) fn direction(head: &Head) -> usize {
    usize::from(head.has(Category::Write))
}

impl Stats {
    /// Counts an event of a filesystem's request, by its code.
    #[inline]
    pub(super) fn count(&mut self, code: u32, head: &Head) {
        let way = direction(head);
        match code {
            1 => self.queued[way].add(head.bytes),
            2 | 3 => self.merged[way].add(head.bytes),
            6 => {
                self.requeued[way] += 1;
                self.issued[way].take_size(head.bytes);
            }
            7 => self.issued[way].add(head.bytes),
            8 => self.completed[way].add(head.bytes),
            10 => self.unplugs += 1,
            11 => self.timer_unplugs += 1,
            _ => {}
        }
    }

    /// Counts an event of a passthrough request. A queued read's whole KiB go to the ordinary reads,
    /// as blkparse 1.2 has it.
    pub(super) fn count_passthrough(&mut self, code: u32, head: &Head) {
        let way = direction(head);
        match code {
            1 if way == 0 => {
                self.pc_queued[0].count += 1;
                self.pc_queued[0].rest += u64::from(head.bytes & 1023);
                self.queued[0].kib = self.queued[0].kib.wrapping_add(u64::from(head.bytes >> 10));
            }
            1 => self.pc_queued[1].add(head.bytes),
            6 => {
                self.pc_requeued[way] += 1;
                self.pc_issued[way].take_size(head.bytes);
            }
            7 => self.pc_issued[way].add(head.bytes),
            8 => self.pc_completed[way] += 1,
            _ => {}
        }
    }

    pub(super) fn sum(&mut self, other: &Stats) {
        for way in 0..2 {
            self.queued[way].sum(&other.queued[way]);
            self.issued[way].sum(&other.issued[way]);
            self.completed[way].sum(&other.completed[way]);
            self.merged[way].sum(&other.merged[way]);
            self.requeued[way] += other.requeued[way];
            self.pc_queued[way].sum(&other.pc_queued[way]);
            self.pc_issued[way].sum(&other.pc_issued[way]);
            self.pc_requeued[way] += other.pc_requeued[way];
            self.pc_completed[way] += other.pc_completed[way];
        }
        self.unplugs += other.unplugs;
        self.timer_unplugs += other.timer_unplugs;
    }

    fn has_passthrough(&self) -> bool {
        (0..2).any(|way| {
            self.pc_queued[way].count
                + self.pc_issued[way].count
                + self.pc_requeued[way]
                + self.pc_completed[way]
                > 0
        })
    }

    /// A block of the summary; `depth` is the device's, which the total has not.
    pub(super) fn block(&self, title: &str, depth: Option<[u32; 2]>) -> String {
        let mut text = format!("{title}\n");
        let mut flows = |read: &str, write: &str, [r, w]: &[Flow; 2]| {
            let (rs, ws) = (r.size(), w.size());
            let _ = writeln!(
                text,
                " {read}{}, {rs}iB\t {write}{}, {ws}iB",
                r.count(),
                w.count()
            );
        };
        flows("Reads Queued:    ", "Writes Queued:    ", &self.queued);
        flows("Read Dispatches: ", "Write Dispatches: ", &self.issued);
        text.push_str(&counts(
            "Reads Requeued:  ",
            "Writes Requeued:  ",
            self.requeued,
        ));
        let mut flows = |read: &str, write: &str, [r, w]: &[Flow; 2]| {
            let (rs, ws) = (r.size(), w.size());
            let _ = writeln!(
                text,
                " {read}{}, {rs}iB\t {write}{}, {ws}iB",
                r.count(),
                w.count()
            );
        };
        flows("Reads Completed: ", "Writes Completed: ", &self.completed);
        flows("Read Merges:     ", "Write Merges:     ", &self.merged);
        if let Some([read, write]) = depth {
            text.push_str(&pair(
                "Read depth:      ",
                read,
                "Write depth:      ",
                write,
            ));
        }
        if self.has_passthrough() {
            text.push_str(&self.passthrough());
        }
        let (io, timer) = (self.unplugs, self.timer_unplugs);
        text + &pair("IO unplugs:      ", io, "Timer unplugs:    ", timer)
    }

    fn passthrough(&self) -> String {
        let mut text = String::new();
        for (read, write, [r, w]) in [
            ("PC Reads Queued: ", "PC Writes Queued: ", &self.pc_queued),
            ("PC Read Disp.:   ", "PC Write Disp.:   ", &self.pc_issued),
        ] {
            let (rs, ws) = (r.size(), w.size());
            let _ = writeln!(
                text,
                " {read}{}, {rs}iB\t {write}{}, {ws}iB",
                r.count(),
                w.count()
            );
        }
        text.push_str(&counts(
            "PC Reads Req.:   ",
            "PC Writes Req.:   ",
            self.pc_requeued,
        ));
        text + &counts("PC Reads Compl.: ", "PC Writes Compl.: ", self.pc_completed)
    }
}

fn counts(read: &str, write: &str, [r, w]: [u64; 2]) -> String {
    format!(
        " {read}{}\t\t {write}{}\n",
        short(r, false),
        short(w, false)
    )
}

/// Two plain counts on a line.
pub(super) fn pair<N: std::fmt::Display>(left: &str, l: N, right: &str, r: N) -> String {
    format!(" {left}{l:>8}        \t {right}{r:>8}\n")
}

/// A number in eight columns: above a million in thousands, with K, M, G, P. (blkparse puts marks
/// between thousands where the system has the locale en_US; this never does.)
fn short(mut number: u64, kib: bool) -> String {
    let mut unit = usize::from(kib);
    while number > 1_000_000 && unit < 4 {
        unit += 1;
        number /= 1000;
    }
    format!("{number:>8}{}", ["", "K", "M", "G", "P"][unit])
}
