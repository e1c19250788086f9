//! A trace as text: blkparse's default format, byte for byte.
//!
//! What is the same: the lines, their order, the names, and the summary, as Debian's blkparse 1.2.0
//! prints them when its output is no terminal (the C library then keeps `Input file ... added` back to
//! the very end). What is not: thousands are never marked (blkparse marks them where the locale en_US
//! is installed); files after a gap in the numbers of CPUs are read as well; a damaged file is an
//! error after the lines before the damage, and not a silent end; and [`track`] says what differs
//! with -t.
//!
//! blkparse 1.2.0 does not know records with a cgroup id (the flag 0x100 in the action) and prints
//! nothing for them, but counts them among the events. So does this: who wants them analysed has the
//! other reports.

mod line;
mod names;
mod number;
mod process;
mod summary;
mod track;

use std::io::Write;

use crate::error::Error;
use crate::file::Event;
use crate::pipeline;
use crate::record::{self, Category, Head, Notify};
use crate::trace::Trace;
use line::Line;
use names::Names;
use process::Processes;
use summary::{Stats, direction};
use track::Track;

/// Bytes of text that are gathered before they are written.
const CHUNK: usize = 256 * 1024;

/// What to print.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Options {
    /// The waits of each I/O (-t).
    pub track: bool,
    /// Counts of each process (-s).
    pub processes: bool,
    /// No summary (-q).
    pub quiet: bool,
    /// No lines `Input file ... added` at the end.
    pub no_inputs: bool,
}

/// Prints a trace.
///
/// # Errors
/// A trace that is damaged, after the text of what precedes the damage; an output that cannot be written.
pub fn write(trace: &mut Trace, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let mut printer = Printer::new(trace, options);
    let mut text = Vec::with_capacity(CHUNK + 4096);
    let read = pipeline::each(trace, |file, event| {
        printer.event(file, event, &mut text);
        if text.len() >= CHUNK {
            out.write_all(&text).map_err(Error::Output)?;
            text.clear();
        }
        Ok(())
    });
    match read {
        Ok(()) => printer.finish(trace, &mut text),
        Err(error @ Error::Output(_)) => return Err(error),
        Err(_) => {}
    }
    out.write_all(&text)
        .and_then(|()| out.flush())
        .map_err(Error::Output)?;
    read
}

/// What is counted of a CPU.
#[derive(Clone, Default)]
struct Cpu {
    number: u32,
    /// The number of its device.
    base: usize,
    records: u64,
    stats: Stats,
}

/// What is counted of a device.
#[derive(Default)]
struct Base {
    name: String,
    events: u64,
    first: u64,
    last: u64,
    depth: [u32; 2],
    deepest: [u32; 2],
}

#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
struct Printer {
    genesis: u64,
    cpus: Vec<Cpu>,
    bases: Vec<Base>,
    names: Names,
    line: Line,
    track: Option<Track>,
    processes: Option<Processes>,
    quiet: bool,
    inputs: bool,
    driver_data: bool,
}

/// An action's letters in two columns, and the blank after them, by its code.
fn letters(code: u32) -> [u8; 3] {
    if code == 11 {
        return *b"UT ";
    }
    let letter = b" QMFGSRDCPU IXBA".get(code as usize).copied();
    [b' ', letter.unwrap_or(b'?'), b' ']
}

impl Printer {
    fn new(trace: &Trace, options: &Options) -> Printer {
        let cpu = |file: &crate::trace::TraceFile| Cpu {
            number: file.cpu,
            base: file.base,
            ..Cpu::default()
        };
        let base = |name: &String| Base {
            name: name.clone(),
            ..Base::default()
        };
        Printer {
            genesis: trace.genesis(),
            cpus: trace.files().iter().map(cpu).collect(),
            bases: trace.names().iter().map(base).collect(),
            names: Names::default(),
            line: Line::new(),
            track: options.track.then(Track::default),
            processes: options.processes.then(Processes::default),
            quiet: options.quiet,
            inputs: !options.no_inputs,
            driver_data: false,
        }
    }

    #[inline]
    fn event(&mut self, file: usize, event: &Event<'_>, out: &mut Vec<u8>) {
        let head = &event.head;
        if head.has(Category::Notify) && !head.is_plain_message() {
            if head.note() == Some(Notify::Process) {
                self.names.learn(event);
            }
            return;
        }
        let time = head.time.wrapping_sub(self.genesis);
        let cpu = &mut self.cpus[file];
        cpu.records += 1;
        let base = cpu.base;
        self.bases[base].last = time;
        // An event without a category is none for blkparse's mask.
        if head.action >> 16 == 0 {
            return;
        }
        if head.is_plain_message() {
            self.message(event, time, out);
        } else if head.has(Category::Passthrough) {
            self.passthrough(file, event, time, out);
        } else {
            self.filesystem(file, event, time, out);
        }
        let base = &mut self.bases[base];
        if base.events == 0 {
            base.first = time;
        }
        base.events += 1;
    }

    fn message(&mut self, event: &Event<'_>, time: u64, out: &mut Vec<u8>) {
        if event.pdu.is_empty() {
            return;
        }
        let head = Head {
            sequence: 0,
            pid: 0,
            bytes: 0,
            action: 0,
            ..event.head
        };
        self.line.begin(head.device, head.cpu, &head, time, *b" m ");
        self.line.flush(out);
        out.extend(
            event
                .pdu
                .split(|&byte| byte == 0)
                .next()
                .unwrap_or_default(),
        );
        out.push(b'\n');
    }

    #[inline]
    fn filesystem(&mut self, file: usize, event: &Event<'_>, time: u64, out: &mut Vec<u8>) {
        let head = &event.head;
        let code = head.action & 0xffff;
        if !(1..=15).contains(&code) {
            self.driver_data |= code == 17;
            return;
        }
        self.cpus[file].stats.count(code, head);
        self.deepen(file, code, head);
        let mut elapsed = None;
        if self.track.is_some() || self.processes.is_some() {
            elapsed = self.follow(code, head, time);
        }
        let mut device = head.device;
        let remapped = if code == 15 {
            let remapped = record::remap(event.pdu).unwrap_or(record::Remapped {
                from: 0,
                to: 0,
                sector: 0,
            });
            device = remapped.to;
            Some(remapped)
        } else {
            None
        };
        let cpu = self.cpus[file].number;
        self.line.begin(device, cpu, head, time, letters(code));
        if code == 8 || code == 6 {
            self.ended(head, elapsed);
        } else if let Some(remapped) = remapped {
            self.line.remap(head, &remapped);
        } else {
            self.begun(code, event, elapsed);
        }
        self.line.end(out);
    }

    /// The rest of a line of completion or requeueing.
    #[inline]
    fn ended(&mut self, head: &Head, elapsed: Option<u64>) {
        if head.sectors() > 0 {
            self.line.span(head);
        } else {
            self.line.number(head.sector);
            self.line.put(b" ");
        }
        self.line.elapsed(elapsed);
        self.line.put(b"[");
        self.line.number(u64::from(head.error));
        self.line.put(b"]");
    }

    /// The rest of a line of the other actions.
    #[inline]
    fn begun(&mut self, code: u32, event: &Event<'_>, elapsed: Option<u64>) {
        let head = &event.head;
        let count = || u64::from(record::number(event.pdu).unwrap_or_default() as u32);
        match code {
            9..=11 => {}
            13 => {
                self.line.number(head.sector);
                self.line.put(b" / ");
                self.line.number(count());
                self.line.put(b" ");
            }
            _ => {
                self.line.span(head);
                self.line.elapsed(elapsed);
            }
        }
        self.line.name(self.names.of(head.pid));
        if code == 10 || code == 11 {
            self.line.put(b" ");
            self.line.number(count());
        }
    }

    /// Follows what is in the driver's hands.
    #[inline]
    fn deepen(&mut self, file: usize, code: u32, head: &Head) {
        let base = &mut self.bases[self.cpus[file].base];
        let way = direction(head);
        match code {
            7 => {
                base.depth[way] += 1;
                base.deepest[way] = base.deepest[way].max(base.depth[way]);
            }
            // Events may be missing.
            6 | 8 => base.depth[way] = base.depth[way].saturating_sub(1),
            _ => {}
        }
    }

    /// Counts for the process and follows the I/O.
    fn follow(&mut self, code: u32, head: &Head, time: u64) -> Option<u64> {
        if let Some(processes) = &mut self.processes
            && matches!(code, 1..=3 | 6..=8 | 10 | 11)
        {
            let process = processes.of(head.pid, &mut self.names);
            process.stats.count(code, head);
        }
        let track = self.track.as_mut()?;
        if Track::begins(code) && !self.names.knows(head.pid) {
            self.names.add(head.pid, b"unknown");
        }
        let waited = track.event(code, head, time)?;
        if let Some(processes) = &mut self.processes {
            processes.wait(waited.owner, waited.kind, direction(head), waited.elapsed);
        }
        Some(waited.elapsed)
    }

    fn passthrough(&mut self, file: usize, event: &Event<'_>, time: u64, out: &mut Vec<u8>) {
        let head = &event.head;
        let code = head.action & 0xffff;
        if !matches!(code, 1 | 4..=8 | 12) {
            return;
        }
        self.cpus[file].stats.count_passthrough(code, head);
        self.deepen(file, code, head);
        // The name is looked up before or after a process is counted, as blkparse does it.
        if matches!(code, 6 | 7) {
            self.count_passthrough_process(code, head);
        }
        let cpu = self.cpus[file].number;
        self.line.begin(head.device, cpu, head, time, letters(code));
        let pdu = match code {
            7 | 8 | 12 => event.pdu,
            _ => &[],
        };
        match code {
            6 | 8 => {
                self.line.flush(out);
                line::command(pdu, out);
                self.line.put(b"[");
                self.line.number(u64::from(head.error));
                self.line.put(b"]");
            }
            4 | 5 => {
                self.line.span(head);
                self.line.name(self.names.of(head.pid));
            }
            _ => {
                self.line.number(u64::from(head.bytes));
                self.line.put(b" ");
                self.line.flush(out);
                line::command(pdu, out);
                self.line.name(self.names.of(head.pid));
            }
        }
        self.line.end(out);
        if matches!(code, 1 | 8) {
            self.count_passthrough_process(code, head);
        }
    }

    fn count_passthrough_process(&mut self, code: u32, head: &Head) {
        if let Some(processes) = &mut self.processes {
            let process = processes.of(head.pid, &mut self.names);
            process.stats.count_passthrough(code, head);
        }
    }

    /// What comes after the last event.
    fn finish(&mut self, trace: &Trace, out: &mut Vec<u8>) {
        if let Some(processes) = &self.processes {
            out.extend(processes.text(&mut self.names));
        }
        if !self.quiet {
            let summaries: Vec<String> = (0..self.bases.len()).map(|n| self.summary(n)).collect();
            out.extend(summaries.join("\n").bytes());
        }
        if self.inputs {
            for file in trace.files().iter().filter(|file| file.bytes > 0) {
                let line = format!("Input file {} added\n", file.path.display());
                out.extend(line.bytes());
            }
            if self.driver_data {
                out.extend(
                    b"\ndiscarded traces containing low-level device driver specific data \
                      (only available in binary output)\n",
                );
            }
        }
    }

    /// The summary of a device.
    fn summary(&self, number: usize) -> String {
        let base = &self.bases[number];
        let name = &base.name;
        let mut text = String::new();
        let mut total = Stats::default();
        let mut shown = 0;
        let cpus = self.cpus.iter().filter(|cpu| cpu.base == number);
        for cpu in cpus.filter(|cpu| cpu.records > 0) {
            let title = format!("CPU{} ({name}):", cpu.number);
            text += &cpu.stats.block(&title, Some(base.deepest));
            total.sum(&cpu.stats);
            shown += 1;
        }
        if shown > 1 {
            text += "\n";
            text += &total.block(&format!("Total ({name}):"), None);
        }
        let msec = base.last.wrapping_sub(base.first) / 1_000_000;
        let [read, write] = total.completed.map(|flow| {
            let amount = flow.kib.wrapping_mul(1000).wrapping_add(flow.rest);
            amount.checked_div(msec).unwrap_or(0)
        });
        text + &format!(
            "\nThroughput (R/W): {read}KiB/s / {write}KiB/s\nEvents ({name}): {} entries\n\
             Skips: 0 forward (0 -   0.0%)\n",
            base.events
        )
    }
}
