//! The files that are sampled: opened once, read with `pread`, parsed into columns.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::{Options, SamplerError, Sink};
use crate::{cpu, diskstats, meminfo, psi, task_io, vmstat};

/// How the text of a file becomes values.
enum Parser {
    /// A block device's `stat`: the 17 fields.
    Disk,
    /// `/proc/stat`: ten columns of all CPUs, busy jiffies for these CPU numbers, then tasks that run
    /// or wait for a CPU, and tasks that wait for I/O.
    Cpu(Vec<u32>),
    /// `/proc/meminfo`.
    Memory,
    /// `/proc/vmstat`.
    Vm,
    /// `/proc/self/io`: of the process that carries the load.
    TaskIo,
    /// A pressure file, and whether it has a `full` line.
    Pressure(bool),
}

/// One file and the columns it fills.
pub(super) struct Source {
    name: String,
    file: File,
    parser: Parser,
    columns: Vec<u32>,
    values: Vec<i64>,
    gone: bool,
}

/// Counters are below 2^63 in practice; above, the column stays at the largest value.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Reads a whole small file with `pread`: a sequence file gives a page at a time, so until 0.
fn read_all(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            buffer.resize((buffer.len() * 2).max(4096), 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(n) => length += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

impl Parser {
    /// Writes the values of a text; columns whose key is absent keep what they had.
    fn parse(&self, text: &str, values: &mut [i64]) {
        match self {
            Parser::Disk => {
                if let Some(counters) = diskstats::Counters::parse(text) {
                    for (value, field) in values.iter_mut().zip(counters.0) {
                        *value = signed(field);
                    }
                }
            }
            Parser::Cpu(numbers) => parse_cpu(text, numbers, values),
            Parser::Memory => parse_memory(text, values),
            Parser::Vm => parse_vm(text, values),
            Parser::TaskIo => {
                for (key, value) in text.lines().filter_map(task_io::parse_line) {
                    if let Some(slot) = task_io::SAMPLED.iter().position(|(k, ..)| *k == key) {
                        values[slot] = signed(value);
                    }
                }
            }
            Parser::Pressure(full) => {
                if let Some(pressure) = psi::parse(text) {
                    values[0] = signed(pressure.some_us);
                    if *full {
                        values[1] = signed(pressure.full_us.unwrap_or_default());
                    }
                }
            }
        }
    }

    /// Column names and units, in the order of the values.
    fn columns(&self, prefix: &str) -> Vec<(String, &'static str)> {
        match self {
            Parser::Disk => diskstats::FIELD_NAMES
                .iter()
                .enumerate()
                .map(|(i, field)| (format!("{prefix}.{field}"), diskstats::field_unit(i)))
                .collect(),
            Parser::Cpu(numbers) => cpu::FIELD_NAMES
                .iter()
                .map(|field| (format!("cpu.{field}"), "jiffies"))
                .chain(numbers.iter().map(|n| (format!("cpu{n}.busy"), "jiffies")))
                .chain(QUEUES.map(|(_, column)| (column.to_owned(), "tasks")))
                .collect(),
            Parser::Memory => meminfo::SAMPLED
                .iter()
                .map(|(_, column)| ((*column).to_owned(), "KiB"))
                .collect(),
            Parser::Vm => vmstat::SAMPLED
                .iter()
                .map(|(column, unit, _)| ((*column).to_owned(), *unit))
                .collect(),
            Parser::TaskIo => task_io::SAMPLED
                .iter()
                .map(|(_, column, unit)| ((*column).to_owned(), *unit))
                .collect(),
            Parser::Pressure(full) => {
                let mut columns = vec![(format!("{prefix}.some"), "us")];
                if *full {
                    columns.push((format!("{prefix}.full"), "us"));
                }
                columns
            }
        }
    }
}

/// Lines of `/proc/stat` that count tasks now, and their columns.
const QUEUES: [(&str, &str); 2] = [
    ("procs_running ", "cpu.running"),
    ("procs_blocked ", "cpu.blocked"),
];

fn parse_cpu(text: &str, numbers: &[u32], values: &mut [i64]) {
    let (all, rest) = values.split_at_mut(cpu::FIELD_NAMES.len());
    let (each, queues) = rest.split_at_mut(numbers.len());
    // They are the last lines but one.
    for line in text.lines().rev().take(QUEUES.len() + 2) {
        for ((name, _), slot) in QUEUES.iter().zip(&mut *queues) {
            if let Some(count) = line.strip_prefix(name).and_then(|n| n.trim().parse().ok()) {
                *slot = count;
            }
        }
    }
    for line in text.lines() {
        let Some((label, fields)) = line.strip_prefix("cpu").and_then(|r| r.split_once(' ')) else {
            break;
        };
        let Some(times) = cpu::Times::parse(fields) else {
            continue;
        };
        if label.is_empty() {
            for (value, field) in all.iter_mut().zip(times.0) {
                *value = signed(field);
            }
        } else if let Some(slot) = label
            .parse()
            .ok()
            .and_then(|number: u32| numbers.iter().position(|n| *n == number))
        {
            each[slot] = signed(times.busy());
        }
    }
}

fn parse_memory(text: &str, values: &mut [i64]) {
    let mut missing = values.len();
    for (key, kib) in text.lines().filter_map(meminfo::parse_line) {
        if let Some(slot) = meminfo::SAMPLED.iter().position(|(k, _)| *k == key) {
            values[slot] = signed(kib);
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }
}

fn parse_vm(text: &str, values: &mut [i64]) {
    values.fill(0);
    for line in text.lines() {
        // Of some 190 lines a dozen count: the rest is turned away by the first letter.
        if !line.starts_with(['a', 'p', 'n', 'w']) {
            continue;
        }
        let Some((key, value)) = vmstat::parse_line(line) else {
            continue;
        };
        for (slot, (_, _, keys)) in vmstat::SAMPLED.iter().enumerate() {
            if keys.contains(&key) {
                values[slot] = values[slot].saturating_add(signed(value));
            }
        }
    }
}

impl Source {
    fn open(
        name: String,
        path: &Path,
        parser: impl FnOnce(&str) -> Option<Parser>,
    ) -> io::Result<Source> {
        let file = File::open(path)?;
        let mut buffer = Vec::new();
        let length = read_all(&file, &mut buffer)?;
        let text = String::from_utf8_lossy(&buffer[..length]);
        let parser = parser(&text).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "it does not have the expected form",
            )
        })?;
        Ok(Source {
            name,
            file,
            parser,
            columns: Vec::new(),
            values: Vec::new(),
            gone: false,
        })
    }

    fn declare(&mut self, sink: &mut dyn Sink) {
        for (name, unit) in self.parser.columns(&self.name) {
            self.columns.push(sink.column(&name, unit));
            self.values.push(0);
        }
    }

    /// Reads the file and appends its values to a row. A file that is gone keeps its last values;
    /// its name is returned once.
    pub(super) fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        row: &mut Vec<(u32, i64)>,
    ) -> Option<String> {
        let mut lost = None;
        if !self.gone {
            match read_all(&self.file, buffer) {
                Ok(length) => {
                    let text = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
                    self.parser.parse(text, &mut self.values);
                }
                Err(e) => {
                    self.gone = true;
                    lost = Some(format!("{}: {e}", self.name));
                }
            }
        }
        row.extend(
            self.columns
                .iter()
                .copied()
                .zip(self.values.iter().copied()),
        );
        lost
    }
}

/// Opens every source and declares its columns. Devices must exist; what else this kernel lacks is
/// returned as text.
pub(super) fn open_all(
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<(Vec<Source>, Vec<String>), SamplerError> {
    let mut sources = Vec::new();
    for device in &options.devices {
        let path = options
            .roots
            .sys
            .join("class/block")
            .join(device)
            .join("stat");
        let source = Source::open(format!("disk.{device}"), &path, |text| {
            diskstats::Counters::parse(text).map(|_| Parser::Disk)
        });
        sources.push(source.map_err(|cause| SamplerError::Device {
            path: path.display().to_string(),
            cause,
        })?);
    }
    let mut absent = Vec::new();
    let proc = &options.roots.proc;
    let mut add =
        |name: &str, path: &Path, parser: &dyn Fn(&str) -> Option<Parser>| match Source::open(
            name.to_owned(),
            path,
            parser,
        ) {
            Ok(source) => sources.push(source),
            Err(e) => absent.push(format!("{name}: {}: {e}", path.display())),
        };
    add("cpu", &proc.join("stat"), &|text| {
        let stat = cpu::parse(text)?;
        Some(Parser::Cpu(stat.each.iter().map(|(n, _)| *n).collect()))
    });
    add("mem", &proc.join("meminfo"), &|_| Some(Parser::Memory));
    add("vm", &proc.join("vmstat"), &|_| Some(Parser::Vm));
    add("self", &proc.join("self/io"), &|_| Some(Parser::TaskIo));
    let pressure = |text: &str| psi::parse(text).map(|p| Parser::Pressure(p.full_us.is_some()));
    for resource in ["cpu", "io", "memory"] {
        let path = proc.join("pressure").join(resource);
        add(&format!("psi.{resource}"), &path, &pressure);
    }
    if let Some(folder) = crate::context::own_unified_cgroup(&options.roots) {
        for resource in ["cpu", "io", "memory"] {
            let path = folder.join(format!("{resource}.pressure"));
            add(&format!("psi.cgroup.{resource}"), &path, &pressure);
        }
    }
    for source in &mut sources {
        source.declare(sink);
    }
    Ok((sources, absent))
}
